"""compile: a function that is traced once per signature and then runs as one program (mx/function.h).

The library keeps the programs, this module the Python side: a key of everything among the arguments that is no array,
the trace itself, and the structures of results. A structure's number is the tag that the library hands back on a hit,
so that a program and what its results look like cannot part. A hit on array arguments alone does not come here: it is
answered in C (_fast_call.h)."""

from __future__ import annotations

import functools
import itertools
import struct
import weakref
from collections import namedtuple
from collections.abc import Callable, Iterator

from . import capture, tree
from ._ffi import BufferBase, CompiledBase, fast
from .array import array
from .dtype import Dtype
from .random import _RandomState

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, overload

__all__ = ["CacheInfo", "CompiledFunction", "compile", "disable_compile", "enable_compile"]

_HIT, _TRACE = 0, 1  # mx_call_state
_ARRAY, _TUPLE, _LIST = 0, 1, 2  # tags that C knows

# ---- keys

_type_ids: weakref.WeakKeyDictionary[type, int] = weakref.WeakKeyDictionary()
_next_type_id = itertools.count(1).__next__
_double = struct.Struct("<d").pack


def _type_id(cls: type) -> bytes:
    found = _type_ids.get(cls)
    if found is None:
        found = _type_ids.setdefault(cls, _next_type_id())
    return b"%d;" % found


def _encode(x: Any, out: list[bytes], arrays: list[BufferBase], lenient: bool = False) -> None:
    """Appends a typed, length-prefixed encoding of a tree; its arrays go to `arrays`. ValueError for a leaf that is no
    value, unless lenient: then only its type counts."""
    cls = x.__class__
    if isinstance(x, BufferBase):
        arrays.append(x)
        out.append(b"A")
    elif cls in _SIMPLE:
        out.append(_SIMPLE[cls](x))
    elif cls is list or cls is tuple:
        out.append(b"%c%d;" % (108 if cls is list else 116, len(x)))
        for item in x:
            _encode(item, out, arrays, lenient)
    elif isinstance(x, dict):
        out.append(b"d%d;" % len(x) if cls is dict else b"D%s%d;" % (_type_id(cls), len(x)))
        for key, item in x.items():
            _encode(key, out, arrays, lenient)
            _encode(item, out, arrays, lenient)
    elif isinstance(x, _RandomState) and lenient:
        arrays.append(fast.random_get_state())
        out.append(b"R")
    elif isinstance(x, (bool, int, float, complex, str, bytes)):  # of a class derived from these
        base = next(c for c in cls.__mro__ if c in _SIMPLE)
        out.append(b"v%s%s" % (_type_id(cls), _SIMPLE[base](base(x))))
    else:
        children = tree.children_of(x)
        if children is not None:
            out.append(b"c%s%d;" % (_type_id(cls), len(children)))
            for item in children:
                _encode(item, out, arrays, lenient)
        elif lenient:
            out.append(b"o%s" % _type_id(cls))
        else:
            raise ValueError(
                "compile: arguments are trees of arrays, numbers, strings, bytes, None and dtypes; "
                f"{cls.__name__} is none of these"
            )


def _text(x: str) -> bytes:
    data = x.encode("utf-8", "surrogatepass")
    return b"s%d;%s" % (len(data), data)


_SIMPLE: dict[type, Callable[[Any], bytes]] = {
    type(None): lambda x: b"N",
    bool: lambda x: b"T" if x else b"F",
    int: lambda x: b"i%d;" % x,
    float: lambda x: b"f" + _double(x),
    complex: lambda x: b"z" + _double(x.real) + _double(x.imag),
    str: _text,
    bytes: lambda x: b"b%d;%s" % (len(x), x),
    Dtype: lambda x: b"y%d;" % x._code,
}

# ---- results


class _Structure:
    """What a trace returned, with holes for arrays: the result, and the captured outputs after the call."""

    __slots__ = ("n_result", "outputs", "removed", "result")

    def __init__(self, result: Any, n_result: int, outputs: Any, removed: list[tuple[Any, ...]]) -> None:
        self.result, self.n_result = result, n_result
        self.outputs, self.removed = outputs, removed


class CacheInfo(namedtuple("CacheInfo", "hits traces entries bytes evictions")):
    """Counters of one compiled function: calls answered by an entry, traces, entries now, bytes that they keep, and
    entries dropped because there were too many."""

    __slots__ = ()
    if TYPE_CHECKING:
        hits: int
        traces: int
        entries: int
        bytes: int
        evictions: int


