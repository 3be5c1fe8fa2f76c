"""experiments/tour.md: every command runs as written and prints what the tour shows, numbers to one percent."""
import os
import re
import subprocess
import sys
import unittest

from program import BINARY, ROOT, ProgramTest

NUMBER = re.compile(r"(?<![\w.])[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?(?![\w.]*\.json)")
TIME = re.compile(r"\bin \d+(\.\d+)? s\b")


def steps():
    """(command or Python, lines shown, exit code) of each example, from top to bottom."""
    with open(os.path.join(ROOT, "experiments", "tour.md"), encoding="utf-8") as file:
        text = file.read()
    for language, block in re.findall(r"^```(\w*)\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
        if language == "python":
            yield block, [], 0
        for command, shown in re.findall(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n?)*)", block, re.MULTILINE):
            lines = shown.splitlines()
            code = int(lines.pop().split()[-1]) if lines and lines[-1].startswith("exit status") else 0
            yield re.sub(r"\\\n\s*", "", command), lines, code


def has_torch():
    return subprocess.run([sys.executable, "-c", "import torch"], capture_output=True).returncode == 0


class TourTest(ProgramTest):
    def setUp(self):
        super().setUp()
        os.mkdir(self.path("build"))
        os.symlink(BINARY, self.path("build/ranklab"))
        os.symlink(os.path.join(ROOT, "experiments"), self.path("experiments"))

    def assert_shown(self, shown, output):
        """Each line shown is in the output, in this order; "..." leaves out lines, or the rest of one."""
        printed = iter(output.splitlines())
        for line in shown:
            if line.strip() == "...":
                continue
            beginning, cut = (line[:-3].rstrip(), True) if line.endswith("...") else (line.rstrip(), False)
            self.assertTrue(any(self.alike(beginning, other.rstrip(), cut) for other in printed), f"not printed: {line}\nin:\n{output}")

    @staticmethod
    def alike(shown, printed, cut):
        shown, printed = TIME.sub("in T s", shown), TIME.sub("in T s", printed)
        mine, theirs = NUMBER.findall(shown), NUMBER.findall(printed)
        blank_mine, blank_theirs = (" ".join(NUMBER.sub("#", text).split()) for text in (shown, printed))
        if not (blank_theirs.startswith(blank_mine) if cut else blank_theirs == blank_mine):
            return False
        values = [tuple(float(number.replace(",", "")) for number in pair) for pair in zip(mine, theirs)]
        return all(abs(a - b) <= 0.01 * max(abs(a), abs(b)) for a, b in values)

    def test_every_command_prints_what_the_tour_shows(self):
        examples = list(steps())
        self.assertGreater(len(examples), 8)
        for command, shown, code in examples:
            if command.startswith(("git ", "make ", "cd ")):
                continue
            with self.subTest(command=command):
                if not command.startswith(("build/ranklab", "ls ", "#")):
                    if not has_torch():
                        continue
                    run = subprocess.run([sys.executable, "-c", command], cwd=self.folder, capture_output=True, text=True, timeout=300,
                                         env={**os.environ, "PYTHONPATH": os.path.join(ROOT, "python")})
                else:
                    run = subprocess.run(command, shell=True, cwd=self.folder, capture_output=True, text=True, timeout=300)
                self.assertEqual(run.returncode, code, run.stderr)
                self.assert_shown(shown, run.stdout + run.stderr)


if __name__ == "__main__":
    unittest.main()
