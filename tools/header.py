"""Parses the public headers after preprocessing with -DMX_CFFI, and sorts the parameters of every function into the
few shapes that the conventions of mx/base.h allow. Both generators walk those shapes. Standard library only."""

import re
from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum, auto


@dataclass
class Param:
    type: str  # without the name, as in "const char *"
    name: str
    optional: bool  # MX_OPTIONAL: NULL is a value
    text: str  # as in C: "void (*destroy)(void *)"


class Kind(Enum):
    """What one argument is; some take several C parameters."""

    SCALAR = auto()  # T x: a number, an enum or a small struct by value
    STRING = auto()  # const char *x
    STRINGS = auto()  # const char *const *x, size_t n_x
    HANDLE = auto()  # H x
    HANDLES = auto()  # const H *x, size_t n_x
    VALUES = auto()  # const T *x, size_t n_x
    BYTES = auto()  # const void *x, size_t n_bytes (or n_x)
    POINTER = auto()  # any other pointer that comes in
    CALLBACK = auto()  # a function pointer
    OUT = auto()  # T *out or T *noun_out
    OUT_HANDLE = auto()  # H *out or H *noun_out
    OUT_HANDLES = auto()  # H *x, size_t cap, size_t *n_x_out
    OUT_VALUES = auto()  # T *x, size_t cap, size_t *n_x_out
    OUT_BYTES = auto()  # void *x, size_t n_bytes
    OUT_TEXT = auto()  # char *x, size_t cap, size_t *needed_out


@dataclass
class Argument:
    kind: Kind
    type: str  # the element's C type: "mx_array", "int64_t", "void"
    params: list[Param]

    @property
    def name(self) -> str:
        return self.params[0].name

    @property
    def optional(self) -> bool:
        return self.params[0].optional

    @property
    def is_output(self) -> bool:
        return self.kind.name.startswith("OUT") and self.kind is not Kind.OUT_BYTES


@dataclass
class Function:
    name: str  # without mx_
    result: str
    params: list[Param]
    nowait: bool
    arguments: list[Argument]

    def declaration(self) -> str:
        params = ", ".join(p.text for p in self.params)
        return f"{self.result} mx_{self.name}({params or 'void'})".replace("* ", "*")


@dataclass
class Header:
    text: str  # C that cffi understands
    handles: dict[str, str]  # mx_array -> Array
    enums: set[str]
    structs: dict[str, list[Param]]  # name -> fields
    constants: dict[str, list[tuple[str, int]]]  # enum -> names and values; those of enums without a name under ""
    callbacks: dict[str, str]  # mx_trace_fn -> its C type, as "mx_status (*)(mx_array *outputs, ...)"
    functions: list[Function]


FUNCTION = re.compile(r"((?:MX_NOWAIT\s+)?)([\w\s]+?[\s*]+)mx_(\w+)\((.*)\)", re.DOTALL)
FUNCTION_POINTER = re.compile(r".*\(\s*\*\s*(\w+)\s*\)\s*\(.*\)", re.DOTALL)
PARAM = re.compile(r"(.*?)(\w+)", re.DOTALL)


def _type(text: str) -> str:
    return " ".join(text.replace("*", " * ").split()).replace("* *", "**")


def _split(text: str) -> list[str]:
    """Splits at the commas outside parentheses."""
    parts, depth = [""], 0
    for c in text:
        depth += (c == "(") - (c == ")")
        if c == "," and not depth:
            parts.append("")
        else:
            parts[-1] += c
    return [" ".join(p.split()) for p in parts]


def _param(text: str, callbacks: Collection[str]) -> Param:
    optional = "MX_OPTIONAL" in text
    text = " ".join(text.replace("MX_OPTIONAL", " ").split())
    pointer = FUNCTION_POINTER.fullmatch(text)
    if pointer:
        return Param("callback", pointer[1], optional, text)
    m = PARAM.fullmatch(text)
    if not m:
        raise SystemExit(f"cannot parse the parameter: {text}")
    type = _type(m[1])
    return Param("callback" if type in callbacks else type, m[2], optional, text.replace(" *", " *"))


