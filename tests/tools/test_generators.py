"""The header parser sorts parameters by the conventions of mx/base.h, and the generators do with each what they say."""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

TOOLS = Path(__file__).resolve().parents[2] / "tools"
sys.path.insert(0, str(TOOLS))

import header  # noqa: E402
from header import Kind  # noqa: E402

HEADER = """
typedef uint64_t mx_array; typedef uint64_t mx_stream;
typedef enum mx_mode { MX_A = 0 } mx_mode;
typedef struct mx_info { uint32_t size; uint64_t hits; } mx_info;
typedef mx_status (*mx_fn)(mx_array *outs, void *payload);
MX_NOWAIT mx_status mx_add(mx_array *out, mx_array a, mx_stream MX_OPTIONAL s);
MX_NOWAIT mx_status mx_sum(mx_array *out, const int64_t *MX_OPTIONAL axes, size_t n_axes, mx_mode mode);
MX_NOWAIT mx_status mx_qr(mx_array *q_out, mx_array *r_out, bool *full_out, mx_array a);
MX_NOWAIT mx_status mx_split(mx_array *outs, size_t cap, size_t *n_outs_out, const mx_array *xs, size_t n_xs);
MX_NOWAIT mx_status mx_name(char *buf, size_t cap, size_t *needed_out, mx_array x);
MX_NOWAIT mx_status mx_save(const char *const *names, size_t n_names, const void *data, size_t n_bytes);
MX_NOWAIT mx_status mx_info_of(mx_info *out, mx_array x);
mx_status mx_compile(mx_array *out, mx_fn fn, void *payload, void (*destroy)(void *));
MX_NOWAIT mx_status mx_array_free(mx_array x);
MX_NOWAIT mx_status mx_array_dup(mx_array *out, mx_array x);
MX_NOWAIT uint32_t mx_version(void);
"""


RUST_ONLY = """
enum { MX_MAX = 32 };
typedef struct mx_view { const void *data; uint32_t n; int64_t dims[MX_MAX]; } mx_view;
typedef enum mx_level { MX_LOW = 3, MX_HIGH } mx_level;
mx_status mx_texts(const char *const *names, size_t n_names, mx_level type);
"""


def generate(tool: str, text: str, folder: Path, n: int) -> list[str]:
    source = folder / "in.h"
    source.write_text(text)
    outputs = [folder / f"{tool}.{i}" for i in range(n)]
    subprocess.run([sys.executable, TOOLS / tool, source, *outputs], check=True, capture_output=True)
    return [o.read_text() for o in outputs]


def refused(tool: str, declaration: str, folder: Path) -> bool:
    try:
        generate(tool, HEADER + declaration, folder, 2)
    except subprocess.CalledProcessError:
        return True
    return False


def body(text: str, name: str) -> str:
    match = re.search(rf"\b{name}\(.*?\n\}}\n", text, re.DOTALL)
    assert match, name
    return match[0]


def check_parser(folder: Path) -> None:
    (folder / "in.h").write_text(HEADER)
    parsed = header.parse(str(folder / "in.h"))
    kinds = {f.name: [a.kind for a in f.arguments] for f in parsed.functions}
    assert kinds["add"] == [Kind.OUT_HANDLE, Kind.HANDLE, Kind.HANDLE]
    assert [a.optional for f in parsed.functions if f.name == "add" for a in f.arguments] == [False, False, True]
    assert kinds["sum"] == [Kind.OUT_HANDLE, Kind.VALUES, Kind.SCALAR]
    assert kinds["qr"] == [Kind.OUT_HANDLE, Kind.OUT_HANDLE, Kind.OUT, Kind.HANDLE]
    assert kinds["split"] == [Kind.OUT_HANDLES, Kind.HANDLES]
    assert kinds["name"] == [Kind.OUT_TEXT, Kind.HANDLE]
    assert kinds["save"] == [Kind.STRINGS, Kind.BYTES]
    assert kinds["compile"] == [Kind.OUT_HANDLE, Kind.CALLBACK, Kind.POINTER, Kind.CALLBACK]
    assert kinds["version"] == []
    assert parsed.handles == {"mx_array": "Array", "mx_stream": "Stream"} and parsed.enums == {"mx_mode"}
    assert "MX_" not in parsed.text.replace("MX_A", "")


