"""`pip install ./experiments` installs the recorder in the version of the project."""
import os
import re
import sys
import unittest

from test_dump import ROOT


def text_of(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


class PackageTest(unittest.TestCase):
    def test_the_version_is_that_of_the_project(self):
        version = re.search(r"(?m)^VERSION +:= (\S+)$", text_of("Makefile"))[1]
        self.assertIn(f'\nversion = "{version}"', text_of("experiments", "pyproject.toml"))

    def test_the_recorder_is_one_file(self):
        self.assertIn('\npy-modules = ["ranklab_dump"]\n', text_of("experiments", "pyproject.toml"))
        imports = re.findall(r"(?m)^ *(?:import|from) (\w+)", text_of("experiments", "ranklab_dump.py").split('"""', 2)[2])
        self.assertEqual(set(imports) - sys.stdlib_module_names, {"torch"})


if __name__ == "__main__":
    unittest.main()
