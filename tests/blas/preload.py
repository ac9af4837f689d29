"""Running programs with libxgemm.so in front of their BLAS, and counting the calls that came through it.

XGEMM_VERBOSE=1 prints one line on stderr for each call; a test that sees none has tested somebody else's library.
"""
import argparse
import os
import subprocess
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "perf"))
from cli import preloadable  # noqa: E402

CALL = "xgemm: call="
SKIPPED = 77  # ctest's SKIP_RETURN_CODE


def parser(description):
    result = argparse.ArgumentParser(description=description)
    result.add_argument("--library", required=True, help="libxgemm.so")
    result.add_argument("--sanitizer", default="", help="run-time library of a sanitizer, which has to come first")
    return result


def environment(options, **variables):
    result = dict(os.environ)
    for name in list(result):
        if name.startswith("XGEMM_"):
            del result[name]
    result["LD_PRELOAD"] = " ".join(filter(None, [options.sanitizer, preloadable(options.library)]))
    if options.sanitizer:
        # The programs under test are not ours: what they leave behind is not a finding.
        result["ASAN_OPTIONS"] = ":".join(filter(None, [result.get("ASAN_OPTIONS", ""), "detect_leaks=0"]))
    result["XGEMM_VERBOSE"] = "1"
    result.update(variables)
    return result


class Run:
    """A finished program: its standard output, the number of calls, and the rest of its standard error."""

    def __init__(self, command, env, **arguments):
        done = subprocess.run(command, env=env, capture_output=True, text=True, errors="replace", timeout=500,
                              **arguments)
        lines = done.stderr.splitlines()
        self.status = done.returncode
        self.output = done.stdout
        self.calls = [line for line in lines if line.startswith(CALL)]
        self.complaints = [line for line in lines if not line.startswith(CALL)]

    def describe(self):
        return "status %d, %d calls through libxgemm\nstdout:\n%s\nstderr (without the calls):\n%s" % (
            self.status, len(self.calls), self.output[-4000:], "\n".join(self.complaints[-20:]))


def skip(reason):
    print("SKIPPED: " + reason)
    sys.exit(SKIPPED)


def fail(reason, run=None):
    print("FAILED: " + reason)
    if run is not None:
        print(run.describe())
    sys.exit(1)
