"""The short forms of `make soak` (tests/soak): some checks of each section."""
import importlib
import os
import sys
import unittest

from program import BINARY, ROOT

sys.path.insert(0, os.path.join(ROOT, "tests", "soak"))

import soak  # noqa: E402

SEED = 1


class SoakTest(unittest.TestCase):
    def section(self, name):
        for check in importlib.import_module(name).checks(SEED, short=True):
            with self.subTest(check.name):
                result, message = soak.outcome(check)
                self.assertNotEqual(result, "failed", message)

    def test_sequences(self):
        self.section("sequences")

    def test_killed_runs_and_two_writers(self):
        self.section("kills")

    def test_full_disk(self):
        self.section("disks")

    @unittest.skipIf("sanitize" in BINARY, "the address sanitizer keeps freed memory")
    def test_memory_and_files_of_a_long_run(self):
        self.section("steady")

    @unittest.skipIf("sanitize" in BINARY, "the sanitizers slow a step down to seconds")
    def test_signals_during_long_trials(self):
        self.section("signals")

    def test_limits_of_memory_and_files(self):
        self.section("limits")

    def test_environments(self):
        self.section("environments")

    def test_a_converter_of_pictures_that_fails_or_hangs(self):
        self.section("figures")

    def test_kernels(self):
        self.section("kernels")

    def test_single_precision(self):
        self.section("precision")


if __name__ == "__main__":
    unittest.main()
