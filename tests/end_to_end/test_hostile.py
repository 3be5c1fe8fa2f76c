"""Every study with extreme values of its flags, and every command that reads results with a result that a stranger wrote.

Flags: the values come from the domains that `--help` prints: the least, the greatest, and values near underflow and overflow. A run must end in
time, with a result or with one line of our own words. A result must count its undefined values, and no verdict may rest on one. `make test`
runs a fixed sample of them. With HOSTILE=full it runs all values of each study's flags, and a sample for the other runs of the study.
"""
import concurrent.futures
import copy
import csv
import html.parser
import os
import re
import subprocess
import sys
import tempfile
import time
import unittest
import xml.etree.ElementTree
import zlib

from program import BINARY, ROOT, ProgramTest, loads
from stored_tensors import write_pairs
from test_files import GRADIENT, SPIKED
from test_smoke import RUNS

FULL = os.environ.get("HOSTILE") == "full"
SAMPLE = 20  # values of each further run of a study
MOST_BYTES, MOST_SECONDS, MOST_SECONDS_IF_LARGE = 2e8, 60, 2
REALS = [0.0, 5e-324, 1e-300, 1e-160, 1e-8, 1e160, 1e300, sys.float_info.max]
TEXTS = ["0", "1e-300", "1e300", "-1", "-1e300"]
FLAGS_OF_EVERY_STUDY = ("seed", "trials", "blas-threads")
# Words of libraries and of the language, which no user can act on.
FOREIGN = re.compile(r"std::|json\.exception|basic_string|vector::|Mat::|arma|lapack|bad_alloc|terminate|stoi|stod|filesystem", re.I)
NO_NUMBER = re.compile(r"(?<![A-Za-z_])(nan|inf)(?![A-Za-z_])", re.I)


def help_of(*words):
    return subprocess.run([BINARY, *words, "--help"], capture_output=True, text=True, check=True).stdout


def study_of(arguments):
    """Command and study of a command line: "rank-collapse --study eta"."""
    words = arguments.split()
    if "--study" in words:
        return f"{words[0]} --study {words[words.index('--study') + 1]}"
    first = re.search(r"^Flags of --study (\S+)", help_of(words[0]), flags=re.M).group(1)
    return f"{words[0]} --study {first}"


def flags_of(study):
    """The domain of each flag as `--help` prints it, by name."""
    sections = re.split(r"^(Flags of .*):$", help_of(*study.split()), flags=re.M)
    domains = {}
    for title, body in zip(sections[1::2], sections[2::2]):
        for entry in re.split(r"^  (?:-\w, )?(?=--)", body.split("\n\n")[0], flags=re.M)[1:]:
            name, help_text = re.match(r"--(\S+)\s+(.*)", " ".join(entry.split())).groups()
            domain = re.search(r"\(([^()]*)\)(?: \[[^\]]*\])?$", help_text)
            shared = "every experiment" in title
            if domain and (name in FLAGS_OF_EVERY_STUDY) == shared:
                domains[name] = domain.group(1)
    return domains


def values_in(domain):
    """Extreme values of a domain, as the flag takes them."""
    if "unsigned 64-bit" in domain:
        return ["0", str(2**64 - 1)]
    integer = re.search(r"integer from (\d+) to (\d+)", domain)
    if integer:
        low, high = map(int, integer.groups())
        return sorted({str(v) for v in (low, low + 1, low + 2, high) if v <= high}, key=int)
    real = re.search(r"finite number (from|above) (\S+)(?: to (\S+))?", domain)
    if real:
        low, high = float(real.group(2)), float(real.group(3) or sys.float_info.max)
        inside = {v for v in REALS + [-v for v in REALS] + [low, high] if low <= v <= high and (v > low or real.group(1) == "from")}
        return [repr(v) for v in sorted(inside)]
    if "|" in domain:
        return domain.split(" ")[-1].split("|")
    return TEXTS if domain.endswith("text") else []


def may_be_large(arguments):
    """Whether the last flag may make a run expensive: a number above 1, or small patches, of which there are many."""
    flag, _, value = arguments.rpartition("=")
    try:
        return float(value) > 1 or flag.endswith("--patch")
    except ValueError:
        return False


