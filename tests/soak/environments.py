"""No home, no temporary folder, an empty environment, a locale with a decimal comma: the results
and the pictures have the same bytes."""
import json
import os
import shutil
import subprocess

from harness import TINY, Check, Skipped, expect, expect_same, read, run, smoke_runs

LOCALE = "de_DE.UTF-8"  # writes 0.5 as 0,5
SHORT_RUNS = ("trajectory",)
RUNS = ("trajectory", "layers of mamba2", "train on text", "train on patches", "regression", "gpt",
        "escalation")


def without(*names):
    return {key: value for key, value in os.environ.items() if key not in names}


def locale_of(folder):
    """An environment with the locale, which is generated if it is not installed."""
    known = subprocess.run(["locale", "-a"], capture_output=True, text=True).stdout.split()
    if "de_DE.utf8" in known or LOCALE in known:
        return {"LC_ALL": LOCALE}, "installed"
    if not shutil.which("localedef") or not os.path.exists("/usr/share/i18n/locales/de_DE"):
        return {"LC_ALL": "C"}, "missing; C instead"
    place = os.path.join(folder, "locales")
    os.mkdir(place)
    made = subprocess.run(["localedef", "-i", "de_DE", "-f", "UTF-8", f"{place}/{LOCALE}"],
                          capture_output=True, text=True)
    if not os.path.exists(f"{place}/{LOCALE}"):
        raise Skipped(f"localedef: {made.stderr.strip()}")
    return {"LC_ALL": LOCALE, "LOCPATH": place}, "generated"


def environments(folder):
    """{name: environment}, and what is known about the locale."""
    path = {key: value for key, value in os.environ.items()
            if key == "PATH" or key.startswith("OPENBLAS")}  # a kernel that the caller has chosen
    locale, known = locale_of(folder)
    return {
        "without HOME": without("HOME"),
        "without TMPDIR": without("TMPDIR", "TMP", "TEMP"),
        "with a TMPDIR that does not exist": dict(os.environ, TMPDIR="/nowhere"),
        "empty": path,
        "LANG=C": dict(path, LANG="C", LC_ALL="C"),
        LOCALE: dict(os.environ, **locale),
    }, known


def same_bytes(name, words, short):
    def check(folder):
        run(f"{words} --quiet --out whole.json", folder)
        run("plot whole.json --quiet --out whole.svg", folder)
        run("export whole.json --what scalars --out whole.csv", folder)
        surroundings, known = environments(folder)
        for what in ("empty", LOCALE) if short else surroundings:
            environment = surroundings[what]
            run(f"{words} --quiet --force --out out.json", folder, env=environment)
            expect_same(read(folder, "out.json"), read(folder, "whole.json"), what)
            run("plot whole.json --quiet --out out.svg", folder, env=environment)
            run("export whole.json --what scalars --out out.csv", folder, env=environment)
            for kind in ("svg", "csv"):
                expect(read(folder, f"out.{kind}") == read(folder, f"whole.{kind}"),
                       f"{what}: the {kind} differs")
        return f"{LOCALE} is {known}" if name == "trajectory" else ""
    return Check(name, check)


def config_in_a_locale():
    """A number in a config file and on the command line is read in the same way."""
    def check(folder):
        environment = environments(folder)[0][LOCALE]
        words = "rank-collapse --study examples --layers 20 --lambda -0.25,0.5"
        run(f"{words} --quiet --out whole.json", folder)
        run(f"{words} --quiet --out flag.json", folder, env=environment)
        run("rank-collapse --config whole.json --quiet --out config.json", folder, env=environment)
        for name in ("flag.json", "config.json"):
            expect_same(read(folder, name), read(folder, "whole.json"), name)
        config = json.loads(read(folder, "flag.json"))["config"]
        expect(config["lambda"] == [-0.25, 0.5], f"lambda is {config['lambda']}")
    return Check("numbers in a locale", check)


def checks(_, short):
    runs = smoke_runs() | {"trajectory": TINY}
    return [same_bytes(name, runs[name], short) for name in (SHORT_RUNS if short else RUNS)] + (
        [] if short else [config_in_a_locale()])
