"""The catalog of the papers' statements: its form, what the reference results say of it, and `ranklab papers`."""
import glob
import html
import json
import os
import re
import shutil
import subprocess
import unittest

import jsonschema

from program import BINARY, ROOT, ProgramTest, loads

VERDICTS = {"true", "true-slip-in-proof", "false-as-printed", "no-violation", "consistent", "not-seen", "undecided", "not-judged"}


def document(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return loads(file.read())


def document_text(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as file:
        return file.read()


# In the order in which the program shows them: that of the files' `order`, then by name.
PAPERS = sorted((os.path.basename(path)[:-len(".json")] for path in glob.glob(os.path.join(ROOT, "experiments", "papers", "*.json"))),
                key=lambda paper: (document("experiments", "papers", paper + ".json").get("order", 1000), paper))


def catalog():
    return {paper: document("experiments", "papers", paper + ".json")["statements"] for paper in PAPERS}


def slips_of(statement):
    return ([statement["slip"]] if "slip" in statement else []) + statement.get("more_slips", [])


def reference_claims():
    """(preset, claim) of every reference result, without a preset's own statements."""
    for path in sorted(glob.glob(os.path.join(ROOT, "results", "reference", "*.json"))):
        for claim in document(path)["claims"]:
            if claim["kind"] != "own":
                yield os.path.basename(path)[:-len(".json")], claim


class CatalogTest(unittest.TestCase):
    def test_the_catalog_satisfies_its_schema(self):
        schema = jsonschema.Draft7Validator(document("tests", "papers.schema.json"))
        for paper in PAPERS:
            errors = [f"{list(e.absolute_path)}: {e.message[:200]}" for e in schema.iter_errors(document("experiments", "papers", paper + ".json"))]
            self.assertEqual(errors, [], paper)

    def test_every_claim_is_under_one_statement_and_names_its_slip(self):
        statements = {statement["id"]: statement for paper in catalog().values() for statement in paper}
        for preset, claim in reference_claims():
            with self.subTest(preset=preset, claim=claim["id"]):
                self.assertIn(claim["statement_id"], statements)
                slips = {slip["id"]: slip for slip in slips_of(statements[claim["statement_id"]])}
                if "slip" in claim:
                    self.assertIn(claim["slip"], slips)
                    if slips[claim["slip"]]["where"] == "proof":
                        self.assertEqual(claim["part"], "proof")

    def test_a_claim_that_fails_is_an_accusation_only_with_a_slip(self):
        for preset, claim in reference_claims():
            if claim["verdict"] == "fails" and claim["part"] != "ours" and claim["kind"] == "theorem":
                with self.subTest(preset=preset, claim=claim["id"]):
                    self.assertIn("slip", claim)

    def test_every_statement_has_a_claim_or_a_reason(self):
        judged = {claim["statement_id"] for _, claim in reference_claims() if "judged_in" not in claim and claim["part"] != "ours"}
        for paper in catalog().values():
            for statement in paper:
                with self.subTest(statement["id"]):
                    self.assertNotEqual(statement["id"] in judged, "not_judged" in statement)

    def test_every_slip_shows_in_a_reference(self):
        shown = {claim["slip"] for _, claim in reference_claims() if claim["verdict"] == "fails" and "slip" in claim}
        # Slips of notation leave nothing to compute.
        slips = {slip["id"] for paper in catalog().values() for statement in paper for slip in slips_of(statement) if slip["type"] != "notation"}
        self.assertEqual(slips, shown)

    def test_what_a_statement_uses_exists_and_there_is_no_circle(self):
        uses = {statement["id"]: statement.get("uses", []) for paper in catalog().values() for statement in paper}
        self.assertEqual({used for each in uses.values() for used in each} - set(uses), set())

        def check(statement, path):
            self.assertNotIn(statement, path, "a circle")
            for used in uses[statement]:
                check(used, path + [statement])
        for statement in uses:
            check(statement, [])

    def test_a_later_version_exists_where_it_is_spoken_of_and_notation_is_harmless(self):
        for paper, statements in catalog().items():
            later = document("experiments", "papers", paper + ".json").get("later", [])
            for statement in statements:
                with self.subTest(statement["id"]):
                    self.assertTrue("in_later" not in statement or later)
                    for slip in slips_of(statement):
                        if slip["type"] == "notation":
                            self.assertEqual(slip["consequence"], "harmless")
                        else:  # a counterexample takes lines
                            self.assertGreaterEqual(len(slip["derivation"]), 3)

    def test_every_claim_is_on_the_page(self):
        page = document_text("results", "reference", "report.html")
        sections = dict(re.findall(r'<section class="result" id="([^"]+)"(.*?)</section>', page, re.DOTALL))
        rows = {preset: set(map(html.unescape, re.findall("<code>([^<]*)</code>", text.replace("<wbr>", "")))) for preset, text in sections.items()}
        applies = {claim["id"] for _, claim in reference_claims() if claim["verdict"] != "not-applicable" or claim.get("undecided")}
        for preset, claim in reference_claims():
            if "judged_in" in claim:  # on the page of that preset
                continue
            shown = claim["id"] not in applies or claim["verdict"] != "not-applicable" or claim.get("undecided", False)
            with self.subTest(preset=preset, claim=claim["id"]):
                self.assertEqual(claim["id"] in rows[preset], shown)  # otherwise the page says which results it applies to

    def test_every_picture_is_on_the_page_of_its_paper_at_a_statement(self):
        placed = [preset for statements in catalog().values() for statement in statements for preset in statement.get("pictures", [])]
        pictures = {os.path.basename(path)[:-len(".svg")] for path in glob.glob(os.path.join(ROOT, "results", "reference", "*.svg"))}
        self.assertEqual(sorted(placed), sorted(name for name in pictures if not re.search(r"\.\d+$", name) or name in placed))
        for paper, statements in catalog().items():
            page = document_text("results", f"{paper}.md")
            shown = re.findall(r'<img src="reference/(\S+)\.svg"', page)
            own = [name for name in pictures if any(re.fullmatch(re.escape(preset) + r"(\.\d+)?", name)
                                                    for statement in statements for preset in statement.get("pictures", []))]
            self.assertEqual(sorted(shown), sorted(own))
            self.assertNotIn("Further results", page)
            # In the paper's order, each with what it says, its verdict and its slips.
            blocks = re.split(r"^## ", page, flags=re.MULTILINE)[1:]
            self.assertEqual([re.match(r'<a id="([^"]*)"></a>', block)[1] for block in blocks], [each["id"] for each in statements])
            for block, statement in zip(blocks, statements):
                with self.subTest(statement["id"]):
                    self.assertRegex(block, r"(?m)^[✓✗≈△?○] \*\*")
                    slips = [slip for slip in slips_of(statement) if slip["type"] != "notation"]
                    self.assertEqual(block.count("\n* *Slip, "), len(slips))
                    self.assertEqual(block.count("\n* *Notation.* "), len(slips_of(statement)) > len(slips))
                    self.assertEqual("Why it is true" in block, "proof" in statement)
                    # No sign of a formula begins emphasis, or strikes words through.
                    plain = re.sub(r"\*\*[^*]+\*\*|\*(Slip, [a-z ]+\.|Notation\.|The authors:|Hypotheses:)\*|^\* |`[^`]*`", "", block, flags=re.MULTILINE)
                    self.assertNotRegex(plain, r"[*~`$]")
                    self.assertEqual(re.findall(r'^<a id="([^"]*)"></a><a href', block, re.MULTILINE), statement.get("pictures", []))

    def test_the_index_has_every_statement_once(self):
        rows = re.findall(r"^\| \[.*\]\(([\w-]+)\.md#(\S+)\) \| \S+ \*\*.*\*\* \|$", document_text("results", "statements.md"), re.MULTILINE)
        self.assertEqual(rows, [(paper, statement["id"]) for paper, statements in catalog().items() for statement in statements])

    def test_a_link_leads_to_every_statement_and_claim(self):
        page = document_text("results", "reference", "report.html")
        ids = set(map(html.unescape, re.findall(r' id="([^"]*)"', page)))
        statements = {statement["id"] for paper in catalog().values() for statement in paper}
        self.assertEqual(statements - ids, set())
        self.assertEqual({claim["id"] for _, claim in reference_claims() if "judged_in" not in claim} - ids, set())
        # A claim of several results leads to one in which it is decided.
        result = {place: preset for preset, text in re.findall(r'<section class="result" id="([^"]+)"(.*?)</section>', page, re.DOTALL)
                  for place in re.findall(r'<tbody id="([^"]*)"', text)}
        self.assertEqual(result["spectral/cor-2.15/init"], "spectral-gpt")
        self.assertEqual(result["spectral/eq-1.5/two-sided"], "spectral-fig03")
        self.assertEqual(result["spectral-fig11/spectral/eq-1.5/two-sided"], "spectral-fig11")
        self.assertNotIn("muon-blocks/spectral/cor-2.15/init", ids)


class OtherSizesTest(ProgramTest):
    def test_other_sizes_accuse_nobody(self):
        """Exponents over few sizes may miss our slack. What fails must be a slip of the catalog, derived by hand."""
        for sizes in ("32,48,64,96,128", "64,96,128,192,256"):
            claims = self.result(f"run spectral-thm3.7 --k {sizes} --trials 3")["claims"]
            self.assertGreater(len(claims), 90)
            accused = [claim["id"] for claim in claims if claim["verdict"] == "fails" and claim["part"] != "ours"
                       and claim["kind"] != "asymptotic" and "slip" not in claim]
            self.assertEqual(accused, [])


class PapersCommandTest(ProgramTest):
    def papers(self, arguments, **kw):
        return self.run_program(["papers", *arguments, "--results", os.path.join(ROOT, "results", "reference")], **kw)

    def test_a_statement_has_several_names(self):
        shown = self.run_program(["papers", "spectral", "Figure 15"]).stdout
        for name in ("fig-15", "spectral/fig-15a/nr-0-bounded", "fig-15a/nr-0-bounded"):
            self.assertEqual(self.run_program(["papers", "spectral", name]).stdout, shown, name)
        for name, whole in (("3.11", "Theorem 3.11"), ("eq. (1.5)", "Section 1.2, eq. (1.5)")):
            self.assertIn(whole, self.run_program(["papers", "spectral", name]).stdout.splitlines()[0])
        self.refused(["papers", "spectral", "Section 1.2"], "'Section 1.2' names ", " statements: Section 1.2, eq.")
        self.refused(["papers", "Theorem 4.1"], "the paper comes first, as in `", "papers spectral \"Theorem 4.1\"`")

    def test_a_judged_statement_names_the_lines_of_the_code_that_name_it(self):
        sources = {}
        for statement in [each for paper in loads(self.papers(["--json"]).stdout) for each in paper["statements"]]:
            with self.subTest(statement["id"]):
                self.assertTrue(statement["judged_at"] or not statement["claims"])
                paper, name = statement["id"].split("/", 1)
                constant = paper.replace("-", "_") + "::" + re.sub(r"[./-]", "_", name)
                for path, line in (place.split(":") for place in statement["judged_at"]):
                    if path not in sources:
                        with open(os.path.join(ROOT, path), encoding="utf-8") as file:
                            sources[path] = file.read().splitlines()
                    self.assertRegex(sources[path][int(line) - 1], rf"\b{constant}\b")
        text = self.papers(["spectral", "Theorem 3.7"]).stdout
        self.assertRegex(" ".join(text.split()), r"In the code: src/experiments/spike_plus_bulk/features/theorem_3_7\.cpp:\d+")
        self.assertNotIn("In the code:", self.papers(["spectral", "Table 1"]).stdout)

    def test_json_has_every_statement_in_the_papers_order(self):
        for paper, statements in catalog().items():
            found = loads(self.papers([paper, "--json"]).stdout)
            self.assertEqual([each["id"] for each in found["statements"]], [each["id"] for each in statements])
            for each in found["statements"]:
                self.assertIn(each["verdict"], VERDICTS)
                self.assertEqual(bool(each["claims"]), bool(each["presets"]))
        self.assertEqual([each["paper"] for each in loads(self.papers(["--json"]).stdout)],
                         [document("experiments", "papers", paper + ".json")["paper"] for paper in PAPERS])

    def test_verdicts_follow_the_slips(self):
        for paper, statements in catalog().items():
            found = loads(self.papers([paper, "--json"]).stdout)["statements"]
            for statement, judged in zip(statements, found):
                with self.subTest(statement["id"]):
                    in_statement = [slip for slip in slips_of(statement) if slip["where"] == "statement" and slip["type"] != "notation"]
                    self.assertEqual(judged["verdict"] == "false-as-printed", judged["class"] is not None)
                    if judged["verdict"] == "false-as-printed":
                        self.assertIn(judged["class"], {slip["type"] for slip in in_statement})
                    if judged["verdict"] in ("true", "true-slip-in-proof"):
                        self.assertIn("proof", statement)
                    self.assertEqual(len(judged["claims"]), len(set(judged["claims"])))
                    if judged["verdict"] == "true-slip-in-proof":
                        self.assertTrue([slip for slip in slips_of(statement) if slip["where"] == "proof"])

    def test_a_statement_is_found_by_name_and_id_and_shown_with_its_derivation(self):
        slip = slips_of(next(each for each in catalog()["spectral"] if each["id"] == "spectral/thm-3.7"))[0]
        by_name = self.papers(["spectral", "Theorem 3.7"]).stdout
        for words in (["spectral", "theorem", "3.7"], ["spectral", "Thm. 3.7"], ["[Spectral]", "thm-3.7"], ["Spectral", "spectral/thm-3.7"]):
            self.assertEqual(self.papers(words).stdout, by_name)
        flat = " ".join(by_name.split())
        self.assertIn("Verdict: false as printed", flat)
        self.assertIn(" ".join(slip["derivation"][0].split()), flat)
        self.assertEqual(loads(self.papers(["spectral", "Theorem 3.7", "--json"]).stdout)["verdict"], "false-as-printed")

    def test_a_numbered_statement_is_found_without_its_equation(self):
        for paper, words, statement in (("shallow", "Theorem 2.6", "thm-2.6"), ("spectral", "lemma 2.12", "lemma-2.12"), ("spectral", "eq. (1.1)", "eq-1.1")):
            self.assertEqual(loads(self.papers([paper, words, "--json"]).stdout)["id"], f"{paper}/{statement}")

    def test_mistakes_are_named(self):
        for words, message in ((["spectrl"], "did you mean 'spectral'?"), (["s"], "allowed: spectral, lambda-skip, shallow"),
                               (["spectral", "Theorem 3"], " names begin so: Theorem 3.2, "), (["spectral", "thm-3"], " names begin so: thm-3.2, "),
                               (["spectral", "Theorem 3.77"], "did you mean 'Theorem 3.7'?"),
                               (["spectral", "x" * 50], "`ranklab papers spectral` lists them"), (["--out", "a.html"], "must end in .md"),
                               (["spectral", "Theorem 3.7", "--out", "a.md"], "--out writes the page of a paper")):
            run = self.papers(words, exit_code=2)
            self.assertIn(message, re.sub(r"`\S*ranklab ", "`ranklab ", run.stderr))
            self.assertEqual(run.stdout, "")

    def test_the_published_verdicts_are_part_of_the_program(self):
        """In a folder without results: each statement has the claims that the files of results/reference have for it."""
        of = {}
        for preset, claim in sorted(reference_claims(), key=lambda each: each[0]):
            if "judged_in" not in claim:
                of.setdefault(claim["statement_id"], []).append((claim["id"], preset))
        for paper in loads(self.run_program("papers --json").stdout):
            for statement in paper["statements"]:
                found = of.get(statement["id"], [])
                self.assertEqual(statement["claims"], list(dict.fromkeys(claim for claim, _ in found)))
                self.assertEqual(statement["presets"], list(dict.fromkeys(preset for _, preset in found)))
        self.assertEqual(self.run_program("papers --json").stdout, self.papers(["--json"]).stdout)
        text = self.run_program(["papers", "spectral", "Theorem 3.7"]).stdout
        self.assertIn("Published verdicts of ranklab ", text)
        self.assertEqual(text.split("Published verdicts")[0], self.papers(["spectral", "Theorem 3.7"]).stdout)

    def test_a_folder_without_results_is_refused(self):
        for arguments, folder in (("papers --results nowhere", "nowhere"), ("papers spectral --out page.md", "results/reference")):
            self.refused(arguments, f"no results in {folder}", "--results")

    def test_every_document_names_the_version_of_the_papers_that_the_catalog_has(self):
        for paper in PAPERS:
            catalog = document("experiments", "papers", paper + ".json")
            for path in (("README.md",), ("CITATION.cff",), ("results", "README.md"), ("results", "statements.md")):
                with self.subTest(paper=paper, path=path):
                    found = set(re.findall(re.escape(catalog["arxiv"]) + r"(?:v\d+)?", document_text(*path)))
                    self.assertLessEqual(found, {catalog["arxiv"] + catalog["version"]})

    def test_the_readme_counts_the_numbered_statements(self):
        """ "Of 69 numbered statements, ... are true as printed, ..., 9 by a typo or a wrong constant, ..." """
        statements = [each for paper in loads(self.papers(["--json"]).stdout) for each in paper["statements"]
                      if each["type"] in ("theorem", "lemma", "proposition", "corollary", "remark")]
        count = lambda *verdicts: sum(each["verdict"] in verdicts for each in statements)
        by_class = lambda name: sum(each["class"] == name for each in statements)
        text = " ".join(re.sub(r"<!--.*?-->", "", document_text("README.md")).split())
        self.assertIn(f"Of {len(statements)} numbered statements, {count('true')} are true as printed and {count('true-slip-in-proof')} with a slip in the proof", text)
        self.assertIn(f"{count('consistent')} are consistent at the sizes run, and {count('false-as-printed')} are false as printed ({by_class('constant')} by a typo or "
                      f"constant, {by_class('condition')} by a missing condition, {by_class('error')} by an error)", text)
        rows = re.findall(r"^\| all, (\d+) \|(.*)\|$", document_text("results", "statements.md"), re.MULTILINE)
        self.assertEqual(int(rows[0][0]), len(statements))
        self.assertEqual(sum(int(cell) for cell in rows[0][1].split("|") if cell.strip()), len(statements))

    def test_errata_are_the_slips_by_consequence(self):
        for paper, statements in catalog().items():
            slips = [slip for statement in statements for slip in slips_of(statement)]
            found = loads(self.papers([paper, "--errata", "--json"]).stdout)
            fields = ("id", "consequence", "place", "printed", "corrected", "derivation")
            self.assertEqual([[slip[field] for field in fields] for slip in found["slips"]], [[slip[field] for field in fields] for slip in slips])
            sections = re.split(r"^(?=\S.*:$)", self.papers([paper, "--errata"]).stdout, flags=re.MULTILINE)
            shown = {section.split(":\n")[0]: section.count("\n    printed: ") for section in sections if "\n    printed: " in section}
            words = {"conclusion": "Changes a conclusion", "range": "Changes a range", "constant": "Changes a constant", "harmless": "Harmless"}
            self.assertEqual(list(shown.items()), [(words[name], count) for name in words
                                                   if (count := sum(slip["consequence"] == name for slip in slips))])
        for words in (["--errata"], ["spectral", "Theorem 3.7", "--errata"], ["spectral", "--errata", "--out", "x.md"]):
            self.assertIn("--errata lists the slips of one paper", self.papers(words, exit_code=2).stderr)

    def test_pages_and_commands_say_which_version_was_read(self):
        for paper in PAPERS:
            entry = document("experiments", "papers", paper + ".json")
            for later in entry.get("later", []):
                words = f"{later['version']} of {later['date']} exists and was not read"
                for text in (document_text("results", f"{paper}.md"), document_text("results", "statements.md"), self.papers([paper]).stdout,
                             document_text("results", "reference", "report.html")):
                    self.assertIn(words, " ".join(text.split()))

    def test_the_page_and_the_command_give_the_same_evidence(self):
        for paper in PAPERS:
            page = re.split(r"^## ", document_text("results", f"{paper}.md"), flags=re.MULTILINE)[1:]
            digits = lambda text: re.findall(r"\d+", text)
            for block, statement in zip(page, loads(self.papers([paper, "--json"]).stdout)["statements"]):
                line = next(line for line in block.splitlines() if re.match(r"[✓✗≈△?○] \*\*", line))
                plain = html.unescape(re.sub(r"<[^>]*>|\\", "", line))
                with self.subTest(statement["id"]):
                    wanted = digits(statement["words"] + statement["evidence"])
                    # 1e-06 is typeset as a power of ten.
                    self.assertEqual([each for each in wanted if each not in digits(plain) and each.lstrip("0") not in digits(plain)], [])


if __name__ == "__main__":
    unittest.main()
