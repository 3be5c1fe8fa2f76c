"""Every study with extreme values of its flags, one flag at a time.

The values come from the domains that `--help` prints: the least, the greatest, and values near underflow and overflow. A run must end in
time, with a result or with one line of our own words. A result must count its undefined values, and no verdict may rest on one. `make test`
runs a fixed sample of them. With HOSTILE=full it runs all values of each study's flags, and a sample for the other runs of the study.
"""
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile
import time
import unittest
import zlib

from program import BINARY, ProgramTest, loads
from test_smoke import RUNS

FULL = os.environ.get("HOSTILE") == "full"
SAMPLE = 20  # values of each further run of a study
MOST_BYTES, MOST_SECONDS, MOST_SECONDS_IF_LARGE = 2e8, 60, 2
REALS = [0.0, 5e-324, 1e-300, 1e-160, 1e-8, 1e160, 1e300, sys.float_info.max]
TEXTS = ["0", "1e-300", "1e300", "-1", "-1e300"]
FLAGS_OF_EVERY_STUDY = ("seed", "trials", "blas-threads")
# Words of libraries and of the language, which no user can act on.
FOREIGN = re.compile(r"std::|json\.exception|basic_string|vector::|Mat::|arma|lapack|bad_alloc|terminate|stoi|stod|filesystem", re.I)
NO_NUMBER = re.compile(r"(?<![A-Za-z_])(nan|inf)(?![A-Za-z_])", re.I)


def help_of(*words):
    return subprocess.run([BINARY, *words, "--help"], capture_output=True, text=True, check=True).stdout


def study_of(arguments):
    """Command and study of a command line: "rank-collapse --study eta"."""
    words = arguments.split()
    if "--study" in words:
        return f"{words[0]} --study {words[words.index('--study') + 1]}"
    first = re.search(r"^Flags of --study (\S+)", help_of(words[0]), flags=re.M).group(1)
    return f"{words[0]} --study {first}"


def flags_of(study):
    """The domain of each flag as `--help` prints it, by name."""
    sections = re.split(r"^(Flags of .*):$", help_of(*study.split()), flags=re.M)
    domains = {}
    for title, body in zip(sections[1::2], sections[2::2]):
        for entry in re.split(r"^  (?:-\w, )?(?=--)", body.split("\n\n")[0], flags=re.M)[1:]:
            name, help_text = re.match(r"--(\S+)\s+(.*)", " ".join(entry.split())).groups()
            domain = re.search(r"\(([^()]*)\)(?: \[[^\]]*\])?$", help_text)
            shared = "every experiment" in title
            if domain and (name in FLAGS_OF_EVERY_STUDY) == shared:
                domains[name] = domain.group(1)
    return domains


def values_in(domain):
    """Extreme values of a domain, as the flag takes them."""
    if "unsigned 64-bit" in domain:
        return ["0", str(2**64 - 1)]
    integer = re.search(r"integer from (\d+) to (\d+)", domain)
    if integer:
        low, high = map(int, integer.groups())
        return sorted({str(v) for v in (low, low + 1, low + 2, high) if v <= high}, key=int)
    real = re.search(r"finite number (from|above) (\S+)(?: to (\S+))?", domain)
    if real:
        low, high = float(real.group(2)), float(real.group(3) or sys.float_info.max)
        inside = {v for v in REALS + [-v for v in REALS] + [low, high] if low <= v <= high and (v > low or real.group(1) == "from")}
        return [repr(v) for v in sorted(inside)]
    if "|" in domain:
        return domain.split(" ")[-1].split("|")
    return TEXTS if domain.endswith("text") else []


def may_be_large(arguments):
    """Whether the last flag may make a run expensive: a number above 1, or small patches, of which there are many."""
    flag, _, value = arguments.rpartition("=")
    try:
        return float(value) > 1 or flag.endswith("--patch")
    except ValueError:
        return False


def cases_of(arguments, domains):
    words = arguments.split()
    trials = int(words[words.index("--trials") + 1]) if "--trials" in words else 3
    base = arguments + f" --trials {max(3, trials)}"
    yield base + "".join(f" --{name}={values_in(domain)[0]}" for name, domain in domains.items() if "integer from" in domain and name != "trials")
    for name, domain in domains.items():
        for value in values_in(domain):
            yield f"{base} --{name}={value}"


def strings_in(node):
    if isinstance(node, str):
        yield node
    elif isinstance(node, (list, dict)):
        for item in node.values() if isinstance(node, dict) else node:
            yield from strings_in(item)


def nulls_in(node):
    if node is None:
        return 1
    items = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    return sum(map(nulls_in, items))


def problems_of_failure(run):
    lines = run.stderr.splitlines()
    if run.returncode not in (1, 2) or len(lines) != 1 or not lines[0].startswith("ranklab: "):
        yield f"exit {run.returncode}: {run.stderr[-300:]}"
    elif len(lines[0]) > 1000:
        yield f"a message of {len(lines[0])} characters"
    elif FOREIGN.search(lines[0]) or NO_NUMBER.search(lines[0]):
        yield lines[0]


