"""Shards and merge: merged parts, in any order, equal the unsharded run byte for byte; parts that do not fit together are refused."""
import glob
import hashlib
import os
import random
import re
import signal
import struct
import subprocess
import time
import unittest

import reference_models as models
from program import BINARY, TINY, ProgramTest, loads, reproducible
from stored_tensors import npy, safetensors
from test_smoke import PARTS, RUNS, for_each_part

SMALL = "random-features --m 12 --k 10 --d 5 --n 30 --steps 20 --restart-every 10 --trials 6"
# Takes several seconds on one thread, so that the journal, written once a second, exists before the run ends.
LONG = "random-features --m 40 --k 40 --d 20 --n 120 --steps 60 --restart-every 20 --trials 120"


class ShardsTest(ProgramTest):
    def shard(self, arguments, i, n, flags="", exit_code=0, out="p"):
        return self.run_program(f"{arguments} --shard {i}/{n} --quiet --out {out}.{i}-of-{n}.part {flags}", exit_code)

    def parts(self, arguments, n, out="p"):
        """Runs all shards with different numbers of threads and returns the names of their parts."""
        for i in range(1, n + 1):
            self.shard(arguments, i, n, f"--threads {1 + i % 3}", out=out)
        return [f"{out}.{i}-of-{n}.part" for i in range(1, n + 1)]

    def bytes_of(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def state(self):
        return {name: hashlib.sha256(self.bytes_of(name)).hexdigest() for name in os.listdir(self.folder)}

    def merge_refused(self, arguments, *needles, exit_code=1):
        """The merge fails with one line that contains every needle, and no file changes."""
        before = self.state()
        run = self.run_program("merge " + arguments, exit_code)
        self.assertEqual(len(run.stderr.splitlines()), 1, run.stderr)
        for needle in needles:
            self.assertIn(needle, run.stderr)
        self.assertEqual(self.state(), before)
        return run.stderr

    def check_same(self, whole, merged):
        """Both results are equal except for the environment and the timing."""
        self.assertEqual(reproducible(whole), reproducible(merged))
        a, b = loads(whole), loads(merged)
        for document in (a, b):
            self.check_schema(document)
            del document["environment"], document["timing"]
        self.assertEqual(a, b)


@for_each_part("merged_shards_of_every_study_equal_the_single_run")
class MergedEqualsSingleTest(ShardsTest):
    def check_run(self, number, arguments):
        trials = loads(self.run_program(f"{arguments} --dry-run").stdout)["config"]["trials"]
        whole = self.result_text(arguments, name=f"{number}.json")
        parts = self.parts(arguments, min(3, trials), out=f"p{number}")
        random.Random(number).shuffle(parts)
        # As on a node with another processor: studies judge claims without BLAS.
        run = self.run_program(["merge", "--quiet", "--out", f"{number}.merged.json"] + parts, env={"OPENBLAS_CORETYPE": "Prescott"})
        self.assertEqual(run.stderr, "")
        self.check_same(whole, self.read(f"{number}.merged.json"))

    def merged_shards_of_every_study_equal_the_single_run(self, part):
        for number, (what, arguments) in list(enumerate(RUNS.items()))[part::PARTS]:
            with self.subTest(what):
                self.check_run(number, arguments)

    def test_shards_of_published_weights_and_the_checksum_of_inputs(self):
        tensors = {name: (shape, values, "F64") for name, (shape, values) in models.bert_checkpoint().items()}
        self.write("w.safetensors", safetensors(tensors))
        self.write("ids.json", [[3, 0, 7, 7, 1, 10], [5, 2, 9, 4], [8, 8, 6, 1, 0]])
        arguments = "rank-collapse --model bert --weights w.safetensors --tokens-file ids.json --heads 2"
        self.check_run(1, arguments)
        self.write("ids.json", [[3, 0, 7, 7, 1, 10], [5, 2, 9, 4], [8, 8, 6, 1, 2]])
        os.remove(self.path("p1.2-of-3.part"))
        self.shard(arguments, 2, 3, out="p1")
        self.merge_refused("p1.1-of-3.part p1.2-of-3.part p1.3-of-3.part --out 1.json", "p1.2-of-3.part", "ids.json")

    def test_the_files_of_a_manifest_are_inputs_too(self):
        self.write("a.npy", npy([[1.0, 2.0, 3.0], [4.0, 5.0, 7.0]]))
        self.write("g.npy", npy([[1.0, 2.0], [3.0, 5.0]]))
        self.write("m.json", {"pairs": [{"name": "W", "activation": "a.npy", "gradient": "g.npy"}]})
        arguments = "one-step-compare --study files --manifest m.json --trials 2"
        self.shard(arguments, 1, 2)
        self.write("g.npy", npy([[1.0, 2.0], [3.0, 6.0]]))
        self.shard(arguments, 2, 2)
        self.merge_refused("p.1-of-2.part p.2-of-2.part", "g.npy")

    def test_a_changed_preset_and_the_environment_of_a_merged_result(self):
        arguments = "run spectral-fig03 --m 12 --k 10 --d 5 --n 30 --steps 20 --restart-every 10 --trials 5"
        whole = self.result_text(arguments, name="whole.json", cwd=None)
        run = self.run_program(["merge", "--out", "merged.json"] + self.parts(arguments, 5))
        self.assertIn("merged.json", run.stderr)
        merged = self.read("merged.json")
        self.check_same(whole, merged)
        a, b = loads(whole)["environment"], loads(merged)["environment"]
        self.assertEqual(b["shards"], 5)
        self.assertEqual(b["threads"], 3)
        self.assertEqual(b["argv"][:4], ["ranklab", "merge", "--out", "merged.json"])
        for key in ("version", "git", "compiler", "flags", "armadillo", "blas", "blas_core", "program", "cpu", "folder"):
            self.assertEqual(a[key], b[key], key)
        self.assertIn("reproduced bit for bit", self.run_program("verify merged.json --quiet").stdout)

    def test_default_output_paths_and_strict(self):
        for i in (1, 2):
            self.run_program(f"{TINY} --shard {i}/2 --quiet")
        parts = sorted(os.listdir(self.path("results")))
        self.assertEqual(parts, ["random-features-trajectory.1-of-2.part", "random-features-trajectory.2-of-2.part"])
        whole = self.run_program(f"{TINY} --strict --quiet --out whole.json", None)
        run = self.run_program(["merge", "--strict", "--quiet"] + [f"results/{part}" for part in parts], whole.returncode)
        self.check_same(self.read("whole.json"), self.read("results/random-features-trajectory.json"))
        run = self.run_program(["merge", "--quiet", "--out", "-"] + [f"results/{part}" for part in parts])
        self.check_same(self.read("whole.json"), run.stdout)

    def run_program(self, arguments, exit_code=0, **kw):
        if exit_code is not None:
            return super().run_program(arguments, exit_code, **kw)
        return subprocess.run([BINARY] + arguments.split(), cwd=self.folder, capture_output=True, text=True, timeout=120)


class ResumeTest(ShardsTest):
    def test_a_killed_shard_resumes_and_a_complete_one_is_not_changed(self):
        # The journal is written once a second: the shard must run for several seconds.
        long = LONG.replace("--trials 120", "--trials 400")
        whole = self.result_text(long, name="whole.json")
        command = long.split() + ["--shard", "2/2", "--quiet", "--out", "p.2-of-2.part"]
        process = subprocess.Popen([BINARY, *command, "--threads", "1"], cwd=self.folder)
        journal = self.path("p.2-of-2.part.journal")
        deadline = time.monotonic() + 60
        while (not os.path.exists(journal) or os.path.getsize(journal) < 20_000) and time.monotonic() < deadline and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        self.assertEqual(process.wait(timeout=60), -signal.SIGKILL, "the shard ended before it could be killed")
        self.assertFalse(os.path.exists(self.path("p.2-of-2.part")))
        self.merge_refused("p.2-of-2.part.journal --out x.json", "p.2-of-2.part.journal: not a part", "shard 2/2", "of 200 trials")
        before = os.path.getsize(journal)
        with open(journal, "r+b") as file:  # the node died in the middle of a record
            file.truncate(before - 7)
        self.run_program(command + ["--resume"])
        self.assertFalse(os.path.exists(journal))
        self.shard(long, 1, 2)
        self.run_program("merge p.2-of-2.part p.1-of-2.part --quiet --out merged.json")
        self.check_same(whole, self.read("merged.json"))
        before = self.state()
        self.run_program(command + ["--resume"])
        self.assertEqual(self.state(), before)

    def test_an_interrupted_shard_keeps_its_journal(self):
        process = subprocess.Popen([BINARY] + LONG.split() + ["--shard", "1/1", "--out", "p.1-of-1.part"], cwd=self.folder,
                                   stderr=subprocess.PIPE, text=True)
        journal = self.path("p.1-of-1.part.journal")
        while not os.path.exists(journal) or os.path.getsize(journal) < 20_000:
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 143)
        self.assertIn("--resume continues", errors)
        self.assertEqual(os.listdir(self.folder), ["p.1-of-1.part.journal"])

    def test_existing_parts_and_files_are_not_overwritten(self):
        self.shard(SMALL, 1, 2)
        out = "--out p.1-of-2.part"
        for flags, needles in ((f"--shard 1/2 {out}", ("is complete", "--resume", "--force")),
                               (f"--shard 2/2 {out} --resume", ("a different run", "shard is 1 there, 2 here")),
                               (f"--shard 1/2 --seed 7 {out} --resume", ("a different run", "seed is 1 there, 7 here")),
                               (f"--shard 1/3 {out}", ("a different run", "shards is 2 there, 3 here"))):
            before = self.state()
            self.refused(f"{SMALL} {flags}", "p.1-of-2.part", *needles)
            self.assertEqual(self.state(), before)
        self.write("x.part", "something of the user's")
        self.refused(f"{SMALL} --shard 1/2 --out x.part --resume", "x.part", "is not a ranklab part")
        self.run_program(f"{SMALL} --shard 1/2 --seed 7 {out} --force --quiet")
        self.assertIn(b"config seed: 7\n", self.bytes_of("p.1-of-2.part"))


