"""The pictures of the report, each a function from results to an SVG text, or None where the data for it are missing.

SPDX-License-Identifier: BSD-3-Clause
"""

import io
import math
import re

import matplotlib

matplotlib.use("svg")

import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.colors import TwoSlopeNorm  # noqa: E402
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator  # noqa: E402

from data import TYPE_NAMES, geometric_mean  # noqa: E402

# Okabe and Ito: distinguishable with every kind of colour vision.
OURS = "#0072B2"
REFERENCE = "#D55E00"
OTHERS = ["#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"]
GREY = "#6b7280"

STYLE = {
    "figure.dpi": 100,
    "svg.fonttype": "none",  # text stays text: small files, selectable, found by a search
    "svg.hashsalt": "xgemm",  # the same data give the same file
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Arial", "Helvetica", "sans-serif"],
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e5e7eb",
    "grid.linewidth": 0.8,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "legend.frameon": False,
}


def _svg(figure, name):
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", bbox_inches="tight", metadata={"Date": None, "Creator": None})
    plt.close(figure)
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    # Several pictures share one page: their ids must not meet.
    for pattern, replacement in (
        (r'\bid="([^"]+)"', rf'id="{name}-\1"'),
        (r"url\(#([^)]+)\)", rf"url(#{name}-\1)"),
        (r'href="#([^"]+)"', rf'href="#{name}-\1"'),
    ):
        text = re.sub(pattern, replacement, text)
    # Plain numbers of points for the size, so that the picture scales with the page.
    text = re.sub(r'<svg ([^>]*?)width="[^"]*pt" height="[^"]*pt"', r"<svg \1", text, count=1, flags=re.S)
    text = re.sub(r'<svg ([^>]*?)height="[^"]*pt"([^>]*?) width="[^"]*pt"', r"<svg \1\2", text, count=1, flags=re.S)
    return text.rstrip() + "\n"


def _colour(name, results):
    if name == results.primary():
        return OURS
    if name == results.reference():
        return REFERENCE
    others = [other for other in results.candidates if other not in (results.primary(), results.reference())]
    return OTHERS[others.index(name) % len(OTHERS)] if name in others else GREY


def _sizes_axis(axis, sizes):
    axis.set_xscale("log", base=2)
    shown = [size for size in sorted(sizes) if size & (size - 1) == 0] or sorted(sizes)
    axis.xaxis.set_major_locator(FixedLocator(shown))
    axis.xaxis.set_minor_locator(NullLocator())
    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.0f}"))
    axis.tick_params(axis="x", labelsize=8)


def _ratio_axis(axis):
    axis.axhline(1, color=GREY, linewidth=1)
    axis.set_yscale("log")
    low, high = axis.get_ylim()
    low, high = min(low, 0.9), max(high, 1.1)
    axis.set_ylim(low, high)
    steps = [0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 1, 1.1, 1.2, 1.5, 2, 3, 5, 10, 20]
    axis.yaxis.set_major_locator(FixedLocator([step for step in steps if low <= step <= high]))
    axis.yaxis.set_minor_locator(NullLocator())
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}×"))


def _place(results):
    """Where operands of the pictures live: on the device if any do. Operands in host memory are another matter there."""
    places = [row.shape.get("location", "ddd") for row in results.rows]
    return "ddd" if "ddd" in places else "hhh"