def problems_of_claim(claim):
    evidence = claim["evidence"]
    if claim["verdict"] not in ("holds", "fails"):
        return
    numbers = {"mean": ("mean", "low", "high"), "equivalence": ("mean", "low", "high"), "number": ("value",), "count": ("cases", "violations")}
    if claim["measured"] is None or any(evidence[key] is None for key in numbers.get(evidence["type"], ())) or evidence["type"] == "none":
        yield f"{claim['id']} {claim['verdict']} without a finite number: {claim['detail'][:200]}"
    if evidence["type"] == "count" and not evidence["cases"] > 0:
        yield f"{claim['id']} {claim['verdict']} without a case"


def problems_of_result(document, stderr):
    counted = sum(nulls_in(document[key]) for key in ("scalars", "trial_values", "series"))
    if document["non_finite"] != counted:
        yield f"non_finite is {document['non_finite']}, but there are {counted} nulls"
    for claim in document["claims"]:
        yield from problems_of_claim(claim)
    shown = {key: value for key, value in document.items() if key not in ("config", "environment", "changed")}
    for text in list(strings_in(shown)) + stderr.splitlines():
        if NO_NUMBER.search(text):
            yield f"not a number in words: {text[:200]}"


def check(arguments, check_schema):
    """Runs one case in a folder of its own. Returns (how it ended, problems); `how` is skipped, refused, failed or done."""
    with tempfile.TemporaryDirectory() as folder:
        large = may_be_large(arguments)

        def run(*more):
            return subprocess.run([BINARY, *arguments.split(), *more], capture_output=True, text=True, cwd=folder,
                                  timeout=MOST_SECONDS_IF_LARGE if large else MOST_SECONDS,
                                  stdin=subprocess.DEVNULL, errors="replace", env=dict(os.environ, OPENBLAS_NUM_THREADS="1"))
        try:
            if large:
                plan = run("--dry-run")
                if plan.returncode != 0:
                    return "refused", list(problems_of_failure(plan))
                if loads(plan.stdout)["estimate"]["memory_bytes"] > MOST_BYTES:
                    return "skipped", []
            done = run("--out", "out.json", "--progress", "never", "--threads", "1")
        except subprocess.TimeoutExpired:
            return ("skipped", []) if large else ("failed", [f"takes more than {MOST_SECONDS} s"])
        except ValueError as error:
            return "failed", [f"--dry-run: {error}"]
        written = os.path.join(folder, "out.json")
        if done.returncode != 0:
            return "refused" if done.returncode == 2 else "failed", list(problems_of_failure(done)) + (["wrote a result"] if os.path.exists(written) else [])
        try:
            with open(written, encoding="utf-8") as file:
                document = loads(file.read())
            check_schema(document)
        except (ValueError, AssertionError) as error:
            return "done", [str(error)[:500]]
        problems = list(problems_of_result(document, done.stderr))
        if document["non_finite"] > 0:
            problems += problems_of_picture(folder)
        return "done", problems


def problems_of_picture(folder):
    run = subprocess.run([BINARY, "plot", "out.json", "--out", "out.svg", "--quiet"], capture_output=True, text=True, cwd=folder, errors="replace",
                         timeout=MOST_SECONDS)
    if run.returncode != 0:
        return list(problems_of_failure(run))
    with open(os.path.join(folder, "out.svg"), encoding="utf-8") as file:
        words = re.findall(r">([^<>]+)<", file.read())
    return [f"in the picture: {text[:200]}" for text in words if NO_NUMBER.search(text)]


class HostileTest(ProgramTest):
    def cases(self):
        domains = {}
        for arguments in RUNS.values():
            study = study_of(arguments)
            seen = study in domains
            if not seen:
                domains[study] = flags_of(study)
            cases = sorted(cases_of(arguments, domains[study]), key=lambda case: zlib.crc32(case.encode()))
            if FULL:
                yield from cases[:SAMPLE] if seen else cases
            elif not seen:
                yield cases[0]

    def test_extreme_values_end_in_a_result_or_in_one_line(self):
        cases = list(dict.fromkeys(self.cases()))
        ends = {}
        start = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(2 if FULL else 1) as pool:
            for arguments, (how, problems) in zip(cases, pool.map(lambda case: check(case, self.check_schema), cases)):
                ends[how] = ends.get(how, 0) + 1
                with self.subTest(f"ranklab {arguments}"):
                    self.assertEqual(problems, [])
        if FULL:
            print(f"{len(cases)} runs in {time.monotonic() - start:.0f} s: {ends}")
        self.assertGreater(ends.get("done", 0), len(cases) // 4)


if __name__ == "__main__":
    unittest.main()