class RefusalTest(ShardsTest):
    def test_bad_shards(self):
        for value in ("0/2", "3/2", "1/7", "1/0", "2", "a/b", "1/2/3", "-1/2", "1.5/2", ""):
            self.refused(SMALL.split() + [f"--shard={value}"], "--shard", value)
        self.refused(f"{SMALL} --shard 1/2 --out -", "--out -")
        self.refused(f"{SMALL} --shard 1/2 --out /dev/null", "--out /dev/null")
        self.refused(f"{SMALL} --shard 1/2 --strict", "--strict", "merge")
        self.refused("merge", "none given")
        self.refused(f"{SMALL} --shard", "--shard", "value")

    def test_missing_duplicate_and_foreign_parts(self):
        a, b, c, d = self.parts(SMALL, 4)
        self.write("out.json", "precious")
        self.merge_refused(f"{b} {d} --out new.json", "shards 1/4, 3/4 have no part; run them with --shard 1/4 --resume")
        self.merge_refused(f"{a} {b} {d} --out new.json", "shard 3/4 has no part; run it with --shard 3/4 --resume")
        self.write("again.part", self.bytes_of(b))
        self.merge_refused(f"{a} {b} {c} {d} again.part", f"again.part: shard 2/4 is also in {b}")
        self.parts(f"{SMALL} --seed 2", 4, out="other")
        self.merge_refused(f"{a} {b} {c} other.4-of-4.part", f"other.4-of-4.part: belongs to a different run than {a}: seed is 2, not 1",
                           "shard 4/4 has no part")
        self.shard(SMALL, 1, 2)
        self.merge_refused(f"{a} p.1-of-2.part", "p.1-of-2.part: belongs to a different run", "shards is 2, not 4")
        # One line lists all errors.
        message = self.merge_refused(f"{a} {b} again.part other.4-of-4.part nothing.part out.json --out out.json")
        for needle in ("again.part: shard 2/4", "other.4-of-4.part: belongs", "nothing.part", "out.json: not a part",
                       "shards 3/4, 4/4 have no part"):
            self.assertIn(needle, message)
        # A file that is not a result of this run is not replaced without --force.
        self.merge_refused(f"{a} {b} {c} {d} --out out.json", "out.json", "--force", exit_code=2)
        self.run_program(f"merge {a} {b} {c} {d} --out out.json --force --quiet")
        self.check_same(self.result_text(SMALL, name="whole.json"), self.read("out.json"))
        self.merge_refused(f"{a} {b} {c} {d} --out /dev/full", "/dev/full")

    def test_truncated_and_damaged_parts_are_refused(self):
        a, b = self.parts(SMALL, 2)
        whole = self.bytes_of(b)
        found = set()
        for length in list(range(0, len(whole), len(whole) // 40)) + [len(whole) - 1]:
            self.write(b, whole[:length])
            message = self.merge_refused(f"{a} {b}", f"{b}: ")
            found.add(message.split(f"{b}: ")[1].split(";")[0].strip())
        self.assertEqual(found, {"not a part"} | {f"damaged after {n} of 3 trials" for n in range(4)})
        self.refused(f"{SMALL} --shard 2/2 --out {b} --resume", "is damaged after 3 of 3 trials", "--force")
        self.write(b, whole + b"x")
        self.merge_refused(f"{a} {b}", f"{b}: damaged after 3 of 3 trials")
        for at in range(20, len(whole), len(whole) // 40):
            self.write(b, whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1:])
            self.merge_refused(f"{a} {b}", f"{b}: ")

    def test_parts_of_another_kernel_or_another_program_are_refused(self):
        self.shard(SMALL, 1, 2)
        kernel = "Prescott"
        self.run_program(f"{SMALL} --shard 2/2 --quiet --out p.2-of-2.part", env={"OPENBLAS_CORETYPE": kernel})
        message = self.merge_refused("p.1-of-2.part p.2-of-2.part", "blas_core is ", "set OPENBLAS_CORETYPE to one value on all nodes")
        self.assertIn(f'"{kernel}", not', message)
        # Another build wrote both parts, so they fit together. The build is this program with a byte appended, which changes its checksum.
        other = self.path("ranklab-other")
        with open(BINARY, "rb") as file:
            self.write("ranklab-other", file.read() + b"\n")
        os.chmod(other, 0o755)
        for i in (1, 2):
            subprocess.run([other] + f"{SMALL} --shard {i}/2 --quiet --out o.{i}-of-2.part".split(), cwd=self.folder, check=True)
        self.merge_refused("p.1-of-2.part o.2-of-2.part", "o.2-of-2.part: belongs to a different run", "program is")
        self.merge_refused("o.1-of-2.part o.2-of-2.part", "a different program", "program is")

    def test_simultaneous_merges_into_one_file_leave_a_complete_result(self):
        parts = self.parts(SMALL, 6)
        whole = self.result_text(SMALL, name="whole.json")
        merges = [subprocess.Popen([BINARY, "merge", "--quiet", "--out", "out.json"] + parts, cwd=self.folder) for _ in range(8)]
        self.assertLessEqual({merge.wait(timeout=60) for merge in merges}, {0, 1})
        self.check_same(whole, self.read("out.json"))
        self.assertEqual([name for name in os.listdir(self.folder) if "tmp" in name], [])


class StatusTest(ShardsTest):
    def status(self, *patterns):
        names = sorted(name for pattern in patterns for name in glob.glob(pattern, root_dir=self.folder))
        return self.run_program(["status"] + names).stdout

    def test_running_and_missing_shards_are_listed(self):
        process = subprocess.Popen([BINARY] + LONG.split() + "--trials 100000 --shard 4/6 --quiet --out p.4-of-6.part".split(), cwd=self.folder)
        try:
            journal = self.path("p.4-of-6.part.journal")
            while not os.path.exists(journal) or os.path.getsize(journal) < 10_000:
                time.sleep(0.05)
            time.sleep(2.2)
            output = self.status("p.*-of-6.part*")
        finally:
            process.kill()
            process.wait()
        self.assertRegex(output, r"random-features trajectory: 100000 trials in 6 shards\n")
        self.assertRegex(output, r"running +1  4\n")
        self.assertRegex(output, r"missing +5  1-3,5-6\n")
        self.assertRegex(output, r"(?m)^  4 +\d+ of 16667 +[0-9.]+ s ago +in \d+")
        self.assertIn("expected end: in ", output)
        self.refused(["status", "p.4-of-6.part.journal", *self.parts(SMALL, 2)], "p.1-of-2.part: belongs to a different run", exit_code=1)

    def test_complete_damaged_and_missing_parts_are_listed(self):
        parts = self.parts(SMALL, 6)
        self.assertEqual(self.status("p.*"), "random-features trajectory: 6 trials in 6 shards\n  complete     6  1-6\n")
        os.remove(self.path(parts[1]))
        os.truncate(self.path(parts[3]), 2000)
        output = self.status("p.*")
        for line in ("complete     4  1,3,5-6", "damaged      1  4", "missing      1  2"):
            self.assertIn(f"  {line}\n", output)
        self.write("x.part", "nothing")
        self.refused("status x.part", "x.part: not a part", exit_code=1)
        self.refused("status nothing.part", "nothing.part", exit_code=1)
        self.refused("status", "none given")


def record(content):
    """A record as the program writes it."""
    value = 0xcbf29ce484222325
    for byte in content:
        value = (value ^ byte) * 0x100000001b3 % 2**64
    return b"ranklab\x02" + struct.pack("<QQ", len(content), value) + content


class ForeignPartsTest(ShardsTest):
    """Parts that another program or a failing disk wrote: one line in time, whatever they claim."""

    def setUp(self):
        super().setUp()
        self.shard(SMALL, 1, 2)
        self.part = self.bytes_of("p.1-of-2.part")
        length = struct.unpack("<Q", self.part[8:16])[0]
        self.header = self.part[24:24 + length]
        self.assertEqual(record(self.header), self.part[:24 + length])
        self.rest = self.part[24 + length:]

    def refused_with_header(self, header, *needles):
        self.write("x.part", record(header) + self.rest)
        self.merge_refused("x.part --out m.json", *needles)
        run = subprocess.run([BINARY, "status", "x.part"], cwd=self.folder, capture_output=True, text=True, timeout=20)
        self.assertEqual(len(run.stderr.splitlines()), 1 if run.returncode else 0, run.stderr)
        self.assertIn(run.returncode, (0, 1))
        self.assertNotIn("exception", run.stderr)
        return run

    def line(self, section, name):
        return re.search(rb"^%s %s: (.*)$" % (section.encode(), name.encode()), self.header, re.M).group(0)

    def replaced(self, section, name, value):
        return self.header.replace(self.line(section, name), f"{section} {name}: {value}".encode())

    def test_a_header_nested_100000_deep(self):
        deep = "[" * 100_000 + "]" * 100_000
        for section, name in (("config", "m"), ("environment", "git"), ("preset", "finding"), ("part", "shard")):
            self.refused_with_header(self.replaced(section, name, deep), "x.part", "64 nested lists")

    def test_numbers_of_trials_and_shards_are_not_believed(self):
        self.refused_with_header(self.replaced("config", "trials", 4_000_000_000), "damaged after")
        many = self.replaced("config", "trials", 4_000_000_000).replace(self.line("part", "shards"), b"part shards: 4000000000")
        run = self.refused_with_header(many, "x.part")
        self.assertIn("2-4000000000", run.stdout)
        one = self.rest[:24 + struct.unpack("<Q", self.rest[8:16])[0]]  # the note of the session
        trial = self.rest[len(one):][:24 + struct.unpack("<Q", self.rest[len(one) + 8:len(one) + 16])[0]]
        self.write("x.part", record(many) + one + trial + record(b"\xff" * 8 + b'{"wall_s": 1}'))
        self.assertIn("and 3999999979 more", self.merge_refused("x.part --out m.json", "2/4000000000"))

    def test_values_of_another_type(self):
        for section, name, value in (("part", "command", "3"), ("part", "shard", '"1"'), ("config", "study", "[]"), ("config", "trials", "1.5"),
                                     ("preset", "title", "{}"), ("environment", "program", "null"), ("environment", "git", "[1]")):
            self.refused_with_header(self.replaced(section, name, value))
        for trailer in (b'{"wall_s": "x", "cpu": 3, "threads": -1}', b'{"wall_s": null}', b"[" * 100_000):
            notes = self.rest[:self.rest.rindex(b"ranklab\x02")]
            self.write("x.part", record(self.header) + notes + record(b"\xff" * 8 + trailer))
            self.merge_refused("x.part --out m.json", "shard 2/2" if trailer.startswith(b"{") else "damaged after")
            self.run_program("status x.part")
        session = re.search(rb"ranklab\x02.{16}\xff{8}(\{[^}]*\})", self.rest, re.S)
        self.write("x.part", record(self.header) + self.rest.replace(session.group(0), record(b"\xff" * 8 + b'{"started": "x", "trials": []}')))
        self.run_program("status x.part")

    def test_trials_that_are_not_of_the_study(self):
        self.shard(SMALL, 2, 2)
        trials = [struct.pack("<QQ", index, 0) for index in range(0, 100, 2)][:self.rest.count(b"ranklab\x02") - 2]
        notes = [record(b"\xff" * 8 + b'{"wall_s": 1}')]
        self.write("x.part", record(self.header) + b"".join(record(trial) for trial in trials) + notes[0])
        self.merge_refused("x.part p.2-of-2.part --out m.json", "x.part", "do not have the numbers of this study")
        self.write("x.part", record(self.header) + b"".join(record(trials[0]) for _ in trials) + notes[0])
        self.merge_refused("x.part p.2-of-2.part --out m.json", "x.part: trial 0 occurs twice")

    def test_devices_and_foreign_files(self):
        self.merge_refused("/dev/zero --out m.json", "/dev/zero", "not a file")
        os.mkfifo(self.path("fifo"))
        self.write("notes.journal", "my notes")
        self.write("empty.part", "")
        for name in ("fifo", "notes.journal", "empty.part", "."):
            run = self.run_program(["status", name], 1, timeout=20)
            self.assertEqual(len(run.stderr.splitlines()), 1, run.stderr)

    def test_a_damaged_record_in_a_journal_is_named_and_its_trial_runs_again(self):
        self.shard(LONG, 1, 1, "--threads 1")
        part = self.bytes_of("p.1-of-1.part")
        middle = part.index(b"ranklab\x02", len(part) // 2)
        end = part.rindex(b"ranklab\x02")
        flipped = part[:middle + 40] + bytes([part[middle + 40] ^ 1]) + part[middle + 41:end]
        os.remove(self.path("p.1-of-1.part"))
        self.write("p.1-of-1.part.journal", flipped)
        run = self.run_program(f"{LONG} --shard 1/1 --resume --out p.1-of-1.part")
        self.assertIn("p.1-of-1.part.journal has damaged records; their trials run again", run.stderr)
        self.run_program("merge p.1-of-1.part --quiet --out merged.json")
        self.check_same(self.result_text(LONG, name="whole.json"), self.read("merged.json"))


class FileSystemTest(ShardsTest):
    def test_a_run_on_a_full_disk_can_be_resumed(self):
        run = f"{LONG} --trials 40"
        # A limit on the size of a file, in kilobytes, simulates a full disk.
        full = subprocess.run(["bash", "-c", f"ulimit -f 100; exec {BINARY} {run} --shard 1/1 --threads 1 --out p.part"],
                             cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(full.returncode, 1, full.stderr)
        self.assertRegex(full.stderr, r"^ranklab: cannot write p.part.journal: [^\n]*\n$")
        # The records written before are complete and are used when there is space again.
        self.run_program(f"{run} --shard 1/1 --out p.part --resume --quiet")
        self.run_program("merge p.part --quiet --out merged.json")
        self.check_same(self.result_text(run, name="whole.json"), self.read("merged.json"))

    def without_locks(self):
        """Builds a library whose flock fails as on Lustre without locks; returns the environment that loads it."""
        self.write("flock.c", "#include <errno.h>\nint flock(int d, int o) { (void)d; (void)o; errno = ENOSYS; return -1; }\n")
        subprocess.run(["cc", "-shared", "-fPIC", "-o", "flock.so", "flock.c"], cwd=self.folder, check=True)
        # `make sanitize` else refuses a library that is loaded before its own.
        return {"LD_PRELOAD": self.path("flock.so"), "ASAN_OPTIONS": "verify_asan_link_order=0"}

    def test_runs_and_merges_work_on_a_file_system_without_locks(self):
        whole = self.result_text(SMALL, name="whole.json")
        env = self.without_locks()
        self.check_same(whole, self.result_text(SMALL, name="b.json", env=env))
        for i in (1, 2):
            self.run_program(f"{SMALL} --shard {i}/2 --quiet --out p.{i}-of-2.part", env=env)
        self.run_program("merge p.1-of-2.part p.2-of-2.part --quiet --out merged.json", env=env)
        self.check_same(whole, self.read("merged.json"))


if __name__ == "__main__":
    unittest.main()
