"""Shards and merge: merged parts, in any order, equal the unsharded run byte for byte; parts that do not fit together are refused."""
import hashlib
import os
import random
import re
import signal
import struct
import subprocess
import unittest

import reference_models as models
from program import BINARY, TINY, loads, reproducible
from stored_tensors import safetensors
from test_interrupt import InterruptedTest, end_of_record
from test_smoke import PARTS, RUNS, for_each_part

SMALL = "random-features --m 12 --k 10 --d 5 --n 30 --steps 20 --restart-every 10 --trials 6"
LONG = "random-features --m 40 --k 40 --d 20 --n 120 --steps 60 --restart-every 20 --trials 60"


class ShardsTest(InterruptedTest):
    def shard(self, arguments, i, n, flags="", exit_code=0, out="p", **kw):
        return self.run_program(f"{arguments} --shard {i}/{n} --quiet --out {out}.{i}-of-{n}.part {flags}", exit_code, **kw)

    def parts(self, arguments, n, out="p"):
        """Runs all shards with different numbers of threads and returns the names of their parts."""
        for i in range(1, n + 1):
            self.shard(arguments, i, n, f"--threads {1 + i % 3}", out=out)
        return [f"{out}.{i}-of-{n}.part" for i in range(1, n + 1)]

    def state(self):
        return {name: hashlib.sha256(self.bytes_of(name)).hexdigest() for name in os.listdir(self.folder)}

    def fails(self, arguments, *needles, exit_code=1):
        """The program fails with one line that contains every needle, and no file changes."""
        before = self.state()
        message = self.refused(arguments, *needles, exit_code=exit_code)
        self.assertEqual(self.state(), before)
        return message

    def check_same(self, whole, merged):
        """Both results are equal except for the environment and the timing."""
        self.assertEqual(reproducible(whole), reproducible(merged))
        a, b = loads(whole), loads(merged)
        for document in (a, b):
            del document["environment"], document["timing"]
        self.assertEqual(a, b)


