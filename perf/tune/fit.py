#!/usr/bin/env python3
"""Fits the planner to measurements of xgemm-tune.

    fit.py measured.tsv... [--lasting result.json...] --table src/tuning/wgmma_tma_measured.inc

Two steps. First the constants of the cost model (src/kernels/wgmma_tma/cost.h) are fitted to all measurements;
they are printed, to be put there. Then, for every measured problem, the ratios of measured to modelled time of each
tile, without what all tiles of a problem have in common, go into the table: the planner corrects its estimates by those
of the nearest measured problems (src/tuning/wgmma_tma_measured.h). Printed as well: how much slower the choices are
than the best measured instance, with every problem judged without its own row of the table.

xgemm-tune measures a problem in a fraction of a second; the power limit may take longer to slow a GPU down, and does
not slow all tiles equally. Results of xgemm-bench (--lasting) correct for that: of large products, each tile's times are
multiplied by how much slower, relative to cuBLAS, it was there; and what was measured there is preferred to what was
not, unless that is clearly faster. Needs NumPy and SciPy.

SPDX-License-Identifier: BSD-3-Clause
"""

import argparse
import collections
import json
import math
import pathlib
import re

import numpy as np
from scipy.optimize import least_squares

SMS = 132
CYCLES_PER_US = 1755
# Of wgmma_tma_measured.cc.
NEIGHBOURS, REACH, NEAR, MEAN_WEIGHT = 16, 2.0, 0.003, 1.0
FLAGS_DISTANCE, ALIGNMENT_DISTANCE, BETA_DISTANCE = 0.15, 1.0, 0.1
LARGE_FLOPS = 1e10  # a product that the power limit slows down
SHRINKAGE = 10  # of a tile's mean, in measurements
DOUBT = .05  # by how much what was not tried in lasting work must look better than what was
UNMEASURED = -128  # a ratio is 100 times its logarithm, in 8 bits

INSTANCE = re.compile(
    r"wgmma_tma_b?f16_(\d+)x(\d+)x64(_pp)?(_t)?(?:_c(\d)(\d))?(?:_k(\d))?_s(\d+)_(nn|nt|tn|tt)$")


def instance_names():
    """Those of the source: tables and results may be older."""
    source = pathlib.Path(__file__).resolve().parents[2] / "src/kernels/instances.def"
    return set(re.findall(r"wgmma_tma_f16_\w+?_s\d+", source.read_text()))


INSTANCES = instance_names()


def parse_instance(name):
    """The parameters of an instance, as its name has them; None for other families and for what is no more."""
    match = INSTANCE.match(name)
    if not match or name[:-3].replace("bf16", "f16") not in INSTANCES:
        return None
    m, n, pp, t, cm, cn, ck, stages, _ = match.groups()
    m, n, pp, t = int(m), int(n), pp is not None, t is not None
    rows, columns = (n, m) if t else (m, n)
    consumers = 2 if pp else rows // 64
    ck = int(ck or 1)
    return dict(tile=name[name.index("f16_") + 4:-3], cta_m=m, cta_n=n, pp=pp, rows=rows, columns=columns,
                consumers=consumers, cm=int(cm or 1), cn=int(cn or 1), ck=ck, stages=int(stages))


def parse_case(text):
    """'h TN 96x64x32 ld=1,2,3 beta=1 batch=2' -> extents, flags and what rows start on 128-byte lines."""
    fields = text.split()
    m, n, k = map(int, fields[2].split("x"))
    extra = dict(x.split("=") for x in fields[3:])
    trans = fields[1]
    ld = list(map(int, extra["ld"].split(","))) if "ld" in extra else [m if trans[0] == "N" else k,
                                                                      k if trans[1] == "N" else n]
    return dict(trans=trans, m=m, n=n, k=k, batch=int(extra.get("batch", 1)), beta=float(extra.get("beta", 0)) != 0,
                lines_a=ld[0] * 2 % 128 == 0, lines_b=ld[1] * 2 % 128 == 0)


