#!/usr/bin/env python3
"""The regression gate on synthetic results: known slowdowns, noise and missing shapes have known verdicts.

SPDX-License-Identifier: BSD-3-Clause
"""

import math
import pathlib
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import synthetic  # noqa: E402


class CompareTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.folder.name)
        self.addCleanup(self.folder.cleanup)

    def compare(self, base, new, *options):
        """Verdicts by shape, verdicts by group, whether it is a regression."""
        files = [synthetic.write(self.path / f"{name}.json", data) for name, data in (("base", base), ("new", new))]
        parsed = compare.parse([*files, *options])
        rows, groups = compare.compare(*map(results.load, files), parsed)
        regressed = not compare.regressions(rows, parsed).empty
        return dict(zip(rows.id, rows.verdict)), groups, regressed

    def count(self, verdict, *arguments):
        return list(self.compare(*arguments)[0].values()).count(verdict)


def flat(count=10, noise=0.005):
    return synthetic.squares(count, lambda i: 1.0, noise)


class VerdictTest(unittest.TestCase):
    def test_they_rest_on_the_whole_interval(self):
        for low, high, verdict in ((0.98, 1.02, "SAME"), (0.97, 1.03, "SAME"), (0.90, 0.96, "SLOWER"),
                                   (0.96, 0.98, "UNCLEAR"), (0.80, 1.20, "UNCLEAR"), (1.02, 1.05, "UNCLEAR"),
                                   (1.04, 1.10, "FASTER"), (math.nan, math.nan, "UNCLEAR"), (0, 0, "UNCLEAR")):
            self.assertEqual(compare.judge(np.array([low]), np.array([high]), 0.03)[0], verdict, (low, high))

    def test_changes_combine_both_intervals(self):
        before, after = (pd.DataFrame([interval], columns=compare.INTERVAL) for interval in ((.98, 1, 1.02), (1.08, 1.1, 1.12)))
        change = compare.changes(before, after, 0).iloc[0]
        self.assertAlmostEqual(change.middle, 1.1)
        self.assertAlmostEqual(change.low, 1.1 * math.exp(-math.hypot(math.log(1.1 / 1.08), math.log(1.02))))
        self.assertAlmostEqual(change.high, 1.1 * math.exp(math.hypot(math.log(1.12 / 1.1), math.log(1 / .98))))
        wider = compare.changes(before, after, 0.01).iloc[0]
        self.assertAlmostEqual(wider.low, change.low * 0.99)
        self.assertAlmostEqual(wider.high, change.high * 1.01)

    def test_means_add_errors_in_squares(self):
        mean = compare.mean_change(pd.DataFrame([(1.8, 2, 2.2), (.45, .5, .55)], columns=compare.INTERVAL))
        self.assertAlmostEqual(mean["middle"], 1)
        self.assertAlmostEqual(math.log(mean["middle"] / mean["low"]), math.log(2 / 1.8) / math.sqrt(2))
        self.assertAlmostEqual(math.log(mean["high"] / mean["middle"]), math.log(2.2 / 2) / math.sqrt(2))


