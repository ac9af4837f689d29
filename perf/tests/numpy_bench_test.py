#!/usr/bin/env python3
"""numpy_bench.py as a program: both interpreters answer alike, its result file is drawn, bad input is refused in words.

    numpy_bench_test.py LIBXGEMM

SPDX-License-Identifier: BSD-3-Clause
"""

import importlib.util
import json
import pathlib
import shutil
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

    def test_a_library_in_a_folder_with_a_space(self):
        with tempfile.TemporaryDirectory(suffix=" with: a space") as folder:
            library = shutil.copy(LIBRARY, folder)
            done = bench("--library", library, "--sizes", 16, "--rounds", 1, "--rest", 0)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_a_library_that_is_not_loaded(self):
        with tempfile.NamedTemporaryFile() as file:
            done = bench("--library", file.name, "--sizes", 16)
        self.assertEqual(done.returncode, 2)
        self.assertIn(f"{file.name} is not loaded into the interpreter", done.stderr)
        self.assertNotIn("Traceback", done.stderr)

    def test_bad_input(self):
        with tempfile.TemporaryDirectory() as folder:
            empty, other = pathlib.Path(folder) / "empty.json", pathlib.Path(folder) / "other.json"
            empty.touch()
            other.write_text('{"schema": "xgemm-numpy", "version": 1, "rows": [{}]}', encoding="utf-8")
            for arguments, message in (
                (["--draw", other], "--draw needs --svg"),
                (["--draw", "none.json", "--svg", "x.svg"], "none.json: cannot be read"),
                (["--draw", empty, "--svg", "x.svg"], "empty.json: is not JSON"),
                (["--draw", other, "--svg", "x.svg"], "other.json: is not a whole result file"),
                (["--library", other, "--json", "/no/such/folder/x.json"], "/no/such/folder/x.json"),
                (["--rounds", 0], "--rounds: 0 is less than 1"),
                (["--sizes", 0], "--sizes: 0 is less than 1"),
                (["--rest", -1], "--rest"),
            ):
                if "whole" in message and not importlib.util.find_spec("matplotlib"):
                    continue
                done = bench(*arguments)
                self.assertEqual((done.returncode, done.stdout), (2, ""), arguments)
                self.assertIn(message, done.stderr)
                self.assertNotIn("Traceback", done.stderr)

    def test_the_block_of_a_model_needs_a_library(self):
        done = subprocess.run([sys.executable, HERE.parent / "torch_block.py", "--library", "no/such/file"], capture_output=True,
                              text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("'no/such/file' is no file", done.stderr)

    def test_a_library_that_is_not_there(self):
        done = bench("--library", "no/such/file")
        self.assertEqual(done.returncode, 2)
        self.assertIn("'no/such/file' is no file", done.stderr)


if __name__ == "__main__":
    synthetic.need("numpy")
    LIBRARY = sys.argv.pop(1)
    unittest.main()
