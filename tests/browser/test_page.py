#!/usr/bin/env python3
"""Checks the page of `ranklab report` in headless Chromium: console, widths, the first screen, the size of the text in pictures, keyboard,
search, links to claims, dark mode, print. tests/end_to_end/test_golden.py checks what needs no browser: links, ids, figures.

Small runs give a page with every kind of content. If `results/reference` or `results` (or the folder in RANKLAB_RESULTS) has the
results of all presets, their page is checked too. RANKLAB_BUILD sets the build folder, CHROMIUM the browser.
"""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BINARY = os.path.join(ROOT, os.environ.get("RANKLAB_BUILD", "build"), "ranklab")
BROWSER = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
MIN_TEXT = 11                    # pixels, in every picture at every width
FIRST_PICTURE = {1280: 1500, 390: 4000}  # of the page of all presets: its top is above this many pixels, at a width
MAX_PAGES = 45                   # of A4, of the page of all presets

RUNS = [
    "rank-collapse --preset lambda-skip-sys1",
    "rank-collapse --preset lambda-skip-sys2 --layers 40",
    "rank-collapse --preset shallow-fig08",
    "rank-collapse --preset shallow-fig08 --trials 5",
    "random-features --preset spectral-fig03 --k 12 --m 10 --d 5 --n 30 --steps 20 --restart-every 10 --trials 3",
    "one-step-compare --preset spectral-fig18a --d 8 --n 32 --steps 6 --trials 2 --lr-gd 30",
    "one-step-compare --trials 40 --m-high 12 --k-high 12 --n-high 24",
    "spiked-model --study multi-spike --d 16,20,24 --trials 3",
]

# Runs in the loaded page and appends its findings as a <pre> to the page itself, or to the page with the frame around it.
PROBE = """<script>addEventListener("load", () => {
  const root = document.documentElement, all = selector => [...document.querySelectorAll(selector)];
  if (OPEN) all("details").forEach(fold => { fold.open = true; });
  const box = element => element.getBoundingClientRect(), seen = selector => all(selector).filter(e => e.checkVisibility()).length;
  if (SEARCH) {
    const field = document.querySelector("#search input");
    for (const words of SEARCH) Object.assign(field, {value: words}).dispatchEvent(new Event("input"));
  }
  const found = JSON.stringify({
    width: innerWidth, scroll: root.scrollWidth, height: root.scrollHeight,
    wide: OPEN ? [] : all("main *").filter(e => !e.closest("svg") && !e.matches(".picture svg") && !e.closest("details") &&
        box(e).right > innerWidth + 1)
      .concat(all(".columns > *, .result").filter(e => e.scrollWidth > e.clientWidth + 1)).map(e => e.outerHTML.slice(0, 80)),
    results: all(".result").length,
    pictures: all(".result > .picture svg").filter(svg => box(svg).width > 100 && box(svg).height > 50).length,
    first: box(document.querySelector("main svg")).top + scrollY, contents: all("nav a").length,
    texts: all(".result > .picture text, .findings text").length,
    smallest: Math.min(...all(".result > .picture text, .findings text").map(t =>
      parseFloat(getComputedStyle(t).fontSize) * Math.hypot(t.getScreenCTM().a, t.getScreenCTM().b))),
    hints: seen(".result > .picture figcaption"), statements: seen(".statements tbody > tr"), claims: seen(".claims > tbody"),
    told: document.querySelector("#search output").textContent, target: location.hash ? box(document.querySelector(":target")).top : 0,
    unreachable: all("a, summary").filter(e => e.tabIndex < 0).length,
    text: getComputedStyle(document.body).color, page: getComputedStyle(document.body).backgroundColor,
    formulas: all("math").filter(m => box(m).width > 5 && box(m).height > 5).length});
  if (parent !== window) parent.postMessage(found, "*");
  else document.body.append(Object.assign(document.createElement("pre"), {id: "found", textContent: found}));
})</script>"""
FRAME = """<body style="margin:0"><script>addEventListener("message", event =>
  document.body.append(Object.assign(document.createElement("pre"), {id: "found", textContent: event.data})))</script>
<iframe src="%s" style="border:0;width:%dpx;height:800px"></iframe>"""