class GateTest(CompareTest):
    def test_the_same_build_twice_is_no_regression(self):
        verdicts, groups, regressed = self.compare(flat(), flat())
        self.assertEqual(set(verdicts.values()), {"SAME"})
        self.assertEqual(list(groups.verdict), ["SAME"] * 5)
        self.assertFalse(regressed)

    def test_noise_between_runs_is_no_regression(self):
        for seed in range(20):
            runs = [synthetic.standard(noise=0.005, width=0.01, seed=2 * seed + i) for i in (0, 1)]
            self.assertFalse(self.compare(*runs)[2], seed)

    def test_a_slowdown_is_found_and_named(self):
        for slowdown in (0.95, 0.9, 0.5):
            verdicts, _, regressed = self.compare(flat(), synthetic.squares(10, lambda i: slowdown if i == 3 else 1.0))
            self.assertEqual([shape for shape, verdict in verdicts.items() if verdict == "SLOWER"], ["h NN 512x512x512"])
            self.assertTrue(regressed)

    def test_host_operands_have_more_noise(self):
        def on_host(speed):
            data = synthetic.squares(4, lambda i: speed)
            for row in data["rows"]:
                row["shape"]["location"] = "hhh"
            return data

        self.assertFalse(self.compare(on_host(1.0), on_host(0.9))[2])
        self.assertTrue(self.compare(on_host(1.0), on_host(0.5))[2])

    def test_within_the_tolerance_is_allowed(self):
        def run(speed):
            return synthetic.squares(10, lambda i: speed, 0.001)

        self.assertFalse(self.compare(run(1.0), run(0.985))[2])
        self.assertTrue(self.compare(run(1.0), run(0.985), "--tolerance", "0.2", "--noise", "0")[2])

    def test_wide_intervals_are_unclear(self):
        verdicts, _, regressed = self.compare(flat(noise=0.2), synthetic.squares(10, lambda i: 0.9, 0.2))
        self.assertEqual(set(verdicts.values()), {"UNCLEAR"})
        self.assertFalse(regressed)

    def test_speedups_are_faster(self):
        verdicts, groups, regressed = self.compare(flat(), synthetic.squares(10, lambda i: 1.2))
        self.assertEqual(set(verdicts.values()), {"FASTER"})
        self.assertAlmostEqual(groups.middle.iloc[-1], 1.2)
        self.assertFalse(regressed)

    def test_missing_shapes_fail_unless_allowed(self):
        new = flat()
        del new["rows"][2]
        new["rows"][4] |= {"status": "skipped", "reason": "does not fit", "candidates": []}
        self.assertEqual(self.count("MISSING", flat(), new), 2)
        self.assertTrue(self.compare(flat(), new)[2])
        self.assertTrue(self.compare(flat(), new, "--allow-missing")[2])  # one was to be measured
        del new["rows"][4]
        self.assertEqual(self.count("MISSING", flat(), new, "--allow-missing"), 2)
        self.assertFalse(self.compare(flat(), new, "--allow-missing")[2])

    def test_failures_are_regressions(self):
        broken = {"name": "xgemm", "status": "failed", "reason": "wrong result"}
        new = flat()
        new["rows"][0]["candidates"][0] = broken
        self.assertEqual(self.count("FAILED", flat(), new), 1)
        self.assertTrue(self.compare(flat(), new)[2])
        more = flat(11)  # one that fails from the start is one too
        more["rows"][10]["candidates"][0] = broken
        self.assertEqual(self.count("FAILED", flat(10), more), 1)
        self.assertTrue(self.compare(flat(10), more)[2])

    def test_added_shapes_are_fine(self):
        self.assertEqual(self.count("ADDED", flat(8), flat(10)), 2)
        self.assertFalse(self.compare(flat(8), flat(10))[2])

    def test_what_the_base_could_not_measure_is_no_loss(self):
        base, new = flat(), flat()
        base["rows"][1] |= {"status": "skipped", "candidates": []}
        self.assertEqual(self.count("ADDED", base, new), 1)
        del new["rows"][1]
        verdicts, _, regressed = self.compare(base, new)
        self.assertEqual(len(verdicts), 9)
        self.assertFalse(regressed)

    def test_other_references_cannot_be_compared(self):
        new = flat()
        for row in new["rows"][3:]:
            row["reference"] = "openblas"
        self.assertEqual(self.count("INCOMPARABLE", flat(), new), 7)
        self.assertEqual(self.count("SAME", flat(), new, "--times"), 10)
        self.assertTrue(self.compare(flat(), new)[2])
        self.assertFalse(self.compare(flat(), new, "--allow-incomparable")[2])

    def test_a_ratio_that_went_fails_the_gate(self):
        new = flat()
        new["rows"][2]["candidates"][0]["ratio"] = None
        self.assertEqual(self.count("INCOMPARABLE", flat(), new), 1)
        self.assertTrue(self.compare(flat(), new)[2])
        self.assertFalse(self.compare(flat(), new, "--allow-incomparable")[2])
        self.assertFalse(self.compare(new, flat())[2])  # that never was
        self.assertFalse(self.compare(new, new)[2])

    def test_nothing_to_compare_is_an_error(self):
        none = flat()
        for row in none["rows"]:
            row["candidates"][0]["ratio"] = None
        for base, new in ((flat(), none), (none, none)):
            for options in ([], ["--allow-incomparable"]):
                with self.assertRaisesRegex(results.InputError, "no shape has a ratio to the same reference in both files"):
                    self.compare(base, new, *options)
        for row in none["rows"]:
            row["candidates"][0] = {"name": "xgemm", "status": "failed", "reason": "wrong result"}
        self.assertEqual(self.count("FAILED", flat(), none), 10)
        self.assertTrue(self.compare(flat(), none)[2])

    def test_times_are_inverse_speeds(self):
        verdicts, groups, _ = self.compare(flat(), synthetic.squares(10, lambda i: 0.8), "--times")
        self.assertEqual(set(verdicts.values()), {"SLOWER"})
        self.assertAlmostEqual(groups.middle.iloc[-1], 0.8)

    def test_files_without_a_shape_in_common_are_an_error(self):
        other = flat(2)
        for row in other["rows"]:
            row["id"] = "elsewhere " + row["id"]
        with self.assertRaisesRegex(results.InputError, "no shape in common"):
            self.compare(flat(), other)

    def test_a_candidate_that_neither_file_has_is_an_error(self):
        with self.assertRaisesRegex(results.InputError, "no candidate 'xgem' in either file, but xgemm, cublas-ws32"):
            self.compare(flat(), flat(), "--candidate", "xgem")


