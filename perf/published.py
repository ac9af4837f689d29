#!/usr/bin/env python3
"""What the committed results say: the tables that xgemm-bench printed, in docs/results, taken together.

    perf/published.py                              means and worst products of the sets of perf/shapes, of the newest file of each
    perf/published.py --below .9 [--since DATE]    products that take longer than cuBLAS by so much where they were measured last
    perf/published.py --case REGEX [FILE...]       products whose names have a match, and their geometric mean
    perf/published.py --gain FILE...               of products beside another build (--against): its times over ours

The newest file of a set is the one of which libxgemm and cuBLAS were run last, among those that have at least two thirds of
the products that any file of that GPU and type has of it. Only times of libxgemm as it plans count, with strict fp32: no forced
kernels, and, unless files are named, beside cuBLAS with 32 MiB and in no file of what was before a change.

SPDX-License-Identifier: BSD-3-Clause
"""

import argparse
import math
import pathlib
import re
import sys

from cli import in_words

HERE = pathlib.Path(__file__).resolve().parent
RESULTS = HERE.parent / "docs/results"
TOURS = {"quick", "quick-cpu"}  # a few products of everything
LEFT_OUT = re.compile(r"-(fp32-emulated|fp32-prepared|tf32|before)\.txt$")
MACHINE = re.compile(r"^(NVIDIA .*), driver .*, (\d{4}-\d\d-\d\dT\S+Z)$")
HEADING = re.compile(r"^case +(\S+) us +\S+ +(\S+) us ")
CASE = re.compile(r"^([a-zA-Z] [NT]{2} \d+x\d+x\d+(?: [\w=,+.-]+)*) {2,}\S+ +\S+ +\S+ +\S+ +([\d.]+) +\[")
BESIDE = re.compile(r"^  \+ against:\S+ +\S+ +\S+ +([\d.]+) +\[")
AGAINST = re.compile(r"^\S+ against (\S+): geometric mean")
MEAN = re.compile(r"^  (\S+) +(\S+) +([\d.]+) +\[.*\] +(\d+) shapes, worst ([\d.]+) at (.*)$")


class Run:
    """What one run of xgemm-bench printed: ratios of products by their names, and lines of sets, to the reference that the
    columns name."""

    def __init__(self, file, gpu, created):
        self.file, self.gpu, self.created = file, gpu, created
        self.candidate = self.reference = ""
        self.ratios, self.sets = {}, []
        self.gains = {}  # times of the other build over ours, of products that both were measured with


def runs_of(file):
    """The runs that a file holds, in its order."""
    runs, reference, case = [], "", ""
    for line in file.read_text(encoding="utf-8", errors="replace").splitlines():
        if not line.startswith("  + "):  # further candidates of the product above
            case = ""
        if match := MACHINE.match(line):
            gpu = re.sub(r"NVIDIA (\S+).*", r"\1", match[1])
            runs.append(Run(file.name, gpu, match[2]))
        elif runs and (match := HEADING.match(line)):
            runs[-1].candidate, runs[-1].reference = match[1], match[2]
        elif runs and (match := CASE.match(line)) and "  (against " not in line:
            case = match[1]
            runs[-1].ratios[case] = float(match[2])
        elif runs and case and (match := BESIDE.match(line)):
            runs[-1].gains[case] = runs[-1].ratios[case] / float(match[1])
        elif match := AGAINST.match(line):
            reference = match[1]
        elif runs and (match := MEAN.match(line)) and reference == runs[-1].reference:
            runs[-1].sets.append((match[1], match[2], float(match[3]), int(match[4]), float(match[5]), match[6]))
    return [run for run in runs if run.candidate == "xgemm"]


def by_age(files):
    """All runs, the oldest first."""
    return sorted((run for file in files for run in runs_of(file)), key=lambda run: run.created)


def as_planned(files):
    """Those beside cuBLAS, as libxgemm plans."""
    return [run for run in by_age(file for file in files if not LEFT_OUT.search(file.name)) if run.reference == "cublas-ws32"]


