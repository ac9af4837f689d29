#!/usr/bin/env python3
"""Result files of xgemm-bench as data frames, and as CSV and JUnit XML.

    results.py results.json [--csv FILE] [--junit FILE]

SPDX-License-Identifier: BSD-3-Clause
"""

import argparse
import dataclasses
import re
import sys
import xml.etree.ElementTree as xml

import numpy as np
import pandas as pd

from cli import InputError, in_words, read_json

TYPE_NAMES = {"s": "fp32", "h": "fp16", "b": "bf16", "H": "fp16-fp32", "B": "bf16-fp32", "d": "fp64"}
# Of an element of A or B, and of one of C.
TYPE_BYTES = {"s": (4, 4), "h": (2, 2), "b": (2, 2), "H": (2, 4), "B": (2, 4), "d": (8, 8)}
STATUSES = ("ok", "failed", "skipped")

# The columns of Results.frame, and where the file has them: in a row, in its shape, in one of its candidates.
IN_ROW = {"id": "id", "row_status": "status", "row_reason": "reason", "reference": "reference", "rounds": "rounds",
          "dropped_rounds": "dropped_rounds", "recorded": "recorded", "sm_mhz": "sm_mhz", "power_w": "power_w"}
IN_SHAPE = {name: name for name in (
    "set", "label", "type", "layout", "transa", "transb", "m", "n", "k", "alpha", "beta", "lda", "ldb", "ldc", "batch",
    "stride_a", "stride_b", "stride_c", "offset", "location", "calls", "batch_kind", "epilogue")}
IN_CANDIDATE = {"candidate": "name", "status": "status", "reason": "reason", "kernel": "kernel", "plan": "plan",
                "time_us": "time_us.median", "time_low_us": "time_us.low", "time_high_us": "time_us.high",
                "fastest_us": "fastest_us", "tflops": "tflops", "gbs": "gbs", "ratio": "ratio.median",
                "ratio_low": "ratio.low", "ratio_high": "ratio.high", "host_us": "host_us", "error": "error",
                "bound_share": "bound_share"}
TEXTS = ["id", "row_status", "row_reason", "reference", "set", "label", "type", "layout", "transa", "transb", "location",
         "batch_kind", "epilogue", "candidate", "status", "reason", "kernel", "plan"]
INTEGERS = ["m", "n", "k", "lda", "ldb", "ldc", "batch", "stride_a", "stride_b", "stride_c", "offset", "calls",
            "rounds", "dropped_rounds", "recorded"]
EXTENTS = ["m", "n", "k", "batch"]
INTERVALS = [("time_us", "time_low_us", "time_high_us"), ("ratio", "ratio_low", "ratio_high")]


@dataclasses.dataclass
class Results:
    """`frame` has a line per shape and candidate, in the order of the file; a shape that was skipped has one line without
    a candidate. What was not measured is NaN or an empty text."""

    complete: bool
    created: str
    environment: dict
    settings: dict
    candidates: dict
    ceilings: dict
    frame: pd.DataFrame
    host_times: list

    @property
    def primary(self):
        """The candidate that a report is about: xgemm, or the first one."""
        return "xgemm" if "xgemm" in self.candidates or not self.candidates else next(iter(self.candidates))

    @property
    def reference(self):
        """The reference of most shapes."""
        return most_common(self.frame.reference)

    def of(self, candidate):
        """A line per shape, by id, with what the candidate did there; without a name where it did nothing."""
        mine = self.frame[self.frame.candidate == candidate].set_index("id")
        shapes = self.frame.drop_duplicates("id").set_index("id")
        nothing = shapes.loc[~shapes.index.isin(mine.index)].copy()
        nothing[[*IN_CANDIDATE]] = [("" if name in TEXTS else np.nan) for name in IN_CANDIDATE]
        return pd.concat([mine, nothing]).reindex(shapes.index)


def _flat(record, names):
    """The values of a record under the names of columns; 'ratio.low' is looked up in two steps."""
    flat = {}
    for column, path in names.items():
        value = record
        for key in path.split("."):
            value = value.get(key) if value is not None else None
        flat[column] = value
    return flat


def _lines(root):
    for row in root["rows"]:
        shape = _flat(row, IN_ROW) | _flat(row["shape"], IN_SHAPE)
        for candidate in row["candidates"] or [{}]:
            yield shape | _flat(candidate, IN_CANDIDATE)


