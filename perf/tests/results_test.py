#!/usr/bin/env python3
"""Reading of result files: what xgemm-bench writes, and files that are not what they should be.

SPDX-License-Identifier: BSD-3-Clause
"""

import csv
import fnmatch
import io
import json
import pathlib
import random
import re
import sys
import tempfile
import unittest
import xml.etree.ElementTree as xml

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import synthetic  # noqa: E402

SAMPLE = HERE / "golden" / "results.json"  # written by results_test.cc: one of everything that a run can produce


class ResultsTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.folder.name)
        self.addCleanup(self.folder.cleanup)

    def test_what_the_benchmark_writes_is_read(self):
        read = results.load(SAMPLE)
        self.assertEqual((read.primary, read.reference, read.complete), ("xgemm", "cublas-ws32", True))
        ours = read.of("xgemm")
        self.assertEqual(list(ours.row_status), ["ok", "ok", "failed", "skipped"])
        first = ours.iloc[0]
        self.assertEqual((first.ratio, first.ratio_low, first.time_us, first.tflops > 42), (1.2, 1.194, 50, True))
        self.assertEqual((first.flops, first.bytes), (2 * 1024**3, 12 * 1024**2))
        self.assertTrue(ours.ratio.isna().iloc[2])
        self.assertEqual(ours.candidate.iloc[3], "")
        self.assertEqual(list(read.of("cublas").candidate), ["cublas", "", "", ""])
        self.assertEqual([one["shapes"] for one in read.host_times], [600, 0])

    def test_each_committed_file_is_in_the_table_of_where_it_is_from(self):
        text = (HERE.parent.parent / "docs/benchmarking.md").read_text(encoding="utf-8")
        rows = re.findall(r"^\| (`h\d00-[^|]*) \|", text, re.MULTILINE)
        patterns = [name for row in rows for name in re.findall(r"`(.*?)`", row)]
        files = sorted(path.name for path in (HERE.parent.parent / "docs/results").glob("*.txt"))
        self.assertTrue(files)
        for name in files:
            self.assertTrue(any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns), name)

    def test_bytes_count_what_has_to_move(self):
        data = synthetic.squares(1, lambda i: 1.0)
        data["rows"][0]["shape"] |= {"m": 10, "n": 20, "k": 30, "batch": 3, "stride_b": 0, "beta": 1.0, "type": "h"}
        read = results.load(synthetic.write(self.path / "one.json", data))
        self.assertEqual(read.frame.bytes[0], 2 * (900 + 600 + 1200))
        self.assertEqual(read.frame.flops[0], 2 * 6000 * 3)

    def test_csv_and_junit(self):
        done = synthetic.run(results.main, SAMPLE, "--csv", self.path / "out.csv", "--junit", self.path / "out.xml")
        self.assertEqual(done, (0, "", ""))
        text = (self.path / "out.csv").read_text(encoding="utf-8")
        synthetic.expect_golden(self, "results.csv", text)
        lines = list(csv.DictReader(io.StringIO(text)))
        self.assertEqual(len(lines), 8)
        self.assertEqual(lines[5]["reason"], 'wrong result: NaN at (3, 4): not written, or "wrong" <&>')
        synthetic.expect_golden(self, "results.xml", (self.path / "out.xml").read_text(encoding="utf-8"))
        suite = xml.parse(self.path / "out.xml").getroot()[0]
        self.assertEqual([suite.get(key) for key in ("tests", "failures", "skipped")], ["8", "1", "1"])

    def test_errors_name_the_file_and_the_shape(self):
        good = SAMPLE.read_text()
        for change, message in (
            (lambda text: "", "is not JSON"),
            (lambda text: "[" * 200000, "is not JSON"),
            (lambda text: "[]", "is not a file of xgemm-bench"),
            (lambda text: text.replace('"version": 1', '"version": 9'), "has version 9"),
            (lambda text: text.replace('"rows"', '"lines"'), "'rows'"),
            (lambda text: text.replace('"m": 1024', '"m": -3'), "'s NN 1024x1024x1024' lacks a whole m from 1 on"),
            (lambda text: text.replace('"m": 1024', '"m": 1.5'), "lacks a whole m"),
            (lambda text: text.replace('"m": 1024,', ""), "lacks a whole m"),
            (lambda text: text.replace('"type": "s"', '"type": "q"'), "lacks a known type"),
            (lambda text: text.replace('"name": "xgemm"', '"name": 4'), "'candidate' is not always a text"),
            (lambda text: text.replace('"median": 50.0', '"median": "fast"'), "fast"),
            (lambda text: text.replace('"median": 50.0', '"median": 500.0'), "lacks time_us with 0 < low <= median <= high"),
            (lambda text: text.replace('"name": "cublas"', '"name": "xgemm"'), "is there twice"),
        ):
            (self.path / "bad.json").write_text(change(good))
            with self.assertRaises(results.InputError) as caught:
                results.load(self.path / "bad.json")
            self.assertIn("bad.json: ", str(caught.exception))
            self.assertIn(message, str(caught.exception))
        with self.assertRaisesRegex(results.InputError, "cannot be read"):
            results.load(self.path / "none.json")

    def test_fuzzed_files_are_read_or_refused(self):
        good, rng, read = json.loads(SAMPLE.read_text()), random.Random(11), 0

        def places(value):
            for key in list(value) if isinstance(value, dict) else range(len(value)):
                yield value, key
                if isinstance(value[key], (dict, list)):
                    yield from places(value[key])

        for _ in range(150):
            data = json.loads(json.dumps(good))
            for _ in range(rng.randint(1, 3)):
                holder, key = rng.choice(list(places(data)))
                if rng.random() < 0.3:
                    del holder[key]
                else:
                    holder[key] = rng.choice([None, -1, 0, 1e300, "text", [], {}, True, [1], {"median": 1}])
            path = synthetic.write(self.path / "fuzz.json", data)
            try:
                loaded = results.load(path)
                results.to_csv(loaded)
                results.to_junit(loaded)
                options = compare.parse([path, path])
                rows, groups = compare.compare(loaded, loaded, options)
                for form in (compare.as_text, compare.as_markdown):
                    form(rows, groups, loaded, loaded, options)
                read += 1
            except results.InputError:
                pass  # refused in words
        self.assertGreater(read, 20)


if __name__ == "__main__":
    synthetic.need("pandas")
    import compare
    import results
    unittest.main()
