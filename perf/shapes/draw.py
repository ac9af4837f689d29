#!/usr/bin/env python3
"""Draws products at random: the hold-out set, or another one with another seed.

    perf/shapes/draw.py > perf/shapes/holdout.txt
    perf/shapes/draw.py --wild > perf/shapes/wild.txt

Extents are multiples of 8, log-uniform from 64 to 16384; flags are any of the four pairs; every tenth product reads C.
What needs more than 2^41 operations, or 1.5 GB of operands in fp16, is drawn again, and so is what was drawn before.

Wild ones are small, thin, shallow and misaligned: no, one or two extents are anything from 1 to 64, the others anything
from 16 to 12000, or multiples of 2, 4 or 8, and lines may be padded by 1 or 3 elements. They need at most 2^37 operations.

The planner is never fitted to the shapes of holdout.txt and wild.txt, so that their ratios tell what a program with
shapes of its own will see.

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
WILD_LARGEST, WILD_FLOPS, WILD_BYTES = 12000, 2**37, 3e8


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


def draw_wild(seed, count):
    """`count` different (m, n, k, flags, beta, pad, batch); as draw()."""
    uniform = random.Random(seed).random

    def choice(options):
        return options[math.floor(uniform() * len(options))]

    def extent(smallest, largest, multiple):
        drawn = smallest * (largest / smallest) ** uniform()
        return max(smallest, round(drawn / multiple) * multiple)

    shapes = {}
    while len(shapes) < count:
        multiple, small = choice((1, 1, 2, 4, 8)), choice(("",) * 4 + ("m", "n", "k") * 2 + ("mn", "mk", "nk"))
        m, n, k = (extent(1, 64, 1) if axis in small else extent(16, WILD_LARGEST, multiple) for axis in "mnk")
        flags, beta, pad = choice(FLAGS), uniform() < 0.15, choice((0, 0, 0, 1, 3))
        batch = extent(2, 1000, 1) if uniform() < 0.15 else 1
        if 2 * m * n * k * batch <= WILD_FLOPS and 2 * (m * k + k * n + m * n) * batch <= WILD_BYTES:
            shapes[m, n, k, flags] = (beta, pad, batch)
    return [(*shape, *rest) for shape, rest in shapes.items()]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, default=12, help="of the sequence (%(default)s: the hold-out set)")
    parser.add_argument("--count", type=int, default=120, help="products to draw (%(default)s)")
    parser.add_argument("--wild", action="store_true", help="small, thin, shallow, misaligned ones")
    options = parser.parse_args()
    print(
        "# random products that the planner is not fitted to; written by draw.py"
        + f" --seed {options.seed}" + f" --count {options.count}" * (options.count != 120) + " --wild" * options.wild
    )
    if options.wild:
        for m, n, k, flags, beta, pad, batch in draw_wild(options.seed, options.count):
            print(
                f"{m} {n} {k} trans={flags}" + " beta=1" * beta + f" pad={pad}" * (pad > 0)
                + f" batch={batch}" * (batch > 1)
            )
        return
    for m, n, k, flags, beta in draw(options.seed, options.count):
        print(f"{m} {n} {k} trans={flags}" + (" beta=1" if beta else ""))


if __name__ == "__main__":
    main()