def check_capi(folder: Path) -> None:
    declarations, shims = generate("gen_capi.py", HEADER, folder, 2)
    for line in (
        "Value add(Value a, Stream *s);",
        "Value sum(const int64_t *axes, size_t n_axes, mx_mode mode);",
        "void qr(Value *q_out, Value *r_out, bool *full_out, Value a);",
        "ValueVector split(ValueVector xs);",
        "Value compile(mx_fn fn, void *payload, void (*destroy)(void *));",
        "uint32_t version() noexcept;",
    ):
        assert line in declarations, line
    assert "dup" not in declarations and "free" not in declarations
    assert "axes is NULL" not in shims and '"mx_sum: out"' in body(shims, "mx_sum")
    qr = body(shims, "mx_qr")
    assert qr.index("Opened<mx_array> r_out_made") < qr.index("*q_out =")  # both are open before either goes out
    assert qr.index("r_out_made(") < qr.index("*full_out =")
    compiled = body(shims, "mx_compile")
    assert compiled.index("CallbackGuard") < compiled.index("null_argument") < compiled.index("disarm")
    assert refused("gen_capi.py", "void mx_bad(mx_array x);", folder)  # can fail, so it must return a status
    assert refused("gen_capi.py", "mx_status mx_bad(mx_array *xs);", folder)  # neither in nor out
    assert refused("gen_capi.py", "typedef uint64_t mx_thing;", folder)  # no class


def check_builtins(folder: Path) -> None:
    cdef, builtins = generate("gen_py.py", HEADER, folder, 2)
    assert "mx_compile(" in cdef and "MX_NOWAIT" not in cdef and "MX_OPTIONAL" not in cdef
    assert "py_compile" not in builtins  # callbacks are for C
    assert "to_optional_handle(py_args[1], &s)" in body(builtins, "py_add")
    assert "optional_sequence_int64_t(py_args[0], &axes)" in body(builtins, "py_sum")
    assert 'arity("qr", 1, py_n)' in body(builtins, "py_qr") and "tuple_of(items, 3)" in body(builtins, "py_qr")
    assert "release_mx_array(&xs);" in body(builtins, "py_split")


def check_rust(folder: Path) -> None:
    (crate,) = generate("gen_rust.py", HEADER + RUST_ONLY, folder, 1)
    for line in (
        "pub struct mx_array(pub u64);",
        "pub type mx_level = u32;\npub const MX_LOW: mx_level = 3;\npub const MX_HIGH: mx_level = 4;",
        "pub const MX_MAX: i32 = 32;",
        "pub struct mx_view {\n    pub data: *const c_void,\n    pub n: u32,\n    pub dims: [i64; MX_MAX as usize],\n}",
        'pub type mx_fn = Option<unsafe extern "C" fn(*mut mx_array, *mut c_void) -> mx_status>;',
        "pub fn mx_add(out: *mut mx_array, a: mx_array, s: mx_stream) -> mx_status;",
        "pub fn mx_compile(out: *mut mx_array, r#fn: mx_fn, payload: *mut c_void,"
        ' destroy: Option<unsafe extern "C" fn(*mut c_void)>) -> mx_status;',
        "pub fn mx_texts(names: *const *const c_char, n_names: usize, r#type: mx_level) -> mx_status;",
        "pub fn mx_version() -> u32;",
    ):
        assert line in crate, line


with tempfile.TemporaryDirectory() as name:
    for check in (check_parser, check_capi, check_builtins, check_rust):
        check(Path(name))
