#!/usr/bin/env python3
"""numpy_bench.py as a program: both interpreters answer alike, its result file is drawn, bad input is refused in words.

    numpy_bench_test.py LIBXGEMM

SPDX-License-Identifier: BSD-3-Clause
"""

import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import synthetic  # noqa: E402

LIBRARY = None


def bench(*arguments):
    return subprocess.run([sys.executable, HERE.parent / "numpy_bench.py", *map(str, arguments)], capture_output=True,
                          text=True, check=False, timeout=300)


class NumpyBenchTest(unittest.TestCase):
    def test_it_measures_and_draws(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder)
            done = bench("--library", LIBRARY, "--sizes", 16, 24, "--rounds", 3, "--rest", 0, "--json", path / "numpy.json")
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            rows = json.loads((path / "numpy.json").read_text(encoding="utf-8"))["rows"]
            self.assertEqual({(row["type"], row["product"], row["n"]) for row in rows},
                             {(kind, product, n) for kind in ("float32", "float64") for product in ("a @ b", "a.T @ a")
                              for n in (16, 24)})
            for row in rows:
                self.assertTrue(0 < row["ratio_low"] <= row["ratio"] <= row["ratio_high"], row)
                self.assertTrue(row["xgemm_ms"] > 0 and row["plain_ms"] > 0, row)
            if importlib.util.find_spec("matplotlib"):
                done = bench("--draw", path / "numpy.json", "--svg", path / "numpy.svg")
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertIn("its own OpenBLAS", (path / "numpy.svg").read_text(encoding="utf-8"))

    def test_a_library_that_is_not_there(self):
        done = bench("--library", "no/such/file")
        self.assertEqual(done.returncode, 2)
        self.assertIn("'no/such/file' is no file", done.stderr)


if __name__ == "__main__":
    synthetic.need("numpy")
    LIBRARY = sys.argv.pop(1)
    unittest.main()
