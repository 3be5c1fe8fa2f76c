"""`ranklab numbers`: the numbers of results in sentences."""
import json
import os
import statistics
import unittest

from program import ROOT, ProgramTest

REFERENCE = os.path.join(ROOT, "results", "reference")


class NumbersTest(ProgramTest):
    def setUp(self):
        super().setUp()
        with open(os.path.join(REFERENCE, "spectral-fig03.json"), encoding="utf-8") as file:
            self.document = json.load(file)
        os.makedirs(self.path("results"))
        self.store()

    def store(self):
        self.write("results/spectral-fig03.json", self.document)

    def renewed(self, text, **kw):
        self.write("text.md", text)
        run = self.run_program("numbers text.md --results results", **kw)
        return self.read("text.md"), run.stderr

    def claim(self, name):
        return next(claim for claim in self.document["claims"] if claim["id"] == name)

    def test_a_number_is_that_of_the_result_and_follows_it(self):
        gap = next(series for series in self.document["series"] if series["name"] == "gd.objective_gap")
        at = gap["x"].index(100)
        text = "GD is at <!--{spectral-fig03: at(gd.objective_gap, 100) | .3g}-->?<!--/--> then."
        filled, said = self.renewed(text)
        self.assertEqual(filled, text.replace("?", f"{gap['mean'][at]:.3g}"))
        self.assertEqual(said, "text.md\n")
        self.assertEqual(self.renewed(filled), (filled, ""))
        gap["mean"][at] = 0.125
        self.store()
        self.assertIn("-->0.125<!--/--> then.", self.renewed(filled)[0])

    def test_claims_formats_and_intervals(self):
        count = self.claim("spectral/eq-1.5/specgd")["evidence"]
        mean = next(claim for claim in self.document["claims"] if (claim["evidence"] or {}).get("type") == "mean")
        half = mean["evidence"]["high"] - mean["evidence"]["mean"]
        for what, value in (("claim spectral/eq-1.5/specgd violations | ,d", f"{count['violations']:,.0f}"),
                            ("claim spectral/eq-1.5/specgd violated | ,d", str(count["units_violated"])),
                            (f"claim {mean['id']} | .4f", f"{mean['evidence']['mean']:.4f}"),
                            (f"claim {mean['id']} | .4f +-", f"{mean['evidence']['mean']:.4f} +- {half:.4f}"),
                            ("1/8 | .0%", "12 %"), ("d | ,d", f"{self.document['config']['d']:,}"),
                            ("claim(spectral/eq-1.5/specgd violations) / 2 | .1f", f"{count['violations'] / 2:.1f}"),
                            ("claim spectral/eq-1.5/specgd share | .3f", f"{count['violations'] / count['cases']:.3f}"),
                            ("-claim max spectral/eq-1.5/* violations | .0f", f"{-max(self.counts('spectral/eq-1.5/')):.0f}")):
            with self.subTest(what):
                self.assertEqual(self.renewed("<!--{spectral-fig03: %s}--><!--/-->" % what)[0], "<!--{spectral-fig03: %s}-->%s<!--/-->" % (what, value))

    def test_order_over_the_trials_that_have_a_value(self):
        steps = [3.0, None, 5.0, 4.0, 8.0]
        self.document["trial_values"]["first_iteration_specgd_ahead"] = steps
        self.document["trials"].update(requested=5, completed=5)
        for values in self.document["trial_values"].values():
            del values[5:]
        for series in self.document["series"]:
            series.pop("trials", None)
        self.store()
        known = [step for step in steps if step is not None]
        for order, value in (("median", statistics.median(known)), ("largest", max(known)), ("least", min(known))):
            what = f"{order} 2 * first_iteration_specgd_ahead | .1f"
            self.assertEqual(self.renewed("<!--{spectral-fig03: %s}--><!--/-->" % what)[0],
                             "<!--{spectral-fig03: %s}-->%.1f<!--/-->" % (what, 2 * value))

    def counts(self, beginning):
        return [claim["evidence"]["violations"] for claim in self.document["claims"]
                if claim["id"].startswith(beginning) and (claim["evidence"] or {}).get("type") == "count"]

    def test_the_interval_of_a_formula_is_paired_by_trial(self):
        one, other = list(self.document["trial_values"])[:2]
        values = self.document["trial_values"]
        differences = [a - b for a, b in zip(values[one], values[other])]
        self.assertEqual(len(differences), 12)
        student = 3.10581  # the 99.5 % quantile with 11 degrees of freedom, from a table
        half = student * statistics.stdev(differences) / 12 ** 0.5
        self.assertEqual(self.renewed("<!--{spectral-fig03: '%s' - '%s' | .4g +-}--><!--/-->" % (one, other))[0].split("-->")[1].split("<")[0],
                         f"{statistics.mean(differences):.4g} +- {half:.4g}")

    def test_in_json_the_value_follows_its_reference(self):
        text = '{"see": "a {{spectral-fig03: 1 + 1 | .1f}} b {{spectral-fig03: 2 * 2 | .1f = 7}}"}'
        self.assertEqual(self.renewed(text)[0], '{"see": "a {{spectral-fig03: 1 + 1 | .1f = 2.0}} b {{spectral-fig03: 2 * 2 | .1f = 4.0}}"}')

    def test_mistakes_are_named_and_change_nothing(self):
        for reference, message in (("spectral-fig3: 1 | .2f", "no result of 'spectral-fig3'; did you mean 'spectral-fig03'?"),
                                   ("spectral-fig03: gd.los | .2f", "no quantity 'gd.los'"), ("spectral-fig03: 1 | 2f", "unknown format '2f'"),
                                   ("spectral-fig03: claim x | .2f", "no claim 'x'"), ("spectral-fig03: 1/0 | .2f", "the number is undefined"),
                                   ("papers: many", "unknown reference 'papers: many'"),
                                   ("spectral-fig03: claim spectral/eq-1.5/specgd | .2f", "allowed: violations, cases, share, worst, units, violated")):
            text = "first\n<!--{%s}-->old<!--/-->\n" % reference
            with self.subTest(reference):
                kept, said = self.renewed(text, exit_code=1)
                self.assertEqual(kept, text)
                self.assertIn("text.md, line 2: '" + reference, said)
                self.assertIn(message, said)
        self.refused("numbers text.md --results nowhere", "no results in nowhere", "--results")

    def test_check_writes_nothing(self):
        text = "<!--{spectral-fig03: 3 | .1f}-->2.0<!--/-->"
        self.write("text.md", text)
        run = self.run_program("numbers text.md --results results --check", exit_code=3)
        self.assertEqual((run.stderr, self.read("text.md")), ("text.md\n", text))


if __name__ == "__main__":
    unittest.main()
