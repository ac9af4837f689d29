"""The netlib testers of the level 3 BLAS (Debian's libblas-test) with libxgemm.so preloaded.

Passes when GEMM and SYRK pass every part, the tester's own count of their calls came through libxgemm, and nothing else was
said on stderr.
"""
import os
import re
import sys
import tempfile

import preload

# A tester's input, what its report calls the routines, and the parts that it has to say PASSED of.
TESTERS = {
    "xblat3s": ("sblat3.in", ["SGEMM", "SSYRK"], ["TESTS OF ERROR-EXITS", "COMPUTATIONAL TESTS"]),
    "xscblat3": ("sin3", ["cblas_sgemm", "cblas_ssyrk"],
                 ["TESTS OF ERROR-EXITS", "COLUMN-MAJOR COMPUTATIONAL TESTS", "ROW-MAJOR COMPUTATIONAL TESTS"]),
}
TESTERS["xblat3d"] = ("dblat3.in", ["DGEMM", "DSYRK"], TESTERS["xblat3s"][2])
TESTERS["xdcblat3"] = ("din3", ["cblas_dgemm", "cblas_dsyrk"], TESTERS["xscblat3"][2])
DIRECTORIES = ["/usr/lib/%s-linux-gnu/blas" % os.uname().machine, "/usr/lib/blas", "/usr/lib64/blas"]


def with_sizes(text, sizes):
    """The input file with other values of N. The testers' arrays hold sizes up to 65."""
    text = re.sub(r"(?m)^\d+(\s+NUMBER OF VALUES OF N)$", r"%d\1" % len(sizes), text)
    return re.sub(r"(?m)^[\d ]+?(\s+VALUES OF N)$", " ".join(map(str, sizes)) + r"\1", text)


def main():
    parser = preload.parser(__doc__)
    parser.add_argument("--tester", required=True, choices=sorted(TESTERS))
    parser.add_argument("--sizes", type=int, nargs="*", default=[], help="in place of those of the shipped input")
    parser.add_argument("--cpu-blas", default="", help="XGEMM_CPU_BLAS")
    parser.add_argument("--blas", default="", help="the program's own libblas.so.3: a directory that has it")
    options = parser.parse_args()

    input_name, routines, parts = TESTERS[options.tester]
    directory = next((d for d in DIRECTORIES if os.path.exists(os.path.join(d, options.tester))), None)
    if directory is None:
        preload.skip("no %s in %s (package libblas-test)" % (options.tester, ", ".join(DIRECTORIES)))
    with open(os.path.join(directory, input_name)) as file:
        text = file.read()
    if options.sizes:
        text = with_sizes(text, options.sizes)
        if " ".join(map(str, options.sizes)) not in text:
            preload.fail("the sizes could not be put into %s" % input_name)

    variables = {}
    if options.cpu_blas:
        variables["XGEMM_CPU_BLAS"] = options.cpu_blas
    # xscblat3 and xdcblat3 share the variable RowMajorStrg with the reference CBLAS, which other libraries do not have.
    own_blas = options.blas or (directory if options.tester in ("xscblat3", "xdcblat3") else "")
    if own_blas:
        variables["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, [own_blas, os.environ.get("LD_LIBRARY_PATH", "")]))

    with tempfile.TemporaryDirectory() as scratch:
        run = preload.Run([os.path.join(directory, options.tester)], preload.environment(options, **variables),
                          input=text, cwd=scratch)
        # Unit 6 is the standard output for most Fortran libraries, a file of its own name for others.
        report = run.output
        for name in os.listdir(scratch):
            with open(os.path.join(scratch, name), errors="replace") as file:
                report += file.read()

    if run.status != 0:
        preload.fail("the tester stopped", run)
    for sign in ("FAIL", "SUSPECT", "ABANDONED", "*****", "ILLEGAL"):
        if sign in report:
            preload.fail("its report says " + sign, run)
    if "END OF TESTS" not in report:
        preload.fail("its report has no end", run)
    squeezed = re.sub(r" +", " ", report)
    expected_calls = 0
    for routine in routines:
        for part in parts:
            passed = re.search(r"%s PASSED THE %s(?: \( ?(\d+) CALLS\))?" % (routine, part), squeezed)
            if passed is None:
                preload.fail("%s did not pass the %s" % (routine, part.lower()), run)
            expected_calls += int(passed.group(1) or 0)
    if expected_calls == 0 or len(run.calls) < expected_calls:
        preload.fail("the tester made %d calls of %s, libxgemm saw %d"
                     % (expected_calls, " and ".join(routines), len(run.calls)), run)
    if run.complaints:
        preload.fail("something was said on stderr", run)
    print("%s passed: %d calls, all through libxgemm" % (options.tester, expected_calls))


if __name__ == "__main__":
    sys.exit(main())
