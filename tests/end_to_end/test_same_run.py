"""A result in several files counts once: another name, and the copy that `judge --out` wrote."""
import os
import shutil
import unittest

from program import ROOT, TINY, ProgramTest, loads


class SameRunTest(ProgramTest):
    def setUp(self):
        super().setUp()
        os.mkdir(self.path("r"))

    def copy(self, name, change=lambda result: None):
        result = loads(self.read("r/b.json"))
        change(result)
        self.write(f"r/{name}.json", result)

    def test_papers_counts_a_copy_once(self):
        shutil.copy(os.path.join(ROOT, "results", "reference", "spectral-fig03.json"), self.path("r/b.json"))
        once = self.run_program("papers spectral --results r").stdout
        cases = sum(claim["evidence"]["cases"] for claim in loads(self.read("r/b.json"))["claims"]
                    if (claim["statement_id"], claim["part"]) == ("spectral/eq-1.4", "statement"))
        self.assertTrue(f"0 violations in {cases:,.0f} cases" in once)
        self.copy("c")
        self.copy("d", lambda result: result["claims"].pop())
        run = self.run_program("papers spectral --results r")
        self.assertEqual(run.stdout, once)
        self.assertEqual(run.stderr, "ranklab: r/b.json, r/c.json and r/d.json are the same run; counted once (r/b.json)\n")
        self.copy("e", lambda result: result["environment"].update(program="another"))
        run = self.run_program("papers spectral --results r")
        self.assertTrue(f"0 violations in {2 * cases:,.0f} cases" in run.stdout)
        self.assertNotIn("e.json", run.stderr)

    def test_the_page_has_a_run_once_and_says_so(self):
        self.run_program(f"{TINY} -q --out r/b.json --keep-trials")
        self.run_program(["judge", "r/b.json", "--claim", "gd.nuclear_rank >= 0", "--out", "r/a&b.json"])
        line = "r/a&b.json and r/b.json are the same run; counted once (r/a&b.json)"
        run = self.run_program("report r --out page.html")
        self.assertEqual(run.stderr, f"{line}\npage.html\n")
        page = self.read("page.html")
        self.assertIn("1 result:", page)
        self.assertIn(f"<p>{line.replace('&', '&amp;')}</p>", page)
        self.assertIn("mine/1", page)
        self.assertEqual(self.run_program("report r --out page.html --quiet").stderr, "")
        self.assertIn(line, self.run_program("report r --out page.md").stderr)

    def test_an_interrupted_run_is_not_the_finished_one(self):
        self.run_program(f"{TINY} -q --out r/b.json")
        self.copy("c", lambda result: result.update(status="interrupted", trials={"requested": 3, "completed": 2}))
        self.assertEqual(self.run_program("report r --out page.html").stderr, "page.html\n")


if __name__ == "__main__":
    unittest.main()
