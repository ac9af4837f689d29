"""The pictures of the report, each a function from results to an SVG text, or None where the data for it are missing.

SPDX-License-Identifier: BSD-3-Clause
"""

import io
import re

import matplotlib

matplotlib.use("svg")

import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402
from matplotlib.colors import TwoSlopeNorm  # noqa: E402
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator  # noqa: E402

from results import TYPE_NAMES, geometric_mean, most_common  # noqa: E402

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


def svg(figure, name):
    figure.tight_layout()
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


def _colours(results, reference):
    """A colour for every candidate."""
    names = [name for name in results.candidates if name not in (results.primary, reference)]
    others = {name: OTHERS[i % len(OTHERS)] for i, name in enumerate(names)}
    return others | {reference: REFERENCE, results.primary: OURS}


def references(frame):
    """The references of these lines, in their order."""
    return [name for name in frame.reference.unique() if name]


def by_reference(frame, *columns):
    """Groups by reference and columns: ratios to one reference and those to another are not taken together."""
    return frame[frame.reference != ""].groupby(["reference", *columns], sort=False)


def _measured(results):
    """What was measured, with operands on the device if any are: in host memory it is another matter."""
    frame = results.frame[(results.frame.status == "ok") & results.frame.time_us.notna()]
    place = "ddd" if (frame.location == "ddd").any() else "hhh"
    return frame[frame.location == place]


def _plain(frame):
    """Products with nothing special about them: no flags, dense, C overwritten by no more than the product."""
    return frame[(frame.transa + frame.transb == "NN") & (frame.layout == "col") & (frame.alpha == 1) & (frame.beta == 0) &
                 (frame.batch == 1) & (frame.lda == frame.m) & (frame.ldb == frame.k) & (frame.ldc == frame.m) &
                 (frame.offset == 0) & (frame.batch_kind == "") & (frame.epilogue == "")]


def _types(frame):
    return [letter for letter in TYPE_NAMES if (frame.type == letter).any()]


def _sizes_axis(axis, sizes):
    axis.set_xscale("log", base=2)
    shown = [size for size in sorted(sizes) if size & (size - 1) == 0] or sorted(sizes)
    axis.xaxis.set_major_locator(FixedLocator(shown))
    axis.xaxis.set_minor_locator(NullLocator())
    axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.0f}"))
    axis.tick_params(axis="x", labelsize=8)


def _ratio_ticks(axis, low, high):
    steps = [0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1, 1.4, 2, 3, 5, 10, 20]
    if high / low < 2.5:
        steps += [0.6, 0.8, 0.9, 1.1, 1.2, 1.6]
    axis.set_major_locator(FixedLocator([step for step in steps if low <= step <= high]))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}×"))


def _ratio_axis(axis):
    axis.axhline(1, color=GREY, linewidth=1)
    axis.set_yscale("log")
    low, high = axis.get_ylim()
    low, high = min(low, 0.9), max(high, 1.1)
    axis.set_ylim(low, high)
    _ratio_ticks(axis.yaxis, low, high)


