"""From the layouts of a product's arguments to calls of xgemm_gemm. Nothing here sees an array.

Matrices are told by their strides, whatever these are. A batch is as few calls as its strides allow: an axis of the batch that
goes on where another one ends is one axis with it, and one that goes on where the rows or the columns end makes these more.
"""
from __future__ import annotations

import itertools
import math
from typing import Any, NamedTuple

import numpy as np

from ._arrays import Layout, contiguous_strides
from ._library import ACTIVATIONS, ELEMENT_TYPES, FILLS, FLOAT32, MATH_MODES, ElementType, pack_end, pack_head, pack_tail


class Call(NamedTuple):
    """A call of xgemm_gemm without the addresses."""

    head: bytes
    tail: bytes
    end: bytes
    offset_a: int  # in bytes, from the first element of A
    offset_b: int
    offset_c: int


class Plan(NamedTuple):
    """How a product is computed."""

    type: ElementType  # of the result
    shape: tuple
    calls: list
    copied: tuple  # which of a, b and the result have to be copied, since no strides lead to their elements
    extents: tuple  # where each of them begins and ends, in bytes from its first element
    is_differentiable: bool


def make_plan(a: Layout, b: Layout, result: Layout | None, trans_a: bool, trans_b: bool, dtype: Any,
              math: str | None, bias: Layout | None = None, activation: str | None = None, fill: str | None = None) -> Plan:
    """Checks the arguments. The result is None where it is still to be made, of the element type `dtype`."""
    if a.type is not b.type:
        raise TypeError(f"a has elements of type {a.type.name} and b of type {b.type.name}, but one type is required")
    shape = _result_shape(a, b, trans_a, trans_b)
    if math is not None and math not in MATH_MODES:
        raise ValueError(f"math is {math!r}, but None or one of {', '.join(MATH_MODES)} is required")
    if activation is not None and activation not in ACTIVATIONS:
        raise ValueError(f"activation is {activation!r}, but None or one of {', '.join(ACTIVATIONS)} is required")
    if fill is not None:
        _check_fill(fill, a, b, shape)
    if result is None:
        result = Layout("out", new_type(a.type, dtype), shape, contiguous_strides(shape))
    else:
        _check_result(result, a.type, shape, dtype)
    arguments = (a, b, result)
    copied = tuple(x.strides is None for x in arguments)
    is_differentiable = a.is_differentiable or b.is_differentiable
    if bias is not None:
        check_bias(bias, result, len(b.shape))
        is_differentiable = is_differentiable or bias.is_differentiable
    if any(copied) or is_differentiable:
        return Plan(result.type, shape, [], copied, (), is_differentiable)
    extents = tuple(map(_extent, arguments))
    c = result
    if len(b.shape) == 1:
        b, c = _with_axis(b, 1), _with_axis(c, len(c.shape))
    elif trans_b:
        b = _transposed(b)
    if len(a.shape) == 1:
        a, c = _with_axis(a, 0), _with_axis(c, len(c.shape) - 1)
    elif trans_a:
        a = _transposed(a)
    return Plan(result.type, shape, _calls(a, b, c, math, bias is not None, activation, fill), copied, extents, False)


# ---- Shapes and types ------------------------------------------------------------------------------------------------


def _shapes(a: Layout, b: Layout) -> str:
    return f"a has the shape {a.shape} and b the shape {b.shape}"


def check_flags(trans_a: Any, trans_b: Any) -> None:
    for name, value in (("trans_a", trans_a), ("trans_b", trans_b)):
        if type(value).__hash__ is None or value not in (True, False):  # BLAS's "N" would count as true
            raise TypeError(f"{name} is {value!r}, but True or False is required")


def _result_shape(a: Layout, b: Layout, trans_a: bool, trans_b: bool) -> tuple:
    check_flags(trans_a, trans_b)
    if not a.shape or not b.shape:
        raise ValueError(f"{_shapes(a, b)}, but one axis or more is required")
    if (trans_a and len(a.shape) < 2) or (trans_b and len(b.shape) < 2):
        raise ValueError(f"{_shapes(a, b)}, but two axes or more are required of what is transposed")
    *batch_a, rows, inner_a = (1, *a.shape)[-max(len(a.shape), 2):]
    *batch_b, inner_b, columns = b.shape if len(b.shape) > 1 else (*b.shape, 1)
    if trans_a:
        rows, inner_a = inner_a, rows
    if trans_b:
        inner_b, columns = columns, inner_b
    if inner_a != inner_b:
        raise ValueError(f"{_shapes(a, b)}, but the columns of {'transposed ' if trans_a else ''}a ({inner_a}) must be as many "
                         f"as the rows of {'transposed ' if trans_b else ''}b ({inner_b})")
    batch = []
    for i in range(-max(len(batch_a), len(batch_b)), 0):
        of_a = batch_a[i] if i >= -len(batch_a) else 1
        of_b = batch_b[i] if i >= -len(batch_b) else 1
        if of_a != of_b and of_a != 1 and of_b != 1:
            raise ValueError(f"{_shapes(a, b)}, but their batches {tuple(batch_a)} and {tuple(batch_b)} must be broadcast to "
                             "each other: of two extents that differ, one has to be 1")
        batch.append(of_b if of_a == 1 else of_a)
    return (*batch, *((rows,) if len(a.shape) > 1 else ()), *((columns,) if len(b.shape) > 1 else ()))


