"""libxgemm through its C ABI: the library that lies beside this file, its argument struct, contexts and failures."""
from __future__ import annotations

import ctypes
import os
import struct
import sys
import threading
from typing import Any, NamedTuple



def _own_library() -> str:
    # Of an editable installation, these files lie in the source tree and the library does not.
    folders = [os.path.dirname(__file__), *sys.modules[__package__].__path__]
    paths = [os.path.join(folder, "lib", "libxgemm.so.0") for folder in folders]
    return next(filter(os.path.exists, paths), paths[0])


# XGEMM_LIBRARY names another one, for instance that of a build folder.
PATH = os.environ.get("XGEMM_LIBRARY") or _own_library()
_library = ctypes.CDLL(PATH)

run = _library.xgemm_gemm  # of a context and the bytes of a struct xgemm_args
run.argtypes = [ctypes.c_void_p, ctypes.c_char_p]
_create = _library.xgemm_create
_create.argtypes = [ctypes.POINTER(ctypes.c_void_p)]
_destroy = _library.xgemm_destroy
_destroy.argtypes = [ctypes.c_void_p]
_set_stream = _library.xgemm_set_stream
_set_stream.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
_last_error = _library.xgemm_last_error
_last_error.restype = ctypes.c_char_p
_version_string = _library.xgemm_version_string
_version_string.restype = ctypes.c_char_p

# struct xgemm_args up to the strides, in five parts, of which a call makes the second and the fourth one.
_HEAD = struct.Struct("@Nii2s6xqqq")  # size, type, layout, transa and transb, m, n, k
_OPERANDS = struct.Struct("@PP8xP8xPP8x")  # alpha, a, b, beta, c; leading dimensions are not looked at
_TAIL = struct.Struct("@qqqqiiii")  # batch_count, stride_a, stride_b, stride_c, type_c, math_mode, activation, bias_along
_BIAS = struct.Struct("@P")
_END = struct.Struct("@40xii16x6q")  # fill, strided; row and column strides of A, B, C
_SIZE = _HEAD.size + _OPERANDS.size + _TAIL.size + _BIAS.size + _END.size
pack_operands, pack_bias = _OPERANDS.pack, _BIAS.pack

FILLS = {"lower": 1, "upper": 2}  # enum xgemm_fill
_ALL_STRIDED = 1 + 2 + 4  # enum xgemm_strided
MATH_MODES = {"strict": 0, "fp32_emulated": 1, "tf32": 2}  # enum xgemm_math_mode
ACTIVATIONS = {"relu": 1, "gelu": 2, "gelu_tanh": 3, "silu": 4}  # enum xgemm_activation
_BIAS_OF_COLUMNS = 1  # enum xgemm_bias


class ElementType(NamedTuple):
    """A type that the elements of matrices may have."""

    name: str
    code: int  # enum xgemm_type
    size: int  # bytes of an element
    scalar: Any  # what alpha and beta are in C


FLOAT32 = ElementType("float32", 0, 4, ctypes.c_float)
ELEMENT_TYPES = {
    one.name: one
    for one in (
        FLOAT32,
        ElementType("float16", 1, 2, ctypes.c_float),
        ElementType("bfloat16", 2, 2, ctypes.c_float),
        ElementType("float64", 3, 8, ctypes.c_double),
    )
}


def pack_head(type_: ElementType, m: int, n: int, k: int) -> bytes:
    return _HEAD.pack(_SIZE, type_.code, 0, b"NN", m, n, k)


def pack_tail(batch_count: int, stride_a: int, stride_b: int, stride_c: int, type_c: ElementType, math: str | None,
              activation: str | None) -> bytes:
    return _TAIL.pack(batch_count, stride_a, stride_b, stride_c, type_c.code + 1, 0 if math is None else MATH_MODES[math] + 1,
                      0 if activation is None else ACTIVATIONS[activation], _BIAS_OF_COLUMNS)


def pack_end(fill: str | None, *strides: int) -> bytes:
    return _END.pack(0 if fill is None else FILLS[fill], _ALL_STRIDED, *strides)


class Error(RuntimeError):
    """libxgemm could not compute a product: there is no GPU for device memory, CUDA failed, or the like."""


def version() -> str:
    """The version of the library."""
    return _version_string().decode()


def failure(status: int) -> Exception:
    """What this thread's last call returned, as an exception."""
    message = _last_error().decode(errors="replace")
    if status < 0:
        return ValueError(message)
    if status <= 2:  # XGEMM_OUT_OF_HOST_MEMORY, XGEMM_OUT_OF_DEVICE_MEMORY
        return MemoryError(message)
    return Error(message)


def _check(status: int) -> None:
    if status != 0:
        raise failure(status)


class _Context:
    """The xgemm_context of a thread."""

    def __init__(self) -> None:
        self.handle = ctypes.c_void_p()
        self.stream = 0
        _check(_create(ctypes.byref(self.handle)))

    def __del__(self, destroy: Any = _destroy) -> None:
        destroy(self.handle)


_local = threading.local()


def context(stream: int) -> ctypes.c_void_p:
    """This thread's context, with its stream set."""
    try:
        one = _local.context
    except AttributeError:
        one = _local.context = _Context()
    if one.stream != stream:
        _check(_set_stream(one.handle, stream))
        one.stream = stream
    return one.handle