@for_each_part("merged_shards_of_every_study_equal_the_single_run")
class MergedEqualsSingleTest(ShardsTest):
    def check_run(self, number, arguments, trials=2):
        self.run_program(f"{arguments} --quiet --out {number}.json")
        parts = self.parts(arguments, trials, out=f"p{number}")
        random.Random(number).shuffle(parts)
        # As on a node with another processor: studies judge claims without BLAS.
        run = self.run_program(["merge", "--quiet", "--out", f"{number}.merged.json"] + parts, env={"OPENBLAS_CORETYPE": "Prescott"})
        self.assertEqual(run.stderr, "")
        self.check_same(self.read(f"{number}.json"), self.read(f"{number}.merged.json"))

    def merged_shards_of_every_study_equal_the_single_run(self, part):
        """One tiny run of each study and task."""
        runs = {}
        for what, arguments in RUNS.items():
            runs.setdefault((arguments.split()[0], *re.findall(r"--(?:study|task) (\S+)", arguments)), (what, arguments))
        for number, (what, arguments) in list(enumerate(runs.values()))[part::PARTS]:
            with self.subTest(what):
                self.check_run(number, f"{arguments} --trials 2" if "--trials" in arguments else arguments, 2 if "--trials" in arguments else 1)

    def test_published_weights_and_the_checksum_of_inputs(self):
        tensors = {name: (shape, values, "F64") for name, (shape, values) in models.bert_checkpoint().items()}
        self.write("w.safetensors", safetensors(tensors))
        self.write("ids.json", [[3, 0, 7, 7, 1, 10], [5, 2, 9, 4], [8, 8, 6, 1, 0]])
        arguments = "rank-collapse --model bert --weights w.safetensors --tokens-file ids.json --heads 2"
        self.check_run(1, arguments, 3)
        self.write("ids.json", [[3, 0, 7, 7, 1, 10], [5, 2, 9, 4], [8, 8, 6, 1, 2]])
        os.remove(self.path("p1.2-of-3.part"))
        self.shard(arguments, 2, 3, out="p1")
        self.fails("merge p1.1-of-3.part p1.2-of-3.part p1.3-of-3.part --out 1.json", "p1.2-of-3.part", "ids.json")

    def test_weights_whose_states_pass_through_a_block_together(self):
        """Mamba-2 multiplies the states of several curves at once, and the last bits depend on how many they are."""
        tensors = {name: (shape, values, "F32") for name, (shape, values) in models.mamba2_checkpoint(d=16).items()}
        self.write("w.safetensors", safetensors(tensors))
        rng = random.Random(1)
        for tokens in (7, 33):
            self.write("ids.json", [[rng.randrange(13) for _ in range(tokens)] for _ in range(5)])
            self.check_run(tokens, "rank-collapse --study layers --model mamba2 --weights w.safetensors --tokens-file ids.json"
                                   " --lambda=-5,-1,0,1,5 --precision f32", 5)

    def test_merge_reads_the_files_that_the_shards_read(self):
        self.write("a: b.json", [[3, 0, 7, 7], [5, 2, 9, 4]])
        arguments = ["rank-collapse", "--model", "gpt2", "--layers", "2", "--dim", "8", "--tokens-file", "a: b.json", "--quiet"]
        for i in (1, 2):
            self.run_program(arguments + ["--shard", f"{i}/2", "--out", f"{i}.part"])
        self.run_program("merge 1.part 2.part --out merged.json --quiet")
        self.run_program(arguments + ["--out", "whole.json"])
        self.check_same(self.read("whole.json"), self.read("merged.json"))
        inputs = loads(self.read("merged.json"))["environment"]["inputs"]
        self.assertEqual(list(inputs), ["a: b.json"])
        self.assertEqual(inputs, loads(self.read("whole.json"))["environment"]["inputs"])
        self.write("a: b.json", [[3, 0, 7, 7], [5, 2, 9, 8]])
        self.fails("merge 1.part 2.part --out merged.json", "1.part: the run read another a: b.json", inputs["a: b.json"])

    def test_a_changed_preset_and_the_environment_of_a_merged_result(self):
        arguments = "run spectral-fig03 --m 12 --k 10 --d 5 --n 30 --steps 20 --restart-every 10 --trials 5"
        whole = self.result_text(arguments, name="whole.json")
        run = self.run_program(["merge", "--out", "merged.json"] + self.parts(arguments, 5))
        self.assertIn("merged.json", run.stderr)
        merged = self.read("merged.json")
        self.check_schema(loads(merged))
        self.check_same(whole, merged)
        a, b = loads(whole)["environment"], loads(merged)["environment"]
        self.assertEqual(b["shards"], 5)
        self.assertEqual(b["threads"], 3)
        self.assertEqual(b["argv"][:4], ["ranklab", "merge", "--out", "merged.json"])
        for key in ("version", "git", "compiler", "flags", "armadillo", "blas", "blas_core", "program", "cpu", "folder"):
            self.assertEqual(a[key], b[key], key)
        self.assertGreater(loads(merged)["timing"]["trials_s"], 0)
        self.assertIn("reproduced bit for bit", self.run_program("verify merged.json --quiet").stdout)

    def test_default_output_paths_and_strict(self):
        for i in (1, 2):
            self.run_program(f"{TINY} --shard {i}/2 --quiet")
        parts = [f"results/random-features-trajectory.{i}-of-2.part" for i in (1, 2)]
        self.assertEqual(sorted(os.listdir(self.path("results"))), [os.path.basename(part) for part in parts])
        whole = self.result_text(TINY, name="whole.json")
        code = 3 if "fails" in [claim["verdict"] for claim in loads(whole)["claims"]] else 0
        self.run_program(["merge", "--strict", "--quiet", *parts], code)
        self.check_same(whole, self.read("results/random-features-trajectory.json"))
        self.check_same(whole, self.run_program(["merge", "--quiet", "--out", "-", *parts]).stdout)


