#!/usr/bin/env python3
"""Fits the planner's estimates of wgmma_tma to measurements of xgemm-tune.

    fit.py [--check] [--add [--again TILES]] [measured.tsv.xz...]          default: perf/tune/measured/
    fit.py --calibrate measured.tsv [--build FOLDER] [--output FILE]

Three steps. The constants of the cost model (src/kernels/wgmma_tma/cost.h) and the rates of the measured GPUs are fitted
to all times. Then the network of cost_correction.h is trained on what the model misses: it lowers the time of the plan
that would be chosen, relative to the best one measured. Both go to src/kernels/wgmma_tma/cost_fit.inc and
src/device/gpu_rows.inc, with how good the choices are on shapes that were left out: shapes are dealt into four parts,
and each part is judged by a network that saw the others. --check prints this alone.

--add leaves all that was fitted as it is, and fits but the places of new tiles in the network, and their clusters, by the
problems that these were measured in: what is known of the others, and what was fitted to their estimates, stays. A tile
with C in fp32 is one of its own there, and begins at the place of the same tile with C in 16 bits. --again takes tiles
whose names a regular expression finds for new ones; those with C in fp32 are `_c32$`.

--calibrate fits the rates of one more GPU, with everything else as it is, and writes its row to FILE, by default where
the library looks for it (src/device/rates.h). `./run calibrate` measures and calls it. Tables of GPUs that have no kernels
of wgmma_tma, which are all but those of compute capability 9.0, are refused.

The model itself is the library's code, in FOLDER/perf/libxgemm_cost_model.so, by default the newest of build/*; shapes of perf/shapes/holdout.txt are
refused. Needs NumPy and SciPy.

SPDX-License-Identifier: BSD-3-Clause
"""

import argparse
import collections
import ctypes
import functools
import hashlib
import lzma
import math
import os
import pathlib
import re
import sys

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Not of CTAs that share an SM, which end in @ and a number: estimates of theirs follow from those of one alone.
INSTANCE = re.compile(r"wgmma_tma_f16(f32)?_((\d+)x(\d+)x64(_pp)?(_t)?_s(\d+))_(nn|nt|tn|tt)$")
C_IN_F32 = "_c32"  # ends the name of a tile of products with C in fp32 (cost_correction.h)
RATES = dict(sm_ghz=1.85, l2_tbs=10., memory_tbs=3.5, tensor_tflops=800.)  # where the search begins
CONSTANTS = dict(tensor=0.938, read=0.389, write=1, ingest=0.449, slice=212, unaligned=2.08, unaligned_shared=0.887,
                 off_lines=.5, epilogue=6.06, element=0.139, old_c=0.914, exchange=1.08e+03, exchange_element=0.486,
                 ping_pong=1.39, l2_reach=22.3, latency=0.522, launch=1.93, cluster=0.197, sum=3.78, sum_bytes=2.29)
HIDDEN, STEPS, RATE, DECAY = 48, 600, .01, 4e-3
WEIGHED = 8         # pairs of a tile and a cluster that the planner weighs, for each tile
MANY_SHAPES = 6     # of clusters that a problem was measured in, to have a say in which these are
UNMEASURED = .25
SOFTNESS = .02   # of the choice that is trained: plans whose estimates differ by less share it
REGRESSION = 8.  # weight of predicting relative times beside choosing well,
ABSOLUTE = 1.    # and of predicting the times themselves
PARTS = 4        # of the shapes, for judging
# The oldest tables, in which memory for the sums of split products was lent: in all since then they took it from a pool,
# as calls do, which is slower.
LENT = {"large", "chosen", "warm"}
# Those in which the second stage of a split product read one part after the other: so many us more, in the median of
# plans that were measured both ways. Where that is much of the time, it is not known well enough.
IN_TURN, IN_TURN_US, LONG = LENT | {"light", "heavy", "clusters", "drawn"}, 1.6, 25.
# In all tables but these, kernels waited for the one before them as soon as they began. What they have gained since, in us,
# but at most half of the time: the medians of products that an H200 ran both ways (docs/results/h200-late-waits-*), which
# are taken for those of an H100 as well. A new table has to be named here.
LATE = {"h200-late-h", "h200-late-s", "h200-late-few-k-s", "h200-late-few-s", "h200-late-short-h",
        "h200-late-short-again-h", "h200-fresh", "h200-fresh-h", "h200-fresh-s", "h200-few-columns",
        "h200-few-columns-long", "h200-copied-h", "h200-many-s"}
