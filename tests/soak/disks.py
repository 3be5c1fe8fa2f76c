"""Full disks: a small tmpfs on which the room ends while ranklab writes. Each failure is one line
with exit 1, keeps an older file and leaves no part of a new one; with room, the run continues.

The tmpfs is mounted in a mount namespace of its own, so it disappears with the check's process:
disks.py KIND SEED FOLDER runs one check in such a namespace."""
import os
import subprocess
import sys

from harness import (TINY, Check, Failed, Skipped, expect, expect_same, generator, read, refused,
                     run, write)

PAGE = 4096
DISK = 4 << 20
RUN = TINY.replace("--trials 3", "--trials 40")
SAVE = ("rank-collapse --study train --steps 2 --batch 2 --dim 16 --trials 1 --model attention"
        " --quiet --force --out result.json --save disk/")
# What is written: the command, the file, and the files that it needs.
KINDS = {
    "result": (f"{RUN} --quiet --force --out disk/", "x.json"),
    "part": (f"{RUN} --shard 1/1 --quiet --force --out disk/", "x.part"),
    "picture": ("plot a.json --quiet --out disk/", "x.svg"),
    "bitmap": ("plot a.json --quiet --out disk/", "x.png"),
    "page": ("report a.json --quiet --out disk/", "x.html"),
    "table": ("export a.json --what series --force --out disk/", "x.csv"),
    "weights": (SAVE, "x.safetensors"),
    "merged": ("merge a.part --quiet --force --out disk/", "x.json"),
}
COMPANION = "x.config.json"  # of the weights
ROUNDS = {"result": 6, "part": 3, "picture": 2, "bitmap": 1, "page": 2, "table": 2, "weights": 3,
          "merged": 2}


def in_namespace():
    """The words that start a process in which tmpfs can be mounted."""
    return ["unshare", "--mount"] + ([] if os.geteuid() == 0 else ["--map-root-user"])


def fill(folder, pages_left):
    """Fills the disk except for this number of pages."""
    free = os.statvfs(folder).f_bavail
    with open(os.path.join(folder, "filler"), "wb") as file:
        file.write(bytes(PAGE * max(0, free - pages_left)))
    left = os.statvfs(folder).f_bavail
    expect(left == pages_left, f"{left} pages are left, not {pages_left}")


def peak_of(words, folder, disk):
    """The pages that the command needs, journal and temporary files included: the least number with
    which it succeeds."""
    low, high = 0, DISK // PAGE // 2
    while high - low > 1:
        middle = (low + high) // 2
        fill(disk, middle)
        process = run(words, folder, codes=(0, 1))
        for name in os.listdir(disk):
            os.remove(os.path.join(disk, name))
        low, high = (low, middle) if process.returncode == 0 else (middle, high)
    return high


def without_room(words, name, folder, disk, pages_left, is_complete):
    """Runs the command on a disk with this number of free pages, which are too few for it."""
    old = b"something old"
    if name.endswith(".part"):
        old = None  # a part holds the trials that have finished, and replaces no other file
    else:
        write(disk, name, old)
    fill(disk, pages_left)
    refused(words, folder, f"cannot write disk/{name.split('.')[0]}.")
    kept = set(os.listdir(disk)) - {"filler"}
    expect(kept <= {name, name + ".journal", COMPANION},
           f"{pages_left} pages: left behind: {sorted(kept)}")
    if old is not None:
        expect(read(disk, name) == old, f"{pages_left} pages: the old file has changed")
    os.remove(os.path.join(disk, "filler"))
    has_trials = name + ".journal" in kept or (name.endswith(".part") and name in kept)
    run(words.replace("--force", "--resume") if has_trials else words, folder)
    kept = set(os.listdir(disk))
    expect(kept - {COMPANION} == {name}, f"{pages_left} pages, then room: {sorted(kept)}")
    is_complete(read(disk, name))
    for file in kept:
        os.remove(os.path.join(disk, file))


def completeness(kind, words, folder):
    """A function that checks the bytes of the file against a run on a disk with enough room."""
    os.mkdir(os.path.join(folder, "disk"))
    run(words, folder)
    name = KINDS[kind][1]
    whole = read(folder, "disk/" + name)
    for file in os.listdir(os.path.join(folder, "disk")):
        os.remove(os.path.join(folder, "disk", file))

    def is_complete(content):
        if kind in ("result", "merged"):
            expect_same(content, whole, kind)
        elif kind == "part":  # it holds the seconds of the run
            expect(len(content) > 0.9 * len(whole), "the part is too short")
        else:
            expect(content == whole, f"{kind}: differs from that on a disk with room")
    return is_complete


def check_kind(kind, random, folder, short):
    words, name = KINDS[kind]
    words += name
    run(f"{TINY} --quiet --out a.json", folder)
    run(f"{RUN} --shard 1/1 --quiet --out a.part", folder)
    is_complete = completeness(kind, words, folder)
    disk = os.path.join(folder, "disk")
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK}", "none", disk],
                             capture_output=True, text=True)
    expect(mounted.returncode == 0, f"mount: {mounted.stderr}")
    peak = 5 if short else peak_of(words, folder, disk)
    # The last page before the peak interrupts the last write, the first pages the first one.
    for pages_left in {0, peak - 2, random.randrange(peak - 1)} if peak > 2 else {0}:
        without_room(words, name, folder, disk, pages_left, is_complete)


def full_disk(kind, number, seed, short=False):
    def check(folder):
        mount = subprocess.run(in_namespace() + ["sh", "-c", f"mount -t tmpfs none {folder}"],
                               capture_output=True, text=True)
        if mount.returncode != 0:
            raise Skipped(f"a tmpfs cannot be mounted: {mount.stderr.strip()}")
        process = subprocess.run(in_namespace() + [sys.executable, __file__, kind,
                                                   f"{seed} {number}", folder]
                                 + ["short"] * short,
                                 capture_output=True, text=True, timeout=200)
        expect(process.returncode == 0, (process.stdout + process.stderr).strip()[-800:])
    return Check(f"{kind} {number}", check)


def checks(seed, short):
    if short:
        return [full_disk("result", 0, seed, short)]
    return [full_disk(kind, number, seed) for kind in KINDS for number in range(ROUNDS[kind])]


if __name__ == "__main__":
    try:
        check_kind(sys.argv[1], generator(sys.argv[2], "disks"), sys.argv[3],
                   sys.argv[4:] == ["short"])
    except Failed as problem:
        raise SystemExit(str(problem)) from None
