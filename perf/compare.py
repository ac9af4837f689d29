#!/usr/bin/env python3
"""Says shape by shape whether NEW is slower than BASE.

What is compared is the ratio to the reference (cuBLAS) that both files measured on their own machine, so that a faster
clock or another GPU of the same kind does not look like a change of the library. A verdict rests on the whole interval
of the change, never on its middle:

           1-t          1          1+t                 t: the tolerance
    SLOWER  )[    SAME  |           ](  FASTER         UNCLEAR: the interval crosses an edge

FAILED: wrong, or the call fails; MISSING: BASE has this shape and NEW does not, or could not measure it; ADDED: the
other way round; INCOMPARABLE: the two refer to different references, or one of them to none.
Exit status: 0 no regression, 1 a shape is SLOWER, FAILED or MISSING, or INCOMPARABLE that BASE has a ratio of, 2 bad input
or nothing to compare.

SPDX-License-Identifier: BSD-3-Clause
"""

import argparse
import json
import sys

import numpy as np
import pandas as pd

from cli import InputError, in_words, percents
from results import TYPE_NAMES, load

VERDICTS = ["SLOWER", "FASTER", "SAME", "UNCLEAR", "FAILED", "MISSING", "ADDED", "INCOMPARABLE"]
INTERVAL = ["low", "middle", "high"]
MOST_LISTED = 10


def judge(low, high, tolerance):
    """Verdicts of changes between `low` and `high`."""
    return np.select([~((low > 0) & (high >= low)), high < 1 - tolerance, low > 1 + tolerance,
                      (low >= 1 - tolerance) & (high <= 1 + tolerance)], ["UNCLEAR", "SLOWER", "FASTER", "SAME"], "UNCLEAR")


def changes(before, after, noise):
    """Interval of after / before. The two are independent: half widths of logarithms add in squares, and what lowers the
    ratio of `before` raises the change."""
    below = np.hypot(np.log(after.middle / after.low), np.log(before.high / before.middle))
    above = np.hypot(np.log(after.high / after.middle), np.log(before.middle / before.low))
    middle = after.middle / before.middle
    return pd.DataFrame({"low": middle * np.exp(-below) * (1 - noise), "middle": middle,
                         "high": middle * np.exp(above) * (1 + noise)})


def mean_change(change):
    """Geometric mean, the rows' own errors taken as independent."""
    logs = np.log(change[INTERVAL])
    mean, count = logs.middle.mean(), len(logs)
    below, above = np.linalg.norm(logs.middle - logs.low), np.linalg.norm(logs.high - logs.middle)
    return {"low": np.exp(mean - below / count), "middle": np.exp(mean), "high": np.exp(mean + above / count)}


def measured(shapes, by_time):
    """What is compared, as an interval: the ratio to the reference, or the time."""
    names = ["time_low_us", "time_us", "time_high_us"] if by_time else ["ratio_low", "ratio", "ratio_high"]
    return shapes[names].set_axis(INTERVAL, axis=1)


def why_not(shapes, candidate):
    """Why a candidate was not measured, in words."""
    absent = "no candidate " + candidate
    row = shapes.row_status + ": " + shapes.row_reason
    return np.where(shapes.status != "", shapes.status + ": " + shapes.reason, np.where(shapes.row_reason != "", row, absent))


