#!/usr/bin/env python3
"""A forward and backward step of one block of a Llama-like model in PyTorch, with cuBLAS alone and with
libxgemm_cublas.so in front of it: strict fp32, fp32 emulated on tensor cores, and bf16.

    torch_block.py --library libxgemm_cublas.so [--tokens 2048] [--hidden 4096] [--rounds 3]

Prints a line for each kind of numbers: the median time of a step with each, in milliseconds, over processes that take
turns, their spread, and the ratio. The choice between the two is XGEMM_CUBLAS=auto, as a user has it. Skipped (status
77) without a GPU or PyTorch.

SPDX-License-Identifier: BSD-3-Clause
"""
import argparse
import os
import statistics
import subprocess
import sys

from cli import LIBRARY_IS_LOADED, counted, preloadable

SKIPPED = 77

STEP = LIBRARY_IS_LOADED + r"""
import statistics, torch, torch.nn as nn, torch.nn.functional as F
tokens, hidden, heads, kv_heads, dtype = int(sys.argv[2]), int(sys.argv[3]), 32, 8, getattr(torch, sys.argv[4])
torch.backends.cuda.matmul.allow_tf32 = False
torch.manual_seed(0)
wide, head = hidden * 7 // 2, hidden // heads


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        linear = lambda i, o: nn.Linear(i, o, bias=False)
        self.norm1, self.norm2 = nn.RMSNorm(hidden), nn.RMSNorm(hidden)
        self.q, self.k, self.v = linear(hidden, hidden), linear(hidden, kv_heads * head), linear(hidden, kv_heads * head)
        self.o, self.gate, self.up, self.down = linear(hidden, hidden), linear(hidden, wide), linear(hidden, wide), linear(wide, hidden)

    def forward(self, x):
        y = self.norm1(x)
        q, k, v = (f(y).view(1, tokens, -1, head).transpose(1, 2) for f in (self.q, self.k, self.v))
        k, v = (t.repeat_interleave(heads // kv_heads, 1) for t in (k, v))
        x = x + self.o(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(1, tokens, hidden))
        y = self.norm2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


block = Block().to("cuda", dtype)
x = torch.randn(1, tokens, hidden, device="cuda", dtype=dtype, requires_grad=True)
gradient = torch.randn_like(x)
times = []
for step in range(14):
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    block.zero_grad(set_to_none=True)
    begin.record()
    block(x).backward(gradient)
    end.record()
    end.synchronize()
    times.append(begin.elapsed_time(end))
print(statistics.median(times[4:]))
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", required=True)
    parser.add_argument("--tokens", type=counted, default=2048)
    parser.add_argument("--hidden", type=counted, default=4096, help="a multiple of 256")
    parser.add_argument("--rounds", type=counted, default=3)
    options = parser.parse_args()
    if not os.path.isfile(options.library):
        parser.error(f"--library: '{options.library}' is no file")
    library = os.path.realpath(options.library)

    def python(program, *arguments, stderr=None, **variables):
        environment = {k: v for k, v in os.environ.items() if not k.startswith("XGEMM_") and k != "LD_PRELOAD"}
        return subprocess.run([sys.executable, "-c", program, *map(str, arguments)], env=environment | variables,
                              stdout=subprocess.PIPE, stderr=stderr, text=True, check=False)

    have = python("import torch; print(torch.__version__, torch.cuda.get_device_name())", stderr=subprocess.DEVNULL)
    if have.returncode != 0:
        print("SKIPPED: no PyTorch, or no GPU for it")
        return SKIPPED
    print(f"# PyTorch {have.stdout.strip()}, {options.tokens} tokens, hidden {options.hidden}, milliseconds a step")
    ours = {"LD_PRELOAD": preloadable(library)}
    for what, dtype, variables in (("fp32", "float32", {}), ("fp32 emulated", "float32", {"XGEMM_MATH": "fp32_emulated"}),
                                   ("bf16", "bfloat16", {})):
        times = {"cublas": [], "xgemm": []}
        for _ in range(options.rounds):
            for name, environment in (("cublas", {}), ("xgemm", ours | variables)):
                done = python(STEP, library if environment else "", options.tokens, options.hidden, dtype, **environment)
                if done.returncode != 0:
                    sys.exit(f"torch_block.py: the interpreter ended with status {done.returncode}")
                times[name].append(float(done.stdout))
        told = {name: f"{statistics.median(of):.3f} ({min(of):.3f} to {max(of):.3f})" for name, of in times.items()}
        ratio = statistics.median(times["cublas"]) / statistics.median(times["xgemm"])
        print(f"{what:14} cublas {told['cublas']}  xgemm {told['xgemm']}  {ratio:.3f} times as fast")
    return 0


if __name__ == "__main__":
    sys.exit(main())
