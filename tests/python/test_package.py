"""The package needs PyTorch alone, and has the version of the project."""
import ast
import glob
import os
import re
import sys
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

    @unittest.skipUnless(hasattr(sys, "stdlib_module_names"), "before Python 3.10")
    def test_imports(self):
        for path in glob.glob(os.path.join(ROOT, "python", "ranklab", "*.py")):
            imports = re.findall(r"(?m)^ *(?:import|from) (\w+)", text_of(path).split('"""', 2)[2])
            self.assertLessEqual(set(imports) - sys.stdlib_module_names, {"torch"}, path)


if __name__ == "__main__":
    unittest.main()
