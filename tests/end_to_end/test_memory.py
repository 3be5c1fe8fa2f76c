"""Runs with little memory or few threads: files larger than the address space, archives that inflate to more than it, models that do not fit."""
import json
import math
import os
import resource
import shutil
import struct
import subprocess
import unittest
import zlib

from program import BINARY, ProgramTest
from stored_tensors import safetensors

FEATURES, SAMPLES, OUTPUTS = 64, 600_000, 4  # the activation: 307 MB of F64, zero except on the diagonal
LIMIT = 430_000  # kB, as for `ulimit -v`; OpenBLAS 0.3.29 takes 190 MB of it, so the activation does not fit into the rest
FILES = "ranks --threads 1 --out out.json --activations {} --gradients g.safetensors"


def npy_header(shape=(FEATURES, SAMPLES), descr="<f8", fortran=False):
    header = f"{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode()


def tensor_header(key, dtype, shape):
    """The start of a .safetensors file with one tensor."""
    size = {"F64": 8, "F32": 4}[dtype] * math.prod(shape)
    text = json.dumps({key: {"dtype": dtype, "shape": list(shape), "data_offsets": [0, size]}}).encode()
    return struct.pack("<Q", len(text)) + text


@unittest.skipIf("sanitize" in BINARY, "the address sanitizer maps terabytes")
class MemoryTest(ProgramTest):
    def run_limited(self, arguments, kilobytes, exit_code=0, timeout=240):
        """Runs the program under a limit as of `ulimit -v` and returns what it prints. The test fails if the program does not end."""
        bound = (kilobytes * 1024,) * 2
        run = subprocess.run([BINARY] + arguments.split(), capture_output=True, text=True, timeout=timeout, stdin=subprocess.DEVNULL,
                             cwd=self.folder, env=dict(os.environ, TMPDIR=self.folder),
                             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, bound))
        self.assertEqual(run.returncode, exit_code, run.stderr[-500:])
        return run.stdout + run.stderr

    def write_gradient(self):
        self.write("g.safetensors", safetensors({"a": ([OUTPUTS, FEATURES], [float((i * 7 + j) % 5 - 2) for i in range(OUTPUTS) for j in range(FEATURES)])}))

    def test_a_file_larger_than_the_address_space_is_read(self):
        self.write_gradient()
        with open(self.path("a.safetensors"), "wb") as file:
            start = file.write(tensor_header("a", "F64", (FEATURES, SAMPLES)))
            for i in range(FEATURES):
                file.seek(start + 8 * (SAMPLES * i + i))
                file.write(struct.pack("<d", 1.0))
            file.truncate(start + 8 * SAMPLES * FEATURES)
        self.assertRegex(self.run_limited(FILES.format("a.safetensors"), LIMIT), rf" 4 x 64 +\d+ +{FEATURES} ")

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
        self.assertRegex(self.run_limited(FILES.format("a.npz"), LIMIT), rf" 4 x 64 +\d+ +{FEATURES} ")
        self.assertEqual(sorted(os.listdir(self.folder)), ["a.npz", "g.safetensors", "out.json"])

    def write_sparse(self, name, start, bytes_of_zeros):
        with open(self.path(name), "wb") as file:
            file.write(start)
            file.truncate(len(start) + bytes_of_zeros)

    def test_a_tensor_that_does_not_fit_is_refused_before_it_is_read(self):
        """Sparse files of 32 GB and more under a limit of 2 GB; to read one of them takes far longer than the time allowed here."""
        seconds, limit, length = 20, 2_000_000, 200_000
        self.write("g.safetensors", safetensors({"a": ([1, 20_000], [1.0] * 20_000)}))
        for name, fortran in (("ids", False), ("ids-by-columns", True)):
            self.write_sparse(f"{name}.npy", npy_header((length, 20_000), "<i8", fortran), 8 * length * 20_000)
        for name, key, dtype, shape in (("wide", "a", "F64", (20_000, length)), ("cube", "a", "F32", (20_000, 200, 2_000)), ("w", "a.weight", "F32", (length, 40_000))):
            self.write_sparse(f"{name}.safetensors", tensor_header(key, dtype, shape), int(dtype[1:]) // 8 * math.prod(shape))
        self.write_sparse("ids.txt", b"1 2 3\n", 32 * 10**9)
        for arguments, exit_code, *needles in (
                ("ranks --activations wide.safetensors --gradients g.safetensors", 2, "wide.safetensors", "this run needs about", "of memory, but only"),
                ("ranks w.safetensors", 2, "w.safetensors", "this run needs about", "of memory, but only"),
                ("ranks --activations cube.safetensors --gradients g.safetensors", 1, "20000 x 200 x 2000"),
                ("rank-collapse --model bert --tokens-file ids.npy", 1, "ids.npy: reading it needs about", "of memory, but only"),
                ("rank-collapse --model bert --tokens-file ids-by-columns.npy", 1, "ids-by-columns.npy: reading it needs about"),
                ("rank-collapse --model bert --tokens-file ids.txt", 1, "ids.txt: reading it needs about 160 GB")):
            with self.subTest(arguments):
                message = self.run_limited(f"{arguments} --threads 1 --out out.json", limit, exit_code, timeout=seconds)
                self.assertEqual(len(message.splitlines()), 1, message)
                for needle in needles:
                    self.assertIn(needle, message)
                self.assertFalse(os.path.exists(self.path("out.json")))

    def test_weights_that_do_not_fit_are_refused_before_they_are_read(self):
        """A GPT-2 of width 30,000 in a sparse file: its block takes 43 GB as F32. Described, or run."""
        d, positions = 30_000, 9
        shapes = {"wte.weight": [11, d], "wpe.weight": [positions, d]}
        for name, inputs, outputs in (("attn.c_attn", d, 3 * d), ("attn.c_proj", d, d), ("mlp.c_fc", d, 4 * d), ("mlp.c_proj", 4 * d, d)):
            shapes[f"h.0.{name}.weight"], shapes[f"h.0.{name}.bias"] = [inputs, outputs], [outputs]
        for name in ("h.0.ln_1", "h.0.ln_2", "ln_f"):
            shapes[f"{name}.weight"] = shapes[f"{name}.bias"] = [d]
        header, at = {}, 0
        for name, shape in shapes.items():
            header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, at + 4 * math.prod(shape)]}
            at += 4 * math.prod(shape)
        text = json.dumps(header).encode()
        self.write_sparse("w.safetensors", struct.pack("<Q", len(text)) + text, at)
        self.assertIn("w.safetensors:h.0.attn.c_attn.weight: reading it needs about",
                      self.run_limited("rank-collapse --describe w.safetensors", 2_000_000, 1, timeout=20))
        run = "rank-collapse --model gpt2 --weights w.safetensors --heads 2 --tokens 8 --out out.json"
        self.assertIn("of memory, but only", self.run_limited(run, 2_000_000, 2, timeout=20))

    def test_a_model_that_does_not_fit_is_refused(self):
        """The refusal comes before OpenBLAS could loop forever, asking for a buffer that it cannot get. Counted by hand, for each of
        two trials at once: two blocks of 25.8 million parameters, seven states, 28,160 numbers for each token, four 512 x 512 matrices."""
        for kilobytes in (300_000, 500_000, 1_000_000):
            message = self.run_limited("rank-collapse --model mamba2 --layers 4 --dim 2048 --tokens 512 --threads 2", kilobytes, exit_code=2)
            self.assertEqual(len(message.splitlines()), 1, message)
            self.assertIn("this run needs about 1.25 GB of memory", message)
            self.assertEqual(os.listdir(self.path("results")) if os.path.exists(self.path("results")) else [], [])

    def test_a_dry_run_predicts_the_memory_of_long_sequences_within_a_factor_of_five(self):
        for model in ("attention --tokens 4096", "linear-attention --tokens 32768", "selective-ssm --tokens 16384 --state 512",
                      "mamba1 --tokens 8192 --state 256", "mamba2 --tokens 16384 --state 256", "mamba2 --tokens 16384 --ssm-groups 2"):
            with self.subTest(model):
                run = f"rank-collapse --model {model} --dim 64 --layers 3 --lambda 1 --trials 1 --threads 1 --out out.json --force --quiet".split()
                plan = subprocess.run([BINARY] + run + ["--dry-run"], capture_output=True, check=True, cwd=self.folder)
                with subprocess.Popen([BINARY] + run, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self.folder) as process:
                    _, status, usage = os.wait4(process.pid, 0)
                    process.returncode = os.waitstatus_to_exitcode(status)
                self.assertEqual(process.returncode, 0)
                estimate, peak = json.loads(plan.stdout)["estimate"]["memory_bytes"], 1024 * usage.ru_maxrss
                self.assertLess(peak, estimate)
                self.assertLess(estimate, 5 * peak)

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