SOONER = {r"warp_tiled": .67, r"ffma_tma": .57, r"ffma_async": .38, r"row_lanes": .36,
          r"skinny_f32_((4|8)x(16|32|128)|(16|32|128)x(4|8))x": .85, r"skinny_.*_64x64x": .64, r"skinny_.*_256x256x128": .74,
          r"wgmma_words": .22, r"tiny_batched": .15, r"mma_swizzled": .13, r"wgmma_tma": .10}

Product = collections.namedtuple("Product", "type m n k batch ta tb ld beta offset pointers")


def parse_case(text):
    """'h TN 96x64x32 ld=1,2,3 beta=1 batch=2' as a Product, with what the text leaves out."""
    fields = text.split()
    m, n, k = map(int, fields[2].split("x"))
    extra = dict(x.split("=") for x in fields[3:] if "=" in x)
    ta, tb = (x == "T" for x in fields[1])
    ld = list(map(int, extra["ld"].split(","))) if "ld" in extra else [k if ta else m, n if tb else k, m]
    return Product(fields[0], m, n, k, int(extra.get("batch", 1)), ta, tb, ld, float(extra.get("beta", 0)),
                   int(extra.get("offset", 0)), "pointers" in fields)


def cost_problem(x):
    """A Product as the model takes it: extents, flags, the bytes that rows start on multiples of, and those of an element
    of C."""
    return (x.m, x.n, x.k, x.batch, x.ta, x.tb, x.beta != 0, *(math.gcd(2 * ld, 128) for ld in x.ld[:2]),
            4 if x.type == "H" else 2)


def parse_instance(name):
    """The tile's name and its parameters, in the order of cost_model.cc; None for other families."""
    match = INSTANCE.match(name)
    if not match:
        return None
    c_in_f32, tile, m, n, pp, t, stages, _ = match.groups()
    rows = int(n) if t else int(m)
    groups = 1 if pp else 2 if rows == 256 else rows // 64  # of warps, along the rows: instances.h
    return tile + (C_IN_F32 if c_in_f32 else ""), (int(m), int(n), int(stages), t is not None, groups, pp is not None)


def cost_library(build=None):
    """The planner's models, of the build that is named or else the newest."""
    name = "perf/libxgemm_cost_model.so"
    found = list(build.glob(name)) if build else sorted(ROOT.glob(f"build/*/{name}"), key=lambda x: x.stat().st_mtime)
    if not found:
        raise SystemExit("build the target xgemm_cost_model first")
    return ctypes.CDLL(str(found[-1]))


class CostModel:
    """The library's model: times and features of rows."""

    def __init__(self, build=None):
        self.library = cost_library(build)
        counts = (ctypes.c_int * 3)()
        size = ctypes.sizeof(ctypes.c_int)
        constants = self.library.xgemm_cost_features(*(ctypes.byref(counts, i * size) for i in range(3)))
        assert constants == len(CONSTANTS), "CONSTANTS and struct CostConstants differ"
        self.features = list(counts)
        self.library.xgemm_cost_tiles.restype = ctypes.c_char_p
        self.tiles = self.library.xgemm_cost_tiles().decode().split()
        # Of each tile, that with C in 16 bits.
        self.bases = np.array([self.tiles.index(x.removesuffix(C_IN_F32)) for x in self.tiles])
        self.library.xgemm_cluster_shapes.restype = ctypes.POINTER(ctypes.c_int)
        numbers, self.shapes = self.library.xgemm_cluster_shapes(), []
        while numbers[3 * len(self.shapes)]:
            self.shapes.append(tuple(numbers[3 * len(self.shapes):3 * len(self.shapes) + 3]))

    def __call__(self, constants, device, rates, rows, with_features=False):
        pointer = lambda x: x.ctypes.data_as(ctypes.c_void_p)
        constants, device, rates = (np.ascontiguousarray(x, float) for x in (constants, device, rates))
        us = np.empty(len(rows))
        features = np.empty((len(rows), sum(self.features)), np.float32) if with_features else None
        self.library.xgemm_cost(pointer(constants), pointer(device), pointer(rates), ctypes.c_ssize_t(len(rows)),
                                pointer(rows), pointer(us), pointer(features) if with_features else None)
        return (us, features) if with_features else us


def table_of(key):
    return key[1].split(".")[0].split("-")[-1]