def speed_over_size(results):
    """TFLOP/s of every candidate over n = m = k, and the ratio with its interval below."""
    squares = [row for row in results.rows if row.is_plain_square and row.shape.get("location", "ddd") == _place(results)]
    # Odd sizes are another matter, and have a set of their own: among the others the line would jump.
    squares = [row for row in squares if row.shape["m"] % 8 == 0 or row.shape["m"] < 8] or squares
    types = [letter for letter in results.types() if any(row.type == letter for row in squares)]
    if not types:
        return None
    figure, axes = plt.subplots(
        2, len(types), figsize=(5.2 * len(types), 5.4), sharex="col", squeeze=False, gridspec_kw={"height_ratios": [2, 1]}
    )
    for column, letter in enumerate(types):
        rows = sorted((row for row in squares if row.type == letter), key=lambda row: row.shape["m"])
        speed, ratio = axes[0][column], axes[1][column]
        for name in results.candidates:
            points = [(row, row.find(name)) for row in rows]
            points = [(row, found) for row, found in points if found and found.ok]
            if not points:
                continue
            x = [row.shape["m"] for row, _ in points]
            colour = _colour(name, results)
            wide = name in (results.primary(), results.reference())
            speed.plot(x, [found.tflops for _, found in points], marker="o", markersize=4 if wide else 3,
                       linewidth=1.8 if wide else 1, color=colour, label=name)
            speed.fill_between(
                x,
                [row.flops / found.time_us.high * 1e-6 for row, found in points],
                [row.flops / found.time_us.low * 1e-6 for row, found in points],
                color=colour, alpha=0.15, linewidth=0)
            rated = [(row, found) for row, found in points if found.ratio]
            if name != results.reference() and rated:
                medians = [found.ratio.median for _, found in rated]
                ratio.errorbar(
                    [row.shape["m"] for row, _ in rated], medians,
                    yerr=[[m - found.ratio.low for m, (_, found) in zip(medians, rated)],
                          [found.ratio.high - m for m, (_, found) in zip(medians, rated)]],
                    marker="o", markersize=4, linewidth=1.4, capsize=2, color=colour)
        speed.set_title(f"{TYPE_NAMES[letter]}, n = m = k")
        speed.set_ylabel("TFLOP/s" if column == 0 else "")
        speed.set_ylim(bottom=0)
        speed.legend(loc="upper left", fontsize=8)
        ratio.set_ylabel(f"ratio to {results.reference()}" if column == 0 else "")
        ratio.set_xlabel("n")
        _ratio_axis(ratio)
        _sizes_axis(ratio, {row.shape["m"] for row in rows})
    figure.tight_layout()
    return _svg(figure, "speed")


def ratio_heat_map(results):
    """Ratio over m x n at one k, a panel per type."""
    grids = {}
    for letter in results.types():
        grid = [row.shape for row in results.rows if row.type == letter and row.set == "grid"]
        if not grid:
            continue
        k = grid[0]["k"]
        # A cell may have been measured as a member of another set: a shape is never measured twice.
        cells = {}
        for row in results.rows:
            if row.type != letter or row.shape["k"] != k or not row.is_plain:
                continue
            if row.shape.get("location", "ddd") != _place(results):
                continue
            if not any(row.shape["m"] == one["m"] for one in grid) or not any(row.shape["n"] == one["n"] for one in grid):
                continue
            found = row.find(results.primary())
            if found and found.ok and found.ratio:
                cells[(row.shape["m"], row.shape["n"])] = found.ratio.median
        if len(cells) >= 4:
            grids[letter] = (cells, k)
    if not grids:
        return None
    figure, axes = plt.subplots(1, len(grids), figsize=(5.4 * len(grids), 4.8), squeeze=False)
    everything = [value for cells, _ in grids.values() for value in cells.values()]
    reach = max(0.1, max(abs(math.log2(value)) for value in everything))
    norm = TwoSlopeNorm(0, -min(reach, 2), min(reach, 2))
    for axis, (letter, (cells, k)) in zip(axes[0], grids.items()):
        ms = sorted({m for m, _ in cells})
        ns = sorted({n for _, n in cells})
        table = [[math.log2(cells[(m, n)]) if (m, n) in cells else math.nan for n in ns] for m in ms]
        axis.pcolormesh(table, cmap="RdBu", norm=norm, edgecolors="white", linewidth=1)
        for i, m in enumerate(ms):
            for j, n in enumerate(ns):
                if (m, n) in cells:
                    strong = abs(table[i][j]) > 0.6 * min(reach, 2)
                    axis.text(j + 0.5, i + 0.5, f"{cells[(m, n)]:.2f}", ha="center", va="center", fontsize=8,
                              color="white" if strong else "#111827")
        axis.set_xticks([j + 0.5 for j in range(len(ns))], ns, fontsize=8)
        axis.set_yticks([i + 0.5 for i in range(len(ms))], ms, fontsize=8)
        axis.set_xlabel("n")
        axis.set_ylabel("m")
        axis.grid(False)
        axis.set_title(f"{TYPE_NAMES[letter]}, k = {k}: ratio to {results.reference()}")
    figure.tight_layout()
    return _svg(figure, "heat")


