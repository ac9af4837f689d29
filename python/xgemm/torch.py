"""Products as an operator of PyTorch, xgemm::matmul: with a gradient, for autocast, in transforms of torch.func and forward
mode, and in what torch.compile compiles.

Importing this module imports PyTorch and registers the operator.
"""
# No postponed annotations: torch.library reads the operator's types from them.
from typing import Any, Optional, SupportsFloat

import numpy as np
import torch

from . import _products
from ._arrays import Layout, Torch
from ._plan import check_bias, new_type

__all__ = ["matmul"]


@torch.library.custom_op("xgemm::matmul", mutates_args=(), device_types=("cpu", "cuda"))
def _operator(a: torch.Tensor, b: torch.Tensor, dtype: torch.dtype, alpha: float, math: Optional[str]) -> torch.Tensor:
    with torch.no_grad():
        return _products.matmul(a, b, dtype=dtype, alpha=alpha, math=math)


@_operator.register_fake
def _(a: torch.Tensor, b: torch.Tensor, dtype: torch.dtype, alpha: float, math: Optional[str]) -> torch.Tensor:
    torch._check(a.shape[-1] == b.shape[-2], lambda: f"a has the shape {a.shape} and b the shape {b.shape}")
    return a.new_empty((*torch.broadcast_shapes(a.shape[:-2], b.shape[:-2]), a.shape[-2], b.shape[-1]), dtype=dtype)


def _keep_for_gradient(ctx: Any, inputs: tuple, output: torch.Tensor) -> None:
    a, b, _, ctx.alpha, ctx.math = inputs
    ctx.save_for_backward(a, b)


def _gradient(ctx: Any, grad: torch.Tensor) -> tuple:
    a, b = ctx.saved_tensors
    grad, of_a, of_b = grad.to(a.dtype), None, None
    if ctx.needs_input_grad[0]:
        of_a = _product(grad, b.mT, a.dtype, ctx.alpha, ctx.math).sum_to_size(a.shape)
    if ctx.needs_input_grad[1]:
        of_b = _product(a.mT, grad, b.dtype, ctx.alpha, ctx.math).sum_to_size(b.shape)
    return of_a, of_b, None, None, None


_operator.register_autograd(_gradient, setup_context=_keep_for_gradient)


class _Product(torch.autograd.Function):
    """The operator in forward mode and in transforms of torch.func, for which PyTorch registers nothing with operators."""

    @staticmethod
    def forward(a: torch.Tensor, b: torch.Tensor, dtype: torch.dtype, alpha: float, math: Optional[str]) -> torch.Tensor:
        return _operator(a, b, dtype, alpha, math)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple, output: torch.Tensor) -> None:
        _keep_for_gradient(ctx, inputs, output)
        ctx.save_for_forward(*inputs[:2])
        ctx.dtype = inputs[2]
        ctx.set_materialize_grads(False)

    @staticmethod
    def backward(ctx: Any, grad: Optional[torch.Tensor]) -> tuple:  # pylint: disable=arguments-differ
        return (None,) * 5 if grad is None else _gradient(ctx, grad)

    @staticmethod
    def jvp(ctx: Any, of_a: Optional[torch.Tensor], of_b: Optional[torch.Tensor], *_: None) -> Optional[torch.Tensor]:
        a, b = ctx.saved_tensors
        terms = [_product(x, y, ctx.dtype, ctx.alpha, ctx.math) for x, y in ((of_a, b), (a, of_b))
                 if x is not None and y is not None]
        return sum(terms[1:], terms[0]) if terms else None

    @staticmethod
    def vmap(info: Any, in_dims: tuple, a: torch.Tensor, b: torch.Tensor, *rest: Any) -> tuple:
        # Beside an axis in front, as many axes of batches in both.
        pairs = [(x, at) for x, at in zip((a, b), in_dims)]
        most = max(x.dim() - (at is not None) for x, at in pairs)
        def in_front(x: torch.Tensor, at: Optional[int]) -> torch.Tensor:
            if at is None:
                return x
            x = x.movedim(at, 0)
            return x.reshape(x.shape[0], *(1,) * (most + 1 - x.dim()), *x.shape[1:])
        return _product(*(in_front(x, at) for x, at in pairs), *rest), 0