def geometric_mean(values):
    return math.exp(np.mean(np.log(values)))


def load(files):
    """The rows of xgemm-tune's tables, and cuBLAS's times by case. Sessions differ in clocks: where a case is in several
    tables, their times are made comparable by cuBLAS's, and repeated rows become one."""
    cublas = collections.defaultdict(dict)  # by case, by file
    measured = collections.defaultdict(list)
    for file in files:
        for line in open(file):
            case, kernel, whole, parts, us, _ = line.rstrip("\n").split("\t")
            if kernel == "cublas":
                cublas[case][file] = float(us)
            elif parse_instance(kernel):
                measured[case, kernel, int(whole), int(parts)].append((file, float(us)))
    means = {case: geometric_mean(list(times.values())) for case, times in cublas.items()}
    rows = []
    for (case, kernel, whole, parts), times in measured.items():
        if case in means:
            us = geometric_mean([us * means[case] / cublas[case].get(file, means[case]) for file, us in times])
            rows.append(dict(case=case, whole=whole, parts=parts, us=us, **parse_instance(kernel), **parse_case(case)))
    return rows, means


def load_lasting(files):
    """What libxgemm chose in runs of xgemm-bench: (case, kernel, whole tiles, parts, ratio to cuBLAS)."""
    results = []
    for file in files:
        for row in json.load(open(file))["rows"]:
            for candidate in row["candidates"]:
                instance = parse_instance(candidate.get("kernel", ""))
                if (row["shape"]["type"] == "h" and row["reference"] == "cublas-ws32" and candidate["name"] == "xgemm" and
                        instance and "ratio" in candidate):
                    plan = next(x for x in candidate["plan"].splitlines() if x.startswith("plan:"))
                    split = re.search(r" whole_tiles=(\d+) parts=(\d+)", plan)
                    whole, parts = map(int, split.groups()) if split else (0, 1)
                    results.append((row["id"], candidate["kernel"], whole, parts, candidate["ratio"]["median"]))
    return results


def as_in_lasting_work(rows, cublas, lasting):
    """The rows as they would be in lasting work, relative to cuBLAS's times here."""
    large = lambda r: 2 * r["m"] * r["n"] * r["k"] * r["batch"] > LARGE_FLOPS
    proved = collections.defaultdict(list)
    for case, kernel, _, parts, ratio in lasting:
        proved[case, parse_instance(kernel)["tile"], parts > 1].append(ratio)
    proved = {what: geometric_mean(ratios) for what, ratios in proved.items()}
    best = collections.defaultdict(float)  # ratio, by case
    for (case, _, _), ratio in proved.items():
        best[case] = max(best[case], ratio)
    slower = collections.defaultdict(list)  # logarithms, by tile
    for r in rows:
        ratio = proved.get((r["case"], r["tile"], r["parts"] > 1))
        if ratio and large(r) and r["lines_a"] and r["lines_b"]:
            slower[r["tile"]].append(math.log(cublas[r["case"]] / ratio / r["us"]))
    factor = {tile: math.exp(sum(x) / (len(x) + SHRINKAGE)) for tile, x in slower.items()}

    def us(r):
        if not large(r):
            return r["us"]
        ratio = proved.get((r["case"], r["tile"], r["parts"] > 1))
        if ratio:
            return cublas[r["case"]] / ratio
        corrected = r["us"] * factor.get(r["tile"], 1)
        known = cublas[r["case"]] / best[r["case"]] if best[r["case"]] else 0
        return corrected if corrected < (1 - DOUBT) * known else max(corrected, known * 1.02)

    corrected = [{**r, "us": us(r)} for r in rows]
    seen = {(r["case"], r["tile"], r["parts"] > 1) for r in rows}
    for case, kernel, whole, parts, _ in lasting:  # what xgemm-tune has left out
        instance = parse_instance(kernel)
        what = case, instance["tile"], parts > 1
        if case in cublas and what not in seen:
            seen.add(what)
            corrected.append(dict(case=case, whole=whole, parts=parts, us=cublas[case] / proved[what], **instance,
                                  **parse_case(case)))
    return corrected


