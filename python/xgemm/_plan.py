"""From the layouts of a product's arguments to calls of xgemm_gemm. Nothing here sees an array.

A matrix with a unit stride is one that BLAS takes as it lies, row- or column-major; any other is copied first. A batch is as
few calls as its strides allow: an axis of the batch that goes on where another one ends is one axis with it, and one that
goes on where the rows of A and C end makes these more.
"""
from __future__ import annotations

import itertools
from typing import Any, NamedTuple

from ._arrays import Layout, contiguous_strides
from ._library import ACTIVATIONS, COL_MAJOR, ELEMENT_TYPES, FLOAT32, MATH_MODES, ROW_MAJOR, ElementType, pack_head, pack_tail


class Call(NamedTuple):
    """A call of xgemm_gemm without the addresses."""

    head: bytes
    tail: bytes
    lda: int
    ldb: int
    ldc: int
    offset_a: int  # in bytes, from the first element of A
    offset_b: int
    offset_c: int


class Plan(NamedTuple):
    """How a product is computed."""

    type: ElementType  # of the result
    shape: tuple
    calls: list
    copied: tuple  # which of a, b and the result have to be copied, since BLAS does not take them as they lie
    extents: tuple  # where each of them begins and ends, in bytes from its first element
    is_differentiable: bool


def make_plan(a: Layout, b: Layout, result: Layout | None, trans_a: bool, trans_b: bool, dtype: Any,
              math: str | None, bias: Layout | None = None, activation: str | None = None) -> Plan:
    """Checks the arguments. The result is None where it is still to be made, of the element type `dtype`."""
    if a.type is not b.type:
        raise TypeError(f"a has elements of type {a.type.name} and b of type {b.type.name}, but one type is required")
    shape = _result_shape(a, b, trans_a, trans_b)
    if math is not None and math not in MATH_MODES:
        raise ValueError(f"math is {math!r}, but None or one of {', '.join(MATH_MODES)} is required")
    if activation is not None and activation not in ACTIVATIONS:
        raise ValueError(f"activation is {activation!r}, but None or one of {', '.join(ACTIVATIONS)} is required")
    if result is None:
        result = Layout("out", _new_type(a.type, dtype), shape, contiguous_strides(shape))
    else:
        _check_result(result, a.type, shape, dtype)
    arguments = (a, b, result)
    copied = tuple(not _is_plain(x) for x in arguments)
    is_differentiable = a.is_differentiable or b.is_differentiable
    if bias is not None:
        _check_bias(bias, result, len(b.shape))
        is_differentiable = is_differentiable or bias.is_differentiable
    if any(copied) or is_differentiable:
        return Plan(result.type, shape, [], copied, (), is_differentiable)
    c = result
    if len(b.shape) == 1:
        b, c = _with_axis(b, 1), _with_axis(c, len(c.shape))
    elif trans_b:
        b = _transposed(b)
    if len(a.shape) == 1:
        a, c = _with_axis(a, 0), _with_axis(c, len(c.shape) - 1)
    elif trans_a:
        a = _transposed(a)
    return Plan(result.type, shape, _calls(a, b, c, math, bias is not None, activation), copied, tuple(map(_extent, arguments)), False)


# ---- Shapes and types ------------------------------------------------------------------------------------------------


def _shapes(a: Layout, b: Layout) -> str:
    return f"a has the shape {a.shape} and b the shape {b.shape}"


def _result_shape(a: Layout, b: Layout, trans_a: bool, trans_b: bool) -> tuple:
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


def _new_type(inputs: ElementType, dtype: Any) -> ElementType:
    if dtype is None:
        return inputs
    name = getattr(dtype, "__name__", str(dtype)).rpartition(".")[2]  # of numpy.float32, torch.float32, "float32"
    result = ELEMENT_TYPES.get(name)
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
    reached = 0  # by the axes with smaller strides
    for stride, extent in sorted(axes):
        if stride <= reached:
            raise ValueError(f"{name} has the shape {shape} and the strides {result.strides} (in elements), by which "
                             "elements share an address")
        reached += stride * (extent - 1)


def _check_bias(bias: Layout, result: Layout, axes_b: int) -> None:
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