def with_pools(rows):
    """Split plans that had memory lent to them, with what a pool would have cost: the median difference of those plans
    that were measured either way, of each GPU."""
    pooled = lambda row: table_of(row[0]) not in LENT
    split = lambda row: row[2][-1] > 1
    plan = lambda row: (row[0][0], row[0][2], *row[1:3])
    either = {plan(row): row[3] for row in rows if not pooled(row)}
    differences = collections.defaultdict(list)
    for row in rows:
        if pooled(row) and plan(row) in either and row[3] < 50:
            differences[row[0][0], split(row)].append(row[3] - either[plan(row)])
    cost = {gpu: np.median(differences[gpu, True]) - np.median(differences[gpu, False])
            for gpu in {row[0][0] for row in rows} if differences[gpu, True]}
    if cost:
        print("a pool's memory for the sums of a split product takes",
              ", ".join(f"{us:.2f}" for _, us in sorted(cost.items())), "us")
    return [row if pooled(row) or not split(row) else (*row[:3], row[3] + cost.get(row[0][0], 0)) for row in rows]


CASE = re.compile(r"[a-zA-Z] [NT][NT] \d+x\d+x\d+( \S+)*$")


def read_table(file):
    """A table of xgemm-tune: the GPU's name; its SMs, clusters of 1, 2, 4 and 8 that fit, bytes of L2; rows of seven fields."""
    refused = f"{pathlib.Path(sys.argv[0]).name}: {file}: "
    try:
        with lzma.open(file, "rt") if file.suffix == ".xz" else open(file) as lines:
            head, *rows = lines.read().splitlines() or [""]
    except (OSError, EOFError, UnicodeDecodeError, lzma.LZMAError) as error:
        raise SystemExit(f"{refused}cannot be read: {error}") from error
    gpu, *numbers = head.removeprefix("# ").split("\t")
    rows = [row.split("\t") for row in rows]
    try:
        numbers = [float(x) for x in ",".join(numbers).split(",")]
        good = head.startswith("# ") and len(numbers) == 6 and all(
            len(row) == 7 and CASE.match(row[0]) and float(row[5]) > 0 and float(row[3]) >= 0 and int(row[4]) >= 1 for row in rows)
    except ValueError:
        good = False
    if not good:
        raise SystemExit(f"{refused}is no table of xgemm-tune")
    if file.suffix == ".xz" and file.name.split(".")[0] not in LATE:
        for row in rows:
            row[5] = max(float(row[5]) - sooner(row[1]), .5 * float(row[5]))
    return gpu, numbers, rows


@functools.cache
def sooner(kernel):
    return next((us for name, us in SOONER.items() if re.match(name, kernel)), 0)


class Measurements:
    """The rows of all files, by GPU and case. A case is one problem in one file: times of different runs are not
    comparable, those of one case are."""
    by_row = "gpu", "tile", "numbers", "cluster", "us", "lost", "best"

    def __init__(self, files, tiles):
        hold_out = set()
        for line in (ROOT / "perf/shapes/holdout.txt").read_text().splitlines():
            fields = line.split("#")[0].split()
            if len(fields) >= 3:
                hold_out.add(tuple(map(int, fields[:3])))
        self.gpus, self.devices, rows = [], [], []
        cublas = {}
        tile_index = {x: i for i, x in enumerate(tiles)}
        for file in files:
            gpu, numbers, lines = read_table(file)
            if gpu not in self.gpus:
                self.gpus.append(gpu)
                self.devices.append(numbers)
            for case, kernel, cluster, whole, parts, us, _ in lines:
                key = self.gpus.index(gpu), file.name, case
                if kernel == "cublas":
                    cublas[key] = float(us)
                    continue
                instance = parse_instance(kernel)
                if instance and instance[0] in tile_index:
                    problem = cost_problem(parse_case(case))
                    if problem[:3] in hold_out:
                        raise SystemExit(f"fit.py: {case} of {file.name} is in perf/shapes/holdout.txt")
                    shape = tuple(map(int, (cluster + "x1").split("x")[:3]))
                    us = float(us)
                    if int(parts) > 1 and table_of(key) in IN_TURN:
                        if us < LONG:
                            continue
                        us -= IN_TURN_US
                    rows.append((key, tile_index[instance[0]], instance[1] + shape + problem + (float(whole), int(parts)),
                                 us))
        if not rows:
            raise SystemExit("fit.py: no time of wgmma_tma in what was measured, to whose kernels rates are fitted: GPUs of compute "
                             "capability 9.0 alone have them")
        rows = with_pools(rows)
        best = collections.defaultdict(lambda: math.inf)
        for key, _, _, us in rows:
            best[key] = min(best[key], us)
        # With those that are far from the best: what nothing is known of may be chosen.
        rows = sorted((r for r in rows if r[3] < 5 * best[r[0]]), key=lambda r: r[0])
        self.tile = np.array([r[1] for r in rows])
        self.numbers = np.array([r[2] for r in rows], float)
        self.cluster = np.array([r[2][6:9] for r in rows], int)
        self.hold([r[0] for r in rows], [r[3] for r in rows], cublas)

    def hold(self, keys, us, cublas):
        """The cases of all rows, which are sorted by them, their times and what these lose."""
        self.keys = list(dict.fromkeys(keys))
        number = {x: i for i, x in enumerate(self.keys)}
        self.case = np.array([number[x] for x in keys])
        self.gpu = np.array([x[0] for x in keys])
        self.us = np.array(us)
        first = np.searchsorted(self.case, np.arange(len(self.keys)))
        self.lost = np.log(self.us / np.minimum.reduceat(self.us, first)[self.case])
        self.best = np.log(self.us) - self.lost
        self.all_cublas = cublas
        self.keep(np.ones(len(keys), bool))

    def keep(self, which):
        """Forgets the other rows, and cases that had no more. What is lost stays what it was beside all rows."""
        for name in self.by_row:
            setattr(self, name, getattr(self, name)[which])
        cases, self.case = np.unique(self.case[which], return_inverse=True)
        self.keys = [self.keys[x] for x in cases]
        self.first = np.searchsorted(self.case, np.arange(len(self.keys)))
        self.cublas = np.array([self.all_cublas.get(x, math.nan) for x in self.keys])
        self.gpu_of_case = self.gpu[self.first]
        # By m, n and k alone: the same extents with other flags or on another GPU are not unseen.
        self.part = np.array([hashlib.md5(x[2].split()[2].encode()).digest()[0] % PARTS for x in self.keys])

    def choice(self, score):
        """The row with the least score of each case."""
        order = np.lexsort((score, self.case))
        return order[np.searchsorted(self.case[order], np.arange(len(self.keys)))]


