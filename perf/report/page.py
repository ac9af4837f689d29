"""The HTML page around the figures: one file, nothing loaded from anywhere. SPDX-License-Identifier: BSD-3-Clause"""

import html
import math

from data import TYPE_NAMES

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
td.number, th.number { text-align: right; white-space: nowrap; } td.shape { white-space: nowrap; }
.scroll { overflow-x: auto; } input { font: inherit; padding: .3rem .5rem; border: 1px solid var(--line); border-radius: 6px;
  width: 22rem; max-width: 100%; margin: .5rem 0; }
code { font-size: .92em; } details { margin: .3rem 0; } pre { white-space: pre-wrap; font-size: .82rem; }
@media print { input { display: none; } th { position: static; } }
"""

# Sorting and filtering of the table; without JavaScript it stays as it is, worst ratio first.
SCRIPT = """
(() => {
  const table = document.getElementById('rows');
  if (!table) return;
  const body = table.tBodies[0];
  table.querySelectorAll('th button').forEach((button) => {
    const head = button.parentElement;
    button.addEventListener('click', () => {
      const up = head.getAttribute('aria-sort') !== 'ascending';
      table.querySelectorAll('th').forEach((other) => other.removeAttribute('aria-sort'));
      head.setAttribute('aria-sort', up ? 'ascending' : 'descending');
      const key = (row) => row.cells[head.cellIndex].dataset.key ?? row.cells[head.cellIndex].textContent;
      const numeric = head.classList.contains('number');
      [...body.rows]
        .sort((x, y) => (numeric ? key(x) - key(y) : key(x).localeCompare(key(y))) * (up ? 1 : -1))
        .forEach((row) => body.append(row));
    });
  });
  document.getElementById('filter').addEventListener('input', (event) => {
    const words = event.target.value.toLowerCase().split(/\\s+/).filter(Boolean);
    for (const row of body.rows)
      row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word));
  });
})();
"""


def _escape(text):
    return html.escape(str(text))


def _number(value, digits=4):
    if value is None or math.isnan(value) or value <= 0:
        return "–"
    return f"{value:,.0f}" if value >= 10 ** (digits - 1) else f"{value:.{digits}g}"


def _tone(interval):
    if interval is None:
        return ""
    return "good" if interval.low > 1 else "bad" if interval.high < 1 else ""


def _card(value, label, tone=""):
    return f'<div class="card"><b class="{tone}">{_escape(value)}</b><span>{_escape(label)}</span></div>'


def _cards(results, means, comparison):
    cards = [
        _card(f"{mean:.3f}×", f"{TYPE_NAMES[letter]}, geometric mean of {count} shapes", "good" if mean > 1 else "bad")
        for letter, mean, count in means
    ]
    failed = sum(row.status == "failed" for row in results.rows)
    cards.append(_card(failed, "wrong or failed results", "bad" if failed else "good"))
    skipped = sum(row.status == "skipped" for row in results.rows)
    if skipped:
        cards.append(_card(skipped, "shapes skipped"))
    if comparison:
        counts = {}
        for row in comparison["rows"]:
            counts[row["verdict"]] = counts.get(row["verdict"], 0) + 1
        regressed = comparison["regressed"]
        label = ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items()))
        cards.append(_card("regression" if regressed else "no regression", f"against the baseline: {label}",
                           "bad" if regressed else "good"))
    return f'<div class="cards">{"".join(cards)}</div>'


def _table_row(row, results, verdicts):
    ours = row.find(results.primary())
    theirs = row.find(row.reference or results.reference())
    ratio = ours.ratio if ours and ours.ok else None
    key = ratio.median if ratio else (0 if row.status == "failed" else 1e9)
    verdict = verdicts.get(row.id)
    change = verdict.get("change", {}).get("median") if verdict else None

    def time(candidate):
        value = candidate.time_us.median if candidate and candidate.ok else math.nan
        return f'<td class="number" data-key="{value if value == value else 1e18}">{_number(value)}</td>'

    error = ours.error if ours else math.nan
    what = row.reason or (ours.reason if ours else "")
    if ours and ours.ok:
        what = ours.kernel
    cells = [
        f'<td class="shape"><code>{_escape(row.id)}</code></td>',
        f"<td>{_escape(row.set)}{' · ' + _escape(row.shape['label']) if row.shape.get('label') else ''}</td>",
        time(ours),
        time(theirs),
        f'<td class="number" data-key="{ours.tflops if ours and ours.ok else 0}">'
        f"{_number(ours.tflops) if ours and ours.ok else '–'}</td>",
        f'<td class="number {_tone(ratio)}" data-key="{key}">'
        + (f"<b>{ratio.median:.3f}</b>" if ratio else ("FAILED" if row.status == "failed" else "–"))
        + "</td>",
        f'<td class="number" data-key="{ratio.low if ratio else 1e9}">'
        f"{f'{ratio.low:.3f} – {ratio.high:.3f}' if ratio else '–'}</td>",
        f'<td class="number" data-key="{error if error == error else 1e9}">{f"{error:.1e}" if error == error else "–"}</td>',
    ]
    if verdicts:
        text = "–" if verdict is None else verdict["verdict"]
        if change:
            text += f" {100 * (change - 1):+.1f} %"
        cells.append(f"<td>{_escape(text)}</td>")
    plan = ours.plan if ours else ""
    title = f"<details><summary>{_escape(what)}</summary><pre>{_escape(plan)}</pre></details>" if plan else _escape(what)
    cells.append(f"<td>{title}</td>")
    return key, f"<tr>{''.join(cells)}</tr>"


def _table(results, comparison):
    verdicts = {row["id"]: row for row in comparison["rows"]} if comparison else {}
    rows = sorted((_table_row(row, results, verdicts) for row in results.rows), key=lambda pair: pair[0])
    heads = [("shape", False), ("set", False), (f"{results.primary()} µs", True), (f"{results.reference()} µs", True),
             ("TFLOP/s", True), ("ratio", True), ("95 % interval", True), ("error", True)]
    if verdicts:
        heads.append(("baseline", False))
    heads.append(("kernel and plan", False))
    head = "".join(
        f'<th{" class=number" if numeric else ""}{" aria-sort=ascending" if text == "ratio" else ""}>'
        f'<button type="button">{_escape(text)}</button></th>'
        for text, numeric in heads
    )
    return (
        '<label>Show shapes with <input id="filter" type="search" placeholder="for example: llama h TN"></label>'
        f'<div class="scroll"><table id="rows"><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(text for _, text in rows)}</tbody></table></div>"
    )


def _facts(title, pairs):
    rows = "".join(f"<tr><td>{_escape(key)}</td><td>{_escape(value)}</td></tr>" for key, value in pairs.items())
    return f"<h2>{_escape(title)}</h2><table>{rows}</table>" if pairs else ""


def _ceilings(ceilings):
    names = {"copy_gbs": ("device copy, read and write", "GB/s"), "fp32_tflops": ("fp32 multiply-adds", "TFLOP/s"),
             "fp16_tensor_tflops": ("fp16 tensor cores, fp32 sums, random data", "TFLOP/s")}
    return {text: f"{ceilings[key]:.4g} {unit}" for key, (text, unit) in names.items() if ceilings.get(key)}


def render(results, figures, comparison, means):
    """The page as one text. `figures`: name, title, explanation, SVG or None."""
    title = f"libxgemm on {results.environment.get('machine', 'an unknown machine')}"
    facts = [results.created, results.environment.get("commit"), f"{len(results.rows)} shapes", f"operands in {results.where}",
             results.settings.get("data")]
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        # An empty icon: no request for /favicon.ico, which would fail.
        '<link rel="icon" href="data:,">',
        f"<title>{_escape(title)}</title><style>{CSS}</style></head><body>",
        f"<h1>{_escape(title)}</h1>",
        f'<p class="soft">{_escape(" · ".join(fact for fact in facts if fact))}</p>',
    ]
    if not results.complete:
        parts.append('<p class="bad">This run was interrupted: the rows below are whole, others are missing.</p>')
    parts.append(
        f"<p>Ratios are the time of {_escape(results.reference() or 'the reference')} over the time of "
        f"{_escape(results.primary())} in the same round: more than 1 is faster.</p>"
    )
    parts.append(_cards(results, means, comparison))
    for name, heading, explanation, svg in figures:
        parts.append(f"<h2>{_escape(heading)}</h2>")
        if svg is None:
            parts.append(f'<p class="soft" data-figure-missing="{name}">This run has no data for this figure.</p>')
            continue
        parts.append(f'<p class="soft">{_escape(explanation)}</p>')
        parts.append(f'<figure data-figure="{name}" role="img" aria-label="{_escape(heading)}">{svg}</figure>')
    parts.append("<h2>Every shape, worst ratio first</h2>")
    parts.append(_table(results, comparison))
    parts.append(_facts("Candidates", results.candidates))
    parts.append(_facts("Measured ceilings", _ceilings(results.ceilings)))
    parts.append(_facts("Environment", results.environment))
    parts.append(_facts("How it was measured", results.settings))
    parts.append(f"<script>{SCRIPT}</script></body></html>")
    return "\n".join(part for part in parts if part) + "\n"
