"""Random arrays in random places, and what their products have to be."""
import os
import sys
import unittest

import numpy as np

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

TYPES = {"float64": np.float64, "float32": np.float32, "float16": np.float16}
try:
    import ml_dtypes

    TYPES["bfloat16"] = ml_dtypes.bfloat16
except ImportError:
    pass
ROUNDING = {"float64": 2.0**-53, "float32": 2.0**-24, "float16": 2.0**-11, "bfloat16": 2.0**-8}
RESULTS = {name: [name] if name == "float64" else [name, "float32"] for name in ROUNDING}
SMALLEST = {"float64": 0.0, "float32": 0.0, "float16": 2.0**-25, "bfloat16": 0.0}  # half the distance of subnormal numbers


class DLPack:
    """An array, of NumPy or another library, that is seen through DLPack alone; on another device, if one is named."""

    def __init__(self, array, place=None):
        self.array = array
        self.place = place or array.__dlpack_device__()

    def __dlpack_device__(self):
        return self.place

    def __dlpack__(self, **options):
        assert not ("stream" in options and isinstance(self.array, np.ndarray)), "streams are for GPUs"
        return self.array.__dlpack__(**options)

    def says_that_it_is_writable(self):
        """Whether the library exports by DLPack 1.0; before, no capsule says whether it may be written."""
        try:
            return "dltensor_versioned" in repr(self.array.__dlpack__(max_version=(1, 0)))
        except TypeError:
            return False


class CudaArray:
    """An array that is seen through a __cuda_array_interface__ alone. One of NumPy is described as if it had one: libxgemm
    looks itself where a pointer leads."""

    def __init__(self, array, **more):
        self.array = array
        self.more = more

    @property
    def __cuda_array_interface__(self):
        described = self.array.__array_interface__ if isinstance(self.array, np.ndarray) else self.array.__cuda_array_interface__
        return {**{key: described[key] for key in ("shape", "typestr", "data", "strides")}, "version": 3, **self.more}


def random_values(rng, shape, type_name):
    return rng.uniform(-1, 1, shape).astype(TYPES[type_name])


def placed(rng, values):
    """The values in an array that lies in a larger one, its axes in any order, with any distances, some of them reversed;
    and the larger one."""
    order = rng.permutation(values.ndim)
    steps = [int(rng.choice([1, 1, 1, 2, 3, -1])) for _ in order]
    paddings = [int(rng.integers(0, 3)) for _ in order]
    around = np.full([values.shape[axis] * abs(step) + padding for axis, step, padding in zip(order, steps, paddings)], 77,
                     values.dtype)
    view = around[(*(slice(padding, None, abs(step)) for step, padding in zip(steps, paddings)), ...)]
    view = view[(*(slice(None, None, -1 if step < 0 else 1) for step in steps), ...)].transpose(np.argsort(order))
    assert view.shape == values.shape
    view[...] = values
    return view, around


def random_shapes(rng):
    """Of two arrays that can be multiplied."""
    def extent():
        return int(rng.choice([0, 1, 1, 2, 3, 5, 8, 17]))

    m, n, k = extent(), extent(), extent()
    batch = [extent() for _ in range(int(rng.integers(0, 4)))]

    def batch_of_one():
        kept = batch[int(rng.integers(0, len(batch) + 1)):]
        return tuple(1 if rng.random() < 0.3 else size for size in kept)

    a = (k,) if rng.random() < 0.15 else (*batch_of_one(), m, k)
    b = (k,) if rng.random() < 0.15 else (*batch_of_one(), k, n)
    return a, b


def assert_product(result, a, b, alpha=1.0, beta=0.0, c=None, what=""):
    """Whether the result is alpha a b + beta c, within what rounding allows."""
    a, b = a.astype(np.longdouble), b.astype(np.longdouble)
    exact, size = alpha * np.matmul(a, b), abs(alpha) * np.matmul(np.abs(a), np.abs(b))
    if beta:
        exact, size = exact + beta * c.astype(np.longdouble), size + np.abs(beta * c.astype(np.longdouble))
    type_name = result.dtype.name
    sums = ROUNDING["float64" if type_name == "float64" else "float32"]
    bound = (a.shape[-1] + 4) * sums * size + 1.01 * ROUNDING[type_name] * np.abs(exact) + SMALLEST[type_name]
    assert result.shape == exact.shape, f"{what}: {result.shape} in place of {exact.shape}"
    error = np.abs(result.astype(np.longdouble) - exact)
    assert np.all(error <= bound), f"{what}: an error of {error.max()} is more than {np.max(bound)}"


def main():
    unittest.main(verbosity=2 if sys.stdout.isatty() else 1)