START = dict(write=.4, tensor=1.02, slice=175, unaligned=3.3, unaligned_shared=.3, one_consumer=1.1, ingest=1.9,
             epilogue=830, element=.1, old_c=1.7, exchange=1600, exchange_element=.09, l2=11.3, memory=3.7,
             latency=.75, power=7.9, ping_pong=1.02, launch=1.6, cluster=.1, sum=2.6, sum_bytes=2.2)


class Model:
    """wgmma_tma_cost.h, over arrays."""

    def __init__(self, rows):
        c = {x: np.array([r[x] for r in rows]) for x in rows[0] if x not in ("case", "tile", "trans")}
        self.c = c
        size = c["cm"] * c["cn"] * c["ck"]
        self.size = size
        usable = SMS * np.where(size <= 2, 1, .91)
        clusters = np.maximum(1, np.floor(usable / size))
        tiles = np.ceil(c["m"] / (c["cta_m"] * c["cm"])) * np.ceil(c["n"] / (c["cta_n"] * c["cn"])) * c["batch"]
        parts = c["parts"].astype(float)
        whole = np.where(parts == 1, tiles, c["whole"])
        split = tiles - whole
        units = tiles + split * (parts - 1)
        slices = np.ceil(np.ceil(c["k"] / 64) / c["ck"])
        whole_rounds, part_rounds = np.ceil(whole / clusters), np.ceil(split * parts / clusters)
        self.rounds = whole_rounds + part_rounds
        self.slices = whole_rounds * slices + part_rounds * np.ceil(slices / parts)
        self.area = (c["rows"] * c["columns"]).astype(float)
        self.reads = (c["rows"] / 64) * (64 + c["columns"])
        self.own_a, self.own_b = c["cta_m"] / c["cn"], c["cta_n"] / c["cm"]
        self.sum_bytes = np.where(parts > 1, split * parts * size * 4 * self.area, 0)
        self.flops = 2. * c["m"] * c["n"] * c["k"] * c["batch"]
        self.bytes = 2. * c["batch"] * (c["m"] * c["k"] + c["k"] * c["n"] + c["m"] * c["n"] * (1 + c["beta"]))
        ctas = units * size
        self.in_flight = np.minimum(ctas, clusters * size) * c["stages"] * (c["rows"] + c["columns"]) * 128.
        self.l2_bytes = 2. * c["k"] * c["batch"] * (c["m"] * np.ceil(c["n"] / (c["cta_n"] * c["cn"])) +
                                                    c["n"] * np.ceil(c["m"] / (c["cta_m"] * c["cm"])))

    def __call__(self, p):
        c = self.c
        own, all_rows = self.own_a + self.own_b, c["rows"] + c["columns"]
        terms = [self.area / 32 * p["tensor"], all_rows * p["write"] + self.reads, own * p["ingest"],
                 p["unaligned"] * (self.own_a * ~c["lines_a"] + self.own_b * ~c["lines_b"]) + p["unaligned_shared"] *
                 (c["cta_m"] * ~c["lines_a"] + c["cta_n"] * ~c["lines_b"]), p["slice"]]
        slice_cycles = sum(t**4 for t in terms)**.25 * np.where(c["consumers"] == 1, p["one_consumer"], 1)
        main = self.slices * slice_cycles
        epilogue = p["epilogue"] + self.area * p["element"] * np.where(c["beta"], p["old_c"], 1) + np.where(
            c["ck"] > 1, p["exchange"] + self.area * p["exchange_element"] * (c["ck"] - 1) / c["ck"], 0)
        all_epilogues = epilogue * self.rounds
        compute = np.where(c["pp"], np.maximum(main, (main + all_epilogues) / 2) + epilogue,
                           main + all_epilogues) / CYCLES_PER_US
        power = self.flops / (p["power"] * 1e8 * np.where(c["pp"], p["ping_pong"], 1))
        work = np.maximum(np.maximum(compute, self.l2_bytes / (p["l2"] * 1e6)), power)
        memory = self.bytes / np.minimum(p["memory"] * 1e6, self.in_flight / p["latency"])
        fixed = p["launch"] + np.where(self.size > 1, p["cluster"], 0) + np.where(
            c["parts"] > 1, p["sum"] + self.sum_bytes / (p["sum_bytes"] * 1e6), 0)
        return fixed + (work**4 + memory**4)**.25


