#!/usr/bin/env python3
"""PyTorch and CuPy with libxgemm_cublas.so in front of their cuBLAS: products of all kinds against float64, a small
transformer that learns as with cuBLAS alone, graphs, streams, threads, and how much was served. Skipped without a GPU or
PyTorch.

    cublas_clients.py --library libxgemm_cublas.so
"""
import argparse
import os
import re
import subprocess
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "perf"))
from cli import preloadable  # noqa: E402

SKIPPED = 77

PRODUCTS = r"""
import itertools, threading, torch
torch.manual_seed(1)
torch.backends.cuda.matmul.allow_tf32 = False
torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
BOUND = {torch.float32: 4e-6, torch.float16: 1e-3, torch.bfloat16: 8e-3}
checked = 0


def check(what, function, *tensors):
    global checked
    checked += 1
    got, want = function(*tensors), function(*(t.double() for t in tensors))
    error = ((got.double() - want).norm() / want.norm().clamp_min(1e-30)).item()
    assert error <= BOUND[tensors[0].dtype], (what, tensors[0].dtype, [tuple(t.shape) for t in tensors], error)


def strided(shape, dtype, transposed):
    t = torch.randn(*shape[:-2], *((shape[-1], shape[-2]) if transposed else shape[-2:]), device="cuda", dtype=dtype)
    return t.transpose(-1, -2) if transposed else t


for dtype, ta, tb in itertools.product(BOUND, (False, True), (False, True)):
    for m, n, k in [(1, 1, 1), (7, 5, 3), (64, 96, 128), (129, 257, 65), (512, 8, 1024), (1, 300, 200), (200, 1, 300), (384, 384, 384)]:
        a, b, c = strided((m, k), dtype, ta), strided((k, n), dtype, tb), torch.randn(m, n, device="cuda", dtype=dtype)
        check("mm", torch.mm, a, b)
        check("mm of a view", lambda x, y: x[:, :-1] @ y[:-1] if x.shape[1] > 1 else x @ y, a, b)
        check("addmm", lambda x, y, z: torch.addmm(x, y, z, beta=0.5, alpha=2), c, a, b)
        check("addmm with a bias", torch.addmm, c[0], a, b)
        check("linear", torch.nn.functional.linear, a, b.t())
        check("mv", torch.mv, a, b[:, 0])
    for batch, m, n, k in [(3, 64, 64, 64), (8, 128, 200, 72), (5, 1, 77, 128), (2, 33, 31, 29)]:
        a, b = strided((batch, m, k), dtype, ta), strided((batch, k, n), dtype, tb)
        c = torch.randn(batch, m, n, device="cuda", dtype=dtype)
        check("bmm", torch.bmm, a, b)
        check("baddbmm", lambda x, y, z: torch.baddbmm(x, y, z, beta=-1, alpha=0.5), c, a, b)
        check("matmul with one B", torch.matmul, a, b[0])
        check("einsum", lambda x, y: torch.einsum("bik,bkj->bij", x, y), a, b)
        check("expanded", lambda x, y: torch.matmul(x[:1].expand_as(x), y), a, b)

a, b = (torch.randn(300, 300, device="cuda") for _ in range(2))
want = a @ b
wrong = []


def work():
    with torch.cuda.stream(torch.cuda.Stream()):
        torch.cuda.current_stream().wait_stream(torch.cuda.default_stream())
        for _ in range(50):
            if not torch.equal(a @ b, want):
                wrong.append(1)


threads = [threading.Thread(target=work) for _ in range(4)]
for t in threads: t.start()
for t in threads: t.join()
assert not wrong, "threads"
print("checked", checked)
"""

TRAINING = r"""
import torch, torch.nn as nn, torch.nn.functional as F
torch.backends.cuda.matmul.allow_tf32 = False
D, HEADS, BATCH, TOKENS, WORDS = 256, 4, 8, 128, 1024


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(D), nn.LayerNorm(D)
        self.qkv, self.out = nn.Linear(D, 3 * D, bias=False), nn.Linear(D, D, bias=False)
        self.up, self.down = nn.Linear(D, 4 * D, bias=False), nn.Linear(4 * D, D)

    def forward(self, x):
        q, k, v = self.qkv(self.norm1(x)).view(BATCH, TOKENS, 3, HEADS, D // HEADS).permute(2, 0, 3, 1, 4)
        p = torch.softmax(q @ k.transpose(-1, -2) / 8, -1)
        x = x + self.out((p @ v).transpose(1, 2).reshape(BATCH, TOKENS, D))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


for cast in (None, torch.bfloat16):
    torch.manual_seed(0)
    net = nn.Sequential(nn.Embedding(WORDS, D), Block(), Block(), nn.Linear(D, WORDS, bias=False)).cuda()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.2)
    x = torch.randint(0, WORDS, (BATCH, TOKENS), device="cuda")
    y = torch.roll(x, 1, 1)

    def step():
        optimizer.zero_grad(set_to_none=False)
        with torch.autocast("cuda", dtype=cast or torch.float32, enabled=cast is not None):
            loss = F.cross_entropy(net(x).view(-1, WORDS).float(), y.view(-1))
        loss.backward()
        optimizer.step()
        return loss

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        losses = [step().item() for _ in range(5)]
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step()
    for _ in range(200):
        graph.replay()
        losses.append(loss.item())
    assert losses[-1] < 0.9 * losses[0]
    print("losses", *losses[::10])
"""

CUPY = r"""
import cupy, numpy
a = numpy.random.default_rng(1).standard_normal((300, 200), numpy.float32)
product = cupy.asnumpy(cupy.asarray(a) @ cupy.asarray(a).T)
assert numpy.abs(product - a.astype(float) @ a.T.astype(float)).max() < 1e-3
print("right")
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--library", required=True)
    library = os.path.realpath(parser.parse_args().library)

    def python(program, **variables):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("XGEMM_")}
        environment.update(variables, LD_PRELOAD=preloadable(library))
        return subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=500,
                              check=False)

    def must(done):
        if done.returncode != 0:
            sys.exit(f"status {done.returncode}\n{done.stdout}\n{done.stderr[-4000:]}")
        return done.stdout

    if python("import torch; assert torch.cuda.is_available()").returncode != 0:
        print("SKIPPED: no PyTorch, or no GPU for it")
        return SKIPPED

    counted = python(PRODUCTS, XGEMM_CUBLAS="always", XGEMM_VERBOSE="summary")
    print(must(counted).strip())
    served = re.search(r"cuBLAS products of process .*: (\d+), .* libxgemm served (\d+), ", counted.stderr)
    print("of", served[1], "products", served[2], "were served")
    if not int(served[2]) > 0.95 * int(served[1]):
        sys.exit(counted.stderr)

    curves, reference = ([[float(x) for x in line.split()[1:]] for line in must(python(TRAINING, XGEMM_CUBLAS=mode)).splitlines()]
                         for mode in ("always", "never"))
    for ours, theirs in zip(curves, reference):
        apart = max(abs(x - y) / y for x, y in zip(ours, theirs))
        print(f"losses from {ours[0]:.4f} to {ours[-1]:.4f}, at most {apart:.1e} from those with cuBLAS alone")
        if not apart <= 0.02:
            sys.exit(f"{ours}\n{theirs}")

    done = python(CUPY, XGEMM_CUBLAS="always", XGEMM_VERBOSE="1")
    if "No module named 'cupy'" in done.stderr:
        return 0
    print("CuPy:", must(done).strip())
    if "by=libxgemm" not in done.stderr:
        sys.exit(done.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