def _can_result(inputs: ElementType, result: ElementType | None) -> bool:
    return result is inputs or (result is FLOAT32 and inputs.size == 2)


def _numpy_name(dtype: Any) -> str | None:
    try:
        known = np.dtype(dtype)
    except (TypeError, ValueError, SyntaxError):
        return None
    return known.name if known.isnative else None


def new_type(inputs: ElementType, dtype: Any) -> ElementType:
    if dtype is None:
        return inputs
    name = getattr(dtype, "__name__", str(dtype)).rpartition(".")[2]  # of numpy.float32, torch.float32, "float32"
    result = ELEMENT_TYPES.get(name) or ELEMENT_TYPES.get(_numpy_name(dtype))
    if result is None or not _can_result(inputs, result):
        raise TypeError(f"dtype is {name}, but the type of a and b ({inputs.name}), or float32 for 16-bit types, is required")
    return result


def _check_result(result: Layout, inputs: ElementType, shape: tuple, dtype: Any) -> None:
    name = result.name
    if dtype is not None:
        raise ValueError(f"dtype is {dtype}, which is for a new result, but {name} is given")
    if result.shape != shape:
        raise ValueError(f"{name} has the shape {result.shape}, but the result's, {shape}, is required")
    if not _can_result(inputs, result.type):
        raise TypeError(f"{name} has elements of type {result.type.name}, but the type of a and b ({inputs.name}), or float32 "
                        "for 16-bit types, is required")
    if result.is_differentiable:
        raise ValueError(f"{name} requires a gradient, but what is written in place has none: detach it")
    if not result.is_writable:
        raise ValueError(f"{name} is read-only, but it is written")
    axes = [(abs(stride), extent) for stride, extent in zip(result.strides or (), shape) if extent > 1 and 0 not in shape]
    if _may_share_addresses(axes):
        raise ValueError(f"{name} has the shape {shape} and the strides {result.strides} (in elements), by which "
                         f"elements {'share' if len(axes) < 3 else 'may share'} an address")


def _may_share_addresses(axes: list[tuple[int, int]]) -> bool:
    """Of axes, (stride, extent) of each: exactly of two, by whether they lie in one another of more."""
    if len(axes) == 2:
        (stride, extent), (other_stride, other_extent) = axes
        common = math.gcd(stride, other_stride) or 1
        return other_stride // common < extent and stride // common < other_extent
    reached = 0  # by the axes with smaller strides
    for stride, extent in sorted(axes):
        if stride <= reached:
            return True
        reached += stride * (extent - 1)
    return False


def _check_fill(fill: str, a: Layout, b: Layout, shape: tuple) -> None:
    if fill not in FILLS:
        raise ValueError(f"fill is {fill!r}, but None or one of {', '.join(FILLS)} is required")
    for x in (a, b):
        if len(x.shape) < 2:
            raise ValueError(f"fill is {fill!r}, but a triangle is one of a product of matrices, and {x.name} is a vector")
    if shape[-1] != shape[-2]:
        raise ValueError(f"fill is {fill!r}, but a triangle is one of a square matrix, and the result has the shape {shape}")


def check_bias(bias: Layout, result: Layout, axes_b: int) -> None:
    if axes_b < 2:
        raise ValueError("b is a vector, but a bias needs columns of b to be added to")
    if bias.shape != result.shape[-1:]:
        raise ValueError(f"bias has the shape {bias.shape}, but {result.shape[-1:]}, an element for each column of the result, is "
                         "required")
    if bias.type is not result.type:
        raise TypeError(f"bias has elements of type {bias.type.name}, but the type of the result ({result.type.name}) is required")


def is_contiguous(bias: Layout) -> bool:
    return bias.strides is not None and (bias.shape[0] <= 1 or bias.strides[0] == 1)


# ---- Strides ---------------------------------------------------------------------------------------------------------