def compare(base, new, options):
    """A line per shape: set, type, verdict, note, the change and both speeds; then the same by set, and of all."""
    names = [name for results in (base, new) for name in results.frame.candidate.unique() if name]
    if options.candidate not in names:
        raise InputError(f"no candidate '{options.candidate}' in either file, but {', '.join(dict.fromkeys(names)) or 'none'}")
    old, now = base.of(options.candidate), new.of(options.candidate)
    if not len(old.index.intersection(now.index)):
        raise InputError("the two files have no shape in common")
    ids = old.index.append(now.index.difference(old.index, sort=False))
    in_old, in_now = ids.isin(old.index), ids.isin(now.index)
    old, now = old.reindex(ids), now.reindex(ids)
    was = (old.status == "ok") & (old.time_us > 0)
    now_is = (now.status == "ok") & (now.time_us > 0)
    noise = np.where(old.location.fillna("").str.contains("h"), max(options.noise, options.host_noise), options.noise)
    before, after = measured(old, options.times), measured(now, options.times)
    # Half the time is twice the speed.
    change = changes(*((after, before) if options.times else (before, after)), noise)

    why = why_not(now, options.candidate)
    names = [shapes.reference.replace("", "nothing") for shapes in (old, now)]
    conditions, verdicts, notes = zip(
        (in_now & (now.status == "failed"), "FAILED", why),
        (in_old & ~in_now, np.where(was, "MISSING", "NEVER"), "not in the new file"),
        (~in_old, "ADDED", now.reason),
        (~was & ~now_is, "INCOMPARABLE", why),
        (~was, "ADDED", ""),
        (~now_is, "MISSING", why),
        ((names[0] != names[1]) & (not options.times), "INCOMPARABLE",
         "ratios refer to " + names[0] + " and to " + names[1]),
        (change.middle.isna(), "INCOMPARABLE", "no ratio"),
        (change.middle.notna(), judge(change.low, change.high, options.tolerance), ""))
    verdict, note = np.select(conditions, verdicts, ""), np.select(conditions, notes, "")
    change[~np.isin(verdict, ["SLOWER", "FASTER", "SAME", "UNCLEAR"])] = np.nan
    rows = pd.DataFrame({"id": ids, "set": old.set.fillna(now.set), "type": old.type.fillna(now.type), "verdict": verdict,
                         "note": note, "absent": ~in_now}, index=ids)
    rows = rows.join([change, before.add_prefix("before_"), after.add_prefix("after_")])
    # What neither could measure is no loss.
    rows = rows[verdict != "NEVER"].reset_index(drop=True)

    def group(name, letter, members):
        mean = mean_change(members)
        return {"set": name, "type": TYPE_NAMES.get(letter, ""), "shapes": len(members), **mean,
                "verdict": str(judge(mean["low"], mean["high"], options.tolerance))}

    judged = rows[rows.middle.notna()]
    if judged.empty and not regressions(rows, options).verdict.isin(["FAILED", "MISSING"]).any():
        raise InputError("no shape has a ratio to the same reference in both files")
    groups = [group(*key, members) for key, members in judged.groupby(["set", "type"], sort=False)]
    if len(judged):  # or all have failed or are missing
        groups.append(group("all", "", judged))
    return rows, pd.DataFrame(groups, columns=["set", "type", "shapes", *INTERVAL, "verdict"])


def regressions(rows, options):
    """What fails the gate, worst first: failures, then losses by their size, then missing shapes, then ratios that went.
    --allow-missing is for shapes that nobody asked for, not for those that were not measured."""
    ranks = {"FAILED": 0, "SLOWER": 1, "MISSING": 2, "INCOMPARABLE": 3}
    bad = rows[rows.verdict.isin(ranks) & ~(options.allow_missing & (rows.verdict == "MISSING") & rows.absent)
               & ~((rows.verdict == "INCOMPARABLE") & (options.allow_incomparable | rows.before_middle.isna()))]
    return bad.assign(rank=bad.verdict.map(ranks)).sort_values(["rank", "middle"], kind="stable")


def percent(value):
    return f"{100 * (value - 1):+.1f} %"


def change_text(row):
    if np.isnan(row.middle):
        return f"{'-':>8}"
    return f"{percent(row.middle):>8} [{percent(row.low):>8}, {percent(row.high):>8}]"


def origin(results):
    facts = [results.environment.get("machine", "unknown machine")]
    facts += [f"{key} {results.environment[key]}" for key in ("driver", "commit") if results.environment.get(key)]
    return ", ".join([*facts, results.created] + ([] if results.complete else ["NOT COMPLETE"]))


def summary(rows, options):
    """What came of it, and how often each verdict was given."""
    counts = rows.verdict.value_counts()
    found = "no regression" if regressions(rows, options).empty else "REGRESSION"
    return (f"{found} beyond the tolerance of {100 * options.tolerance:g} %",
            ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS if verdict in counts))


def what(options):
    return f"speed of {options.candidate}{'' if options.times else ' relative to the reference'}; more than 0 is faster"