def model_times(model, data, constants, rates, with_features=False):
    us = np.empty(len(data.us))
    features = np.empty((len(data.us), sum(model.features)), np.float32) if with_features else None
    for i, device in enumerate(data.devices):
        mine = data.gpu == i
        result = model(constants, device, rates[i], np.ascontiguousarray(data.numbers[mine]), with_features)
        us[mine] = result[0] if with_features else result
        if with_features:
            features[mine] = result[1]
    return (us, features) if with_features else us


def fit_model(model, data, constants=None):
    """Constants, unless they are given, and rates. What would be chosen has to be right; what is far from it matters
    little."""
    weight = np.sqrt(np.where(data.lost < math.log(1.6), np.exp(-np.expm1(data.lost) / .2), .03))
    free = [] if constants is not None else list(CONSTANTS.values())
    start = np.log(free + list(RATES.values()) * len(data.gpus))

    def unpack(v):
        v = np.exp(start + v)
        return constants if constants is not None else v[:len(free)], v[len(free):].reshape(-1, len(RATES))

    from scipy.optimize import least_squares

    def residuals(v):
        return np.concatenate([(np.log(model_times(model, data, *unpack(v))) - np.log(data.us)) * weight, .3 * v])

    return unpack(least_squares(residuals, np.zeros(len(start)), loss="soft_l1", f_scale=.08, x_scale=.1, max_nfev=25).x)


def fitted_constants():
    """Those in the source."""
    text = (ROOT / "src/kernels/wgmma_tma/cost_fit.inc").read_text()
    return np.array([float(re.search(rf"\.{x} = ([^,}}]+)", text).group(1)) for x in CONSTANTS])


