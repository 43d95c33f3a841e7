"""Generates the inputs of the Python extension from the headers: a cffi cdef of all functions, and limited-API builtins
that keep the GIL for the functions marked MX_NOWAIT. pymx/_convert.h has the conversions.

Arguments of a builtin, in the order of the C parameters: numbers, bools, enums as ints, arrays as objects, other
handles as ints or objects with `_handle`, None where MX_OPTIONAL, a sequence for `const T *xs, size_t n_xs`, str, any
buffer for `const void *x, size_t n_bytes`, an address as an int for other pointers. Results: None, or what goes out:
arrays as objects, other handles as ints, `T *x, size_t cap, size_t *n_x_out` as a tuple (arrays: a list), text as str;
several as a tuple. Functions with callbacks get no builtin.

usage: gen_py.py PREPROCESSED CDEF BUILTINS_H
"""

import sys
from dataclasses import dataclass, field

from header import Argument, Function, Header, Kind, parse


def converter(header: Header, type: str) -> str:
    """The suffix of to_X and from_X; arrays have their own converter, one serves all other handles, one all enums."""
    if type in header.handles:
        return type if type == "mx_array" else "handle"
    if type in header.enums:
        return "int"
    return {"const char *": "string", "char": "string"}.get(type, type)


@dataclass
class Code:
    """The parts of a builtin."""

    declare: list[str] = field(default_factory=list)
    convert: list[str] = field(default_factory=list)  # conditions, one per Python argument
    call: list[str] = field(default_factory=list)  # C arguments
    retry: list[str] = field(default_factory=list)  # conditions under which the call is made again
    results: list[str] = field(default_factory=list)  # expressions, new references
    undo: list[str] = field(default_factory=list)  # statements for when a result cannot be made
    release: list[str] = field(default_factory=list)


def add_input(header: Header, code: Code, a: Argument) -> None:
    x, arg = a.name, f"py_args[{len(code.convert)}]"
    optional = "optional_" if a.optional else ""
    if a.kind in (Kind.SCALAR, Kind.HANDLE):
        to = converter(header, a.type)
        code.declare.append(f"{'uint64_t' if to == 'handle' else to} {x};")
        code.convert.append(f"to_{optional}{to}({arg}, &{x})")
        code.call.append(x)
    elif a.kind is Kind.STRING:
        code.declare.append(f"const char *{x};")
        code.convert.append(f"to_{optional}string({arg}, &{x})")
        code.call.append(x)
    elif a.kind is Kind.POINTER:
        code.declare.append(f"void *{x};")
        code.convert.append(f"to_{optional}pointer({arg}, &{x})")
        code.call.append(x)
    else:
        kinds = {Kind.STRINGS: "string", Kind.BYTES: "bytes", Kind.OUT_BYTES: "bytes"}
        to = kinds.get(a.kind) or converter(header, a.type)
        keeps = {"bytes": f" {x}.held = 0;", "string": f" {x}.tuple = NULL;"}.get(to, "")
        code.declare.append(f"Sequence_{to} {x}; {x}.data = NULL; {x}.n = 0;{keeps}")
        sequence = "sequence_writable" if a.kind is Kind.OUT_BYTES else f"{optional}sequence_{to}"
        code.convert.append(f"{sequence}({arg}, &{x})")
        cast = f"(const {a.type} *)" if to == "int" else ""
        code.call += [f"{cast}{x}.data", f"{x}.n"]
        code.release.append(f"release_{to}(&{x});")


def add_output(header: Header, code: Code, a: Argument) -> None:
    x, to = a.name, converter(header, a.type)
    if a.kind is Kind.OUT_HANDLES:
        if a.type != "mx_array":
            raise SystemExit(f"no rule for a list of {a.type} in a builtin")
        code.declare.append(f"Handles {x}; {x}.data = {x}.inside; {x}.n = 0; {x}.cap = 1024;")
        code.call += [f"{x}.data", f"{x}.cap", f"&{x}.n"]
        code.retry.append(f"(py_status == MX_ERROR_INVALID_ARGUMENT && grow_handles(&{x}))")
        code.results.append(f"list_mx_array(py_module, {x}.data, {x}.n)")
        code.release.append(f"release_handles(&{x});")
    elif a.kind is Kind.OUT_TEXT:
        code.declare.append(f"Text {x}; {x}.data = {x}.inside; {x}.needed = 0; {x}.cap = 256; {x}.inside[0] = 0;")
        code.call += [f"{x}.data", f"{x}.cap", f"&{x}.needed"]
        code.retry.append(f"grow_text(&{x})")
        code.results.append(f"from_text(&{x})")
        code.release.append(f"release_text(&{x});")
    elif a.kind is Kind.OUT_VALUES:
        code.declare.append(f"{a.type} {x}[256]; size_t n_{x} = 0;")
        code.call += [x, "256", f"&n_{x}"]
        code.results.append(f"tuple_{to}({x}, n_{x})")
    elif a.kind is Kind.OUT_HANDLE:
        code.declare.append(f"uint64_t {x} = 0;")
        code.call.append(f"&{x}")
        if a.type == "mx_array":
            code.results.append(f"wrap_array(py_module, {x})")
        else:
            code.results.append(f"from_handle({x})")
            code.undo.append(f"mx_{a.type[3:]}_free({x});")
    else:
        code.declare.append(f"{a.type} {x};")
        code.call.append(f"&{x}")
        code.results.append(f"from_{to}({'(int)' if to == 'int' else ''}{x})")