def as_text(rows, groups, base, new, options):
    def line(row):
        return f"  {row.verdict:12} {row.id:44} {change_text(row)}{'  ' + row.note if row.note else ''}"

    lines = [f"base: {origin(base)}", f"new:  {origin(new)}", what(options), ""]
    if options.all:
        lines += [*map(line, rows.itertuples()), ""]
    lines += ["geometric means"]
    lines += [f"  {row.set:16} {row.type:4} {row.shapes:4} {change_text(row)}  {row.verdict}" for row in groups.itertuples()]
    bad = regressions(rows, options)
    if len(bad) and not options.all:
        lines += ["", "to look at", *map(line, bad.head(MOST_LISTED).itertuples())]
        if len(bad) > MOST_LISTED:
            lines.append(f"  and {len(bad) - MOST_LISTED} more (--all shows every shape)")
    conclusion, counts = summary(rows, options)
    return "\n".join([*lines, "", counts, conclusion, ""])


def as_markdown(rows, groups, base, new, options):
    def cell(text):
        return text.replace("|", "\\|").replace("\n", " ")

    conclusion, counts = summary(rows, options)
    lines = [f"**{conclusion}**: {counts}", "", f"base: {cell(origin(base))}  ", f"new: {cell(origin(new))}  ", what(options),
             "", "| set | type | shapes | change | 95 % interval | verdict |", "|---|---|---:|---:|---|---|"]
    lines += [f"| {cell(row.set)} | {row.type} | {row.shapes} | {percent(row.middle)} | {percent(row.low)} to "
              f"{percent(row.high)} | {row.verdict} |" for row in groups.itertuples()]
    bad = regressions(rows, options)
    if len(bad):
        lines += ["", "| verdict | shape | before | after | change | |", "|---|---|---:|---:|---:|---|"]
    for row in bad.itertuples():
        numbers = " | | |" if np.isnan(row.middle) else f" {row.before_middle:.3f} | {row.after_middle:.3f} | {percent(row.middle)} |"
        lines.append(f"| {row.verdict} | `{cell(row.id)}` |{numbers} {cell(row.note)} |")
    return "\n".join([*lines, ""])


def as_json(rows, groups, options):
    def records(frame, texts, intervals):
        for row in frame.to_dict("records"):
            record = {name: row[name] for name in texts if row[name] != "" or name == "type"}
            for name, prefix in intervals.items() if row["middle"] > 0 else ():
                record[name] = {key: float(f"{row[prefix + column]:.9g}") for key, column in
                                (("median", "middle"), ("low", "low"), ("high", "high"))}
            yield record

    return json.dumps({
        "schema": "xgemm-compare", "version": 1, "candidate": options.candidate, "tolerance": options.tolerance,
        "noise": options.noise, "regressed": not regressions(rows, options).empty,
        "rows": list(records(rows, ["id", "set", "verdict", "note"], {"change": "", "before": "before_", "after": "after_"})),
        "groups": list(records(groups, ["set", "type", "shapes", "verdict"], {"change": ""}))}, indent=1) + "\n"


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\nSPDX")[0], allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("BASE", help="result file to compare with")
    parser.add_argument("NEW", help="result file to judge")
    parser.add_argument("--tolerance", type=percents, default="3", help="percent that a shape may lose (%(default)s)")
    parser.add_argument("--noise", type=percents, default="0.5",
                        help="percent by which two runs of one build differ anyway (%(default)s)")
    parser.add_argument("--host-noise", type=percents, default="25",
                        help="the same where operands are in host memory: threads and pages land differently (%(default)s)")
    parser.add_argument("--candidate", default="xgemm", help="whose speed is judged (%(default)s)")
    parser.add_argument("--times", action="store_true",
                        help="compare times instead of ratios to the reference: one machine only")
    parser.add_argument("--allow-missing", action="store_true", help="shapes that NEW does not name are no failure")
    parser.add_argument("--allow-incomparable", action="store_true",
                        help="shapes whose ratio has no counterpart in NEW, such as one to another reference, are no failure")
    parser.add_argument("--all", action="store_true", help="a line per shape")
    parser.add_argument("--markdown", action="store_true", help="print a summary for a pull request")
    parser.add_argument("--json", help="write the verdicts to a file")
    return parser.parse_args(arguments)


@in_words
def main(arguments=None):
    options = parse(arguments)
    base, new = load(options.BASE), load(options.NEW)
    rows, groups = compare(base, new, options)
    print((as_markdown if options.markdown else as_text)(rows, groups, base, new, options), end="")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            file.write(as_json(rows, groups, options))
    return int(not regressions(rows, options).empty)


if __name__ == "__main__":
    sys.exit(main())