class Fit:
    """What the source has: constants, rates, clusters, and the network, with no places of tiles that are new."""

    def __init__(self, model, again=None):
        self.text = (ROOT / "src/kernels/wgmma_tma/cost_fit.inc").read_text()
        self.report = [x.removeprefix("//   ") for x in re.findall("^//   .*$", self.text, re.M)]
        self.constants = fitted_constants()
        rows = re.findall(r'{"(.*)", {(.*)}},', (ROOT / "src/device/gpu_rows.inc").read_text())
        self.rates = {name: np.array(list(map(float, numbers.split(",")))) for name, numbers in rows}
        self.tiles = re.findall(r'"(.*?)"', self.text.split("kFittedTiles[] = ")[1].split(";")[0])
        masks = [int(x, 16) for x in re.findall("0x[0-9a-f]+", self.text.split("kFittedClusters[] = ")[1].split(";")[0])]
        self.new = np.array([x not in self.tiles or bool(again and re.search(again, x)) for x in model.tiles])
        self.clusters = np.array([-1 if new else masks[self.tiles.index(x)] for x, new in zip(model.tiles, self.new)])[model.bases]

    def array(self, name, *shape):
        text = re.search(rf"{name}(?:\[\d+\])* = (.*?);", self.text, re.S).group(1)
        return np.array(re.findall(r"[-+.\de]+(?=f)", text), np.float32).reshape(shape)

    def network(self, model, tile_features):
        of_problem, of_tile, of_plan = model.features
        network = Network(sum(model.features), len(model.tiles))
        network.hidden = np.concatenate([self.array("kProblemWeights", of_problem, HIDDEN),
                                         self.array("kTileWeights", of_tile, HIDDEN),
                                         self.array("kPlanWeights", of_plan, HIDDEN)])
        network.direct = np.concatenate([self.array("kProblemDirect", of_problem), self.array("kTileFeaturesDirect", of_tile),
                                         self.array("kPlanDirect", of_plan)])
        network.bias = self.array("kHiddenBias", HIDDEN)
        network.direct_bias = float(self.array("kDirectBias")[()])
        network.output = self.array("kOutputWeights", HIDDEN)
        # In the source with what the tile's features add.
        part = slice(of_problem, of_problem + of_tile)
        place = [self.tiles.index(x) for x in np.array(model.tiles)[~self.new]]
        old = tile_features[~self.new]
        network.tile_hidden[~self.new] = self.array("kTileHidden", len(self.tiles), HIDDEN)[place] - old @ network.hidden[part]
        network.tile_direct[~self.new] = self.array("kTileDirect", len(self.tiles))[place] - old @ network.direct[part]
        # What C in fp32 changes is learnt as a difference.
        network.tile_hidden[self.new] = network.tile_hidden[model.bases[self.new]]
        network.tile_direct[self.new] = network.tile_direct[model.bases[self.new]]
        return network


def add_tiles(model, data, check, again):
    """Gives new tiles a place beside those that there are."""
    fit = Fit(model, again)
    if not fit.new.any():
        raise SystemExit("fit.py: all tiles have a place")
    clusters, weighed = clusters_of(model, data, fit.clusters)
    measured_new = np.zeros(len(data.keys), bool)
    measured_new[data.case[fit.new[data.tile]]] = True
    data.keep(weighed & measured_new[data.case])
    rates = [fit.rates[x] for x in data.gpus]
    us, x = model_times(model, data, fit.constants, rates, True)
    logarithm = np.log(us)
    tile_features = features_of_tiles(model, data, x)
    train = lambda rows, first: fit.network(model, tile_features).train(
        x[rows], data.tile[rows], logarithm[rows], data.lost[rows], data.best[rows], first, new_tiles=np.float32(fit.new))
    score = np.empty(len(us))
    for part in range(PARTS):
        network = train(*rows_of(data, data.part != part))
        rows, _ = rows_of(data, data.part == part)
        score[rows] = logarithm[rows] + network.forward(x[rows], data.tile[rows])[1]
    # Before, there were no new tiles, but those with C in fp32 were taken for the same tiles with C in 16 bits.
    new, unknown = np.array(model.tiles)[fit.new], fit.new & (model.bases == np.arange(len(model.tiles)))
    before = np.where(unknown[data.tile], np.inf, logarithm + fit.network(model, tile_features).forward(x, data.tile)[1])
    names = "C in fp32" if not unknown.any() else ", ".join(new)
    report = [f"{names}, added to it: {line}; {100 * (lost - 1):.1f} % before"
              for line, lost in zip(judge(data, score), lost_by_gpu(data, before).values())]
    print("\n".join(report))
    if not check:
        network = train(*rows_of(data, np.ones(len(data.keys), bool)))
        print("all shapes seen: ", *judge(data, logarithm + network.forward(x, data.tile)[1]), sep="\n  ")
        kept = [x for x in fit.report if not x.startswith(f"{names}, added")]
        write(model, fit.rates.keys(), fit.constants, fit.rates.values(), network, tile_features, clusters, kept + report)


def calibrate(model, file, output):
    data = Measurements([file], model.tiles)
    _, rates = fit_model(model, data, fitted_constants())
    row = "{:.3f} {:.2f} {:.2f} {:.0f} {}".format(*rates[0], data.gpus[0])
    output = output or pathlib.Path(os.environ.get("XGEMM_GPU_RATES") or pathlib.Path(
        os.environ.get("XDG_CONFIG_HOME") or pathlib.Path.home() / ".config", "xgemm", "gpu_rates"))
    try:
        others = [x for x in output.read_text().splitlines() if not x.endswith(" " + data.gpus[0])] if output.exists() else [
            "# sm_ghz l2_tbs memory_tbs tensor_tflops name: written by ./run calibrate"]
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text("\n".join(others + [row]) + "\n")
    except (OSError, UnicodeDecodeError) as error:
        raise SystemExit(f"fit.py: {output}: cannot be written: {error}; the row would be: {row}") from error
    print(f"{output}: {row}")


