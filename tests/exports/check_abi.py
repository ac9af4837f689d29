#!/usr/bin/env python3
"""Compares the ABI of libxgemm.so with the baseline beside this file: functions, their types, the structs and the values of
the enums. Any difference fails, also one that breaks no program, for the ABI changes only on purpose. When it is meant,
write the baseline anew and commit it with the change:

    cmake --build build/release --target abi-baseline

The baseline describes the C headers: each function that they declare is given an empty body, and that library is what
abidw describes. So it holds neither C++ nor anything that depends on where or with what it was made. The headers of
today, and the library itself, are then compared with it.

LIBRARY has debug information: without it, abidiff compares names alone.

    check_abi.py [--refresh] LIBRARY INCLUDE_FOLDER VERSION_MAP BASELINE_FOLDER C_COMPILER
"""
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
BREAKING = 8  # abidiff's exit status: a change that breaks programs


def describe_headers(include, version_map, compiler, output):
    """Writes the ABI that the headers promise, as XML."""
    headers = ("xgemm.h", "xgemm_blas.h")
    source = "".join(f'#include "{header}"\n' for header in headers)
    for header in headers:
        with open(os.path.join(include, header), encoding="utf-8") as file:
            text = re.sub(r"/\*.*?\*/", "", file.read(), flags=re.DOTALL)
        for function in re.findall(r"^XGEMM_API\s([^;]*\));", text, flags=re.MULTILINE):
            source += f"{function} {{ __builtin_trap(); }}\n"
    with tempfile.TemporaryDirectory() as temp:
        with open(os.path.join(temp, "headers.c"), "w", encoding="utf-8") as file:
            file.write(source)
        subprocess.run([compiler, "-std=c99", "-g", "-fno-eliminate-unused-debug-types", "-shared", "-fPIC", "-I",
                        include, "-Wl,-soname,libxgemm.so.0", f"-Wl,--version-script={version_map}", "headers.c", "-o", "libxgemm.so"],
                       check=True, cwd=temp)
        subprocess.run(["abidw", "--load-all-types", "--headers-dir", include, "--drop-private-types", "--no-corpus-path",
                        "--no-comp-dir-path", "--no-show-locs", "--no-elf-needed", "--type-id-style", "hash", "--out-file",
                        output, "libxgemm.so"],
                       check=True, cwd=temp)


def differs(title, *arguments):
    """Runs abidiff; prints its report and returns True where there is a difference."""
    done = subprocess.run(["abidiff", *arguments], stdin=subprocess.DEVNULL, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False)
    if done.returncode == 0:
        print(f"{title}: the same.")
        return False
    breaking = " Programs that are already built would break." if done.returncode & BREAKING else ""
    print(f"{title}: different.{breaking}\n{done.stdout}")
    return True


def main(arguments):
    refresh = arguments[:1] == ["--refresh"]
    library, include, version_map, folder = map(os.path.abspath, arguments[-5:-1])
    compiler = arguments[-1]
    baseline = os.path.join(folder, f"libxgemm.{platform.machine()}.abi")
    if not shutil.which("abidw"):
        print("abidw (package abigail-tools) is not installed: skipped.")
        return SKIPPED
    if refresh:
        describe_headers(include, version_map, compiler, baseline)
        print(f"wrote {baseline}")
        return 0
    if b".debug_info" not in subprocess.run(["readelf", "-SW", library], check=True, stdout=subprocess.PIPE).stdout:
        print(f"{library} has no debug information, in which its types are.")
        return 1
    if not os.path.exists(baseline):
        print(f"There is no baseline for {platform.machine()}: skipped.")
        return SKIPPED
    with tempfile.TemporaryDirectory() as temp:
        current = os.path.join(temp, "headers.abi")
        describe_headers(include, version_map, compiler, current)
        changed = differs("the headers and the baseline", "--non-reachable-types", baseline, current)
    # (What abidiff filters out here: the headers only declare xgemm_context, the library defines it.)
    changed |= differs("the library and the baseline", "--no-show-locs", baseline, library)
    if changed:
        print("If the change is meant: cmake --build BUILD_FOLDER --target abi-baseline")
    return int(changed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