def roofline(results):
    """Speed over operations per byte, under what this machine reaches in practice."""
    types = results.types()
    if not types:
        return None
    figure, axes = plt.subplots(1, len(types), figsize=(5.4 * len(types), 4.4), squeeze=False)
    for axis, letter in zip(axes[0], types):
        rows = [row for row in results.rows if row.type == letter]
        device = [row for row in rows if "h" not in row.shape.get("location", "ddd")] or rows
        drawn = []
        for name, colour in ((results.reference(), REFERENCE), (results.primary(), OURS)):
            points = [(row.flops / row.bytes, row.find(name).tflops) for row in device
                      if row.find(name) and row.find(name).ok]
            if points:
                axis.scatter(*zip(*points), s=14, color=colour, alpha=0.75, linewidth=0, label=name)
                drawn += points
        if not drawn:
            continue
        axis.set_xscale("log")
        axis.set_yscale("log")
        _draw_roof(axis, results.ceilings, letter, [x for x, _ in drawn], max(y for _, y in drawn))
        axis.set_title(TYPE_NAMES[letter])
        axis.set_xlabel("operations per byte that has to be moved")
        axis.set_ylabel("TFLOP/s")
        axis.legend(loc="lower right", fontsize=8)
    figure.tight_layout()
    return _svg(figure, "roofline")


def _draw_roof(axis, ceilings, letter, intensities, fastest):
    bandwidth = ceilings.get("copy_gbs") or 0
    peak = ceilings.get("fp32_tflops" if letter == "s" else "fp16_tensor_tflops")  # bf16 runs at the rate of fp16
    peak = peak or ceilings.get("fp32_tflops") or 0
    if not bandwidth or not peak:
        axis.text(0.03, 0.97, "ceilings were not measured (--ceilings)", transform=axis.transAxes, va="top", color=GREY,
                  fontsize=8)
        return
    knee = peak * 1e3 / bandwidth
    # The whole bend is shown, also where all points are to the right of it.
    low, high = min(min(intensities) / 1.5, knee / 4), max(max(intensities) * 1.5, knee * 2)
    axis.plot([low, knee, high], [low * bandwidth * 1e-3, peak, peak], color="#111827", linewidth=1.4,
              label=f"measured: {peak:.3g} TFLOP/s, copy {bandwidth:.0f} GB/s")
    axis.set_ylim(top=max(peak, fastest) * 2)