def _arguments(function: str, params: list[Param], handles: dict[str, str]) -> list[Argument]:
    """Groups parameters that belong together. An unknown shape stops the generator."""
    found = []
    rest = list(params)
    while rest:
        p = rest[0]
        next_names = [q.name for q in rest[1:3]]
        element = p.type.removeprefix("const ").removesuffix(" *")
        is_in = p.type.startswith("const ")
        counted = next_names[:1] == [f"n_{p.name}"] or (element == "void" and next_names[:1] == ["n_bytes"])
        bounded = len(next_names) == 2 and next_names[0] == "cap"
        n = 1
        if p.type == "callback":
            kind = Kind.CALLBACK
        elif "*" not in p.type:
            kind = Kind.HANDLE if p.type in handles else Kind.SCALAR
        elif p.type == "const char *":
            kind = Kind.STRING
        elif p.type.replace(" ", "") == "constchar*const*" and counted:
            kind, n = Kind.STRINGS, 2
        elif counted and element == "void":
            kind, n = (Kind.BYTES if is_in else Kind.OUT_BYTES), 2
        elif counted and is_in:
            kind, n = (Kind.HANDLES if element in handles else Kind.VALUES), 2
        elif bounded and element == "char" and next_names[1].startswith("needed"):
            kind, n = Kind.OUT_TEXT, 3
        elif bounded and next_names[1] == f"n_{p.name}_out":
            kind, n = (Kind.OUT_HANDLES if element in handles else Kind.OUT_VALUES), 3
        elif not is_in and (p.name == "out" or p.name.endswith("_out")):
            kind = Kind.OUT_HANDLE if element in handles else Kind.OUT
        elif element in handles:
            raise SystemExit(f"mx_{function}: no rule for the handles in '{p.text}'")
        else:
            kind = Kind.POINTER
        found.append(Argument(kind, element, rest[:n]))
        del rest[:n]
    return found


def _structs(text: str) -> dict[str, list[Param]]:
    found = {}
    for body, name in re.findall(r"typedef struct \w+\s*\{([^{}]*)\}\s*(\w+)", text):
        fields = [" ".join(f.split()) for f in body.split(";") if f.strip()]
        found[name] = [_param(re.sub(r"\[.*\]", "", f), ()) for f in fields]
        for field, source in zip(found[name], fields, strict=True):
            field.text = source
    return found


def _constants(text: str) -> dict[str, list[tuple[str, int]]]:
    found: dict[str, list[tuple[str, int]]] = {}
    for body, name in re.findall(r"\benum\s*\w*\s*\{([^{}]*)\}\s*(\w*)", text):
        value = -1
        for item in filter(None, map(str.strip, body.split(","))):
            constant, _, given = map(str.strip, item.partition("="))
            value = int(given, 0) if given else value + 1
            found.setdefault(name, []).append((constant, value))
    return found


def parse(path: str) -> Header:
    with open(path) as f:
        text = f.read()
    handles = {h: h[3:].title().replace("_", "") for h in re.findall(r"typedef uint64_t (mx_\w+)", text)}
    enums = set(re.findall(r"typedef enum \w+\s*\{[^{}]*\}\s*(\w+)", text))
    pointers = re.findall(r"typedef ([\w\s*]+)\(\*(\w+)\)(\([^;]*\));", text)
    callbacks = {name: " ".join(f"{result}(*){params}".split()) for result, name, params in pointers}
    # split at the ';' between declarations: none is inside braces once struct and enum bodies are gone
    flat = re.sub(r"\{[^{}]*\}", "{}", text)
    functions = []
    for item in flat.split(";"):
        item = item.strip()
        if item.startswith("typedef"):
            continue
        m = FUNCTION.fullmatch(item)
        if m:
            params = [] if m[4].strip() == "void" else [_param(p, callbacks) for p in _split(m[4])]
            functions.append(Function(m[3], _type(m[2]), params, bool(m[1]), _arguments(m[3], params, handles)))
        elif "(" in item:
            raise SystemExit(f"{path}: cannot parse: {item}")
    plain = re.sub(r"\b(MX_NOWAIT|MX_OPTIONAL)\b", "", text)
    return Header(plain, handles, enums, _structs(text), _constants(text), callbacks, functions)
