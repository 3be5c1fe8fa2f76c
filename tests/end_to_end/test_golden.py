"""The program draws the stored pictures and pages, byte for byte: those of results/, and those of tests/golden/ for `ranks`, which alone draws bars.

After a wanted change, `make gallery` writes the pages of results/ again. For the other files, the message of the test has the command.
"""
import glob
import itertools
import os
import re
import unittest

from program import ROOT, ProgramTest, loads
from test_figures import Collector

RESULTS = os.path.join(ROOT, "results")
REFERENCES = sorted(glob.glob(os.path.join(RESULTS, "reference", "*.json")))
NAMES = [os.path.basename(path) for path in REFERENCES]
GOLDEN = os.path.join(ROOT, "tests", "golden")
MOST_SHOWN = 10


def text_of(path):
    with open(path, encoding="utf-8", newline="") as file:
        return file.read()


def difference(path, drawn):
    """What differs first between a stored file and the text that was drawn, or nothing if they are equal."""
    stored = text_of(path)
    if stored == drawn:
        return []
    name = os.path.relpath(path, ROOT)
    lines = itertools.zip_longest(stored.split("\n"), drawn.split("\n"), fillvalue="(no line)")
    number, (old, new) = next((i, pair) for i, pair in enumerate(lines, 1) if pair[0] != pair[1])
    start = max(0, len(os.path.commonprefix([old, new])) - 60)
    return [f"{name} differs in line {number}, after {start} characters\n  stored: {old[start:start + 120]}\n  drawn:  {new[start:start + 120]}"]


def stored_pictures(result):
    """The pictures next to a result: x.svg, x.2.svg, ..."""
    stem = re.escape(os.path.basename(result)[:-len(".json")])
    return {name for name in os.listdir(os.path.dirname(result)) if re.fullmatch(stem + r"(\.\d+)?\.svg", name)}


class GoldenTest(ProgramTest):
    def check(self, differences, command):
        shown = "\n".join(differences[:MOST_SHOWN] + [f"... {len(differences)} files in all"] * (len(differences) > MOST_SHOWN))
        self.assertFalse(differences, f"{shown}\nIf this is wanted: {command}")

    def differing_pictures(self, result):
        name, folder = os.path.basename(result)[:-len(".json")], os.path.dirname(result)
        self.run_program(["plot", result, "--quiet", "--out", f"{name}.svg"])
        drawn, stored = stored_pictures(self.path(f"{name}.json")), stored_pictures(result)
        return [f"{picture} is {'not stored' if picture in drawn else 'no longer drawn'}" for picture in sorted(drawn ^ stored)] + [
            each for picture in sorted(drawn & stored) for each in difference(os.path.join(folder, picture), self.read(picture))]

    def test_the_pictures_of_the_reference_results(self):
        self.assertGreater(len(REFERENCES), 50)
        self.check([each for result in REFERENCES for each in self.differing_pictures(result)],
                   "for result in results/reference/*.json; do build/ranklab plot $result --quiet; done")

    def test_bars_below_each_other_if_there_are_many(self):
        for name in ("ranks.json", "ranks-many-layers.json"):
            self.check(self.differing_pictures(os.path.join(GOLDEN, name)), f"build/ranklab plot tests/golden/{name}")

    def test_the_page_of_the_reference_results(self):
        self.run_program(["report", *NAMES, "--quiet", "--out", self.path("report.html")], cwd=os.path.join(RESULTS, "reference"))
        self.check(difference(os.path.join(RESULTS, "reference", "report.html"), self.read("report.html")), "make gallery")

    def test_the_page_of_a_result_of_no_paper(self):
        self.run_program(["report", "ranks.json", "--quiet", "--out", self.path("page.html")], cwd=GOLDEN)
        self.check(difference(os.path.join(GOLDEN, "ranks.html"), self.read("page.html")),
                   "(cd tests/golden && ../../build/ranklab report ranks.json --out ranks.html)")

    def test_the_gallery_in_markdown(self):
        self.run_program(["report", *(f"reference/{name}" for name in NAMES), "--quiet", "--out", self.path("gallery.md")], cwd=RESULTS)
        readme = os.path.join(RESULTS, "README.md")
        drawn = re.sub(r"(?<=<!-- gallery -->\n).*(?=<!-- end of the gallery -->)", lambda _: self.read("gallery.md"), text_of(readme), flags=re.DOTALL)
        self.check(difference(readme, drawn), "make gallery")

    def test_the_pages_of_the_papers_and_their_index(self):
        os.symlink(os.path.join(RESULTS, "reference"), self.path("reference"))
        for paper in ([], ["spectral"], ["lambda-skip"], ["shallow"]):
            page = f"{paper[0] if paper else 'statements'}.md"
            self.run_program(["papers", *paper, "--results", "reference", "--out", page])
            self.check(difference(os.path.join(RESULTS, page), self.read(page)), "make gallery")


class PageTest(unittest.TestCase):
    """What can be measured in results/reference/report.html without a browser; tests/browser/ has the rest."""

    @classmethod
    def setUpClass(cls):
        cls.text = text_of(os.path.join(RESULTS, "reference", "report.html"))
        cls.page = Collector()
        cls.page.feed(cls.text)

    def test_ids_are_unique_and_links_lead_to_them(self):
        self.assertEqual(len(self.page.ids), len(set(self.page.ids)))
        inside = {link for link in self.page.links if link.startswith("#")}
        self.assertEqual(inside - {"#" + name for name in self.page.ids}, set())
        self.assertEqual({link.split("/abs/")[0] for link in self.page.links if link not in inside}, {"https://arxiv.org"})
        self.assertEqual({"link", "img", "iframe", "object"} & set(self.page.tags), set())
        self.assertEqual(self.page.tags.count("script"), 1)  # the search, which needs no file
        # Without JavaScript only the field is hidden.
        self.assertEqual(re.findall(r"<(\w+)[^>]* hidden\b", self.text), ["form"])

    def test_every_figure_is_drawn_and_every_fold_is_closed(self):
        figures = {name: 1 + len(result.get("more_figures", [])) for name, result in ((name, loads(text_of(path))) for name, path in zip(NAMES, REFERENCES))}
        sections = re.findall(r'<section class="result" id="([^"]+)"', self.text)
        self.assertEqual({f"{name}.json" for name in sections}, set(NAMES))
        self.assertEqual(self.text.count('<figure class="picture"'), sum(figures.values()))
        findings = re.search(r'<div class="findings">.*?\n</div>\n', self.text, re.DOTALL)[0]
        self.assertEqual((findings.count("<li>"), findings.count('class="thumbnail"')), (9, 9))
        self.assertEqual(self.page.tags.count("svg"), sum(figures.values()) + 9)
        self.assertNotIn("<details open", self.text)
        self.assertNotIn("Not drawn", self.text)

    def test_the_page_and_its_introduction_are_short(self):
        self.assertLessEqual(len(self.text.encode()), 2_700_000)
        introduction = re.search(r'<div class="first">\s*<div>\s*<p>(.*?)</p>', self.text, re.DOTALL)[1]
        self.assertLessEqual(len(re.sub(r"<[^>]*>", "", introduction).split()), 60)


if __name__ == "__main__":
    unittest.main()
