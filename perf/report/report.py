#!/usr/bin/env python3
"""Makes one self-contained HTML page, and the same pictures as SVG files, from result files of xgemm-bench.

SPDX-License-Identifier: BSD-3-Clause
"""

import argparse
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from data import InputError, geometric_mean, load, load_json  # noqa: E402


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("results", help="result file of xgemm-bench --json")
    parser.add_argument("--ladder", help="result file of xgemm-bench --ladder --json")
    parser.add_argument("--comparison", help="verdicts of xgemm-compare --json")
    parser.add_argument("--html", help="the page to write")
    parser.add_argument("--svg", help="folder to write the pictures to")
    parser.add_argument("--prefix", default="", help="put before the names of the SVG files")
    return parser.parse_args(arguments)


def means_by_type(results):
    means = []
    for letter in results.types():
        ratios = [found.ratio.median for row in results.rows if row.type == letter
                  for found in [row.find(results.primary())] if found and found.ok and found.ratio]
        if ratios:
            means.append((letter, geometric_mean(ratios), len(ratios)))
    return means


def write(path, text):
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def main(arguments=None):
    options = parse_arguments(arguments)
    try:
        results = load(options.results)
        ladder = load(options.ladder) if options.ladder else None
        comparison = load_json(options.comparison, "xgemm-compare") if options.comparison else None
    except InputError as error:
        print(f"report.py: {error}", file=sys.stderr)
        return 2
    try:
        import figures
        import page
    except ImportError as error:
        print(f"report.py: needs matplotlib (Debian: python3-matplotlib): {error}", file=sys.stderr)
        return 2
    pictures = figures.make_all(results, ladder)
    if options.html:
        write(options.html, page.render(results, pictures, comparison, means_by_type(results)))
    if options.svg:
        for name, _, _, svg in pictures:
            if svg is not None:
                write(pathlib.Path(options.svg) / f"{options.prefix}{name}.svg", svg)
    return 0


if __name__ == "__main__":
    sys.exit(main())
