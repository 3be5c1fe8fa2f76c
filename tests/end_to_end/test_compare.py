"""compare: shows two results side by side; export: writes tidy CSV."""
import csv
import io
import json
import unittest

from program import TINY, ProgramTest


class CompareTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.document = self.result(TINY, name="a.json")

    def changed(self, change):
        document = json.loads(json.dumps(self.document))
        change(document)
        self.write("b.json", document)

    def test_equal_results_are_reported_as_equal(self):
        self.changed(lambda d: None)
        run = self.run_program("compare a.json b.json")
        self.assertIn("bit for bit equal", run.stdout)
        for name in list(self.document["scalars"]) + [c["id"] for c in self.document["claims"]] + [s["name"] for s in self.document["series"]]:
            self.assertIn(name, run.stdout)
        self.assertNotIn("differs", run.stdout)

    def test_a_changed_verdict_or_scalar_fails_and_a_changed_series_is_only_reported(self):
        claim = self.document["claims"][0]
        self.changed(lambda d: d["claims"][0].update({"verdict": "fails" if claim["verdict"] == "holds" else "holds"}))
        self.assertRegex(self.run_program("compare a.json b.json", 1).stdout, rf"(?m)^{claim['id']} .* differs$")
        self.changed(lambda d: d["scalars"]["stable_rank_A"].update({"mean": 99.0}))
        self.assertRegex(self.run_program("compare a.json b.json", 1).stdout, r"(?m)^stable_rank_A .* 99 .* differs$")
        self.changed(lambda d: d["series"][0]["mean"].__setitem__(3, 1e9))
        self.assertRegex(self.run_program("compare a.json b.json").stdout, rf"(?m)^{self.document['series'][0]['name']} .* differs at 1 of 21 points; at ")

    def test_a_missing_scalar_is_reported(self):
        self.changed(lambda d: d["scalars"].pop("stable_rank_A"))
        self.assertRegex(self.run_program("compare a.json b.json", 1).stdout, r"(?m)^stable_rank_A .* missing in B$")
        self.assertRegex(self.run_program("compare b.json a.json", 1).stdout, r"(?m)^stable_rank_A .* missing in A$")

    def test_one_trial_has_no_error_bars(self):
        self.result(f"{TINY} --trials 1", name="a.json")
        self.result(f"{TINY} --trials 1 --seed 2", name="b.json")
        self.assertIn("1 trial: no error bars", self.run_program("compare a.json b.json", 1).stdout)

    def test_bad_input(self):
        self.refused("compare a.json", "two result files")
        self.refused("compare a.json none.json", "none.json", exit_code=1)
        self.changed(lambda d: d["series"][0].pop("std"))
        self.refused("compare a.json b.json", "b.json: series[0].std: is missing", exit_code=1)
        for key, value in (("environment", None), ("config", [1])):
            self.changed(lambda d: d.update({key: value}))
            for command in ("compare a.json b.json", "verify b.json", "export a.json b.json", "report b.json", "plot b.json"):
                self.refused(command, f"b.json: {key}: must be an object", exit_code=1)


class ExportTest(ProgramTest):
    def rows(self, arguments):
        return list(csv.DictReader(io.StringIO(self.run_program(f"export out.json {arguments}").stdout)))

    def test_every_number_is_in_its_table(self):
        document = self.result(TINY)
        number = lambda text: float(text) if text else None
        at = lambda of: "; ".join(f"{axis}={place:g}" if isinstance(place, float) else f"{axis}={place}" for axis, place in of.get("at", {}).items())
        scalars = {row["name"]: tuple(number(row[key]) for key in ("mean", "std", "n")) + (row["quantity"], row["at"]) for row in self.rows("")}
        self.assertEqual(scalars, {name: (s["mean"], s["std"], s["n"], s["quantity"], at(s)) for name, s in document["scalars"].items()})
        self.assertIn("run=gd", {row["at"] for row in self.rows("--what series")})
        points = [(row["name"], number(row["x"]), number(row["mean"]), number(row["std"])) for row in self.rows("--what series")]
        self.assertEqual(points, [(s["name"], x, m, d) for s in document["series"] for x, m, d in zip(s["x"], s["mean"], s["std"])])
        values = {}
        for row in self.rows("--what trials"):
            self.assertEqual(int(row["trial"]), len(values.setdefault(row["name"], [])))
            values[row["name"]].append(number(row["value"]))
        self.assertEqual(values, document["trial_values"])
        claims = [(row["id"], row["statement"], row["verdict"], row["detail"]) for row in self.rows("--what claims")]
        self.assertEqual(claims, [(c["id"], c["statement"], c["verdict"], c["detail"]) for c in document["claims"]])

    def test_a_file_instead_of_standard_output(self):
        self.result(TINY)
        text = self.run_program("export out.json --what series").stdout
        self.assertEqual(self.run_program("export out.json --what series -o a/series.csv").stdout, "")
        self.assertEqual(self.read("a/series.csv"), text)

    def test_bad_input(self):
        self.refused("export", "none given")
        document = self.result(TINY)
        self.refused("export out.json --what serie", "--what", "'series'")
        self.refused(["export", "out.json", "--out", ""], "--out", "''")
        del document["series"][0]["mean"]
        self.write("out.json", document)
        self.refused("export out.json --what series", "out.json", exit_code=1)


if __name__ == "__main__":
    unittest.main()
