"""matmul and gemm: what is done for each call. Everything that addresses do not change is in its plan, which is kept."""
from __future__ import annotations

import sys
from ctypes import addressof
from typing import Any, SupportsFloat

import numpy as np

from ._arrays import kind_of
from ._library import context, failure, pack_bias, pack_operands, run
from ._plan import Plan, check_flags, is_contiguous, make_plan


def matmul(a: Any, b: Any, *, out: Any = None, dtype: Any = None, alpha: SupportsFloat = 1.0, math: str | None = None,
           bias: Any = None, activation: str | None = None) -> Any:
    """activation(alpha times the matrix product of a and b, plus bias), with the shapes of numpy.matmul.

    a, b: arrays of one element type, float64, float32, float16 or bfloat16, and of one axis or more. The last two axes are
        those of matrices; a vector is a matrix of one row (a) or column (b), which the result does not have; further axes
        are those of batches, which are broadcast to each other.
    out: the array for the result. By default it is a new one, of the library of a and where a is.
    dtype: the element type of a new result: that of a and b by default, or float32 where that has 16 bits.
    math: how fp32 is computed, a key of xgemm.MATH_MODES. By default it is what XGEMM_MATH says, or "strict".
    bias: a vector of the result's element type with an element for each of its columns, which is added to them.
    activation: a key of xgemm.ACTIVATIONS: "relu", "gelu", its approximation "gelu_tanh", or "silu".

    Returns out, or the new array. Arrays of NumPy, PyTorch and CuPy, and objects with __dlpack__ or
    __cuda_array_interface__, are read and written where they are. On a GPU the product is enqueued on the current stream of
    the library that the arrays are of. The product of tensors of PyTorch that require a gradient has one.
    """
    result = _product(a, b, out, "out", dtype, alpha, 0.0, math, False, False, bias, activation)
    if result is not None:
        return result
    if out is not None:
        raise ValueError("an argument requires a gradient, but what is written to out has none: leave out away, or detach it")
    from . import torch as operators

    return operators.matmul(a, b, dtype=dtype, alpha=alpha, math=math, bias=bias, activation=activation)


def gemm(a: Any, b: Any, c: Any = None, *, alpha: SupportsFloat = 1.0, beta: SupportsFloat = 0.0, trans_a: bool = False,
         trans_b: bool = False, dtype: Any = None, math: str | None = None, fill: str | None = None) -> Any:
    """c := alpha op(a) op(b) + beta c, where op(x) is x or, where trans_a or trans_b says so, its transpose.

    c is written in place and returned; with beta = 0 it is not read. Without c the result is a new array, and beta must be
    0. Shapes, element types, dtype, math, and where arrays may be, are as in matmul.

    fill: a key of xgemm.FILLS: "lower" or "upper". Then only this triangle of c, whose matrices are square, is computed, as
        rank-k updates do: gemm(a, a, c, trans_b=True, fill="lower"). What else c holds stays as it is.
    """
    if type(beta) not in _PLAIN:
        beta = number("beta", beta)
    if fill is not None and c is None:
        raise ValueError(f"fill is {fill!r}, but without c there is nothing for the rest of the result to hold")
    if c is None and beta != 0:
        raise ValueError(f"beta is {beta}, but without c it must be 0")
    result = _product(a, b, c, "c", dtype, alpha, beta, math, trans_a, trans_b, fill=fill)
    if result is None:
        raise ValueError("a or b requires a gradient, but gemm has none: use matmul, or detach a and b")
    return result


_plans: dict[tuple, Plan] = {}
_MOST_PLANS = 4096
_MOST_CALLS = 1024  # of a plan that is kept


_PLAIN = (float, int)  # numbers that compare as such


