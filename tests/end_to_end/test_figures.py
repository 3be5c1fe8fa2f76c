"""plot, report and verify on results that the binary wrote."""
import html.parser
import json
import os
import re
import unittest
import xml.etree.ElementTree

from program import TINY, ProgramTest, loads
from stored_tensors import write_pairs


class PlotTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.document = self.result(TINY)

    def test_the_same_result_gives_the_same_svg(self):
        for name in ("one.svg", "two.svg"):
            self.run_program(f"plot out.json --quiet --out {name}")
        first = self.read("one.svg")
        self.assertEqual(first, self.read("two.svg"))
        root = xml.etree.ElementTree.fromstring(first)
        space = "{http://www.w3.org/2000/svg}"
        self.assertEqual(root.find(f"{space}title").text, self.document["title"])
        self.assertGreater(len(root.find(f"{space}desc").text), 40)

    def test_formats(self):
        for name, start in (("p.png", b"\x89PNG"), ("p.pdf", b"%PDF"), ("p.eps", b"%!PS"), ("p.svg", b"<?xml")):
            self.run_program(f"plot out.json --quiet --out {name}")
            with open(self.path(name), "rb") as file:
                self.assertTrue(file.read(5).startswith(start))
        self.refused("plot out.json --out p.bmp", ".bmp", ".svg")

    def test_a_figure_for_a_paper_has_its_width_font_and_text_size(self):
        self.run_program("plot out.json --quiet --out page.svg")
        for width, points in (("84mm", 238.1), ("8.4cm", 238.1), ("7in", 504), ("504pt", 504), ("672px", 504)):
            self.run_program(["plot", "out.json", "--quiet", "--out", "p.svg", "--width", width, "--font", "Latin Modern", "--no-title"])
            root = xml.etree.ElementTree.fromstring(self.read("p.svg"))
            self.assertAlmostEqual(float(root.get("width").removesuffix("pt")), points, delta=0.1)
            pixels = float(root.get("viewBox").split()[2])
            smallest = min(float(size) for size in re.findall(r'font-size="([0-9.]+)" text-anchor', self.read("p.svg")))
            self.assertTrue(7 <= smallest * points / pixels <= 8, (smallest, pixels))
            self.assertEqual(root.get("font-family"), "'Latin Modern', 'Latin Modern Roman', sans-serif")
        title = f">{self.document['title']}</text>"
        self.assertEqual((self.read("page.svg").count(title), self.read("p.svg").count(title)), (1, 0))
        for flags, needles in (("--width 84", ("--width", "'84'", "84mm")), ("--width 3mm", ("--width", "40mm")), ("--width 84miles", ("mm, cm",)),
                               ("--font a'b", ("--font", "letters")), ("--font No-Such-Font --out p.pdf", ("--font", "not installed"))):
            self.refused(f"plot out.json {flags}", *needles)

    def test_eps_has_no_images_although_it_has_no_transparency(self):
        self.run_program("plot out.json --quiet --out p.eps --width 84mm")
        with open(self.path("p.eps"), "rb") as file:
            eps = file.read()
        self.assertTrue(eps.startswith(b"%!PS-Adobe-3.0 EPSF-3.0"))
        self.assertNotIn(b"/ImageType", eps)

    def test_labels_have_the_symbols_of_the_papers_and_names_stay(self):
        panel = self.document["figure"]["panels"][0]
        panel["x"]["label"], panel["y"]["label"] = "lambda-skip of mu_normalized", "sigma_1^2 / ||Y||_F >= mu"
        panel["curves"][0]["label"] = "lambda = -1"
        self.write("out.json", self.document)
        self.run_program("plot out.json --quiet --out p.svg")
        texts = [re.sub("<[^>]*>", "", text.replace("<tspan dx", " <tspan dx")) for text in re.findall("<text[^>]*>(.*?)</text>", self.read("p.svg"))]
        for expected in ("lambda-skip of mu_normalized", "\u03c312 / \u2016Y\u2016F \u2265 \u03bc", "\u03bb = \u22121"):
            self.assertIn(expected, texts)
        self.assertRegex(self.read("p.svg"), r'\u03c3<tspan dy="2\.6" font-size="9">1</tspan><tspan dy="-7\.\d" font-size="9">2</tspan>')

    def test_further_figures_are_drawn_next_to_the_first(self):
        self.document["more_figures"] = [{"title": "Details", "panels": self.document["figure"]["panels"][:1]},
                                         {"title": "More details", "panels": self.document["figure"]["panels"][:1]}]
        self.write("out.json", self.document)
        run = self.run_program("plot out.json --out figures/x.svg")
        self.assertEqual(run.stderr.split(), ["figures/x.svg", "figures/x.2.svg", "figures/x.3.svg"])
        titles = [re.search("<title>(.*?)</title>", self.read(f"figures/x{number}.svg"))[1] for number in ("", ".2", ".3")]
        self.assertEqual(titles, [self.document["title"], "Details", "More details"])
        self.run_program("plot out.json --out y.png --quiet")
        self.assertTrue(os.path.exists(self.path("y.3.png")))
        self.document["more_figures"][1]["panels"][0]["curves"] = 7
        self.write("out.json", self.document)
        self.refused("plot out.json --out z.svg", "figure.panels[0].curves: must be a list", exit_code=1)
        self.assertFalse(os.path.exists(self.path("z.svg")))

    def test_a_shaded_range_is_in_the_picture_and_in_its_description(self):
        self.run_program("plot out.json --quiet --out plain.svg")
        self.document["figure"]["panels"][0]["bands"] = [{"x_low": 1, "x_high": 3, "label": "the window", "color": 1}]
        self.write("out.json", self.document)
        self.run_program("plot out.json --quiet --out shaded.svg")
        self.assertIn("shaded: the window from 1 to 3", self.read("shaded.svg"))
        fill = 'fill-opacity=".12"'  # of a shaded range, and of its sample in the legend
        self.assertEqual((self.read("plain.svg").count(fill), self.read("shaded.svg").count(fill)), (0, 2))

    def test_broken_results_are_refused(self):
        self.write("bad.json", json.dumps(self.document)[:300])
        self.refused("plot bad.json", "bad.json", exit_code=1)
        self.write("bad.json", {"schema": "ranklab.result/3"})
        self.refused("plot bad.json", "bad.json", "missing", exit_code=1)
        for change in (lambda d: d["figure"]["panels"][0]["curves"][0].update({"series": "none"}), lambda d: d["figure"].update({"panels": 3}),
                       lambda d: d.update({"series": {"a": 1}}), lambda d: d["series"][0].update({"mean": ["x"]}),
                       lambda d: d.update({"figure": None}),
                       lambda d: d["figure"]["panels"][0].update({"bands": [{"x_low": 2, "x_high": 1, "label": ""}]}), lambda d: d.update({"title": 7})):
            document = json.loads(json.dumps(self.document))
            change(document)
            self.write("bad.json", document)
            self.refused("plot bad.json", "bad.json", exit_code=1)
        self.refused("plot none.json", "none.json", exit_code=1)
        self.refused("plot", "one result file")

    def test_text_of_a_result_is_text_of_every_picture(self):
        hostile = "</text><script>x</script> $(touch owned) `touch owned` & \"'"
        self.document["title"] = self.document["figure"]["panels"][0]["title"] = hostile
        self.write("out.json", self.document)
        for ending in ("svg", "png", "pdf"):
            self.run_program(f"plot out.json --quiet --out p.{ending}")
        self.assertFalse(os.path.exists(self.path("owned")))
        root = xml.etree.ElementTree.fromstring(self.read("p.svg"))
        self.assertEqual(root.find("{http://www.w3.org/2000/svg}title").text, hostile)
        self.assertNotIn("script", {element.tag.split("}")[1] for element in root.iter()})

    def test_without_rsvg_convert_svg_is_drawn_and_png_says_how_to_install_it(self):
        self.run_program("plot out.json --out p.svg", env={"PATH": "/nowhere"})
        run = self.run_program("plot out.json --out p.png", 1, env={"PATH": "/nowhere"})
        self.assertIn("librsvg2-bin", run.stderr)
        self.assertEqual(len(run.stderr.splitlines()), 1)


