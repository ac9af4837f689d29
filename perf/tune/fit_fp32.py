#!/usr/bin/env python3
"""Fits the planner's estimates of ffma_tma to measurements of xgemm-tune.

    fit_fp32.py [--check] [measured.tsv.xz...]          default: fp32/ and wild/*-s of perf/tune/measured/

The constants of the cost model are fitted to times of plans, with operands as they lie and as copies, and written to
src/kernels/ffma_tma/cost.h; those of the copies are printed (src/plan/packing.cc has them). Then the network of
cost_correction.h is trained on what the model misses, as fit.py does it, and written to cost_correction_fit.inc. How good
the choices are is said for shapes that the fit did not see: they are dealt into four parts, of which each is judged by a
fit to the others. --check prints this alone. The model itself is the library's code, in
build/.../libxgemm_cost_model.so; shapes of perf/shapes/holdout.txt are refused. Needs NumPy and SciPy.

SPDX-License-Identifier: BSD-3-Clause
"""

import argparse
import ctypes
import math
import pathlib
import re

import numpy as np
from scipy.optimize import least_squares

import fit as network

ROOT = pathlib.Path(__file__).resolve().parents[2]
COST = ROOT / "src/kernels/ffma_tma/cost.h"
CORRECTION = ROOT / "src/kernels/ffma_tma/cost_correction_fit.inc"
COPIES = dict(launch_us=1.6, share=.85)  # where the search begins: of a pass, and of the memory's rate
LEAST, MOST = .75, 1.4                   # cost_correction.cc
network.HIDDEN, network.STEPS, network.DECAY = 24, 600, 3e-3


class CostModel:
    """The library's model: times of rows."""

    def __init__(self):
        self.library = network.cost_library()
        self.library.xgemm_ffma_instances.restype = ctypes.c_char_p
        self.instances = self.library.xgemm_ffma_instances().decode().split()
        self.names = re.findall(r"^  double (\w+) = [^;]+;", COST.read_text().split("struct FfmaTmaCostConstants")[1].split("};")[0], re.M)
        self.constants = np.empty(len(self.names))
        assert self.library.xgemm_ffma_constants(self.constants.ctypes.data_as(ctypes.c_void_p)) == len(self.names)

    def __call__(self, constants, sms, rates, rows):
        """Times, and what the network looks at."""
        pointer = lambda x: x.ctypes.data_as(ctypes.c_void_p)
        constants, rates, rows = (np.ascontiguousarray(x, float) for x in (constants, rates, rows))
        us, features = np.empty(len(rows)), np.empty((len(rows), self.library.xgemm_ffma_features()), np.float32)
        self.library.xgemm_ffma_cost(pointer(constants), ctypes.c_double(sms), pointer(rates),
                                     ctypes.c_ssize_t(len(rows)), pointer(rows), pointer(us), pointer(features))
        return us, features


def cost_problem(x):
    """A fit.Product as the model takes it: extents, batch, how A and B come (0: by TMA, 1: by words, 2: turned), beta, whether
    C is misaligned."""
    odd = x.offset % 4 != 0
    def load(along_k, ld):
        aligned = not odd and ld % 4 == 0
        return 1 if not aligned else 2 if along_k else 0
    return (x.m, x.n, x.k, x.batch, load(x.ta, x.ld[0]), load(not x.tb, x.ld[1]), x.beta != 0, odd or x.ld[2] % 4 != 0)


