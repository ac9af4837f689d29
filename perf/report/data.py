"""Result files of xgemm-bench as the report needs them. SPDX-License-Identifier: BSD-3-Clause"""

import json
import math
from dataclasses import dataclass, field

TYPE_NAMES = {"s": "fp32", "h": "fp16", "b": "bf16"}
TYPE_BYTES = {"s": 4, "h": 2, "b": 2}


class InputError(Exception):
    """A file that cannot be used; the message is for the user."""


@dataclass
class Interval:
    median: float
    low: float
    high: float

    @classmethod
    def of(cls, value):
        if not value or any(not isinstance(value.get(key), (int, float)) for key in ("median", "low", "high")):
            return None
        return cls(value["median"], value["low"], value["high"])


@dataclass
class Candidate:
    name: str
    status: str
    reason: str
    kernel: str
    plan: str
    time_us: Interval
    ratio: Interval
    tflops: float
    error: float
    host_us: float

    @property
    def ok(self):
        return self.status == "ok" and self.time_us is not None


@dataclass
class Row:
    id: str
    status: str
    reason: str
    shape: dict
    reference: str
    candidates: list
    raw: dict

    def find(self, name):
        return next((candidate for candidate in self.candidates if candidate.name == name), None)

    @property
    def type(self):
        return self.shape["type"]

    @property
    def set(self):
        return self.shape.get("set", "")

    @property
    def flops(self):
        return 2.0 * self.shape["m"] * self.shape["n"] * self.shape["k"] * self.shape.get("batch", 1)

    @property
    def bytes(self):
        m, n, k = (self.shape[key] for key in "mnk")
        batch = self.shape.get("batch", 1)
        a = m * k * (1 if self.shape.get("stride_a") == 0 else batch)
        b = k * n * (1 if self.shape.get("stride_b") == 0 else batch)
        c = m * n * batch * (1 if self.shape.get("beta", 0) == 0 else 2)
        return float(a + b + c) * TYPE_BYTES[self.type]

    @property
    def is_plain(self):
        """A product with nothing special about it: no flags, dense, C overwritten."""
        shape = self.shape
        return (
            (shape["transa"], shape["transb"]) == ("N", "N")
            and shape.get("layout", "col") == "col"
            and shape.get("alpha", 1) == 1
            and shape.get("beta", 0) == 0
            and shape.get("batch", 1) == 1
            and (shape.get("lda"), shape.get("ldb"), shape.get("ldc")) == (shape["m"], shape["k"], shape["m"])
            and shape.get("offset", 0) == 0
            and shape.get("location", "ddd") in ("ddd", "hhh")
        )

    @property
    def is_plain_square(self):
        return self.is_plain and self.shape["m"] == self.shape["n"] == self.shape["k"]


@dataclass
class Results:
    path: str
    complete: bool
    created: str
    environment: dict
    settings: dict
    candidates: dict
    ceilings: dict
    rows: list = field(default_factory=list)

    def types(self):
        return [letter for letter in TYPE_NAMES if any(row.type == letter for row in self.rows)]

    def primary(self):
        """The candidate that the report is about: xgemm, or the first one."""
        if "xgemm" in self.candidates or not self.candidates:
            return "xgemm"
        return next(iter(self.candidates))

    def reference(self):
        """The reference of most rows."""
        counts = {}
        for row in self.rows:
            if row.reference:
                counts[row.reference] = counts.get(row.reference, 0) + 1
        return max(counts, key=counts.get) if counts else ""

    @property
    def where(self):
        return {"ddd": "device memory", "hhh": "host memory"}.get(
            max(
                (row.shape.get("location", "ddd") for row in self.rows),
                key=[row.shape.get("location", "ddd") for row in self.rows].count,
                default="ddd",
            ),
            "mixed memory",
        )


def _number(value):
    return float(value) if isinstance(value, (int, float)) else math.nan


def _candidate(entry):
    return Candidate(
        name=entry["name"],
        status=entry["status"],
        reason=entry.get("reason", ""),
        kernel=entry.get("kernel", ""),
        plan=entry.get("plan", ""),
        time_us=Interval.of(entry.get("time_us")),
        ratio=Interval.of(entry.get("ratio")),
        tflops=_number(entry.get("tflops")),
        error=_number(entry.get("error")),
        host_us=_number(entry.get("host_us")),
    )


def _row(entry):
    return Row(
        id=entry["id"],
        status=entry["status"],
        reason=entry.get("reason", ""),
        shape=entry["shape"],
        reference=entry.get("reference", ""),
        candidates=[_candidate(candidate) for candidate in entry["candidates"]],
        raw=entry,
    )


def load_json(path, schema):
    try:
        with open(path, encoding="utf-8") as file:
            root = json.load(file)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise InputError(f"{path}: is not JSON: {error}") from error
    if not isinstance(root, dict) or root.get("schema") != schema:
        raise InputError(f"{path}: is not a file of {schema}")
    return root


def load(path):
    """Reads a result file; InputError names what is wrong with it."""
    root = load_json(path, "xgemm-bench")
    try:
        return Results(
            path=str(path),
            complete=bool(root.get("complete")),
            created=root.get("created", ""),
            environment=dict(root.get("environment", {})),
            settings=dict(root.get("settings", {})),
            candidates=dict(root.get("candidates", {})),
            ceilings=dict(root.get("ceilings", {})),
            rows=[_row(entry) for entry in root["rows"]],
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{path}: is not a whole result file: {error!r}") from error


def geometric_mean(values):
    values = [value for value in values if value > 0]
    return math.exp(sum(map(math.log, values)) / len(values)) if values else math.nan
