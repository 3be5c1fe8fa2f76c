"""OpenBLAS kernels: under each kernel that the processor can run, the reference results of cheap
presets are reproduced."""
import os

from harness import ROOT, TINY, Check, Skipped, expect, run

# Each kernel, and the flag of /proc/cpuinfo that it needs.
KERNELS = {"Sandybridge": "avx", "Haswell": "avx2", "SkylakeX": "avx512f"}
# They take a few seconds each and use products, eigenvalues, singular values and training.
PRESETS = ("lambda-skip-sys1", "shallow-fig03", "shallow-fig05", "shallow-fig08",
           "spectral-prop2.14", "spectral-thm1.5")


def processor_flags():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("flags"):
                return set(line.split(":", 1)[1].split())
    return set()


def environment(kernel):
    if KERNELS[kernel] not in processor_flags():
        raise Skipped(f"this processor lacks {KERNELS[kernel]}")
    return dict(os.environ, OPENBLAS_CORETYPE=kernel)


def verified(preset, kernel):
    def check(_):
        path = os.path.join("results", "reference", f"{preset}.json")
        if not os.path.exists(os.path.join(ROOT, path)):
            raise Skipped(f"no {path}")
        # In the project's folder, where the paths of a config start.
        process = run(f"verify {path}", ROOT, env=environment(kernel), seconds=300)
        expect("not reproduced" not in process.out, process.out)
    return Check(f"{preset} under {kernel}", check, alone=True)


def tiny(kernel):
    def check(folder):
        run(f"{TINY} --quiet --out a.json", folder)
        run("verify a.json", folder, env=environment(kernel))
    return Check(f"a tiny run under {kernel}", check)


def checks(_, short):
    if short:
        return [tiny(kernel) for kernel in KERNELS]
    return [verified(preset, kernel) for preset in PRESETS for kernel in KERNELS]