class Measurements(network.Measurements):
    """As those of fit.py, of plans of ffma_tma."""
    by_row = "gpu", "tile", "numbers", "copied", "us", "lost", "best"

    def __init__(self, files, instances):
        hold_out = {tuple(x.split()[:3]) for x in (ROOT / "perf/shapes/holdout.txt").read_text().splitlines()}
        known = dict(re.findall(r'\{"([^"]+)", \{([^}]+)\}\}', (ROOT / "src/device/gpu_rows.inc").read_text()))
        self.gpus, self.sms, self.rates, rows, cublas = [], [], [], [], {}
        for file in files:
            gpu, (sms, *_), lines = network.read_table(file)
            if gpu not in self.gpus:
                if gpu not in known:
                    raise SystemExit(f"fit_fp32.py: {file}: {gpu} has no row in src/device/gpu_rows.inc")
                self.gpus.append(gpu)
                self.sms.append(sms)
                self.rates.append([float(x) for x in known[gpu].split(",")])
            for case, kernel, cluster, whole, parts, us, _ in lines:
                if "pointers" in case.split():
                    continue  # of twins, which fit_families.py corrects
                key = self.gpus.index(gpu), file.name, case
                kernel, _, copies = kernel.partition("+")
                if kernel == "cublas":
                    cublas[key] = float(us)
                elif kernel in instances:
                    m, n, k, batch, words_a, words_b, beta, misaligned_c = cost_problem(network.parse_case(case))
                    if tuple(map(str, (m, n, k))) in hold_out:
                        raise SystemExit(f"fit_fp32.py: {case} of {file.name} is in perf/shapes/holdout.txt")
                    copied = ("A" in copies) * m * k + ("B" in copies) * k * n
                    sharers = int((cluster.split("x") + [1])[2])
                    split = (0, sharers) if sharers > 1 else (float(whole), int(parts))
                    rows.append((key, [instances.index(kernel), m, n, k, batch, words_a * ("A" not in copies),
                                       words_b * ("B" not in copies), beta, *split, misaligned_c, sharers > 1],
                                 8e-6 * batch * copied, float(us)))
        if not rows:
            raise SystemExit("fit_fp32.py: no time of ffma_tma in what was measured")
        rows.sort(key=lambda x: x[0])
        self.numbers = np.array([r[1] for r in rows], float)
        self.copied = np.array([r[2] for r in rows])  # bytes that a pass moves, in MB
        self.tile = self.numbers[:, 0].astype(int)
        self.hold([r[0] for r in rows], [r[3] for r in rows], cublas)


def times(model, data, values):
    """Of the kernel, of the copies before it; and features."""
    constants, (launch, share) = values[:len(model.names)], values[len(model.names):]
    us, copies, features = np.empty(len(data.us)), np.empty(len(data.us)), None
    for i, (sms, rates) in enumerate(zip(data.sms, data.rates)):
        mine = data.gpu == i
        us[mine], some = model(constants, sms, rates, data.numbers[mine])
        if features is None:
            features = np.empty((len(data.us), some.shape[1]), np.float32)
        features[mine] = some
        copies[mine] = np.where(data.copied[mine] > 0, launch + data.copied[mine] / (share * rates[2]), 0)
    return us, copies, features


def fit(model, data, rows):
    """What would be chosen has to be right; what is far from it matters little."""
    weight = np.sqrt(np.where(data.lost < math.log(1.6), np.exp(-np.expm1(data.lost) / .2), .03))[rows]
    start = np.log(np.append(model.constants, list(COPIES.values())))
    def residuals(v):
        us, copies, _ = times(model, data, np.exp(start + v))
        return np.concatenate([np.log((us + copies)[rows] / data.us[rows]) * weight, .3 * v])

    return np.exp(start + least_squares(residuals, np.zeros(len(start)), loss="soft_l1", f_scale=.05, x_scale=.1).x)


