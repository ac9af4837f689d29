#!/usr/bin/env python3
"""Uses libxgemm as a stranger does: headers under strict compilers; an installed tree, moved elsewhere, through
pkg-config, find_package and the examples; CPack's .tar.gz and .deb. Run by ctest (label install); by hand:

    check_install.py --source DIR --build DIR [Headers|InstalledTree|Packages]...
"""
import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest

options = None


def run(*command, cwd=None, env=None):
    """Runs a command; its output becomes the failure message."""
    environment = {k: v for k, v in os.environ.items() if k not in ("LD_PRELOAD", "LD_LIBRARY_PATH", "DESTDIR")}
    environment.update(env or {})
    done = subprocess.run(command, cwd=cwd, env=environment, stdin=subprocess.DEVNULL, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, command))}\nexited with {done.returncode}:\n{done.stdout}")
    return done.stdout


def files_below(folder):
    """Relative paths of all files and links below a folder."""
    return sorted(os.path.relpath(os.path.join(at, name), folder)
                  for at, folders, names in os.walk(folder) for name in names)


def public_headers():
    return files_below(os.path.join(options.source, "include"))


class Workplace(unittest.TestCase):
    """A temporary folder for each class."""

    @classmethod
    def setUpClass(cls):
        cls.temp = tempfile.mkdtemp(prefix="xgemm-install-")
        cls.addClassCleanup(shutil.rmtree, cls.temp)

    @classmethod
    def path(cls, *parts):
        return os.path.join(cls.temp, *parts)

    @classmethod
    def write(cls, name, text):
        with open(cls.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return cls.path(name)


class Headers(Workplace):
    """The public headers compile alone, in each language they promise, without a warning."""

    strict = ["-pedantic", "-pedantic-errors", "-Wall", "-Wextra", "-Werror", "-fsyntax-only"]

    def compile(self, compiler, language, standard, header, warnings=()):
        source = self.write("one_header", f"#include <{header}>\n#include <{header}>\n")
        run(compiler, "-x", language, f"-std={standard}", *self.strict, *warnings, "-I",
            os.path.join(options.source, "include"), source)

    def test_c(self):
        for header in ("xgemm.h", "xgemm_blas.h"):
            for standard in ("c99", "c11", "c17"):
                with self.subTest(header=header, standard=standard):
                    self.compile(options.cc, "c", standard, header, ["-Wstrict-prototypes", "-Wshadow", "-Wconversion"])

    def test_c_headers_as_cpp(self):
        for header in ("xgemm.h", "xgemm_blas.h"):
            for standard in ("c++11", "c++17", "c++20"):
                with self.subTest(header=header, standard=standard):
                    self.compile(options.cxx, "c++", standard, header)

    def test_cpp(self):
        for standard in ("c++17", "c++20", "c++23"):
            with self.subTest(standard=standard):
                self.compile(options.cxx, "c++", standard, "xgemm.hpp", ["-Wshadow"])
        for header in public_headers():
            if header.startswith("xgemm/"):
                with self.subTest(header=header):
                    self.compile(options.cxx, "c++", "c++17", header, ["-Wshadow"])

    def test_beside_a_cblas_header(self):
        source = self.write("cblas_first.c", "#include <cblas.h>\n#include <xgemm_blas.h>\n")
        if subprocess.run([options.cc, "-fsyntax-only", "-x", "c", "-"], input="#include <cblas.h>\n", text=True,
                          stderr=subprocess.DEVNULL, check=False).returncode:
            self.skipTest("no cblas.h on this system")
        run(options.cc, "-std=c99", "-Wall", "-Werror", "-fsyntax-only", "-I", os.path.join(options.source, "include"),
            source)

    def test_behind_headers_that_have_group_batches(self):
        for macro in ("OPENBLAS_CONST const", "__MKL_CBLAS_H__", "BLIS_TYPE_DEFS_H"):
            with self.subTest(macro=macro):
                names = "".join(f"void cblas_{t}gemm_batch(void);\n" for t in "sd")
                source = self.write("groups_first.c", f"#define {macro}\n{names}#include <xgemm_blas.h>\n")
                run(options.cc, "-std=c99", "-Wall", "-Werror", "-fsyntax-only", "-I",
                    os.path.join(options.source, "include"), source)


class InstalledTree(Workplace):
    """cmake --install, then everything from another place than it was installed to."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        first = cls.path("first", "usr")
        run(options.cmake, "--install", options.build, "--prefix", first)
        cls.prefix = cls.path("second", "somewhere else")
        os.makedirs(os.path.dirname(cls.prefix))
        os.rename(first, cls.prefix)
        cls.lib = os.path.join(cls.prefix, options.libdir)

    def test_files(self):
        major, *_ = options.version.split(".")
        libdir = options.libdir
        wanted = {
            "bin/xgemm-run",
            *(f"include/{header}" for header in public_headers()),
            *(f"{libdir}/{library}.so{suffix}" for library in ("libxgemm", "libxgemm_cublas")
              for suffix in ("", f".{major}", f".{options.version}")),
            f"{libdir}/pkgconfig/xgemm.pc",
            f"{libdir}/cmake/xgemm/xgemmConfig.cmake", f"{libdir}/cmake/xgemm/xgemmConfigVersion.cmake",
            f"{libdir}/cmake/xgemm/xgemmTargets.cmake",
        }
        found = {name for name in files_below(self.prefix)
                 if not name.startswith("share/doc/") and not re.search(r"xgemmTargets-\w+\.cmake$", name)}
        self.assertLessEqual({"include/xgemm.h", "include/xgemm_blas.h", "include/xgemm.hpp", "include/xgemm/gemm.hpp"}, wanted)
        self.assertEqual(wanted, found)
        self.assertEqual(f"libxgemm.so.{major}", os.readlink(os.path.join(self.lib, "libxgemm.so")))
        self.assertTrue(os.path.isfile(os.path.join(self.prefix, "share/doc/xgemm/LICENSE")))

    def test_no_path_of_the_build_left(self):
        for name in files_below(self.prefix):
            with open(os.path.join(self.prefix, name), "rb") as file:
                if name.startswith("share/doc/") or ".so" in name:
                    continue
                content = file.read()
            for place in (options.source, options.build, self.path("first")):
                self.assertNotIn(place.encode(), content, name)

    def test_xgemm_run(self):
        """It finds the library beside it, wherever that was moved."""
        script = os.path.join(self.prefix, "bin", "xgemm-run")
        program = [sys.executable, "-c", "import ctypes; print('version', ctypes.CDLL(None).xgemm_version())"]
        self.assertRegex(run(script, *program), r"^version \d+\n$")
        self.assertIn("no product came through libxgemm", run(script, "--report", *program))
        program = [sys.executable, "-c", "import ctypes; print(ctypes.CDLL(None).cublasSgemm_v2 is not None)"]
        self.assertEqual("True\n", run(script, "--cublas", *program))
        self.assertIn("no product of cuBLAS was seen", run(script, "--cublas", "--report", *program))

    def test_pkg_config(self):
        if not shutil.which("pkg-config"):
            self.skipTest("pkg-config is not installed")
        env = {"PKG_CONFIG_PATH": os.path.join(self.lib, "pkgconfig")}
        self.assertEqual(options.version, run("pkg-config", "--modversion", "xgemm", env=env).strip())
        # pkg-config quotes the space in the path for a shell.
        (prefix,) = shlex.split(run("pkg-config", "--variable=prefix", "xgemm", env=env))
        self.assertEqual(os.path.realpath(self.prefix), os.path.realpath(prefix))
        flags = shlex.split(run("pkg-config", "--cflags", "--libs", "xgemm", env=env))
        for example in ("sgemm.c", "batch.c", "cblas.c"):
            with self.subTest(example=example):
                program = self.path(example[:-2])
                source = os.path.join(options.source, "examples", example)
                run(options.cc, "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror", source, "-o", program, *flags)
                run(program, env={"LD_LIBRARY_PATH": self.lib})

    def test_examples(self):
        """find_package from the examples that were installed, in a folder of their own."""
        source = os.path.join(self.prefix, "share/doc/xgemm/examples")
        build = self.path("build-examples")
        # nvcc takes a second or two for a program; the rest of this test has nothing to do with it.
        cuda = [f"-DCMAKE_CUDA_COMPILER={options.nvcc}"] if options.nvcc else ["-DXGEMM_EXAMPLES_CUDA=OFF"]
        run(options.cmake, "-S", source, "-B", build, f"-DCMAKE_PREFIX_PATH={self.prefix}",
            f"-DCMAKE_C_COMPILER={options.cc}", f"-DCMAKE_CXX_COMPILER={options.cxx}",
            "-DCMAKE_C_FLAGS=-Wall -Wextra -Werror", "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Werror", *cuda,
            env={"CUDAARCHS": "75-virtual"})
        run(options.cmake, "--build", build, "--parallel", "2")
        print(run("ctest", "--test-dir", build, "--output-on-failure", "--no-tests=error"))

    def test_versions(self):
        """0.x: the same minor version is taken, any other is not."""
        major, minor, _ = map(int, options.version.split("."))
        folder = self.path("versions")
        os.makedirs(folder)
        for asked, accepted in ((f"{major}.{minor}", True), (options.version, True), (f"{major}.{minor + 1}", False),
                                (f"{major}.{minor}.99", False), (f"{major + 1}.0", False)):
            with self.subTest(asked=asked):
                with open(os.path.join(folder, "CMakeLists.txt"), "w", encoding="utf-8") as file:
                    file.write("cmake_minimum_required(VERSION 3.20)\nproject(versions LANGUAGES CXX)\n"
                               f"find_package(xgemm {asked} CONFIG QUIET)\n"
                               "file(WRITE ${CMAKE_BINARY_DIR}/found \"${xgemm_FOUND}\")\n")
                build = os.path.join(folder, "build")
                run(options.cmake, "-S", folder, "-B", build, f"-DCMAKE_PREFIX_PATH={self.prefix}")
                with open(os.path.join(build, "found"), encoding="utf-8") as file:
                    self.assertEqual(accepted, file.read() == "1")

    def test_sub_project(self):
        """The source tree inside another project: its tests and programs stay away."""
        folder = self.path("parent")
        os.makedirs(folder)
        with open(os.path.join(folder, "CMakeLists.txt"), "w", encoding="utf-8") as file:
            file.write("cmake_minimum_required(VERSION 3.25)\nproject(parent LANGUAGES C CXX)\nset(XGEMM_CUDA OFF)\n"
                       f"add_subdirectory(\"{options.source}\" xgemm EXCLUDE_FROM_ALL)\n"
                       "if(NOT TARGET xgemm::xgemm OR XGEMM_BUILD_TESTS OR XGEMM_BUILD_PERF OR CMAKE_BUILD_TYPE)\n"
                       "  message(FATAL_ERROR \"it does not keep to itself\")\nendif()\n")
        run(options.cmake, "-S", folder, "-B", os.path.join(folder, "build"))


class Packages(Workplace):
    """What CPack makes."""

    def pack(self, generator):
        folder = self.path(generator)
        run(options.cpack, "-G", generator, "-B", folder, "--config", os.path.join(options.build, "CPackConfig.cmake"),
            cwd=self.temp)
        packages = [name for name in os.listdir(folder) if name.endswith((".tar.gz", ".deb"))]
        self.assertEqual(1, len(packages))
        return os.path.join(folder, packages[0])

    def check_tree(self, prefix):
        for name in ("include/xgemm.h", "include/xgemm.hpp", "include/xgemm/gemm.hpp", "include/xgemm_blas.h",
                     f"{options.libdir}/libxgemm.so.0", f"{options.libdir}/libxgemm_cublas.so.0",
                     f"{options.libdir}/pkgconfig/xgemm.pc", f"{options.libdir}/cmake/xgemm/xgemmConfig.cmake",
                     "share/doc/xgemm/LICENSE", "share/doc/xgemm/examples/sgemm.c"):
            self.assertTrue(os.path.isfile(os.path.join(prefix, name)), name)
        run(options.cc, os.path.join(options.source, "examples/sgemm.c"), "-I", os.path.join(prefix, "include"),
            "-L", os.path.join(prefix, options.libdir), "-lxgemm", "-o", self.path("sgemm"))
        run(self.path("sgemm"), env={"LD_LIBRARY_PATH": os.path.join(prefix, options.libdir)})

    def test_tar(self):
        package = self.pack("TGZ")
        self.assertIn(options.version, os.path.basename(package))
        with tarfile.open(package) as archive:
            archive.extractall(self.path("from-tar"))
        (top,) = os.listdir(self.path("from-tar"))
        self.check_tree(self.path("from-tar", top))

    def test_deb(self):
        if not shutil.which("dpkg-shlibdeps"):
            self.skipTest("dpkg-dev is not installed")
        package = self.pack("DEB")
        fields = run("dpkg-deb", "--field", package)
        self.assertRegex(fields, r"(?m)^Package: libxgemm$")
        self.assertRegex(fields, rf"(?m)^Version: {re.escape(options.version)}\b")
        depends = re.search(r"(?m)^Depends: (.*)$", fields).group(1)
        self.assertRegex(depends, r"\blibc6\b")
        names = {re.split(r"[ (|]", one.strip())[0] for one in depends.split(",")}
        self.assertLessEqual(names, {"libc6", "libstdc++6", "libgcc-s1"}, "needs nothing but the C and C++ runtime")
        run("dpkg-deb", "--extract", package, self.path("from-deb"))
        self.check_tree(self.path("from-deb", "usr"))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", required=True)
    parser.add_argument("--build", required=True)
    parser.add_argument("--cmake", default="cmake")
    parser.add_argument("--cpack", default="cpack")
    parser.add_argument("--cc", default="cc")
    parser.add_argument("--cxx", default="c++")
    parser.add_argument("--nvcc", default="")
    parser.add_argument("--libdir", default="lib")
    parser.add_argument("--version", default="0.1.0")
    options, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], "-v", *rest])
