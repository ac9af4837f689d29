#!/usr/bin/env python3
"""xgemm-bench and perf.py as programs, without a GPU: output forms, bad input, Ctrl-C, replay. No time is judged.

SPDX-License-Identifier: BSD-3-Clause
"""

import argparse
import contextlib
import importlib.util
import io
import json
import os
import pathlib
import pty
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
import unittest

PERF = pathlib.Path(__file__).resolve().parent.parent
BUILD = None
FAST = ["--cpu", "--max-time", "0.05", "--min-rounds", "3"]


def program(name):
    return str(BUILD / "perf" / name)


def bench(*arguments, **options):
    return subprocess.run([program("xgemm-bench"), *map(str, arguments)], capture_output=True, text=True, check=False,
                          timeout=120, **options)


class BenchTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.folder.name)
        self.addCleanup(self.folder.cleanup)

    def test_what_is_printed_and_written(self):
        out = self.path / "out.json"
        done = bench("--shapes", "16:32:16", "--type", "s,h,b", "--trans", "NN,TN", "--beta", "0,1", "--pad", "1", *FAST,
                     "--json", out)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        data = json.loads(out.read_text())
        self.assertTrue(data["complete"])
        self.assertEqual(len(data["rows"]), 24)
        for row in data["rows"]:
            ours = row["candidates"][0]
            self.assertEqual((ours["name"], ours["status"]), ("xgemm", "ok"))
            self.assertLessEqual(ours["bound_share"], 1)
            self.assertTrue(ours["kernel"])
            self.assertIn("kernel=", ours["plan"])
            self.assertIn(row["id"], done.stdout)
        self.assertEqual(data["host_times"], [])
        self.assertEqual(data["settings"]["intervals"], "95 %, order statistics; 75 % of 3, 87.5 % of 4, 93.75 % of 5 rounds")
        self.assertEqual(data["settings"]["math"], "strict")
        self.assertNotIn("math", done.stdout)

    def test_the_math_mode_is_said(self):
        out = self.path / "out.json"
        done = bench("--shapes", "16", "--math", "tf32", *FAST, "--json", out)
        self.assertIn("times the cache, math tf32\n", done.stdout)
        self.assertEqual(json.loads(out.read_text())["settings"]["math"], "tf32")

    def test_a_pipe_gets_plain_lines(self):
        done = bench("--shapes", "16", *FAST)
        self.assertNotIn("\x1b", done.stdout + done.stderr)
        self.assertNotIn("\r", done.stdout + done.stderr)
        self.assertEqual(done.stderr, "")

    def test_a_terminal_gets_a_live_line(self):
        child, terminal = pty.fork()
        if child == 0:
            os.execv(program("xgemm-bench"), ["xgemm-bench", "--shapes", "64:128:64", *FAST])
        text = b""
        while select.select([terminal], [], [], 60)[0]:
            try:
                block = os.read(terminal, 65536)
            except OSError:
                break
            if not block:
                break
            text += block
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
        self.assertIn(b"[1/2] s NN 64x64x64", text)
        self.assertIn(b"to go", text)
        self.assertIn(b"\r\x1b[K", text)

    def test_shape_files(self):
        shapes = self.path / "my shapes.txt"
        shapes.write_text("# mine\n8 9 10 type=sh trans=TT label=mine\n4 4 4 batch=3 layout=row\n")
        done = bench("--shapes", shapes, *FAST)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("h TT 8x9x10 at=hhh", done.stdout)
        self.assertIn("# mine", done.stdout)
        self.assertIn("s NN 4x4x4 row batch=3", done.stdout)

    def test_a_logged_program_can_be_replayed(self):
        # The shapes of one run, logged by the library itself, are the cases of the next.
        logged = bench("--shapes", "24,40", "--candidates", "xgemm", "--trans", "NT", *FAST,
                       env=os.environ | {"XGEMM_VERBOSE": "1"})
        self.assertIn("xgemm: call=gemm", logged.stderr)
        log = self.path / "calls.log"
        log.write_text(logged.stderr + "noise\n")
        done = bench("--replay", log, *FAST)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"replay: \d+ calls, 2 of them different; 1 other lines")
        self.assertRegex(done.stdout, r"s NT 24x24x24 at=hhh .*\(\d+ calls\)")
        self.assertIn("replayed calls take", done.stdout)

    def test_accuracy(self):
        # On a CPU one library computes twice. All of the data are finite, and sums of them too.
        done = subprocess.run([program("xgemm-accuracy"), "--extent", "70", "--k", "64,600", "--cpu"], text=True,
                              capture_output=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        rows = re.findall(r"^\| (.*) \| (64|600) \| (\S+), (\S+) \| \3, \4 \|$", done.stdout, re.MULTILINE)
        self.assertEqual(len(rows), 28, done.stdout)
        for data, k, _, componentwise in rows:
            self.assertLess(float(componentwise), 1e-5, (data, k))

    def test_bad_options_of_the_other_programs(self):
        for name in ("xgemm-accuracy", "xgemm-tune"):
            if pathlib.Path(program(name)).exists():  # xgemm-tune is built with a CUDA compiler alone
                done = subprocess.run([program(name), "--no-such-flag"], capture_output=True, text=True, check=False)
                self.assertEqual(done.returncode, 2, done.stderr)

    def test_bad_input(self):
        shapes = self.path / "bad.txt"
        shapes.write_text("1 2 3\n4 5 six\n")
        empty = self.path / "empty.log"
        empty.write_text("nothing\n")
        for arguments, message in (
            (["--no-such-flag"], "--no-such-flag"),
            (["--type", "q"], "--type: 'q' is not one of s, h, b, H, B, d"),
            (["--trans", "XY"], "--trans: 'XY'"),
            (["--shapes", "no-such-set"], "'no-such-set' is no file, range or set"),
            (["--shapes", shapes], "bad.txt:2: field 'k': 'six' is not a whole number"),
            (["--shapes", "16", "--beta", "x"], "--beta: 'x' is not a number"),
            (["--shapes", "16", "--pad", "-1"], "--pad: -1 is not in 0 to"),
            (["--shapes", "16", "--offset", "64"], "--offset: 64 is not in 0 to 63"),
            (["--shapes", "16", "--batch", "2097152"], "--batch: 2097152 is not in 1 to 1048576"),
            (["--shapes", "16", "--data", "noise"], "--data: 'noise'"),
            (["--shapes", "16", "--math", "fast"], "--math: 'fast'"),
            (["--n", "5"], "--n and --k need --m"),
            (["--replay", empty], "holds no product to replay"),
            (["--replay", self.path / "none.log"], "none.log: cannot be read"),
            (["--shapes", "16", "--reference", "cublas", "--cpu"], "--reference: 'cublas' is not one of"),
            (["--shapes", "16", "--against", "none.so"], "none.so"),
            (["--shapes", "16", "--against", shapes], "bad.txt"),
            (["--shapes", "16", "--kernel", "no_such_kernel", "--cpu"], "--kernel"),
            (["--shapes", "16", "--json", "/no/such/folder/x.json", "--cpu"], "cannot be written"),
            (["--shapes", "16", "--max-time", "-1"], "--max-time"),
            (["--ladder", "--cpu"], "--ladder"),
            (["--host-times", "--cpu"], "--host-times"),
        ):
            done = bench(*arguments)
            self.assertEqual(done.returncode, 2, (arguments, done.stdout, done.stderr))
            self.assertIn(message, done.stderr)

    def test_what_does_not_fit_is_counted(self):
        done = bench("--shapes", "8,100000000x1x100000000", *FAST)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"1 skipped: .*do not fit into memory")
        self.assertIn("1 measured, 0 failed, 1 skipped", done.stdout)

    def test_device_operands_without_a_gpu(self):
        done = bench("--shapes", "8", "--location", "device", *FAST)
        self.assertEqual(done.returncode, 0)
        self.assertIn("1 skipped: no GPU for device or managed operands", done.stdout)

    def test_the_budget_ends_a_run(self):
        start = time.monotonic()
        done = bench("--shapes", "64:4096:64", "--cpu", "--budget", "1.5")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertLess(time.monotonic() - start, 60)
        self.assertIn("skipped: the time budget is used up", done.stdout)

    def test_another_build_can_be_a_candidate(self):
        library = BUILD / "src" / "libxgemm.so.0"
        done = bench("--shapes", "16", "--against", library, "--reference", "against:libxgemm.so.0", *FAST)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("against:libxgemm.so.0", done.stdout)

    def test_two_candidates_of_one_name_are_refused(self):
        library = BUILD / "src" / "libxgemm.so.0"
        (self.path / library.name).symlink_to(library)
        done = bench("--shapes", "16", "--against", library, "--against", self.path / library.name, *FAST)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertIn("two candidates are named 'against:libxgemm.so.0'", done.stderr)

    def test_a_folder_that_goes_away_is_no_failure_of_the_device(self):
        out = self.path / "folder" / "out.json"
        out.parent.mkdir()
        with subprocess.Popen([program("xgemm-bench"), "--shapes", "16:512:16", *FAST, "--json", str(out)], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            for line in process.stdout:
                if line.startswith("s NN 32x32x32"):
                    out.parent.rename(self.path / "elsewhere")
                    break
            _, errors = process.communicate()
        self.assertEqual(process.returncode, 2, errors)
        self.assertRegex(errors, r"^xgemm-bench: .*out\.json: cannot be written: No such file or directory\n$")

    def test_interrupts_keep_finished_rows(self):
        out = self.path / "out.json"
        with subprocess.Popen([program("xgemm-bench"), "--shapes", "16:512:16", "--cpu", "--max-time", "0.3", "--precision",
                               "0.001", "--json", str(out)], stdout=subprocess.PIPE, text=True) as process:
            lines = []
            for line in process.stdout:
                lines.append(line)
                if line.startswith("s NN 48x48x48"):
                    process.send_signal(signal.SIGINT)
                    break
            rest = process.stdout.read()
        self.assertEqual(process.returncode, 130, rest)
        self.assertIn("interrupted", rest)
        data = json.loads(out.read_text())
        self.assertFalse(data["complete"])
        self.assertGreaterEqual(len(data["rows"]), 3)
        self.assertTrue(all(row["status"] == "ok" for row in data["rows"]))

    def test_lists(self):
        self.assertRegex(bench("--list-shapes").stdout, r"holdout +120 cases")
        self.assertEqual(bench("--list-kernels").returncode, 0)
        self.assertIn("2 cases", bench("--shapes", "16", "--type", "s,h", "--cpu", "--dry-run").stdout)
        self.assertIn("12 cases", bench("--shapes", "16", "--pad", "0:3", "--offset", "1:3", "--cpu", "--dry-run").stdout)
        self.assertIn("--replay", bench("--help").stdout)
        self.assertRegex(bench("--version").stdout, r"xgemm-bench \d+\.\d+\.\d+")


@unittest.skipIf(any(importlib.util.find_spec(name) is None for name in ("pandas", "matplotlib")),
                 "needs pandas and matplotlib (Debian: python3-pandas, python3-matplotlib)")
class PerfTest(unittest.TestCase):
    def perf(self, folder, *arguments):
        return subprocess.run([sys.executable, str(PERF / "perf.py"), "--build", str(BUILD), "--out", str(folder / "out"),
                               *map(str, arguments)], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)

    def test_a_run_against_its_own_baseline(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            baseline = folder / "baseline.json"
            first = ["--baseline", baseline, "--shapes", "16:48:16", *FAST]
            saved = self.perf(folder, *first, "--save-baseline", "--no-report")
            self.assertEqual(saved.returncode, 0, saved.stdout + saved.stderr)
            self.assertTrue(json.loads(baseline.read_text())["complete"])
            # Times of tiny products on a busy machine: only that there is a verdict matters.
            judged = self.perf(folder, *first, "--tolerance", "99")
            self.assertIn(judged.returncode, (0, 1), judged.stdout + judged.stderr)
            self.assertRegex(judged.stdout, r"(no regression|REGRESSION) beyond the tolerance of 99 %")
            self.assertIn("<svg", (folder / "out" / "report.html").read_text(encoding="utf-8"))
            self.assertEqual(len((folder / "out" / "results.csv").read_text(encoding="utf-8").splitlines()), 7)

    def test_baselines_have_the_names_of_their_machines(self):
        sys.path.insert(0, str(PERF))
        import perf

        files = sorted((PERF / "baselines").glob("*.json"))
        self.assertTrue(files)
        for file in files:
            machine = json.loads(file.read_text(encoding="utf-8"))["environment"]["machine"]
            self.assertEqual(f"{perf.machine_slug(machine)}.json", file.name, machine)

    def test_a_run_of_fewer_shapes_is_no_regression(self):
        sys.path.insert(0, str(PERF))
        import perf

        for words, fewer in (([], False), (["--type", "h"], True), (["--type=h"], True), (["--shapes", "squares"], True),
                             (["--m=64"], True), (["--trans", "NN"], True), (["--replay=calls.log"], True), (["--quick"], True),
                             (["--max-time", "1", "--no-check"], False)):
            self.assertEqual(perf.names_fewer(words), fewer, words)
        self.assertEqual(perf.beside_a_baseline(["--max-time", "1", "--precision=2", "--verbose"]), [])
        self.assertEqual(perf.beside_a_baseline(["--math", "tf32", "--no-check", "--beta", "-1"]), ["--math", "--no-check", "--beta"])
        self.assertEqual(perf.for_the_ladder(["--shapes", "16", "32", "--math", "tf32", "--type=h", "--beta", "-1", "--no-check",
                                              "--standard", "--max-time=1"]), ["--math", "tf32", "--no-check", "--max-time=1"])
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            baseline = ["--baseline", folder / "baseline.json", "--no-report", "--tolerance", "99"]
            saved = self.perf(folder, *baseline, "--shapes", "16:48:16", *FAST, "--type", "s,h", "--save-baseline")
            self.assertEqual(saved.returncode, 0, saved.stdout + saved.stderr)
            judged = self.perf(folder, *baseline, "--shapes", "16,32", *FAST, "--type", "h")
            self.assertEqual(judged.returncode, 0, judged.stdout + judged.stderr)
            self.assertRegex(judged.stdout, r"4 MISSING\nno regression")

    def test_what_is_no_baseline(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            broken = folder / "broken.json"
            broken.write_text("{", encoding="utf-8")
            shapes = ["--shapes", "16", *FAST]
            for arguments, message in (
                (["--save-baseline", *shapes], "--save-baseline: a run with --shapes, --cpu is no baseline"),
                (["--save-baseline", "--math=tf32"], "--save-baseline: a run with --math is no baseline"),
                (["--baseline", folder / "none.json", *shapes], "none.json: cannot be read"),
                (["--baseline", broken, *shapes], "broken.json: is not JSON"),
                (["--tolerance", "100", *shapes], "--tolerance"),
                (["--svg", broken / "figures", *shapes], "broken.json"),
            ):
                done = self.perf(folder, *arguments)
                self.assertEqual((done.returncode, done.stdout), (2, ""), arguments)  # before anything is measured
                self.assertIn(message, done.stderr)
                self.assertNotIn("Traceback", done.stderr)

    def test_wrong_results_are_no_baseline(self):
        sys.path.insert(0, str(PERF))
        import perf

        with tempfile.TemporaryDirectory() as name:
            path = pathlib.Path(name) / "baseline.json"
            options = argparse.Namespace(save_baseline=True, baseline=str(path))
            with contextlib.redirect_stderr(io.StringIO()) as errors:
                self.assertEqual(perf.judge(options, "results.json", None, None, [], 1), (0, None))
            self.assertIn("not saved", errors.getvalue())
            self.assertFalse(path.exists())

    def test_no_baseline_is_said(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            script = PERF / "perf.py"
            sys.path.insert(0, str(PERF))
            import perf

            self.assertEqual(perf.machine_slug("NVIDIA H200"), "h200")
            self.assertEqual(perf.machine_slug("NVIDIA A100-SXM4-80GB"), "a100-sxm4-80gb")
            self.assertEqual(perf.machine_slug("Intel(R) Xeon(R) Gold 6226R CPU @ 2.90GHz"), "intel-xeon-gold-6226r")
            lines = io.StringIO()
            stdout, sys.stdout = sys.stdout, lines
            try:
                perf.offer_baseline("results.json", folder / "none.json", True)
            finally:
                sys.stdout = stdout
            self.assertIn("there is no baseline for this machine", lines.getvalue())
            self.assertIn("--save-baseline", lines.getvalue())
            self.assertTrue(script.exists())

    def test_a_missing_build_is_said(self):
        done = subprocess.run([sys.executable, str(PERF / "perf.py"), "--build", "/no/such/build"], capture_output=True,
                              text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("not built", done.stderr)


if __name__ == "__main__":
    BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