def _frame(root):
    frame = pd.DataFrame(list(_lines(root)), columns=[*IN_ROW, *IN_SHAPE, *IN_CANDIDATE])
    for name in frame:
        if name in TEXTS:
            frame[name] = frame[name].fillna("")
            if not frame[name].map(lambda value: isinstance(value, str)).all():
                raise ValueError(f"'{name}' is not always a text")
        else:
            frame[name] = pd.to_numeric(frame[name]).astype(float)
    good = {"an id": frame.id != "", "a known type": frame.type.isin([*TYPE_NAMES]),
            "a known status": frame.row_status.isin(STATUSES) & frame.status.isin([*STATUSES, ""])}
    for name in INTEGERS:
        least = 1 if name in EXTENTS else 0
        good[f"a whole {name} from {least} on"] = (frame[name] >= least) & (frame[name] % 1 == 0) & (frame[name] < 2**53)
    for middle, low, high in INTERVALS:
        good[f"{middle} with 0 < low <= median <= high"] = frame[middle].isna() | (
            (0 < frame[low]) & (frame[low] <= frame[middle]) & (frame[middle] <= frame[high]))
    for what, holds in good.items():
        if not holds.all():
            raise ValueError(f"'{frame.id[~holds].iloc[0]}' lacks {what}")
    if frame.duplicated(["id", "candidate"]).any():
        raise ValueError(f"'{frame.id[frame.duplicated(['id', 'candidate'])].iloc[0]}' is there twice")
    elements = frame.m * frame.k * np.where(frame.stride_a == 0, 1, frame.batch)
    elements += frame.k * frame.n * np.where(frame.stride_b == 0, 1, frame.batch)
    frame["flops"] = 2 * frame.m * frame.n * frame.k * frame.batch
    outputs = frame.m * frame.n * frame.batch * np.where(frame.beta == 0, 1, 2)
    frame["bytes"] = (elements * frame.type.map(lambda letter: TYPE_BYTES[letter][0])
                      + outputs * frame.type.map(lambda letter: TYPE_BYTES[letter][1]))
    return frame


def load(path):
    """Reads a result file; InputError says what is wrong with it."""
    root = read_json(path, "xgemm-bench")
    try:
        return Results(complete=bool(root.get("complete")), created=str(root.get("created", "")),
                       frame=_frame(root), host_times=list(root.get("host_times", [])),
                       ceilings={key: float(value or 0) for key, value in root.get("ceilings", {}).items()},
                       **{key: {name: str(value) for name, value in root.get(key, {}).items()}
                          for key in ("environment", "settings", "candidates")})
    except (KeyError, TypeError, AttributeError, ValueError, OverflowError) as error:
        raise InputError(f"{path}: is not a whole result file: {error}") from error


def most_common(names):
    """The name that is there most often, empty ones aside."""
    named = names[names != ""]
    return named.mode()[0] if len(named) else ""


def geometric_mean(values):
    return np.exp(np.log(values).mean()) if len(values) else np.nan


def to_csv(results):
    """A line per shape and candidate."""
    frame = results.frame.drop(columns=["plan", "flops", "bytes"]).astype({name: "Int64" for name in INTEGERS})
    return frame.to_csv(index=False, float_format="%.6g")


def to_junit(results):
    """A test case per shape and candidate; wrong results and errors are failures. Timings are not judged."""
    suites = xml.Element("testsuites")
    frame = results.frame
    status = frame.status.where(frame.status != "", frame.row_status)
    suite = xml.SubElement(suites, "testsuite", name="xgemm-bench", tests=str(len(frame)), errors="0",
                           failures=str((status == "failed").sum()), skipped=str((status == "skipped").sum()),
                           timestamp=results.created)
    for line, state in zip(frame.itertuples(), status):
        case = xml.SubElement(suite, "testcase", classname=line.set, name=f"{line.id} [{line.candidate or 'all'}]",
                              time=f"{0 if np.isnan(line.time_us) else line.time_us * 1e-6:.9f}")
        if state == "ok":
            xml.SubElement(case, "system-out").text = (
                f"{line.time_us:.3f} us, {line.tflops:.3f} TFLOP/s, ratio {line.ratio:.4f}, error {line.error:.3g}, "
                f"kernel {line.kernel}")
        else:
            xml.SubElement(case, "failure" if state == "failed" else "skipped", message=line.reason or line.row_reason)
    xml.indent(suites)
    text = xml.tostring(suites, encoding="unicode")
    # XML 1.0 has no way to write most control characters.
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f]", "?", text) + "\n"


@in_words
def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("results", help="result file of xgemm-bench --json")
    parser.add_argument("--csv", help="file to write as CSV")
    parser.add_argument("--junit", help="file to write as JUnit XML")
    options = parser.parse_args(arguments)
    results = load(options.results)
    for path, form in ((options.csv, to_csv), (options.junit, to_junit)):
        if path:
            with open(path, "w", encoding="utf-8", newline="") as file:
                file.write(form(results))
    return 0


if __name__ == "__main__":
    sys.exit(main())