def _is_plain(rows: int, columns: int, row_stride: int, column_stride: int) -> bool:
    """Whether the rows, or the columns, of a matrix are contiguous and lie one behind the other."""
    if rows <= 1 or columns <= 1:
        return rows == columns or (row_stride if columns <= 1 else column_stride) > 0
    return (column_stride == 1 and row_stride >= columns) or (row_stride == 1 and column_stride >= rows)


def _extent(x: Layout) -> tuple[int, int]:
    if 0 in x.shape:
        return (0, 0)
    steps = [(extent - 1) * stride * x.type.size for extent, stride in zip(x.shape, x.strides)]
    return sum(step for step in steps if step < 0), sum(step for step in steps if step > 0) + x.type.size


def _with_axis(x: Layout, at: int) -> Layout:
    """With one more axis, of one element."""
    return x._replace(shape=(*x.shape[:at], 1, *x.shape[at:]), strides=(*x.strides[:at], 0, *x.strides[at:]))


def _transposed(x: Layout) -> Layout:
    return x._replace(shape=(*x.shape[:-2], x.shape[-1], x.shape[-2]),
                      strides=(*x.strides[:-2], x.strides[-1], x.strides[-2]))


# ---- Calls -----------------------------------------------------------------------------------------------------------


class _Axis(NamedTuple):
    """An index of a product: its extent, and its strides in A, B and C."""

    extent: int
    a: int
    b: int
    c: int


def _joined(outer: _Axis, inner: _Axis) -> _Axis | None:
    """One axis in place of two, where the outer one goes on where the inner one ends."""
    extent, a, b, c = inner
    if extent == 1:  # ends anywhere
        return outer
    return _Axis(outer.extent * extent, a, b, c) if outer[1:] == (extent * a, extent * b, extent * c) else None


def _batch(a: Layout, b: Layout, c: Layout) -> list[_Axis]:
    """The axes of the batch, from the outermost on, as few as strides allow."""
    axes: list[_Axis] = []
    for i in range(-len(c.shape), -2):
        axis = _Axis(c.shape[i], *(x.strides[i] if i >= -len(x.shape) and x.shape[i] != 1 else 0 for x in (a, b, c)))
        joined = _joined(axes[-1], axis) if axes else None
        if joined:
            axes[-1] = joined
        elif axis.extent != 1:
            axes.append(axis)
    return axes


def _all_plain(rows: _Axis, columns: _Axis, inner: _Axis) -> bool:
    """Whether BLAS could describe the matrices: such ones are never copied."""
    m, n, k = rows.extent, columns.extent, inner.extent
    return (_is_plain(m, k, rows.a, inner.a) and _is_plain(k, n, inner.b, columns.b) and
            _is_plain(m, n, rows.c, columns.c))


def _can_walk(axis: _Axis) -> bool:
    """Whether an axis can be that of the batch of a call."""
    return axis.a >= 0 and axis.b >= 0 and axis.c > 0


def _calls(a: Layout, b: Layout, c: Layout, math: str | None, has_bias: bool, activation: str | None,
           fill: str | None) -> list[Call]:
    """For operands of two axes or more."""
    if 0 in c.shape:
        return []
    rows = _Axis(c.shape[-2], a.strides[-2], 0, c.strides[-2])
    columns = _Axis(c.shape[-1], 0, b.strides[-1], c.strides[-1])
    inner = _Axis(a.shape[-1], a.strides[-1], b.strides[-2], 0)
    batch = _batch(a, b, c)
    while batch and fill is None:
        # B has no rows of the result, A no columns; and a bias has an element for each column that there is.
        more_rows = _joined(batch[-1], rows) if batch[-1].b == 0 else None
        more_columns = _joined(batch[-1], columns) if batch[-1].a == 0 and not has_bias else None
        wider = [one for one in ((more_rows, columns), (rows, more_columns))
                 if None not in one and (_all_plain(*one, inner) or not _can_walk(batch[-1]))]
        if not wider:
            break
        rows, columns = wider[0]
        batch.pop()

    # One call walks the longest axis that it can; every other one is walked by calls.
    walked = max(filter(_can_walk, batch), default=_Axis(1, 0, 0, 0))
    steps = [[(i * axis.a, i * axis.b, i * axis.c) for i in range(axis.extent)] for axis in batch if axis is not walked]
    size, size_c = a.type.size, c.type.size
    head = pack_head(a.type, rows.extent, columns.extent, inner.extent)
    tail = pack_tail(walked.extent, walked.a, walked.b, walked.c, c.type, math, activation)
    end = pack_end(fill, rows.a, inner.a, inner.b, columns.b, rows.c, columns.c)
    calls = []
    for combination in itertools.product(*steps):
        of_a, of_b, of_c = (sum(step[i] for step in combination) for i in range(3))
        calls.append(Call(head, tail, end, of_a * size, of_b * size, of_c * size_c))
    return calls
