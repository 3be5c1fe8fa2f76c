"""Little memory and few file descriptors: each tiny run succeeds, or ends with one line and exit 1.
A run that is refused because of its estimated memory ends with exit 2."""
import os
import resource

from harness import BINARY, TINY, Check, Failed, Skipped, expect, run, smoke_runs

MEMORY = (300_000, 600_000, 1_000_000)  # kilobytes, as of `ulimit -v`
FILES = 16  # as of `ulimit -n`
SECONDS = 60
SHORT_RUNS = ("stable-rank", "mlp-init", "layers of mamba2")
READERS = ("plot a.json --out a.png", "report a.json a.json --out page.html", "verify a.json",
           "compare a.json a.json", "export a.json --what trials --out a.csv",
           "merge a.part --out m.json")


def limited(words, folder, what, bound):
    """Runs the command under the limit; returns True if it succeeded."""
    process = run(words, folder, codes=(0, 1, 2), seconds=SECONDS,
                  preexec_fn=lambda: resource.setrlimit(what, (bound, bound)))
    if process.returncode == 0:
        return True
    expect(len(process.err.splitlines()) == 1, f"{words}: not one line: {process.err[-500:]!r}")
    expect(process.returncode == 1 or "of memory" in process.err,
           f"{words}: exit {process.returncode}: {process.err}")
    left = sorted(set(os.listdir(folder)) - {"a.json", "a.part"})
    expect(not left, f"{words}: left {left}")
    return False


def memory_check(name, words, kilobytes):
    def check(folder):
        if "sanitize" in BINARY:
            raise Skipped("the address sanitizer maps terabytes")
        limited(f"{words} --threads 2 --quiet --out out.json", folder, resource.RLIMIT_AS,
                kilobytes * 1024)
    return Check(f"{name} within {kilobytes} kB", check)


def files_check(name, words):
    def check(folder):
        if not limited(f"{words} --threads 2 --quiet --out out.json", folder,
                       resource.RLIMIT_NOFILE, FILES):
            raise Failed(f"{words}: needs more than {FILES} files")
    return Check(f"{name} with {FILES} files", check)


def reading(words):
    """Commands that read results and start rsvg-convert, under each of the limits."""
    def check(folder):
        run(f"{TINY} --quiet --out a.json", folder)
        run(f"{TINY} --quiet --shard 1/1 --out a.part", folder)
        bounds = [(resource.RLIMIT_NOFILE, FILES)]
        if "sanitize" not in BINARY:
            bounds += [(resource.RLIMIT_AS, kilobytes * 1024) for kilobytes in MEMORY]
        for what, bound in bounds:
            if limited(words, folder, what, bound):
                for name in set(os.listdir(folder)) - {"a.json", "a.part"}:
                    os.remove(os.path.join(folder, name))
    return Check(words.split()[0], check)


def checks(_, short):
    runs = {name: words for name, words in smoke_runs().items() if not short or name in SHORT_RUNS}
    bounds = MEMORY[:1] if short else MEMORY
    found = [files_check(name, words) for name, words in runs.items()]
    found += [memory_check(name, words, bound) for bound in bounds for name, words in runs.items()]
    return found + ([] if short else [reading(words) for words in READERS])
