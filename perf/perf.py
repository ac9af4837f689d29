#!/usr/bin/env python3
"""Measures the standard sets of shapes, compares them with the baseline of this machine, writes a report.

What this program does not know goes to xgemm-bench. Where that names shapes or types, what else the baseline has is no
regression. Exit status: 0 no regression, 1 a regression or a wrong result, 2 bad input, 3 the device failed, 130 Ctrl-C.

SPDX-License-Identifier: BSD-3-Clause
"""

import argparse
import importlib.util
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

from cli import InputError, in_words, percents

HERE = pathlib.Path(__file__).resolve().parent
BASELINES = HERE / "baselines"
NEEDED = ("numpy", "pandas", "matplotlib")
# Options of xgemm-bench that name shapes, and that name what products of them are like.
NAMES_SHAPES = ("--shapes", "--m", "--n", "--k", "--replay", "--quick")
NAMES_FORMS = ("--type", "--trans", "--alpha", "--beta", "--epilogue", "--pad", "--offset", "--batch", "--location")
# Those with which a run is still one of the standard sets as they are.
OF_A_BASELINE = ("--standard", "--max-time", "--min-rounds", "--max-rounds", "--precision", "--device", "--json", "--commit",
                 "--verbose")
BAD_INPUT = 2


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0], epilog=__doc__.split("\n\n")[1],
                                     allow_abbrev=False)
    parser.add_argument("--build", default="build/release", help="build folder with the programs (%(default)s)")
    parser.add_argument("--out", help="folder for the results and the report (BUILD/perf-report)")
    parser.add_argument("--baseline", help="file to compare with (that of this machine in perf/baselines)")
    parser.add_argument("--save-baseline", action="store_true", help="make this run the baseline of this machine, or FILE")
    parser.add_argument("--tolerance", type=percents, default="3", help="percent that a shape may lose (%(default)s)")
    parser.add_argument("--no-report", action="store_true", help="only measure and compare")
    parser.add_argument("--no-ladder", action="store_true", help="do not measure the ladder of kernels")
    parser.add_argument("--svg", help="folder for the pictures as SVG files (OUT/figures)")
    return parser.parse_known_args(arguments)


def commit():
    """The commit of the source, with a mark when the tree differs from it; empty outside a repository."""
    def git(*words):
        return subprocess.run(["git", "-C", str(HERE), *words], capture_output=True, text=True, check=False)

    if shutil.which("git") is None:
        return ""
    head = git("rev-parse", "--short=12", "HEAD")
    if head.returncode != 0:
        return ""
    dirty = git("status", "--porcelain", "--untracked-files=no").stdout.strip()
    return head.stdout.strip() + ("-dirty" if dirty else "")


def run(command):
    """The exit status of a program that writes to our terminal. Ctrl-C is its business: it ends in order."""
    print(f"$ {shlex.join(str(word) for word in command)}", flush=True)
    with subprocess.Popen([str(word) for word in command]) as process:
        while True:
            try:
                return process.wait()
            except KeyboardInterrupt:
                continue


def machine_slug(machine):
    """'NVIDIA H200' → 'h200'; the name of the baseline's file."""
    words = re.sub(r"\(.*?\)|NVIDIA|Tesla|GeForce|Graphics|Device|CPU|@.*", " ", machine)
    return re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-") or "unknown"


def baseline_path(options, results):
    if options.baseline:
        return pathlib.Path(options.baseline)
    return BASELINES / f"{machine_slug(results.environment.get('machine', ''))}.json"


