#!/usr/bin/env python3
"""Makes one self-contained HTML page, and the same pictures as SVG files, from result files of xgemm-bench.

SPDX-License-Identifier: BSD-3-Clause
"""

import argparse
import html
import pathlib
import sys

import numpy as np
import pandas as pd

import figures
from cli import InputError, in_words, read_json
from results import TYPE_NAMES, geometric_mean, load

CSS = """
:root { --ink: #111827; --soft: #6b7280; --line: #e5e7eb; --good: #047857; --bad: #b91c1c; }
* { box-sizing: border-box; }
body { font: 15px/1.5 system-ui, "Segoe UI", "DejaVu Sans", sans-serif; color: var(--ink); background: #fff;
  max-width: 1120px; margin: 0 auto; padding: 2rem 1.25rem 4rem; }
h1 { font-size: 1.7rem; margin: 0; } h2 { font-size: 1.2rem; margin: 2.4rem 0 .3rem; }
p { margin: .3rem 0; } .soft { color: var(--soft); }
figure { margin: .6rem 0 0; } figure svg { width: 100%; height: auto; display: block; }
.cards { display: flex; flex-wrap: wrap; gap: .75rem; margin: 1.2rem 0; }
.card { border: 1px solid var(--line); border-radius: 8px; padding: .6rem .9rem; min-width: 9.5rem; }
.card b { display: block; font-size: 1.35rem; } .card span { color: var(--soft); font-size: .85rem; }
.good { color: var(--good); } .bad { color: var(--bad); }
table { border-collapse: collapse; width: 100%; font-size: .86rem; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .28rem .5rem; border-bottom: 1px solid var(--line); vertical-align: top; }
th { position: sticky; top: 0; background: #fff; } th button { all: unset; cursor: pointer; font-weight: 600; }
th button:focus-visible { outline: 2px solid #0072B2; } th[aria-sort=ascending] button::after { content: " \\2191"; }
th[aria-sort=descending] button::after { content: " \\2193"; }
#rows :is(td, th):nth-child(n+3):nth-child(-n+8), .numbers :is(td, th):nth-child(n+3) { text-align: right; white-space: nowrap; }
#rows td:first-child { white-space: nowrap; }
.scroll { overflow-x: auto; } input { font: inherit; padding: .3rem .5rem; border: 1px solid var(--line); border-radius: 6px;
  width: 22rem; max-width: 100%; margin: .5rem 0; }
code { font-size: .92em; } details { margin: .3rem 0; } pre { white-space: pre-wrap; font-size: .82rem; }
@media print { input { display: none; } th { position: static; } }
"""

# Sorting and filtering of the table; without JavaScript it stays as it is, worst ratio first.
SCRIPT = """
(() => {
  const table = document.getElementById('rows');
  const body = table.tBodies[0];
  const compare = (x, y) => {
    const [a, b] = [x, y].map((text) => parseFloat(text.replaceAll(',', '')));
    return isNaN(a) && isNaN(b) ? x.localeCompare(y) : (isNaN(a) ? -1 : a) - (isNaN(b) ? -1 : b);
  };
  table.querySelectorAll('th').forEach((head) => {
    const button = document.createElement('button');
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener('click', () => {
      const up = head.getAttribute('aria-sort') !== 'ascending';
      table.querySelectorAll('th').forEach((other) => other.removeAttribute('aria-sort'));
      head.setAttribute('aria-sort', up ? 'ascending' : 'descending');
      const text = (row) => row.cells[head.cellIndex].textContent;
      [...body.rows].sort((x, y) => compare(text(x), text(y)) * (up ? 1 : -1)).forEach((row) => body.append(row));
    });
  });
  document.getElementById('filter').addEventListener('input', (event) => {
    const words = event.target.value.toLowerCase().split(/\\s+/).filter(Boolean);
    for (const row of body.rows)
      row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word));
  });
})();
"""
CEILINGS = {"copy_gbs": ("device copy, read and write", "GB/s"), "fp32_tflops": ("fp32 multiply-adds", "TFLOP/s"),
            "fp16_tensor_tflops": ("fp16 tensor cores, fp32 sums, random data", "TFLOP/s")}


def _number(value, digits=4):
    if not value > 0:
        return "–"
    return f"{value:,.0f}" if value >= 10 ** (digits - 1) else f"{value:.{digits}g}"


def _interval(low, high):
    return f"{low:.3f} – {high:.3f}" if low > 0 else "–"


