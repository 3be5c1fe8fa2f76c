"""results/reference holds a full run of every preset with its current config, and the documents agree with it."""
import fnmatch
import glob
import json
import os
import re
import unittest

from program import ROOT, SCHEMA, ProgramTest, loads

FOLDER = os.path.join(ROOT, "results", "reference")
ALL_PRESETS = sorted(os.path.basename(path)[:-len(".json")] for path in glob.glob(os.path.join(ROOT, "experiments", "*.json")))
PRESETS = [preset for preset in ALL_PRESETS if os.path.exists(os.path.join(FOLDER, preset + ".json"))]


def text_of(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def result_of(preset):
    return loads(text_of("results", "reference", preset + ".json"))


def shortened(value):
    """The value with long lists of numbers cut to six, because the schema checks each number."""
    if isinstance(value, dict):
        return {key: shortened(each) for key, each in value.items()}
    if isinstance(value, list) and all(isinstance(each, (int, float)) for each in value):
        return value if len(value) < 8 else value[:3] + value[-3:]
    return [shortened(each) for each in value] if isinstance(value, list) else value


# Numbers in sentences ---------------------------------------------------------------------------------------------------

# Text with digits that is not a number of a run: code, and references to a paper.
NOT_A_NUMBER = re.compile(r"`[^`]*`|\b(?:Algorithm|Corollary|Figures?|Lemmas?|Propositions?|Sections?|Table|Theorems?|eqs?\.|layer|step) ?\(?[A-Z]?\.?[\d.]+\)?"
                           r"(?: \([a-z]\))?(?:(?:, | and | to )\(?[A-Z]?\.?\d[\d.]*\)?(?=\W))*")
NUMBER = re.compile(r"(?<![\w.=/^(-])\d[\d,]*(?:\.\d+)?(?:e-?\d+)?(?![\w=/]|\.\d|-)")


def stated_numbers(text):
    text = re.sub(r"([\d.]+) million", lambda match: f"{1e6 * float(match[1]):.0f}", NOT_A_NUMBER.sub(" ", text))
    return [match.group().replace(",", "") for match in NUMBER.finditer(text)]


def is_rounded(stated, value):
    """Whether the text `stated` is the value, or its percentage, rounded to as many digits. Zeros that end an integer are not digits."""
    if "e" in stated:
        unit = 10.0 ** int(stated.split("e")[1])
    elif "." in stated:
        unit = 10.0 ** -len(stated.split(".")[1])
    else:
        unit = 10.0 ** (len(stated) - len(stated.rstrip("0"))) if len(stated) > 2 else 1.0
    readings = [abs(value)] + ([100 * abs(value), 100 * (1 - abs(value))] if abs(value) <= 1 else [])
    return any(abs(float(stated) - each) <= 0.5 * unit * (1 + 1e-9) for each in readings)


def numbers_in(value):
    """Every number in a JSON value, including those in its strings."""
    if isinstance(value, (int, float)):
        yield float(value)
    elif isinstance(value, str):
        yield from (float(number) for number in re.findall(r"\d+(?:\.\d+)?(?:e[-+]?\d+)?", value))
    elif isinstance(value, (list, dict)):
        for each in value.values() if isinstance(value, dict) else value:
            yield from numbers_in(each)


def is_decided(claim):
    return claim["verdict"] != "not-applicable" and not claim.get("holm_undecided")


def numbers_of(result, is_selected=lambda claim: True):
    """The numbers that a sentence about some claims of a result may contain: those of the claims, half the widths of their intervals, the
    scalars and config of the run, and the endpoints and extremes of its curves."""
    numbers = set(numbers_in([result["scalars"], result["config"], result["trials"]]))
    for values in result.get("trial_values", {}).values():
        numbers |= {extreme([value for value in values if value is not None], default=0) for extreme in (min, max)}
    for claim in result["claims"]:
        if is_selected(claim):
            numbers |= set(numbers_in(claim))
            evidence = claim.get("evidence") or {}
            if evidence.get("high") is not None:
                numbers.add(evidence["high"] - evidence["mean"])
            if "log10" in claim.get("detail", "") and claim["measured"] is not None:
                numbers.add(10 ** abs(claim["measured"]))
            if evidence.get("cases"):
                numbers.add(evidence["violations"] / evidence["cases"])
    for series in result["series"]:
        mean = [value for value in series["mean"] if value is not None]
        numbers |= {mean[0], mean[-1], min(mean), max(mean)} if mean else set()
    return numbers


def unsupported_numbers(text, numbers):
    return [stated for stated in stated_numbers(text) if not any(is_rounded(stated, number) for number in numbers)]


class ReferenceTest(ProgramTest):
    def test_every_preset_has_its_reference(self):
        missing = sorted(set(ALL_PRESETS) - set(PRESETS))
        self.assertEqual(missing, [], "a new preset needs its reference: build/ranklab reproduce --full --out results/reference "
                                      f"{' '.join(missing)}, then make gallery")

    def test_references_have_the_current_config_of_their_presets(self):
        self.run_program("run lambda-skip-trained --steps 2 --quiet")  # some presets read these weights; only their sizes matter here
        for preset in PRESETS:
            with self.subTest(preset):
                result = result_of(preset)
                SCHEMA.validate(shortened(result))
                run = self.run_program(["run", preset, "--dry-run"])
                config = loads(run.stdout)["config"]
                # Flags that were added after the reference run have default values: the preset does not set them.
                added_flags = set(config) - set(result["config"])
                self.assertFalse(added_flags & set(loads(text_of("experiments", preset + ".json"))["config"]))
                self.assertEqual(result["config"], {key: value for key, value in config.items() if key not in added_flags})
                self.assertEqual(result["trials"]["completed"], result["trials"]["requested"])
                self.assertNotIn("changed", result)
                self.assertIn("</svg>", text_of("results", "reference", preset + ".svg"))

    def test_the_folder_has_no_other_files_and_is_small(self):
        names = set(os.listdir(FOLDER))
        pictures = {preset: len(result_of(preset).get("more_figures", [])) + 1 for preset in PRESETS}
        self.assertEqual(names, {preset + ".json" for preset in PRESETS} | {"report.html"} | {
            f"{preset}.{number}.svg" if number > 1 else f"{preset}.svg" for preset in PRESETS for number in range(1, pictures[preset] + 1)})
        self.assertLess(sum(os.path.getsize(os.path.join(FOLDER, name)) for name in names), 0.53e6 * len(PRESETS))
        page = text_of("results", "reference", "report.html")
        for preset in PRESETS:
            self.assertIn(f'id="{preset}"', page)

    def test_a_claim_that_is_judged_in_another_preset_has_a_verdict_there(self):
        claims = {preset: {claim["id"]: claim for claim in result_of(preset)["claims"]} for preset in PRESETS}
        for preset in PRESETS:
            judged_in = loads(text_of("experiments", preset + ".json")).get("judged_in", {})
            for other, patterns in judged_in.items():
                for pattern in patterns:
                    matching = [name for name in claims[preset] if fnmatch.fnmatchcase(name, pattern)]
                    self.assertTrue(matching, f"{preset}: no claim matches {pattern}")
                    for name in matching:
                        self.assertNotIn("judged_in", claims[other][name], f"{preset}: {name} is not judged in {other} either")
            deferred = {name for name, claim in claims[preset].items() if "judged_in" in claim}
            self.assertEqual(bool(deferred), bool(judged_in), preset)

    def test_numbers_in_sentences_are_in_the_references(self):
        """Checks the `see` text and the finding of presets, and paragraphs of the README and of the pages of the studies that name presets."""
        results = {preset: result_of(preset) for preset in PRESETS}
        for preset, result in results.items():
            with self.subTest(preset=preset):
                sentence = loads(text_of("experiments", preset + ".json"))["see"]
                self.assertEqual(result["see"], sentence)
                self.assertEqual(unsupported_numbers(sentence, numbers_of(result)), [])
                finding = loads(text_of("experiments", preset + ".json")).get("finding")
                self.assertEqual(result.get("finding"), finding)
                if finding:
                    self.assertEqual(unsupported_numbers(finding["sentence"], numbers_of(result)), [])
                    verdicts = {claim["id"]: claim["verdict"] for claim in result["claims"]}
                    self.assertEqual(verdicts[finding["claim"]], finding["verdict"])
                    self.assertLessEqual(finding["panel"], len(result["figure"]["panels"]))
        pages = set(glob.glob(os.path.join(ROOT, "experiments", "*.md"))) - {os.path.join(ROOT, "experiments", "single-precision.md")}  # see tests/soak/precision.py
        self.assertGreater(len(pages), 10)
        paragraphs = [paragraph for page in [os.path.join(ROOT, "README.md"), *sorted(pages)] for paragraph in re.split(r"\n\s*\n|\n(?=[*|] )", text_of(page))]
        for paragraph in paragraphs:
            named = [name for name in re.findall(r"[`[]([^`\]]+)[`\]]", paragraph) if name in PRESETS]
            if named and "```" not in paragraph:
                # A number with its interval is of a claim that is decided after Holm's correction, or the paragraph says that it is not.
                selected = (lambda claim: True) if re.search("undecided|not decided", paragraph) else is_decided
                with self.subTest(paragraph=paragraph[:60]):
                    self.assertEqual(unsupported_numbers(paragraph, set().union(*(numbers_of(results[preset], selected) for preset in named))), [])

    def test_a_number_that_is_in_no_reference_is_reported(self):
        result = {"scalars": {"loss": {"mean": 2.4567}}, "config": {"steps": 300}, "trials": {"completed": 12},
                  "claims": [{"id": "a", "verdict": "holds", "evidence": {"mean": 0.5, "high": 0.625}}], "series": [{"mean": [None, 3.14159, 20.0]}]}
        numbers = numbers_of(result)
        self.assertEqual(unsupported_numbers("2.46 nats after 300 steps of Figure 7 (a), 12 seeds; 50 +- 12.5 %, from 3.1 to 20", numbers), [])
        self.assertEqual(unsupported_numbers("2.45 nats after 310 steps, 14 seeds; 51 %, from 3.2", numbers), ["2.45", "310", "14", "51", "3.2"])


if __name__ == "__main__":
    unittest.main()
