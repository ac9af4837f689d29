"""float32 and float64 products of numpy with libxgemm.so preloaded: layouts, slices, transposes, batches, against
longdouble, for which numpy asks no BLAS.

Runs itself in a second process, under a Python whose numpy calls the system's BLAS by its usual names.
"""
import itertools
import os
import subprocess
import sys

import preload


def products():
    """In the process that has libxgemm preloaded: prints the number of products, and of those that numpy leaves to the
    GEMM or SYRK of its BLAS; or raises."""
    import numpy as np

    rng = np.random.default_rng(1)
    totals = np.array([0, 0])
    for dtype in (np.float32, np.float64):
        totals += products_of(dtype, rng)
    print(*totals)


def products_of(dtype, rng):
    import numpy as np

    def random(*shape):
        return rng.uniform(-1, 1, shape).astype(dtype)

    def judge_of(a, b):
        wide_a, wide_b = a.astype(np.longdouble), b.astype(np.longdouble)
        exact = np.matmul(wide_a, wide_b)
        bound = np.finfo(dtype).eps * (a.shape[-1] + 2) * np.matmul(np.abs(wide_a), np.abs(wide_b))

        def check(what, result):
            if result.dtype != dtype or not np.all(np.abs(result - exact) <= bound):
                raise AssertionError("%s: %s" % (dtype.__name__, what))
        return check

    count = gemms = 0
    sizes = [(1, 1, 1), (1, 9, 5), (9, 1, 5), (2, 3, 4), (31, 33, 17), (64, 65, 63), (128, 100, 300)]
    for m, n, k in sizes:
        # What is left of a matrix that is stored in either order, transposed, or cut out of a larger one.
        kinds = {
            "C": lambda r, c: random(r, c),
            "F": lambda r, c: np.asfortranarray(random(r, c)),
            "transposed": lambda r, c: random(c, r).T,
            "slice": lambda r, c: random(r + 5, c + 7)[2:2 + r, 3:3 + c],
            "slice of transposed": lambda r, c: random(c + 3, r + 2).T[1:1 + r, 2:2 + c],
            "every second": lambda r, c: random(2 * r, 3 * c)[::2, ::3],
            "backwards": lambda r, c: random(r, c)[::-1, ::-1],
        }
        for (kind_a, make_a), (kind_b, make_b) in itertools.product(kinds.items(), kinds.items()):
            a, b = make_a(m, k), make_b(k, n)
            what = "%s (%d x %d) times %s (%d x %d)" % (kind_a, m, k, kind_b, k, n)
            check = judge_of(a, b)
            check(what, a @ b)
            out = np.full((m, n), np.nan, dtype)
            np.matmul(a, b, out=out)
            check(what + " into an array of NaN", out)
            check("dot: " + what, np.dot(a, b))
            count += 3
            if min(m, n, k) > 1:  # else a routine for vectors
                # np.matmul leaves operands without a unit stride to a loop of its own, np.dot packs them.
                gemms += 1 if {"every second", "backwards"} & {kind_a, kind_b} else 3

    # A matrix and its own transpose: a rank-k update, whose other half numpy copies.
    for shape in ((2, 3), (31, 33), (200, 64), (90, 300)):
        for a in (random(*shape), np.asfortranarray(random(*shape)), random(shape[0] + 3, shape[1] + 2)[1:-2, 2:]):
            judge_of(a.T, a)("%d x %d, transposed, times itself" % a.shape, a.T @ a)
            judge_of(a, a.T)("%d x %d times its transpose" % a.shape, np.dot(a, a.T))
            count += 2
            gemms += 2

    a, b = random(5, 24, 16), random(5, 16, 20)
    judge_of(a, b)("batch", np.matmul(a, b))
    judge_of(a, np.broadcast_to(b[0], b.shape))("broadcast batch", np.matmul(a, b[0]))
    judge_of(a[0], b[0])("einsum", np.einsum("ij,jk->ik", a[0], b[0], optimize=True))
    assert (np.zeros((3, 0), dtype) @ np.zeros((0, 4), dtype) == 0).all()
    a = random(16, 16)
    a[3, 5] = np.nan
    result = a @ np.asfortranarray(np.zeros((16, 16), dtype))
    assert np.isnan(result[3]).all() and (np.delete(result, 3, 0) == 0).all(), "NaN"
    return count + 5, gemms


def python_with_system_blas():
    """A Python whose numpy is linked with a libblas or libcblas, which preloading can stand in front of."""
    for python in dict.fromkeys([sys.executable, "/usr/bin/python3"]):
        find = "import numpy.core._multiarray_umath as m; print(m.__file__)"
        found = subprocess.run([python, "-W", "ignore", "-c", find], capture_output=True, text=True)
        if found.returncode != 0:
            continue
        linked = subprocess.run(["ldd", found.stdout.strip()], capture_output=True, text=True).stdout
        if "libblas.so" in linked or "libcblas.so" in linked or "libopenblas.so" in linked:
            return python
    return None


def main():
    parser = preload.parser(__doc__)
    parser.add_argument("--cpu-blas", default="", help="XGEMM_CPU_BLAS")
    options = parser.parse_args()
    python = python_with_system_blas()
    if python is None:
        preload.skip("no Python has a numpy that uses the system's BLAS (package python3-numpy)")
    variables = {"XGEMM_CPU_BLAS": options.cpu_blas} if options.cpu_blas else {}
    run = preload.Run([python, os.path.abspath(__file__), "--products"], preload.environment(options, **variables))
    if run.status != 0:
        preload.fail("a product of numpy is wrong", run)
    if run.complaints:
        preload.fail("something was said on stderr", run)
    count, gemms = map(int, run.output.split())
    if len(run.calls) < gemms:
        preload.fail("of %d calls of GEMM, %d came through libxgemm" % (gemms, len(run.calls)), run)
    print("%d products right, %d calls through libxgemm" % (count, len(run.calls)))


if __name__ == "__main__":
    sys.exit(products() if sys.argv[1:] == ["--products"] else main())
