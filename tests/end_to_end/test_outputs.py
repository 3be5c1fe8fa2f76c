"""The program writes only where it is told: links, descriptors, names of any bytes, limits of file sizes, planted links."""
import os
import subprocess
import time
import unittest

from program import BINARY, TINY, ProgramTest, loads, reproducible

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
        run = subprocess.run([BINARY.encode(), b"one-step-compare", b"--study", b"files", b"--activations", b"a\xff.npz", b"--gradients", b"g.npz"],
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

    def test_a_converter_of_pictures_that_hangs_ends_with_the_program(self):
        self.result_text(TINY, name="r.json")
        os.mkdir(self.path("bin"))
        pid = self.path("pid")
        self.write("bin/rsvg-convert", f"#!/bin/sh\necho $$ > {pid}\nexec sleep 1000\n")
        os.chmod(self.path("bin/rsvg-convert"), 0o755)
        environment = dict(os.environ, PATH=self.path("bin") + ":" + os.environ["PATH"])
        process = subprocess.Popen([BINARY, "plot", "r.json", "--out", "r.png"], cwd=self.folder, env=environment)
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline and not (os.path.exists(pid) and os.path.getsize(pid) > 0):
            time.sleep(0.01)
        child = int(self.read("pid"))
        process.kill()
        process.wait(timeout=30)

        def runs():
            try:
                with open(f"/proc/{child}/stat", encoding="utf-8") as file:
                    return file.read().split(")")[1].split()[0] != "Z"
            except FileNotFoundError:
                return False
        while time.monotonic() < deadline and runs():
            time.sleep(0.01)
        self.assertFalse(runs())


if __name__ == "__main__":
    unittest.main()
