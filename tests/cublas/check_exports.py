"""libxgemm_cublas.so exports what names.def lists, in the version nodes of the real libraries, and nothing else, and needs
nothing but the C library.

    check_exports.py LIBRARY NAMES_DEF
"""
import re
import subprocess
import sys
import unittest

library, names = sys.argv[1:3]


def tool(*command):
    return subprocess.run([*command, library], check=True, stdout=subprocess.PIPE, text=True).stdout


class Exports(unittest.TestCase):
    def test_defined(self):
        with open(names, encoding="utf-8") as file:
            products = re.findall(r"^XGEMM_CUBLAS_ROUTINE\((\w+),", file.read(), flags=re.MULTILINE)
        self.assertGreater(len(products), 10)
        functions = [*products, *(name + "_64" for name in products),
                     "cublasSetStream_v2", "cublasSetWorkspace_v2", "cublasDestroy_v2"]
        expected = {f"{name}@{at}libcublas.so.{version}" for name in functions for at, version in (("", 12), ("@", 13))}
        expected |= {"cublasLtMatmul@libcublasLt.so.12", "cublasLtMatmul@@libcublasLt.so.13"}
        symbols = [line.split() for line in tool("nm", "-D", "--defined-only").splitlines()]
        self.assertEqual(expected, {name for _, kind, name in symbols if kind == "T"})
        self.assertEqual({"A", "T"}, {kind for _, kind, _ in symbols})

    def test_needed(self):
        text = tool("readelf", "--dynamic", "--wide")
        needed = {name for name in re.findall(r"\(NEEDED\).*\[(.*)\]", text) if not name.startswith("ld-linux")}
        self.assertLessEqual(needed, {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0"})
        self.assertNotRegex(text, "R(UN)?PATH")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
