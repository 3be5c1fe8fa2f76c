"""Runs the real binary in a temporary folder and reads the files that it wrote; checks every result against the schema."""
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import jsonschema

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BINARY = os.path.join(ROOT, os.environ.get("RANKLAB_BUILD", "build"), "ranklab")
HANGING = 600 if "sanitize" in BINARY else 120  # seconds after which a command counts as hanging
REPRODUCIBLE = ("config", "scalars", "trial_values", "series", "claims", "figure")
with open(os.path.join(ROOT, "tests", "result.schema.json"), encoding="utf-8") as _file:
    SCHEMA = jsonschema.Draft7Validator(json.load(_file))

TINY = "random-features --study trajectory --m 12 --k 10 --d 5 --n 30 --steps 20 --restart-every 10 --trials 3"
PRESETS = sorted(name.removesuffix(".json") for name in os.listdir(os.path.join(ROOT, "experiments"))
                 if name.endswith(".json") and not name.endswith(".schema.json"))
TINY_STABLE_RANK = "random-features --study stable-rank --k 24 --d 12 --n 40 --depth 2 --tokens 200 --vocabulary 500 --trials 3"


def _refuse_constant(name):
    raise ValueError(f"{name} is not JSON")


def loads(text):
    return json.loads(text, parse_constant=_refuse_constant)


def reproducible(text):
    """The parts of a result that must not depend on threads, progress or resuming; numbers are compared as written, digit by digit."""
    document = json.loads(text, parse_float=lambda s: "float " + s, parse_int=lambda s: "int " + s)
    return {key: json.dumps(document[key]) for key in REPRODUCIBLE}


class ProgramTest(unittest.TestCase):
    maxDiff = 2000

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, content):
        mode = "wb" if isinstance(content, bytes) else "w"
        with open(self.path(name), mode) as file:
            file.write(content if isinstance(content, (bytes, str)) else json.dumps(content))
        return self.path(name)

    def read(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            return file.read()

    def run_program(self, arguments, exit_code=0, timeout=HANGING, cwd=None, env=None):
        words = arguments.split() if isinstance(arguments, str) else arguments
        run = subprocess.run([BINARY] + words, capture_output=True, text=True, timeout=timeout, stdin=subprocess.DEVNULL,
                             cwd=cwd or self.folder, env=dict(os.environ, **(env or {})))
        self.assertEqual(run.returncode, exit_code, f"ranklab {arguments}: {run.stderr[-500:]}")
        return run

    def result_text(self, arguments, exit_code=0, name="out.json", **kw):
        """Runs an experiment and returns the text of its result file, which must satisfy the schema."""
        words = (arguments.split() if isinstance(arguments, str) else arguments) + ["--quiet", "--force", "--out", name]
        run = self.run_program(words, exit_code, **kw)
        self.assertEqual(run.stderr, "")
        text = self.read(name)
        self.check_schema(loads(text))
        return text

    def result(self, arguments, **kw):
        return loads(self.result_text(arguments, **kw))

    def check_schema(self, document):
        errors = [f"{'/'.join(map(str, e.absolute_path))}: {e.message[:300]}" for e in SCHEMA.iter_errors(document)]
        self.assertEqual(errors, [])
        names = [series["name"] for series in document["series"]]
        self.assertEqual(len(names), len(set(names)), "two series have the same name")
        ids = [claim["id"] for claim in document["claims"]]
        self.assertEqual(len(ids), len(set(ids)), "two claims have the same id")
        for series in document["series"]:
            self.assertEqual(len(series["x"]), len(series["mean"]))
            self.assertEqual(len(series["x"]), len(series["std"]))
        for panel in (document["figure"] or {"panels": []})["panels"]:
            for curve in panel["curves"]:
                self.assertIn(curve["series"], names)
        self.assertEqual(set(document["scalars"]), set(document["trial_values"]))
        for name, values in document["trial_values"].items():
            self.check_scalar(document["scalars"][name], values, name)

    def check_scalar(self, scalar, values, name):
        """Compares mean and sample standard deviation with their definitions, over the values that are not null."""
        finite = [v for v in values if v is not None]
        self.assertEqual(scalar["n"], len(finite), name)
        if not finite:
            self.assertIsNone(scalar["mean"], name)
            return
        # Scaled, so that no square overflows or underflows; subnormal numbers have few digits.
        size = max(*(abs(v) for v in finite), sys.float_info.min)
        finite = [v / size for v in finite]
        mean = math.fsum(finite) / len(finite)
        variance = math.fsum((v - mean) ** 2 for v in finite) / (len(finite) - 1) if len(finite) > 1 else 0.0
        self.assertLess(abs(scalar["mean"] / size - mean), 1e-12, name)
        self.assertLess(abs(scalar["std"] / size - math.sqrt(variance)), 1e-9, name)

    def refused(self, arguments, *needles, exit_code=2):
        """The program fails with one line on standard error that contains every needle; it prints and writes nothing else."""
        before = sorted(os.listdir(self.folder))
        run = self.run_program(arguments, exit_code)
        self.assertEqual(len(run.stderr.splitlines()), 1, run.stderr)
        self.assertEqual(run.stdout, "")
        for needle in needles:
            self.assertIn(needle, run.stderr)
        self.assertEqual(sorted(os.listdir(self.folder)), before)
        return run.stderr