class ResumeTest(ShardsTest):
    def test_a_stopped_shard_resumes_and_a_complete_one_is_not_changed(self):
        command, part = f"{LONG} --shard 2/2 --out p.2-of-2.part", "p.2-of-2.part"
        whole = self.result_text(LONG, name="whole.json")
        for number, code in ((signal.SIGKILL, -9), (signal.SIGTERM, 143)):
            process = self.stopped(command, number, part)
            self.assertEqual(process.returncode, code)
            self.assertEqual("--resume continues the shard" in process.errors, code > 0)
            self.assertRegex(self.fails(f"merge {part} --out x.json", "of 30 trials", "--shard 2/2 --resume"),
                             f"{part}: (ends|damaged) after [1-9]")
            if code < 0:
                os.truncate(self.path(part), os.path.getsize(self.path(part)) - 7)  # the node died within a record
            self.assertEqual("incomplete or damaged" in self.run_program(f"{command} --resume").stderr, code < 0)
            self.shard(LONG, 1, 2, "--force")
            self.run_program(f"merge {part} p.1-of-2.part --quiet --force --out merged.json")
            self.check_same(whole, self.read("merged.json"))
            before = self.state()
            self.assertIn("shard 2/2 is already complete", self.run_program(f"{command} --resume").stderr)
            self.assertEqual(self.state(), before)
            os.remove(self.path(part))

    def test_a_damaged_part_resumes_after_the_last_good_trial(self):
        part = "p.1-of-1.part"
        self.shard(SMALL, 1, 1, "--threads 1")
        content, whole = self.bytes_of(part), self.result_text(SMALL, name="whole.json")
        ends = [end_of_record(content, number) for number in range(7)]
        for kept in (0, 2, 5):
            middle = (ends[kept] + ends[kept + 1]) // 2
            for damaged, needle in ((content[:ends[kept]], "ends"), (content[:middle], "damaged"),
                                    (content[:middle] + bytes([content[middle] ^ 4]) + content[middle + 1:], "damaged")):
                self.write(part, damaged)
                self.fails(f"merge {part}", f"{part}: {needle} after {kept} of 6 trials; run it with --shard 1/1 --resume")
                run = self.run_program(f"{SMALL} --shard 1/1 --resume --threads 1 --out {part}")
                self.assertEqual(f"{part} is incomplete or damaged after {kept} finished trial" in run.stderr, needle == "damaged")
                self.assertEqual(self.bytes_of(part)[:ends[6]], content[:ends[6]])
        self.run_program(f"merge {part} --quiet --out merged.json")
        self.check_same(whole, self.read("merged.json"))
        for length in (0, 17, ends[0] - 1):
            self.write(part, content[:length])
            self.fails(f"merge {part}", f"{part}: not a part: its header is incomplete or damaged")
            self.shard(SMALL, 1, 1, "--resume --threads 1")
            self.assertEqual(self.bytes_of(part)[:ends[6]], content[:ends[6]])

    def test_existing_parts_and_files_are_not_overwritten(self):
        self.shard(SMALL, 1, 2)
        out = "--out p.1-of-2.part"
        for flags, *needles in ((f"--shard 1/2 {out}", "has 3 of 3 trials", "--resume", "--force"),
                                (f"--shard 2/2 {out} --resume", "a different run", "shard is 1 there, 2 here"),
                                (f"--shard 1/2 --seed 7 {out} --resume", "a different run", "seed is 1 there, 7 here"),
                                (f"--shard 1/3 {out}", "a different run", "shards is 2 there, 3 here")):
            self.fails(f"{SMALL} {flags}", "p.1-of-2.part", *needles, exit_code=2)
        for content in ("something of the user's", "ranklab\2 a part of an earlier version"):
            self.write("x.part", content)
            for flags in ("", "--resume", "--force"):
                self.fails(f"{SMALL} --shard 1/2 --out x.part {flags}", "x.part: is not a journal or part of this version")
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
        self.fails(f"merge {b} {d} --out new.json", "no part of shards 1/4, 3/4; run them with --shard 1/4 --resume")
        self.fails(f"merge {a} {b} {d} --out new.json", "no part of shard 3/4; run it with --shard 3/4 --resume")
        self.write("again.part", self.bytes_of(b))
        self.fails(f"merge {a} {b} {c} {d} again.part", f"again.part: shard 2/4 is also in {b}")
        self.shard(f"{SMALL} --seed 2", 4, 4, out="other")
        self.fails(f"merge {a} {b} {c} other.4-of-4.part",
                   f"other.4-of-4.part: belongs to a different run than {a}: seed is 1 there, 2 here", "no part of shard 4/4")
        self.shard(SMALL, 1, 2)
        self.fails(f"merge {a} p.1-of-2.part", "p.1-of-2.part: belongs to a different run", "shards is 4 there, 2 here")
        # One line lists all errors.
        self.fails(f"merge {a} {b} again.part other.4-of-4.part nothing.part out.json --out out.json", "again.part: shard 2/4",
                   "other.4-of-4.part: belongs", "nothing.part", "out.json: is not a journal or part", "no part of shards 3/4, 4/4")
        # A file that is not a result of this run is not replaced without --force.
        self.fails(f"merge {a} {b} {c} {d} --out out.json", "out.json", "--force", exit_code=2)
        self.run_program(f"merge {a} {b} {c} {d} --out out.json --force --quiet")
        self.check_same(self.result_text(SMALL, name="whole.json"), self.read("out.json"))
        self.fails(f"merge {a} {b} {c} {d} --out /dev/full", "/dev/full")

    def test_parts_of_another_kernel_or_another_program_are_refused(self):
        self.shard(SMALL, 1, 2)
        self.shard(SMALL, 2, 2, env={"OPENBLAS_CORETYPE": "Prescott"})
        self.fails("merge p.1-of-2.part p.2-of-2.part", 'blas_core is "', 'there, "Prescott" here',
                   "set OPENBLAS_CORETYPE to one value on all nodes")
        # Another build wrote both parts, so they fit together. The build is this program with a byte appended, which changes its checksum.
        other = self.path("ranklab-other")
        with open(BINARY, "rb") as file:
            self.write("ranklab-other", file.read() + b"\n")
        os.chmod(other, 0o755)
        for i in (1, 2):
            subprocess.run([other] + f"{SMALL} --shard {i}/2 --quiet --out o.{i}-of-2.part".split(), cwd=self.folder, check=True)
        self.fails("merge p.1-of-2.part o.2-of-2.part", "o.2-of-2.part: belongs to a different run", "program is")
        self.fails("merge o.1-of-2.part o.2-of-2.part", "a different program", "program is")

    def test_simultaneous_merges_into_one_file_leave_a_complete_result(self):
        parts = self.parts(SMALL, 6)
        whole = self.result_text(SMALL, name="whole.json")
        merges = [subprocess.Popen([BINARY, "merge", "--quiet", "--out", "out.json"] + parts, cwd=self.folder) for _ in range(8)]
        self.assertLessEqual({merge.wait(timeout=60) for merge in merges}, {0, 1})
        self.check_same(whole, self.read("out.json"))
        self.assertEqual([name for name in os.listdir(self.folder) if "tmp" in name], [])

    def test_status_shows_the_trials_of_each_part(self):
        a, b, c = self.parts(SMALL, 3)
        self.write(b, self.bytes_of(b)[:end_of_record(self.bytes_of(b), 1) + 9])
        self.write("new.part", "")
        self.assertEqual(self.run_program(f"merge --dry-run {a} {b} new.part").stdout,
                         "random-features trajectory: 6 trials in 3 shards\n"
                         "  p.1-of-3.part  shard 1/3  complete\n"
                         "  p.2-of-3.part  shard 2/3  1 of 2 trials\n"
                         "  new.part                  has just been created\n"
                         "  no part of shard 3/3; run it with --shard 3/3 --resume\n")
        self.shard(f"{SMALL} --seed 2", 1, 3, out="x")
        self.write("x.part", "nothing")
        self.fails(f"merge --dry-run {c} x.1-of-3.part", "x.1-of-3.part: belongs to a different run", "seed is 1 there, 2 here")
        self.fails("merge --dry-run x.part", "x.part: is not a journal or part")
        self.fails("merge --dry-run new.part", "no shard has started")
        self.fails("merge --dry-run nothing.part", "nothing.part")
        self.refused("merge --dry-run", "none given")
        self.refused("status a.part", "merge --dry-run PART...` replaced `", "status`")


