#!/usr/bin/env python3
"""Draws products at random: the hold-out set, or another one with another seed.

    perf/shapes/draw.py > perf/shapes/holdout.txt

Extents are multiples of 8, log-uniform from 64 to 16384; flags are any of the four pairs; every tenth product reads C.
What needs more than 2^41 operations, or 1.5 GB of operands in fp16, is drawn again, and so is what was drawn before. The planner
is never fitted to the shapes of holdout.txt, so that their ratios tell what a program with shapes of its own will see.

SPDX-License-Identifier: BSD-3-Clause
"""

import argparse
import math
import random

SMALLEST, LARGEST, MULTIPLE = 64, 16384, 8
MOST_FLOPS = 2 * 2**40
MOST_BYTES = 1.5e9
FLAGS = ("NN", "NT", "TN", "TT")
BETA_EVERY = 10


def draw(seed, count):
    """`count` different (m, n, k, flags, beta). Uses random() alone: of the module's functions, its sequence is the one
    that every version of Python keeps."""
    uniform = random.Random(seed).random

    def extent():
        return MULTIPLE * round(SMALLEST * (LARGEST / SMALLEST) ** uniform() / MULTIPLE)

    shapes = {}
    while len(shapes) < count:
        m, n, k, flags = extent(), extent(), extent(), FLAGS[math.floor(uniform() * len(FLAGS))]
        if 2 * m * n * k <= MOST_FLOPS and 2 * (m * k + k * n + m * n) <= MOST_BYTES:
            shapes.setdefault((m, n, k, flags), len(shapes) % BETA_EVERY == BETA_EVERY - 1)
    return [(*shape, beta) for shape, beta in shapes.items()]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, default=12, help="of the sequence (%(default)s: the hold-out set)")
    parser.add_argument("--count", type=int, default=120, help="products to draw (%(default)s)")
    options = parser.parse_args()
    print(f"# random products that the planner is not fitted to; written by draw.py --seed {options.seed}")
    for m, n, k, flags, beta in draw(options.seed, options.count):
        print(f"{m} {n} {k} trans={flags}" + (" beta=1" if beta else ""))


if __name__ == "__main__":
    main()
