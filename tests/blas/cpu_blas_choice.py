"""XGEMM_CPU_BLAS in a whole process: each value serves, or is complained about once and replaced."""
import os
import shutil
import sys
import tempfile

import preload


def main():
    parser = preload.parser(__doc__)
    parser.add_argument("--probe", required=True, help="the program built from probe.c")
    parser.add_argument("--recursive-blas", required=True, help="the library built from recursive_blas.c")
    options = parser.parse_args()

    def probe(value, also_loaded=None):
        variables = {} if value is None else {"XGEMM_CPU_BLAS": value}
        environment = preload.environment(options, **variables)
        if also_loaded is not None:
            environment["LD_PRELOAD"] += " " + also_loaded
        run = preload.Run([options.probe], environment)
        if run.status != 0:
            preload.fail("XGEMM_CPU_BLAS=%s: the probe stopped" % value, run)
        if len(run.calls) < 2:
            preload.fail("XGEMM_CPU_BLAS=%s: the calls did not come through libxgemm" % value, run)
        return run

    def served_by(value, engine):
        run = probe(value)
        if run.complaints:
            preload.fail("XGEMM_CPU_BLAS=%s: something was said on stderr" % value, run)
        if engine not in run.output:
            preload.fail("XGEMM_CPU_BLAS=%s: the explanation does not name %s" % (value, engine), run)

    def replaced(value, reason):
        run = probe(value)
        if len(run.complaints) != 1:
            preload.fail("XGEMM_CPU_BLAS=%s: one line on stderr was expected" % value, run)
        line = run.complaints[0]
        for word in ("XGEMM_CPU_BLAS=" + value, reason, "openblas", "blis", "mkl", "blas", "builtin"):
            if word not in line:
                preload.fail("XGEMM_CPU_BLAS=%s: the line does not say %s" % (value, word), run)

    probe(None)
    probe("")
    served_by("builtin", "builtin")
    for name in ("openblas", "blis", "mkl", "blas"):
        run = probe(name)
        if run.complaints:
            replaced(name, "ignored")  # not installed
            print("%s is not here" % name)
        else:
            served_by(name, name)
            print("%s serves" % name)
    replaced("nonsense", "not a name")
    replaced("/no/such/library.so", "ignored")
    replaced("libm.so.6", "no sgemm_")

    # A library that comes back to us, and ourselves under another name.
    served_by(options.recursive_blas, os.path.basename(options.recursive_blas))
    replaced(options.library, "libxgemm itself")
    with tempfile.TemporaryDirectory() as directory:
        link = os.path.join(directory, "libblas.so.3")
        os.symlink(options.library, link)
        replaced(link, "libxgemm itself")

    # What the program has loaded, by the name that a distribution gives to any BLAS.
    with tempfile.TemporaryDirectory() as directory:
        os.mkdir(os.path.join(directory, "blis-openmp"))
        file, link = (os.path.join(directory, folder, "libblas.so.3") for folder in ("blis-openmp", ""))
        shutil.copy(options.recursive_blas, file)
        os.symlink(file, link)
        run = probe(None, link)
        if link not in run.output:
            preload.fail("a loaded %s: the explanation does not name it" % link, run)
    print("every value of XGEMM_CPU_BLAS is served or replaced")


if __name__ == "__main__":
    sys.exit(main())
