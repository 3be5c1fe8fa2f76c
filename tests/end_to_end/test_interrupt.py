"""SIGINT and SIGTERM save the finished trials; --resume gives the result of an uninterrupted run; a killed run keeps its journal."""
import os
import signal
import subprocess
import time
import unittest

from program import BINARY, TINY, ProgramTest, loads, reproducible

RUN = "random-features --m 40 --k 40 --d 20 --n 120 --steps 60 --restart-every 20 --trials 60"
JOURNAL = "out.json.journal"


def end_of_record(journal, number):
    """The position after a record of a journal or part; 0 is the header."""
    at = journal.index(b"\n") + 1
    for _ in range(number + 1):
        at += 16 + int.from_bytes(journal[at:at + 8], "little")
    return at


class InterruptedTest(ProgramTest):
    """Helpers for tests of runs that end early."""

    def bytes_of(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def damage(self, name, position):
        """Flips a bit."""
        content = bytearray(self.bytes_of(name))
        content[position] ^= 0x40
        self.write(name, bytes(content))

    def stopped(self, arguments, number, journal):
        """Runs the program on one thread, sends the signal when some trials are in the journal, and returns the process."""
        before = {name: self.bytes_of(name) for name in os.listdir(self.folder)}
        for _ in range(10):
            process = subprocess.Popen([BINARY, *arguments.split(), "--threads", "1"], cwd=self.folder, stdin=subprocess.DEVNULL,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            while process.poll() is None and not (os.path.exists(self.path(journal)) and os.path.getsize(self.path(journal)) > 10_000):
                time.sleep(0.001)
            process.send_signal(number)
            process.errors = process.communicate(timeout=60)[1]
            if process.returncode != 0:  # else the run was over before the signal came
                return process
            for name in os.listdir(self.folder):
                os.remove(self.path(name))
            for name, content in before.items():
                self.write(name, content)
        self.fail(f"{arguments}: always ends before the signal")


class InterruptTest(InterruptedTest):
    def test_after_a_signal_or_a_kill_resume_is_exact(self):
        whole = self.result_text(RUN, name="whole.json")
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)):
            process = self.stopped(f"{RUN} --quiet --out out.json", number, JOURNAL)
            self.assertEqual(process.returncode, code)
            self.assertEqual(os.path.exists(self.path("out.json")), code > 0)
            if code > 0:
                part = loads(self.read("out.json"))
                self.check_schema(part)
                self.assertEqual(part["status"], "interrupted")
                self.assertTrue(0 < part["trials"]["completed"] < 60, part["trials"])
            else:
                os.truncate(self.path(JOURNAL), os.path.getsize(self.path(JOURNAL)) - 100)  # the node died within a record
            self.run_program(f"{RUN} --resume --quiet --out out.json --threads 2")
            self.assertEqual(reproducible(whole), reproducible(self.read("out.json")))
            self.assertEqual(loads(self.read("out.json"))["status"], "complete")
            self.assertFalse(os.path.exists(self.path(JOURNAL)))
            os.remove(self.path("out.json"))

    def test_an_interrupted_run_keeps_an_earlier_complete_result(self):
        whole = self.result_text(RUN, name="out.json")
        self.assertEqual(self.stopped(f"{RUN} --quiet --out out.json", signal.SIGINT, JOURNAL).returncode, 130)
        self.assertEqual(self.read("out.json"), whole)
        self.run_program(f"{RUN} --resume --quiet --out out.json")
        self.assertEqual(reproducible(whole), reproducible(self.read("out.json")))

    def test_a_second_run_with_the_same_out_is_refused(self):
        for flags, journal in (("--out out.json", JOURNAL), ("--shard 1/1 --out out.part", "out.part")):
            run = f"{RUN} --trials 100000 --quiet {flags}"
            first = subprocess.Popen([BINARY] + run.split(), cwd=self.folder, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            try:
                while not os.path.exists(self.path(journal)) or os.path.getsize(self.path(journal)) == 0:
                    time.sleep(0.002)
                self.assertIn("another run", self.run_program(f"{run} --resume", 1).stderr)
            finally:
                first.kill()
                first.communicate()


class JournalTest(InterruptedTest):
    def write_journal(self, arguments=TINY, trials=2):
        """The journal of a run that was killed after this number of trials: it is the beginning of that of a shard 1/1."""
        self.run_program(f"{arguments} --shard 1/1 --quiet --force --threads 1 --out part")
        content = self.bytes_of("part")
        os.remove(self.path("part"))
        self.write(JOURNAL, content[:end_of_record(content, trials)])

    def test_damage_is_reported_and_the_resumed_result_is_exact(self):
        whole = self.result_text(TINY, name="whole.json")
        self.write_journal(trials=3)
        content = self.bytes_of(JOURNAL)
        for trial in range(3):
            self.write(JOURNAL, content)
            self.damage(JOURNAL, end_of_record(content, 1 + trial) - 20)
            run = self.run_program(f"{TINY} --resume --out out.json")
            self.assertIn(f"{JOURNAL} is incomplete or damaged after {trial} finished trial", run.stderr)
            self.assertEqual(reproducible(whole), reproducible(self.read("out.json")))

    def test_a_journal_with_a_damaged_header_is_refused_and_kept(self):
        self.write_journal()
        self.damage(JOURNAL, 60)
        before = self.bytes_of(JOURNAL)
        self.refused(f"{TINY} --resume --out out.json", JOURNAL, "first record is damaged", "finished trials", exit_code=1)
        self.damage(JOURNAL, 0)
        for flags in ("", "--resume", "--force"):
            self.refused(f"{TINY} --out out.json {flags}", f"{JOURNAL}: is not a journal", "move it", exit_code=1)
        self.damage(JOURNAL, 0)
        self.assertEqual(before, self.bytes_of(JOURNAL))

    def test_resume_of_another_run_is_refused_by_name(self):
        self.write("ids.json", [[3, 0, 7, 7], [5, 2, 9, 4], [8, 8, 6, 1]])
        files = "rank-collapse --model gpt2 --layers 2 --dim 8 --tokens-file ids.json --trials 2"
        self.write_journal(files, 1)
        before = self.bytes_of(JOURNAL)
        self.refused(f"{files} --trials 3 --resume --quiet --out out.json", "trials is 2 there, 3 here")
        run = self.run_program(f"{files} --resume --quiet --out out.json", 2, env={"OPENBLAS_CORETYPE": "Prescott"})
        self.assertRegex(run.stderr, 'blas_core is ".*" there, "Prescott" here')
        self.write("ids.json", [[3, 0, 7, 7], [5, 2, 9, 8], [8, 8, 6, 1]])
        self.refused(f"{files} --resume --quiet --out out.json", '"ids.json" is')
        self.assertEqual(before, self.bytes_of(JOURNAL))

    def test_resume_without_a_journal_starts_from_the_beginning(self):
        self.run_program(f"{TINY} --resume --quiet --out b.json")
        self.assertEqual(reproducible(self.result_text(TINY, name="a.json")), reproducible(self.read("b.json")))

    def test_the_finished_trials_of_another_run_are_refused_and_kept(self):
        """Also with the default --out, through a link to the result, and for another study."""
        self.write_journal(f"{TINY} --seed 2")
        before = self.bytes_of(JOURNAL)
        os.symlink("out.json", self.path("link.json"))
        for run in (f"{TINY} --out out.json", f"{TINY} --out link.json", "spiked-model --trials 2 --out out.json"):
            self.refused(run, JOURNAL, "2 finished trials of a different run", "--force")
        self.refused(f"{TINY} --out link.json", "seed is 2 there, 1 here")
        self.assertEqual(before, self.bytes_of(JOURNAL))
        run = self.run_program(f"{TINY} --out out.json --force")
        self.assertIn("discarded\n", run.stderr)
        self.assertEqual(loads(self.read("out.json"))["trials"]["completed"], 3)

    def test_without_resume_the_trials_of_the_same_run_are_discarded_with_a_message(self):
        self.write_journal()
        self.assertIn("--resume would have kept them", self.run_program(f"{TINY} --out out.json").stderr)


if __name__ == "__main__":
    unittest.main()
