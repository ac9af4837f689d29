#!/usr/bin/env python3
"""The hold-out set is what its program draws, and the program draws what it says. SPDX-License-Identifier: BSD-3-Clause"""

import pathlib
import subprocess
import sys
import unittest

SHAPES = pathlib.Path(__file__).resolve().parent.parent / "shapes"
sys.path.insert(0, str(SHAPES))
import draw  # noqa: E402


class DrawTest(unittest.TestCase):
    def test_the_committed_set_is_that_of_the_program(self):
        drawn = subprocess.run([sys.executable, str(SHAPES / "draw.py")], capture_output=True, text=True, check=True).stdout
        self.assertEqual((SHAPES / "holdout.txt").read_text(), drawn)

    def test_the_first_line_says_how(self):
        drawn = subprocess.run([sys.executable, str(SHAPES / "draw.py"), "--count", "3"], capture_output=True, text=True,
                               check=True).stdout
        self.assertIn("draw.py --seed 12 --count 3\n", drawn)

    def test_every_set_keeps_the_limits(self):
        for seed in range(20):
            shapes = draw.draw(seed, 200)
            self.assertEqual(len({shape[:4] for shape in shapes}), 200)
            self.assertEqual({flags for _, _, _, flags, _ in shapes}, set(draw.FLAGS))
            self.assertEqual(sum(beta for *_, beta in shapes), 20)
            for m, n, k, _, _ in shapes:
                self.assertTrue(all(64 <= extent <= 16384 and extent % 8 == 0 for extent in (m, n, k)))
                self.assertLessEqual(m * n * k, 2**40)
                self.assertLessEqual(2 * (m * k + k * n + m * n), 1.5e9)

    def test_another_seed_is_another_set(self):
        self.assertFalse({shape[:3] for shape in draw.draw(12, 120)} & {shape[:3] for shape in draw.draw(13, 120)})


if __name__ == "__main__":
    unittest.main()
