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
