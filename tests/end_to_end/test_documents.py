"""The Markdown files: size of the README, links that resolve, commands and flags that exist, and wording."""
import ast
import glob
import os
import re
import subprocess
import sys
import unittest

from program import BINARY, PRESETS, ROOT, TINY, ProgramTest, loads

sys.path.insert(0, os.path.join(ROOT, "tests"))
from words import EXPERIMENTS, words  # noqa: E402

FILES = sorted(os.path.relpath(path, ROOT) for pattern in ("*.md", "*/*.md") for path in glob.glob(os.path.join(ROOT, pattern))
               if not os.path.relpath(path, ROOT).startswith("build"))
UTILITIES = ("ranks", "plot", "report", "verify", "list", "compare", "export", "merge", "run", "reproduce", "man", "help")


# Poetic or elliptic words, ambiguous ones ("all but", "but for"), and British spelling.
ODD_WORDS = re.compile(r"\b((is|are) (none|so)|nobody|meant so|stands?|beside|all but|but for|others than|foretells?|whilst|learnt|"
                       r"\w*(normalis|optimis|initialis|colour|neighbour|behaviour|centred)\w*)\b", re.IGNORECASE)


def text_of(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as file:
        return file.read()


def anchors_of(name):
    """The anchors that GitHub gives to the headings of a file."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"```.*?```", "", text_of(name), flags=re.DOTALL), re.MULTILINE)
    anchors = set(re.findall(r'<a id="([^"]+)"></a>', text_of(name)))
    return anchors | {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def commands_of(name):
    """Each command in the code blocks of a file. Continuation lines are joined."""
    blocks = re.findall(r"```\w*\n(.*?)```", text_of(name), re.DOTALL)
    for line in re.sub(r"\\\n\s*", "", "\n".join(blocks)).splitlines():
        yield line.split("  #")[0].strip().removeprefix("$ ")


class DocumentsTest(ProgramTest):
    def test_the_readme_is_short(self):
        lines = re.sub(r"<!--.*?-->", "", text_of("README.md")).splitlines()  # as readers see it
        self.assertLessEqual(len(lines), 130)
        self.assertEqual([line for line in lines if len(line) > 100], [])

    def test_each_folder_of_the_source_includes_only_folders_below_it(self):
        """The order of the list in src/README.md. Inside a folder, no two folders include each other; a command's
        folder has the list of its studies and what they share."""
        order = re.findall(r"^(\w+)/ ", re.search(r"```\n(main.cpp.*?)```", text_of("src/README.md"), re.DOTALL)[1], re.MULTILINE)
        source = os.path.join(ROOT, "src")
        self.assertEqual(sorted(order), sorted(name for name in os.listdir(source) if "." not in name))
        arrows = {(os.path.relpath(os.path.dirname(path), source), included)
                  for path in glob.glob(os.path.join(source, "*", "**", "*.?pp"), recursive=True)
                  for included in re.findall(r'^#include "([^"]*)/', text_of(path), re.MULTILINE)}
        self.assertGreater(len(arrows), 50)
        for place, included in arrows:
            with self.subTest(folder=place, includes=included):
                self.assertLessEqual(order.index(place.split("/")[0]), order.index(included.split("/")[0]))
                self.assertTrue(place == included or place.startswith("experiments") or (included, place) not in arrows)

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
        presets = set(PRESETS)
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

    def test_results_in_other_tools(self):
        """The Python lines of results/verdicts.md run as printed, and `export` has the columns of the table."""
        section = text_of("results/verdicts.md").split("\n## Results in other tools\n")[1].split("\n## ")[0]
        run = subprocess.run([sys.executable, "-c", re.search(r"```python\n(.*?)```", section, re.DOTALL)[1]],
                             cwd=ROOT, capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stderr)
        gap, verdicts = run.stdout.splitlines()
        series = self.run_program("export results/reference/spectral-fig03.json --what series", cwd=ROOT).stdout
        self.assertIn(f"\nspecgd.objective_gap,iteration,100.0,{gap},", series)
        self.assertEqual(ast.literal_eval(verdicts)["spectral/fig-3/specgd-ahead"], "holds")
        self.result(f"{TINY} --keep-trials")
        rows = re.findall(r"^\| `(\w+)` \|.*\| `([\w,]+)(?:,\.\.\.)?`", section, re.MULTILINE)
        self.assertEqual(len(rows), 6)
        for what, columns in rows:
            header = self.run_program(f"export out.json --what {what}").stdout.splitlines()[0]
            self.assertEqual(header[:len(columns)] if what == "claims" else header, columns)

    def test_every_verdict_has_its_words_in_other_collections(self):
        section = text_of("results/verdicts.md").split("\n## Verdicts in other words\n")[1].split("\n## ")[0]
        named = {verdict for row in re.findall(r"^\| (`.*?`) \|", section, re.MULTILINE) for verdict in re.findall(r"`([\w-]+)`", row)}
        seen = {statement["verdict"] for paper in loads(self.run_program("papers --json").stdout) for statement in paper["statements"]}
        self.assertLessEqual(seen, named)

    def test_codecheck_yml_lists_every_picture_of_a_figure_or_table(self):
        listed = subprocess.run([sys.executable, os.path.join(ROOT, "packaging", "codecheck.py")], capture_output=True, text=True, check=True)
        self.assertEqual(text_of("codecheck.yml"), listed.stdout, "`make gallery` writes codecheck.yml")
        files = re.findall(r"^  - file: (.*)$", listed.stdout, re.MULTILINE)
        self.assertGreater(len(files), 60)
        self.assertEqual([file for file in files if not os.path.isfile(os.path.join(ROOT, file))], [])
        self.assertEqual(len(set(files)), len(files))

    def test_no_sentence_that_a_user_sees_has_an_odd_word(self):
        for place, sentences in words(BINARY):
            if place.startswith("results/"):
                continue  # built from sentences of src, which are checked there
            for sentence in sentences:
                for found in ODD_WORDS.finditer(sentence):
                    with self.subTest(place=place, sentence=sentence):
                        self.fail(f"'{found[0]}'")

    def test_no_document_has_an_odd_word(self):
        for name in FILES:
            text = re.sub(r"```.*?```|`[^`]*`|<!-- gallery -->.*<!-- end of the gallery -->", "", text_of(name), flags=re.DOTALL)
            with self.subTest(file=name):
                self.assertEqual([found[0] for found in ODD_WORDS.finditer(text)], [])

    def test_the_help_of_a_flag_is_a_phrase_with_domain_and_default(self):
        opening = re.compile(r"^([^\s:,]+(, [^\s:,]+)*: )?(?!(of|that|which|for|with|by|if|where|when|and|or|on|in|to)\b)[A-Za-z0-9|(<.]")
        for command in EXPERIMENTS:
            text = self.run_program(f"{command} --help").stdout
            for flag, help_text in re.findall(r"^  --([\w-]+)((?:\n? {3,}\S.*)+)", text, re.MULTILINE):
                words_of_help = " ".join(help_text.split())
                with self.subTest(command=command, flag=flag, help=words_of_help):
                    self.assertRegex(words_of_help, opening)
                    self.assertGreaterEqual(len(words_of_help.split()), 2)
                    self.assertNotRegex(words_of_help, r"\.$")
                    self.assertRegex(words_of_help, r"\(.*\)|\[.*\]")


if __name__ == "__main__":
    unittest.main()
