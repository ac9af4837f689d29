#!/usr/bin/env python3
"""The gate as CI uses it: xgemm-compare as a program on synthetic files. SPDX-License-Identifier: BSD-3-Clause"""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import synthetic  # noqa: E402

COMPARE = None


class GateTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.folder.name)
        self.addCleanup(self.folder.cleanup)

    def compare(self, base, new, *options):
        files = []
        for name, data in (("base.json", base), ("new.json", new)):
            files.append(data if isinstance(data, str) else synthetic.write(self.path / name, data))
        return subprocess.run([COMPARE, *files, *options], capture_output=True, text=True, check=False)

    def test_the_same_build_twice(self):
        done = self.compare(synthetic.standard(noise=0.003, width=0.006, seed=1),
                            synthetic.standard(noise=0.003, width=0.006, seed=2))
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertIn("no regression", done.stdout)

    def test_a_slow_set_is_found(self):
        slower = synthetic.standard(lambda one: 0.9 if one["set"] == "squares" and one["type"] == "h" else 1.0)
        done = self.compare(synthetic.standard(), slower)
        self.assertEqual(done.returncode, 1)
        self.assertIn("6 SLOWER", done.stdout)
        self.assertIn("REGRESSION beyond the tolerance of 3 %", done.stdout)
        self.assertEqual(self.compare(synthetic.standard(), slower, "--tolerance", "15").returncode, 0)

    def test_markdown_and_json(self):
        verdicts = self.path / "verdicts.json"
        done = self.compare(synthetic.standard(), synthetic.standard(lambda one: 1.1), "--markdown", "--json", str(verdicts))
        self.assertEqual(done.returncode, 0)
        self.assertTrue(done.stdout.startswith("**no regression"))
        data = json.loads(verdicts.read_text())
        self.assertFalse(data["regressed"])
        self.assertEqual({row["verdict"] for row in data["rows"]}, {"FASTER"})

    def test_missing_shapes(self):
        new = synthetic.standard()
        del new["rows"][5]
        self.assertEqual(self.compare(synthetic.standard(), new).returncode, 1)
        self.assertEqual(self.compare(synthetic.standard(), new, "--allow-missing").returncode, 0)

    def test_bad_input(self):
        good = synthetic.write(self.path / "good.json", synthetic.standard())
        bad = self.path / "bad.json"
        bad.write_text('{"schema": "xgemm-bench", "version": 1, "rows": [{"id": 3}]}')
        for arguments, message in (
            ([good], "NEW is required"),
            ([good, str(self.path / "none.json")], "none.json: cannot be read"),
            ([good, str(bad)], "bad.json: rows[0].id: is not a string"),
            ([good, good, "--colour"], "--colour"),
            ([good, good, "--tolerance", "much"], "--tolerance"),
        ):
            done = subprocess.run([COMPARE, *arguments], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertIn(message, done.stderr + done.stdout)


if __name__ == "__main__":
    COMPARE = sys.argv.pop(1)
    unittest.main()
