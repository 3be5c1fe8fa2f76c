"""What concerns one preset, in its order: `make check NAME=my-preset`. One line for each check; what is missing comes with its cure."""
import glob
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time

import jsonschema

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), os.pardir))
BUILD = os.path.join(ROOT, os.environ.get("RANKLAB_BUILD", "build"))
BINARY = os.path.join(BUILD, "ranklab")
TRIALS = ("seed", "draw", "training", "input", "sample", "sequence", "problem", "run")
LONGEST = 60  # seconds of a run that is made here


def text_of(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def json_of(*path):
    try:
        return json.loads(text_of(*path))
    except json.JSONDecodeError as error:
        sys.exit(f"make check: {os.path.join(*path)}: not valid JSON: {error}")


def missing(preset, name):
    """What was forgotten, seen in the files alone; [(what, cure)]"""
    config = preset.get("config", {})
    study = config.get("study", "")
    cures = {"title": "the line above the figure", "summary": "one line for `ranklab list`", "see": "what the figure shows, for the page",
             "seconds": "the time of the run on two cores, a number",
             "trial": "what one trial is: " + ", ".join(TRIALS),
             "memory_mb": f"`make memory ONLY={name}` measures it"}
    for key, cure in cures.items():
        if key not in preset:
            yield f"experiments/{name}.json has no \"{key}\"", cure
    if preset.get("trial", TRIALS[0]) not in TRIALS:
        yield f"experiments/{name}.json: \"trial\": \"{preset['trial']}\"", "use one of " + ", ".join(TRIALS)
    papers = [json_of(os.path.relpath(path, ROOT))["paper"] for path in glob.glob(os.path.join(ROOT, "experiments", "papers", "*.json"))]
    paper = preset.get("source", {}).get("paper")
    if paper and paper.strip("[]") not in papers:
        yield f"\"source\" names {paper}, which has no file in experiments/papers", "use one of " + ", ".join(f"[{each}]" for each in sorted(papers))
    if "toy" not in preset and f'"{preset["command"]} {study}"' not in text_of("tests", "unit", "experiments", "verdict_test.cpp"):
        yield f"the tests have no toy run of {preset['command']} {study}", "give the preset \"toy\": {FLAG: VALUE}, with which it runs in a moment"
    if not any("TEST_CASE" in text_of(os.path.relpath(path, ROOT)) for path in unit_tests(study)):
        yield f"no unit test of the study {study}", f"write tests/unit/experiments/.../{study.replace('-', '_')}_test.cpp"
    yield from missing_in_catalog(paper)
    for file in ("results/reference/{}.json", "results/reference/{}.svg"):
        if not os.path.exists(os.path.join(ROOT, file.format(name))):
            yield file.format(name) + " is missing", f"`make reference NAME={name}` runs the preset in full, draws it and writes the pages"
            break


def missing_in_catalog(paper):
    """Statements of the paper without a claim or a reason, and pictures of presets that do not exist."""
    files = glob.glob(os.path.join(ROOT, "experiments", "papers", "*.json"))
    catalog = next((each for each in (json_of(os.path.relpath(path, ROOT)) for path in files) if f"[{each['paper']}]" == paper), None)
    if catalog is None:
        return
    file = f"experiments/papers/{catalog['anchor']}.json"
    for error in jsonschema.Draft7Validator(json_of("tests", "papers.schema.json")).iter_errors(catalog):
        yield f"{file}: {'.'.join(map(str, error.absolute_path))}: {error.message[:200]}", "tests/papers.schema.json has the form"
    sources = "".join(text_of(os.path.relpath(path, ROOT)) for path in glob.glob(os.path.join(ROOT, "src", "experiments", "**", "*.[ch]pp"), recursive=True))
    for statement in catalog["statements"]:
        group, rest = statement["id"].split("/", 1)
        constant = group.replace("-", "_") + "::" + re.sub("[./-]", "_", rest)
        if "not_judged" not in statement and not re.search(rf"{constant}\b", sources):
            yield f"{file}: no claim judges {statement['id']}", "judge it, or give it \"not_judged\": REASON"
        for preset in statement.get("pictures", []):
            if not os.path.exists(os.path.join(ROOT, "experiments", preset + ".json")):
                yield f"{file}: the picture \"{preset}\" of {statement['id']} is no preset", "name presets, without .json"


def unit_tests(study):
    pattern = os.path.join(ROOT, "tests", "unit", "experiments", "**", study.replace("-", "_") + "*_test.cpp")
    return glob.glob(pattern, recursive=True)


def to_fill_in(name, preset):
    """The lines of a new study in which capitals are left."""
    study = preset["config"].get("study", "").replace("-", "_")
    command = preset["command"].replace("-", "_")
    paths = [os.path.join(ROOT, "experiments", name + ".json"), *unit_tests(study),
             *glob.glob(os.path.join(ROOT, "src", "experiments", command, command + ".cpp")),
             *glob.glob(os.path.join(ROOT, "src", "experiments", "**", study + ".cpp"), recursive=True),
             *glob.glob(os.path.join(ROOT, "experiments", "papers", "*.json"))]
    for path in paths:
        for number, line in enumerate(text_of(os.path.relpath(path, ROOT)).splitlines(), 1):
            if re.search(r"\b(SAY|WRITE) [A-Z]+|\b(SAY|WRITE) (IT|A|THE)\b|0000\.00000", line):
                yield f"{os.path.relpath(path, ROOT)}:{number}: {line.strip()[:80]}"


class Check:
    def __init__(self):
        self.failed = 0

    def line(self, passed, what, cure=""):
        self.failed += not passed
        print(f"{'ok     ' if passed else 'FAILED '} {what}" + (f"; {cure}" if cure and not passed else ""), flush=True)

    def run(self, what, words, env=None, cure="", cwd=ROOT):
        start = time.monotonic()
        run = subprocess.run(words, capture_output=True, text=True, cwd=cwd, env=dict(os.environ, **(env or {})))
        self.line(run.returncode == 0, f"{what} ({time.monotonic() - start:.1f} s)", cure)
        if run.returncode != 0:
            lines = (run.stdout + run.stderr).splitlines()
            print("\n".join("        " + line for line in lines[-40:]))
        return run


def refuse_unknown(name):
    if not name or not os.path.exists(os.path.join(ROOT, "experiments", name + ".json")):
        sys.exit(f"make check: NAME={name} is no preset; `build/ranklab list` shows all")


def main(name):
    check = Check()
    preset = json_of("experiments", name + ".json")
    forgotten = list(missing(preset, name))
    for what, cure in forgotten:
        check.line(False, what, cure)
    if not forgotten:
        check.line(True, "the preset and its files are complete")
    schema = jsonschema.Draft7Validator(json_of("experiments", "experiment.schema.json"))
    errors = [error.message for error in schema.iter_errors(preset)]
    check.line(not errors, "the preset has the form of experiment.schema.json" + "".join("; " + each for each in errors))
    for line in to_fill_in(name, preset):
        check.line(False, "to fill in: " + line)
    study = preset["config"].get("study", "")
    files = ",".join("*" + os.path.relpath(path, ROOT) for path in unit_tests(study))
    unit = os.path.join(BUILD, "unit-tests")
    if files:
        check.run("its unit tests", [unit, "-sf=" + files, "--no-intro"])
    check.run("broken numbers turn its claims", [unit, "-sf=*verdict_test*", "--no-intro"], {"RANKLAB_STUDY": f"{preset['command']} {study}"})
    with tempfile.TemporaryDirectory() as folder:
        short = [f"--{key}={','.join(map(str, value)) if isinstance(value, list) else value}" for key, value in preset.get("toy", {}).items()]
        if short:
            out = os.path.join(folder, "toy.json")
            check.run("its toy run", [BINARY, "run", name, "--out", out, "--quiet", *short])
            if os.path.exists(out):
                errors = [error.message[:200] for error in jsonschema.Draft7Validator(json_of("tests", "result.schema.json")).iter_errors(json_of(out))]
                check.line(not errors, "the result has the form of tests/result.schema.json" + "".join("; " + each for each in errors))
                check.run("its picture", [BINARY, "plot", out, "--out", os.path.join(folder, "toy.svg"), "--quiet"])
        reference = os.path.join("results", "reference", name + ".json")
        if os.path.exists(os.path.join(ROOT, reference)):
            run = check.run("its reference has the preset's config", [BINARY, "run", name, "--dry-run"])
            if run.returncode == 0:
                check.line(json.loads(run.stdout)["config"] == json_of(reference)["config"], "the reference is of this config",
                           f"`make reference NAME={name}`")
            picture = os.path.join(folder, name + ".svg")
            check.run("its stored picture is drawn", [BINARY, "plot", reference, "--out", picture, "--quiet"])
            if os.path.exists(picture):
                with open(picture, encoding="utf-8") as file:
                    check.line(file.read() == text_of("results", "reference", name + ".svg"), "the stored picture is that of the reference", "`make gallery`")
            if preset.get("seconds", 0) <= LONGEST:
                check.run("the reference is made again", [BINARY, "verify", reference, "--quiet"], cure="if the change is meant: `make reference NAME=" + name + "`")
                used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1000
                print(f"        memory: at most {used:.0f} MB in these runs; the preset says {preset.get('memory_mb', '?')}")
            else:
                print(f"        not run: the reference takes {preset['seconds']} s; build/ranklab verify {reference}")
    print(f"check: {check.failed} failed" if check.failed else "check: all passed")
    return check.failed > 0


if __name__ == "__main__":
    refuse_unknown(os.environ.get("NAME", ""))
    sys.exit(0 if "--name" in sys.argv else main(os.environ.get("NAME", "")))