def cases_of(arguments, domains):
    words = arguments.split()
    trials = int(words[words.index("--trials") + 1]) if "--trials" in words else 3
    base = arguments + f" --trials {max(3, trials)}"
    yield base + "".join(f" --{name}={values_in(domain)[0]}" for name, domain in domains.items() if "integer from" in domain and name != "trials")
    for name, domain in domains.items():
        for value in values_in(domain):
            yield f"{base} --{name}={value}"


def strings_in(node):
    if isinstance(node, str):
        yield node
    elif isinstance(node, (list, dict)):
        for item in node.values() if isinstance(node, dict) else node:
            yield from strings_in(item)


def nulls_in(node):
    if node is None:
        return 1
    items = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    return sum(map(nulls_in, items))


def problems_of_failure(run):
    # The cases give flags twice.
    lines = [line for line in run.stderr.splitlines() if not re.fullmatch(r"ranklab: --\S+ is given twice \(.*\); the last value counts", line)]
    if run.returncode not in (1, 2) or len(lines) != 1 or not lines[0].startswith("ranklab: "):
        yield f"exit {run.returncode}: {run.stderr[-300:]}"
    elif len(lines[0]) > 1000:
        yield f"a message of {len(lines[0])} characters"
    elif FOREIGN.search(lines[0]) or NO_NUMBER.search(lines[0]):
        yield lines[0]


def problems_of_claim(claim):
    evidence = claim["evidence"]
    if claim["verdict"] not in ("holds", "fails"):
        return
    numbers = {"mean": ("mean", "low", "high"), "equivalence": ("mean", "low", "high"), "number": ("value",), "count": ("cases", "violations")}
    if claim["measured"] is None or any(evidence[key] is None for key in numbers.get(evidence["type"], ())) or evidence["type"] == "none":
        yield f"{claim['id']} {claim['verdict']} without a finite number: {claim['detail'][:200]}"
    if evidence["type"] == "count" and not evidence["cases"] > 0:
        yield f"{claim['id']} {claim['verdict']} without a case"


def problems_of_result(document, stderr):
    counted = sum(nulls_in(document[key]) for key in ("scalars", "trial_values", "series"))
    if document["non_finite"] != counted:
        yield f"non_finite is {document['non_finite']}, but there are {counted} nulls"
    for claim in document["claims"]:
        yield from problems_of_claim(claim)
    shown = {key: value for key, value in document.items() if key not in ("config", "environment", "changed")}
    for text in list(strings_in(shown)) + stderr.splitlines():
        if NO_NUMBER.search(text):
            yield f"not a number in words: {text[:200]}"


def check(arguments, check_schema):
    """Runs one case in a folder of its own. Returns (how it ended, problems); `how` is skipped, refused, failed or done."""
    with tempfile.TemporaryDirectory() as folder:
        large = may_be_large(arguments)

        def run(*more):
            return subprocess.run([BINARY, *arguments.split(), *more], capture_output=True, text=True, cwd=folder,
                                  timeout=MOST_SECONDS_IF_LARGE if large else MOST_SECONDS,
                                  stdin=subprocess.DEVNULL, errors="replace", env=dict(os.environ, OPENBLAS_NUM_THREADS="1"))
        try:
            if large:
                plan = run("--dry-run")
                if plan.returncode != 0:
                    return "refused", list(problems_of_failure(plan))
                if loads(plan.stdout)["estimate"]["memory_bytes"] > MOST_BYTES:
                    return "skipped", []
            done = run("--out", "out.json", "--progress", "never", "--threads", "1")
        except subprocess.TimeoutExpired:
            return ("skipped", []) if large else ("failed", [f"takes more than {MOST_SECONDS} s"])
        except ValueError as error:
            return "failed", [f"--dry-run: {error}"]
        written = os.path.join(folder, "out.json")
        if done.returncode != 0:
            return "refused" if done.returncode == 2 else "failed", list(problems_of_failure(done)) + (["wrote a result"] if os.path.exists(written) else [])
        try:
            with open(written, encoding="utf-8") as file:
                document = loads(file.read())
            check_schema(document)
        except (ValueError, AssertionError) as error:
            return "done", [str(error)[:500]]
        problems = list(problems_of_result(document, done.stderr))
        if document["non_finite"] > 0:
            problems += problems_of_picture(folder)
        return "done", problems