def _leading_dimension(rows: int, columns: int, row_stride: int, column_stride: int) -> int:
    """That of a matrix as a row-major one; 0 where it is none."""
    if columns > 1 and column_stride != 1:
        return 0
    if rows <= 1 or columns == 0:
        return columns or 1
    return row_stride if row_stride >= columns else 0


def _is_plain(x: Layout) -> bool:
    """Whether BLAS takes the vector, or the matrices, as they lie."""
    shape, strides = x.shape, x.strides
    if strides is None or 0 in shape:
        return strides is not None
    if len(shape) < 2:
        return not shape or shape[0] <= 1 or strides[0] > 0
    rows, columns = shape[-2:]
    row_stride, column_stride = strides[-2:]
    return bool(_leading_dimension(rows, columns, row_stride, column_stride) or
                _leading_dimension(columns, rows, column_stride, row_stride))


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
    if extent == 1 and outer.b == b:  # an axis of one element ends anywhere
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


class _Matrices(NamedTuple):
    """What row-major BLAS is told of matrices."""

    transa: bytes
    transb: bytes
    lda: int
    ldb: int
    ldc: int


def _as_blas(rows: _Axis, columns: _Axis, inner: _Axis) -> _Matrices | None:
    m, n, k = rows.extent, columns.extent, inner.extent
    lda, ldb = _leading_dimension(m, k, rows.a, inner.a), _leading_dimension(k, n, inner.b, columns.b)
    result = _Matrices(b"N" if lda else b"T", b"N" if ldb else b"T",
                       lda or _leading_dimension(k, m, inner.a, rows.a), ldb or _leading_dimension(n, k, columns.b, inner.b),
                       _leading_dimension(m, n, rows.c, columns.c))
    return result if result.lda and result.ldb and result.ldc else None


def _calls(a: Layout, b: Layout, c: Layout, math: str | None, has_bias: bool, activation: str | None) -> list[Call]:
    """For plain operands of two axes or more."""
    if 0 in c.shape:
        return []
    is_row_major = bool(_leading_dimension(*c.shape[-2:], *c.strides[-2:]))
    if not is_row_major:  # the transpose of C is
        a, b, c = _transposed(b), _transposed(a), _transposed(c)
    rows = _Axis(c.shape[-2], a.strides[-2], 0, c.strides[-2])
    columns = _Axis(c.shape[-1], 0, b.strides[-1], c.strides[-1])
    inner = _Axis(a.shape[-1], a.strides[-1], b.strides[-2], 0)
    matrices: Any = _as_blas(rows, columns, inner)
    batch = _batch(a, b, c)
    # A bias goes with the columns of C, of which the transpose's rows must then not become more.
    while batch and (is_row_major or not has_bias):
        more = _joined(batch[-1], rows)
        joined = _as_blas(more, columns, inner) if more else None
        if more is None or joined is None:
            break
        rows, matrices = more, joined
        batch.pop()

    # One call walks the longest axis that it can; every other one is walked by calls.
    walked = max((axis for axis in batch if axis.a >= 0 and axis.b >= 0 and axis.c > 0), default=_Axis(1, 0, 0, 0))
    steps = [[(i * axis.a, i * axis.b, i * axis.c) for i in range(axis.extent)] for axis in batch if axis is not walked]
    m, n, k = rows.extent, columns.extent, inner.extent
    transa, transb, lda, ldb, ldc = matrices
    size, size_c = a.type.size, c.type.size
    calls = []
    for combination in itertools.product(*steps):
        of_a, of_b, of_c = (sum(step[i] for step in combination) for i in range(3))
        if is_row_major:
            head = pack_head(a.type, ROW_MAJOR, transa + transb, m, n, k)
            tail = pack_tail(walked.extent, walked.a, walked.b, walked.c, c.type, math, activation)
            calls.append(Call(head, tail, lda, ldb, ldc, of_a * size, of_b * size, of_c * size_c))
        else:
            # In row-major order C^T = X Y; in column-major order that is C = Y X with the same flags.
            head = pack_head(a.type, COL_MAJOR, transb + transa, n, m, k)
            tail = pack_tail(walked.extent, walked.b, walked.a, walked.c, c.type, math, activation)
            calls.append(Call(head, tail, ldb, lda, ldc, of_b * size, of_a * size, of_c * size_c))
    return calls
