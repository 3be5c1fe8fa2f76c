"""What the peers share: one thread, ranklab's random streams in NumPy, a clock and the report.

A peer prints one JSON object: `seconds` of CPU time without imports, `scalars` and `series` under
ranklab's names, and the BLAS that the process has loaded. Random matrices are drawn twice: by
NumPy's own generator inside the clock, and by ranklab's streams outside of it. So the peer pays for
its drawing what NumPy takes, and computes with the same numbers as ranklab.
"""
import ctypes
import json
import math
import os
import sys
import time

# Before NumPy is imported. bench.py sets OPENBLAS_CORETYPE, so that both programs use the same
# kernels.
for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
import numpy as np

WORD, HALF = np.uint64(0xFFFFFFFF), np.uint64(32)


def hash_name(name):
    """FNV-1a and the finalizer of MurmurHash3."""
    value, bits = 0xCBF29CE484222325, (1 << 64) - 1
    for byte in name.encode():
        value = (value ^ byte) * 0x100000001B3 & bits
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        value = (value ^ (value >> 33)) * factor & bits
    return value ^ (value >> 33)


def philox(blocks, trial, name, seed):
    """Philox 4x32-10 (Salmon et al., 2011): the four words of each block, as 64-bit integers."""
    hashed = hash_name(name)
    key = [seed & 0xFFFFFFFF, seed >> 32]
    a = blocks.astype(np.uint64)
    b, c, d = (np.full(len(a), w, np.uint64) for w in (trial, hashed & 0xFFFFFFFF, hashed >> 32))
    for _ in range(10):
        left, right = a * np.uint64(0xD2511F53), c * np.uint64(0xCD9E8D57)
        a, b = (right >> HALF) ^ b ^ np.uint64(key[0]), right & WORD
        c, d = (left >> HALF) ^ d ^ np.uint64(key[1]), left & WORD
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return a, b, c, d


def open_uniform(high, low):
    u = high * 2.0**-32 + (low >> np.uint64(11)) * 2.0**-53
    return np.where(u == 0, 2.0**-54, u)


class Clock:
    """CPU time of the process inside `with clock:` blocks."""

    def __init__(self):
        self.seconds = 0.0

    def __enter__(self):
        self.start = time.process_time()

    def __exit__(self, *_):
        self.seconds += time.process_time() - self.start


class Draws:
    """Matrices of a trial's named streams, filled column by column."""

    def __init__(self, clock, trial=0, dtype=np.float64, seed=1):
        self.clock, self.trial, self.dtype, self.seed = clock, trial, dtype, seed
        self.generator = np.random.default_rng(1)

    def words(self, name, count, skip=0):
        blocks = np.arange(skip, skip + (count + 1) // 2)
        return philox(blocks, self.trial, name, self.seed)

    def matrix(self, pairs, shape):
        values = np.stack(pairs, 1).ravel()[:math.prod(shape)]
        return values.reshape(shape, order="F").astype(self.dtype, order="F")

    def uniform(self, name, shape, low=0.0, high=1.0):
        with self.clock:
            drawn = self.generator.random(shape, dtype=self.dtype)
            drawn *= high - low
            drawn += low
        a, b, c, d = self.words(name, math.prod(shape))
        pairs = (low + (high - low) * open_uniform(*words) for words in ((a, b), (c, d)))
        return self.matrix(list(pairs), shape)

    def normal(self, name, shape, deviation=1.0, skip=0):
        """Box-Muller: two words of a block give the radius, two the direction."""
        with self.clock:
            drawn = self.generator.standard_normal(shape, dtype=self.dtype)
            drawn *= deviation
        a, b, c, d = self.words(name, math.prod(shape), skip)
        radius = deviation * np.sqrt(-2 * np.log(open_uniform(a, b)))
        fraction = (c & np.uint64(0x3FFFFFFF)) * 2.0**-30 + (d >> np.uint64(11)) * 2.0**-51 - 0.5
        angle = np.pi / 2 * (fraction + (c >> np.uint64(30)).astype(float))
        return self.matrix([radius * np.cos(angle), radius * np.sin(angle)], shape)

    def fan_in(self, name, shape, inputs):
        return self.uniform(name, shape, -inputs**-0.5, inputs**-0.5)


def loaded_blas():
    """Version, kernel and threads of the OpenBLAS of this process, or the path of another BLAS."""
    with open("/proc/self/maps", encoding="utf-8") as file:
        paths = sorted({line.split()[-1] for line in file if "blas" in line})
    for path in paths:
        library = ctypes.CDLL(path)
        if hasattr(library, "openblas_get_config"):
            for function in (library.openblas_get_config, library.openblas_get_corename):
                function.restype = ctypes.c_char_p
            version = " ".join(library.openblas_get_config().decode().split()[:2])
            kernel = library.openblas_get_corename().decode()
            return f"{version}, kernels {kernel}, threads {library.openblas_get_num_threads()}"
    return ", ".join(paths) or "none"


def plain(values):
    """Numbers as JSON: lists of floats, null for those that are not finite."""
    if np.ndim(values):
        return [plain(value) for value in values]
    return float(values) if np.isfinite(values) else None


def report(seconds, scalars=None, series=None):
    versions = {name: sys.modules[name].__version__ for name in ("numpy", "scipy", "torch")
                if name in sys.modules}
    print(json.dumps({"seconds": seconds, "blas": loaded_blas(), "versions": versions,
                      "scalars": {name: plain(v) for name, v in (scalars or {}).items()},
                      "series": {name: plain(v) for name, v in (series or {}).items()}}))


def nuclear_rank(singular_values):
    s = np.asarray(singular_values, dtype=float)
    return s.sum() ** 2 / (s * s).sum()


def stable_rank_from_gram(gram):
    """The trace over the largest eigenvalue, which SciPy computes alone."""
    import scipy.linalg

    top = len(gram) - 1
    largest = scipy.linalg.eigvalsh(gram, subset_by_index=[top, top], check_finite=False)[0]
    return np.trace(gram) / largest
