"""Shards and merge: the parts of a run, in any order, are the single run byte for byte; what does not fit together is refused."""
import glob
import hashlib
import os
import random
import signal
import subprocess
import time
import unittest

import reference_models as models
from program import BINARY, TINY, ProgramTest, loads, reproducible
from stored_tensors import npy, safetensors
from test_smoke import RUNS

SMALL = "random-features --m 12 --k 10 --d 5 --n 30 --steps 20 --restart-every 10 --trials 6"
# Some seconds on one thread: the journal is written once a second.
LONG = "random-features --m 40 --k 40 --d 20 --n 120 --steps 60 --restart-every 20 --trials 120"


class ShardsTest(ProgramTest):
    def shard(self, arguments, i, n, flags="", exit_code=0, out="p"):
        return self.run_program(f"{arguments} --shard {i}/{n} --quiet --out {out}.{i}-of-{n}.part {flags}", exit_code)

    def parts(self, arguments, n, out="p"):
        """Runs all shards, on different numbers of threads, and returns the names of their parts."""
        for i in range(1, n + 1):
            self.shard(arguments, i, n, f"--threads {1 + i % 3}", out=out)
        return [f"{out}.{i}-of-{n}.part" for i in range(1, n + 1)]

    def bytes_of(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def state(self):
        return {name: hashlib.sha256(self.bytes_of(name)).hexdigest() for name in os.listdir(self.folder)}

    def merge_refused(self, arguments, *needles, exit_code=1):
        """One line that holds every needle; every file is as it was."""
        before = self.state()
        run = self.run_program("merge " + arguments, exit_code)
        self.assertEqual(len(run.stderr.splitlines()), 1, run.stderr)
        for needle in needles:
            self.assertIn(needle, run.stderr)
        self.assertEqual(self.state(), before)
        return run.stderr

    def check_same(self, whole, merged):
        """Everything but where and when it was measured."""
        self.assertEqual(reproducible(whole), reproducible(merged))
        a, b = loads(whole), loads(merged)
        for document in (a, b):
            self.check_schema(document)
            del document["environment"], document["timing"]
        self.assertEqual(a, b)


class MergedEqualsSingleTest(ShardsTest):
    def check_run(self, number, arguments):
        trials = loads(self.run_program(f"{arguments} --dry-run").stdout)["config"]["trials"]
        whole = self.result_text(arguments, name=f"{number}.json")
        parts = self.parts(arguments, min(3, trials), out=f"p{number}")
        random.Random(number).shuffle(parts)
        # On a node with another processor: studies judge without BLAS.
        run = self.run_program(["merge", "--quiet", "--out", f"{number}.merged.json"] + parts, env={"OPENBLAS_CORETYPE": "Prescott"})
        self.assertEqual(run.stderr, "")
        self.check_same(whole, self.read(f"{number}.merged.json"))

    def test_every_study(self):
        for number, (what, arguments) in enumerate(RUNS.items()):
            with self.subTest(what):
                self.check_run(number, arguments)

    def test_published_weights_and_their_checksum(self):
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

    def test_a_preset_with_changes_and_the_environment(self):
        arguments = "run spectral-fig03 --m 12 --k 10 --d 5 --n 30 --steps 20 --restart-every 10 --trials 5"
        whole = self.result_text(arguments, name="whole.json", cwd=None)
        run = self.run_program(["merge", "--out", "merged.json"] + self.parts(arguments, 5))
        self.assertIn("merged.json", run.stderr)
        merged = self.read("merged.json")
        self.check_same(whole, merged)
        a, b = loads(whole)["environment"], loads(merged)["environment"]
        self.assertEqual(b["shards"], 5)
        self.assertEqual(b["threads"], 3)
        self.assertEqual(b["argv"][:2], ["ranklab", "merge"])
        for key in ("version", "git", "compiler", "flags", "armadillo", "blas", "blas_core", "program", "cpu", "folder"):
            self.assertEqual(a[key], b[key], key)
        self.assertIn("the same bits", self.run_program("verify merged.json --quiet").stdout)

    def test_default_places_and_strict(self):
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
    def test_a_killed_shard_goes_on_and_a_done_one_is_left(self):
        whole = self.result_text(LONG, name="whole.json")
        command = LONG.split() + ["--shard", "2/2", "--quiet", "--out", "p.2-of-2.part"]
        process = subprocess.Popen([BINARY, *command, "--threads", "1"], cwd=self.folder)
        journal = self.path("p.2-of-2.part.journal")
        deadline = time.monotonic() + 60
        while (not os.path.exists(journal) or os.path.getsize(journal) < 20_000) and time.monotonic() < deadline and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        self.assertEqual(process.wait(timeout=60), -signal.SIGKILL, "the shard ended before it could be killed")
        self.assertFalse(os.path.exists(self.path("p.2-of-2.part")))
        self.merge_refused("p.2-of-2.part.journal --out x.json", "p.2-of-2.part.journal: not a part", "shard 2/2", "of 60 trials")
        before = os.path.getsize(journal)
        with open(journal, "r+b") as file:  # a record that was torn as the node died
            file.truncate(before - 7)
        self.run_program(command + ["--resume"])
        self.assertFalse(os.path.exists(journal))
        self.shard(LONG, 1, 2)
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
        _, said = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 143)
        self.assertIn("--resume continues", said)
        self.assertEqual(os.listdir(self.folder), ["p.1-of-1.part.journal"])

    def test_what_is_there_is_not_lost(self):
        self.shard(SMALL, 1, 2)
        out = "--out p.1-of-2.part"
        for flags, needles in ((f"--shard 1/2 {out}", ("is done", "--resume", "--force")),
                               (f"--shard 2/2 {out} --resume", ("another run", "shard is 1 there, 2 here")),
                               (f"--shard 1/2 --seed 7 {out} --resume", ("another run", "seed is 1 there, 7 here")),
                               (f"--shard 1/3 {out}", ("another run", "shards is 2 there, 3 here"))):
            before = self.state()
            self.refused(f"{SMALL} {flags}", "p.1-of-2.part", *needles)
            self.assertEqual(self.state(), before)
        self.write("x.part", "something of the user's")
        self.refused(f"{SMALL} --shard 1/2 --out x.part --resume", "x.part", "is no part of ranklab")
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
        self.merge_refused(f"{a} {b} {c} {d} again.part", f"again.part: shard 2/4 stands in {b} too")
        self.parts(f"{SMALL} --seed 2", 4, out="other")
        self.merge_refused(f"{a} {b} {c} other.4-of-4.part", f"other.4-of-4.part: belongs to another run than {a}: seed is 2, not 1",
                           "shard 4/4 has no part")
        self.shard(SMALL, 1, 2)
        self.merge_refused(f"{a} p.1-of-2.part", "p.1-of-2.part: belongs to another run", "shards is 2, not 4")
        # All that is wrong at once, in one line.
        said = self.merge_refused(f"{a} {b} again.part other.4-of-4.part nothing.part out.json --out out.json")
        for needle in ("again.part: shard 2/4", "other.4-of-4.part: belongs", "nothing.part", "out.json: not a part",
                       "shards 3/4, 4/4 have no part"):
            self.assertIn(needle, said)
        # A result of another run, or what is no result, is not replaced.
        self.merge_refused(f"{a} {b} {c} {d} --out out.json", "out.json", "--force", exit_code=2)
        self.run_program(f"merge {a} {b} {c} {d} --out out.json --force --quiet")
        self.check_same(self.result_text(SMALL, name="whole.json"), self.read("out.json"))
        self.merge_refused(f"{a} {b} {c} {d} --out /dev/full", "/dev/full")

    def test_torn_parts(self):
        a, b = self.parts(SMALL, 2)
        whole = self.bytes_of(b)
        found = set()
        for length in list(range(0, len(whole), len(whole) // 40)) + [len(whole) - 1]:
            self.write(b, whole[:length])
            said = self.merge_refused(f"{a} {b}", f"{b}: ")
            found.add(said.split(f"{b}: ")[1].split(";")[0].strip())
        self.assertEqual(found, {"not a part"} | {f"damaged after {n} of 3 trials" for n in range(4)})
        self.refused(f"{SMALL} --shard 2/2 --out {b} --resume", "is damaged after 3 of 3 trials", "--force")
        self.write(b, whole + b"x")
        self.merge_refused(f"{a} {b}", f"{b}: damaged after 3 of 3 trials")
        for at in range(20, len(whole), len(whole) // 40):
            self.write(b, whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1:])
            self.merge_refused(f"{a} {b}", f"{b}: ")

    def test_another_kernel_and_another_program(self):
        self.shard(SMALL, 1, 2)
        kernel = "Prescott"
        self.run_program(f"{SMALL} --shard 2/2 --quiet --out p.2-of-2.part", env={"OPENBLAS_CORETYPE": kernel})
        said = self.merge_refused("p.1-of-2.part p.2-of-2.part", "blas_core is ", "set OPENBLAS_CORETYPE alike on all nodes")
        self.assertIn(f'"{kernel}", not', said)
        # Two parts that agree with each other, written by another build. The last lines of a program may hold anything.
        other = self.path("ranklab-other")
        with open(BINARY, "rb") as file:
            self.write("ranklab-other", file.read() + b"\n")
        os.chmod(other, 0o755)
        for i in (1, 2):
            subprocess.run([other] + f"{SMALL} --shard {i}/2 --quiet --out o.{i}-of-2.part".split(), cwd=self.folder, check=True)
        self.merge_refused("p.1-of-2.part o.2-of-2.part", "o.2-of-2.part: belongs to another run", "program is")
        self.merge_refused("o.1-of-2.part o.2-of-2.part", "another program", "program is")

    def test_two_merges_at_one_target(self):
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

    def test_whole_running_damaged_and_missing(self):
        process = subprocess.Popen([BINARY] + LONG.split() + "--trials 100000 --shard 4/6 --quiet --out p.4-of-6.part".split(), cwd=self.folder)
        try:
            journal = self.path("p.4-of-6.part.journal")
            while not os.path.exists(journal) or os.path.getsize(journal) < 10_000:
                time.sleep(0.05)
            time.sleep(2.2)
            said = self.status("p.*-of-6.part*")
        finally:
            process.kill()
            process.wait()
        self.assertRegex(said, r"random-features trajectory: 100000 trials in 6 shards\n")
        self.assertRegex(said, r"running +1  4\n")
        self.assertRegex(said, r"missing +5  1-3,5-6\n")
        self.assertRegex(said, r"(?m)^  4 +\d+ of 16667 +[0-9.]+ s ago +in \d+")
        self.assertIn("expected end: in ", said)
        self.refused(["status", "p.4-of-6.part.journal", *self.parts(SMALL, 2)], "p.1-of-2.part: belongs to another run", exit_code=1)

    def test_parts(self):
        parts = self.parts(SMALL, 6)
        self.assertEqual(self.status("p.*"), "random-features trajectory: 6 trials in 6 shards\n  whole        6  1-6\n")
        os.remove(self.path(parts[1]))
        os.truncate(self.path(parts[3]), 2000)
        said = self.status("p.*")
        for line in ("whole        4  1,3,5-6", "damaged      1  4", "missing      1  2"):
            self.assertIn(f"  {line}\n", said)
        self.write("x.part", "nothing")
        self.refused("status x.part", "x.part: not a part", exit_code=1)
        self.refused("status nothing.part", "nothing.part", exit_code=1)
        self.refused("status", "none given")


class SweepTest(ShardsTest):
    def test_each_line_runs_and_one_table_holds_them(self):
        run = self.run_program(["random-features", *"--m 12 --k 10 --n 30 --steps 20 --trials 2 --quiet --out s/sweep.json".split(),
                                "--sweep", "d=4,5", "--sweep", "seed=1..3"])
        lines = run.stdout.splitlines()
        self.assertEqual(len(lines), 6)
        self.assertFalse(os.path.exists(self.path("s")), "nothing is run")
        for line in lines:
            subprocess.run(["sh", "-c", line], cwd=self.folder, check=True)
        names = [f"s/sweep.d={d}.seed={seed}.json" for d in (4, 5) for seed in (1, 2, 3)]
        self.assertEqual(sorted(os.listdir(self.path("s"))), sorted(os.path.basename(name) for name in names))
        for name in names:
            config = loads(self.read(name))["config"]
            self.assertEqual(name, f"s/sweep.d={config['d']}.seed={config['seed']}.json")
        table = self.run_program(["export", *names]).stdout.splitlines()
        self.assertEqual(table[0], "file,d,seed,name,mean,std,n")
        single = self.run_program(f"export {names[4]}").stdout.splitlines()[1:]
        self.assertEqual([row for row in table if row.startswith(names[4])], [f"{names[4]},5,2,{row}" for row in single])
        self.assertEqual(len(table), 1 + 6 * len(single))

    def test_presets_lists_and_default_places(self):
        line, = self.run_program(["run", "spectral-fig03", "--sweep=trials=2"]).stdout.splitlines()
        self.assertEqual(line.split()[1:], "random-features --preset spectral-fig03 --trials 2 --out".split() + line.split()[-1:])
        self.assertIn("results/spectral-fig03.trials=2.json", line)
        lines = self.run_program(["rank-collapse", "--sweep", "lambda=-1,0;1"]).stdout.splitlines()
        self.assertEqual(len(lines), 2)
        self.assertIn(" --lambda -1,0 ", lines[0])

    def test_bad_sweeps(self):
        for text, needles in (("d", ("--sweep", "'d'")), ("dd=3", ("--dd", "unknown")), ("d=x", ("--d", "x")), ("seed=3..1", ("3..1",)),
                              ("seed=1..1000000", ("--sweep",)), ("=3", ("'=3'",)), ("d=", ("--sweep d",))):
            self.refused(["random-features", "--sweep", text], *needles)
        self.refused(["random-features", "--sweep", "d=3", "--sweep", "d=4"], "--sweep d", "twice")
        self.refused(["random-features", "--sweep", "d=3", "--shard", "1/2"], "--shard")
        self.refused(["random-features", "--sweep", "d=3", "--out", "-"], "--out -")


class FileSystemTest(ShardsTest):
    def test_a_disk_that_is_full(self):
        run = f"{LONG} --trials 40"
        # The limit of a file's size, in kilobytes, stands for the end of the disk.
        full = subprocess.run(["bash", "-c", f"trap '' XFSZ; ulimit -f 100; exec {BINARY} {run} --shard 1/1 --threads 1 --out p.part"],
                             cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(full.returncode, 1, full.stderr)
        self.assertRegex(full.stderr, r"^ranklab: cannot write p.part.journal: [^\n]*\n$")
        # What was written before is whole, and is taken when there is room.
        self.run_program(f"{run} --shard 1/1 --out p.part --resume --quiet")
        self.run_program("merge p.part --quiet --out merged.json")
        self.check_same(self.result_text(run, name="whole.json"), self.read("merged.json"))

    def without_locks(self):
        """A library that answers flock as Lustre without locks does."""
        self.write("flock.c", "#include <errno.h>\nint flock(int d, int o) { (void)d; (void)o; errno = ENOSYS; return -1; }\n")
        subprocess.run(["cc", "-shared", "-fPIC", "-o", "flock.so", "flock.c"], cwd=self.folder, check=True)
        return {"LD_PRELOAD": self.path("flock.so")}

    def test_a_file_system_without_locks(self):
        whole = self.result_text(SMALL, name="whole.json")
        env = self.without_locks()
        self.check_same(whole, self.result_text(SMALL, name="b.json", env=env))
        for i in (1, 2):
            self.run_program(f"{SMALL} --shard {i}/2 --quiet --out p.{i}-of-2.part", env=env)
        self.run_program("merge p.1-of-2.part p.2-of-2.part --quiet --out merged.json", env=env)
        self.check_same(whole, self.read("merged.json"))


if __name__ == "__main__":
    unittest.main()