class Correction:
    """The network, trained on some cases."""

    def __init__(self, model, data, values, cases):
        us, copies, features = times(model, data, values)
        rows, first = network.rows_of(data, cases)
        self.model, self.values = model, values
        self.least, self.most = features[rows].min(0), features[rows].max(0)
        self.mean, self.deviation = features[rows].mean(0), features[rows].std(0) + 1e-6
        # What is corrected is the kernel's share of the time.
        share = (us / (us + copies))[rows]
        self.network = network.Network(features.shape[1], len(model.instances)).train(
            self.standard(features[rows]), data.tile[rows], np.log(us + copies)[rows], data.lost[rows], data.best[rows],
            first, share.astype(np.float32))

    def standard(self, features):
        return ((np.clip(features, self.least, self.most) - self.mean) / self.deviation).astype(np.float32)

    def __call__(self, data):
        us, copies, features = times(self.model, data, self.values)
        factor = self.network.forward(self.standard(features), data.tile)[1]
        return us * np.exp(np.clip(factor, math.log(LEAST), math.log(MOST))) + copies

    def write(self, report):
        hidden, direct = self.network.hidden / self.deviation[:, None], self.network.direct / self.deviation
        array = network.array
        CORRECTION.write_text(
            "// Written by perf/tune/fit_fp32.py. Choices for shapes that were left out of the fit:\n"
            + "".join(f"//   {line}\n" for line in report) + "// clang-format off\n"
            + "constexpr std::string_view kFittedNames[] = {" + ", ".join(f'"{x}"' for x in self.model.instances) + "};\n"
            + array("kLeastSeen", self.least) + array("kMostSeen", self.most)
            + array("kHiddenBias", self.network.bias - self.mean @ hidden) + array("kWeights", hidden)
            + array("kDirect", direct) + array("kNameHidden", self.network.tile_hidden)
            + array("kNameDirect", self.network.tile_direct - self.mean @ direct)
            + array("kOutputWeights", self.network.output) + "// clang-format on\n")


def judge(data, score):
    """Lines of text: how much slower than the best the choices are, and how fast beside cuBLAS, by GPU."""
    chosen = data.choice(score)
    lines = []
    for i, gpu in enumerate(data.gpus):
        mine = data.gpu[data.first] == i
        mean = lambda x: math.exp(np.nanmean(np.log(x[mine])))
        error = np.abs(np.log(score[chosen] / data.us[chosen]))[mine].mean()
        best = np.minimum.reduceat(data.us, data.first)
        lines.append(f"{gpu}: {mine.sum()} problems, {100 * (mean(data.us[chosen] / best) - 1):.1f} % slower than the best "
                     f"plan measured; {mean(data.cublas / data.us[chosen]):.3f} of cuBLAS's speed, the best plans "
                     f"{mean(data.cublas / best):.3f}; times off by {100 * error:.0f} %")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measured", nargs="*", type=pathlib.Path, help="tables of xgemm-tune, compressed by xz or not")
    parser.add_argument("--check", action="store_true", help="only say how good the choices are")
    arguments = parser.parse_args()
    model = CostModel()
    measured = ROOT / "perf/tune/measured"
    files = arguments.measured or [*measured.glob("fp32/*.tsv.xz"), *measured.glob("wild/*-s.tsv.xz")]
    data = Measurements(sorted(files), model.instances)
    every = np.ones(len(data.us), bool)
    together = lambda values: sum(times(model, data, values)[:2])
    print("the model as in the source:", *judge(data, together(np.append(model.constants, list(COPIES.values())))), sep="\n  ")
    alone, corrected = np.empty(len(data.us)), np.empty(len(data.us))
    for part in range(network.PARTS):
        left_out = data.part[data.case] == part
        values = fit(model, data, ~left_out)
        alone[left_out] = together(values)[left_out]
        corrected[left_out] = Correction(model, data, values, data.part != part)(data)[left_out]
    report = ["the model alone: " + x for x in judge(data, alone)] + ["corrected: " + x for x in judge(data, corrected)]
    print("\n".join(report))
    if arguments.check:
        return
    values = fit(model, data, every)
    correction = Correction(model, data, values, data.part >= 0)
    print("all shapes seen:", *judge(data, correction(data)), sep="\n  ")
    text = COST.read_text()
    for name, value in zip(model.names, values):
        text = re.sub(rf"^(  double {name} = )[^;]+;", rf"\g<1>{float(f'{value:.3g}'):g};", text, flags=re.M)
    COST.write_text(text)
    correction.write(report)
    print("copies:", ", ".join(f"{name} {value:.3g}" for name, value in zip(COPIES, values[len(model.names):])))


if __name__ == "__main__":
    main()
