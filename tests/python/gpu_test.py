"""Arrays in the memory of a GPU: PyTorch's and CuPy's, their streams, and graphs. Skipped where these or a GPU are missing."""
import unittest

import numpy as np

import support
import xgemm
from support import CudaArray, DLPack

try:
    import torch

    HAS_TORCH = torch.cuda.is_available()
except ImportError:
    HAS_TORCH = False
try:
    import cupy

    HAS_CUPY = cupy.cuda.runtime.getDeviceCount() > 0
except Exception:  # an import error, or one of CUDA's
    HAS_CUPY = False


def on_host(x):
    """As NumPy, in a type that holds every other."""
    return x.double().cpu().numpy() if isinstance(x, torch.Tensor) else cupy.asnumpy(x.astype(np.float64))


@unittest.skipUnless(HAS_TORCH, "no PyTorch with a GPU")
class TorchTest(unittest.TestCase):
    def test_random_products(self):
        types = {name: getattr(torch, name) for name in ("float64", "float32", "float16", "bfloat16")}
        for seed in range(150):
            rng = np.random.default_rng(seed)
            type_name = str(rng.choice(list(types)))
            tensors = []
            for shape in support.random_shapes(rng):
                values = rng.uniform(-1, 1, shape).astype(np.float32)
                tensor = torch.from_numpy(values).to("cuda", types[type_name])
                order = [int(axis) for axis in rng.permutation(len(shape))]
                tensor = tensor.permute(order).contiguous().permute([int(i) for i in np.argsort(order)]) if shape else tensor
                tensors.append(tensor)
            with self.subTest(f"{seed} {type_name} {[(tuple(x.shape), x.stride()) for x in tensors]}"):
                a, b = tensors
                result = xgemm.matmul(a, b, dtype=support.RESULTS[type_name][-1])
                self.assertEqual("cuda", result.device.type)
                support.assert_product(result.cpu().numpy(), on_host(a), on_host(b))
                out = torch.full_like(result, float("nan"), dtype=a.dtype)
                xgemm.matmul(a, b, out=out)
                torch.testing.assert_close(out, result.to(a.dtype))

    def test_streams(self):
        """Work is enqueued where PyTorch enqueues: behind what makes the operands, before what reads the result."""
        streams = [torch.cuda.Stream() for _ in range(4)]
        results = []
        for i, stream in enumerate(streams * 8):
            with torch.cuda.stream(stream):
                a = torch.zeros(1024, 1024, device="cuda")
                torch.cuda._sleep(2_000_000)
                a += i + 1
                results.append((i + 1, xgemm.matmul(a, a)[::500, ::500] * 1))
        torch.cuda.synchronize()
        for i, result in results:
            self.assertTrue(bool((result == 1024.0 * i * i).all()))

    def test_graph(self):
        a, b = torch.randn(3, 300, 200, device="cuda").half(), torch.randn(200, 100, device="cuda").half()
        out = torch.zeros(3, 300, 100, device="cuda")
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            xgemm.matmul(a, b, out=out)
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            xgemm.matmul(a, b, out=out)
            new = xgemm.matmul(out, out.mT)
        a.copy_(torch.randn_like(a))
        graph.replay()
        support.assert_product(out.cpu().numpy(), on_host(a), on_host(b))
        torch.testing.assert_close(new, torch.matmul(out, out.mT), rtol=1e-4, atol=1e-2)

    def test_gradient_and_compiler(self):
        operators = xgemm.torch

        def loss(a, w, matmul):
            return torch.relu(matmul(a, w)).square().mean()

        for backend in ("aot_eager", "inductor"):
            compiled = torch.compile(loss, backend=backend, fullgraph=True)
            a, w = (torch.randn(*shape, device="cuda", requires_grad=True) for shape in ((4, 50, 64), (64, 32)))
            ours = torch.autograd.grad(compiled(a, w, operators.matmul), (a, w))
            theirs = torch.autograd.grad(loss(a, w, torch.matmul), (a, w))
            for x, y in zip(ours, theirs):
                torch.testing.assert_close(x, y)

    def test_autocast(self):
        a, w = torch.randn(8, 16, device="cuda"), torch.randn(16, 8, device="cuda", requires_grad=True)
        with torch.autocast("cuda", torch.bfloat16):
            result = xgemm.matmul(a, w)
        self.assertEqual(torch.bfloat16, result.dtype)
        result.float().sum().backward()
        self.assertEqual(torch.float32, w.grad.dtype)

    def test_host_and_device(self):
        a, b = np.ones((300, 200), np.float32), torch.ones(200, 100, device="cuda")
        result = xgemm.matmul(a, b)
        self.assertIs(np.ndarray, type(result))
        self.assertTrue(np.all(result == 200))
        self.assertEqual("cuda", xgemm.matmul(b.mT, a.T).device.type)

    def test_other_protocols(self):
        a, b = torch.randn(40, 30, device="cuda"), torch.randn(30, 20, device="cuda")
        for wrap in (CudaArray, DLPack):
            out = torch.zeros(40, 20, device="cuda")
            is_writable = wrap is CudaArray or DLPack(out).says_that_it_is_writable()
            xgemm.matmul(wrap(a), wrap(b), out=wrap(out) if is_writable else out)
            support.assert_product(out.cpu().numpy(), on_host(a), on_host(b))
            with self.assertRaisesRegex(TypeError, "out is required"):
                xgemm.matmul(wrap(a), b)


@unittest.skipUnless(HAS_CUPY, "no CuPy with a GPU")
class CuPyTest(unittest.TestCase):
    def test_products(self):
        for type_ in (cupy.float64, cupy.float32, cupy.float16):
            x = cupy.random.uniform(-1, 1, (3, 20, 30)).astype(type_)
            for a, b in ((x, x.transpose(0, 2, 1)), (x[:, ::2, ::3], x[0].T[::3]), (x, x[0, 0]), (cupy.asfortranarray(x[1]), x[2].T)):
                result = xgemm.matmul(a, b)
                self.assertIs(cupy.ndarray, type(result))
                self.assertEqual(type_, result.dtype)
                support.assert_product(cupy.asnumpy(result), on_host(a), on_host(b))
                out = cupy.full(result.shape, np.nan, support.RESULTS[result.dtype.name][-1])
                self.assertIs(out, xgemm.matmul(a, b, out=out))
                support.assert_product(cupy.asnumpy(out), on_host(a), on_host(b))

    def test_stream(self):
        with cupy.cuda.Stream(non_blocking=True) as stream:
            a = cupy.ones((500, 500), cupy.float32)
            for _ in range(50):
                a = xgemm.matmul(a, a) / 500
            stream.synchronize()
            self.assertTrue(bool((a == 1).all()))
        if HAS_TORCH:
            with cupy.cuda.Stream(non_blocking=True):
                with self.assertRaisesRegex(ValueError, "a and b are to be used on the CUDA streams"):
                    xgemm.matmul(cupy.ones((4, 4), cupy.float32), torch.ones(4, 4, device="cuda"))
            self.assertIs(cupy.ndarray, type(xgemm.matmul(cupy.ones((4, 4), cupy.float32), torch.ones(4, 4, device="cuda"))))


if __name__ == "__main__":
    support.main()
