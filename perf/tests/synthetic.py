"""Result files with known speeds, slowdowns, noise and gaps, for tests of the gate and of the report.

SPDX-License-Identifier: BSD-3-Clause
"""

import contextlib
import importlib.util
import io
import json
import math
import os
import pathlib
import random
import sys

LADDER = ["naive", "smem_tiled", "thread_tiled", "double_buffered"]


def interval(median, width):
    return {"median": median, "low": median * (1 - width), "high": median * (1 + width)}


def shape(kind, m, n, k, set_name, label=""):
    return {"set": set_name, "label": label, "type": kind, "layout": "col", "transa": "N", "transb": "N", "m": m, "n": n,
            "k": k, "alpha": 1.0, "beta": 0.0, "lda": m, "ldb": k, "ldc": m, "batch": 1, "stride_a": m * k,
            "stride_b": k * n, "stride_c": m * n, "offset": 0, "location": "ddd", "calls": 1}


def candidate(name, one, tflops, reference_tflops, width, kernel=""):
    flops = 2.0 * one["m"] * one["n"] * one["k"]
    return {"name": name, "status": "ok", "kernel": kernel, "plan": f"kernel={kernel}\nwaves: 1.5 <b>" if kernel else "",
            "time_us": interval(flops / tflops * 1e-6, width), "tflops": tflops, "fastest_us": flops / tflops * 0.99e-6,
            "ratio": interval(tflops / reference_tflops, width), "host_us": 2.5,
            "error": 5e-7 if one["type"] == "s" else 2e-4, "bound_share": 0.1}


def row(one, candidates):
    text = f"{one['type']} NN {one['m']}x{one['n']}x{one['k']}"
    return {"id": text, "status": "ok", "shape": one, "reference": "cublas-ws32", "candidates": candidates, "rounds": 9,
            "dropped_rounds": 0, "operand_sets": 4, "cold": True, "recorded": True, "stopped_by": "precision",
            "sm_mhz": 1980.0, "power_w": 500.0, "power_capped": False}


def model(one):
    """Speed of cuBLAS as a roof with a launch cost: enough for figures to look like figures."""
    flops = 2.0 * one["m"] * one["n"] * one["k"]
    size = 4 if one["type"] == "s" else 2
    moved = size * (one["m"] * one["k"] + one["k"] * one["n"] + one["m"] * one["n"])
    peak = 52e12 if one["type"] == "s" else 760e12
    return flops / (flops / peak + moved / 4e12 + 2e-6) * 1e-12


def results(candidates, rows, complete=True):
    return {"schema": "xgemm-bench", "version": 1, "complete": complete, "created": "2026-01-02T03:04:05Z",
            "command": ["xgemm-bench"],
            "environment": {"machine": "NVIDIA H200", "gpu": "NVIDIA H200", "driver": "580.0", "commit": "abc1234"},
            "settings": {"data": "N(0,1)"}, "candidates": candidates,
            "ceilings": {"copy_gbs": 4290.0, "fp32_tflops": 62.2, "fp16_tensor_tflops": 760.0}, "rows": rows,
            "host_times": [{"name": "600 shapes in rotation", "type": "h", "shapes": 600, "rounds": 51,
                            "calls_per_round": 200, "reference": "cublas-ws32", "candidates": [
                                {"name": "xgemm", "status": "ok", "host_us": interval(4, 0.01), "ratio": interval(2, 0.01)},
                                {"name": "cublas-ws32", "status": "ok", "host_us": interval(8, 0.01)}]}]}


def standard(speed=lambda one: 1.0, noise=0.0, width=0.005, seed=1, sizes=(128, 256, 512, 1024, 2048, 4096)):
    """A run of squares and a grid; `speed` gives the ratio to cuBLAS of a shape, `noise` the spread of its median."""
    rng = random.Random(seed)
    rows = []
    for kind in "sh":
        shapes = [shape(kind, n, n, n, "squares") for n in sizes]
        shapes += [shape(kind, m, n, 4096, "grid") for m in sizes for n in sizes if (m, n) != (4096, 4096)]
        for one in shapes:
            base = model(one)
            ratio = speed(one) * math.exp(rng.gauss(0, noise))
            rows.append(row(one, [candidate("xgemm", one, base * ratio, base, width, "double_buffered_128x128x8"),
                                  candidate("cublas-ws32", one, base, base, width)]))
    return results({"xgemm": "libxgemm 0.1.0", "cublas-ws32": "cuBLAS 13.1.0"}, rows)


