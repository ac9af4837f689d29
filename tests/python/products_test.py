"""xgemm.matmul and xgemm.gemm of NumPy's arrays: any shapes, strides, types and batches; and what they refuse."""
import math
import re
import threading
import types
import unittest
from unittest import mock

import numpy as np

import support
import xgemm
from xgemm import _arrays, _library, _plan, _products


class Products(unittest.TestCase):
    """Drawn at random, and compared with what has more digits."""

    def test_flags_and_scalars_of_other_types(self):
        a = np.eye(3, dtype=np.float32)
        for flag in ("N", "T", None):
            with self.assertRaisesRegex(TypeError, "trans_b is .*, but True or False is required"):
                xgemm.gemm(a, a, trans_b=flag)
        np.testing.assert_array_equal(xgemm.gemm(a, a, trans_b=np.True_), a)
        for flag in ([], np.array(True)):
            with self.assertRaisesRegex(TypeError, "trans_a is .*, but True or False is required"):
                xgemm.gemm(a, a, trans_a=flag)
        for value in ("2", b"2", bytearray(b"2"), np.ones(2), None, 1j, np.complex64(1)):
            with self.assertRaisesRegex(TypeError, "alpha is .*, but a real number is required"):
                xgemm.matmul(a, a, alpha=value)
            with self.assertRaisesRegex(TypeError, "beta is .*, but a real number is required"):
                xgemm.gemm(a, a, np.ones_like(a), beta=value)
        with self.assertRaisesRegex(ValueError, "alpha is larger than any float"):
            xgemm.matmul(a, a, alpha=10**400)
        np.testing.assert_array_equal(xgemm.matmul(a, a, alpha=np.float64(2)), 2 * a)

    def test_matmul(self):
        for seed in range(400):
            rng = np.random.default_rng(seed)
            type_name = str(rng.choice(list(support.TYPES)))
            shape_a, shape_b = support.random_shapes(rng)
            a, _ = support.placed(rng, support.random_values(rng, shape_a, type_name))
            b, _ = support.placed(rng, support.random_values(rng, shape_b, type_name))
            alpha = float(rng.choice([1, 1, 0, -2.5]))
            what = f"seed {seed}: {type_name} {a.shape} {a.strides} {b.shape} {b.strides} {alpha}"
            dtype = [None, "float32", np.float32, np.dtype(np.float32), "f4", "single"][int(rng.integers(0, 6))]
            if "float32" not in support.RESULTS[type_name]:
                dtype = None
            with self.subTest(what):
                kept = a.copy(), b.copy()
                result = xgemm.matmul(a, b, alpha=alpha, dtype=dtype)
                self.assertEqual(np.dtype(support.TYPES[type_name] if dtype is None else dtype), result.dtype)
                support.assert_product(result, a, b, alpha, what=what)
                self.assertTrue(np.array_equal(kept[0], a) and np.array_equal(kept[1], b))

    def test_out(self):
        """What lies around the elements of the result stays as it is."""
        for seed in range(400):
            rng = np.random.default_rng(seed)
            type_name = str(rng.choice(list(support.TYPES)))
            shape_a, shape_b = support.random_shapes(rng)
            a, _ = support.placed(rng, support.random_values(rng, shape_a, type_name))
            b, _ = support.placed(rng, support.random_values(rng, shape_b, type_name))
            out_type = str(rng.choice(support.RESULTS[type_name]))
            shape = np.matmul(a.astype(float), b.astype(float)).shape
            out, around = support.placed(rng, np.full(shape, np.nan, support.TYPES[out_type]))
            what = f"seed {seed}: {type_name} {a.shape} {a.strides} {b.shape} {b.strides} {out.shape} {out.strides}"
            with self.subTest(what):
                self.assertIs(out, xgemm.matmul(a, b, out=out))
                support.assert_product(out, a, b, what=what)
                out[...] = 77
                self.assertTrue(np.all(around == 77), what)

    def test_bias_and_activation(self):
        def gelu(x):
            return 0.5 * x * (1 + np.vectorize(math.erf, otypes=[float])(x / np.sqrt(2)))

        def gelu_tanh(x):
            return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))

        functions = {None: lambda x: x, "relu": lambda x: np.maximum(x, 0), "gelu": gelu, "gelu_tanh": gelu_tanh,
                     "silu": lambda x: x / (1 + np.exp(-x))}
        self.assertEqual(set(functions) - {None}, set(xgemm.ACTIVATIONS))
        for seed in range(400):
            rng = np.random.default_rng(seed)
            type_name = str(rng.choice(list(support.TYPES)))
            shape_a, shape_b = support.random_shapes(rng)
            a, _ = support.placed(rng, support.random_values(rng, shape_a, type_name))
            b, _ = support.placed(rng, support.random_values(rng, shape_b, type_name))
            expected = np.matmul(a.astype(float), b.astype(float))
            out_type = str(rng.choice(support.RESULTS[type_name]))
            out = bias = None
            if rng.random() < 0.5:
                out, around = support.placed(rng, np.full(expected.shape, np.nan, support.TYPES[out_type]))
            if b.ndim > 1 and rng.random() < 0.7:
                bias, _ = support.placed(rng, support.random_values(rng, expected.shape[-1:], out_type))
                expected = expected + bias.astype(float)
            activation = list(functions)[int(rng.integers(0, 5))]
            what = f"seed {seed}: {type_name} {a.shape} {b.shape} {b.strides} {out_type} {bias is not None} {activation}"
            with self.subTest(what):
                result = xgemm.matmul(a, b, out=out, dtype=out_type if out is None else None, bias=bias, activation=activation)
                bound = 40 * support.ROUNDING[out_type] + 200 * 2.0**-24 + support.SMALLEST[out_type]
                scale = np.maximum(1, np.abs(expected))
                difference = np.abs(result.astype(float) - functions[activation](expected)) / scale
                self.assertFalse(np.any(~(difference <= bound)), what)
                if out is not None:
                    out[...] = 77
                    self.assertTrue(np.all(around == 77), what)

    def test_bias_that_shares_memory(self):
        a, b = np.eye(3, dtype=np.float32), np.ones((3, 4), np.float32)
        out = np.full((3, 4), 2, np.float32)
        xgemm.matmul(a, b, out=out, bias=out[1])
        self.assertTrue(np.all(out == 3))

    def test_gemm(self):
        for seed in range(400):
            rng = np.random.default_rng(seed)
            type_name = str(rng.choice(list(support.TYPES)))
            shape_a, shape_b = support.random_shapes(rng)
            if min(len(shape_a), len(shape_b)) < 2:
                continue
            a, _ = support.placed(rng, support.random_values(rng, shape_a, type_name))
            b, _ = support.placed(rng, support.random_values(rng, shape_b, type_name))
            trans_a, trans_b = rng.random(2) < 0.5
            alpha, beta = rng.choice([1, 0, 0.1]), rng.choice([0, 1, -0.7])
            if type_name != "float64":
                alpha, beta = np.float32(alpha), np.float32(beta)
            alpha, beta = float(alpha), float(beta)
            shape = np.matmul(a.astype(float), b.astype(float)).shape
            old = support.random_values(rng, shape, str(rng.choice(support.RESULTS[type_name])))
            c, around = support.placed(rng, old if beta else np.full_like(old, np.nan))
            what = f"seed {seed}: {type_name} {a.shape} {a.strides} {b.shape} {b.strides} {c.strides} {alpha} {beta}"
            with self.subTest(what):
                result = xgemm.gemm(a.swapaxes(-2, -1) if trans_a else a, b.swapaxes(-2, -1) if trans_b else b, c, alpha=alpha,
                                    beta=beta, trans_a=bool(trans_a), trans_b=bool(trans_b))
                self.assertIs(c, result)
                support.assert_product(c, a, b, alpha, beta, old, what)
                c[...] = 77
                self.assertTrue(np.all(around == 77), what)

    def test_triangles(self):
        for seed in range(200):
            rng = np.random.default_rng(seed)
            type_name = str(rng.choice(list(support.TYPES)))
            n, k, fill = int(rng.integers(1, 20)), int(rng.integers(1, 9)), str(rng.choice(list(xgemm.FILLS)))
            batch = (3,) if rng.random() < 0.3 else ()
            a = support.placed(rng, support.random_values(rng, (*batch, n, k), type_name))[0]
            c, around = support.placed(rng, support.random_values(rng, (*batch, n, n), type_name))
            before, beside = c.copy(), around.copy()
            beta = float(rng.choice([0, 1, -0.5]))
            self.assertIs(c, xgemm.gemm(a, a, c, trans_b=True, beta=beta, fill=fill))
            inside = np.broadcast_to(np.tri(n, dtype=bool) if fill == "lower" else np.tri(n, dtype=bool).T, c.shape)
            what = f"seed {seed}: {type_name} {a.shape} {a.strides} {c.strides} {beta} {fill}"
            self.assertTrue(np.array_equal(c[~inside], before[~inside]), what)
            result = c.copy()
            c[...] = before
            self.assertTrue(np.array_equal(around, beside), what)
            whole = xgemm.gemm(a, a, before.copy(), trans_b=True, beta=beta)
            support.assert_product(np.where(inside, result, whole), a, np.swapaxes(a, -1, -2), 1.0, beta, before, what)

    def test_result_that_shares_memory(self):
        """What the result would overwrite is copied first, and nothing else."""
        rng = np.random.default_rng(5)
        for place, copies in (((0, 0), 1), ((0, 1), 1), ((1, 0), 1), ((2, 0), 0)):
            for batch in (1, -1):
                memory = support.random_values(rng, (4, 7, 6), "float32")
                x, out = (memory[i:i + 2, j:j + 6][::batch] for i, j in ((0, 0), place))
                y = support.random_values(rng, (6, 6), "float32")
                for beta in (0.0, 1.0):
                    for a, b in ((x, y), (y, x), (x, x)):
                        kept, old = (a.copy(), b.copy()), out.copy()
                        with mock.patch.object(_arrays.NumPy, "copy", wraps=_arrays.NumPy.copy) as copy:
                            xgemm.gemm(a, b, out, beta=beta)
                        self.assertEqual(copies * ((a is x) + (b is x)), copy.call_count)
                        support.assert_product(out, *kept, 1.0, beta, old, f"{place} {batch} {beta}")
                        x[...] = support.random_values(rng, x.shape, "float32")

    def test_scalars(self):
        a, b = np.full((3, 4), np.nan, np.float32), np.ones((4, 5), np.float32)
        self.assertTrue(np.all(xgemm.matmul(a, b, alpha=0) == 0))
        c = np.ones((3, 5), np.float32)
        self.assertTrue(np.all(xgemm.gemm(a, b, c, alpha=np.float64(0), beta=np.int32(3)) == 3))
        self.assertTrue(np.all(np.isnan(xgemm.matmul(a, b))))
        empty = np.ones((3, 0), np.float32)
        self.assertTrue(np.all(xgemm.gemm(empty, b[:0], c, beta=2) == 6))

    def test_subclasses_and_what_numpy_takes(self):
        class Matrix(np.ndarray):
            pass

        class Wrapped:
            def __init__(self, array):
                self.array = array

            @property
            def __array_interface__(self):
                return self.array.__array_interface__

        a, b = np.ones((2, 3), np.float32), np.ones((3, 4), np.float32)
        self.assertTrue(np.all(xgemm.matmul(a.view(Matrix), Wrapped(b)) == 3))
        out = np.zeros((2, 4), np.float32)
        self.assertTrue(np.all(xgemm.matmul(Wrapped(a), b) == 3))
        xgemm.matmul(a, b, out=Wrapped(out))
        self.assertTrue(np.all(out == 3))
        own, none = types.SimpleNamespace(), types.SimpleNamespace()
        own.__array_interface__ = b.__array_interface__  # of the object, and not of its type
        self.assertTrue(np.all(xgemm.matmul(a, own) == 3))
        with self.assertRaisesRegex(TypeError, "b is of type SimpleNamespace"):
            xgemm.matmul(a, none)

    def test_threads(self):
        """Each thread has its contexts; plans are of all of them."""
        wrong = []

        def multiply(seed):
            rng = np.random.default_rng(seed)
            for _ in range(50):
                m, n, k = (int(extent) for extent in rng.integers(1, 20, 3))
                a, b = support.random_values(rng, (m, k), "float32"), support.random_values(rng, (k, n), "float32")
                try:
                    support.assert_product(xgemm.matmul(a, b, math=str(rng.choice(list(xgemm.MATH_MODES)))), a, b)
                except BaseException as error:
                    wrong.append(error)

        threads = [threading.Thread(target=multiply, args=(seed,)) for seed in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual([], wrong)

    def test_plans_are_few(self):
        with mock.patch.object(_products, "_MOST_PLANS", 10):
            for m in range(30):
                xgemm.matmul(np.ones((m, 2), np.float32), np.ones((2, 3), np.float32))
                self.assertLessEqual(len(_products._plans), 10)


class ZeroCopy(unittest.TestCase):
    """Arrays are not copied, whatever their strides, and batches are few calls."""

    def calls(self, a, b, out=None):
        layout = _arrays.NumPy.layout
        result = None if out is None else layout(_arrays.NumPy.read(out)[0], "out")
        plan = _plan.make_plan(layout(_arrays.NumPy.read(a)[0], "a"), layout(_arrays.NumPy.read(b)[0], "b"), result, False,
                               False, None, None)
        with mock.patch.object(_arrays.NumPy, "copy", side_effect=AssertionError("a copy was made")):
            support.assert_product(xgemm.matmul(a, b, out=out), a, b)
        return len(plan.calls)

    def test_plain(self):
        rng = np.random.default_rng(1)
        x = support.random_values(rng, (4, 6, 5, 8), "float32")
        w = support.random_values(rng, (8, 7), "float32")
        for a, b, calls in (
            (x[0, 0], w, 1),
            (x[0, 0, :, 2:6], w[1:5, 3:], 1),  # parts
            (x[0, 0].T, x[1, 1], 1),
            (np.asfortranarray(x[0, 0]), w, 1),
            (x[0, 0, :, 0], x[0, 1], 1),  # a vector with a stride
            (x[0, 0], x[0, 0, 3], 1),
            (x, w, 1),  # one matrix of all rows
            (x[0, 0], x.swapaxes(-2, -1), 1),
            (x[:, :, -1:], w, 1),  # the last token of each: rows with a stride
            (x[:, :, -1:][:, ::-1], w, 1),
            (x, x.swapaxes(-2, -1), 1),
            (x.transpose(0, 2, 1, 3), x.transpose(0, 2, 3, 1), 4),  # heads in the middle
            (x[::-1], x.swapaxes(-2, -1)[::-1], 4),
            (x[0][::-1], w, 6),
            (x[:, :1], x[:1].swapaxes(-2, -1), 4),
            (x[:, :, 0], w, 1),
            (np.broadcast_to(x[0, 0], (3, 5, 8)), w, 1),
        ):
            self.assertEqual(calls, self.calls(a, b), f"{a.shape} {a.strides} {b.shape} {b.strides}")
        self.assertEqual(1, self.calls(x[0, 0], w, np.empty((5, 7), np.float32, order="F")))
        self.assertEqual(1, self.calls(x, w, np.empty((4, 6, 5, 9), np.float32)[..., :7]))
        self.assertEqual(1, self.calls(x[0], w, np.empty((6, 7, 5), np.float32).swapaxes(1, 2)))

    def test_any_strides(self):
        rng = np.random.default_rng(2)
        x = support.random_values(rng, (6, 8), "float32")
        windows = np.lib.stride_tricks.sliding_window_view(x[0], 4)
        for view in (x[:, ::2], x[::2, ::2].T, x[::-1], x[:, ::-1], np.broadcast_to(x[:, :1], (6, 4)), windows, x[0, ::-1]):
            out = np.zeros((2 * view.shape[0], 6), np.float32)[::-2, ::3] if view.ndim > 1 else None
            self.assertEqual(1, self.calls(view, support.random_values(rng, (view.shape[-1], 2), "float32"), out))

    def test_not_aligned(self):
        memory = np.zeros(6 * 8 * 4 + 1, np.uint8)
        x = memory[1:].view(np.float32).reshape(6, 8)
        x[...] = 1
        rows = np.dtype({"names": ["x"], "formats": [np.float32], "offsets": [0], "itemsize": 6})
        y = np.ones((8, 4), rows)["x"]
        with mock.patch.object(_arrays.NumPy, "copy", wraps=_arrays.NumPy.copy) as copy:
            self.assertTrue(np.all(xgemm.matmul(x, y) == 8))
            self.assertEqual(2, copy.call_count)
        out = memory[1:145].view(np.float32).reshape(6, 6)
        xgemm.matmul(np.ones((6, 5), np.float32), np.ones((5, 6), np.float32), out=out)
        self.assertTrue(np.all(out == 5))


class Refused(unittest.TestCase):
    """Errors name the argument, its shape and the rule."""

    x = np.ones((3, 4), np.float32)
    y = np.ones((4, 5), np.float32)

    def refuses(self, kind, pattern, *arguments, function=xgemm.matmul, **options):
        with self.assertRaises(kind) as caught:
            function(*arguments, **options)
        self.assertRegex(str(caught.exception), pattern)

    def test_shapes(self):
        x, y = self.x, self.y
        self.refuses(ValueError, r"a has the shape \(3, 4\) and b the shape \(3, 4\).*columns of a \(4\).*rows of b \(3\)", x, x)
        self.refuses(ValueError, r"columns of transposed a \(3\).*rows of transposed b \(5\)", x, y, function=xgemm.gemm,
                     trans_a=True, trans_b=True)
        self.refuses(ValueError, r"a has the shape \(\).*one axis or more", x[0, 0][()].reshape(()), y)
        self.refuses(ValueError, r"two axes or more", x[0], y, function=xgemm.gemm, trans_a=True)
        self.refuses(ValueError, r"batches \(2,\) and \(3,\)", np.ones((2, 3, 4), np.float32), np.ones((3, 4, 5), np.float32))
        self.refuses(ValueError, r"out has the shape \(3, 4\).*\(3, 5\)", x, y, out=np.ones((3, 4), np.float32))
        self.refuses(ValueError, r"c has the shape \(1, 3, 5\).*\(3, 5\)", x, y, np.ones((1, 3, 5), np.float32),
                     function=xgemm.gemm)

    def test_types(self):
        x, y = self.x, self.y
        self.refuses(TypeError, r"a is of type list", [[1.0]], y)
        self.refuses(TypeError, r"b is of type int", x, 3)
        self.refuses(TypeError, r"b has elements of type int32, but one of float32", x, y.astype(np.int32))
        self.refuses(TypeError, r"a has elements of type >f4", x.astype(">f4"), y)
        self.refuses(TypeError, r"a has elements of type float32 and b of type float16", x, y.astype(np.float16))
        self.refuses(TypeError, r"out has elements of type float16.*\(float32\)", x, y, out=np.ones((3, 5), np.float16))
        self.refuses(TypeError, r"out has elements of type float32.*\(float64\)", x.astype(float), y.astype(float),
                     out=np.ones((3, 5), np.float32))
        self.refuses(TypeError, r"dtype is float16", x, y, dtype="float16")
        self.refuses(TypeError, r"dtype is int", x, y, dtype=int)
        self.refuses(TypeError, r"dtype is >f4", x, y, dtype=">f4")
        self.refuses(ValueError, r"dtype is float32.*out is given", x, y, dtype="float32", out=np.ones((3, 5), np.float32))

    def test_epilogues(self):
        x, y = self.x, self.y
        self.refuses(ValueError, "activation is 'tanh', but None or one of relu", x, y, activation="tanh")
        self.refuses(TypeError, r"activation is \['relu'\], but a list names none", x, y, activation=["relu"])
        self.refuses(ValueError, r"bias has the shape \(3,\), but \(5,\)", x, y, bias=np.ones(3, np.float32))
        self.refuses(ValueError, r"bias has the shape \(1, 5\)", x, y, bias=np.ones((1, 5), np.float32))
        self.refuses(TypeError, r"bias has elements of type float64", x, y, bias=np.ones(5))
        self.refuses(ValueError, r"b is a vector", x, y[:, 0], bias=np.ones(3, np.float32))

    def test_results(self):
        x, y = self.x, self.y
        out = np.ones((3, 5), np.float32)
        out.flags.writeable = False
        self.refuses(ValueError, "out is read-only", x, y, out=out)
        for strides in ((0, 4), (4, 4), (8, 4), (4, 0)):
            shared = np.lib.stride_tricks.as_strided(np.ones(40, np.float32), (3, 5), strides)
            self.refuses(ValueError, r"out has the shape \(3, 5\) and the strides.* share an address", x, y, out=shared)
        # Rows that lie in one another, without an element in common.
        interleaved = np.lib.stride_tricks.as_strided(np.zeros(40, np.float32), (3, 2), (8, 12))
        np.testing.assert_array_equal(xgemm.matmul(x, y[:, :2], out=interleaved), x @ y[:, :2])

    def test_scalars(self):
        x, y = self.x, self.y
        self.refuses(TypeError, "alpha is 'two'", x, y, alpha="two")
        square = np.ones((3, 3), np.float32)
        self.refuses(ValueError, "fill is 'both', but None or one of lower, upper", square, square, square.copy(), fill="both",
                     function=xgemm.gemm)
        self.refuses(ValueError, "fill is 'lower'.*square", x, y, np.ones((3, 5), np.float32), fill="lower", function=xgemm.gemm)
        self.refuses(ValueError, "fill is 'lower'.*a is a vector", np.ones(5, np.float32), np.ones((3, 5, 3), np.float32),
                     np.ones((3, 3), np.float32), fill="lower", function=xgemm.gemm)
        self.refuses(ValueError, "fill is 'lower'.*without c", square, square, fill="lower", function=xgemm.gemm)
        self.refuses(TypeError, "beta is None", x, y, np.ones((3, 5), np.float32), beta=None, function=xgemm.gemm)
        self.refuses(ValueError, "beta is 2.*without c", x, y, beta=2, function=xgemm.gemm)
        self.refuses(ValueError, "math is 'fast', but None or one of strict, fp32_emulated, tf32", x, y, math="fast")
        with mock.patch.dict(xgemm.MATH_MODES, {"unknown": 7}):  # it is the library that refuses this one
            self.refuses(ValueError, "math_mode = 8", x, y, math="unknown")

    def test_failures_of_the_library(self):
        for status, kind in ((-3, ValueError), (1, MemoryError), (2, MemoryError), (3, xgemm.Error), (7, xgemm.Error)):
            self.assertIs(kind, type(_library.failure(status)))
        with mock.patch.object(_products, "run", return_value=3):
            self.refuses(xgemm.Error, "^$", self.x, self.y)


class Header(unittest.TestCase):
    """The numbers of xgemm.h."""

    def test_enumerations(self):
        with open(f"{support.SOURCE}/include/xgemm.h", encoding="utf-8") as file:
            text = file.read()
        numbers = dict(re.findall(r"\b(XGEMM_\w+) = (\d+)", text))
        letters = {"float32": "F32", "float16": "F16", "bfloat16": "BF16", "float64": "F64"}
        for one in xgemm._library.ELEMENT_TYPES.values():
            self.assertEqual(int(numbers["XGEMM_" + letters[one.name]]), one.code)
            self.assertEqual(int(numbers["XGEMM_C_" + letters[one.name]]), one.code + 1)
        for name, number in xgemm.MATH_MODES.items():
            self.assertEqual(int(numbers["XGEMM_MATH_" + name.upper()]), number)
        for name, number in xgemm.ACTIVATIONS.items():
            self.assertEqual(int(numbers["XGEMM_" + name.upper()]), number)
        self.assertEqual(int(numbers["XGEMM_BIAS_OF_COLUMNS"]), _library._BIAS_OF_COLUMNS)
        for name, number in xgemm.FILLS.items():
            self.assertEqual(int(numbers["XGEMM_FILL_" + name.upper()]), number)
        self.assertEqual(sum(int(numbers["XGEMM_STRIDED_" + name]) for name in "ABC"), _library._ALL_STRIDED)
        self.assertEqual(int(numbers["XGEMM_OUT_OF_DEVICE_MEMORY"]), 2)
        version = re.findall(r"#define XGEMM_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)", text)
        self.assertEqual(".".join(version), xgemm.__version__)


if __name__ == "__main__":
    support.main()
