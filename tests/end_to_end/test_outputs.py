"""The program writes only where it is told: links, descriptors, names of any bytes, limits of file sizes, planted links."""
import os
import signal
import subprocess
import time
import unittest

from program import BINARY, TINY, ProgramTest, loads, reproducible
from test_interrupt import end_of_record

GPT = "one-step-compare --study gpt --layers 1 --dim 4 --heads 1 --context 4 --batch 2 --steps 1 --vocab char"
TRAIN = "rank-collapse --study train --task recall --model attention --dim 8 --layers 1 --steps 2 --trials 1 --quiet"


class OutputsTest(ProgramTest):
    def names(self, folder=""):
        return sorted(os.listdir(os.path.join(self.folder, folder)))

    def shell(self, command, exit_code=0, **kw):
        run = subprocess.run(["bash", "-c", command], cwd=self.folder, capture_output=True, timeout=120, stdin=subprocess.DEVNULL, **kw)
        self.assertEqual(run.returncode, exit_code, run.stderr[-500:])
        return run

    def test_a_link_given_as_out_stays_and_its_target_is_written(self):
        os.mkdir(self.path("far"))
        os.symlink("far/result.json", self.path("out.json"))
        whole = self.result_text(TINY, name="whole.json")
        self.run_program(f"{TINY} --quiet --out out.json")
        self.assertTrue(os.path.islink(self.path("out.json")))
        self.assertEqual(reproducible(self.read("far/result.json")), reproducible(whole))
        os.symlink("far/picture.svg", self.path("p.svg"))
        os.symlink("far/page.html", self.path("page.html"))
        self.run_program("plot out.json --quiet --out p.svg")
        self.run_program("report out.json --quiet --out page.html")
        self.assertTrue(os.path.islink(self.path("p.svg")) and os.path.islink(self.path("page.html")))
        self.assertEqual(self.names("far"), ["page.html", "picture.svg", "result.json"])

    def test_out_dev_stdout_writes_to_the_redirected_file_at_its_position(self):
        before = os.readlink("/dev/stdout") if os.path.islink("/dev/stdout") else None
        self.shell(f"(echo first; {BINARY} {TINY} --quiet --out /dev/stdout; echo last) > file")
        lines = self.read("file").splitlines()
        self.assertEqual((lines[0], lines[-1]), ("first", "last"))
        self.assertEqual(loads("\n".join(lines[1:-1]))["status"], "complete")
        self.shell(f"{BINARY} {TINY} --quiet --out /dev/fd/7 7>> file")
        self.assertIn('"complete"', self.read("file").split("last\n")[1])
        self.assertEqual(self.names(), ["file"])
        if before is not None:
            self.assertEqual(os.readlink("/dev/stdout"), before)

    def test_names_that_are_not_utf8(self):
        folder = os.path.join(os.fsencode(self.folder), b"f\xff")
        os.mkdir(folder)
        for out in (b"bad\xff.json", b"\xfe/bad.json"):
            run = subprocess.run([BINARY.encode()] + TINY.encode().split() + [b"--quiet", b"--out", out], cwd=folder, capture_output=True, timeout=60)
            self.assertEqual((run.returncode, run.stderr), (0, b""))
            with open(os.path.join(folder, out), encoding="utf-8") as file:
                self.check_schema(loads(file.read()))
            for command in ([b"verify", b"--quiet", out], [b"plot", b"--quiet", out], [b"report", b"--quiet", out, b"--out", b"p.html"]):
                run = subprocess.run([BINARY.encode()] + command, cwd=folder, capture_output=True, timeout=60)
                self.assertEqual((run.returncode, run.stderr), (0, b""), command)
        run = subprocess.run([BINARY.encode(), b"ranks", b"--activations", b"a\xff.npz", b"--gradients", b"g.npz"],
                             cwd=folder, capture_output=True, timeout=60)
        self.assertEqual(run.returncode, 2)
        self.assertIn(b"a\\xff.npz' is not valid UTF-8", run.stderr)

    def test_a_limit_of_file_sizes_is_one_line_and_leaves_nothing(self):
        self.result_text(TINY, name="big.json")
        old = self.read("big.json")
        for arguments in (f"{TINY} --quiet --out out.json", f"{TINY} --quiet --force --seed 2 --out big.json", "plot big.json --quiet",
                          "report big.json --quiet --out p.html", f"{TINY} --quiet --shard 1/1 --out p.part"):
            run = self.shell(f"ulimit -f 1; exec {BINARY} {arguments}", 1)
            self.assertEqual(len(run.stderr.splitlines()), 1, run.stderr)
            self.assertIn(b"File too large", run.stderr)
            self.assertEqual([name for name in self.names() if ".tmp." in name], [])
        self.assertEqual(self.read("big.json"), old)
        self.assertEqual([name for name in self.names() if not name.endswith(".journal")], ["big.json"])

    def test_a_planted_link_is_not_followed(self):
        """Links to a victim under every name that a temporary file had, as process ids are easy to guess."""
        self.result_text(TINY, name="r.json")
        self.write("victim", "precious")
        process = subprocess.Popen(["bash", "-c", f"sleep 0.3; exec {BINARY} plot r.json --quiet --out p.svg"], cwd=self.folder)
        os.symlink("victim", self.path(f"p.svg.tmp.{process.pid}"))
        self.assertEqual(process.wait(timeout=60), 0)
        os.symlink("victim", self.path("o.json.journal"))
        self.refused(f"{TINY} --out o.json", "o.json.journal", "regular file", exit_code=1)
        self.assertEqual(self.read("victim"), "precious")

    def test_a_replayed_result_does_not_choose_where_files_are_written(self):
        self.result_text(f"{TRAIN} --save mine.safetensors", name="mine.json")
        self.assertIn("mine.safetensors", self.names())
        foreign = loads(self.read("mine.json"))
        foreign["config"]["save"] = os.path.join(self.folder, "far/away/w.safetensors")
        self.write("foreign.json", foreign)
        self.run_program("rank-collapse --config foreign.json --quiet --out again.json")
        self.run_program("verify foreign.json --quiet")
        self.assertFalse(os.path.exists(self.path("far")))
        self.assertEqual(reproducible(self.read("again.json"))["scalars"], reproducible(self.read("mine.json"))["scalars"])
        self.run_program("rank-collapse --config foreign.json --quiet --save near.safetensors --out again.json")
        self.assertIn("near.safetensors", self.names())
        # A config file that is not a result is the user's own.
        self.write("own.json", {"command": "rank-collapse", "config": dict(foreign["config"], save="own.safetensors")})
        self.run_program("rank-collapse --config own.json --quiet --out own-result.json")
        self.assertIn("own.safetensors", self.names())

    def test_output_is_complete_or_the_exit_status_says_so(self):
        """Standard output on a disk that becomes full, also before the last write."""
        self.result_text(TINY, name="r.json")
        for command in ("report r.json --out -", "list --json", "man", "random-features --help", "export r.json --what series", "help",
                        f"{TINY} --quiet --out -"):
            with self.subTest(command):
                whole = self.shell(f"{BINARY} {command}").stdout
                self.assertGreater(len(whole), 2048)
                run = self.shell(f"ulimit -f 2; exec {BINARY} {command} > cut", 1)
                self.assertIn(b"cannot write to standard output", run.stderr)

    def test_a_table_goes_to_a_pipe_and_to_a_device(self):
        self.result_text(TINY, name="r.json")
        table = self.run_program("export r.json --what series").stdout.encode()
        self.assertEqual(self.shell(f"{BINARY} export r.json --what series --out /dev/stdout | cat").stdout, table)
        self.shell(f"{BINARY} export r.json --what series --out /dev/stdout > file")
        self.assertEqual(self.read("file").encode(), table)
        self.run_program("export r.json --what series --out /dev/null")
        os.mkfifo(self.path("fifo"))
        self.assertEqual(self.shell(f"{BINARY} export r.json --what series --out fifo & cat fifo").stdout, table)

    def test_closed_standard_streams(self):
        """A file of the run must not get the number of a standard stream."""
        run = f"{TINY} --trials 1500 --threads 1 --out out.json"
        for closed in ((0,), (1,), (2,), (0, 1, 2)):
            process = subprocess.Popen([BINARY, *run.split(), "--progress", "always"], cwd=self.folder, stderr=subprocess.DEVNULL,
                                       preexec_fn=lambda closed=closed: [os.close(descriptor) for descriptor in closed])
            time.sleep(0.3)  # the progress bar is drawn several times
            process.kill()
            self.assertEqual(process.wait(), -signal.SIGKILL, "it must not have ended")
            self.assertNotIn("damaged", self.run_program(f"{run} --resume --quiet").stderr)
            os.remove(self.path("out.json"))

    def test_a_deleted_working_directory(self):
        whole = self.result_text(TINY, name="whole.json")
        run = self.shell(f"mkdir gone; cd gone; rmdir ../gone; {BINARY} {TINY} --quiet --out {self.folder}/out.json")
        self.assertEqual(run.stderr, b"")
        self.assertEqual(reproducible(self.read("out.json")), reproducible(whole))
        for command in (f"verify {self.folder}/whole.json", f"run shallow-fig02 --dry-run --out {self.folder}/x.json", f"{TINY} --quiet"):
            run = subprocess.run(["bash", "-c", f"mkdir gone; cd gone; rmdir ../gone; {BINARY} {command}"], cwd=self.folder, capture_output=True)
            self.assertNotIn(b"internal error", run.stderr)
            self.assertIn(run.returncode, (0, 1))

    def test_a_replaced_file_keeps_its_mode(self):
        self.result_text(TINY, name="out.json")
        for mode in (0o600, 0o640):
            os.chmod(self.path("out.json"), mode)
            self.run_program(f"{TINY} --quiet --out out.json")
            self.assertEqual(os.stat(self.path("out.json")).st_mode & 0o777, mode)

    def test_an_ignored_interrupt_stays_ignored(self):
        """As in a program that a script starts in the background."""
        process = subprocess.Popen(["bash", "-c", f"trap '' INT; exec {BINARY} {TINY} --trials 2000 --quiet --out out.json"], cwd=self.folder)
        while not os.path.exists(self.path("out.json.journal")):
            time.sleep(0.001)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=60), 0)

    def test_a_read_that_waits_is_interrupted(self):
        os.mkfifo(self.path("fifo"))
        process = subprocess.Popen([BINARY, *f"{GPT} --text fifo --quiet --out out.json".split()], cwd=self.folder, stderr=subprocess.DEVNULL)
        time.sleep(0.3)
        process.send_signal(signal.SIGTERM)
        self.assertIn(process.wait(timeout=2), (143, -signal.SIGTERM))

    def test_weights_that_were_deleted_are_missed(self):
        gpt = f"{GPT} --trials 2 --save w.safetensors --out out.json"
        self.run_program(f"{gpt} --quiet --threads 1 --shard 1/1 --out part")
        with open(self.path("part"), "rb") as file:
            content = file.read()
        self.write("out.json.journal", content[:end_of_record(content, 1)])
        os.remove(self.path("w.safetensors"))
        run = self.run_program(f"{gpt} --quiet --resume")
        self.assertIn("w.safetensors is missing", run.stderr)

    def test_a_picture_is_a_picture(self):
        self.result_text(TINY, name="r.json")
        os.mkdir(self.path("bin"))
        self.write("bin/rsvg-convert", "#!/bin/sh\nprintf abc\n")
        os.chmod(self.path("bin/rsvg-convert"), 0o755)
        run = self.run_program("plot r.json --out r.png", 1, env={"PATH": self.path("bin") + ":" + os.environ["PATH"]})
        self.assertIn("did not write a .png file", run.stderr)
        self.assertNotIn("r.png", self.names())


if __name__ == "__main__":
    unittest.main()
