"""python -m xgemm."""
import importlib.util
import subprocess
import sys
import unittest

import support
import xgemm


def run(*arguments):
    return subprocess.run([sys.executable, "-m", "xgemm", *arguments], capture_output=True, text=True, timeout=120, check=False)


class ProgramTest(unittest.TestCase):
    def test_usage(self):
        self.assertEqual(f"xgemm {xgemm.__version__}\n", run("--version").stdout)
        for arguments, status in ((("--help",), 0), ((), 2), (("tune",), 2)):
            done = run(*arguments)
            self.assertEqual(status, done.returncode)
            self.assertIn("usage: python -m xgemm", done.stdout + done.stderr)

    def test_bench(self):
        done = run("bench", "--device", "cpu", "16", "8:1:4")
        self.assertEqual(0, done.returncode, done.stderr)
        lines = done.stdout.splitlines()
        self.assertEqual(["m:n:k", "16:16:16", "8:1:4"], [line.split()[0] for line in lines])
        done = run("bench", "16:16")
        self.assertEqual(2, done.returncode)
        self.assertIn("16:16 is no shape", done.stderr)

    @unittest.skipUnless(importlib.util.find_spec("xgemm._run"), "xgemm-run comes with the installed package")
    def test_run(self):
        program = "import ctypes, sys; print(ctypes.CDLL(None).xgemm_version(), *sys.argv[1:])"
        done = run("run", "-c", program, "--one", "two")
        self.assertRegex(done.stdout, r"^\d+ --one two\n$", done.stderr)
        done = run("run", "--cublas", "-c", "import ctypes; print(ctypes.CDLL(None).cublasSgemm_v2 is not None)")
        self.assertEqual("True\n", done.stdout, done.stderr)
        products = "import numpy as np; x = np.ones((64, 64), np.float32); x @ (x + 1)"
        self.assertIn("product", run("run", "--report", "-c", products).stderr)
        self.assertEqual(2, run("run").returncode)
        self.assertIn("--cublas-library", run("run", "-h").stdout)
        done = run("run", "--library", "/no/library", "-c", "")
        self.assertEqual((2, "xgemm-run: there is no /no/library\n"), (done.returncode, done.stderr))

    def test_import_brings_no_library(self):
        """PyTorch and CuPy are looked for only when their arrays come."""
        done = subprocess.run([sys.executable, "-c", "import sys, xgemm; print({'torch', 'cupy'} & set(sys.modules))"],
                              capture_output=True, text=True, check=True)
        self.assertEqual("set()\n", done.stdout)


if __name__ == "__main__":
    support.main()