def newest_sets(runs, names):
    """Set, GPU and type: mean, worst ratio, its product, file."""
    lines = {}
    for run in runs:
        for name, kind, mean, count, worst, case in run.sets:
            if name in names:
                lines.setdefault((name, run.gpu, kind), []).append((count, mean, worst, case, run.file))
    newest = {}
    for key, found in lines.items():
        most = max(line[0] for line in found)
        newest[key] = [line[1:] for line in found if line[0] >= most * 2 / 3][-1]
    return newest


def newest_ratios(runs):
    """GPU and product: ratio, file."""
    return {(run.gpu, case): (ratio, run.file) for run in runs for case, ratio in run.ratios.items()}


def any_gpu(files):
    """`h100-a.txt`, `h200-a.txt` -> `*-a.txt`"""
    return sorted({re.sub(r"^h\d00-", "*-", file) for file in files})


def table(newest):
    """In Markdown, a line for each set."""
    gpus = sorted({gpu for _, gpu, _ in newest})
    columns = [(gpu, kind) for kind in ("fp32", "fp16") for gpu in gpus]
    lines = ["| | " + " | ".join(f"{gpu}, {kind}" for gpu, kind in columns) + " | files |", "| --- |" + " --- |" * (len(columns) + 1)]
    for name in sorted({name for name, _, kind in newest if kind in ("fp32", "fp16")}):
        found = [newest.get((name, *column)) for column in columns]
        cells = [f"{line[0]:.3f}, {line[1]:.3f}" if line else "" for line in found]
        files = any_gpu(line[3] for line in found if line)
        lines.append(f"| `{name}` | " + " | ".join(cells) + " | " + ", ".join(f"`{file}`" for file in files) + " |")
    return "".join(line + "\n" for line in lines)


def pattern(text):
    try:
        return re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"'{text}' is no regular expression: {error}") from error


@in_words
def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("files", nargs="*", type=pathlib.Path, help="files of docs/results (all)")
    parser.add_argument("--below", type=float, metavar="RATIO", help="list the products whose ratio is less, the worst first")
    parser.add_argument("--since", default="", metavar="DATE", help="leave out what was measured before, as 2026-11-27")
    parser.add_argument("--case", type=pattern, metavar="REGEX", help="list these products and their mean")
    parser.add_argument("--gain", action="store_true", help="the mean, the least and the most of what the files gained")
    options = parser.parse_args(arguments)
    runs = by_age(options.files) if options.files else as_planned(sorted(RESULTS.glob("*.txt")))
    runs = [run for run in runs if run.created >= options.since]
    if not runs:
        print("published.py: no table of xgemm-bench there", file=sys.stderr)
        return 2
    if options.gain:
        for run in runs:
            gains = run.gains
            if gains:
                least, most = min(gains, key=gains.get), max(gains, key=gains.get)
                print(f"{math.exp(sum(map(math.log, gains.values())) / len(gains)):.3f}  geometric mean of {len(gains)}, "
                      f"from {gains[least]:.3f} at {least} to {gains[most]:.3f} at {most}  {run.file}")
        return 0
    if options.below is None and options.case is None:
        print(table(newest_sets(runs, {path.stem for path in (HERE / "shapes").glob("*.txt")} - TOURS)), end="")
        return 0
    found = [(ratio, *key, file) for key, (ratio, file) in newest_ratios(runs).items()
             if (options.below is None or ratio < options.below) and (options.case is None or options.case.search(key[1]))]
    for ratio, gpu, case, file in sorted(found):
        print(f"{ratio:.3f}  {gpu:5} {case:48} {file}")
    for gpu in sorted({line[1] for line in found}) if options.case else ():
        logs = [math.log(line[0]) for line in found if line[1] == gpu]
        print(f"{math.exp(sum(logs) / len(logs)):.3f}  {gpu:5} geometric mean of {len(logs)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