def _tone(low, high):
    return "good" if low > 1 else "bad" if high < 1 else ""


def _table(frame, **options):
    """Cells are HTML already."""
    return frame.to_html(index=False, escape=False, border=0, justify="unset", **options)


def _facts(title, pairs):
    cells = pd.DataFrame([(html.escape(key), html.escape(value)) for key, value in pairs.items()])
    return f"<h2>{html.escape(title)}</h2>{_table(cells, header=False)}" if pairs else ""


def _cards(results, ours, comparison):
    cards = []
    for (reference, letter), ratios in figures.by_reference(ours[ours.ratio.notna()], "type"):
        mean = geometric_mean(ratios.ratio)
        cards.append((f"{mean:.3f}×", f"{TYPE_NAMES[letter]}, geometric mean of {len(ratios)} shapes beside {reference}",
                      "good" if mean > 1 else "bad"))
    failed, skipped = ((ours.row_status == status).sum() for status in ("failed", "skipped"))
    cards.append((failed, "wrong or failed results", "bad" if failed else "good"))
    if skipped:
        cards.append((skipped, "shapes skipped", ""))
    if comparison:
        counts = pd.Series([row["verdict"] for row in comparison["rows"]], dtype=object).value_counts().sort_index()
        label = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
        cards.append(("regression" if comparison["regressed"] else "no regression", f"against the baseline: {label}",
                      "bad" if comparison["regressed"] else "good"))
    return '<div class="cards">' + "".join(
        f'<div class="card"><b class="{tone}">{html.escape(str(value))}</b><span>{html.escape(label)}</span></div>'
        for value, label, tone in cards) + "</div>"


def _sets(ours):
    """A line per reference, set and type: the hold-out set, to which the planner is not fitted, stands beside the others."""
    rated = ours[ours.ratio.notna()]
    lines = [{"set": html.escape(name), "type": TYPE_NAMES[letter], "reference": html.escape(reference), "shapes": len(group),
              "geometric mean": f"{geometric_mean(group.ratio):.3f}", "worst": f"{group.ratio.min():.3f}"}
             for (reference, name, letter), group in figures.by_reference(rated, "set", "type")]
    return _table(pd.DataFrame(lines), classes="numbers") if lines else ""


def _host_times(results):
    lines = []
    for one in results.host_times:
        by_name = {candidate["name"]: candidate for candidate in one["candidates"]}
        ratio = by_name.get(results.primary, {}).get("ratio", {})
        us = {f"{name} µs": _number(by_name.get(name, {}).get("host_us", {}).get("median", np.nan))
              for name in (results.primary, results.reference)}
        lines.append({"calls with": html.escape(one["name"]), "type": TYPE_NAMES[one["type"]], **us,
                      "ratio": f"{ratio['median']:.3f}" if ratio else "–",
                      "95 % interval": _interval(ratio.get("low", np.nan), ratio.get("high", np.nan))})
    return f"<h2>Host time of a call</h2>{_table(pd.DataFrame(lines), classes='numbers')}" if lines else ""


def _rows(results, ours, comparison):
    """Every shape, failures and the worst ratio first."""
    verdicts = {row["id"]: row for row in comparison["rows"]} if comparison else {}
    theirs = pd.concat([results.of(name) for name in set(results.frame.reference) | {results.reference}])
    theirs = theirs[theirs.candidate == theirs.reference].time_us
    rank = ours.ratio.fillna(np.inf).where(ours.row_status != "failed", 0)
    lines = []
    for row in ours.assign(theirs=theirs.reindex(ours.index)).loc[rank.sort_values(kind="stable").index].itertuples():
        text = row.kernel if row.status == "ok" else row.row_reason or row.reason
        if row.plan:
            text = f"<details><summary>{html.escape(text)}</summary><pre>{html.escape(row.plan)}</pre></details>"
        else:
            text = html.escape(text)
        lines.append({
            "shape": f"<code>{html.escape(row.Index)}</code>",
            "set": html.escape(" · ".join(filter(None, (row.set, row.label)))),
            f"{results.primary} µs": _number(row.time_us),
            f"{results.reference} µs": _number(row.theirs) + (
                f" {html.escape(row.reference)}" if row.reference not in ("", results.reference) else ""),
            "TFLOP/s": _number(row.tflops),
            "ratio": f'<b class="{_tone(row.ratio_low, row.ratio_high)}">{row.ratio:.3f}</b>' if row.ratio > 0 else
                     "FAILED" if row.row_status == "failed" else "–",
            "95 % interval": _interval(row.ratio_low, row.ratio_high),
            "error": f"{row.error:.1e}" if row.error >= 0 else "–"})
        if comparison:
            verdict = verdicts.get(row.Index, {"verdict": "–", "change": np.nan})
            change = f" {100 * (verdict['change'] - 1):+.1f} %" if verdict["change"] > 0 else ""
            lines[-1]["baseline"] = html.escape(verdict["verdict"] + change)
        lines[-1]["kernel and plan"] = text
    return _table(pd.DataFrame(lines), table_id="rows")


