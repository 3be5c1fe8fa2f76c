"""SIGINT and SIGTERM save the finished trials; --resume gives the result of an uninterrupted run; a killed run keeps its journal."""
import os
import signal
import subprocess
import time
import unittest

from program import BINARY, TINY, ProgramTest, loads, reproducible

RUN = "random-features --m 40 --k 40 --d 20 --n 120 --steps 60 --restart-every 20 --trials 200 --threads 2"
JOURNAL = "out.json.journal"


class InterruptTest(ProgramTest):
    def stop(self, number, after_bytes=60_000):
        """Starts RUN, sends the signal when some trials are in the journal (after about a second), and returns the finished process."""
        process = subprocess.Popen([BINARY] + RUN.split() + ["--threads", "1", "--quiet", "--out", "out.json"], cwd=self.folder, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        deadline = time.time() + 60
        while time.time() < deadline and process.poll() is None:
            if os.path.exists(self.path(JOURNAL)) and os.path.getsize(self.path(JOURNAL)) > after_bytes:
                break
            time.sleep(0.002)
        process.send_signal(number)
        process.communicate(timeout=60)
        return process

    def resume(self, exit_code=0):
        return self.run_program(f"{RUN} --resume --quiet --out out.json", exit_code)

    def test_signals_save_finished_trials_and_resume_is_exact(self):
        whole = self.result_text(RUN, name="whole.json")
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            process = self.stop(number)
            self.assertEqual(process.returncode, code)
            part = loads(self.read("out.json"))
            self.check_schema(part)
            self.assertEqual(part["status"], "interrupted")
            self.assertTrue(0 < part["trials"]["completed"] < 200, part["trials"])
            self.resume()
            self.assertEqual(reproducible(whole), reproducible(self.read("out.json")))
            self.assertEqual(loads(self.read("out.json"))["status"], "complete")
            self.assertFalse(os.path.exists(self.path(JOURNAL)))
            os.remove(self.path("out.json"))

    def test_a_killed_run_with_a_torn_record_resumes_exactly(self):
        whole = self.result_text(RUN, name="whole.json")
        self.stop(signal.SIGKILL)
        size = os.path.getsize(self.path(JOURNAL))
        os.truncate(self.path(JOURNAL), size - 100)
        self.resume()
        self.assertEqual(reproducible(whole), reproducible(self.read("out.json")))

    def flip(self, position):
        with open(self.path(JOURNAL), "r+b") as file:
            file.seek(position)
            byte = file.read(1)
            file.seek(position)
            file.write(bytes([byte[0] ^ 0x40]))

    def test_a_flipped_byte_in_the_journal_is_reported_and_the_resumed_result_is_exact(self):
        whole = self.result_text(RUN, name="whole.json")
        self.stop(signal.SIGKILL)
        self.flip(os.path.getsize(self.path(JOURNAL)) // 2)
        run = self.run_program(f"{RUN} --resume --out out.json")
        self.assertIn("out.json.journal has damaged records; their trials run again", run.stderr)
        self.assertEqual(reproducible(whole), reproducible(self.read("out.json")))

    def test_a_journal_with_a_damaged_header_is_refused_and_kept(self):
        self.stop(signal.SIGKILL)
        self.flip(30)
        with open(self.path(JOURNAL), "rb") as file:
            before = file.read()
        self.refused(f"{RUN} --resume --out out.json", "out.json.journal", "first record is damaged", "finished trials", exit_code=1)
        self.flip(0)
        for flags in ("", "--resume", "--force"):
            self.refused(f"{RUN} --out out.json {flags}", "out.json.journal: is not a journal", "move it", exit_code=1)
        self.flip(0)
        with open(self.path(JOURNAL), "rb") as file:
            self.assertEqual(before, file.read())

    def test_an_interrupted_run_keeps_an_earlier_complete_result(self):
        whole = self.result_text(RUN, name="out.json")
        self.assertEqual(self.stop(signal.SIGINT).returncode, 130)
        self.assertEqual(self.read("out.json"), whole)
        self.resume()
        self.assertEqual(reproducible(whole), reproducible(self.read("out.json")))

    def test_resume_with_another_config_is_refused(self):
        self.stop(signal.SIGKILL)
        with open(self.path(JOURNAL), "rb") as file:
            before = file.read()
        run = self.run_program(f"{RUN} --seed 2 --resume --quiet --out out.json", 2)
        self.assertIn("seed is 1 there, 2 here", run.stderr)
        self.assertEqual(len(run.stderr.splitlines()), 1)
        with open(self.path(JOURNAL), "rb") as file:
            self.assertEqual(before, file.read())

    def test_resume_without_a_journal_starts_from_the_beginning(self):
        self.assertEqual(reproducible(self.result_text(TINY, name="a.json")), reproducible(self.result_text(f"{TINY} --resume", name="b.json")))

    def test_without_resume_an_old_journal_is_discarded_with_a_message(self):
        self.stop(signal.SIGKILL)
        run = self.run_program(f"{TINY} --out out.json")
        self.assertIn("discarded", run.stderr)
        self.assertEqual(loads(self.read("out.json"))["trials"]["completed"], 3)

    def test_a_second_run_with_the_same_out_is_refused(self):
        first = subprocess.Popen([BINARY] + RUN.split() + ["--trials", "100000", "--quiet", "--out", "out.json"], cwd=self.folder,
                                 stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            while not os.path.exists(self.path(JOURNAL)) or os.path.getsize(self.path(JOURNAL)) == 0:
                time.sleep(0.002)
            run = self.run_program(f"{TINY} --out out.json", 1)
            self.assertIn("another run", run.stderr)
        finally:
            first.kill()
            first.communicate()


if __name__ == "__main__":
    unittest.main()
