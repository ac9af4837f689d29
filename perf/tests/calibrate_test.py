#!/usr/bin/env python3
"""What ./run calibrate fits, from a table as xgemm-tune writes it.

SPDX-License-Identifier: BSD-3-Clause
"""

import importlib.util
import lzma
import pathlib
import subprocess
import sys
import tempfile
import unittest

PERF = pathlib.Path(__file__).resolve().parent.parent
BUILD = None


class CalibrateTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)

    def calibrate(self, lines, build=None):
        (self.path / "measured.tsv").write_text("".join(lines), encoding="utf-8")
        return subprocess.run([sys.executable, PERF / "tune/fit.py", "--build", build or BUILD, "--calibrate", self.path / "measured.tsv",
                               "--output", self.path / "gpu_rates"], capture_output=True, text=True, check=False)

    def test_a_gpu_without_wgmma_is_refused(self):
        done = self.calibrate(["# NVIDIA RTX A6000\t84\t84,0,0,0\t6291456\n", "h NN 512x512x512\tcublas\t1x1\t0\t1\t8.5\t0\n",
                               "h NN 512x512x512\tmma_swizzled_f16_64x64x64_s2_v8_nn\t1x1\t0\t1\t8.1\t8\n"])
        self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (1, "", 1), done.stderr)
        self.assertIn("compute capability 9.0 alone", done.stderr)
        self.assertFalse((self.path / "gpu_rates").exists())

    def test_the_build_that_is_named_is_used(self):
        done = self.calibrate(["# none\n"], self.path)
        self.assertEqual((done.returncode, done.stderr), (1, "build the target xgemm_cost_model first\n"))

    def test_what_is_no_table_is_refused(self):
        row = "h NN 512x512x512\tcublas\t1x1\t0\t1\t8.5\t0\n"
        head = "# NVIDIA H200\t132\t132,66,32,16\t62914560\n"
        for text in ("", "garbage\n", row, head + "garbage\n", head + row.replace("8.5", "fast"), head + row.replace("h NN ", "NN "),
                     "# NVIDIA H200\t132\n" + row, "\0\x01\n"):
            done = self.calibrate([text])
            self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1), done.stderr)
            self.assertIn("measured.tsv: is no table of xgemm-tune", done.stderr)
        for name, content in (("none.tsv", None), ("bad.tsv.xz", b"no archive"), ("bad.tsv", b"\xff\xfe")):
            if content is not None:
                (self.path / name).write_bytes(content)
            for program in ("fit.py", "fit_fp32.py", "fit_families.py"):
                done = subprocess.run([sys.executable, "-c", "import sys, pathlib; sys.path.insert(0, sys.argv[1]); import fit; "
                                       "sys.argv[0] = sys.argv[2]; fit.read_table(pathlib.Path(sys.argv[3]))", PERF / "tune", program,
                                       self.path / name], capture_output=True, text=True, check=False)
                self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1), done.stderr)
                self.assertRegex(done.stderr, rf"^{program}: .*{name}: cannot be read")

    def test_options_that_mean_nothing_alone_are_refused(self):
        for option, needed in (("--again", "--add"), ("--output", "--calibrate")):
            done = subprocess.run([sys.executable, PERF / "tune/fit.py", option, "x"], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 2)
            self.assertIn(f"{option} needs {needed}", done.stderr)

    def test_what_is_known_of_old_tables_is_for_them_alone(self):
        sys.path.insert(0, str(PERF / "tune"))
        import fit

        measured = {fit.table_of((0, file.name)) for file in (PERF / "tune/measured").glob("*.tsv.xz")}
        self.assertLessEqual(fit.IN_TURN, measured)
        row = "h NN 512x512x16384\twgmma_tma_f16_128x128x64_s4_nn\t1x1\t0\t{}\t{}\t8\n"
        text = "# NVIDIA H200\t132\t132,66,32,16\t62914560\n" + row.format(1, 24.) + row.format(4, 20.)
        for name, split in (("calibration.tsv", [20.]), ("h200-again.tsv", [20.]), ("h200-light.tsv", [])):
            (self.path / name).write_text(text, encoding="utf-8")
            data = fit.Measurements([self.path / name], ["128x128x64_s4"])
            self.assertEqual(data.us.tolist(), [24., *split], name)

    def test_a_case_is_read_with_what_it_leaves_out(self):
        sys.path.insert(0, str(PERF / "tune"))
        import fit

        self.assertEqual(fit.parse_case("H TN 96x64x32"), ("H", 96, 64, 32, 1, True, False, [32, 32, 96], 0, 0, False))
        self.assertEqual(fit.parse_case("s NT 1x2x3 ld=4,5,6 beta=-0.5 batch=7 offset=1 pointers"),
                         ("s", 1, 2, 3, 7, False, True, [4, 5, 6], -.5, 1, True))

    @unittest.skipIf(importlib.util.find_spec("scipy") is None, "needs SciPy (Debian: python3-scipy)")
    def test_a_row_is_written(self):
        with lzma.open(next(iter(sorted((PERF / "tune/measured").glob("*.tsv.xz")))), "rt") as file:
            lines = [next(file) for _ in range(400)]
        done = self.calibrate(lines)
        self.assertEqual(done.returncode, 0, done.stderr)
        comment, row = (self.path / "gpu_rates").read_text(encoding="utf-8").splitlines()
        *rates, name = row.split(maxsplit=4)
        self.assertEqual((comment[0], name), ("#", lines[0].removeprefix("# ").split("\t")[0]))
        self.assertTrue(all(float(rate) > 0 for rate in rates))


if __name__ == "__main__":
    if importlib.util.find_spec("numpy") is None:
        print("needs NumPy (Debian: python3-numpy)")
        sys.exit(77)
    BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