def _product(a: torch.Tensor, b: torch.Tensor, dtype: torch.dtype, alpha: float, math: Optional[str]) -> torch.Tensor:
    return (_operator if torch.compiler.is_compiling() else _Product.apply)(a, b, dtype, alpha, math)


# By operations of PyTorch, which have gradients.
_ACTIVATIONS = {
    None: lambda x: x,
    "relu": torch.relu,
    "gelu": torch.nn.functional.gelu,
    "gelu_tanh": lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
    "silu": torch.nn.functional.silu,
}


def _tensor(name: str, array: Any) -> torch.Tensor:
    if isinstance(array, torch.Tensor):
        return array
    try:
        if isinstance(array, np.ndarray):
            takes_it = array.flags.writeable and min(array.strides, default=0) >= 0
            return torch.from_numpy(array if takes_it else array.copy())
        return torch.from_dlpack(array) if hasattr(array, "__dlpack__") else torch.as_tensor(array)
    except (TypeError, ValueError, RuntimeError, BufferError) as error:
        raise TypeError(f"{name} is of type {type(array).__name__}, of which PyTorch makes no tensor ({error}), but one is "
                        "required where a gradient is asked for") from None


def _layout(name: str, tensor: torch.Tensor) -> Layout:
    return Torch.layout((tensor.dtype, tensor.shape, tensor.stride(), False, False), name)


def matmul(a: torch.Tensor, b: torch.Tensor, *, dtype: Any = None, alpha: SupportsFloat = 1.0, math: Optional[str] = None,
           bias: Optional[torch.Tensor] = None, activation: Optional[str] = None) -> torch.Tensor:
    """activation(alpha times the matrix product of a and b, plus bias), as torch.matmul; the rest is as in xgemm.matmul."""
    a, b, bias = _tensor("a", a), _tensor("b", b), None if bias is None else _tensor("bias", bias)
    if bias is not None or activation is not None:
        if not (activation is None or isinstance(activation, str)) or activation not in _ACTIVATIONS:
            raise ValueError(f"activation is {activation!r}, but one of {', '.join(map(repr, _ACTIVATIONS))} is required")
        result = matmul(a, b, dtype=dtype, alpha=alpha, math=math)
        if bias is not None:
            if torch.is_autocast_enabled(a.device.type):
                bias = bias.to(result.dtype)
            check_bias(_layout("bias", bias), _layout("the result", result), b.dim())
            result = result + bias
        return _ACTIVATIONS[activation](result)
    if dtype is None and torch.is_autocast_enabled(a.device.type):
        # What PyTorch's own operations leave as it is: doubles and integers.
        lower = torch.get_autocast_dtype(a.device.type)
        a, b = (x.to(lower) if x.is_floating_point() and x.dtype != torch.float64 else x for x in (a, b))
    if dtype is None:
        dtype = a.dtype
    elif not isinstance(dtype, torch.dtype):
        dtype = getattr(torch, new_type(_layout("a", a).type, dtype).name)
    alpha = _products.number("alpha", alpha)
    if b.dim() == 1:
        return matmul(a, b.unsqueeze(1), dtype=dtype, alpha=alpha, math=math).squeeze(-1)
    if a.dim() == 1:
        return matmul(a.unsqueeze(0), b, dtype=dtype, alpha=alpha, math=math).squeeze(-2)
    if a.dim() > 2 and b.dim() == 2 and a.shape[-1] == b.shape[0]:
        # One matrix, so that the gradient of b is one product and no sum of products.
        return _product(a.flatten(0, -2), b, dtype, alpha, math).unflatten(0, a.shape[:-1])
    return _product(a, b, dtype, alpha, math)