def squares(count, ratio, width=0.005):
    """Squares of every 128, fp32 and fp16 in turn, at the ratio to cuBLAS that `ratio` gives for their index."""
    rows = []
    for i in range(count):
        n = 128 * (i + 1)
        one = shape("sh"[i % 2], n, n, n, "squares" if i < 6 else "odd")
        base = model(one)
        rows.append(row(one, [candidate("xgemm", one, base * ratio(i), base, width),
                              candidate("cublas-ws32", one, base, base, width)]))
    data = results({"xgemm": "libxgemm 0.1.0", "cublas-ws32": "cuBLAS 13.1.0"}, rows)
    del data["environment"]["driver"]
    return data


def cliffs():
    """Sweeps of the set `cliffs`, with fewer steps."""
    rows = []
    for kind in "sh":
        shapes = [shape(kind, n, n, n, "cliffs") for n in range(4090, 4100)]
        shapes += [shape(kind, 4096, 4096, 4096, "cliffs") | {"offset": step} for step in (1, 2, 4)]
        shapes += [shape(kind, 4096, 4096, 4096, "cliffs") | {"lda": 4096 + step} for step in (1, 2, 4)]
        shapes += [shape(kind, m, 4096, 4096, "cliffs") for m in (1, 2, 64, 512)]
        for one in shapes:
            made = row(one, [candidate("xgemm", one, model(one) * 1.1, model(one), 0.005, "double_buffered_128x128x8"),
                             candidate("cublas-ws32", one, model(one), model(one), 0.005)])
            rows.append(made | {"id": f"{made['id']} offset={one['offset']} lda={one['lda']}"})
    return results({"xgemm": "libxgemm 0.1.0", "cublas-ws32": "cuBLAS 13.1.0"}, rows)


def two_references():
    """Each square plain, at 1.5 of cuBLAS, and with a bias, at 0.5 of cublasLt."""
    data = squares(4, lambda i: 1.5)
    for plain in list(data["rows"]):
        one = plain["shape"] | {"epilogue": "bias"}
        base = model(one)
        biased = row(one, [candidate("xgemm", one, base / 2, base, 0.005), candidate("cublaslt", one, base, base, 0.005)])
        data["rows"].append(biased | {"id": f"{plain['id']} epilogue=bias", "reference": "cublaslt"})
    data["candidates"]["cublaslt"] = "cublasLt 13.1.0"
    return data


def ladder():
    rows = []
    for kind in "sh":
        for n in (1024, 4096):
            one = shape(kind, n, n, n, "squares")
            base = model(one)
            climbers = [candidate(f"xgemm:{name}", one, base * (0.1 + 0.28 * i), base, 0.005, name)
                        for i, name in enumerate(LADDER)]
            rows.append(row(one, climbers + [candidate("cublas-ws32", one, base, base, 0.005)]))
    names = {f"xgemm:{name}": "libxgemm 0.1.0" for name in LADDER} | {"cublas-ws32": "cuBLAS 13.1.0"}
    return results(names, rows)


def write(path, data):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(data, file, indent=1)
    return str(path)


def expect_golden(test, name, text):
    """XGEMM_UPDATE_GOLDEN=1 in the environment writes the file instead; look at the difference before committing it."""
    path = pathlib.Path(__file__).resolve().parent / "golden" / name
    if os.environ.get("XGEMM_UPDATE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    test.assertEqual(text, path.read_text(encoding="utf-8"), name)


def run(program, *arguments):
    """What a program's main() does: its exit status, and what it prints on stdout and on stderr."""
    out, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        try:
            status = program([str(word) for word in arguments])
        except SystemExit as end:
            status = end.code
    return status, out.getvalue(), errors.getvalue()


def need(*modules):
    """Ends a test as skipped where a module is not installed."""
    missing = [module for module in modules if importlib.util.find_spec(module) is None]
    if missing:
        print("skipped: needs " + ", ".join(f"{module} (Debian: python3-{module})" for module in missing))
        sys.exit(77)