class CompiledFunction(CompiledBase):
    """A function made by compile. Its attributes are those of the function that it was made of, besides cache_info,
    clear_cache and set_capacity. As a class attribute it binds like a method; then every instance has entries of its
    own, and what the body reads from the instance is frozen at its trace like any other closure."""

    __slots__ = (
        *("__dict__", "__weakref__", "_bound", "_fun", "_inputs", "_next_tag", "_outputs", "_shapeless"),
        *("_structures", "_tags"),
    )

    def __init__(self, fun: Callable[..., Any], inputs: Any, outputs: Any, shapeless: bool) -> None:
        functools.update_wrapper(self, fun)
        self._fun, self._inputs, self._outputs, self._shapeless = fun, inputs, outputs, shapeless
        self._tags: dict[bytes, int] = {}
        self._structures: dict[int, _Structure] = {}
        self._next_tag = itertools.count(_LIST + 1).__next__
        self._bound: dict[int, tuple[Any, CompiledFunction]] = {}
        name = getattr(fun, "__name__", type(fun).__name__)
        self._setup(fast.function_new(name, int(shapeless)), inputs is None and outputs is None, array)

    def cache_info(self) -> CacheInfo:
        """The counters of this function."""
        hits, traces, entries, evictions, n_bytes = fast.function_stats(self)
        return CacheInfo(hits, traces, entries, n_bytes, evictions)

    def clear_cache(self) -> None:
        """Drops all entries: the next call of each signature traces again, and sees what its closure holds then."""
        fast.function_erase(self)

    def set_capacity(self, n_entries: int) -> None:
        """Bounds the number of entries: the least recently used go first; 0 is no bound. The default is 256."""
        fast.function_set_capacity(self, n_entries)

    def __get__(self, instance: Any, owner: type | None = None) -> CompiledFunction:
        if instance is None:
            return self
        found = self._bound.get(id(instance))
        if found is None:
            bound, identity = self._bound, id(instance)
            instance_ref = weakref.ref(instance, lambda _: bound.pop(identity, None))
            found = instance_ref, self._bind(instance_ref)
            bound[identity] = found
        return found[1]

    def _bind(self, instance_ref: weakref.ref[Any]) -> CompiledFunction:
        fun = self._fun

        @functools.wraps(fun)
        def method(*args: Any, **kwargs: Any) -> Any:
            return fun(instance_ref(), *args, **kwargs)

        return CompiledFunction(method, self._inputs, self._outputs, self._shapeless)

    def __reduce__(self) -> Any:
        return compile, (self._fun, self._inputs, self._outputs, self._shapeless)

    # ---- calls that C did not answer

    def _call(self, *args: Any, **kwargs: Any) -> Any:
        if self._inputs is None and self._outputs is None:
            return self._enter(args, kwargs)
        with capture.Claim(self._inputs, self._outputs):
            return self._enter(args, kwargs)

    def _enter(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        kwargs = dict(sorted(kwargs.items()))
        arrays: list[BufferBase] = []
        n_args, key = self._key(args, kwargs, arrays)
        call, state = fast.call_begin(self, arrays, key)
        try:
            if state == _HIT:
                tag = fast.call_tag(call)
            elif state == _TRACE:
                tag = self._trace(call, args, kwargs, n_args)
            else:  # an argument is a tracer, or compiling is switched off
                return self._fun(*args, **kwargs)
            return self._build(tag, fast.call_outputs(call))
        finally:
            fast.call_end(call)

    def _inspect(self, look: Callable[[int], Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What `look` says about an open call with these arguments, whose outputs nobody asks for."""
        with capture.Claim(self._inputs, self._outputs):
            kwargs = dict(sorted(kwargs.items()))
            arrays: list[BufferBase] = []
            n_args, key = self._key(args, kwargs, arrays)
            call, state = fast.call_begin(self, arrays, key)
            try:
                if state not in (_HIT, _TRACE):
                    raise ValueError("explain: compiling is switched off, or an argument belongs to a trace")
                if state == _TRACE:
                    self._trace(call, args, kwargs, n_args)
                return look(call)
            finally:
                fast.call_end(call)

    def _key(self, args: tuple[Any, ...], kwargs: dict[str, Any], arrays: list[BufferBase]) -> tuple[int, bytes]:
        """The number of arrays among the arguments, and the key; captured arrays come after them."""
        plain = self._inputs is None and self._outputs is None and not kwargs and len(args) < 256
        if plain and all(isinstance(x, BufferBase) for x in args):
            arrays.extend(args)
            return len(args), b"P%c" % len(args)  # as in C
        out = [b"G"]
        _encode(args, out, arrays)
        _encode(kwargs, out, arrays)
        n_args = len(arrays)
        _encode(self._inputs, out, arrays, lenient=True)
        return n_args, b"".join(out)

    def _trace(self, call: int, args: tuple[Any, ...], kwargs: dict[str, Any], n_args: int) -> int:
        """Runs the function on placeholders and commits; the tag of the entry."""
        placeholders = iter(fast.call_inputs(call))
        args, kwargs = tree.map(lambda x: next(placeholders) if isinstance(x, BufferBase) else x, (args, kwargs))
        found: list[BufferBase] = []
        substitution = capture.Substitution(self._inputs, self._outputs)
        before = capture.shape_of(self._outputs)
        try:
            substitution.open(self._inputs, placeholders)
            result = self._fun(*args, **kwargs)
            structure = capture.structure_of(result, found)
            n_result = len(found)
            outputs = capture.structure_of(self._outputs, found)
            removed = capture.removed_keys(before, self._outputs)
            tag = self._tag(_Structure(structure, n_result, outputs, removed))
            fast.call_commit(call, found, tag)
        finally:
            substitution.close()
        return fast.call_tag(call)

    def _tag(self, structure: _Structure) -> int:
        if self._outputs is None:
            simple = _simple_tag(structure.result)
            if simple is not None:
                return simple
        out: list[bytes] = []
        try:
            _encode_structure((structure.result, structure.outputs, structure.removed), out)
            tag = self._tags.setdefault(b"".join(out), self._next_tag())
        except ValueError:  # something in it cannot be compared
            tag = self._next_tag()
        self._structures.setdefault(tag, structure)
        return tag

    def _build(self, tag: int, values: list[array]) -> Any:
        """The result of a call from its arrays; writes the captured outputs."""
        if tag == _ARRAY:
            return values[0]
        if tag == _LIST:
            return values
        if tag == _TUPLE:
            return tuple(values)
        structure = self._structures[tag]
        source: Iterator[array] = iter(values)
        result = capture.refill(None, structure.result, source)
        if self._outputs is not None:
            for path in structure.removed:
                capture.remove(self._outputs, path)
            capture.refill(self._outputs, structure.outputs, source)
        return result


def _simple_tag(result: Any) -> int | None:
    if result is capture.HOLE:
        return _ARRAY
    if result.__class__ in (tuple, list) and all(x is capture.HOLE for x in result):
        return _TUPLE if result.__class__ is tuple else _LIST
    return None


def _encode_structure(x: Any, out: list[bytes]) -> None:
    """As _encode, for trees with holes."""
    if x is capture.HOLE or x is capture.RANDOM_HOLE:
        out.append(b"A" if x is capture.HOLE else b"R")
        return
    children = tree.children_of(x)
    if children is None:
        _encode(x, out, [])
        return
    out.append(b"c%s%d;" % (_type_id(x.__class__), len(children)))
    for key in x if isinstance(x, dict) else ():
        _encode(key, out, [])
    for child in children:
        _encode_structure(child, out)


if TYPE_CHECKING:

    @overload
    def compile(
        fun: Callable[..., Any], inputs: Any = None, outputs: Any = None, shapeless: bool = False
    ) -> CompiledFunction: ...
    @overload
    def compile(
        fun: None = None, inputs: Any = None, outputs: Any = None, shapeless: bool = False
    ) -> Callable[[Callable[..., Any]], CompiledFunction]: ...


def compile(
    fun: Callable[..., Any] | None = None, inputs: Any = None, outputs: Any = None, shapeless: bool = False
) -> Any:
    """A function that gives what `fun` gives, but faster: its first call with a signature traces it, later ones run the
    program made of the trace. Also a decorator, with arguments or without.

    The signature: shapes and dtypes of the arrays among the arguments (only ranks and dtypes if `shapeless`), and the
    value and type of everything else, which must be numbers, strings, bytes, None, dtypes, or trees of these and arrays
    (see pymx.tree), else ValueError. Whatever else the body reads (globals, closures, attributes) is frozen at the
    trace; clear_cache() makes it trace again. Values of arrays are not known while tracing.

    inputs, outputs -- trees of dicts and lists whose arrays are arguments and results as well: the body may read those
    of `inputs`, and what it puts into `outputs` is there after every call. random.state may be captured, too."""
    if fun is None:
        return functools.partial(compile, inputs=inputs, outputs=outputs, shapeless=shapeless)
    if not callable(fun):
        raise TypeError(f"compile: expected a function, got {type(fun).__name__}")
    return CompiledFunction(fun, inputs, outputs, shapeless)


def disable_compile() -> None:
    """Makes all compiled functions run their bodies, at once. MX_DISABLE_COMPILE=1 starts like this."""
    fast.compile_enable(False)


def enable_compile() -> None:
    """Ends disable_compile."""
    fast.compile_enable(True)