def fit(rows):
    model = Model(rows)
    us = np.array([r["us"] for r in rows])
    best = collections.defaultdict(lambda: math.inf)
    for r in rows:
        best[r["case"]] = min(best[r["case"]], r["us"])
    slower = us / np.array([best[r["case"]] for r in rows])
    weight = np.sqrt(np.where(slower < 1.6, np.exp(-(slower - 1) / .25), .08))  # what is chosen has to be right
    names = list(START)

    def unpack(v):
        return {x: START[x] * math.exp(v[i]) for i, x in enumerate(names)}

    def residuals(v):
        return np.concatenate([np.log(model(unpack(v)) / us) * weight, .3 * v])

    solution = least_squares(residuals, np.zeros(len(names)), loss="soft_l1", f_scale=.1, x_scale=.1, max_nfev=60)
    return unpack(solution.x), model(unpack(solution.x))


def relative_to_problem(ratios):
    """The ratios (problems in rows, tiles in columns, NaN where not measured) without what all tiles of a problem have
    in common: that says nothing about which is best, and would set those apart that were not tried on it."""
    known = ~np.isnan(ratios)
    problems = np.zeros((len(ratios), 1))
    for _ in range(30):  # a term for the problem and one for the tile; few measurements do not make a term
        tiles = np.where(known, ratios - problems, 0).sum(0) / (known.sum(0) + 5)
        problems = (np.where(known, ratios - tiles, 0).sum(1) / (known.sum(1) + 1))[:, None]
    return ratios - problems


class Measured:
    """wgmma_tma_measured.h."""

    def __init__(self, rows, modelled, proved=()):
        """proved: problems of xgemm-bench, where the choices are known; what was not tried there gets its mean and DOUBT."""
        self.tiles = sorted({r["tile"] for r in rows})
        self.cases = list(dict.fromkeys(r["case"] for r in rows))
        case_index = {x: i for i, x in enumerate(self.cases)}
        tile_index = {x: i for i, x in enumerate(self.tiles)}
        self.info = {r["case"]: r for r in rows}
        logarithm = np.full((len(self.cases), 2 * len(self.tiles)), math.nan)
        fastest = {}
        for r, estimate in zip(rows, modelled):
            at = case_index[r["case"]], 2 * tile_index[r["tile"]] + (r["parts"] > 1)
            if r["us"] < fastest.get(at, math.inf):  # of several numbers of parts
                fastest[at] = r["us"]
                logarithm[at] = 100 * math.log(r["us"] / estimate)
        logarithm = relative_to_problem(logarithm)
        known = ~np.isnan(logarithm)
        mean = np.where(known, logarithm, 0).sum(0) / np.maximum(known.sum(0), 1)
        in_doubt = ~known & np.isin(self.cases, list(proved))[:, None] & known.any(0)
        logarithm = np.where(in_doubt, mean + 100 * DOUBT, logarithm)
        self.ratio = np.where(np.isnan(logarithm), UNMEASURED, np.clip(np.round(logarithm), -127, 127)).astype(int)
        self.mean = np.round(mean).astype(int)
        self.tile_index = tile_index
        log2 = np.log2
        self.place = np.array([[log2(self.info[x][y]) for y in ("m", "n", "k", "batch")] for x in self.cases])

    def distances(self, r):
        place = np.array([math.log2(r[y]) for y in ("m", "n", "k", "batch")])
        d = np.abs(self.place - place).sum(1)
        for i, other in enumerate(self.cases):
            o = self.info[other]
            d[i] += FLAGS_DISTANCE * (o["trans"] != r["trans"]) + BETA_DISTANCE * (o["beta"] != r["beta"])
            d[i] += ALIGNMENT_DISTANCE * ((o["lines_a"] and o["lines_b"]) != (r["lines_a"] and r["lines_b"]))
        return d

    def corrections(self, r, leave_out=None):
        d = self.distances(r)
        if leave_out is not None:
            d[leave_out] = math.inf
        near = np.argsort(d, kind="stable")[:NEIGHBOURS]
        weights = (np.exp(-d[near] / REACH) / (d[near] + NEAR))[:, None] * (self.ratio[near] != UNMEASURED)
        return np.exp((MEAN_WEIGHT * self.mean + (weights * self.ratio[near]).sum(0)) /
                      (MEAN_WEIGHT + weights.sum(0)) / 100)