class Network:
    """Weights of cost_correction.h, on standardised features, and their training by Adam."""

    def __init__(self, features, tiles, seed=0):
        random = np.random.default_rng(seed)
        normal = lambda deviation, *shape: random.normal(0, deviation, shape).astype(np.float32)
        self.hidden = normal(1 / math.sqrt(features), features, HIDDEN)
        self.bias = normal(.3, HIDDEN)
        self.tile_hidden = np.zeros((tiles, HIDDEN), np.float32)
        self.tile_direct = np.zeros(tiles, np.float32)
        self.direct = np.zeros(features, np.float32)
        self.output = normal(.1 / math.sqrt(HIDDEN), HIDDEN)
        self.direct_bias = 0.

    def weights(self):
        return [self.hidden, self.bias, self.tile_hidden, self.tile_direct, self.direct, self.output]

    def of_features_as_they_are(self, mean, deviation):
        self.hidden /= deviation[:, None]
        self.direct /= deviation
        self.bias -= mean @ self.hidden
        self.direct_bias -= mean @ self.direct
        return self

    def forward(self, x, tile):
        hidden = x @ self.hidden + self.tile_hidden[tile] + self.bias
        return hidden, np.maximum(hidden, 0) @ self.output + self.tile_direct[tile] + x @ self.direct + self.direct_bias

    def train(self, x, tile, model, lost, best, first, corrected=1, new_tiles=None):
        """Logarithms of times: the model's, measured over the best of the case, the best. first: row of each case.
        corrected: 0 for rows that the model alone estimates. new_tiles: 1 for those whose places alone are trained."""
        model, lost, best = (v.astype(np.float32) for v in (model, lost, best))
        counts = np.diff(np.append(first, len(lost)))
        case = np.repeat(np.arange(len(first)), counts)
        near = np.exp(-lost / .12) + .01
        near /= np.add.reduceat(near, first)[case]
        cost = np.minimum(lost, .5)
        places = self.tile_hidden.copy(), self.tile_direct.copy()
        moments = [np.zeros_like(w) for w in self.weights()], [np.zeros_like(w) for w in self.weights()]
        for step in range(STEPS):
            hidden, output = self.forward(x, tile)
            score = model + corrected * output
            # Each plan is chosen with a probability by its score; the gradient is of the expected loss.
            power = (np.minimum.reduceat(score, first)[case] - score) / SOFTNESS
            chosen = np.exp(power)
            chosen /= np.add.reduceat(chosen, first)[case]
            gradient = -chosen * (cost - np.add.reduceat(chosen * cost, first)[case]) / SOFTNESS
            # And the scores of good plans are to differ as their times do.
            difference = score - lost
            common = np.add.reduceat(near * difference, first)[case]
            gradient += near * (REGRESSION * (difference - common) + ABSOLUTE * (difference - best))
            gradient *= corrected / np.float32(len(first))
            back = gradient[:, None] * self.output * (hidden > 0)
            sums = np.stack([np.bincount(tile, column, len(self.tile_direct)) for column in back.T], 1)
            gradients = [
                x.T @ back + DECAY * self.hidden, back.sum(0), sums + 10 * DECAY * (self.tile_hidden - places[0]),
                np.bincount(tile, gradient, len(self.tile_direct)) + DECAY * (self.tile_direct - places[1]),
                x.T @ gradient + DECAY * self.direct,
                np.maximum(hidden, 0).T @ gradient + DECAY * self.output
            ]
            if new_tiles is not None:
                for i, g in enumerate(gradients):
                    gradients[i] = g * (new_tiles.reshape(-1, *[1] * (g.ndim - 1)) if i in (2, 3) else np.float32(0))
            rate = RATE * min(1, step / 30) * .5 * (1 + math.cos(math.pi * step / STEPS))
            for weight, g, mean, square in zip(self.weights(), gradients, *moments):
                mean += .1 * (g - mean)
                square += .01 * (g * g - square)
                weight -= rate * (mean / (1 - .9**(step + 1))) / (np.sqrt(square / (1 - .99**(step + 1))) + 1e-9)
        return self


def rows_of(data, cases):
    """The rows of some cases, and where each case begins among them."""
    rows = np.flatnonzero(cases[data.case])
    return rows, np.searchsorted(data.case[rows], np.flatnonzero(cases))


def lost_by_gpu(data, score):
    """How many times the best plan's time the choices take, by number of GPU."""
    lost = data.lost[data.choice(score)]
    return {i: np.exp(lost[data.gpu_of_case == i].mean()) for i in np.unique(data.gpu_of_case)}


