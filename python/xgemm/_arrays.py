"""Arrays of any library, read where they are.

A kind is a library's arrays. Its read() says of an array
    facts:   whatever the plan of a product depends on, to be compared and hashed;
    pointer: the address of the first element;
    stream:  the CUDA stream that the array is to be used on; None in host memory, or where the array asks for none;
    owner:   what keeps the memory alive,
and its layout() makes a Layout of the facts.
"""
from __future__ import annotations

import ctypes
import struct
import sys
from typing import Any, NamedTuple

import numpy as np

from ._library import ELEMENT_TYPES, ElementType


class Layout(NamedTuple):
    """What is known of an argument but where it is. Strides count elements; None where none lead to the elements."""

    name: str
    type: ElementType
    shape: tuple
    strides: Any  # a tuple, or None
    is_writable: bool = True
    is_differentiable: bool = False  # a gradient is asked for, or another transform of PyTorch


def _served(name: str, type_name: str) -> ElementType:
    if type_name not in ELEMENT_TYPES:
        raise TypeError(f"{name} has elements of type {type_name}, but one of {', '.join(ELEMENT_TYPES)} is required")
    return ELEMENT_TYPES[type_name]


def _of_dtype(name: str, dtype: Any) -> ElementType:
    return _served(name, dtype.name if dtype.isnative else dtype.str)


_dtypes = {name: np.dtype(name) for name in ("float64", "float32", "float16")}


def _dtype(type_: ElementType) -> Any:
    if type_.name not in _dtypes:
        import ml_dtypes  # which has bfloat16

        _dtypes[type_.name] = np.dtype(getattr(ml_dtypes, type_.name))
    return _dtypes[type_.name]


