"""The full form of tests/end_to_end/test_hostile.py: every study with extreme values of its flags."""
import os
import subprocess
import sys

from harness import ROOT, Check, expect

SECONDS = 900


def check(_):
    process = subprocess.run([sys.executable, "-m", "unittest", "test_hostile"],
                             cwd=os.path.join(ROOT, "tests", "end_to_end"),
                             env=dict(os.environ, HOSTILE="full", PYTHONDONTWRITEBYTECODE="1"),
                             capture_output=True, text=True, timeout=SECONDS)
    expect(process.returncode == 0, process.stderr[-3000:])
    return process.stdout.strip()


def checks(_, short):
    return [] if short else [Check("extreme values of flags", check, alone=True)]