def record(content):
    """A record as the program writes it."""
    value = 0xcbf29ce484222325
    for byte in content:
        value = (value ^ byte) * 0x100000001b3 % 2**64
    return struct.pack("<QQ", len(content), value) + content


def note(text):
    return record(b"\xff" * 8 + text)


class ForeignPartsTest(ShardsTest):
    """Parts that another program or a failing disk wrote: one line in time, whatever they claim."""

    def setUp(self):
        super().setUp()
        self.shard(SMALL, 1, 2, "--threads 1")
        part = self.bytes_of("p.1-of-2.part")
        self.version = part[:part.index(b"\n") + 1]
        self.header = part[len(self.version) + 16:end_of_record(part, 0)]
        self.trials = part[end_of_record(part, 0):end_of_record(part, 3)]
        self.assertEqual(self.version + record(self.header) + self.trials, part[:end_of_record(part, 3)])

    def write_part(self, header, records):
        self.write("x.part", self.version + record(header) + records)

    def line(self, section, name):
        return re.search(rb"^%s %s: (.*)$" % (section.encode(), name.encode()), self.header, re.M).group(0)

    def replaced(self, section, name, value):
        return self.header.replace(self.line(section, name), f"{section} {name}: {value}".encode())

    def test_headers_are_not_believed(self):
        """tests/fuzz/findings/part has more."""
        deep = "[" * 100_000 + "]" * 100_000
        for section, name, value, *needles in (
                ("config", "m", deep, "64 nested lists"), ("part", "shard", deep, "64 nested lists"), ("part", "command", "3"),
                ("config", "trials", 4_000_000_000, "ends after 3 of 2000000000 trials")):
            with self.subTest(f"{section} {name}: {str(value)[:20]}"):
                self.write_part(self.replaced(section, name, value), self.trials)
                self.fails("merge x.part --out m.json", "x.part", *needles)
        many = self.replaced("config", "trials", 4_000_000_000).replace(self.line("part", "shards"), b"part shards: 4000000000")
        self.write_part(many, self.trials)
        self.fails("merge --dry-run x.part", "trial 2 does not belong to shard 1/4000000000")
        self.write_part(many, self.trials[:16 + struct.unpack("<Q", self.trials[:8])[0]])
        self.fails("merge x.part --out m.json", "2/4000000000", "and 3999999979 more")

    def test_notes_and_trials_that_are_not_of_the_study(self):
        self.shard(SMALL, 2, 2)
        for text in (b'{"wall_s": "x", "cpu": 3, "threads": -1}', b'{"wall_s": null}', b"[" * 100_000, b"", b'["cpu"]'):
            self.write_part(self.header, self.trials + note(text))
            self.run_program("merge x.part p.2-of-2.part --quiet --force --out m.json")
        trial = {index: record(struct.pack("<QQ", index, 0)) for index in (0, 1, 2, 4)}
        for indices, needle in (((0, 2, 4), "do not have the numbers of this study"), ((0, 0, 0), "x.part: damaged after 1 of 3 trials"),
                                ((0, 1, 2), "x.part: trial 1 does not belong to shard 1/2")):
            self.write_part(self.header, b"".join(trial[index] for index in indices))
            self.fails("merge x.part p.2-of-2.part --force --out m.json", "x.part", needle)

    def test_devices_and_foreign_files(self):
        self.refused("merge /dev/zero --out m.json", "/dev/zero", "not a file", exit_code=1)
        os.mkfifo(self.path("fifo"))
        self.write("notes.journal", "my notes")
        for name in ("fifo", "notes.journal", "."):
            self.refused(["merge", "--dry-run", name], name, exit_code=1)


class FileSystemTest(ShardsTest):
    def test_runs_and_merges_work_on_a_file_system_without_locks(self):
        # A library whose flock fails as on Lustre without locks.
        self.write("flock.c", "#include <errno.h>\nint flock(int d, int o) { (void)d; (void)o; errno = ENOSYS; return -1; }\n")
        subprocess.run(["cc", "-shared", "-fPIC", "-o", "flock.so", "flock.c"], cwd=self.folder, check=True)
        # `make sanitize` else refuses a library that is loaded before its own.
        env = {"LD_PRELOAD": self.path("flock.so"), "ASAN_OPTIONS": "verify_asan_link_order=0"}
        whole = self.result_text(SMALL, name="whole.json")
        self.check_same(whole, self.result_text(SMALL, name="b.json", env=env))
        for i in (1, 2):
            self.shard(SMALL, i, 2, env=env)
        self.run_program("merge p.1-of-2.part p.2-of-2.part --quiet --out merged.json", env=env)
        self.check_same(whole, self.read("merged.json"))


if __name__ == "__main__":
    unittest.main()