def browser(*flags):
    return subprocess.run([BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--enable-logging=stderr", *flags],
                          capture_output=True, text=True, timeout=300, check=True)


def luminance(color):
    channels = [int(c) / 255 for c in re.findall(r"\d+", color)[:3]]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


class Page:
    def __init__(self, folder, results):
        self.folder, self.path = folder, os.path.join(folder, "page.html")
        subprocess.run([BINARY, "report", *results, "--out", self.path, "--quiet"], check=True)

    def found(self, width, open_folds=False, fragment="", flags=(), search=()):
        """The findings of the probe at a width, and the console messages. Windows are at least 500 wide: a frame gives less."""
        with open(self.path, encoding="utf-8") as file:
            text = file.read().replace("</body>", PROBE.replace("OPEN", str(open_folds).lower()).replace("SEARCH", json.dumps(search or None)) + "</body>")
        probed, frame = os.path.join(self.folder, "probed.html"), os.path.join(self.folder, "frame.html")
        with open(probed, "w", encoding="utf-8") as file:
            file.write(text)
        with open(frame, "w", encoding="utf-8") as file:
            file.write(FRAME % ("probed.html" + fragment, width))
        url = "file://" + (frame if width < 500 else probed + fragment)
        run = browser(f"--window-size={max(width, 500)},900", "--virtual-time-budget=10000", "--dump-dom", *flags, url)
        console = [line for line in run.stderr.splitlines() if "CONSOLE" in line]
        match = re.search(r'<pre id="found">(.*?)</pre>', run.stdout, re.S)
        if match is None:
            raise AssertionError("the page did not load: " + run.stderr[-500:])
        return json.loads(match.group(1).replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")), console

    def printed_pages(self):
        pdf = os.path.join(self.folder, "page.pdf")
        browser(f"--print-to-pdf={pdf}", "--no-pdf-header-footer", "file://" + self.path)
        with open(pdf, "rb") as file:
            return len(re.findall(rb"/Type\s*/Page\b(?!s)", file.read()))


class Checks:
    page = None
    viewports = [(width, open_folds) for width in (1280, 768, 390) for open_folds in (False, True)]

    def test_no_element_is_wider_than_the_screen_and_the_console_is_empty(self):
        for width, open_folds in self.viewports:
            with self.subTest(width=width, open_folds=open_folds):
                found, console = self.page.found(width, open_folds)
                self.assertEqual(console, [])
                self.assertEqual(found["width"], width)
                self.assertEqual(found["wide"], [])
                self.assertLessEqual(found["scroll"], width)

    def test_pictures_and_formulas_are_drawn_and_links_can_be_reached(self):
        found, _ = self.page.found(1280)
        self.assertGreater(found["results"], 0)
        self.assertEqual(found["pictures"], found["results"])
        self.assertGreater(found["formulas"], 15)
        self.assertGreater(found["texts"], 20 * found["results"])
        self.assertEqual(found["unreachable"], 0)

    def test_text_in_pictures_is_readable(self):
        for width in (1280, 390):
            with self.subTest(width=width):
                found, _ = self.page.found(width)
                self.assertGreaterEqual(round(found["smallest"], 2), MIN_TEXT)
                self.assertGreater(found["contents"], found["results"])

    def test_a_narrow_screen_says_that_a_picture_continues(self):
        for width, share in ((1280, 0), (390, 1)):
            found, _ = self.page.found(width)
            self.assertEqual(found["hints"], share * found["results"])

    def test_words_filter_statements_and_claims(self):
        everything, _ = self.page.found(1280)
        self.assertEqual(everything["told"], "")
        found, console = self.page.found(1280, search=["LAMBDA collapse"])
        self.assertEqual(console, [])
        self.assertTrue(0 < found["statements"] < everything["statements"] / 2)
        self.assertGreater(found["claims"], 0)  # their folds are open
        self.assertRegex(found["told"], rf"^{found['statements']} of \d+ statements, {found['claims']} of \d+ claims$")
        nothing, _ = self.page.found(1280, search=["no such words"])
        self.assertEqual((nothing["statements"], nothing["claims"]), (0, 0))
        cleared, _ = self.page.found(1280, search=["lambda", ""])
        self.assertEqual({key: cleared[key] for key in ("statements", "claims", "told", "height")},
                         {key: everything[key] for key in ("statements", "claims", "told", "height")})

    def test_a_link_opens_the_fold_of_a_claim(self):
        for width in (1280, 390):
            found, _ = self.page.found(width, fragment="#lambda-skip/prop-4.3.1/closed-form")
            self.assertGreater(found["claims"], 0)
            self.assertTrue(0 <= found["target"] < 100, found["target"])

    def test_dark_and_light_are_readable(self):
        for flags in ((), ("--blink-settings=preferredColorScheme=0",)):
            found, _ = self.page.found(1280, flags=flags)
            low, high = sorted([luminance(found["text"]), luminance(found["page"])])
            self.assertGreater((high + 0.05) / (low + 0.05), 7)
            self.assertEqual(luminance(found["page"]) < 0.05, bool(flags))


class SmallPageTest(Checks, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        results = [os.path.join(cls.folder, f"{i}.json") for i in range(len(RUNS))]
        for arguments, path in zip(RUNS, results):
            subprocess.run([BINARY, *arguments.split(), "--quiet", "--out", path], check=True, cwd=ROOT)
        cls.page = Page(cls.folder, results)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)


def all_results():
    names = [os.path.basename(path) for path in glob.glob(os.path.join(ROOT, "experiments", "*.json")) if not path.endswith(".schema.json")]
    for folder in (os.environ.get("RANKLAB_RESULTS", ""), os.path.join(ROOT, "results", "reference"), os.path.join(ROOT, "results")):
        paths = [os.path.join(folder, name) for name in sorted(names)]
        if folder and all(os.path.exists(path) for path in paths):
            return paths
    return []


@unittest.skipUnless(all_results(), "no folder with the results of all presets")
class FullPageTest(Checks, unittest.TestCase):
    viewports = [(1280, False), (390, False), (390, True)]

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.page = Page(cls.folder, all_results())

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def test_the_first_picture_is_near_the_top_and_print_is_short(self):
        for width, top in FIRST_PICTURE.items():
            found, _ = self.page.found(width)
            print(f"{found['results']} results at {width} pixels: height {found['height']}, first picture at {found['first']:.0f}")
            self.assertLess(found["first"], top)
        pages = self.page.printed_pages()
        print(f"{pages} printed pages")
        self.assertTrue(1 < pages <= MAX_PAGES, pages)


if __name__ == "__main__":
    if BROWSER is None:
        sys.exit("no browser found: run `apt-get install chromium`, or set CHROMIUM to the path of a browser")
    unittest.main(verbosity=2)