def speed_over_size(results):
    """TFLOP/s of every candidate over n = m = k, and the ratio with its interval below."""
    frame = _plain(_measured(results)).query("m == n and n == k")
    # Odd sizes are another matter, and have a set of their own: among the others the line would jump.
    usual = frame[(frame.m % 8 == 0) | (frame.m < 8)]
    frame = frame if usual.empty else usual
    reference = most_common(frame.reference)
    types, colours = _types(frame), _colours(results, reference)
    if not types:
        return None
    figure, axes = plt.subplots(2, len(types), figsize=(5.2 * len(types), 5.4), sharex="col", squeeze=False,
                                gridspec_kw={"height_ratios": [2, 1]})
    for letter, (speed, ratio) in zip(types, axes.T):
        for name, line in frame[frame.type == letter].sort_values("m", kind="stable").groupby("candidate", sort=False):
            wide = name in (results.primary, reference)
            speed.plot(line.m, line.tflops, marker="o", markersize=4 if wide else 3, linewidth=1.8 if wide else 1,
                       color=colours[name], label=name)
            speed.fill_between(line.m, line.flops / line.time_high_us * 1e-6, line.flops / line.time_low_us * 1e-6,
                               color=colours[name], alpha=0.15, linewidth=0)
            if name != reference and line.ratio.notna().any():
                ratio.errorbar(line.m, line.ratio, yerr=[line.ratio - line.ratio_low, line.ratio_high - line.ratio],
                               marker="o", markersize=4, linewidth=1.4, capsize=2, color=colours[name])
        speed.set_title(f"{TYPE_NAMES[letter]}, n = m = k")
        speed.set_ylim(bottom=0)
        speed.legend(loc="upper left", fontsize=8)
        ratio.set_xlabel("n")
        _ratio_axis(ratio)
        _sizes_axis(ratio, set(frame[frame.type == letter].m.astype(int)))
    axes[0][0].set_ylabel("TFLOP/s")
    axes[1][0].set_ylabel(f"ratio to {reference}")
    return svg(figure, "speed")


def ratio_heat_map(results):
    """Ratio over m x n at one k, a panel per type."""
    frame = _plain(_measured(results))
    frame = frame[(frame.candidate == results.primary) & frame.ratio.notna()]
    grids = {}
    for letter in _types(frame):
        ours = frame[frame.type == letter]
        grid = results.frame[(results.frame.type == letter) & (results.frame.set == "grid")]
        # A cell may have been measured as a member of another set: a shape is never measured twice.
        cells = ours[ours.m.isin(grid.m) & ours.n.isin(grid.n) & ours.k.isin(grid.k[:1])]
        if len(cells) >= 4:
            grids[letter] = cells.pivot_table(index="m", columns="n", values="ratio"), int(cells.k.iloc[0])
    if not grids:
        return None
    figure, axes = plt.subplots(1, len(grids), figsize=(5.4 * len(grids), 4.8), squeeze=False)
    reach = min(2, max(0.1, *(np.nanmax(np.abs(np.log2(cells.values))) for cells, _ in grids.values())))
    for axis, (letter, (cells, k)) in zip(axes[0], grids.items()):
        logs = np.log2(cells.values)
        axis.pcolormesh(logs, cmap="RdBu", norm=TwoSlopeNorm(0, -reach, reach), edgecolors="white", linewidth=1)
        for (i, j), ratio in np.ndenumerate(cells.values):
            if not np.isnan(ratio):
                axis.text(j + 0.5, i + 0.5, f"{ratio:.2f}", ha="center", va="center", fontsize=8,
                          color="white" if abs(logs[i, j]) > 0.6 * reach else "#111827")
        axis.set_xticks(np.arange(cells.shape[1]) + 0.5, cells.columns.astype(int), fontsize=8)
        axis.set_yticks(np.arange(cells.shape[0]) + 0.5, cells.index.astype(int), fontsize=8)
        axis.set_xlabel("n")
        axis.set_ylabel("m")
        axis.grid(False)
        axis.set_title(f"{TYPE_NAMES[letter]}, k = {k}: ratio to {most_common(frame.reference)}")
    return svg(figure, "heat")


def roofline(results):
    """Speed over operations per byte, under what this machine reaches in practice."""
    frame = _measured(results)
    frame = frame[(frame.candidate == results.primary) | (frame.candidate == frame.reference)]
    types = _types(frame)
    if not types:
        return None
    figure, axes = plt.subplots(1, len(types), figsize=(5.4 * len(types), 4.4), squeeze=False)
    for axis, letter in zip(axes[0], types):
        points = frame[frame.type == letter]
        ours = points.candidate == results.primary
        for mine, colour in ((points[~ours], REFERENCE), (points[ours], OURS)):
            axis.scatter(mine.flops / mine.bytes, mine.tflops, s=14, color=colour, alpha=0.75, linewidth=0,
                         label=", ".join(mine.candidate.unique()))
        axis.set_xscale("log")
        axis.set_yscale("log")
        _draw_roof(axis, results.ceilings, letter, points.flops / points.bytes, points.tflops.max())
        axis.set_title(TYPE_NAMES[letter])
        axis.set_xlabel("operations per byte that has to be moved")
        axis.set_ylabel("TFLOP/s")
        axis.legend(loc="lower right", fontsize=8)
    return svg(figure, "roofline")


