"""libxgemm_cublas.so in front of a cuBLAS that a program loads into a scope of its own, as frameworks do: in all modes, with
two versions in one process, in forks and threads, at exit, and without a product."""
import argparse
import ctypes
import os
import re
import subprocess
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "perf"))
from cli import preloadable  # noqa: E402

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--library", required=True, help="libxgemm_cublas.so")
parser.add_argument("--sanitizer", default="", help="run-time library of a sanitizer, which has to come first")
parser.add_argument("--program", required=True, help="the program built from program.cc")
parser.add_argument("--plugins", required=True, nargs=2, help="its plugins, for versions 12 and 13")
parser.add_argument("--renamed", required=True, help="a plugin with a cuBLAS 12 that has another file name")
parser.add_argument("--cuda", required=True, help="the stand-in for the driver")
parser.add_argument("--xgemm-run", required=True, help="xgemm-run")
options = parser.parse_args()
failures = []


def run(*what, preload=True, cuda=True, plugins=options.plugins, command=(), **variables):
    """Standard error of the program; its products must be right."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("XGEMM_", "NVIDIA_"))}
    libraries = [options.sanitizer, preloadable(options.library) if preload else "", preloadable(options.cuda) if cuda else ""]
    environment["LD_PRELOAD"] = " ".join(filter(None, libraries))
    if options.sanitizer:
        environment["ASAN_OPTIONS"] = "detect_leaks=0"
    environment.update(variables)
    done = subprocess.run([*command, options.program, *plugins, "--", *what], env=environment, capture_output=True,
                          text=True, timeout=100, check=False)
    if done.returncode != 0 or "0 wrong" not in done.stdout:
        failures.append(f"{what} {variables}: status {done.returncode}\n{done.stdout}\n{done.stderr}")
    run.output = done.stdout
    return done.stderr


def expect(text, pattern, times=1):
    found = len(re.findall(pattern, text))
    if found != times:
        failures.append(f"expected {times} times: {pattern}\nfound {found} times in:\n{text}")


# What is not watched is silent, and a process that never multiplies does not load libxgemm.
for mode in ("auto", "always", "never"):
    if text := run(XGEMM_CUBLAS=mode):
        failures.append(f"XGEMM_CUBLAS={mode} prints:\n{text}")
expect(run("none", LD_DEBUG="files"), r"file=\S*libxgemm\.so\.0 \[0\];  generating link map", times=0)
expect(run(LD_DEBUG="files"), r"file=\S*libxgemm\.so\.0 \[0\];  generating link map")

# Each call has its line. The stand-in's Sgemm asks GemmEx, and neither that nor libxgemm's products are seen twice.
text = run(XGEMM_CUBLAS="always", XGEMM_VERBOSE="1")
expect(text, r"xgemm: cublas=cublasSgemm_v2 type=f32 transa=N transb=N m=200 n=100 k=50 .* by=libxgemm\n", times=2)
expect(text, r"xgemm: cublas=cublasGemmEx type=f16 transa=T transb=N m=64 n=64 k=64 .* by=libxgemm\n", times=2)
expect(text, r"xgemm: call=gemm ", times=4)
text = run(XGEMM_CUBLAS="never", XGEMM_VERBOSE="1")
expect(text, r"xgemm: cublas=\w+ .* by=cublas because: XGEMM_CUBLAS=never\n", times=4)
expect(text, r"xgemm: call=gemm ", times=0)

# The cuBLAS of a wheel, alone and beside one of another version: by its node, in every mode.
for mode in ("never", "auto", "always"):
    for plugins in ([options.renamed], [options.plugins[1], options.renamed]):
        expect(run(XGEMM_CUBLAS=mode, plugins=plugins), r"\S", times=0)

# TF32, which a program allows and the environment does not.
expect(run(XGEMM_CUBLAS="always", XGEMM_VERBOSE="1", PLUGIN_MATH_MODE="3"), r"compute=tf32", times=2)
expect(run(XGEMM_CUBLAS="always", XGEMM_VERBOSE="1", PLUGIN_MATH_MODE="3", NVIDIA_TF32_OVERRIDE="0"), r"compute=tf32",
       times=0)

# auto: what is measured, by the GPU that the driver names; without a driver there is none.
expect(run(XGEMM_VERBOSE="1"), r"by=libxgemm", times=4)
expect(run(XGEMM_VERBOSE="1", STAND_IN_CAPABILITY="80"), r"by=cublas because: a GPU without measurements", times=4)
expect(run(XGEMM_VERBOSE="1", cuda=False), r"by=cublas because: a GPU without measurements", times=4)

# The table at the end, also of forks that exit, one for each plugin, which count from nothing.
text = run("fork", XGEMM_VERBOSE="summary", STAND_IN_CAPABILITY="80")
expect(text, r"cuBLAS products of process \d+ \(.*\): 4, [\d.]+ ms; libxgemm served 0, ", times=1)
expect(text, r"cuBLAS products of process \d+ \(.*\): 2, [\d.]+ ms; libxgemm served 0, ", times=2)
expect(text, r" 2 +[\d.]+ +[\d.]+  f32 NN 200x100x50: a GPU without measurements", times=1)
text = run("threads", XGEMM_VERBOSE="summary", XGEMM_CUBLAS="always")
expect(text, r"cuBLAS products of process \d+ \(.*\): 20, [\d.]+ ms; libxgemm served 20, ", times=1)

# compare: cuBLAS computes, libxgemm beside it, both equal here.
text = run(XGEMM_CUBLAS="compare")
expect(text, r"libxgemm and cuBLAS on 2 shapes of process ")
expect(text, r"xgemm: +[\d.]+ +[\d.]+ +[\d.]+ +0.0e\+00  f(32 NN 200x100x50|16 TN 64x64x64)\n", times=2)
expect(run(XGEMM_CUBLAS="compare", cuda=False), r"xgemm: +- +- +- +-  f", times=2)

# After main, and with a value that is none.
run("exit", XGEMM_CUBLAS="always")
expect(run.output, "after main: right")
expect(run(XGEMM_CUBLAS="sometimes"), r"XGEMM_CUBLAS=sometimes is not one of: auto, always, never, compare", times=1)


def is_installed(name):
    try:
        ctypes.CDLL(name)
    except OSError:
        return False
    return True


# Without libxgemm beside it, which is said once; an installed one it would find.
os.makedirs("alone", exist_ok=True)
alone = os.path.join("alone", os.path.basename(options.library))
if os.path.lexists(alone):
    os.remove(alone)
with open(options.library, "rb") as source, open(alone, "wb") as copy:
    copy.write(source.read())
beside, options.library = options.library, os.path.abspath(alone)
if not is_installed("libxgemm.so.0"):
    expect(run(XGEMM_CUBLAS="always"), r"libxgemm\.so\.0 cannot be used, and cuBLAS computes everything")
options.library = beside

# By xgemm-run.
if not options.sanitizer:
    runner = (sys.executable, options.xgemm_run, "--cublas-library", options.library)
    expect(run(preload=False, command=(*runner, "--cublas", "--report"), XGEMM_CUBLAS="always"),
           r"libxgemm served 4, ")
    expect(run(preload=False, command=(*runner, "--cublas=compare")), r"libxgemm and cuBLAS on 2 shapes")
    expect(run(preload=False, command=(*runner, "--cublas=always", "--report")), r"libxgemm served 4, ")
    for wrong in (["--cublas=often"], ["--cublas", "--check"], ["--cublas", "--compare"]):
        done = subprocess.run([*runner, *wrong, "true"], capture_output=True, text=True, check=False)
        if done.returncode != 2 or "xgemm-run: --" not in done.stderr:
            failures.append(f"{wrong}: status {done.returncode}, {done.stderr}")

if failures:
    sys.exit("\n\n".join(failures))