def regret(rows, modelled, measured, leave_out):
    """How much slower than the best the choices are: the geometric mean and the worst ones."""
    by_case = collections.defaultdict(list)
    for i, r in enumerate(rows):
        by_case[r["case"]].append(i)
    losses = []
    for index, case in enumerate(measured.cases):
        factors = measured.corrections(measured.info[case], index if leave_out else None)
        candidates = by_case[case]
        value = lambda i: modelled[i] * factors[2 * measured.tile_index[rows[i]["tile"]] + (rows[i]["parts"] > 1)]
        chosen, best = min(candidates, key=value), min(candidates, key=lambda i: rows[i]["us"])
        losses.append((rows[chosen]["us"] / rows[best]["us"], case, rows[chosen]["tile"], rows[chosen]["parts"],
                       rows[best]["tile"], rows[best]["parts"]))
    losses.sort(reverse=True)
    return math.exp(np.mean([math.log(x[0]) for x in losses])), losses[:12]


def write_table(path, measured):
    with open(path, "w") as out:
        out.write("// Written by perf/tune/fit.py from measurements of xgemm-tune on an H200. Tiles in columns, whole and\n"
                  "// split; 100 times the logarithm of measured to modelled time, relative to the problem's other tiles.\n"
                  "// SPDX-License-Identifier: BSD-3-Clause\n// clang-format off\n")
        for tile in measured.tiles:
            out.write(f'XGEMM_MEASURED_TILE("{tile}")\n')
        out.write("XGEMM_MEASURED_MEAN(" + ", ".join(map(str, measured.mean)) + ")\n")
        for case, ratios in zip(measured.cases, measured.ratio):
            r = measured.info[case]
            out.write(f'XGEMM_MEASURED_PROBLEM({r["m"]}, {r["n"]}, {r["k"]}, {r["batch"]}, {int(r["trans"][0] == "T")}, '
                      f'{int(r["trans"][1] == "T")}, {int(r["lines_a"] and r["lines_b"])}, {int(r["beta"])}, '
                      + ", ".join(map(str, ratios)) + ")\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measured", nargs="+", help="tables of xgemm-tune")
    parser.add_argument("--lasting", nargs="+", default=[], help="results of xgemm-bench with cublas-ws32 as reference")
    parser.add_argument("--table", help="where to write the table of ratios")
    arguments = parser.parse_args()
    rows, cublas = load(arguments.measured)
    lasting = load_lasting(arguments.lasting)
    rows = as_in_lasting_work(rows, cublas, lasting)
    constants, modelled = fit(rows)
    for name, value in constants.items():
        print(f"{name:20} {value:.4g}")
    measured = Measured(rows, modelled, {case for case, *_ in lasting})
    for leave_out in (False, True):
        mean, worst = regret(rows, modelled, measured, leave_out)
        print(f"chosen by {'the other rows' if leave_out else 'all rows'}: {mean:.4f} of the best")
        for loss in worst:
            print("   %.3f %-32s %s x%d, best %s x%d" % loss)
    if arguments.table:
        write_table(arguments.table, measured)


if __name__ == "__main__":
    main()