def save_baseline(results_path, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(results_path, path)
    print(f"saved as the baseline {path}: commit it as it is")


def offer_baseline(results_path, path, good):
    """Says that there is none, and asks where somebody can answer and the run could be one."""
    print(f"there is no baseline for this machine ({path})")
    if not good:
        return
    if sys.stdin.isatty() and sys.stdout.isatty():
        try:
            if input("save this run as the baseline? [y/N] ").strip().lower() in ("y", "yes"):
                save_baseline(results_path, path)
                return
        except EOFError:
            pass
    print("--save-baseline makes a run the baseline")


def names_fewer(words):
    """Whether xgemm-bench is asked for less than the standard sets, or for something else: what the baseline has beside that
    was left out and has not gone."""
    return any(word.split("=")[0] in NAMES_SHAPES + NAMES_FORMS for word in words)


def beside_a_baseline(words):
    """The options of xgemm-bench with which a run is no baseline of the machine."""
    names = dict.fromkeys(word.split("=")[0] for word in words if word.startswith("--"))
    return [name for name in names if name not in OF_A_BASELINE]


def for_the_ladder(words):
    """What of the words for xgemm-bench is for the ladder too: all but options that name shapes or their forms, and the
    values of these."""
    left, kept = [], True
    for word in words:
        if word.startswith("--"):
            kept = word.split("=")[0] not in NAMES_SHAPES + NAMES_FORMS + ("--standard",)
        left += [word] if kept else []
    return left


def judge(options, results_path, results, out, passed_on, status):
    """The exit status of the comparison, and the file of its verdicts if there is one. `status`: of the run."""
    import compare

    path = baseline_path(options, results)
    if options.save_baseline:
        if status == 0:
            save_baseline(results_path, path)
        else:
            print("perf.py: not saved: a result is wrong or failed", file=sys.stderr)
        return 0, None
    if not path.exists():
        offer_baseline(results_path, path, results.complete and not beside_a_baseline(passed_on) and status == 0)
        return 0, None
    verdicts = out / "comparison.json"
    verdicts.unlink(missing_ok=True)
    status = compare.main([str(path), str(results_path), "--tolerance", f"{100 * options.tolerance:g}", "--json", str(verdicts),
                           *(["--allow-missing"] if names_fewer(passed_on) else [])])
    return status, verdicts if verdicts.exists() else None


def measure_ladder(bench, results, out, extra):
    """Only where there are kernels to climb on."""
    if "gpu" not in results.environment:
        return None
    path = out / "ladder.json"
    status = run([bench, "--ladder", "--type", "s,h", "--json", path, *extra])
    return path if status in (0, 1) and path.exists() else None


def write_report(options, results_path, ladder, verdicts, out):
    import report

    page = out / "report.html"
    words = [results_path, "--html", page, "--svg", options.svg or out / "figures"]
    words += ["--ladder", ladder] if ladder else []
    words += ["--comparison", verdicts] if verdicts else []
    if report.main([str(word) for word in words]) == 0:
        print(f"report: {page}")


@in_words
def main(arguments=None):
    options, passed_on = parse_arguments(arguments)
    passed_on = [word for word in passed_on if word != "--"]
    if options.save_baseline and not options.baseline and (others := beside_a_baseline(passed_on)):
        raise InputError(f"--save-baseline: a run with {', '.join(others)} is no baseline of this machine; name a file by --baseline")
    bench = pathlib.Path(options.build).resolve() / "perf" / "xgemm-bench"
    if not bench.exists():
        print(f"perf.py: not built: {bench}", file=sys.stderr)
        return BAD_INPUT
    # Said now and not after an hour.
    if missing := [name for name in NEEDED if importlib.util.find_spec(name) is None]:
        print(f"perf.py: needs {', '.join(missing)} (Debian: python3-NAME)", file=sys.stderr)
        return BAD_INPUT
    from results import load, to_csv

    if options.baseline and not options.save_baseline:
        load(options.baseline)
    out = pathlib.Path(options.out or pathlib.Path(options.build) / "perf-report").resolve()
    out.mkdir(parents=True, exist_ok=True)
    if not options.no_report:
        pathlib.Path(options.svg or out / "figures").mkdir(parents=True, exist_ok=True)
    results_path = out / "results.json"
    results_path.unlink(missing_ok=True)

    names_shapes = any(word.split("=")[0] in NAMES_SHAPES for word in passed_on)
    what = [] if names_shapes else ["--standard"]
    status = run([bench, *what, "--ceilings", "--json", results_path, "--commit", commit(), *passed_on])
    try:
        results = load(results_path)
    except InputError as error:
        print(f"perf.py: {error}", file=sys.stderr)
        return status or BAD_INPUT
    (out / "results.csv").write_text(to_csv(results), encoding="utf-8")
    verdicts = None
    ladder = None
    if status in (0, 1) and results.complete:
        compared, verdicts = judge(options, results_path, results, out, passed_on, status)
        status = status or compared
        if not options.no_ladder:
            ladder = measure_ladder(bench, results, out, ["--commit", commit(), *for_the_ladder(passed_on)])
    if not options.no_report and len(results.frame):
        write_report(options, results_path, ladder, verdicts, out)
    return status


if __name__ == "__main__":
    sys.exit(main())
