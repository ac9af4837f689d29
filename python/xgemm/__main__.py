"""python -m xgemm bench | run: measures, or runs a program with libxgemm in front of its BLAS or cuBLAS."""
from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from typing import Any, Callable

import xgemm

from ._library import ELEMENT_TYPES, PATH

USAGE = """usage: python -m xgemm bench [--device cpu|cuda] [--type TYPE] [SHAPE...]
       python -m xgemm run [OPTION...] SCRIPT [ARGUMENT...]
       python -m xgemm --version

bench  times xgemm.matmul beside PyTorch's on a GPU, or NumPy's on the CPU. A SHAPE is M:N:K, or one number for all three.
run    runs a Python program (a script, or -m MODULE, or -c TEXT) by xgemm-run, in front of its BLAS; --report tells at the
       end what was served, --cublas goes in front of its cuBLAS. `run --help` lists the options.
"""


_WITH_VALUES = (["--library"], ["--cublas-library"])  # of xgemm-run: the next word is theirs


def run(arguments: list[str]) -> int:
    from . import _run  # tools/xgemm-run, installed with the package

    options: list[str] = []
    while arguments and (arguments[0].startswith("--") or arguments[0] == "-h" or options[-1:] in _WITH_VALUES):
        options.append(arguments.pop(0))
    program = [sys.executable, *arguments] if arguments else []
    own = ["--library", PATH]
    if "XGEMM_LIBRARY" in os.environ:  # and with it the other library of its folder
        own += ["--cublas-library", os.path.join(os.path.dirname(PATH), "libxgemm_cublas.so.0")]
    sys.argv = ["xgemm-run", *own, *options, *program]
    return _run.main()


def _on_gpu(type_name: str) -> tuple[Callable, Callable, Callable]:
    import torch

    def operand(*shape: int) -> Any:
        return torch.randn(shape, device="cuda").to(getattr(torch, type_name))

    def microseconds(product: Callable, count: int) -> float:
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        for _ in range(count):
            product()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) * 1e3 / count

    return operand, torch.matmul, microseconds


def _on_cpu(type_name: str) -> tuple[Callable, Callable, Callable]:
    import numpy

    if type_name == "bfloat16":
        sys.exit("bench: NumPy has no products in bfloat16 to compare with")
    generator = numpy.random.default_rng(1)

    def operand(*shape: int) -> Any:
        return generator.standard_normal(shape).astype(type_name)

    def microseconds(product: Callable, count: int) -> float:
        begin = time.perf_counter()
        for _ in range(count):
            product()
        return (time.perf_counter() - begin) * 1e6 / count

    return operand, numpy.matmul, microseconds


def _has_gpu() -> bool:
    try:
        import torch
    except ImportError:
        return False
    return torch.cuda.is_available()


def bench(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser("python -m xgemm bench")
    parser.add_argument("--device", choices=("cpu", "cuda"), default=None)
    parser.add_argument("--type", choices=tuple(ELEMENT_TYPES), default="float32")
    parser.add_argument("shapes", nargs="*", metavar="SHAPE", default=["128", "256", "512", "1024", "2048"])
    options = parser.parse_args(arguments)
    shapes = []
    for text in options.shapes:
        numbers = [int(part) if part.isdecimal() else 0 for part in text.split(":")]
        if len(numbers) not in (1, 3) or 0 in numbers:
            parser.error(f"{text} is no shape: M:N:K, or one number for all three, is required")
        shapes.append(numbers * (3 // len(numbers)))

    on_gpu = options.device == "cuda" or (options.device is None and _has_gpu())
    if on_gpu and not _has_gpu():
        parser.error("--device cuda needs PyTorch with CUDA, and a GPU")
    operand, theirs, microseconds = (_on_gpu if on_gpu else _on_cpu)(options.type)
    name = "torch" if on_gpu else "numpy"
    rate, flops_per_us = ("TFLOP/s", 1e6) if on_gpu else ("GFLOP/s", 1e3)
    print(f"{'m:n:k':>18}  {'xgemm us':>10}  {name + ' us':>10}  {rate:>8}  {name + '/xgemm':>11}")
    for m, n, k in shapes:
        a, b = operand(m, k), operand(k, n)
        products = [lambda a=a, b=b: xgemm.matmul(a, b), lambda a=a, b=b: theirs(a, b)]
        rounds: list[list[float]] = [[], []]
        counts = [max(1, int(2e4 / max(microseconds(product, 3), 1.0))) for product in products]  # some 20 ms
        for _ in range(9):
            for product, count, times in zip(products, counts, rounds):
                times.append(microseconds(product, count))
        ours, other = (statistics.median(times) for times in rounds)
        shape = f"{m}:{n}:{k}"
        print(f"{shape:>18}  {ours:10.1f}  {other:10.1f}  {2 * m * n * k / flops_per_us / ours:8.2f}  {other / ours:11.2f}", flush=True)
    return 0


def main() -> int:
    command, arguments = (sys.argv[1] if len(sys.argv) > 1 else ""), sys.argv[2:]
    if command == "bench":
        return bench(arguments)
    if command == "run":
        return run(arguments)
    if command == "--version":
        print(f"xgemm {xgemm.__version__}")
        return 0
    print(USAGE, end="", file=sys.stdout if command in ("-h", "--help") else sys.stderr)
    return 0 if command in ("-h", "--help") else 2


if __name__ == "__main__":
    sys.exit(main())