class TextTest(CompareTest):
    def mixed(self):
        """One of each verdict."""
        speeds = {1: 0.9, 3: 1.25, 5: 0.968, 7: 0.7}
        new = synthetic.squares(12, lambda i: speeds.get(i, 1.002))
        del new["rows"][2]
        new["rows"][3]["candidates"][0] = {"name": "xgemm", "status": "failed", "reason": "wrong result: C(0, 0) = 1 | 2"}
        new["rows"][5]["reference"] = "openblas"
        return new

    def test_golden_files(self):
        base = synthetic.write(self.path / "base.json", flat(11))
        new = synthetic.write(self.path / "new.json", self.mixed())
        for name, options in (("compare.txt", []), ("compare-all.txt", ["--all"]), ("compare.md", ["--markdown"])):
            status, text, errors = synthetic.run(compare.main, base, new, *options, "--json", self.path / "verdicts.json")
            self.assertEqual((status, errors), (1, ""))
            synthetic.expect_golden(self, name, text)
        synthetic.expect_golden(self, "compare.json", (self.path / "verdicts.json").read_text())

    def test_it_fits_a_screen(self):
        base = synthetic.write(self.path / "base.json", flat(300))
        new = synthetic.write(self.path / "new.json", synthetic.squares(300, lambda i: 0.8))
        text = synthetic.run(compare.main, base, new)[1]
        self.assertLessEqual(text.count("\n"), 40)
        self.assertIn("and 290 more", text)

    def test_bad_input(self):
        good = synthetic.write(self.path / "good.json", flat())
        bad = self.path / "bad.json"
        bad.write_text('{"schema": "xgemm-bench", "version": 1, "rows": [{"id": 3}]}')
        for arguments, message in (
            ([good], "NEW"),
            ([good, self.path / "none.json"], "none.json: cannot be read"),
            ([good, bad], "bad.json: is not a whole result file"),
            ([good, good, "--colour"], "--colour"),
            ([good, good, "--tolerance", "much"], "--tolerance"),
            ([good, good, "--json", "/no/such/folder/x"], "/no/such/folder/x"),
        ):
            status, _, errors = synthetic.run(compare.main, *arguments)
            self.assertEqual(status, 2, arguments)
            self.assertIn(message, errors)


if __name__ == "__main__":
    synthetic.need("pandas")
    import numpy as np
    import pandas as pd

    import compare
    import results
    unittest.main()
