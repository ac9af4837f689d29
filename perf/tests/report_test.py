#!/usr/bin/env python3
"""The report on synthetic results: every figure there, nothing loaded from elsewhere, bad input refused in words.

SPDX-License-Identifier: BSD-3-Clause
"""

import html.parser
import json
import math
import pathlib
import re
import sys
import tempfile
import unittest
import xml.etree.ElementTree

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import synthetic  # noqa: E402

FIGURES = ["speed", "sets", "heat", "roofline", "ladder"]


def make(*arguments):
    return synthetic.run(report.main, *arguments)


class Page(html.parser.HTMLParser):
    """What a page holds and refers to."""

    def __init__(self, text):
        super().__init__()
        self.figures, self.missing, self.references, self.ids, self.open = [], [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.open.append(tag)
        for key, value in attributes:
            if key == "data-figure":
                self.figures.append(value)
            elif key == "data-figure-missing":
                self.missing.append(value)
            elif key in ("src", "href", "xlink:href"):
                self.references.append(value)
            elif key == "id":
                self.ids.append(value)


class ReportTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.path = pathlib.Path(cls.folder.name)
        speed = lambda one: 0.7 + 0.6 * abs(math.sin(one["m"] * one["n"]))  # noqa: E731
        data = synthetic.standard(speed)
        data["rows"][0] |= {"status": "failed"}
        data["rows"][0]["candidates"][0] = {"name": "xgemm", "status": "failed", "reason": "wrong <result>", "kernel": "",
                                            "plan": ""}
        data["rows"][1] |= {"status": "skipped", "reason": "does not fit", "candidates": []}
        cls.results = synthetic.write(cls.path / "results.json", data)
        cls.ladder = synthetic.write(cls.path / "ladder.json", synthetic.ladder())
        comparison = {"schema": "xgemm-compare", "version": 1, "regressed": True,
                      "rows": [{"id": data["rows"][2]["id"], "verdict": "SLOWER", "change": {"median": 0.9}}]}
        cls.comparison = synthetic.write(cls.path / "comparison.json", comparison)
        cls.done = make(cls.results, "--ladder", cls.ladder, "--comparison", cls.comparison, "--html",
                        cls.path / "report.html", "--svg", cls.path / "figures")
        cls.text = (cls.path / "report.html").read_text(encoding="utf-8") if cls.done[0] == 0 else ""

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_it_is_made(self):
        self.assertEqual(self.done, (0, "", ""))

    def test_every_figure_is_there(self):
        page = Page(self.text)
        self.assertEqual(page.figures, FIGURES)
        self.assertEqual(page.missing, [])
        self.assertEqual(self.text.count("<svg"), len(FIGURES))

    def test_nothing_is_loaded(self):
        page = Page(self.text)
        for reference in page.references:
            self.assertTrue(reference.startswith(("#", "data:")), reference)
        self.assertNotRegex(self.text, r"@import|<script[^>]+src|url\((?!#)")

    def test_ids_of_the_figures_do_not_meet(self):
        page = Page(self.text)
        self.assertEqual(len(page.ids), len(set(page.ids)))
        for target in re.findall(r"url\(#([^)]+)\)", self.text):
            self.assertIn(target, page.ids)

    def test_text_is_escaped(self):
        self.assertIn("wrong &lt;result&gt;", self.text)
        self.assertNotIn("<result>", self.text)

    def test_worst_comes_first(self):
        body = self.text[self.text.index('id="rows"') :]
        ratios = [float(value) for value in re.findall(r'<b class="(?:good|bad|)">([0-9.]+)</b>', body)]
        self.assertGreater(len(ratios), 50)
        self.assertEqual(ratios, sorted(ratios))
        self.assertLess(body.index("FAILED"), body.index("<b class"))

    def test_sets_and_host_times_have_lines_of_their_own(self):
        tables = re.findall(r'<table[^>]*class="[^"]*numbers".*?</table>', self.text, re.S)
        self.assertEqual(len(tables), 2)
        for name in ("squares", "grid"):
            self.assertEqual(tables[0].count(f"<td>{name}</td>"), 2)
        self.assertRegex(tables[1], r"600 shapes in rotation</td>\s*<td>fp16</td>\s*<td>4</td>\s*<td>8</td>\s*<td>2.000</td>")

    def test_verdicts_are_shown(self):
        self.assertIn("SLOWER -10.0 %", self.text)
        self.assertIn("regression", self.text)

    def test_pictures_are_svg_files(self):
        for name in FIGURES:
            root = xml.etree.ElementTree.parse(self.path / "figures" / f"{name}.svg").getroot()
            self.assertTrue(root.tag.endswith("svg"))
            self.assertIn("viewBox", root.attrib)

    def test_the_same_results_give_the_same_page(self):
        again = self.path / "again.html"
        make(self.results, "--ladder", self.ladder, "--comparison", self.comparison, "--html", again)
        self.assertEqual(again.read_text(encoding="utf-8"), self.text)

    def test_little_data_is_enough(self):
        data = synthetic.standard(sizes=(128,))
        data["rows"] = data["rows"][:1]
        data["ceilings"] = {}
        path = synthetic.write(self.path / "one.json", data)
        self.assertEqual(make(path, "--html", self.path / "one.html"), (0, "", ""))
        page = Page((self.path / "one.html").read_text(encoding="utf-8"))
        self.assertEqual(page.figures, ["speed", "sets", "roofline"])
        self.assertEqual(page.missing, ["heat", "ladder"])

    def test_cliffs_have_a_picture_where_they_were_measured(self):
        path = synthetic.write(self.path / "cliffs.json", synthetic.cliffs())
        self.assertEqual(make(path, "--html", self.path / "cliffs.html", "--svg", self.path / "cliffs"), (0, "", ""))
        self.assertIn("cliffs", Page((self.path / "cliffs.html").read_text(encoding="utf-8")).figures)
        text = (self.path / "cliffs" / "cliffs.svg").read_text(encoding="utf-8")
        for label in ("n = m = k", "elements off", "leading dimensions", "m, for n = k"):
            self.assertIn(label, text)

    def test_references_are_not_mixed(self):
        path = synthetic.write(self.path / "two.json", synthetic.two_references())
        self.assertEqual(make(path, "--html", self.path / "two.html", "--svg", self.path / "two"), (0, "", ""))
        text = (self.path / "two.html").read_text(encoding="utf-8")
        for card in ("1.500×</b><span>fp32, geometric mean of 2 shapes beside cublas-ws32",
                     "0.500×</b><span>fp16, geometric mean of 2 shapes beside cublaslt"):
            self.assertIn(card, text)
        self.assertRegex(text, r"<td>[\d.,]+ cublaslt</td>")
        for reference in ("cublas-ws32", "cublaslt"):
            self.assertIn(f"squares, fp32, of {reference}", (self.path / "two" / "sets.svg").read_text(encoding="utf-8"))
        read = results.load(path)
        plain = figures._plain(figures._measured(read))
        self.assertEqual(set(plain.epilogue), {""})
        self.assertEqual(set(plain.reference), {"cublas-ws32"})
        self.assertIn("ratio to cublas-ws32", (self.path / "two" / "speed.svg").read_text(encoding="utf-8"))

    def test_doubles_have_no_roof_of_another_type(self):
        data = synthetic.squares(3, lambda i: 1.0)
        for row in data["rows"]:
            row["shape"]["type"] = "d"
        path = synthetic.write(self.path / "doubles.json", data)
        self.assertEqual(make(path, "--svg", self.path / "doubles"), (0, "", ""))
        text = (self.path / "doubles" / "roofline.svg").read_text(encoding="utf-8")
        self.assertIn("no arithmetic rate of fp64 is measured", text)
        self.assertNotIn("760", text)

    def test_no_rows_at_all(self):
        path = synthetic.write(self.path / "none.json", synthetic.results({}, [], complete=False))
        self.assertEqual(make(path, "--html", self.path / "none.html"), (0, "", ""))
        self.assertIn("interrupted", (self.path / "none.html").read_text(encoding="utf-8"))

    def test_bad_files_are_refused(self):
        bad = self.path / "bad.json"
        for text, message in (("{", "is not JSON"), ("[]", "is not a file of xgemm-bench"),
                              (json.dumps({"schema": "xgemm-bench", "version": 1, "rows": [{}]}),
                               "is not a whole result file")):
            bad.write_text(text, encoding="utf-8")
            status, _, errors = make(bad, "--html", self.path / "bad.html")
            self.assertEqual(status, 2)
            self.assertIn(message, errors)
        self.assertIn("cannot be read", make(self.path / "no-such-file.json")[2])
        for rows in ([{}], None, 3, ["text"], [{"id": "a", "verdict": "SAME", "change": 1}]):
            synthetic.write(bad, {"schema": "xgemm-compare", "version": 1, "regressed": True, "rows": rows})
            status, _, errors = make(self.results, "--comparison", bad)
            self.assertEqual((status, errors.count("\n")), (2, 1))
            self.assertIn("bad.json: is not a whole file of compare.py", errors)

    def test_what_cannot_be_written_is_said(self):
        for option, path in (("--html", self.path / "results.json" / "x.html"), ("--svg", self.path / "results.json")):
            status, _, errors = make(self.results, option, path)
            self.assertEqual((status, errors.count("\n")), (2, 1), errors)
            self.assertRegex(errors, r"^report\.py: .*results\.json")


if __name__ == "__main__":
    synthetic.need("pandas", "matplotlib")
    import figures
    import report
    import results
    unittest.main()