def _in_elements(strides: tuple, size: int) -> tuple | None:
    """Strides that count bytes in elements; None where they are no multiples."""
    return None if any(stride % size for stride in strides) else tuple(stride // size for stride in strides)


def contiguous_strides(shape: tuple) -> tuple:
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return tuple(strides[::-1])


def _data_offset() -> int:
    """Where an ndarray object has the address of its elements: the first member of its C struct after the object's head, as
    NumPy's C interface promises. 0 where that is not so."""
    if sys.implementation.name != "cpython":
        return 0
    offset, array = object.__basicsize__, np.empty(1)
    return offset if ctypes.c_void_p.from_address(id(array) + offset).value == array.ctypes.data else 0


_DATA_OFFSET = _data_offset()
_ALIGNED, _WRITEABLE = 0x100, 0x400  # flags of an ndarray


def _address(array: Any, word_at: Any = ctypes.c_void_p.from_address) -> int:
    """array.ctypes.data, which takes a microsecond, as much as a small product."""
    return word_at(id(array) + _DATA_OFFSET).value if _DATA_OFFSET else array.ctypes.data


class NumPy:
    """numpy.ndarray."""

    @staticmethod
    def read(array: Any) -> tuple:
        return (array.dtype, array.shape, array.strides, array.flags.num), _address(array), None, None

    @staticmethod
    def layout(facts: tuple, name: str) -> Layout:
        dtype, shape, strides, flags = facts
        type_ = _of_dtype(name, dtype)
        in_elements = _in_elements(strides, type_.size) if flags & _ALIGNED else None
        return Layout(name, type_, shape, in_elements, bool(flags & _WRITEABLE))

    @classmethod
    def empty(cls, like: Any, shape: tuple, type_: ElementType) -> tuple[Any, int]:
        """A new array beside another one, and its address."""
        array = np.empty(shape, _dtype(type_))
        return array, _address(array)

    @staticmethod
    def assign(target: Any, source: Any) -> None:
        """Copies the elements of an array to another one of this kind."""
        np.copyto(target, source)

    @classmethod
    def copy(cls, array: Any) -> Any:
        """A contiguous copy."""
        facts = cls.read(array)[0]
        result = cls.empty(array, facts[1], cls.layout(facts, "").type)[0]
        cls.assign(result, array)
        return result

    @staticmethod
    def written(array: Any) -> None:
        """Is told of an array of the caller's that a product wrote to."""


class CuPy(NumPy):
    """cupy.ndarray, on CuPy's current stream of its device."""

    @staticmethod
    def read(array: Any) -> tuple:
        stream = sys.modules["cupy"].cuda.get_current_stream(array.device.id).ptr
        return (array.dtype, array.shape, array.strides), array.data.ptr, stream, None

    @staticmethod
    def layout(facts: tuple, name: str) -> Layout:
        dtype, shape, strides = facts
        type_ = _of_dtype(name, dtype)
        return Layout(name, type_, shape, _in_elements(strides, type_.size))

    @classmethod
    def empty(cls, like: Any, shape: tuple, type_: ElementType) -> tuple[Any, int]:
        with like.device:
            array = sys.modules["cupy"].empty(shape, _dtype(type_))
        return array, array.data.ptr

    @staticmethod
    def assign(target: Any, source: Any) -> None:
        target[...] = source


class Torch(NumPy):
    """torch.Tensor, on PyTorch's current stream of its device."""

    @staticmethod
    def read(array: Any) -> tuple:
        torch = sys.modules["torch"]
        if array.layout is not torch.strided or not (array.is_cuda or array.is_cpu):
            return (array.dtype, array.shape, array.layout, array.device), 0, None, None
        is_differentiable = (array.requires_grad and torch.is_grad_enabled()
                             or torch.autograd.forward_ad.unpack_dual(array).tangent is not None)
        try:
            pointer = 0 if is_differentiable else array.data_ptr()
        except RuntimeError:  # in a transform of torch.func
            pointer, is_differentiable = 0, True
        facts = (array.dtype, array.shape, array.stride(), array.is_neg() or pointer % array.element_size() != 0,
                 is_differentiable)
        stream = torch._C._cuda_getCurrentRawStream(array.get_device()) if array.is_cuda else None
        return facts, pointer, stream, None

    @staticmethod
    def layout(facts: tuple, name: str) -> Layout:
        if len(facts) == 4:
            raise TypeError(f"{name} has the layout {facts[2]} and is on {facts[3]}, but torch.strided on cpu or cuda is required")
        dtype, shape, strides, is_elsewhere, is_differentiable = facts
        # The memory of a tensor with the negative bit does not hold its elements, that of an unaligned one is not read.
        return Layout(name, _served(name, str(dtype).removeprefix("torch.")), tuple(shape), None if is_elsewhere else strides,
                      True, is_differentiable)

    @classmethod
    def empty(cls, like: Any, shape: tuple, type_: ElementType) -> tuple[Any, int]:
        array = like.new_empty(shape, dtype=getattr(sys.modules["torch"], type_.name))
        return array, array.data_ptr()

    @staticmethod
    def assign(target: Any, source: Any) -> None:
        target.copy_(source.detach())

    @staticmethod
    def written(array: Any) -> None:
        sys.modules["torch"].autograd.graph.increment_version(array)


class InPlace(NumPy):
    """Arrays that can only be read and written in place, since nothing is known of their library."""

    @classmethod
    def empty(cls, like: Any, shape: tuple, type_: ElementType) -> tuple[Any, int]:
        raise TypeError(f"out is required: libxgemm cannot make another {type(like).__name__} for the result")

    @staticmethod
    def assign(target: Any, source: Any) -> None:
        raise ValueError(f"an argument of type {type(target).__name__} has elements that no strides lead to, or shares memory "
                         "with the result: it has to be copied first, which libxgemm cannot do")

    @classmethod
    def copy(cls, array: Any) -> Any:
        return cls.assign(array, array)


class CudaArray(InPlace):
    """Objects that have __cuda_array_interface__, on the stream that it names."""

    @staticmethod
    def read(array: Any) -> tuple:
        interface = array.__cuda_array_interface__
        pointer, is_read_only = interface["data"]
        strides, stream = interface.get("strides"), interface.get("stream")
        dtype = np.dtype(interface["typestr"])
        facts = (dtype, tuple(interface["shape"]), strides and tuple(strides), is_read_only,
                 interface.get("mask") is not None, bool(pointer % max(dtype.itemsize, 1)))
        # 1 is the legacy default stream, which is 0 for everyone else.
        return facts, pointer, 0 if stream == 1 else stream, interface

    @staticmethod
    def layout(facts: tuple, name: str) -> Layout:
        dtype, shape, strides, is_read_only, has_mask, is_unaligned = facts
        if has_mask:
            raise TypeError(f"{name} has a mask, but an array without one is required")
        type_ = _of_dtype(name, dtype)
        in_elements = contiguous_strides(shape) if strides is None else _in_elements(strides, type_.size)
        return Layout(name, type_, shape, None if is_unaligned else in_elements, not is_read_only)


_capsule_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_capsule_pointer.restype = ctypes.c_void_p
_capsule_pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
_capsule_has_name = ctypes.pythonapi.PyCapsule_IsValid
_capsule_has_name.restype = ctypes.c_int
_capsule_has_name.argtypes = [ctypes.py_object, ctypes.c_char_p]

# DLManagedTensorVersioned begins with its version, two pointers and flags, of which bit 0 is that it is read-only.
_DLVERSIONED = struct.Struct("@IIPPQ")
# DLTensor: data; type and number of the device; ndim; code, bits and lanes of the type; shape, strides; byte_offset.
_DLTENSOR = struct.Struct("@PiiiBBHPPQ")
_DLPACK_TYPES = {(2, 64, 1): "float64", (2, 32, 1): "float32", (2, 16, 1): "float16", (4, 16, 1): "bfloat16"}
_DLPACK_HOST = (1, 3)  # CPU, and page-locked by CUDA
_DLPACK_CUDA = (2, 13)  # device and managed memory


class DLPack(InPlace):
    """Objects that have __dlpack__: in host memory, or in that of a GPU, on CUDA's legacy default stream."""

    @staticmethod
    def read(array: Any) -> tuple:
        place = int(array.__dlpack_device__()[0])
        if place not in _DLPACK_HOST + _DLPACK_CUDA:
            return (place,), 0, None, None
        is_on_host = place in _DLPACK_HOST
        # Nobody renames this capsule: it frees what it holds when it dies.
        on = {} if is_on_host else {"stream": 1}
        try:
            capsule = array.__dlpack__(max_version=(1, 0), **on)
        except TypeError:  # of an exporter that knows no versions
            capsule = array.__dlpack__(**on)
        is_read_only = True  # a capsule without a version cannot say: arrays of JAX never change
        if _capsule_has_name(capsule, b"dltensor_versioned"):
            at = _capsule_pointer(capsule, b"dltensor_versioned")
            is_read_only = bool(_DLVERSIONED.unpack(ctypes.string_at(at, _DLVERSIONED.size))[4] & 1)
            at += _DLVERSIONED.size
        else:
            at = _capsule_pointer(capsule, b"dltensor")
        data, _, _, ndim, code, bits, lanes, shape, strides, offset = _DLTENSOR.unpack(ctypes.string_at(at, _DLTENSOR.size))
        numbers = ctypes.c_int64 * ndim
        extents = tuple(numbers.from_address(shape)) if ndim else ()
        pointer = (data or 0) + offset
        facts = (place, (code, bits, lanes), extents, tuple(numbers.from_address(strides)) if ndim and strides else None,
                 is_read_only, bool(pointer % max(bits // 8, 1)))
        return facts, pointer, None if is_on_host else 0, capsule

    @staticmethod
    def layout(facts: tuple, name: str) -> Layout:
        if len(facts) == 1:
            raise TypeError(f"{name} is on a device of DLPack's type {facts[0]}, but the CPU or CUDA is required")
        _, type_, shape, strides, is_read_only, is_unaligned = facts
        text = "with code %d, %d bits and %d lanes of DLPack" % type_
        if strides is None:
            strides = contiguous_strides(shape)
        return Layout(name, _served(name, _DLPACK_TYPES.get(type_, text)), shape, None if is_unaligned else strides,
                      not is_read_only)

    @classmethod
    def empty(cls, like: Any, shape: tuple, type_: ElementType) -> tuple[Any, int]:
        on_host = int(like.__dlpack_device__()[0]) in _DLPACK_HOST
        return (NumPy if on_host else InPlace).empty(like, shape, type_)


class ArrayLike(NumPy):
    """Other objects that NumPy takes as arrays without a copy."""

    @staticmethod
    def read(array: Any) -> tuple:
        seen = np.asarray(array)
        facts, pointer, stream, _ = NumPy.read(seen)
        return facts, pointer, stream, seen

    @staticmethod
    def assign(target: Any, source: Any) -> None:
        np.copyto(np.asarray(target), source)


_kinds: dict = {}


def kind_of(array: Any, name: str) -> Any:
    """The kind of an argument."""
    type_ = type(array)
    try:
        return _kinds[type_]
    except KeyError:
        bases = {(base.__module__.partition(".")[0], base.__name__) for base in type_.__mro__}
        if ("numpy", "MaskedArray") in bases:
            raise TypeError(f"{name} has a mask, but an array without one is required") from None
        for bearer in (type_, array):  # an object may have a protocol of its own
            for kind, fits in (
                (NumPy, ("numpy", "ndarray") in bases),
                (Torch, ("torch", "Tensor") in bases),
                (CuPy, ("cupy", "ndarray") in bases),
                (DLPack, hasattr(bearer, "__dlpack__") and hasattr(bearer, "__dlpack_device__")),
                (CudaArray, hasattr(bearer, "__cuda_array_interface__")),
                (ArrayLike, hasattr(bearer, "__array_interface__")),
            ):
                if fits:
                    if bearer is type_:
                        _kinds[type_] = kind
                    return kind
        raise TypeError(f"{name} is of type {type_.__name__}, but an array of NumPy, PyTorch or CuPy, or an object with "
                        "__dlpack__ or __cuda_array_interface__ is required") from None
