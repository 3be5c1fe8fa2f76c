"""The full form of tests/end_to_end/test_hostile.py, which puts hostile files in ranklab's way."""
import os
import re
import subprocess
import sys

from harness import ROOT, Check, Skipped, expect

SECONDS = 600


def check(_):
    folder = os.path.join(ROOT, "tests", "end_to_end")
    if not os.path.exists(os.path.join(folder, "test_hostile.py")):
        raise Skipped("there is no tests/end_to_end/test_hostile.py")
    process = subprocess.run([sys.executable, "-m", "unittest", "test_hostile"], cwd=folder,
                             env=dict(os.environ, HOSTILE="full", PYTHONDONTWRITEBYTECODE="1"),
                             capture_output=True, text=True, timeout=SECONDS)
    expect(process.returncode == 0, process.stderr[-3000:])
    count = re.search(r"Ran (\d+) tests", process.stderr)
    return f"{count[1]} tests" if count else ""


def checks(_, short):
    return [] if short else [Check("hostile files", check, alone=True)]
