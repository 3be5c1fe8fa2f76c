"""results/reference holds a full run of every preset with its current config, and the documents agree with it."""
import fnmatch
import glob
import json
import os
import unittest

from program import PRESETS as ALL_PRESETS
from program import ROOT, SCHEMA, ProgramTest, loads

FOLDER = os.path.join(ROOT, "results", "reference")
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
                self.assertNotIn("trials_of", result["environment"], "its trials are of another build; run it again without --reuse-trials")
                self.assertIn("</svg>", text_of("results", "reference", preset + ".svg"))

    def test_references_have_the_declared_quantities(self):
        """`list PRESET --quantities` names what the full run measured, where and over what, before any run."""
        self.run_program("run lambda-skip-trained --steps 2 --quiet")
        for preset in PRESETS:
            with self.subTest(preset):
                result = result_of(preset)
                listed = loads(self.run_program(["list", preset, "--quantities", "--json"]).stdout)
                if not listed:
                    continue
                declared = {name: each for each in listed for name in each["names"]}
                measured = {name: (scalar, "") for name, scalar in result["scalars"].items()} | {
                    series["name"]: (series, series["x_name"]) for series in result["series"]}
                self.assertLessEqual(set(measured), set(declared))
                self.assertEqual({name for name, each in declared.items() if each["always"]} - set(measured), set())
                for name, (number, over) in measured.items():
                    each = declared[name]
                    self.assertEqual((number["quantity"], over), (each["quantity"], each["over"]), name)
                    self.assertEqual(set(number.get("at", {})), set(each["at"]), name)
                    for axis, value in number.get("at", {}).items():
                        self.assertIn(value, each["at"][axis], name)
                    if over and each["x"]:
                        self.assertLessEqual(set(number["x"]), set(each["x"]), name)

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

    def test_texts_have_the_words_and_numbers_of_the_references(self):
        for preset in PRESETS:
            with self.subTest(preset=preset):
                texts, result = loads(text_of("experiments", preset + ".json")), result_of(preset)
                self.assertEqual(result["see"], texts["see"])
                finding = texts.get("finding")
                self.assertEqual(result.get("finding"), finding)
                if finding:
                    verdicts = {claim["id"]: claim["verdict"] for claim in result["claims"]}
                    self.assertEqual(verdicts[finding["claim"]], finding["verdict"])
                    self.assertLessEqual(finding["panel"], len(result["figure"]["panels"]))
        texts = [os.path.join(ROOT, "README.md"), os.path.join(ROOT, "results", "README.md"),
                 *glob.glob(os.path.join(ROOT, "experiments", "*.md")), *(os.path.join(ROOT, "experiments", preset + ".json") for preset in ALL_PRESETS),
                 *glob.glob(os.path.join(ROOT, "experiments", "papers", "*.json"))]
        run = self.run_program(["numbers", "--check", "--results", FOLDER, *texts])
        self.assertEqual(run.stderr, "")
        self.assertGreater(sum(text_of(path).count("<!--{") for path in texts), 100)


if __name__ == "__main__":
    unittest.main()
