#!/usr/bin/env python3
"""libxgemm.so exports the functions that its headers declare and nothing else, needs nothing but the C and C++ runtime,
and loads and answers where there is no driver.

    check_exports.py LIBRARY INCLUDE_FOLDER VERSION
"""
import ctypes
import os
import re
import subprocess
import sys
import unittest

library, include, version = sys.argv[1:4]


def tool(*command):
    return subprocess.run([*command, library], check=True, stdout=subprocess.PIPE, text=True).stdout


def declared():
    """Names of the XGEMM_API functions in the C headers."""
    names = set()
    for header in ("xgemm.h", "xgemm_blas.h"):
        with open(os.path.join(include, header), encoding="utf-8") as file:
            text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.DOTALL)
        names |= set(re.findall(r"^XGEMM_API\s[^;(]*?\b(\w+)\s*\(", text, flags=re.MULTILINE))
    return names


class Exports(unittest.TestCase):
    def test_defined(self):
        exported = {}
        for line in tool("nm", "-D", "--defined-only").splitlines():
            _, kind, name = line.split()
            name, _, node = name.partition("@@")
            if kind == "A":  # the name of the version node itself
                self.assertRegex(name, r"^XGEMM_\d+$")
            else:
                exported[name] = (kind, node)
        self.assertEqual(declared(), set(exported))
        for name, (kind, node) in exported.items():
            self.assertEqual("T", kind, f"{name} is no function")
            self.assertRegex(node, r"^XGEMM_\d+$", f"{name} has no version")

    def test_blas_names(self):
        names = {"sgemm_", "cblas_sgemm", "hgemm_", "cblas_hgemm", "bgemm_", "cblas_bgemm", "sgemm_64_",
                 "cblas_sgemm_64", "sbgemm_", "cblas_sbgemm", "sbgemm_64_", "cblas_sbgemm_64",
                 "cblas_gemm_bf16bf16f32", "cblas_gemm_f16f16f32", "xsgemm", "xhgemm", "xbgemm",
                 "cblas_sgemm64_", "scipy_sgemm_", "scipy_sgemm_64_", "scipy_cblas_sgemm", "scipy_cblas_sgemm64_",
                 "sgemm_batch_strided_", "cblas_sgemm_batch_strided"}
        self.assertLessEqual(names, declared())

    def test_undefined(self):
        weak = set()
        for line in tool("nm", "-D", "--undefined-only").splitlines():
            kind, name = line.split()[-2:]
            if kind in "wv" and "@" not in name:
                weak.add(name)
            elif kind == "U":
                self.assertRegex(name, r"@(GLIBC|GLIBCXX|CXXABI|GCC)_", "comes from neither the C nor the C++ runtime")
                # A program with a C++ library of its own, linked statically, would give streams of ours its locales.
                self.assertNotRegex(name, r"^_ZN?K?St.*(stream|locale|ios_base)", "belongs to C++ streams")
        toolchain = {"__cxa_finalize", "__gmon_start__", "_ITM_deregisterTMCloneTable", "_ITM_registerTMCloneTable"}
        # A program's error handlers, and the flag by which the reference's cblas_xerbla knows a row-major call.
        handlers = {"xerbla_", "cblas_xerbla", "xerbla_64_", "cblas_xerbla_64", "scipy_xerbla_", "scipy_xerbla_64_",
                    "RowMajorStrg"}
        self.assertLessEqual(weak - toolchain, handlers)
        self.assertLessEqual({"xerbla_", "cblas_xerbla"}, weak)

    def test_needed(self):
        text = tool("readelf", "--dynamic", "--wide")
        self.assertEqual(["libxgemm.so.0"], re.findall(r"\(SONAME\).*\[(.*)\]", text))
        runtime = {"libstdc++.so.6", "libgcc_s.so.1", "libm.so.6", "libc.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1"}
        needed = {name for name in re.findall(r"\(NEEDED\).*\[(.*)\]", text) if not name.startswith("ld-linux")}
        self.assertLessEqual(needed, runtime)
        self.assertNotIn("TEXTREL", text)
        self.assertNotRegex(text, "R(UN)?PATH")

    def test_thread_local_storage(self):
        """It comes off the stack of every thread of a program that is linked with the library."""
        headers = tool("readelf", "--program-headers", "--wide")
        for line in re.findall(r"^ +TLS .*", headers, flags=re.MULTILINE):
            size, alignment = int(line.split()[5], 16), int(line.split()[-1], 16)
            self.assertLessEqual(size, 4096 + 512)  # the CUDA runtime has 4096
            self.assertLessEqual(alignment, 64)

    def test_stack_is_not_executable(self):
        (stack,) = re.findall(r"GNU_STACK.*", tool("readelf", "--program-headers", "--wide"))
        self.assertNotIn("RWE", stack)

    def test_loads_and_answers(self):
        """In a process that sees neither GPU nor driver."""
        code = f"""
import ctypes
x = ctypes.CDLL({library!r}, mode=ctypes.RTLD_GLOBAL)
x.xgemm_version_string.restype = ctypes.c_char_p
x.xgemm_last_error.restype = ctypes.c_char_p
assert x.xgemm_version_string().decode() == {version!r}, x.xgemm_version_string()
major, minor, patch = map(int, {version!r}.split("."))
assert x.xgemm_version() == major * 10000 + minor * 100 + patch
i64, f = ctypes.c_int64, ctypes.c_float
a = (f * 4)(1, 2, 3, 4); b = (f * 4)(1, 0, 0, 1); c = (f * 4)()
n = ctypes.c_char(b"N"); two = i64(2)
status = x.xsgemm(n, n, two, two, two, f(1), a, two, b, two, f(0), c, two)
assert status == 0, (status, x.xgemm_last_error())
assert list(c) == [1, 2, 3, 4], list(c)
with open("/proc/self/maps") as maps:
    text = maps.read()
assert "libcublas" not in text and "libcudart" not in text, "a CUDA library was loaded"
"""
        env = {"CUDA_VISIBLE_DEVICES": "", "PATH": os.environ.get("PATH", "")}
        subprocess.run([sys.executable, "-c", code], check=True, env=env, timeout=60)

    def test_unloads(self):
        """dlopen and dlclose, several times, leave nothing that a later call trips over."""
        handle_of = ctypes.CDLL(None)
        handle_of.dlclose.argtypes = [ctypes.c_void_p]
        for _ in range(3):
            opened = ctypes.CDLL(library)
            self.assertGreater(opened.xgemm_version(), 0)
            self.assertEqual(0, handle_of.dlclose(opened._handle))  # pylint: disable=protected-access


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