def ladder(results):
    """A bar per kernel family and cuBLAS, at every size of the ladder."""
    names = [name for name in results.candidates if any(row.find(name) and row.find(name).ok for row in results.rows)]
    groups = {}
    for row in results.rows:
        groups.setdefault(row.type, {})[row.shape["m"]] = row
    if len(names) < 2 or not groups:
        return None
    panels = [(letter, size) for letter in TYPE_NAMES if letter in groups for size in sorted(groups[letter])]
    columns = min(2, len(panels))
    lines = (len(panels) + columns - 1) // columns
    figure, axes = plt.subplots(lines, columns, figsize=(5.6 * columns, 0.6 + 0.36 * len(names) * lines + 0.5 * lines),
                                squeeze=False)
    for axis in axes.flat[len(panels):]:
        axis.set_visible(False)
    for axis, (letter, size) in zip(axes.flat, panels):
        row = groups[letter][size]
        bars = [(name, row.find(name)) for name in names if row.find(name) and row.find(name).ok]
        labels = [name.removeprefix("xgemm:") for name, _ in bars]
        values = [found.tflops for _, found in bars]
        colours = [REFERENCE if name.startswith("cublas") else OURS for name, _ in bars]
        axis.barh(range(len(bars)), values, color=colours, height=0.68)
        for i, value in enumerate(values):
            axis.text(value, i, f" {value:.3g}", va="center", fontsize=8)
        axis.set_yticks(range(len(bars)), labels, fontsize=8)
        axis.invert_yaxis()
        axis.set_xlim(0, max(values) * 1.18 if values else 1)
        axis.grid(axis="y", visible=False)
        axis.set_title(f"{TYPE_NAMES[letter]}, n = m = k = {size}")
        axis.set_xlabel("TFLOP/s")
    figure.tight_layout()
    return _svg(figure, "ladder")


def ratios_by_set(results):
    """Every row's ratio as a dot, a line per set, the geometric mean as a bar."""
    groups = {}
    for row in results.rows:
        found = row.find(results.primary())
        if found and found.ok and found.ratio:
            groups.setdefault((row.set, row.type), []).append(found.ratio.median)
    if not groups:
        return None
    keys = list(groups)
    figure, axis = plt.subplots(figsize=(10.8, 0.9 + 0.3 * len(keys)))
    for i, key in enumerate(keys):
        colour = OURS if key[1] == "s" else OTHERS[0]
        axis.scatter(groups[key], [i] * len(groups[key]), s=18, color=colour, alpha=0.5, linewidth=0)
        mean = geometric_mean(groups[key])
        axis.plot([mean, mean], [i - 0.32, i + 0.32], color="#111827", linewidth=2)
        axis.annotate(f"{mean:.2f}", (1.01, i), xycoords=("axes fraction", "data"), va="center", fontsize=8)
    axis.set_yticks(range(len(keys)), [f"{name}, {TYPE_NAMES[letter]}" for name, letter in keys], fontsize=8)
    axis.invert_yaxis()
    axis.set_xscale("log")
    everything = [value for values in groups.values() for value in values]
    low, high = min(everything + [0.9]) / 1.05, max(everything + [1.1]) * 1.05
    axis.set_xlim(low, high)
    steps = [0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.4, 2, 3, 5, 10, 20]
    if high / low < 2.5:
        steps += [0.6, 0.8, 0.9, 1.1, 1.2, 1.6]
    axis.xaxis.set_major_locator(FixedLocator([step for step in steps if low <= step <= high]))
    axis.xaxis.set_minor_locator(NullLocator())
    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}×"))
    axis.axvline(1, color=GREY, linewidth=1)
    axis.set_xlabel(f"ratio to {results.reference()} (right of 1 is faster); the bar is the geometric mean")
    figure.tight_layout()
    return _svg(figure, "sets")


def make_all(results, ladder_results):
    """Name, title, explanation and SVG (or None) of every figure, in the order of the page."""
    with plt.rc_context(STYLE):
        return [
            ("speed", "Speed over size", "Medians with their 95 % intervals; below, the ratio to the reference.",
             speed_over_size(results)),
            ("sets", "Ratios by set of shapes", "A dot per shape.", ratios_by_set(results)),
            ("heat", "Where the ratio is what", "Blue is faster than the reference, red slower.", ratio_heat_map(results)),
            ("roofline", "Roofline", "Under the copy and arithmetic rates measured on this machine.", roofline(results)),
            ("ladder", "The ladder of kernels", "Each family's best kernel against cuBLAS.",
             ladder(ladder_results) if ladder_results else None),
        ]
