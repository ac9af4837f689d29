"""Tensors of PyTorch on the CPU, and the operator xgemm::matmul. Skipped where PyTorch is not installed."""
import unittest

import numpy as np

import support
import xgemm

try:
    import torch
except ImportError:
    torch = None


def exact_bound(a, b, type_):
    """A bound on the error of torch.matmul and ours together."""
    eps = {torch.float32: 2.0**-24, torch.float16: 2.0**-10, torch.bfloat16: 2.0**-7}[type_]
    return 4 * (a.shape[-1] + 4) * eps * torch.matmul(a.abs().double(), b.abs().double()) + 2.0**-24


@unittest.skipIf(torch is None, "PyTorch is not installed")
class TensorTest(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(1)

    def assert_near(self, result, a, b):
        self.assertIs(torch.Tensor, type(result))
        error = (result.double() - torch.matmul(a.double(), b.double())).abs()
        self.assertTrue(bool((error <= exact_bound(a, b, a.dtype)).all()))

    def test_products(self):
        x = torch.randn(3, 1, 5, 8)
        for type_ in (torch.float32, torch.float16, torch.bfloat16):
            y = x.to(type_)
            for a, b in ((y, y.mT), (y[0, 0], y[1, 0].mT), (y, y[0, 0, 2]), (y[0, 0, :, ::2], y[2, 0, :, 1::2].mT),
                         (y.expand(3, 4, 5, 8), y[0, 0].mT), (y.imag if y.is_complex() else y, y.mT.contiguous())):
                result = xgemm.matmul(a, b)
                self.assertEqual(type_, result.dtype)
                self.assert_near(result, a, b)
                out = torch.full(result.shape, float("nan"), dtype=torch.float32)
                self.assertIs(out, xgemm.matmul(a, b, out=out))
                self.assert_near(out, a, b)
        self.assertEqual(torch.float32, xgemm.matmul(y, y.mT, dtype=torch.float32).dtype)

    def test_with_numpy(self):
        a, b = torch.randn(4, 5), np.ones((5, 3), np.float32)
        self.assertIs(torch.Tensor, type(xgemm.matmul(a, b)))
        self.assertIs(np.ndarray, type(xgemm.matmul(b.T, a.T)))

    def test_not_aligned(self):
        loose = torch.frombuffer(bytearray(25), dtype=torch.float32, offset=1, count=6).view(2, 3)
        loose.fill_(2)
        self.assert_near(xgemm.matmul(loose, torch.ones(3, 4)), loose, torch.ones(3, 4))

    def test_negative_bit(self):
        z = torch.complex(torch.randn(4, 4), torch.randn(4, 4))
        a = z.conj().imag
        self.assertTrue(a.is_neg())
        self.assert_near(xgemm.matmul(a, a), a, a)
        out = torch.complex(torch.zeros(4, 4), torch.zeros(4, 4)).conj().imag
        xgemm.matmul(a, a, out=out)
        self.assert_near(out.resolve_neg(), a, a)

    def test_refused(self):
        a = torch.randn(4, 4)
        for kind, pattern, b in ((TypeError, "b has the layout torch.sparse_coo", a.to_sparse()),
                                 (TypeError, "b has .* on meta", a.to("meta")),
                                 (TypeError, "b has elements of type int32", a.int())):
            with self.assertRaisesRegex(kind, pattern):
                xgemm.matmul(a, b)
        b = torch.randn(4, 4, requires_grad=True)
        with self.assertRaisesRegex(ValueError, "requires a gradient, but gemm"):
            xgemm.gemm(a, b)
        with self.assertRaisesRegex(ValueError, "requires a gradient, but what is written to out"):
            xgemm.matmul(a, b, out=a.clone())
        with self.assertRaisesRegex(ValueError, "out requires a gradient"):
            xgemm.matmul(a, a, out=b)
        with torch.no_grad():
            xgemm.gemm(a, b, b.clone())

    def test_what_was_written_is_known(self):
        a = torch.randn(4, 4)
        x = torch.randn(4, 4, requires_grad=True)
        y = x * a  # keeps a for the gradient
        xgemm.matmul(a, a, out=a)
        with self.assertRaisesRegex(RuntimeError, "modified by an inplace operation"):
            y.sum().backward()


@unittest.skipIf(torch is None, "PyTorch is not installed")
class OperatorTest(unittest.TestCase):
    shapes = (((5, 7), (7, 4)), ((2, 3, 5, 7), (3, 7, 4)), ((2, 3, 5, 7), (7, 4)), ((7,), (7, 4)), ((2, 5, 7), (7,)), ((7,), (7,)),
              ((7,), (2, 7, 3)), ((5, 7), (2, 7, 3)), ((3, 0, 7), (7, 4)), ((2, 5, 0), (0, 4)))

    def assert_close(self, x, y):
        self.assertEqual(x.shape, y.shape)
        self.assertTrue(torch.allclose(x, y, rtol=1e-5, atol=1e-5))

    def test_gradients(self):
        torch.manual_seed(2)
        for shape_a, shape_b in self.shapes:
            with self.subTest(f"{shape_a} {shape_b}"):
                a, b = torch.randn(shape_a, requires_grad=True), torch.randn(shape_b, requires_grad=True)
                ours, theirs = xgemm.matmul(a, b, alpha=0.5), 0.5 * torch.matmul(a, b)
                self.assert_close(ours, theirs)
                grad = torch.randn_like(theirs).requires_grad_()
                firsts = [torch.autograd.grad(x, (a, b), grad, create_graph=True) for x in (ours, theirs)]
                for x, y in zip(*firsts):
                    self.assert_close(x, y)
                seconds = [torch.autograd.grad((x.square().sum() + y.square().sum()), (a, b, grad)) for x, y in firsts]
                for x, y in zip(*seconds):
                    self.assert_close(x, y)

    def test_gradients_in_double(self):
        """Against differences of values, of the first and the second order."""
        torch.manual_seed(3)
        for shape_a, shape_b in (((3, 4), (4, 2)), ((2, 1, 2, 3), (2, 3, 2)), ((3,), (2, 3, 2)), ((2, 2, 3), (3,))):
            inputs = [torch.randn(shape, dtype=torch.float64, requires_grad=True) for shape in (shape_a, shape_b)]
            self.assertTrue(torch.autograd.gradcheck(xgemm.matmul, inputs, check_forward_ad=True))
            self.assertTrue(torch.autograd.gradgradcheck(xgemm.matmul, inputs, check_fwd_over_rev=True))

    def test_forward_mode(self):
        forward = torch.autograd.forward_ad
        (a, of_a), (b, of_b) = ((torch.randn(shape), torch.randn(shape)) for shape in ((5, 7), (2, 7, 4)))
        with forward.dual_level():
            for x, y, tangent in ((forward.make_dual(a, of_a), b, of_a @ b), (a, forward.make_dual(b, of_b), a @ of_b),
                                  (forward.make_dual(a, of_a), forward.make_dual(b, of_b), of_a @ b + a @ of_b)):
                for grad_is_on in (True, False):
                    with torch.set_grad_enabled(grad_is_on):
                        result = forward.unpack_dual(xgemm.matmul(x, y, alpha=2.0))
                    self.assert_close(result.primal, 2 * (a @ b))
                    self.assert_close(result.tangent, 2 * tangent)
            with self.assertRaisesRegex(ValueError, "what is written to out has none"):
                xgemm.matmul(forward.make_dual(a, of_a), b, out=torch.empty(2, 5, 4))

    def test_transforms(self):
        """Of torch.func: what they make of a product is what they make of PyTorch's."""
        func = torch.func
        a, b, many = torch.randn(5, 7), torch.randn(7, 4), torch.randn(3, 5, 7)
        for name, transformed in {
                "grad": lambda product: func.grad(lambda x: product(x, b).square().sum())(a),
                "jvp": lambda product: func.jvp(product, (a, b), (a + 1, b - 1))[1],
                "jacrev": lambda product: func.jacrev(lambda x: product(a, x))(b),
                "jacfwd": lambda product: func.jacfwd(lambda x: product(a, x))(b),
                "hessian": lambda product: func.hessian(lambda x: product(x, b).square().sum())(a),
                "vmap": lambda product: func.vmap(product, in_dims=(0, None))(many, b),
                "vmap of both": lambda product: func.vmap(product, in_dims=(1, 2))(many, torch.ones(2, 7, 5, 3)),
                "a gradient for each": lambda product: func.vmap(func.grad(lambda y, x: product(x, y).square().sum()),
                                                                 in_dims=(None, 0))(b, many)}.items():
            with self.subTest(name):
                for product in (xgemm.matmul, xgemm.torch.matmul):
                    self.assertTrue(torch.allclose(transformed(product), transformed(torch.matmul), rtol=1e-4, atol=1e-4))

    def test_bias_and_activation(self):
        """With a gradient by PyTorch's operations, without one in the library: the same within rounding."""
        a, b = torch.randn(2, 3, 5, requires_grad=True), torch.randn(5, 4)
        bias = torch.randn(4)
        for activation in (None, *xgemm.ACTIVATIONS):
            with_gradient = xgemm.matmul(a, b, bias=bias, activation=activation)
            without = xgemm.matmul(a.detach(), b, bias=bias, activation=activation)
            self.assertTrue(with_gradient.requires_grad and not without.requires_grad)
            self.assertTrue(torch.allclose(with_gradient.detach(), without, atol=1e-6), activation)
        bias.requires_grad_()
        xgemm.matmul(a.detach(), b, bias=bias).sum().backward()
        self.assertTrue(torch.equal(torch.full((4,), 6.0), bias.grad))

    def test_in_a_mix(self):
        for others in (lambda x: x.numpy(), lambda x: x.flip(0).numpy()[::-1], support.DLPack):
            a, b, bias = (torch.randn(*shape, requires_grad=True) for shape in ((2, 3), (3, 4), (4,)))
            expected = torch.matmul(a, b) + bias
            for x, y, z in ((others(a.detach()), b, bias), (a, others(b.detach()), bias), (a, b, others(bias.detach()))):
                result = xgemm.matmul(x, y, bias=z)
                torch.testing.assert_close(result, expected)
                result.sum().backward()

    def test_types_and_factors(self):
        a, b = torch.ones(2, 3, dtype=torch.float16, requires_grad=True), torch.ones(3, 4, dtype=torch.float16)
        for dtype in (np.float32, torch.float32, "float32", "torch.float32"):
            self.assertEqual(torch.float32, xgemm.matmul(a, b, dtype=dtype).dtype)
        with self.assertRaisesRegex(TypeError, "dtype is .*x"):
            xgemm.matmul(a, b, dtype="x")
        for alpha in ("2", None, 1j):
            with self.assertRaisesRegex(TypeError, "alpha is .*, but a real number is required"):
                xgemm.matmul(a, b, alpha=alpha)
        with self.assertRaisesRegex(ValueError, "alpha requires a gradient"):
            xgemm.matmul(a, b, alpha=torch.tensor(2.0, requires_grad=True))

    def test_only_what_is_asked_for(self):
        a, b = torch.randn(3, 4), torch.randn(4, 5, requires_grad=True)
        xgemm.matmul(a, b).sum().backward()
        self.assertIsNone(a.grad)
        self.assert_close(b.grad, a.sum(0)[:, None].expand(4, 5))

    def test_is_a_proper_operator(self):
        for shape_a, shape_b in (self.shapes[0], self.shapes[1], self.shapes[7]):
            a, b = torch.randn(shape_a, requires_grad=True), torch.randn(shape_b, requires_grad=True)
            xgemm.torch  # registers it
            torch.library.opcheck(torch.ops.xgemm.matmul.default, (a, b, torch.float32, 2.0, None))

    def test_compiled(self):
        """As one graph. Without the code generator of PyTorch, which compiles for minutes on a slow machine."""
        operators = xgemm.torch
        torch._dynamo.reset()

        @torch.compile(backend="aot_eager", fullgraph=True)
        def compiled(a, b):
            return torch.relu(operators.matmul(a, b, alpha=2.0)).sum()

        for shape_a, shape_b in self.shapes[:6]:
            a, b = torch.randn(shape_a, requires_grad=True), torch.randn(shape_b, requires_grad=True)
            gradients = []
            for value in (compiled(a, b), torch.relu(2 * torch.matmul(a, b)).sum()):
                gradients.append(torch.autograd.grad(value, (a, b)))
            for x, y in zip(*gradients):
                self.assert_close(x, y)

    def test_autocast(self):
        a, b = torch.randn(3, 4, requires_grad=True), torch.randn(4, 5, requires_grad=True)
        with torch.autocast("cpu", torch.bfloat16):
            result = xgemm.matmul(a, b)
        self.assertEqual(torch.bfloat16, result.dtype)
        result.float().sum().backward()
        self.assertEqual(torch.float32, a.grad.dtype)
        with torch.autocast("cpu", torch.bfloat16):
            self.assertEqual(torch.float64, xgemm.matmul(a.double(), b.double()).dtype)
            self.assertEqual(torch.float32, xgemm.matmul(a, b, dtype=torch.float32).dtype)

    def test_float32_result_of_16_bits(self):
        a, b = (torch.randn(4, 4).bfloat16().requires_grad_() for _ in range(2))
        result = xgemm.matmul(a, b, dtype=torch.float32)
        self.assertEqual(torch.float32, result.dtype)
        result.sum().backward()
        self.assertEqual(torch.bfloat16, a.grad.dtype)

    def test_refused(self):
        a = torch.randn(3, 4, requires_grad=True)
        with self.assertRaisesRegex(ValueError, r"a has the shape \(3, 4\) and b the shape \(3, 4\)"):
            xgemm.matmul(a, a)
        b, bias = torch.randn(4, 5), torch.randn(5)
        for b, bias, kind, pattern in ((b, b[0, :4], ValueError, r"bias has the shape \(4,\), but \(5,\)"),
                                       (b, bias.expand(3, 5), ValueError, r"bias has the shape \(3, 5\)"),
                                       (b[:, 0], bias[:1], ValueError, "b is a vector, but a bias"),
                                       (b, bias.double(), TypeError, "bias has elements of type .*float64")):
            for product in (xgemm.matmul, xgemm.torch.matmul):
                with self.assertRaisesRegex(kind, pattern):
                    product(a, b, bias=bias)
        with self.assertRaisesRegex(TypeError, "of type float32 and b of type float16"):
            xgemm.matmul(a, torch.randn(4, 4).half())


if __name__ == "__main__":
    support.main()
