"""Programs that people use, unchanged, with libxgemm.so preloaded: they find the same, and their products come through it.
Each is passed over where it is not installed. docs/clients.md has the commands for users.
"""
import os
import re
import shutil
import subprocess
import sys

import preload

SYSTEM_PYTHON = "/usr/bin/python3"
LAPACK = "/usr/lib/%s-linux-gnu/lapack" % os.uname().machine
SCALAPACK = "/usr/lib/%s-linux-gnu/scalapack/openmpi-tests" % os.uname().machine

SCIPY = """
import numpy as np, scipy.linalg as l
rng = np.random.default_rng(3)
a = rng.uniform(-1, 1, (300, 300)).astype(np.float32) + 20 * np.eye(300, dtype=np.float32)
def near(x, y): return bool(np.abs(x.astype(np.float64) - y).max() < 1e-3)
q, r = l.qr(a)
u, s, v = l.svd(a)
print(near(q.astype(np.float64) @ r, a), near((u * s).astype(np.float64) @ v, a), near(l.expm(a / 50), l.expm(a.astype(np.float64) / 50)),
      near(a.astype(np.float64) @ l.solve(a, a), a))
"""

SKLEARN = """
import numpy as np
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.neighbors import NearestNeighbors
rng = np.random.default_rng(4)
centres = rng.uniform(-20, 20, (5, 30))
x = (centres[np.arange(1000) % 5] + rng.uniform(-1, 1, (1000, 30))).astype(np.float32)
groups = KMeans(5, n_init=3, random_state=0).fit(x).labels_
print(all(len(set(groups[i::5])) == 1 for i in range(5)), len(set(groups)))
print(NearestNeighbors(n_neighbors=200, algorithm="brute").fit(x).kneighbors(x[:5])[1].shape)
print(np.round(PCA(4, svd_solver="randomized", random_state=0).fit(x).explained_variance_ratio_.sum(), 3))
"""

OCTAVE = """
a = single(reshape(sin(1:90000), 300, 300)) + 30 * eye(300, 'single');
[q, r] = qr(a); [u, s, v] = svd(a);
printf("%d %d %d\\n", norm(q * r - a) < 1e-3, norm(u * s * v' - a) < 1e-3, norm(a * (a \\ a) - a) < 1e-3);
"""

R = """
a <- matrix(sin(1:90000), 300, 300) + diag(30, 300)
s <- svd(a)
with_na <- replace(a, 3, NA)
cat(max(abs(solve(a, a %*% a) - a)) < 1e-8, max(abs(crossprod(a) - t(a) %*% a)) < 1e-8,
    max(abs(s$u %*% (s$d * t(s$v)) - a)) < 1e-8, sum(is.na(with_na %*% a)) == 300, "\n")
"""

LU = """'SCALAPACK, LU factorization input file'
'MPI Machine'
'LU.out' output file name
6 device out
1 number of problems sizes
400 values of M
400 values of N
1 number of NB's
32 values of NB
1 number of NRHS's
20 values of NRHS
1 Number of NBRHS's
32 values of NBRHS
1 number of process grids
2 values of P
1 values of Q
1.0 threshold
F Test Cond. Est. and Iter. Ref. Routines
"""


def python_has(*modules):
    return os.path.exists(SYSTEM_PYTHON) and subprocess.run(
        [SYSTEM_PYTHON, "-W", "ignore", "-c", "import " + ", ".join(modules)], capture_output=True, check=False).returncode == 0


def clients():
    """Name, whether it is here, command, standard input, and a pattern of the lines that must be the same."""
    tests = (("linear", "xlintsts", "stest.in"), ("singular values", "xeigtsts", "svd.in"), ("eigenvalues", "xeigtsts", "sep.in"))
    yield "SciPy of the system", python_has("scipy"), [SYSTEM_PYTHON, "-c", SCIPY], "", ""
    yield "scikit-learn", python_has("sklearn"), [SYSTEM_PYTHON, "-W", "ignore", "-c", SKLEARN], "", ""
    yield "Octave", bool(shutil.which("octave-cli")), ["octave-cli", "--no-init-file", "--eval", OCTAVE], "", r"^\d \d \d$"
    yield "R", bool(shutil.which("R")), ["R", "--no-echo", "--no-save", "-e", R], "", "TRUE|FALSE"
    for what, program, file in tests:
        program, file = os.path.join(LAPACK, program), os.path.join(LAPACK, file)
        here = os.path.exists(program) and os.path.exists(file)
        yield "LAPACK's testers, " + what, here, [program], file, "passed|failed"
    here = os.path.exists(os.path.join(SCALAPACK, "xslu")) and bool(shutil.which("mpirun"))
    yield ("ScaLAPACK under MPI", here,
           ["mpirun", "--oversubscribe", "--allow-run-as-root", "-n", "2", os.path.join(SCALAPACK, "xslu")], "", "PASSED|FAILED|tests")


def main():
    parser = preload.parser(__doc__)
    parser.add_argument("--folder", required=True, help="for what programs read and write")
    options = parser.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    with open(os.path.join(options.folder, "LU.dat"), "w", encoding="utf-8") as file:
        file.write(LU)

    served = 0
    for name, here, command, stdin, pattern in clients():
        if not here:
            print("%s: not installed" % name)
            continue
        runs = []
        for variables in ({"LD_PRELOAD": ""}, {}):
            environment = preload.environment(options, XGEMM_VERBOSE="summary", OPENBLAS_NUM_THREADS="2", **variables)
            with open(stdin or os.devnull, encoding="utf-8") as file:
                runs.append(preload.Run(command, environment, stdin=file, cwd=options.folder))
        plain, ours = runs
        # Without times, and how wide they are.
        findings = [[" ".join(re.sub(r"\d*\.\d+", "", line).split()) for line in run.output.splitlines()
                     if re.search(pattern, line)] for run in runs]
        if ours.status != plain.status or not findings[0] or findings[0] != findings[1]:
            print("\n".join(findings[0]))
            preload.fail("%s does not find the same" % name, ours)
        products = sum(int(number) for line in ours.complaints for number in re.findall(r"summary of .*: (\d+) products", line))
        if products == 0:
            preload.fail("%s: no product came through" % name, ours)
        print("%s: %d products" % (name, products))
        served += 1
    if served == 0:
        preload.skip("none of these programs is installed")


if __name__ == "__main__":
    sys.exit(main())
