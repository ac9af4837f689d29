"""Arrays of libraries that xgemm does not know by name, here in host memory: __dlpack__ and __cuda_array_interface__."""
import gc
import sys
import unittest

import numpy as np

import support
import xgemm
from support import CudaArray, DLPack


class InterfaceTest(unittest.TestCase):
    def draw(self, seed):
        rng = np.random.default_rng(seed)
        type_name = str(rng.choice(["float64", "float32", "float16"]))
        m, n, k = (int(extent) for extent in rng.integers(0, 9, 3))
        a, b = support.random_values(rng, (2, m, k), type_name), support.random_values(rng, (k, n), type_name)
        if rng.random() < 0.5:
            a = np.ascontiguousarray(a.swapaxes(1, 2)).swapaxes(1, 2)
        if rng.random() < 0.5:
            b = np.asfortranarray(b)
        return a, b, np.full((2, m, n), np.nan, support.RESULTS[type_name][-1])

    def test_products(self):
        for wrap in (DLPack, CudaArray):
            for seed in range(60):
                a, b, out = self.draw(seed)
                with self.subTest(f"{wrap.__name__} {seed} {a.dtype} {a.shape} {a.strides} {b.shape} {b.strides}"):
                    wrapped = wrap(out)
                    if wrap is DLPack and not wrapped.says_that_it_is_writable():
                        wrapped = out
                    self.assertIs(wrapped, xgemm.matmul(wrap(a), b, out=wrapped))
                    support.assert_product(out, a, b)
                    support.assert_product(xgemm.gemm(a, wrap(b), out, beta=1.0), a, b, 1.0, 1.0, np.matmul(
                        a.astype(np.float64), b.astype(np.float64)))

    def test_new_results(self):
        a, b, _ = self.draw(3)
        result = xgemm.matmul(DLPack(a), DLPack(b))
        self.assertIs(np.ndarray, type(result))
        support.assert_product(result, a, b)
        with self.assertRaisesRegex(TypeError, "out is required.*CudaArray"):
            xgemm.matmul(CudaArray(a), CudaArray(b))

    def test_memory_is_given_back(self):
        a, b = np.ones((3, 4), np.float32), np.ones((4, 5), np.float32)
        before = sys.getrefcount(a), sys.getrefcount(b)
        for _ in range(10):
            xgemm.matmul(DLPack(a), DLPack(b))
        gc.collect()
        self.assertEqual(before, (sys.getrefcount(a), sys.getrefcount(b)))

    def test_what_would_have_to_be_copied(self):
        a, b = np.ones((4, 8), np.float32), np.ones((4, 4), np.float32)
        for wrap in (DLPack, CudaArray):
            self.assertTrue(np.all(xgemm.matmul(wrap(a[:, ::2]), b, out=np.empty((4, 4), np.float32)) == 4))
            with self.assertRaisesRegex(ValueError, f"of type {wrap.__name__}.*copied"):
                xgemm.matmul(wrap(b), b, out=b)

    def test_refused(self):
        a = np.ones((4, 4), np.float32)
        with self.assertRaisesRegex(TypeError, "b is on a device of DLPack's type 8"):
            xgemm.matmul(a, DLPack(a, (8, 0)))
        with self.assertRaisesRegex(TypeError, "a has elements of type .*code 0, 32 bits"):
            xgemm.matmul(DLPack(a.astype(np.int32)), a)
        with self.assertRaisesRegex(TypeError, "a has elements of type int32"):
            xgemm.matmul(CudaArray(a.astype(np.int32)), a)
        with self.assertRaisesRegex(TypeError, "b has a mask"):
            xgemm.matmul(a, CudaArray(a, mask=a))
        with self.assertRaisesRegex(TypeError, "a has a mask"):
            xgemm.matmul(np.ma.masked_array(a, a > 0), a)
        locked = a.copy()
        locked.flags.writeable = False
        with self.assertRaisesRegex(ValueError, "out is read-only"):
            xgemm.matmul(a, a, out=CudaArray(locked))
        loose = np.frombuffer(bytearray(65), np.float32, 16, 1).reshape(4, 4)
        for wrap in (DLPack, CudaArray):
            with self.assertRaisesRegex(ValueError, f"of type {wrap.__name__}.*copied"):
                xgemm.matmul(a, wrap(loose))

    @unittest.skipIf(int(np.__version__.partition(".")[0]) < 2, "this NumPy exports what is writable alone")
    def test_read_only(self):
        a = np.ones((4, 4), np.float32)
        locked = a.copy()
        locked.flags.writeable = False
        np.testing.assert_array_equal(xgemm.matmul(DLPack(locked), DLPack(locked)), 4 * a)
        with self.assertRaisesRegex(ValueError, "out is read-only"):
            xgemm.matmul(a, a, out=DLPack(locked))
        np.testing.assert_array_equal(locked, a)

    def test_capsules_without_a_version(self):
        """As those of JAX, whose arrays never change."""
        class Unversioned(DLPack):
            def __dlpack__(self):
                return self.array.__dlpack__()

        a = np.ones((4, 4), np.float32)
        np.testing.assert_array_equal(xgemm.matmul(Unversioned(a), a), 4 * a)
        for write in (lambda x: xgemm.matmul(a, a, out=x), lambda x: xgemm.gemm(a, a, x, beta=1.0)):
            with self.assertRaisesRegex(ValueError, "is read-only"):
                write(Unversioned(a))
        np.testing.assert_array_equal(a, np.ones((4, 4), np.float32))

    def test_streams(self):
        """Those of a call are one."""
        a, out = np.ones((4, 4), np.float32), np.zeros((4, 4), np.float32)
        xgemm.matmul(CudaArray(a, stream=None), CudaArray(a, stream=1), out=CudaArray(out, stream=1))
        with self.assertRaisesRegex(ValueError, "a and out are to be used on the CUDA streams 0x0 and 0x2"):
            xgemm.matmul(CudaArray(a, stream=1), a, out=CudaArray(out, stream=2))


if __name__ == "__main__":
    support.main()
