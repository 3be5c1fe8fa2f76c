"""The package needs PyTorch alone, and has the version of the project."""
import ast
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def text_of(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


class PackageTest(unittest.TestCase):
    def test_version(self):
        version = re.search(r"(?m)^VERSION +:= (\S+)$", text_of("Makefile"))[1]
        self.assertIn(f'\nversion = "{version}"', text_of("python", "pyproject.toml"))
        self.assertIn(f'\n__version__ = "{version}"', text_of("python", "ranklab", "__init__.py"))

    def test_the_page_names_everything_that_others_may_use(self):
        names = re.search(r"(?s)__all__ = (\[.*?\])", text_of("python", "ranklab", "__init__.py"))[1]
        page = text_of("python", "README.md")
        for name in ast.literal_eval(names):
            self.assertRegex(page, rf"`{name}\b", name)

    def test_the_numbers_of_the_first_lines_are_those_of_the_page(self):
        lines = text_of("python", "ranklab", "__init__.py").split('"""')[1]
        numbers = re.findall(r"-?\d\.\d+ \+-\s\d\.\d+", lines)
        self.assertEqual(len(numbers), 4)
        for number in numbers:
            self.assertIn(number.replace("\n", " "), text_of("python", "README.md"))

    def test_pip_installs_it_without_network(self):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copytree(os.path.join(ROOT, "python"), os.path.join(folder, "python"))
            command = [sys.executable, "-m", "pip", "install", "--no-build-isolation", "--no-index", "--no-deps", "--quiet", "--target", os.path.join(folder, "there"), os.path.join(folder, "python")]
            done = subprocess.run(command, capture_output=True, text=True, timeout=300)
            self.assertEqual(done.returncode, 0, done.stderr)
            names = lambda place: sorted(os.path.basename(path) for path in glob.glob(os.path.join(place, "ranklab", "*.py")))
            self.assertEqual(names(os.path.join(folder, "there")), names(os.path.join(ROOT, "python")))

    def test_private_names_are_in_one_file(self):
        for path in glob.glob(os.path.join(ROOT, "python", "ranklab", "*.py")):
            if os.path.basename(path) not in ("private.py", "probe.py"):  # probe.py names a module
                private = re.findall(r"torch(?:\.\w+)*\._(?!_version__)\w+|\._(?:base|version|buffers|parameters|compiled_call_impl)\b", text_of(path))
                self.assertEqual(private, [], path)

    @unittest.skipUnless(hasattr(sys, "stdlib_module_names"), "before Python 3.10")
    def test_imports(self):
        for path in glob.glob(os.path.join(ROOT, "python", "ranklab", "*.py")):
            imports = re.findall(r"(?m)^ *(?:import|from) (\w+)", text_of(path).split('"""', 2)[2])
            self.assertLessEqual(set(imports) - sys.stdlib_module_names, {"torch"}, path)


if __name__ == "__main__":
    unittest.main()