def problems_of_picture(folder):
    run = subprocess.run([BINARY, "plot", "out.json", "--out", "out.svg", "--quiet"], capture_output=True, text=True, cwd=folder, errors="replace",
                         timeout=MOST_SECONDS)
    if run.returncode != 0:
        return list(problems_of_failure(run))
    with open(os.path.join(folder, "out.svg"), encoding="utf-8") as file:
        words = re.findall(r">([^<>]+)<", file.read())
    return [f"in the picture: {text[:200]}" for text in words if NO_NUMBER.search(text)]


class HostileTest(ProgramTest):
    def cases(self):
        domains = {}
        for arguments in RUNS.values():
            study = study_of(arguments)
            seen = study in domains
            if not seen:
                domains[study] = flags_of(study)
            cases = sorted(cases_of(arguments, domains[study]), key=lambda case: zlib.crc32(case.encode()))
            if FULL:
                yield from cases[:SAMPLE] if seen else cases
            elif not seen:
                yield cases[0]

    def test_extreme_values_end_in_a_result_or_in_one_line(self):
        cases = list(dict.fromkeys(self.cases()))
        ends = {}
        start = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(2 if FULL else 1) as pool:
            for arguments, (how, problems) in zip(cases, pool.map(lambda case: check(case, self.check_schema), cases)):
                ends[how] = ends.get(how, 0) + 1
                with self.subTest(f"ranklab {arguments}"):
                    self.assertEqual(problems, [])
        if FULL:
            print(f"{len(cases)} runs in {time.monotonic() - start:.0f} s: {ends}")
        self.assertGreater(ends.get("done", 0), len(cases) // 4)


# What a stranger may write into a result. The end makes what it is put in front of a part of a link or a paragraph of its own.
PAYLOADS = {
    "markup": "<b onclick=alert(1)>\"'></title></td></text></svg></style><script>alert(1)</script>&<a href=https://evil.example>",
    "escapes": "\x1b[31m\x1b]0;title\x07\x9b2J\x00\r\x08",
    "markdown": "# [x](javascript:alert(1)) ![y](https://evil.example/y.svg) `code` www.evil.example $x$ ~~y~~ |\n\n# head\n\n[z]: javascript:alert(1)\n\n"
                "1. one\n\n> quote\n\n```\n\n[x](",
    "directions": "\u202e\u2066\u200b\u200f\ufeff\u2028\u2029",
    "formula": "=1+1",
}
INVISIBLE = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")
# Words of a fixed list, and the two names by which a result belongs to a paper.
FIXED = {"schema", "status", "part", "kind", "verdict", "type", "scale", "style", "band", "statement_id", "paper"}
PARTS = ("scalars", "series", "trials", "claims")
PARTS_WITH = {"scalars": ("scalars", "trials"), "config": ("scalars",), **{part: (part,) for part in ("series", "claims")}}


def reference(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as file:
        return loads(file.read())


def rich_result():
    """A result of a study with everything that a result can have, from several results."""
    result, measured, shallow = (reference(name) for name in ("results/reference/spectral-fig12.json", "tests/golden/ranks.json",
                                                             "results/reference/shallow-fig08.json"))
    claims = {claim["id"]: claim for claim in result["claims"] + shallow["claims"]}
    result["claims"] = [claims["spectral/" + name] for name in ("fig-12/gelu/as-printed", "fig-12/gelu/corrected", "thm-2.6/abs/dense", "eq-2.15/zipf",
                                                                "eq-2.15/zipf/sampled")] + [claims["shallow/fig-8a"]]
    result["claims"][3]["holm_undecided"] = True
    for more in ({"id": "spectral/none", "verdict": "not-applicable", "evidence": {"type": "none"}, "measured": None},
                 {"id": "spectral/elsewhere", "verdict": "fails", "judged_in": "spectral-fig03"}):
        result["claims"].append(dict(claims["spectral/lemma-2.9"], **more))
    result["table"] = measured["table"]
    panel = result["figure"]["panels"][0]
    panel["bands"], panel["x"]["ticks"] = [{"x_low": 1, "x_high": 2, "label": "a band"}], ["one", "two", "three", "four", "five"]
    result["more_figures"] = [dict(measured["figure"], title="Bars")]
    result["series"] += measured["series"]
    for name in ("d", "e", "f"):
        result["scalars"][name], result["trial_values"][name] = {"mean": 0.5, "std": 0.5, "n": 2}, [0.0, 1.0]
    result.update(status="diverged", trials={"requested": 10, "completed": 10, "unit": "input"}, failed_gates=["nr/st"])
    result["diverged"] = [{"method": "gd", "trials": 5}]
    result["skipped"] = [{"name": "layer", "reason": "no gradient"}]
    result["changed"] = [{"name": "trials", "preset": 12, "run": 10}, {"name": "activation", "preset": "abs", "run": "relu"}]
    result["finding"] = {"claim": "spectral/elsewhere", "panel": 1, "sentence": "GELU's alpha is too large.", "verdict": "fails"}
    return result


def fields_of(node, path=()):
    """The paths of the strings and of the names in a document; of a list, only those of the first item that has them."""
    items = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, item in items:
        if isinstance(item, str):
            yield (*path, key)
        if path in (("config",), ("environment",), ("scalars",)):
            yield (*path, key, None)
        yield from fields_of(item, (*path, key))


def one_of_each(paths):
    seen = {}
    for path in paths:
        is_name = path[-1] is None
        seen.setdefault((*(("*" if isinstance(key, int) else key) for key in path[:1 if is_name else None]), is_name), path)
    return seen.values()


def with_field(document, path, text):
    """A copy in which the text stands in front of a field, or of a name."""
    out = copy.deepcopy(document)
    if path[-1] is None:
        for holder in (out[path[0]], *([out["trial_values"]] if path[0] == "scalars" else [])):
            holder[text + path[1]] = holder.pop(path[1])
        return out
    node = out
    for key in path[:-1]:
        node = node[key]
    node[path[-1]] = text + node[path[-1]]
    return out


def with_all_fields(node, text, key=None, names=False):
    """A copy in which the text stands in front of every field and every name; what refers to a name still does."""
    if isinstance(node, dict):
        return {(text if names else "") + name: with_all_fields(item, text, name, name in ("config", "environment", "scalars", "trial_values"))
                for name, item in node.items()}
    if isinstance(node, list):
        return [with_all_fields(item, text, key) for item in node]
    is_fixed = key in FIXED or (key == "unit" and node in ("seed", "draw", "none"))
    return node if is_fixed or not isinstance(node, str) else text + node


class Elements(html.parser.HTMLParser):
    """The elements of a page with the names of their attributes, its classes and its links."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.links = set(), set()
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.elements.add((tag, *sorted(name for name, _ in attributes)))
        self.links.update(value for name, value in attributes if name in ("href", "src"))


def markdown_of(text):
    """What Markdown makes of a text, as far as our pages use it: elements, targets of links, beginnings of lines, marks of a line."""
    page = Elements(text)
    targets = page.links | set(re.findall(r"(?<!\\)\]\(([^)]*)", text)) | set(re.findall(r"^ {0,3}(?:\* +)?\[[^]]*\]:(.*)", text, re.M))
    targets |= set(re.findall(r"(?<![(\"])https?://\S*|www\.\S*", re.sub(r"\]\([^)]*\)", "", text)))
    starts = {re.match(r"(?:\* )?(?:#+ |[|<*>=`~+-]|\d+[.)] |[\w&[]|$)?", line)[0] for line in text.split("\n")}
    return page.elements, targets, {re.sub(r"[\w&[]$", "a", start) for start in starts}, {
        (mark, len(re.findall(mark, line))) for mark in ("`", r"\$", "~", r"\\(?!\|)", r"^\||(?<=.)(?<!\\)\|") for line in text.split("\n")
        if mark[0] != "^" or line.startswith("|")}


class StrangerTest(ProgramTest):
    """A result that a stranger wrote goes through every command that reads results: its text stays text."""

    @classmethod
    def setUpClass(cls):
        cls.base, cls.calm = rich_result(), {}

    def setUp(self):
        super().setUp()
        self.write("base.json", self.base)
        if not self.calm:
            self.learn()

    def learn(self):
        """What the files of the result as it was have, and those of some that have less."""
        self.calm.update(elements=set(), svg=set(), markdown=[set(), set(), set(), set()])
        plain = [dict(self.base, **less) for less in ({}, {"source": None, "preset": None}, {"preset": None}, {"changed": []}, {"status": "complete"})]
        plain.append({key: value for key, value in self.base.items() if key not in ("finding", "table")})
        plain.append(dict(self.base, claims=self.base["claims"][1:]))
        for document in plain:
            # Another run than base.json, which would count once.
            files = self.files_of(dict(document, config=dict(document["config"], seed=2)), "x.json")
            self.calm["elements"] |= Elements(files["page.html"]).elements
            self.calm["svg"] |= self.svg_elements(files)
            for name in ("gallery.md", "papers.md", "paper.md"):
                for known, found in zip(self.calm["markdown"], markdown_of(files[name])):
                    known |= found

    def svg_elements(self, files):
        return {(element.tag, *sorted(element.attrib)) for name in files if name.endswith(".svg")
                for element in xml.etree.ElementTree.fromstring(files[name]).iter()}

    def outcome(self, words, name, may_fail=False):
        """Standard output of a command, which ends well or with one line that names the file."""
        run = subprocess.run([BINARY, *words], capture_output=True, cwd=self.folder, timeout=20, stdin=subprocess.DEVNULL)
        out, lines = run.stdout.decode(), run.stderr.decode().split("\n")[:-1]
        told = f"ranklab {' '.join(words)}: exit {run.returncode}: {run.stderr.decode()[-600:]}"
        self.assertIn(run.returncode, (0, 1, 2), told)
        self.assertIsNone(INVISIBLE.search("".join([out, *lines])), told)
        if run.returncode > 0 and not (words[0] == "compare" and out):
            self.assertTrue(may_fail, told)
            self.assertEqual(len(lines), 1, told)
            if words[0] != "papers" or "no results in results" not in lines[0]:  # a folder in which no file is a result
                self.assertIn(name, lines[0])
        return out

    def files_of(self, document, name, may_fail=False, parts=PARTS):
        """What the commands write and print about a document."""
        folder = self.path("results")
        os.makedirs(folder, exist_ok=True)
        path = os.path.join("results", name)
        self.write(path, document)
        commands = {
            "plot": ["plot", path, "--out", "picture.svg", "--quiet"],
            "page.html": ["report", "base.json", path, "--out", "page.html", "--quiet"],
            "gallery.md": ["report", path, "--out", "gallery.md", "--quiet"],
            "papers.md": ["papers", "--results", "results", "--out", "papers.md"],
            "paper.md": ["papers", "spectral", "--results", "results", "--out", "paper.md"],
            "papers": ["papers", "--results", "results", "spectral"],
            "statement": ["papers", "--results", "results", "spectral", "Figure", "12"],
            "compare": ["compare", "base.json", path],
            **{f"{part}.csv": ["export", "base.json", path, "--what", part] for part in parts},
        }
        out = {key: self.outcome(words, name, may_fail) for key, words in commands.items()}
        for written in os.listdir(self.folder):
            if written.endswith((".html", ".md", ".svg")):
                out[written] = self.read(written)
                os.remove(self.path(written))
        os.remove(self.path(path))
        return out

    def check_files(self, files):
        for name, text in files.items():
            self.assertIsNone(INVISIBLE.search(text), name)
            if name.endswith(".csv"):
                for cell in (cell for row in csv.reader(text.splitlines()) for cell in row):
                    self.assertRegex(cell, r"^([^=+@\t-]|-?[\d.]|$)", name)
            if name.endswith(".md"):
                for known, found, what in zip(self.calm["markdown"], markdown_of(text), ("elements", "links", "starts of lines", "marks")):
                    if what == "links":
                        found = {link for link in found if not re.fullmatch(r"[\w./~%-]*(#[\w./-]+)?", link)}
                    self.assertEqual(found - known, set(), f"{name}: {what}")
        if "page.html" in files and files["page.html"]:
            page = Elements(files["page.html"])
            self.assertEqual(page.elements - self.calm["elements"], set())
            self.assertEqual({link for link in page.links if not re.fullmatch(r"#[\w./-]+|https://arxiv\.org/abs/[\w.]+", link)}, set())
        self.assertEqual(self.svg_elements(files) - self.calm["svg"], set())

    def test_every_field_at_once(self):
        every = "".join(PAYLOADS.values())
        unnamed = dict(self.base, source=None, preset=None)  # is called by its title
        for text, document in [*((text, self.base) for text in PAYLOADS.values()), (every, self.base), (every, unnamed)]:
            with self.subTest((text, document["preset"])):
                files = self.files_of(with_all_fields(document, text), "x.json")
                self.check_files(files)
                self.assertTrue(all(files[key] for key in ("page.html", "gallery.md", "papers.md", "paper.md", "picture.svg", "picture.2.svg")))

    def test_each_field_alone(self):
        text = "".join(PAYLOADS.values())
        for path in one_of_each(fields_of(self.base)):
            with self.subTest(path):
                document = with_field(self.base, path, text)
                self.check_files(self.files_of(document, "x.json", True, PARTS_WITH.get(path[0], ())))
                self.write("x.json", document)
                if path in (("command",), ("config", "study")):  # ends before a trial
                    self.outcome(["verify", "x.json"], "x.json", True)
                if path[0] == "config":
                    self.outcome([self.base["command"], "--config", "x.json", "--dry-run"], "x.json", True)

    def test_the_name_of_a_file(self):
        name = "=1](javascript:alert(1)) <b>'\"`\x1b[31m\n\u202e.json"
        self.check_files(self.files_of(self.base, name))

    def test_the_name_of_a_layer(self):
        words = ["ranks", *write_pairs(self, {"".join(PAYLOADS.values()).replace("\0", ""): (SPIKED, GRADIENT)})]
        self.assertIn("<script>", self.outcome(words, "a.safetensors"))
        self.outcome([*words, "--out", "measured.json"], "a.safetensors")
        self.check_files(self.files_of(loads(self.read("measured.json")), "x.json"))

    def changed(self, *path, value):
        """The base with one value replaced, as x.json."""
        node = document = copy.deepcopy(self.base)
        for key in path[:-1]:
            node = node[key]
        node[path[-1]] = value
        self.write("x.json", document)

    def test_a_number_that_once_ended_the_page(self):
        # The order of figures read it as an integer: "internal error: stoul", and no page for all results.
        self.changed("source", "figure", value="Figures 1 to 99999999999999999999999")
        self.outcome(["report", "x.json", "base.json", "--out", "page.html", "--quiet"], "x.json")
        self.assertIn("99999999999999999999999", self.read("page.html"))

    def test_a_series_without_x_that_once_ended_compare(self):
        # The second file was compared before it was checked: abort.
        series = {key: value for key, value in self.base["series"][0].items() if key != "x"}
        self.changed("series", 0, value=series)
        self.assertEqual(self.outcome(["compare", "base.json", "x.json"], "x.json", True), "")

    def test_the_time_of_compare_grows_with_the_number_of_names(self):
        # Each name was once looked up in a list: 20,000 names took 96 s, and four times as many names 16 times as long.
        claim, series = self.base["claims"][0], self.base["series"][0]

        def processor_time(names):
            many = dict(self.base, figure=None, more_figures=[], claims=[dict(claim, id=f"c{i}") for i in range(names)],
                        series=[dict(series, name=f"s{i}") for i in range(names)])
            self.write("x.json", many)
            self.write("y.json", dict(many, claims=many["claims"][::-1], series=many["series"][::-1]))
            before = os.times()
            self.outcome(["compare", "x.json", "y.json"], "x.json")
            after = os.times()
            return after.children_user + after.children_system - before.children_user - before.children_system

        names = 4000 if "sanitize" in BINARY else 20000  # the sanitizers take seconds for a thousand
        self.assertLess(processor_time(names), 7 * processor_time(names // 4))


if __name__ == "__main__":
    unittest.main()
