#!/usr/bin/env python3
"""Times products of an unchanged NumPy with libxgemm preloaded beside the same NumPy on its own BLAS.

    perf/numpy_bench.py --library build/release/src/libxgemm.so.0 --json numpy.json --svg numpy.svg

Two processes of the same interpreter take turns, so that clocks and neighbours meet both alike; one has libxgemm preloaded.
Operands are N(0,1) arrays in ordinary memory. What counts is the median of the ratios of times within rounds. The first
product of each size is not timed: threads and devices start with it. Ours begins after a rest: for a tenth of a second
after a product the threads of the other process's OpenBLAS keep all cores busy looking for the next one.

SPDX-License-Identifier: BSD-3-Clause
"""

import argparse
import importlib.util
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import time

from cli import LIBRARY_IS_LOADED, InputError, counted, in_words, preloadable, read_json

WORKER = LIBRARY_IS_LOADED + """
import json, time
import numpy as np
made = {}
for line in sys.stdin:
    kind, expression, n = json.loads(line)
    if (kind, n) not in made:
        made.clear()
        random = np.random.default_rng(n)
        made[kind, n] = [random.standard_normal((n, n)).astype(kind) for _ in "ab"]
    a, b = made[kind, n]
    start = time.perf_counter()
    c = a @ b if expression == "a @ b" else a.T @ a
    seconds = time.perf_counter() - start
    print(json.dumps([seconds, float(c[0, 0]), np.__version__]), flush=True)
"""
TYPES = {"float32": "fp32", "float64": "fp64"}


class Worker:
    """An interpreter that computes what it is asked for, and says how long it took."""

    def __init__(self, preload=None):
        environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
        environment |= {"LD_PRELOAD": preloadable(preload)} if preload else {}
        self.process = subprocess.Popen([sys.executable, "-c", WORKER, str(preload or "")], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, env=environment)

    def ask(self, kind, expression, n):
        try:
            print(json.dumps([kind, expression, n]), file=self.process.stdin, flush=True)
        except BrokenPipeError:
            pass
        answer = self.process.stdout.readline()
        if not answer:
            raise InputError(f"the interpreter ended with status {self.process.wait()}")
        return json.loads(answer)

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def measure(ours, plain, kind, expression, n, rounds, rest):
    first = [worker.ask(kind, expression, n) for worker in (ours, plain)]
    difference = abs(first[0][1] - first[1][1]) / n**0.5
    if not difference < {"float32": 1e-4, "float64": 1e-12}[kind]:
        raise InputError(f"{kind} {expression} of {n}: {first[0][1]} and {first[1][1]} differ")
    times = []
    for i in range(rounds):
        order = (ours, plain) if i % 2 else (plain, ours)
        seconds = {}
        for worker in order:
            if worker is ours:
                time.sleep(rest)
            seconds[worker] = worker.ask(kind, expression, n)[0]
        times.append((seconds[ours], seconds[plain]))
    ratios = sorted(theirs / mine for mine, theirs in times)
    return {"type": kind, "product": expression, "n": n, "rounds": rounds,
            "xgemm_ms": 1e3 * statistics.median(mine for mine, _ in times),
            "plain_ms": 1e3 * statistics.median(theirs for _, theirs in times),
            "ratio": statistics.median(ratios), "ratio_low": ratios[0], "ratio_high": ratios[-1]}


