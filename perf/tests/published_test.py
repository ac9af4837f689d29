#!/usr/bin/env python3
"""What perf/published.py reads in the tables of docs/results, and that docs/benchmarking.md says the same.

SPDX-License-Identifier: BSD-3-Clause
"""

import contextlib
import io
import pathlib
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import published  # noqa: E402

RUN = """NVIDIA H100 80GB HBM3, driver 580.159.04, {created}
  xgemm            libxgemm 0.1.0 (libxgemm.so.0)
2 cases, data N(0,1), operands rotate over 4 times the cache

case                                   {candidate} us  TFLOP/s  cublas-ws32 us  TFLOP/s    ratio  95 % interval       error   kernel
h NN 128x128x128                        2.005    2.092           2.468    1.700    {ratio}  [1.227, 1.231]          -  wgmma_tma_f16_64x16x64_s16_nn
  + against:before.so                   2.006    2.092                             9.000  [1.227, 1.231]          -  wgmma_tma_f16_64x16x64_s16_nn
h TT 30x1x12 ld=31,2,30 batch=7         1.740   0.0029           1.683   0.0030    0.500  [0.897, 0.991]          -  skinny_f16_32x32x128_v1  # label

xgemm against cublas-ws32: geometric mean of the ratios (more than 1 is faster)
  squares          fp16   {ratio}  [1.066, 1.069]   {count} shapes, worst 0.500 at h TT 30x1x12 ld=31,2,30 batch=7
"""


class PublishedTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)

    def write(self, name, created, ratio, count=14, candidate="xgemm"):
        path = self.path / name
        path.write_text(RUN.format(created=created, ratio=ratio, count=count, candidate=candidate), encoding="utf-8")
        return path

    def test_the_newest_counts(self):
        files = [self.write("h100-b.txt", "2026-11-02T00:00:00Z", "1.100"), self.write("h100-a.txt", "2026-11-03T00:00:00Z", "1.200"),
                 self.write("h100-few.txt", "2026-11-04T00:00:00Z", "3.000", 3),
                 self.write("h100-forced.txt", "2026-11-05T00:00:00Z", "4.000", 14, "xgemm:naive"),
                 self.write("h100-tf32.txt", "2026-11-06T00:00:00Z", "5.000")]
        runs = published.as_planned(files)
        self.assertEqual([run.file for run in runs], ["h100-b.txt", "h100-a.txt", "h100-few.txt"])
        self.assertEqual(published.newest_sets(runs, {"squares"}), {("squares", "H100", "fp16"): (
            1.2, .5, "h TT 30x1x12 ld=31,2,30 batch=7", "h100-a.txt")})
        self.assertEqual(published.newest_ratios(runs), {
            ("H100", "h NN 128x128x128"): (3, "h100-few.txt"), ("H100", "h TT 30x1x12 ld=31,2,30 batch=7"): (.5, "h100-few.txt")})
        self.assertIn("| `squares` |  | 1.200, 0.500 | `*-a.txt` |", published.table(published.newest_sets(runs, {"squares"})))

    def test_what_a_change_gained(self):
        self.assertEqual(self.printed("--gain", self.write("h100-a.txt", "2026-11-03T00:00:00Z", "4.500")),
                         "0.500  geometric mean of 1, from 0.500 at h NN 128x128x128 to 0.500 at h NN 128x128x128  h100-a.txt\n")

    def printed(self, *arguments):
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            self.assertEqual(published.main([*map(str, arguments)]), 0)
        return output.getvalue()

    def test_products_and_their_mean(self):
        files = [self.write("h100-a.txt", "2026-11-02T00:00:00Z", "2.000")]
        self.assertRegex(self.printed("--below", ".9", *files), r"^0.500  H100  h TT 30x1x12 ld=31,2,30 batch=7 +h100-a.txt\n$")
        self.assertIn("1.000  H100  geometric mean of 2\n", self.printed("--case", "x", *files))

    def test_the_newest_of_named_files_counts(self):
        files = [self.write("h100-new.txt", "2026-11-03T00:00:00Z", "2.000"), self.write("h100-old.txt", "2026-11-02T00:00:00Z", "1.500")]
        self.assertIn("2.000  H100  h NN", self.printed("--case", "NN", *files))

    def test_what_was_before_a_change_is_left_out(self):
        files = [self.write("h100-a.txt", "2026-11-02T00:00:00Z", "1.100"), self.write("h100-a-before.txt", "2026-11-03T00:00:00Z", "2.000")]
        self.assertEqual([run.file for run in published.as_planned(files)], ["h100-a.txt"])

    def test_ratios_to_another_reference_are_left_out(self):
        path = self.write("h100-a.txt", "2026-11-02T00:00:00Z", "1.100")
        text = path.read_text(encoding="utf-8").replace("# label", "# label  (against cublaslt)")
        path.write_text(text + "xgemm against cublaslt: geometric mean of the ratios (more than 1 is faster)\n"
                        "  squares          fp16   5.000  [1.066, 1.069]   14 shapes, worst 0.500 at h NN 1x1x1\n", encoding="utf-8")
        run, = published.runs_of(path)
        self.assertEqual(run.ratios, {"h NN 128x128x128": 1.1})
        self.assertEqual([line[2] for line in run.sets], [1.1])

    def test_bad_input(self):
        binary = self.path / "binary"
        binary.write_bytes(bytes(range(256)))
        for arguments, message in ((["none.txt"], "none.txt"), ([self.path], "Is a directory"), ([binary], "no table of xgemm-bench"),
                                   (["--case", "("], "'(' is no regular expression")):
            errors = io.StringIO()
            with contextlib.redirect_stderr(errors):
                try:
                    status = published.main([*map(str, arguments)])
                except SystemExit as end:
                    status = end.code
            self.assertEqual(status, 2)
            self.assertIn(message, errors.getvalue())

    def test_the_document_has_the_table(self):
        """perf/published.py prints it: put it in the place of that in docs/benchmarking.md."""
        self.assertIn(self.printed(), (HERE.parent.parent / "docs/benchmarking.md").read_text(encoding="utf-8"))


if __name__ == "__main__":
    unittest.main()