def render(results, pictures, comparison):
    """The page as one text. `pictures`: name, title, explanation, SVG or None."""
    title = html.escape(f"libxgemm on {results.environment.get('machine', 'an unknown machine')}")
    ours = results.of(results.primary)
    facts = [results.created, results.environment.get("commit"), f"{len(ours)} shapes", results.settings.get("data")]
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        # An empty icon: no request for /favicon.ico, which would fail.
        '<link rel="icon" href="data:,">',
        f"<title>{title}</title><style>{CSS}</style></head><body>",
        f"<h1>{title}</h1>",
        f'<p class="soft">{html.escape(" · ".join(filter(None, facts)))}</p>',
        "" if results.complete else
        '<p class="bad">This run was interrupted: the rows below are whole, others are missing.</p>',
        f"<p>Ratios are the time of {html.escape(' or '.join(figures.references(ours)) or 'the reference')} over the time of "
        f"{html.escape(results.primary)} in the same round: more than 1 is faster.</p>",
        _cards(results, ours, comparison),
    ]
    for name, heading, explanation, svg in pictures:
        parts.append(f"<h2>{html.escape(heading)}</h2>")
        if svg is None:
            parts.append(f'<p class="soft" data-figure-missing="{name}">This run has no data for this figure.</p>')
            continue
        parts.append(f'<p class="soft">{html.escape(explanation)}</p>')
        parts.append(f'<figure data-figure="{name}" role="img" aria-label="{html.escape(heading)}">{svg}</figure>')
        parts.append(_sets(ours) if name == "sets" else "")
    parts.append(_host_times(results))
    if len(ours):
        parts += ["<h2>Every shape, worst ratio first</h2>",
                  '<label>Show shapes with <input id="filter" type="search" placeholder="for example: prefill h TN"></label>',
                  f'<div class="scroll">{_rows(results, ours, comparison)}</div><script>{SCRIPT}</script>']
    ceilings = {text: f"{results.ceilings[key]:.4g} {unit}" for key, (text, unit) in CEILINGS.items() if results.ceilings.get(key)}
    parts += [_facts("Candidates", results.candidates), _facts("Measured ceilings", ceilings),
              _facts("Environment", results.environment), _facts("How it was measured", results.settings), "</body></html>"]
    return "\n".join(filter(None, parts)) + "\n"


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("results", help="result file of xgemm-bench --json")
    parser.add_argument("--ladder", help="result file of xgemm-bench --ladder --json")
    parser.add_argument("--comparison", help="verdicts of compare.py --json")
    parser.add_argument("--html", help="the page to write")
    parser.add_argument("--svg", help="folder to write the pictures to")
    parser.add_argument("--prefix", default="", help="put before the names of the SVG files")
    return parser.parse_args(arguments)


def write(path, text):
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def load_comparison(path):
    """What the page shows of the verdicts of compare.py."""
    root = read_json(path, "xgemm-compare")
    try:
        return {"regressed": bool(root["regressed"]), "rows": [
            {"id": str(row["id"]), "verdict": str(row["verdict"]), "change": float(row.get("change", {}).get("median", np.nan))}
            for row in root["rows"]]}
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise InputError(f"{path}: is not a whole file of compare.py: {error}") from error


@in_words
def main(arguments=None):
    options = parse(arguments)
    results = load(options.results)
    ladder = load(options.ladder) if options.ladder else None
    comparison = load_comparison(options.comparison) if options.comparison else None
    pictures = figures.make_all(results, ladder)
    if options.html:
        write(options.html, render(results, pictures, comparison))
    for name, _, _, svg in pictures if options.svg else ():
        if svg is not None:
            write(pathlib.Path(options.svg) / f"{options.prefix}{name}.svg", svg)
    return 0


if __name__ == "__main__":
    sys.exit(main())