def _product(a: Any, b: Any, c: Any, name_c: str, dtype: Any, alpha: float, beta: float, math: str | None, trans_a: bool,
             trans_b: bool, bias: Any = None, activation: str | None = None, fill: str | None = None) -> Any:
    """The result: c, or a new array. None where a gradient is asked for."""
    kind_a, kind_b = kind_of(a, "a"), kind_of(b, "b")
    # The owners keep memory alive until this function returns.
    facts_a, at_a, stream_a, _owner_a = kind_a.read(a)
    facts_b, at_b, stream_b, _owner_b = kind_b.read(b)
    kind_c: Any = None
    facts_c = stream_c = None
    if c is not None:
        kind_c = kind_of(c, name_c)
        facts_c, at_c, stream_c, _owner_c = kind_c.read(c)

    kind_bias: Any = None
    facts_bias = stream_bias = None
    at_bias = 0
    if bias is not None:
        kind_bias = kind_of(bias, "bias")
        facts_bias, at_bias, stream_bias, _owner_bias = kind_bias.read(bias)

    key = (kind_a, facts_a, kind_b, facts_b, kind_c, facts_c, name_c, trans_a, trans_b, dtype, math, kind_bias, facts_bias,
           activation, fill)
    try:
        plan = _plans.get(key)
    except TypeError:
        for name, value in (("dtype", dtype), ("math", math), ("activation", activation), ("fill", fill)):
            if type(value).__hash__ is None:
                raise TypeError(f"{name} is {value!r}, but a {type(value).__name__} names none") from None
        check_flags(trans_a, trans_b)
        raise
    if plan is None:
        plan = make_plan(kind_a.layout(facts_a, "a"), kind_b.layout(facts_b, "b"),
                         None if c is None else kind_c.layout(facts_c, name_c), trans_a, trans_b, dtype, math,
                         None if bias is None else kind_bias.layout(facts_bias, "bias"), activation, fill)
        if len(_plans) >= _MOST_PLANS:
            _plans.clear()
        if len(plan.calls) <= _MOST_CALLS:
            _plans[key] = plan
    type_, shape, calls, (copied_a, copied_b, copied_c), extents, is_differentiable = plan
    if is_differentiable:
        return None

    is_given = c is not None
    if is_given and extents:
        extent_a, extent_b, (first, end) = extents
        first, end = at_c + first, at_c + end
        copied_a = at_a + extent_a[0] < end and first < at_a + extent_a[1]
        copied_b = at_b + extent_b[0] < end and first < at_b + extent_b[1]
    if bias is not None:
        layout = kind_bias.layout(facts_bias, "bias")
        shared = is_given and extents and at_bias < end and first < at_bias + layout.shape[0] * type_.size
        if shared or not is_contiguous(layout):
            return _product(a, b, c, name_c, dtype, alpha, beta, math, trans_a, trans_b, kind_bias.copy(bias), activation)
    if copied_a or copied_b or copied_c:
        copy = c
        if copied_c:
            copy = kind_c.copy(c) if beta != 0 or fill is not None else kind_c.empty(c, shape, type_)[0]
        result = _product(kind_a.copy(a) if copied_a else a, kind_b.copy(b) if copied_b else b, copy, name_c, dtype, alpha,
                          beta, math, trans_a, trans_b, bias, activation, fill)
        if copied_c:
            kind_c.assign(c, copy)
            kind_c.written(c)
        return c if is_given else result

    if stream_a is None and stream_b is None and stream_c is None and stream_bias is None:
        stream = 0
    else:
        stream = _common_stream(("a", stream_a), ("b", stream_b), (name_c, stream_c), ("bias", stream_bias))
    if not is_given:
        c, at_c = kind_a.empty(a, shape, type_)
    # NULL stands for what the scalars usually are.
    alpha_c = None if type(alpha) in _PLAIN and alpha == 1 else type_.scalar(number("alpha", alpha))
    beta_c = None if type(beta) in _PLAIN and beta == 0 else type_.scalar(number("beta", beta))
    at_alpha = 0 if alpha_c is None else addressof(alpha_c)
    at_beta = 0 if beta_c is None else addressof(beta_c)
    handle = context(stream)
    packed_bias = pack_bias(at_bias)
    for head, tail, end, in_a, in_b, in_c in calls:
        status = run(handle, head + pack_operands(at_alpha, at_a + in_a, at_b + in_b, at_beta, at_c + in_c) + tail + packed_bias + end)
        if status != 0:
            raise failure(status)
    if is_given:
        kind_c.written(c)
    return c


def number(name: str, value: Any) -> float:
    """A factor as a float."""
    if type(value) is float:
        return value
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor) and value.requires_grad and torch.is_grad_enabled():
        raise ValueError(f"{name} requires a gradient, but products have none for it: detach it")
    try:
        if isinstance(value, (str, bytes, bytearray, memoryview)) or np.iscomplexobj(value):
            raise TypeError
        return float(value)
    except OverflowError:
        raise ValueError(f"{name} is larger than any float") from None
    except (TypeError, ValueError):
        raise TypeError(f"{name} is {value!r}, but a real number is required") from None


def _common_stream(*uses: tuple[str, int | None]) -> int:
    named = [(name, stream) for name, stream in uses if stream is not None]
    for name, stream in named[1:]:
        if stream != named[0][1]:
            raise ValueError(f"{named[0][0]} and {name} are to be used on the CUDA streams {named[0][1]:#x} and {stream:#x}, "
                             "but one stream is required: make it the current one of both libraries")
    return named[0][1]
