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

    def run_it(self, *arguments, **variables):
        return subprocess.run([self.path / "run", *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              env={**os.environ, "PATH": f"{self.path / 'bin'}:{os.environ['PATH']}", **variables}, check=False)

    def pretend_to_build(self):
        self.tool("dpkg-query", 'for name; do echo "$name installed"; done')
        self.tool("cmake", """case $1 in
            --version) echo cmake version 3.25.1 ;;
            --fresh) mkdir -p "$7" && touch "$7/build.ninja" ;;
            --install) touch "$2/install_manifest.txt" ;;
            esac""")

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

    def test_tests_that_one_of_two_builds_has(self):
        self.pretend_to_build()
        self.tool("ctest", f"""case "$*" in
            *--show-only*) case "$*" in *$HAVE_IT*) echo 'Total Tests: 1' ;; *) echo 'Total Tests: 0' ;; esac ;;
            *) echo "$2" >>'{self.path}/tested' ;;
            esac""")
        for have_it, tested in (("build/cpu-only", ["cpu-only"]), ("build/asan", ["asan"]), ("build", ["cpu-only", "asan"])):
            done = self.run_it("test", "--no-cuda", "--", "-R", "some", HAVE_IT=have_it)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            lines = (self.path / "tested").read_text(encoding="utf-8").split()
            self.assertEqual([pathlib.Path(line).name for line in lines], tested)
            (self.path / "tested").unlink()
        done = self.run_it("test", "--no-cuda", "--", "-R", "some", HAVE_IT="nothing")
        self.assertEqual(done.returncode, 1)
        self.assertIn("no build has such a test: -R some", done.stderr)

    def test_another_compiler_is_configured_anew(self):
        self.pretend_to_build()
        install = "install", "--no-cuda", "--prefix", "/usr"
        for compiler, anew in (("gcc", True), ("gcc", False), ("clang", True)):
            done = self.run_it(*install, CC=compiler, DESTDIR=str(self.path / "root"))
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual("Configuring" in done.stdout, anew, compiler)
        self.assertFalse((self.path / "build/cpu-only/install_manifest.txt").exists())

    def test_clean(self):
        self.assertEqual(self.run_it("clean").returncode, 0)
        self.assertEqual(((self.path / "build").exists(), (self.path / ".deps").exists()), (False, True))
        self.assertEqual(self.run_it("clean", "--all").returncode, 0)
        self.assertFalse((self.path / ".deps").exists())


if __name__ == "__main__":
    SOURCE = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
