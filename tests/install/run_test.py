#!/usr/bin/env python3
"""./run refuses what it does not know before it changes anything. A copy of it runs in a folder of its own.

    run_test.py SOURCE_FOLDER
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest


class RunTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name)
        shutil.copy2(SOURCE / "run", self.path)
        for name in ("build", ".deps", "bin"):
            (self.path / name).mkdir()

    def tool(self, name, script):
        """A program that ./run finds before that of the machine."""
        (self.path / "bin" / name).write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        (self.path / "bin" / name).chmod(0o755)

    def run_it(self, *arguments):
        return subprocess.run([self.path / "run", *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              env={**os.environ, "PATH": f"{self.path / 'bin'}:{os.environ['PATH']}"}, check=False)

    def test_unknown_words(self):
        for name in ("clang-format", "clang-format-14", "git"):
            self.tool(name, f"touch '{self.path}/formatted'")
        for arguments in (("format", "--chek"), ("format", "--check", "src"), ("clean", "--al"), ("clean", "--all", "build")):
            done = self.run_it(*arguments)
            self.assertEqual(done.returncode, 1, arguments)
            self.assertIn(f"{arguments[0]} does not know '{arguments[-1]}'", done.stderr)
        self.assertFalse((self.path / "formatted").exists())
        self.assertTrue((self.path / "build").exists() and (self.path / ".deps").exists())

    def test_a_gpu_that_cannot_be_calibrated(self):
        for capabilities in ("8.6", "8.0\n12.0"):
            self.tool("nvidia-smi", f"case $* in *compute_cap*) printf '{capabilities}\\n' ;; esac")
            done = self.run_it("calibrate")
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"here is one of {', '.join(capabilities.split())}", done.stderr)
        self.assertEqual(list((self.path / "build").iterdir()), [])

    def test_clean(self):
        self.assertEqual(self.run_it("clean").returncode, 0)
        self.assertEqual(((self.path / "build").exists(), (self.path / ".deps").exists()), (False, True))
        self.assertEqual(self.run_it("clean", "--all").returncode, 0)
        self.assertFalse((self.path / ".deps").exists())


if __name__ == "__main__":
    SOURCE = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
