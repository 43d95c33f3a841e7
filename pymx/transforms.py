"""Transforms of functions: derivatives (mx/transform.h).

The library keeps the tape and builds the derivatives, this module runs the functions: on tracers in place of the arrays
among their arguments. Rules that users write are pulled: a transform that gets to a custom function stops, its rule
runs here, and the transform goes on with what it gave."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Sequence

from . import tree
from ._ffi import BufferBase, fast
from ._local import local
from .array import array
from .shape import depends
from .vmap import call_rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Rule = Callable[[list[Any], list[Any], list[Any]], Sequence[Any]]

__all__ = ["checkpoint", "custom_function", "grad", "jvp", "value_and_grad", "vjp"]

_RULE = 1  # mx_transform_state
_VJP, _JVP = 1, 2  # mx_rules

# ---- open transforms

_rules: dict[int, tuple[Rule | None, Rule | None]] = {}  # token -> vjp, jvp
_next_token = itertools.count(1).__next__


class _Open(local):
    """How many transforms this thread has open, and the tokens of rules that they may ask for."""

    def __init__(self) -> None:
        self.depth = 0
        self.tokens: list[int] = []


_open = _Open()


class _Transform:
    """As a context manager: an open transform of a function of these arrays."""

    __slots__ = ("_handle", "_rule", "tracers")

    def __init__(self, primals: Sequence[BufferBase]) -> None:
        self._handle = fast.transform_begin(primals)
        self.tracers = self.fresh_tracers()

    def fresh_tracers(self) -> list[array]:
        tracers: list[array] = fast.transform_inputs(self._handle)
        return tracers

    def __enter__(self) -> _Transform:
        _open.depth += 1
        return self

    def __exit__(self, *exception: object) -> None:
        fast.transform_end(self._handle)
        _open.depth -= 1
        if not _open.depth:
            for token in _open.tokens:
                _rules.pop(token, None)
            _open.tokens.clear()

    def vjp(
        self, outputs: Sequence[BufferBase], cotangents: Sequence[BufferBase], wanted: list[int] | None
    ) -> list[array]:
        return self._go_on(fast.transform_vjp(self._handle, outputs, cotangents, wanted), 0)

    def jvp(self, outputs: Sequence[array], tangents: Sequence[array]) -> list[array]:
        return self._go_on(fast.transform_jvp(self._handle, outputs, tangents), 1)

    def _go_on(self, state: int, direction: int) -> list[array]:
        t = self._handle
        while state == _RULE:
            rule = _rules[fast.transform_rule(t)][direction]
            if rule is None:
                raise RuntimeError("a custom function has lost its rule")
            answer = rule(fast.transform_rule_inputs(t), fast.transform_rule_outputs(t), fast.transform_rule_asked(t))
            state = fast.transform_supply(t, answer)
        results: list[array] = fast.transform_results(t)
        return results


class _Swap:
    """Copies of trees in which every array is replaced by the next tracer. What the function puts into the copies goes
    into the originals afterwards, other than the tracers themselves; nobody else ever sees those."""

    def __init__(self, transform: _Transform) -> None:
        self._transform = transform
        self._next = itertools.count().__next__
        self._originals: dict[int, tuple[Any, Any, int | None]] = {}  # id of a copy -> copy, original, which tracer
        self._containers: list[tuple[Any, Any]] = []

    def copy(self, x: Any) -> Any:
        if isinstance(x, BufferBase):
            which = self._next()
            tracer = self._transform.tracers[which]
            self._originals[id(tracer)] = tracer, x, which
            return tracer
        children = tree.children_of(x)
        if children is None:
            return x
        new = tree.rebuild(x, [self.copy(child) for child in children])
        self._originals[id(new)] = new, x, None
        if isinstance(x, (list, dict)):
            self._containers.append((x, new))
        return new

    def put_back(self) -> None:
        if not self._containers:
            return
        first = self._transform.fresh_tracers()  # those among `tracers` may have been updated in place
        for original, new in self._containers:
            if isinstance(original, list):
                items = [self._back(x, first) for x in new]
                if len(items) != len(original) or any(x is not y for x, y in zip(items, original, strict=True)):
                    original[:] = items
            else:
                for key in [key for key in original if key not in new]:
                    del original[key]
                for key, x in new.items():
                    item = self._back(x, first)
                    if key not in original or original[key] is not item:
                        original[key] = item

    def _back(self, x: Any, first: list[array]) -> Any:
        copy, original, which = self._originals.get(id(x), (None, None, None))
        if copy is not x or (which is not None and not fast.array_same(x, first[which])):
            return x
        return original


_HOLE = object()


def _holes(x: Any) -> Any:
    """The tree without its arrays, which a rule that waits must not keep alive."""
    return tree.map(lambda leaf: _HOLE if isinstance(leaf, BufferBase) else leaf, x)


def _arrays(x: Any) -> list[BufferBase]:
    return [leaf for leaf in tree.leaves(x) if isinstance(leaf, BufferBase)]


def _only_arrays(x: Any, name: str, what: str) -> list[BufferBase]:
    found = list(tree.leaves(x))
    for leaf in found:
        if not isinstance(leaf, BufferBase):
            raise ValueError(f"{name}: {what} must hold nothing but arrays, but it holds {type(leaf).__name__}")
    return found


# ---- gradients


def _numbers(argnums: Any, names: Sequence[str], name: str) -> list[int]:
    if argnums is None:
        return [] if names else [0]
    numbers = [argnums] if isinstance(argnums, int) else list(argnums)
    for n in numbers:
        if not isinstance(n, int):
            raise TypeError(f"{name}: argnums must be integers, got {type(n).__name__}")
        if n < 0:
            raise ValueError(f"{name}: argument {n} is negative; count from 0")
    if len(set(numbers)) != len(numbers):
        raise ValueError(f"{name}: an argument is named twice in {numbers}")
    return sorted(numbers)


class _Gradient:
    """What value_and_grad and grad share: which arguments, and one call."""

    def __init__(self, name: str, fun: Callable[..., Any], argnums: Any, argnames: Any) -> None:
        if not callable(fun):
            raise TypeError(f"{name}: expected a function, got {type(fun).__name__}")
        self.name, self.fun = name, fun
        self.names = [argnames] if isinstance(argnames, str) else list(argnames)
        self.numbers = _numbers(argnums, self.names, name)
        if not self.numbers and not self.names:
            raise ValueError(f"{name}: no argument to differentiate with respect to")

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any], only_scalar: bool) -> tuple[Any, Any]:
        self._check(args, kwargs)
        wanted: list[int] = []
        primals: list[BufferBase] = []
        places: dict[int | str, Any] = {}
        named: list[tuple[int | str, Any]] = [*enumerate(args), *kwargs.items()]
        for key, x in named:
            is_wanted = key in (self.numbers if isinstance(key, int) else self.names)
            found = _only_arrays(x, self.name, f"argument {key}") if is_wanted else _arrays(x)
            if is_wanted:
                wanted += range(len(primals), len(primals) + len(found))
                places[key] = _holes(x)
            primals += found
        with _Transform(primals) as transform:
            swap = _Swap(transform)
            args, kwargs = swap.copy(args), swap.copy(kwargs)
            try:
                value = self.fun(*args, **kwargs)
            finally:
                swap.put_back()
            loss = self._loss(value, only_scalar)
            one = fast.array_scalar(1, loss._dtype_code)
            return value, self._gradients(places, transform.vjp([loss], [one], wanted))

    def _check(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if self.numbers and self.numbers[-1] >= len(args):
            raise ValueError(
                f"{self.name}: there is no argument {self.numbers[-1]} to differentiate with respect to: the call has "
                f"{len(args)} positional arguments"
            )
        for key in self.names:
            if key not in kwargs:
                raise ValueError(
                    f"{self.name}: there is no keyword argument {key!r} to differentiate with respect to: the call has "
                    f"{sorted(kwargs)}"
                )

    def _loss(self, value: Any, only_scalar: bool) -> array:
        loss = value
        if not only_scalar and isinstance(value, tuple) and value:
            loss = value[0]
        if not isinstance(loss, array):
            more = "" if only_scalar else ", or a tuple that begins with one,"
            kind = f"a tuple that begins with {type(loss).__name__}" if loss is not value else type(loss).__name__
            raise ValueError(f"{self.name}: the function must return a scalar array{more} but it returned {kind}")
        if loss.shape:
            raise ValueError(
                f"{self.name}: the function must return a scalar array, but it returned one of shape {loss.shape}"
            )
        return loss

    def _gradients(self, places: dict[int | str, Any], found: list[array]) -> Any:
        """The gradients in the structures that the arguments had before the function changed them."""
        source = iter(found)
        filled = {key: tree.map(lambda leaf: next(source), holes) for key, holes in places.items()}
        by_number = [filled[i] for i in self.numbers]
        positional = None if not by_number else by_number[0] if len(by_number) == 1 else tuple(by_number)
        return (positional, {key: x for key, x in filled.items() if isinstance(key, str)}) if self.names else positional


def value_and_grad(
    fun: Callable[..., Any], argnums: int | Sequence[int] | None = None, argnames: str | Sequence[str] = ()
) -> Callable[..., tuple[Any, Any]]:
    """A function that returns what `fun` returns and its gradient.

    `fun` returns a scalar array, or a tuple that begins with one; the gradient is of that one. The arguments named by
    `argnums` (by default the first) and `argnames` must be arrays or trees of arrays; the gradient has their structure:
    that of the argument for one, a tuple for several, and (positional, {name: gradient}) with argnames.

    `fun` runs on tracers, which have values: it may evaluate them, branch on them and print them. ValueError for other
    arguments and other results."""
    gradient = _Gradient("value_and_grad", fun, argnums, argnames)

    @functools.wraps(fun)
    def run(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        return gradient(args, kwargs, False)

    return run


def grad(
    fun: Callable[..., Any], argnums: int | Sequence[int] | None = None, argnames: str | Sequence[str] = ()
) -> Callable[..., Any]:
    """A function that returns the gradient of `fun`, which returns a scalar array; see value_and_grad."""
    gradient = _Gradient("grad", fun, argnums, argnames)

    @functools.wraps(fun)
    def run(*args: Any, **kwargs: Any) -> Any:
        return gradient(args, kwargs, True)[1]

    return run


# ---- products with the Jacobian


def _outputs(out: Any, name: str) -> list[array]:
    outputs = [out] if isinstance(out, array) else list(out) if isinstance(out, (list, tuple)) else None
    if outputs is None or not all(isinstance(x, array) for x in outputs):
        raise ValueError(f"{name}: the function must return an array or a list of arrays")
    return outputs


def vjp(
    fun: Callable[..., Any], primals: Sequence[array], cotangents: Sequence[array]
) -> tuple[list[array], list[array]]:
    """The outputs of fun(*primals) and the products of the cotangents, one per output and of its shape, with the
    Jacobian: one array per primal, zeros where nothing depends on it. `fun` returns an array or a list of arrays.
    Outputs of stop_gradient may be left out among the cotangents. ValueError for other numbers and shapes."""
    with _Transform(list(primals)) as transform:
        outputs = _outputs(fun(*transform.tracers), "vjp")
        return outputs, transform.vjp(outputs, list(cotangents), None)


def jvp(
    fun: Callable[..., Any], primals: Sequence[array], tangents: Sequence[array]
) -> tuple[list[array], list[array]]:
    """The outputs of fun(*primals) and the products of the Jacobian with the tangents, one per primal and of its shape:
    one array per output, zeros where it depends on no primal. `fun` returns an array or a list of arrays. ValueError
    for other numbers and shapes."""
    primals, tangents = list(primals), list(tangents)
    if len(primals) != len(tangents):
        raise ValueError(f"jvp: {len(primals)} primals, but {len(tangents)} tangents")
    for x, t in zip(primals, tangents, strict=True):
        if x.shape != t.shape:
            raise ValueError(f"jvp: a primal of shape {x.shape} has a tangent of shape {t.shape}")
    with _Transform(primals) as transform:
        outputs = _outputs(fun(*transform.tracers), "jvp")
        return outputs, transform.jvp(outputs, tangents)


# ---- functions with rules of their own


def _filled(holes: Any, values: Iterable[Any]) -> Any:
    source = iter(values)
    return tree.map(lambda leaf: next(source) if leaf is _HOLE else leaf, holes)


def _marked(result: Any, arguments: list[BufferBase], vjp: Rule | None, jvp: Rule | None) -> Any:
    """The result of a call whose derivatives these rules give."""
    outputs = _arrays(result)
    if not outputs:
        return result
    token = _next_token()
    _rules[token] = vjp, jvp
    _open.tokens.append(token)
    flags = (_VJP if vjp else 0) | (_JVP if jvp else 0)
    return _filled(_holes(result), fast.transform_custom(arguments, outputs, token, flags))


def _vjp_rule(user: Callable[..., Any], call: Any, like: Any) -> Rule:
    def run(inputs: list[Any], outputs: list[Any], cotangents: list[Any]) -> Sequence[Any]:
        args, kwargs = _filled(call, inputs)
        primals = args[0] if len(args) == 1 else args
        return _arrays(user(primals, _filled(like, cotangents), _filled(like, outputs), **kwargs))

    return run


def _jvp_rule(user: Callable[..., Any], call: Any) -> Rule:
    def run(inputs: list[Any], outputs: list[Any], tangents: list[Any]) -> Sequence[Any]:
        args, kwargs = _filled(call, inputs)
        if kwargs:
            raise ValueError("custom_function: a rule of jvp takes positional arguments only")
        along = _filled(call, tangents)[0]
        return _arrays(user(args[0], along[0]) if len(args) == 1 else user(args, along))

    return run


class custom_function:
    """A function with derivatives of its own, as a decorator. Until a rule is given it is the function itself.

        @custom_function
        def f(x, y): ...

        @f.vjp
        def f_vjp(primals, cotangents, outputs): ...  # gradients, in the structure of primals

        @f.jvp
        def f_jvp(primals, tangents): ...  # tangents, in the structure of outputs

        @f.vmap
        def f_vmap(primals, axes): ...  # outputs for all elements, and the axis of each

    `primals` is the argument itself if there is one, else the tuple of arguments; cotangents and outputs have the
    structure of what the function returned, tangents that of primals, with None where there is none. Keyword arguments
    go to the rule of vjp as they are. In a direction without a rule the function is differentiated as usual. With a
    rule, what the function reads beside its arguments counts as constant."""

    def __init__(self, f: Callable[..., Any]) -> None:
        if not callable(f):
            raise TypeError(f"custom_function: expected a function, got {type(f).__name__}")
        functools.update_wrapper(self, f)
        self._fun = f
        self._vjp: Callable[..., Any] | None = None
        self._jvp: Callable[..., Any] | None = None
        self._vmap: Callable[..., Any] | None = None

    def vjp(self, f: Callable[..., Any]) -> custom_function:
        """Sets the rule for reverse differentiation."""
        self._vjp = f
        return self

    def jvp(self, f: Callable[..., Any]) -> custom_function:
        """Sets the rule for forward differentiation."""
        self._jvp = f
        return self

    def vmap(self, f: Callable[..., Any]) -> custom_function:
        """Sets the rule for mappings, of calls without keyword arguments."""
        self._vmap = f
        return self

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._vmap and not kwargs:
            is_mapped, result = call_rule(self._vmap, args)
            if is_mapped:
                return result
        result = self._fun(*args, **kwargs)
        user_vjp, user_jvp = self._vjp, self._jvp
        if not _open.depth or not (user_vjp or user_jvp):
            return result
        call = _holes((args, kwargs))
        vjp = _vjp_rule(user_vjp, call, _holes(result)) if user_vjp else None
        jvp = _jvp_rule(user_jvp, call) if user_jvp else None
        return _marked(result, _arrays((args, kwargs)), vjp, jvp)


def checkpoint(fun: Callable[..., Any]) -> Callable[..., Any]:
    """A function that gives what `fun` gives but keeps none of its intermediate values for the gradient: the backward
    pass computes them again. What `fun` reads beside its arguments counts as constant there."""
    if not callable(fun):
        raise TypeError(f"checkpoint: expected a function, got {type(fun).__name__}")

    @functools.wraps(fun)
    def run(*args: Any, **kwargs: Any) -> Any:
        result = fun(*args, **kwargs)
        if not _open.depth:
            return result
        call = _holes((args, kwargs))

        def again(inputs: list[Any], outputs: list[Any], cotangents: list[Any]) -> Sequence[Any]:
            # no sooner than the cotangents are there, and not merged with the first time
            late = depends(inputs, cotangents)
            with _Transform(late) as transform:
                args, kwargs = _filled(call, transform.tracers)
                return transform.vjp(_arrays(fun(*args, **kwargs)), cotangents, None)

        return _marked(result, _arrays((args, kwargs)), again, None)

    return run