def builtin(header: Header, f: Function) -> str:
    code = Code()
    for a in f.arguments:
        (add_output if a.is_output else add_input)(header, code, a)
    c_call = f"mx_{f.name}({', '.join(code.call)})"
    body = []
    if f.result != "mx_status":
        to = converter(header, f.result)
        none = f"{c_call}; py_result = Py_NewRef(Py_None);"
        body.append(none if f.result == "void" else f"py_result = from_{to}({c_call});")
    else:
        body.append(f"mx_status py_status = {c_call};")
        body += [f"if ({again}) py_status = {c_call};" for again in code.retry]
        body.append("if (py_status) raise_status(py_status);")
        if len(code.results) > 1:
            items = ", ".join(code.results)
            made = f"PyObject *items[] = {{{items}}}; py_result = tuple_of(items, {len(code.results)});"
            body.append(f"else {{ {made} }}")
        else:
            body.append(f"else py_result = {code.results[0] if code.results else 'Py_NewRef(Py_None)'};")
        if code.undo:
            body.append(f"if (!py_status && !py_result) {{ {' '.join(code.undo)} }}")
    named = [a.name for a in f.arguments if not a.is_output]
    converted = [f'({x} || (wrong("{f.name}", "{a}"), 0))' for x, a in zip(code.convert, named, strict=True)]
    condition = " && ".join([f'arity("{f.name}", {len(code.convert)}, py_n)', *converted])
    run = "\n    ".join(body)
    lines = "\n  ".join([*code.declare, f"if ({condition}) {{\n    {run}\n  }}", *code.release])
    return (
        f"static PyObject *py_{f.name}(PyObject *py_module, PyObject *const *py_args, Py_ssize_t py_n) {{\n"
        f"  PyObject *py_result = NULL;\n  (void)py_module; (void)py_args;\n  {lines}\n  return py_result;\n}}\n"
    )


def struct_converter(header: Header, name: str) -> str:
    """from_X for a struct of numbers: a tuple of its fields."""
    fields = [p for p in header.structs[name] if p.name != "size"]
    items = ", ".join(f"from_{converter(header, p.type)}(x.{p.name})" for p in fields)
    return (
        f"static inline PyObject *from_{name}({name} x) {{\n"
        f"  PyObject *items[] = {{{items}}};\n  return tuple_of(items, {len(fields)});\n}}\n"
    )


def signature(f: Function) -> str:
    return f"{f.name}({', '.join(a.name for a in f.arguments if not a.is_output)})"


def main() -> None:
    header = parse(sys.argv[1])
    fast = [f for f in header.functions if f.nowait and all(a.kind is not Kind.CALLBACK for a in f.arguments)]
    by_hand = {"mx_scalar", "mx_view"}
    structs = {a.type for f in fast for a in f.arguments if a.kind is Kind.OUT and a.type in header.structs} - by_hand
    with open(sys.argv[2], "w") as out:
        out.write(header.text)
    with open(sys.argv[3], "w") as out:
        out.write("/* Generated by tools/gen_py.py; do not edit. */\n")
        out.writelines(struct_converter(header, s) + "\n" for s in sorted(structs))
        out.writelines(builtin(header, f) + "\n" for f in fast)
        rows = (
            f'{{"{f.name}", (PyCFunction)(void (*)(void))py_{f.name}, METH_FASTCALL, "{signature(f)}"}}' for f in fast
        )
        out.write("#define PYMX_BUILTINS " + ", \\\n  ".join(rows) + "\n")


if __name__ == "__main__":
    main()
