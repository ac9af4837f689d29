"""Matrix products of libxgemm for arrays of NumPy, PyTorch, CuPy and others: on NVIDIA GPUs with kernels of its own, on the
CPU elsewhere.

    xgemm.matmul(a, b)                   as numpy.matmul
    xgemm.gemm(a, b, c, beta=1)          as BLAS has it, in place
    xgemm.torch.matmul(a, b)             an operator of PyTorch, with a gradient, for torch.compile, too

`python -m xgemm bench` measures, `python -m xgemm run script.py` runs a program with libxgemm in front of its BLAS.
"""
from __future__ import annotations

import importlib
from typing import Any

from ._library import ACTIVATIONS, FILLS, MATH_MODES, Error, version
from ._products import gemm, matmul

__all__ = ["ACTIVATIONS", "FILLS", "MATH_MODES", "Error", "gemm", "matmul"]
__version__ = version()


def __getattr__(name: str) -> Any:
    if name == "torch":  # registers the operator, and imports PyTorch
        try:
            return importlib.import_module(".torch", __name__)
        except ModuleNotFoundError as error:  # that hasattr() is false
            raise AttributeError(f"xgemm.torch needs PyTorch: {error}") from error
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