def judge(data, score):
    """Lines of text: how much slower than the best the choices are, and how fast beside cuBLAS, by GPU."""
    chosen = data.choice(score)
    lines = []
    for i, lost in lost_by_gpu(data, score).items():
        mine = data.gpu_of_case == i
        error = np.abs(score[chosen[mine]] - np.log(data.us[chosen[mine]])).mean()
        ratio = data.cublas[mine] / data.us[chosen[mine]]
        best = data.cublas[mine] / np.exp(data.best[data.first[mine]])
        mean = lambda x: math.exp(np.nanmean(np.log(x)))
        lines.append(f"{data.gpus[i]}: {mine.sum()} problems, {100 * (lost - 1):.1f} % slower than the best plan measured; "
                     f"{mean(ratio):.3f} of cuBLAS's speed, the best plans {mean(best):.3f}; times off by {100 * error:.0f} %")
    return lines


def clusters_of(model, data, known):
    """For each tile, the shapes of clusters that are worth weighing, as a mask: single CTAs, and what is left when of all
    pairs of tile and shape the one goes, again and again, whose loss costs the problems least. By those problems that
    were measured in clusters of many shapes; what was not measured counts as slow. Clusters that share K are weighed
    wherever there is one for each tile. A tile with C in fp32 has those of the same tile. known: masks that are what they
    are; -1 for the others."""
    shape = np.array([model.shapes.index(tuple(x)) for x in data.cluster])
    shares_k = data.cluster[:, 2] > 1
    pair = model.bases[data.tile] * len(model.shapes) + shape
    table = np.full((len(data.keys), len(model.tiles) * len(model.shapes)), UNMEASURED, np.float32)
    np.minimum.at(table, (data.case[~shares_k], pair[~shares_k]), data.lost[~shares_k])
    shapes_of_case = np.array([len(set(shape[(data.case == i) & ~shares_k])) for i in range(len(data.keys))])
    table = table[shapes_of_case >= MANY_SHAPES]
    kept = np.unique(pair[~shares_k])
    kept = kept[known[kept // len(model.shapes)] >> kept % len(model.shapes) & 1 == 1]
    is_known = lambda: known[kept // len(model.shapes)] >= 0
    unknown = np.sum(known[np.unique(model.bases)] < 0)
    while np.sum(~is_known()) > WEIGHED * unknown:
        order = np.argpartition(table[:, kept], 1, axis=1)[:, :2]
        least = np.take_along_axis(table[:, kept], order, 1)
        best = order[np.arange(len(order)), least.argmin(1)]
        cost = np.bincount(best, np.abs(least[:, 1] - least[:, 0]), len(kept))
        cost[is_known() | (kept % len(model.shapes) == model.shapes.index((1, 1, 1)))] = np.inf
        kept = np.delete(kept, cost.argmin())
    print(f"{len(kept)} pairs of tiles and clusters, {100 * table[:, kept].min(1).mean():.2f} % slower than all")
    masks = np.where(known < 0, 1, known)
    for x in kept:
        masks[x // len(model.shapes)] |= 1 << x % len(model.shapes)
    return masks[model.bases], shares_k | np.isin(pair, kept)


def literal(value):
    """A float of C++ with four digits, as short as it can be: there are ten thousand of them."""
    text = f"{value:.4g}"
    if not re.search("[.e]", text):
        text += "."
    return re.sub(r"^(-?)0\.(?=\d)", r"\1.", text) + "f"


def array(name, values):
    values = np.asarray(values, float)
    head = f"constexpr float {name}" + "".join(f"[{x}]" for x in values.shape) + " = "
    row = lambda numbers: "{" + ",".join(map(literal, numbers)) + "}"
    return head + (row(values) if values.ndim == 1 else "{\n    " + ",\n    ".join(map(row, values)) + "}") + ";\n"


def features_of_tiles(model, data, features):
    of_problem, of_tile, _ = model.features
    of_tiles = np.zeros((len(model.tiles), of_tile))
    of_tiles[data.tile] = features[:, of_problem:of_problem + of_tile]
    return of_tiles


def write(model, gpus, constants, rates, network, tile_features, clusters, report):
    of_problem, of_tile, _ = model.features
    hidden, direct = network.hidden, network.direct
    split = of_problem, of_problem + of_tile
    # What is the same for all uses of a tile.
    tile_hidden = network.tile_hidden + tile_features @ hidden[split[0]:split[1]]
    tile_direct = network.tile_direct + tile_features @ direct[split[0]:split[1]]
    comment = "".join(f"//   {line}\n" for line in report)
    with open(ROOT / "src/kernels/wgmma_tma/cost_fit.inc", "w") as out:
        out.write("// Written by perf/tune/fit.py. Choices for shapes that were left out of the fit:\n" + comment +
                  "// clang-format off\n")
        out.write("constexpr CostConstants kFittedConstants = {" +
                  ", ".join(f".{x} = {v:.4g}" for x, v in zip(CONSTANTS, constants)) + "};\n")
        out.write("constexpr std::string_view kFittedTiles[] = {" + ", ".join(f'"{x}"' for x in model.tiles) + "};\n")
        out.write("constexpr unsigned short kFittedClusters[] = {" + ", ".join(f"{x:#x}" for x in clusters) + "};\n")
        out.write(array("kHiddenBias", network.bias).replace(f"float kHiddenBias[{HIDDEN}]",
                                                             f"std::array<float, {HIDDEN}> kHiddenBias"))
        out.write(array("kProblemWeights", hidden[:split[0]]) + array("kTileWeights", hidden[split[0]:split[1]]))
        out.write(array("kPlanWeights", hidden[split[1]:]))
        out.write(f"constexpr float kDirectBias = {literal(network.direct_bias)};\n")
        out.write(array("kProblemDirect", direct[:split[0]]) + array("kTileFeaturesDirect", direct[split[0]:split[1]]))
        out.write(array("kPlanDirect", direct[split[1]:]) + array("kTileHidden", tile_hidden))
        out.write(array("kTileDirect", tile_direct) + array("kOutputWeights", network.output))
        out.write("// clang-format on\n")
    with open(ROOT / "src/device/gpu_rows.inc", "w") as out:
        out.write("// Written by perf/tune/fit.py: the rates of the GPUs that were measured.\n")
        for gpu, x in zip(gpus, rates):
            out.write(f'{{"{gpu}", {{{x[0]:.3f}, {x[1]:.2f}, {x[2]:.2f}, {x[3]:.0f}}}}},\n')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measured", nargs="*", type=pathlib.Path, help="tables of xgemm-tune, compressed by xz")
    parser.add_argument("--check", action="store_true", help="only say how good the choices are")
    parser.add_argument("--add", action="store_true", help="fit but the tiles that are new")
    parser.add_argument("--again", metavar="TILES", help="with --add: tiles to be taken for new, a regular expression")
    parser.add_argument("--calibrate", type=pathlib.Path, metavar="FILE", help="fit the rates of one GPU to a table")
    parser.add_argument("--build", type=pathlib.Path, metavar="FOLDER", help="the build whose models are fitted (newest of build/*)")
    parser.add_argument("--output", type=pathlib.Path, help="where --calibrate writes the row")
    arguments = parser.parse_args()
    if arguments.again and not arguments.add:
        parser.error("--again needs --add")
    if arguments.output and not arguments.calibrate:
        parser.error("--output needs --calibrate")
    model = CostModel(arguments.build)
    if arguments.calibrate:
        return calibrate(model, arguments.calibrate, arguments.output)
    data = Measurements(sorted(arguments.measured or (ROOT / "perf/tune/measured").glob("*.tsv.xz")), model.tiles)
    if arguments.add:
        return add_tiles(model, data, arguments.check, arguments.again)
    clusters, weighed = clusters_of(model, data, np.full(len(model.tiles), -1))
    data.keep(weighed)
    constants, rates = fit_model(model, data)
    us, features = model_times(model, data, constants, rates, True)
    logarithm = np.log(us)
    report = ["the model alone: " + x for x in judge(data, logarithm)]

    mean, deviation = features.mean(0), features.std(0) + 1e-6
    x = ((features - mean) / deviation).astype(np.float32)
    fresh = lambda: Network(x.shape[1], len(model.tiles))
    score = np.empty(len(us))
    for part in range(PARTS):
        rows, first = rows_of(data, data.part != part)
        network = fresh().train(x[rows], data.tile[rows], logarithm[rows], data.lost[rows], data.best[rows], first)
        rows, _ = rows_of(data, data.part == part)
        score[rows] = logarithm[rows] + network.forward(x[rows], data.tile[rows])[1]
    report += ["corrected: " + x for x in judge(data, score)]
    print("\n".join(report))
    if not arguments.check:
        network = fresh().train(x, data.tile, logarithm, data.lost, data.best, data.first)
        print("all shapes seen: ", *judge(data, logarithm + network.forward(x, data.tile)[1]), sep="\n  ")
        write(model, data.gpus, constants, rates, network.of_features_as_they_are(mean, deviation),
              features_of_tiles(model, data, features), clusters, report)


if __name__ == "__main__":
    main()
