"""Single precision against double: runs in both differ by no more than the table in
`ranklab help precision` states, and no verdict differs. The short form has a tiny run of
each study, the long form has presets, which are compared with the reference results."""
import json
import os
import re

from harness import ROOT, Check, expect, read, run, smoke_runs

REFERENCE = os.path.join(ROOT, "results", "reference")
# The share of problems that rounding decides, a property of the precision itself.
OF_PRECISION = ("undetermined_step",)
# A smaller difference does not count: some scalars measure rounding errors.
LEAST_DIFFERENCE = 1e-6


def stated():
    """The rows of the table: {study: (largest difference of its tiny run, {preset: largest})}."""
    table = run("help precision", ROOT).out
    return {study: (float(tiny), {name: float(largest) for name, largest
                                  in re.findall(r"(\S+) (\S+?)(?:,|$)", presets)})
            for study, tiny, presets in re.findall(r"^    ([a-z-]+) +([\d.e-]+)(?: +(.*))?$", table, re.M)}


def relative_difference(a, b):
    if a is None or b is None:
        return 0.0 if a is b else float("inf")
    return abs(a - b) / max(abs(a), abs(b)) if abs(a - b) > LEAST_DIFFERENCE else 0.0


def expect_close(one, other, largest):
    """Compares all verdicts of two results, and all scalars except counts of violations and
    OF_PRECISION."""
    worst, name = max(((relative_difference(one["scalars"][name]["mean"], scalar["mean"]), name)
                       for name, scalar in other["scalars"].items()
                       if not name.startswith("violations.") and name not in OF_PRECISION),
                      default=(0.0, "no scalar"))
    verdicts = {claim["id"]: claim["verdict"] for claim in one["claims"]}
    # A claim that several references could judge is judged in one of them.
    changed = [claim["id"] for claim in other["claims"] if verdicts[claim["id"]] != claim["verdict"]
               and not claim["detail"].startswith("judged in ")]
    found = f"{worst:.1e} ({name})" if worst else f"below {LEAST_DIFFERENCE:g}"
    expect(worst <= largest, f"{found}, where {largest:g} is stated")
    expect(not changed, f"verdicts differ: {', '.join(changed)}")
    return found


def of_preset(preset, largest):
    def check(folder):
        with open(os.path.join(REFERENCE, preset + ".json"), encoding="utf-8") as file:
            reference = json.load(file)
        other = {"f64": "f32", "f32": "f64"}[reference["config"]["precision"]]
        run(f"run {preset} --precision {other} --quiet --out {folder}/other.json", ROOT, seconds=600)
        return expect_close(json.loads(read(folder, "other.json")), reference, largest)
    return Check(preset, check, alone=True)


def of_tiny_run(study, largest):
    def check(folder):
        arguments = next(words for name, words in smoke_runs().items() if study in name.split())
        for precision in ("f32", "f64"):
            run(f"{arguments} --precision {precision} --quiet --out {precision}.json", folder)
        return expect_close(*(json.loads(read(folder, f"{precision}.json"))
                              for precision in ("f32", "f64")), largest)
    return Check(f"tiny {study}", check)


def checks(_, short):
    rows = stated()
    tiny = [of_tiny_run(study, largest) for study, (largest, _) in rows.items()]
    return tiny if short else tiny + [of_preset(*row) for _, presets in rows.values()
                                      for row in presets.items()]
