"""Runs with little memory or few threads: files larger than the address space, archives that inflate to more than it, models that do not fit."""
import os
import resource
import shutil
import struct
import subprocess
import unittest
import zlib

from program import BINARY, ProgramTest
from stored_tensors import npy

FEATURES, SAMPLES, OUTPUTS = 64, 600_000, 4  # the activation: 307 MB of F64, zero except on the diagonal
LIMIT = 430_000  # kB, as for `ulimit -v`; OpenBLAS 0.3.29 takes 190 MB of it, so the activation does not fit into the rest
FILES = "one-step-compare --study files --threads 1 --out out.json --pair a,{},g.npy"


def npy_header():
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({FEATURES}, {SAMPLES}), }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode()


@unittest.skipIf("sanitize" in BINARY, "the address sanitizer maps terabytes")
class MemoryTest(ProgramTest):
    def run_limited(self, arguments, kilobytes, exit_code=0):
        """Runs the program under a limit as of `ulimit -v` and returns its standard error. The test fails if the program does not end."""
        bound = (kilobytes * 1024,) * 2
        run = subprocess.run([BINARY] + arguments.split(), capture_output=True, text=True, timeout=240, stdin=subprocess.DEVNULL,
                             cwd=self.folder, env=dict(os.environ, TMPDIR=self.folder),
                             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, bound))
        self.assertEqual(run.returncode, exit_code, run.stderr[-500:])
        return run.stderr

    def write_gradient(self):
        self.write("g.npy", npy([[float((i * 7 + j) % 5 - 2) for j in range(FEATURES)] for i in range(OUTPUTS)]))

    def test_a_file_larger_than_the_address_space_is_read(self):
        self.write_gradient()
        with open(self.path("a.npy"), "wb") as file:
            start = file.write(npy_header())
            for i in range(FEATURES):
                file.seek(start + 8 * (SAMPLES * i + i))
                file.write(struct.pack("<d", 1.0))
            file.truncate(start + 8 * SAMPLES * FEATURES)
        self.assertRegex(self.run_limited(FILES.format("a.npy"), LIMIT), rf" 4 x 64 +\d+ +{FEATURES} ")

    def test_an_archive_member_larger_than_the_address_space_is_read(self):
        """The ZIP archive has one member, 400 KB after compression. It is built by hand because zipfile is slow on so many zeros."""
        self.write_gradient()
        row = lambda i: bytes(8 * i) + struct.pack("<d", 1.0) + bytes(8 * (SAMPLES - i - 1))
        packer, crc, packed = zlib.compressobj(1, zlib.DEFLATED, -15), 0, b""
        for part in (npy_header(), *map(row, range(FEATURES))):
            crc = zlib.crc32(part, crc)
            packed += packer.compress(part)
        packed += packer.flush()
        size, name = len(npy_header()) + 8 * SAMPLES * FEATURES, b"a.npy"
        common = struct.pack("<HHHHHIIIHH", 20, 0, 8, 0, 0, crc, len(packed), size, len(name), 0)
        local = b"PK\3\4" + common + name + packed
        central = b"PK\1\2" + struct.pack("<H", 20) + common + struct.pack("<HHHII", 0, 0, 0, 0, 0) + name
        end = b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, 1, 1, len(central), len(local), 0)
        self.write("a.npz", local + central + end)
        self.assertRegex(self.run_limited(FILES.format("a.npz:a"), LIMIT), rf" 4 x 64 +\d+ +{FEATURES} ")
        self.assertEqual(sorted(os.listdir(self.folder)), ["a.npz", "g.npy", "out.json"])

    def test_a_model_that_does_not_fit_is_refused(self):
        """The refusal comes before OpenBLAS could loop forever, asking for a buffer that it cannot get."""
        for kilobytes in (300_000, 500_000, 1_000_000):
            message = self.run_limited("rank-collapse --model mamba2 --layers 4 --dim 2048 --tokens 512 --threads 2", kilobytes, exit_code=2)
            self.assertEqual(len(message.splitlines()), 1, message)
            self.assertIn("this run needs about 1.16 GB of memory", message)
            self.assertEqual(os.listdir(self.path("results")) if os.path.exists(self.path("results")) else [], [])

    def test_a_limit_too_small_for_openblas_ends_with_one_line(self):
        """OpenBLAS 0.3.21 starts within 100 MB; 0.3.29 would ask forever for memory that it cannot get."""
        bound = (100_000 * 1024,) * 2
        run = subprocess.run([BINARY, "list"], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL, cwd=self.folder,
                             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, bound))
        if run.returncode != 0:
            self.assertEqual((run.returncode, run.stderr),
                             (1, "ranklab: out of memory: OpenBLAS cannot start within the limit of address space (ulimit -v)\n"))

    @unittest.skipIf(os.getuid() != 0, "only root can run the program as a user who has no other processes")
    def test_a_limit_of_threads_ends_with_one_line(self):
        os.chmod(self.folder, 0o777)
        program = shutil.copy(BINARY, self.path("ranklab"))

        def limited():
            resource.setrlimit(resource.RLIMIT_NPROC, (6, 6))
            os.setgid(54321)
            os.setuid(54321)

        def run(threads):
            command = f"random-features --m 8 --k 8 --d 4 --n 16 --steps 4 --trials 40 --out out.json --threads {threads}"
            return subprocess.run([program] + command.split(), capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL,
                                  cwd=self.folder, preexec_fn=limited, env=dict(os.environ, OPENBLAS_NUM_THREADS="1"))

        try:
            many = run(40)
        except (PermissionError, subprocess.SubprocessError):
            self.skipTest("no other user can run programs in this folder")
        self.assertEqual((many.returncode, many.stderr),
                         (1, "ranklab: the system starts no further thread (ulimit -u); use fewer --threads\n"))
        few = run(2)
        self.assertEqual(few.returncode, 0, few.stderr)


if __name__ == "__main__":
    unittest.main()
