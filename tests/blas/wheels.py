"""The wheels of the Python package index, which carry an OpenBLAS of their own and import its functions by names of their
own: with libxgemm.so preloaded, products of NumPy and SciPy come through it, are right, and are computed by the wheel's
OpenBLAS where the CPU is to compute; errors reach the wheel's xerbla.

    wheels.py --library LIBRARY --folder FOLDER REQUIREMENT...

Installs what is required into a virtual environment in FOLDER, which is kept; skipped where that fails, for instance
without a network.
"""
import os
import subprocess
import sys

import preload


def environment_with(folder, requirements):
    """The Python of a virtual environment in which the requirements are installed."""
    python = os.path.join(folder, "bin", "python")
    done = os.path.join(folder, "installed")
    wanted = "\n".join(requirements)
    if os.path.exists(done):
        with open(done, encoding="utf-8") as file:
            if file.read() == wanted:
                return python
    for command in ([sys.executable, "-m", "venv", "--clear", folder],
                    [python, "-m", "pip", "install", "--quiet", "--only-binary", ":all:", "--retries", "1", "--timeout",
                     "20", *requirements]):
        made = subprocess.run(command, capture_output=True, text=True, check=False)
        if made.returncode != 0:
            last = (made.stdout + made.stderr).strip().splitlines() or [""]
            preload.skip("no virtual environment with %s: %s" % (" ".join(requirements), last[-1]))
    with open(done, "w", encoding="utf-8") as file:
        file.write(wanted)
    return python


def use_scipy():
    """In the process that has libxgemm preloaded: products and solvers, then a call with an illegal argument."""
    import ctypes

    import numpy as np
    import scipy.linalg

    rng = np.random.default_rng(2)
    a = rng.uniform(-1, 1, (150, 90)).astype(np.float32)
    b = rng.uniform(-1, 1, (90, 70)).astype(np.float32)
    exact = a.astype(np.float64) @ b.astype(np.float64)
    bound = 2 * 2.0**-24 * 92 * (np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64))
    sgemm = scipy.linalg.blas.sgemm
    for product in (a @ b, sgemm(1.0, a, b), sgemm(1.0, b, a, trans_a=1, trans_b=1).T):
        assert product.dtype == np.float32 and np.all(np.abs(product - exact) <= bound)
    wide = a.astype(np.float64), b.astype(np.float64)
    exact = np.matmul(*(x.astype(np.longdouble) for x in wide))  # for which there is no BLAS
    bound = 2 * 2.0**-53 * 92 * np.matmul(*(np.abs(x).astype(np.longdouble) for x in wide))
    for product in (wide[0] @ wide[1], scipy.linalg.blas.dgemm(1.0, *wide)):
        assert product.dtype == np.float64 and np.all(np.abs(product - exact) <= bound)
    # A function that multiplies in its own compiled code. (LAPACK in these wheels is bound to the OpenBLAS around it.)
    square = rng.uniform(-1, 1, (60, 60)).astype(np.float32)
    expected = scipy.linalg.expm(square.astype(np.float64))
    assert np.abs(scipy.linalg.expm(square) - expected).max() < 1e-5 * np.abs(expected).max()

    with open("/proc/self/maps", encoding="utf-8") as maps:
        files = {line.split()[-1] for line in maps if "/lib" in line}
    print("\n".join(sorted(file for file in files if "blas" in os.path.basename(file) and "/linalg/" not in file)),
          flush=True)

    int64, number = ctypes.c_int64, a.ctypes.data_as(ctypes.c_void_p)
    name = "scipy_cblas_sgemm64_" if int(np.__version__.split(".")[0]) >= 2 else "cblas_sgemm64_"
    one, m = int64(1), int64(-1)
    getattr(ctypes.CDLL(None), name)(102, 111, 111, m, one, one, ctypes.c_float(1), number, one, number, one,
                                     ctypes.c_float(0), number, one)


def main():
    parser = preload.parser(__doc__)
    parser.add_argument("--folder", required=True, help="for the virtual environment")
    parser.add_argument("requirements", nargs="+", help="as pip takes them")
    options = parser.parse_args()
    python = environment_with(options.folder, options.requirements)

    here = os.path.dirname(os.path.abspath(__file__))
    run = preload.Run([python, os.path.join(here, "numpy_products.py"), "--products"], preload.environment(options))
    if run.status != 0 or run.complaints:
        preload.fail("a product of numpy is wrong, or something was said on stderr", run)
    count, gemms = map(int, run.output.split())
    if len(run.calls) < gemms:
        preload.fail("of %d calls of GEMM, %d came through libxgemm" % (gemms, len(run.calls)), run)
    print("%d products of numpy right, %d calls through libxgemm" % (count, len(run.calls)))

    run = preload.Run([python, os.path.abspath(__file__), "--use"], preload.environment(options))
    if run.status != 0:
        preload.fail("scipy", run)
    if len(run.calls) < 9:  # seven, and the exponential's
        preload.fail("products of scipy did not come through libxgemm", run)
    if not all("kernel=openblas" in call for call in run.calls):
        preload.fail("not OpenBLAS was the CPU's engine", run)
    *files, complaint = run.output.strip().splitlines()
    if not files or not all(".libs/" in file for file in files):
        preload.fail("another BLAS than the wheels' own was loaded", run)
    if run.complaints or "SGEMM  parameter number  3 had an illegal value" not in complaint:
        preload.fail("the wheel's own xerbla was to complain", run)
    print("%d calls of scipy through libxgemm" % len(run.calls))


if __name__ == "__main__":
    sys.exit(use_scipy() if sys.argv[1:] == ["--use"] else main())