class Collector(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.ids, self.links, self.tags = [], [], []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        for key, value in attributes:
            if key == "id":
                self.ids.append(value)
            if key in ("src", "href", "xlink:href") and value:
                self.links.append(value)


class ReportTest(ProgramTest):
    def test_the_report_is_one_self_contained_page(self):
        first = self.result(TINY, name="a.json")
        self.result(f"{TINY} --activation swiglu", name="b.json")
        self.run_program("report a.json b.json --quiet --out page.html")
        page = self.read("page.html")
        collector = Collector()
        collector.feed(page)
        self.assertEqual(len(collector.ids), len(set(collector.ids)), "duplicate ids")
        outside = [link for link in collector.links if not link.startswith("#")]
        self.assertEqual(outside, ["https://arxiv.org/abs/2512.04299v1"], "the page links to something else outside itself than its paper")
        self.assertEqual(collector.tags.count("script"), 1)  # the search
        self.assertEqual(collector.tags.count("svg"), 2)
        for claim in first["claims"]:
            self.assertIn(claim["id"], page.replace("<wbr>", ""))
        self.run_program("report", 2)
        self.refused("report a.json none.json", "none.json", exit_code=1)

    def test_a_gallery_for_a_readme(self):
        os.mkdir(self.path("runs"))
        document = self.result(TINY, name="runs/a.json")
        self.result(f"{TINY} --activation swiglu", name="runs/b.json")
        self.run_program("report runs/a.json runs/b.json --quiet --out gallery.md")
        gallery = self.read("gallery.md")
        self.assertEqual(re.findall(r'<a href="(\S+)"><img src="\1"', gallery), ["runs/a.svg", "runs/b.svg"])
        document.update(title="<script>", preset="spectral-fig03", source={"paper": "[Spectral]", "figure": "Figure 3"})
        self.write("runs/a.json", document)
        self.run_program("report runs/a.json runs/b.json --quiet --out gallery.md")
        self.assertNotIn("<script>", self.read("gallery.md"))
        # A result of a paper links to the page of the paper, another one to its picture.
        self.assertEqual(re.findall(r'<br><a href="(\S+)">', self.read("gallery.md")), ["spectral.md#spectral-fig03", "runs/b.svg"])

    def test_text_from_a_result_is_escaped(self):
        document = self.result(TINY)
        document["title"] = "<script>alert(1)</script> & co"
        document["claims"][0]["detail"] = "\"><img src=x onerror=alert(1)>"
        self.write("evil.json", document)
        self.run_program("report evil.json --quiet --out page.html")
        page = self.read("page.html")
        self.assertEqual(page.count("<script>"), 1)  # the search
        self.assertNotIn("<script>alert", page)
        self.assertNotIn("<img", page)
        self.assertIn("&lt;script&gt;", page)


class VerifyTest(ProgramTest):
    def test_an_unchanged_result_is_reproduced_bit_for_bit(self):
        self.result(TINY)
        run = self.run_program("verify out.json")
        self.assertRegex(run.stdout, r"out\.json: reproduced bit for bit")

    def test_reproduced_results_are_counted(self):
        document = self.result(TINY, name="a.json")
        document["scalars"]["stable_rank_A"]["mean"] *= 1e6
        self.write("b.json", document)
        run = self.run_program("verify b.json a.json", 1)
        self.assertRegex(run.stdout, r"b\.json: not reproduced(.|\n)*a\.json: reproduced bit for bit\n1 of 2 reproduced\n$")
        self.run_program("verify", 2)

    def test_rounding_differences_are_within_the_error_bars(self):
        document = self.result(TINY)
        document["environment"]["cpu"] = "another type"
        for series in document["series"]:
            series["mean"] = [v * (1 + 1e-13) if v else v for v in series["mean"]]
        self.write("out.json", document)
        printed = self.run_program("verify out.json").stdout
        self.assertIn("within its error bars", printed)
        self.assertRegex(printed, r"the first difference is at series\[0\]\.mean\[\d+\];")

    def test_a_changed_number_or_verdict_is_not_reproduced(self):
        document = self.result(TINY)
        for change, needle in ((lambda d: d["scalars"]["stable_rank_A"].update({"mean": 99.0}), "stable_rank_A"),
                               (lambda d: d["claims"][0].update({"verdict": "fails" if d["claims"][0]["verdict"] == "holds" else "holds"}),
                                document["claims"][0]["id"]),
                               (lambda d: d["series"][0]["mean"].__setitem__(3, 1e6), document["series"][0]["name"])):
            changed = json.loads(json.dumps(document))
            change(changed)
            self.write("changed.json", changed)
            run = self.run_program("verify changed.json", 1)
            self.assertIn("not reproduced", run.stdout)
            self.assertIn(needle, run.stdout)

    def test_the_same_program_on_the_same_cpu_allows_no_difference(self):
        """Whatever error bars the file claims."""
        document = self.result(TINY)

        def wide_and_doubled(d):
            for summary in d["scalars"].values():
                summary.update(mean=2 * summary["mean"], std=1e9)

        scalar = next(iter(document["trial_values"]))
        for change, place in ((lambda d: d["trial_values"].update({scalar: [1e9] * 3}), "trial_values"),
                              (lambda d: d["claims"][0].update(detail="another word"), "claims[0].detail"),
                              (lambda d: d["claims"][0].update(kind="beyond"), "claims[0].kind"),
                              (lambda d: d["claims"][0].update(measured=7.0), "claims[0].measured"),
                              (lambda d: d["claims"][0].update(expected=7.0), "claims[0].expected"),
                              (lambda d: d["claims"][0]["evidence"].update(cases=7), "claims[0].evidence"),
                              (wide_and_doubled, "scalars")):
            changed = json.loads(json.dumps(document))
            change(changed)
            self.write("changed.json", changed)
            self.assertRegex(self.run_program("verify changed.json", 1).stdout, rf"not reproduced(.|\n)*first difference is at {re.escape(place)}")

    def test_only_files_below_the_named_folder_are_read(self):
        os.mkdir(self.path("in"))
        self.result(["ranks", *write_pairs(self, {"W": ([[1.0, 0.5, 2.0], [0.0, 1.0, -1.0]], [[2.0, 1.0], [0.0, 1.0], [1.0, 1.0]])}, "in/")], name="r.json")
        document = loads(self.read("r.json"))
        self.run_program("verify r.json")
        self.run_program("verify r.json --folder .")
        os.mkfifo(self.path("fifo"))
        for folder, path, why in ((".", "/etc/passwd", "is not below"), ("/etc", "/etc/passwd", "is not below"),
                                  (".", "in/../../../../../../etc/passwd", "is not below"), (".", "fifo", "is neither a file"),
                                  (".", "/proc/kmsg", "is not below")):
            changed = json.loads(json.dumps(document))
            changed["config"].update({"activations": "", "gradients": "", "from": [path]})
            changed["environment"]["folder"] = folder
            self.write("changed.json", changed)
            self.refused("verify changed.json", "changed.json: from", path, why, exit_code=1)
        self.assertIn("in/g.safetensors", self.run_program("verify ../r.json", 1, cwd=self.path("in")).stderr)
        self.refused("verify r.json --folder none", "--folder none", exit_code=1)
        write_pairs(self, {"W": ([[1.0, 0.5, 2.0], [0.0, 1.0, -1.0]], [[2.0, 1.0], [0.0, 1.0], [1.0, 3.0]])}, "in/")
        self.refused("verify r.json", "r.json: the run read another in/g.safetensors", exit_code=1)

    def test_a_result_with_missing_parts_is_not_reproduced(self):
        document = self.result(TINY)
        for part, empty in (("scalars", {}), ("claims", []), ("series", [])):
            self.write("changed.json", document | {part: empty})
            run = self.run_program("verify changed.json", 1)
            self.assertIn("not reproduced", run.stdout)
            self.assertIn("missing", run.stdout)
            self.write("changed.json", {key: value for key, value in document.items() if key != part})
            self.refused("verify changed.json", part, "missing", exit_code=1)

    def test_the_kernel_and_what_was_compared_are_named(self):
        document = self.result(TINY)
        kernel = document["environment"]["blas_core"]
        document["environment"]["blas_core"] = "Nehalem"
        document["scalars"]["stable_rank_A"]["mean"] *= 1 + 1e-12
        self.write("out.json", document)
        run = self.run_program("verify out.json")
        self.assertIn(f"BLAS kernel Nehalem before, {kernel} now", run.stdout)
        points = sum(len(series["x"]) for series in document["series"])
        self.assertIn(f"{len(document['claims'])} verdicts, {len(document['scalars'])} scalars and {points} points of series", run.stdout)
        self.assertIn("Student's quantile at level 0.0027", run.stdout)

    def test_one_trial_has_no_error_bars(self):
        document = self.result(f"{TINY} --trials 1")
        document["environment"]["program"] = "another build"
        document["scalars"]["stable_rank_A"]["mean"] *= 1 + 1e-12
        self.write("out.json", document)
        self.assertIn("1 trial: no error bars", self.run_program("verify out.json").stdout)
        document["scalars"]["stable_rank_A"]["mean"] *= 1 + 1e-6
        self.write("out.json", document)
        self.assertIn("not reproduced", self.run_program("verify out.json", 1).stdout)

    def test_relative_paths_start_at_the_folder_of_the_original_run(self):
        words = write_pairs(self, {"fc": ([[1.0, 0.5, 2.0], [0.0, 1.0, -1.0]], [[2.0, 1.0], [0.0, 1.0], [1.0, 1.0]])})
        self.run_program(["ranks", *words, "--quiet", "-o", "results/r.json"])
        os.mkdir(self.path("elsewhere"))
        self.run_program("verify results/r.json")
        self.run_program("verify ../results/r.json --folder ..", cwd=self.path("elsewhere"))
        # A result that was moved is verified from the folder of its input files.
        os.rename(self.path("results/r.json"), self.path("elsewhere/r.json"))
        os.rmdir(self.path("results"))
        self.run_program("verify elsewhere/r.json")

    def test_results_that_cannot_be_verified_are_refused(self):
        document = self.result(TINY)
        document["status"] = "interrupted"
        self.write("part.json", document)
        self.refused("verify part.json", "interrupted", exit_code=1)
        document["status"], document["command"] = "complete", "no-such"
        self.write("part.json", document)
        self.refused("verify part.json", "no-such", exit_code=1)
        self.refused("verify", "one or more result files")


if __name__ == "__main__":
    unittest.main()
