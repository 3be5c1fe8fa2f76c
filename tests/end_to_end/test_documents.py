"""The Markdown files: the README's size, links that resolve, commands that name what exists."""
import glob
import os
import re
import unittest

from program import ROOT, ProgramTest

FILES = sorted(os.path.relpath(path, ROOT) for pattern in ("*.md", "*/*.md") for path in glob.glob(os.path.join(ROOT, pattern))
               if not os.path.relpath(path, ROOT).startswith("build"))
UTILITIES = ("plot", "report", "verify", "list", "compare", "export", "merge", "status", "run", "reproduce", "completion", "man", "help")


def text_of(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as file:
        return file.read()


def anchors_of(name):
    """What GitHub calls the headings of a file."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"```.*?```", "", text_of(name), flags=re.DOTALL), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def commands_of(name):
    """Each command in the code blocks of a file, a continued line with the next."""
    blocks = re.findall(r"```\w*\n(.*?)```", text_of(name), re.DOTALL)
    for line in re.sub(r"\\\n\s*", "", "\n".join(blocks)).splitlines():
        yield line.split("  #")[0].strip().removeprefix("$ ")


class DocumentsTest(ProgramTest):
    def test_the_readme_is_read_in_three_minutes(self):
        lines = text_of("README.md").splitlines()
        self.assertLessEqual(len(lines), 130)
        self.assertEqual([line for line in lines if len(line) > 100], [])

    def test_links_resolve(self):
        for name in FILES:
            text = re.sub(r"```.*?```|`[^`]*`", "", text_of(name), flags=re.DOTALL)
            for target in re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r'(?:src|href)="([^"]+)"', text):
                if target.startswith(("http:", "https:")):
                    continue
                path, _, anchor = target.partition("#")
                path = os.path.normpath(os.path.join(os.path.dirname(name), path)) if path else name
                with self.subTest(file=name, target=target):
                    self.assertTrue(os.path.exists(os.path.join(ROOT, path)))
                    if anchor and path.endswith(".md"):
                        self.assertIn(anchor, anchors_of(path))

    def test_commands_and_their_flags_exist(self):
        help_of = {}
        targets = set(re.findall(r"^([a-z][\w-]*):", text_of("Makefile"), re.MULTILINE))
        presets = {os.path.basename(path)[:-len(".json")] for path in glob.glob(os.path.join(ROOT, "experiments", "*.json"))}
        for name in FILES:
            for line in commands_of(name):
                with self.subTest(file=name, line=line):
                    for target in re.findall(r"(?:^|&& )make ((?:[a-z][\w.-]* ?)+)", line):
                        self.assertLessEqual(set(target.split()), targets | presets)
                    for command, arguments in re.findall(r"build/ranklab ([a-z][\w-]*)((?: [^|&;)\n]*)?)", line):
                        if command not in help_of:
                            help_of[command] = self.run_program(f"{command} --help").stdout
                        for flag in re.findall(r"(?<= )--([a-z][\w-]*)", arguments):
                            if command in UTILITIES and command in ("run", "verify"):
                                continue  # flags of the preset's own command
                            self.assertRegex(help_of[command], rf"--{flag}\b")


if __name__ == "__main__":
    unittest.main()
