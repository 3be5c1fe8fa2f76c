"""results/reference, every preset in full, is of the presets as they stand, and what the README and results/verdicts.md say is what
it says."""
import glob
import json
import os
import re
import unittest

from program import ROOT, SCHEMA, ProgramTest, loads

FOLDER = os.path.join(ROOT, "results", "reference")
PRESETS = sorted(os.path.basename(path)[:-len(".json")] for path in glob.glob(os.path.join(ROOT, "experiments", "*.json")))


def text_of(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


def result_of(preset):
    return loads(text_of("results", "reference", preset + ".json"))


def shortened(value):
    """Without most of the numbers of its lists, each of which the schema would look at."""
    if isinstance(value, dict):
        return {key: shortened(each) for key, each in value.items()}
    if isinstance(value, list) and all(isinstance(each, (int, float)) for each in value):
        return value if len(value) < 8 else value[:3] + value[-3:]
    return [shortened(each) for each in value] if isinstance(value, list) else value


def rows_of_verdicts():
    """(preset, pattern of claim ids, verdict), several for each row of results/verdicts.md."""
    for line in text_of("results", "verdicts.md").splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
        if cells[0].startswith("`"):
            for preset in re.findall(r"`([^`]+)`", cells[0]):
                for pattern in re.findall(r"`([^`]+)`", cells[1]):
                    yield preset, pattern, cells[2].strip("*")


class ReferenceTest(ProgramTest):
    def test_every_preset_as_it_stands(self):
        self.run_program("run lambda-skip-trained --steps 2 --quiet")  # weights that some presets read: their sizes count here
        for preset in PRESETS:
            with self.subTest(preset):
                result = result_of(preset)
                SCHEMA.validate(shortened(result))
                run = self.run_program(["run", preset, "--dry-run"])
                config = loads(run.stdout)["config"]
                # Flags that came after the run stand at their defaults there: the preset does not name them.
                later = set(config) - set(result["config"])
                self.assertFalse(later & set(loads(text_of("experiments", preset + ".json"))["config"]))
                self.assertEqual(result["config"], {key: value for key, value in config.items() if key not in later})
                self.assertEqual(result["trials"]["completed"], result["trials"]["requested"])
                self.assertNotIn("changed", result)
                self.assertIn("</svg>", text_of("results", "reference", preset + ".svg"))

    def test_nothing_else_and_small(self):
        names = set(os.listdir(FOLDER))
        self.assertEqual(names, {preset + ending for preset in PRESETS for ending in (".json", ".svg")} | {"report.html"})
        self.assertLess(sum(os.path.getsize(os.path.join(FOLDER, name)) for name in names), 0.53e6 * len(PRESETS))
        page = text_of("results", "reference", "report.html")
        for preset in PRESETS:
            self.assertIn(f'id="{preset}"', page)

    def test_the_gallery_of_the_readme(self):
        files = [f"results/reference/{preset}.json" for preset in PRESETS]
        self.run_program(["report", *files, "--quiet", "--out", self.path("gallery.md")], cwd=ROOT)
        gallery = re.search(r"<!-- gallery -->\n(.*)<!-- end of the gallery -->", text_of("README.md"), re.DOTALL)[1]
        self.assertEqual(gallery, self.read("gallery.md"), "make gallery renews it")

    def test_the_verdicts_as_they_are_written(self):
        verdicts = {preset: {claim["id"]: claim["verdict"] for claim in result_of(preset)["claims"]} for preset in PRESETS}
        told = set()
        for preset, pattern, verdict in rows_of_verdicts():
            with self.subTest(preset=preset, pattern=pattern):
                meant = [name for name in verdicts[preset] if re.fullmatch(re.escape(pattern).replace(r"\.\.\.", ".+"), name)]
                self.assertTrue(meant, "no such claim")
                self.assertEqual({verdicts[preset][name] for name in meant}, {verdict})
                told |= {(preset, name) for name in meant}
        silent = [(preset, name) for preset in PRESETS for name, verdict in verdicts[preset].items()
                  if verdict == "fails" and (preset, name) not in told]
        self.assertEqual(silent, [], "results/verdicts.md is silent on claims that fail")



if __name__ == "__main__":
    unittest.main()