def draw(rows, path):
    """Times over sizes, ours and those of NumPy's own BLAS, for each type."""
    import matplotlib.pyplot as plt

    import figures

    with plt.rc_context(figures.STYLE):
        kinds = [kind for kind in TYPES if any(row["type"] == kind for row in rows)]
        figure, axes = plt.subplots(1, len(kinds), figsize=(4.6 * len(kinds), 3.0), squeeze=False)
        for kind, axis in zip(kinds, axes[0]):
            mine = [row for row in rows if row["type"] == kind and row["product"] == "a @ b"]
            sizes = [row["n"] for row in mine]
            axis.plot(sizes, [row["plain_ms"] for row in mine], marker="o", color=figures.REFERENCE, label="its own OpenBLAS")
            axis.plot(sizes, [row["xgemm_ms"] for row in mine], marker="o", color=figures.OURS, label="libxgemm preloaded")
            for row in mine:
                axis.annotate(f"{row['ratio']:.1f}×", (row["n"], row["xgemm_ms"]), textcoords="offset points", xytext=(4, -12),
                              fontsize=8)
            axis.set_xscale("log", base=2)
            axis.set_yscale("log")
            axis.set_xticks(sizes, [str(n) for n in sizes])
            axis.set_title(f"a @ b in NumPy, {TYPES[kind]}")
            axis.set_xlabel("n")
            axis.legend(fontsize=8)
        axes[0][0].set_ylabel("ms")
        pathlib.Path(path).write_text(figures.svg(figure, "numpy"), encoding="utf-8")


def need_matplotlib():
    if importlib.util.find_spec("matplotlib") is None:
        raise InputError("--svg needs matplotlib (Debian: python3-matplotlib)")


def pause(text):
    """Seconds, from 0 on."""
    if not float(text) >= 0:
        raise ValueError
    return float(text)


@in_words
def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--library", help="the libxgemm.so.0 to preload")
    parser.add_argument("--sizes", type=counted, nargs="+", default=[1024, 2048, 4096, 8192], help="n (%(default)s)")
    parser.add_argument("--rounds", type=counted, default=5, help="timed products of each kind (%(default)s)")
    parser.add_argument("--rest", type=pause, default=0.5, help="seconds before each of our products (%(default)s)")
    parser.add_argument("--json", help="file for the result")
    parser.add_argument("--svg", help="file for the picture; needs matplotlib")
    parser.add_argument("--draw", metavar="JSON", help="measure nothing: draw this result")
    options = parser.parse_args(arguments)
    if options.draw:
        if not options.svg:
            parser.error("--draw needs --svg")
        root = read_json(options.draw, "xgemm-numpy")
        need_matplotlib()
        try:
            draw(root["rows"], options.svg)
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise InputError(f"{options.draw}: is not a whole result file: {error}") from error
        return 0
    if not options.library or not pathlib.Path(options.library).is_file():
        parser.error(f"--library: '{options.library}' is no file")
    # Said now and not after all has been measured.
    if options.svg:
        need_matplotlib()
    for output in filter(None, (options.json, options.svg)):
        with open(output, "a", encoding="utf-8"):
            pass
    ours, plain = Worker(pathlib.Path(options.library).resolve()), Worker()
    version = plain.ask("float64", "a @ b", 1)[2]
    print(f"NumPy {version}, {os.cpu_count()} cores, {platform.machine()}; times in ms")
    print(f"{'type':8} {'product':8} {'n':>6} {'own BLAS':>10} {'libxgemm':>10} {'ratio':>7}  of {options.rounds} rounds")
    rows = []
    for kind in TYPES:
        for n in options.sizes:
            for product in ("a @ b", "a.T @ a"):
                row = measure(ours, plain, kind, product, n, options.rounds, options.rest)
                rows.append(row)
                print(f"{kind:8} {product:8} {n:6} {row['plain_ms']:10.3f} {row['xgemm_ms']:10.3f} {row['ratio']:7.2f}  "
                      f"[{row['ratio_low']:.2f}, {row['ratio_high']:.2f}]", flush=True)
    for worker in (ours, plain):
        worker.close()
    if options.json:
        pathlib.Path(options.json).write_text(
            json.dumps({"schema": "xgemm-numpy", "version": 1, "numpy": version, "cores": os.cpu_count(), "rows": rows},
                       indent=1) + "\n", encoding="utf-8")
    if options.svg:
        draw(rows, options.svg)
    return 0


if __name__ == "__main__":
    sys.exit(main())