def _draw_roof(axis, ceilings, letter, intensities, fastest):
    bandwidth = ceilings.get("copy_gbs", 0)
    fp32 = ceilings.get("fp32_tflops", 0)
    # bf16 runs at the rate of fp16; that of fp64 is not measured.
    peak = {"s": fp32, "d": 0}.get(letter, ceilings.get("fp16_tensor_tflops") or fp32)
    if not bandwidth or not peak:
        why = "no arithmetic rate of fp64 is measured" if bandwidth and letter == "d" else "ceilings were not measured (--ceilings)"
        axis.text(0.03, 0.97, why, transform=axis.transAxes, va="top", color=GREY,
                  fontsize=8)
        return
    knee = peak * 1e3 / bandwidth
    # The whole bend is shown, also where all points are to the right of it.
    low, high = min(intensities.min() / 1.5, knee / 4), max(intensities.max() * 1.5, knee * 2)
    axis.plot([low, knee, high], [low * bandwidth * 1e-3, peak, peak], color="#111827", linewidth=1.4,
              label=f"measured: {peak:.3g} TFLOP/s, copy {bandwidth:.0f} GB/s")
    axis.set_ylim(top=max(peak, fastest) * 2)


def ladder(results):
    """A bar per kernel family and cuBLAS, at every size of the ladder."""
    frame = _measured(results)
    panels = [group for _, group in frame.groupby(["type", "m"])]
    panels.sort(key=lambda group: (list(TYPE_NAMES).index(group.type.iloc[0]), group.m.iloc[0]))
    if frame.candidate.nunique() < 2:
        return None
    columns = min(2, len(panels))
    lines = -(-len(panels) // columns)
    figure, axes = plt.subplots(lines, columns, squeeze=False,
                                figsize=(5.6 * columns, 0.6 + (0.36 * frame.candidate.nunique() + 0.5) * lines))
    for axis in axes.flat[len(panels):]:
        axis.set_visible(False)
    for axis, bars in zip(axes.flat, panels):
        axis.barh(range(len(bars)), bars.tflops, height=0.68,
                  color=[REFERENCE if name.startswith("cublas") else OURS for name in bars.candidate])
        for i, speed in enumerate(bars.tflops):
            axis.text(speed, i, f" {speed:.3g}", va="center", fontsize=8)
        axis.set_yticks(range(len(bars)), bars.candidate.str.replace("xgemm:", ""), fontsize=8)
        axis.invert_yaxis()
        axis.set_xlim(0, bars.tflops.max() * 1.18)
        axis.grid(axis="y", visible=False)
        axis.set_title(f"{TYPE_NAMES[bars.type.iloc[0]]}, n = m = k = {bars.m.iloc[0]:.0f}")
        axis.set_xlabel("TFLOP/s")
    return svg(figure, "ladder")


def ratios_by_set(results):
    """Every row's ratio as a dot, a line per reference, set and type, the geometric mean as a bar."""
    ours = results.of(results.primary).query("status == 'ok' and ratio > 0")
    if ours.empty:
        return None
    groups = [(key, group.ratio) for key, group in by_reference(ours, "set", "type")]
    several = len(references(ours)) > 1
    figure, axis = plt.subplots(figsize=(10.8, 0.9 + 0.3 * len(groups)))
    for i, ((_, _, letter), ratios) in enumerate(groups):
        axis.scatter(ratios, [i] * len(ratios), s=18, color=OURS if letter == "s" else OTHERS[0], alpha=0.5, linewidth=0)
        mean = geometric_mean(ratios)
        axis.plot([mean, mean], [i - 0.32, i + 0.32], color="#111827", linewidth=2)
        axis.annotate(f"{mean:.2f}", (1.01, i), xycoords=("axes fraction", "data"), va="center", fontsize=8)
    axis.set_yticks(range(len(groups)), [f"{name}, {TYPE_NAMES[letter]}" + (f", of {reference}" if several else "")
                                         for (reference, name, letter), _ in groups], fontsize=8)
    axis.invert_yaxis()
    axis.set_xscale("log")
    low, high = min(0.9, ours.ratio.min()) / 1.05, max(1.1, ours.ratio.max()) * 1.05
    axis.set_xlim(low, high)
    _ratio_ticks(axis.xaxis, low, high)
    axis.axvline(1, color=GREY, linewidth=1)
    axis.set_xlabel(f"ratio to {' or '.join(references(ours))} (right of 1 is faster); the bar is the geometric mean")
    return svg(figure, "sets")


def _steps(frame):
    """The sweeps of the set `cliffs`: where they go, a label for the axis, and what they go over."""
    square = frame.query("m == n and n == k")
    dense = (square.lda == square.m) & (square.offset == 0)
    apart = square[square.m == 4096].assign(
        step=lambda x: np.where(x.offset > 0, x.offset, x.lda - x.m), what=lambda x: np.where(x.offset > 0, "pointers", "rows"))
    skinny = frame[(frame.n == 4096) & (frame.k == 4096) & (frame.m <= 512)]
    return [("n = m = k", square[dense].assign(step=square.m)),
            ("n = 4096, elements off a multiple of 256 bytes", apart[apart.what == "pointers"]),
            ("n = 4096, elements beyond it in leading dimensions", apart[apart.what == "rows"]),
            ("m, for n = k = 4096, TN", skinny.assign(step=skinny.m))]


def cliffs(results):
    """Time over extents and alignments, a step at a time: a line that jumps is a cliff."""
    frame = _measured(results)
    frame = frame[(frame.set == "cliffs") & frame.candidate.isin([results.primary, results.reference])]
    types, colours = _types(frame), _colours(results, results.reference)
    if not types:
        return None
    columns = [(label, steps) for label, steps in _steps(frame) if len(steps)]
    figure, axes = plt.subplots(len(types), len(columns), figsize=(4.2 * len(columns), 3.2 * len(types)), squeeze=False)
    for letter, row in zip(types, axes):
        for (label, steps), axis in zip(columns, row):
            few = steps.step.nunique() < 10
            for name, line in steps[steps.type == letter].sort_values("step").groupby("candidate", sort=False):
                axis.plot(line.step, line.time_us, color=colours[name], linewidth=1.4, marker="o", label=name,
                          markersize=5 if few else 2)
            axis.set_ylim(bottom=0)
            axis.set_xlabel(label)
            if few:
                axis.set_xticks(sorted(steps.step.unique()))
        row[0].set_title(TYPE_NAMES[letter])
        row[0].set_ylabel("µs")
        row[0].legend(loc="best", fontsize=8)
    return svg(figure, "cliffs")


def make_all(results, ladder_results):
    """Name, title, explanation and SVG (or None) of every figure, in the order of the page."""
    with plt.rc_context(STYLE):
        pictures = [
            ("speed", "Speed over size", "Medians with their 95 % intervals; below, the ratio to the reference.",
             speed_over_size(results)),
            ("sets", "Ratios by set of shapes", "A dot per shape.", ratios_by_set(results)),
            ("heat", "Where the ratio is what", "Blue is faster than the reference, red slower.", ratio_heat_map(results)),
            ("roofline", "Roofline", "Under the copy and arithmetic rates measured on this machine.", roofline(results)),
            ("ladder", "The ladder of kernels", "Each family's best kernel against cuBLAS.",
             ladder(ladder_results) if ladder_results else None),
        ]
        # No part of the standard sets, and so not missed where it was not measured.
        if (results.frame.set == "cliffs").any():
            pictures.append(("cliffs", "Cliffs", "Time over extents and alignments, a step at a time.", cliffs(results)))
        return pictures
