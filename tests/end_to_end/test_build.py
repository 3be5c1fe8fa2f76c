"""The Makefile on a small stand-in program: a failed build leaves no broken files, warnings are errors only under STRICT=1, and compilers
that are too old are refused in one line. Also: the version number is the same in all files."""
import glob
import json
import os
import re
import shutil
import subprocess
import tarfile
import unittest
import zlib

from program import BINARY, ROOT, TINY, ProgramTest

# Empty stand-ins for the libraries keep these builds fast.
FILES = {
    "include/armadillo": "",
    "include/nlohmann/json.hpp": "",
    "include/doctest/doctest.h": "",
    "src/main.cpp": "int answer();\nint main() { return answer() == 42 ? 0 : 1; }\n",
    "src/core/answer.cpp": '#include "core/answer.hpp"\nint answer() { return right; }\n',
    "src/core/answer.hpp": "#pragma once\nconstexpr int right = 42;\n",
    "src/core/other.cpp": "int other() { return 1; }\n",
    "src/result/environment.cpp": '#include "version.hpp"\nconst char* version() { return RANKLAB_VERSION; }\n',
    "tests/unit/main.cpp": "int main() {}\n",
}


def text_of(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as file:
        return file.read()


class BuildTest(ProgramTest):
    def setUp(self):
        super().setUp()
        shutil.copy(os.path.join(ROOT, "Makefile"), self.folder)
        for name, text in FILES.items():
            os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
            self.write(name, text)

    def make(self, *words, exit_code=0):
        """Runs `make build/ranklab` without the flags and variables of the outer make. Returns its output, including standard error."""
        variables = {"CXX", "MFLAGS", *re.findall(r"(?m)^(\w+) *\?=", text_of("Makefile"))}
        environment = {key: value for key, value in os.environ.items() if not key.startswith("MAKE") and key not in variables}
        run = subprocess.run(["make", "build/ranklab", "INCLUDE=-Iinclude -Isrc -Ibuild/generated", "LDLIBS=", "HEADERS=cstddef", "OPTIMIZE=-O0", "LIGHT=-O0",
                              *words], cwd=self.folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertEqual(run.returncode != 0, exit_code != 0, run.stdout)
        return run.stdout

    def program_works(self):
        return subprocess.run([self.path("build/ranklab")]).returncode == 0

    def test_a_failed_build_does_not_break_the_next_one(self):
        good = FILES["src/core/answer.cpp"]
        self.write("src/core/answer.cpp", "int answer() { return nothing; }\n")
        for words in ((), ("-k",), ("-j2",)):
            output = self.make(*words, exit_code=2)
            self.assertRegex(output, r"(?m)^src/core/answer.cpp:1:")
            self.assertNotIn("build/units/computes/src/core.0.cpp", output)
        self.write("src/core/answer.cpp", good)
        self.make()
        self.assertTrue(self.program_works())
        self.write("src/core/answer.hpp", "constexpr int right = ;\n")
        self.assertRegex(self.make(exit_code=2), r"In file included from src/core/answer.cpp:1[,:]\n(.*\n)?src/core/answer.hpp:1:")
        self.write("src/core/answer.hpp", FILES["src/core/answer.hpp"])
        self.make()
        self.assertTrue(self.program_works())

    def test_only_changed_files_are_rebuilt(self):
        self.make()
        self.assertNotRegex(self.make(), "compile|link")
        os.utime(self.path("src/core/other.cpp"))
        self.assertEqual(len(re.findall("compile", self.make())), 1)

    def test_changed_flags_recompile_everything(self):
        self.make()
        output = self.make("OPTIMIZE=-O1")
        for part in ("headers of program", "computes/src/core.0", "src/main.cpp", "src/result/environment.cpp"):
            self.assertIn(f"compile {part}" if "headers" not in part else f"compile the {part}", output)

    def published(self):
        """The published results in the header that the Makefile writes."""
        self.make("build/generated/published_results.hpp")
        return json.loads("".join(re.findall(r'R"file\((.*?)\)file"', self.read("build/generated/published_results.hpp"), re.DOTALL)))

    def test_published_results_are_the_references_without_their_numbers(self):
        self.assertEqual(self.published(), [])
        os.makedirs(self.path("results/reference"))
        names = ["spectral-fig03", "shallow-fig08", "lambda-skip-sys1"]
        wanted = {}
        for name in names:
            shutil.copy(os.path.join(ROOT, "results", "reference", name + ".json"), self.path("results/reference"))
            wanted[name] = json.loads(self.read(f"results/reference/{name}.json"))
            wanted[name].update({"scalars": {}, "series": [], "figure": None, "trial_values": {}})
            wanted[name] = {key: value for key, value in wanted[name].items() if key not in ("more_figures", "table")}
        self.assertEqual(self.published(), [wanted[name] for name in sorted(names)])
        os.remove(self.path("results/reference/shallow-fig08.json"))
        self.assertEqual(self.published(), [wanted["lambda-skip-sys1"], wanted["spectral-fig03"]])
        changed = self.read("results/reference/spectral-fig03.json").replace('"verdict": "holds"', '"verdict": "fails"')
        self.write("results/reference/spectral-fig03.json", changed)
        self.assertEqual({claim["verdict"] for claim in self.published()[1]["claims"] if "judged_in" not in claim} - {"not-applicable"}, {"fails"})
        shutil.rmtree(self.path("results"))
        self.assertEqual(self.published(), [])

    def test_a_tarball_of_a_tarball_keeps_the_references(self):
        os.makedirs(self.path("results/reference"))
        for name in (".revision", "results/mine.json", "results/reference/spectral-fig03.json", "results/reference/spectral-fig03.svg"):
            self.write(name, "")
        self.make("dist")
        with tarfile.open(glob.glob(self.path("build/ranklab-*.tar.gz"))[0]) as file:
            names = {name.partition("/")[2] for name in file.getnames()}
        self.assertEqual({name for name in names if name.startswith("results/")},
                         {"results/reference", "results/reference/spectral-fig03.json", "results/reference/spectral-fig03.svg"})
        self.assertFalse([name for name in names if name.startswith("build")])

    def test_warnings_are_errors_only_under_strict(self):
        self.write("src/core/other.cpp", "int other(int unused) { return 1; }\n")
        self.assertIn("src/core/other.cpp:1:", self.make())
        self.assertTrue(self.program_works())
        self.assertIn("-Werror", self.make("STRICT=1", exit_code=2))
        self.assertIn("STRICT=1", text_of(".ci/run"))

    def test_old_or_missing_compilers_are_refused(self):
        for name, version, needed in (("g++-11", "11", "g++ 12"), ("clang++-13", "13.0.1", "clang 14")):
            script = self.write(name, f'#!/bin/sh\ncase $1 in -dumpversion) echo {version};; *) echo "{name} version";; esac\n')
            os.chmod(script, 0o755)
            output = self.make(f"CXX={script}", exit_code=2)
            self.assertEqual(len(output.splitlines()), 1, output)
            self.assertIn(f"is version {version.split('.')[0]}, which is too old", output)
            self.assertIn(needed, output)
        output = self.make("CXX=no-such-compiler", exit_code=2)
        self.assertEqual(len(output.splitlines()), 1, output)
        self.assertIn("no-such-compiler not found: install g++ 12", output)


class DepsTest(ProgramTest):
    """`make deps` on machines that cannot install packages, with stand-ins for apt-get and dpkg-query."""

    def deps(self, *words, **commands):
        for name, script in commands.items():
            os.chmod(self.write(name.replace("_", "-"), "#!/bin/sh\n" + script), 0o755)
        environment = {key: value for key, value in os.environ.items() if not key.startswith("MAKE") and key not in ("CPATH", "MFLAGS")}
        environment["PATH"] = f"{self.folder}:{environment['PATH']}"
        return subprocess.run(["make", "-C", ROOT, "--no-print-directory", "deps", *words], env=environment, capture_output=True, text=True)

    NO_NETWORK = {"dpkg_query": "exit 1\n", "sudo": 'exec "$@"\n', "apt_get": "echo 'E: Unable to fetch some archives' >&2; exit 100\n"}

    def test_without_a_network_one_line_says_what_to_install(self):
        run = self.deps("INCLUDE=-nostdinc", **self.NO_NETWORK)
        self.assertNotEqual(run.returncode, 0)
        lines = [line for line in run.stderr.splitlines() if not line.startswith("make: ***")]
        self.assertEqual(len(lines), 1, run.stderr)
        for needle in ("not found: Armadillo (armadillo)", "Unable to fetch", "apt-get install libarmadillo-dev"):
            self.assertIn(needle, lines[0])

    def test_libraries_from_another_source_are_accepted(self):
        run = self.deps(**self.NO_NETWORK)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("continuing without", run.stderr)

    def test_without_root_one_line_says_what_to_install(self):
        run = self.deps("APT=", "INCLUDE=-nostdinc")
        self.assertNotEqual(run.returncode, 0)
        lines = [line for line in run.stderr.splitlines() if not line.startswith("make: ***")]
        self.assertEqual(len(lines), 1, run.stderr)
        self.assertIn("install them as root: apt-get install libarmadillo-dev", lines[0])


class FreshTest(ProgramTest):
    """`make fresh-test` on a machine that cannot create a chroot says so and exits with a status other than 0."""

    def fresh_test(self, **commands):
        os.symlink(shutil.which("dirname"), self.path("dirname"))
        for name, script in commands.items():
            os.chmod(self.write(name, "#!/bin/bash\n" + script), 0o755)
        return subprocess.run([shutil.which("bash"), os.path.join(ROOT, "tests", "fresh", "test.sh")], env={"PATH": self.folder},
                              capture_output=True, text=True)

    def test_without_mmdebstrap(self):
        run = self.fresh_test()
        self.assertEqual((run.returncode, run.stderr), (77, "fresh-test: skipped: mmdebstrap is not installed\n"))

    def test_without_root_and_user_namespaces(self):
        run = self.fresh_test(mmdebstrap="exit 1\n", id="echo 1000\n", unshare="exit 1\n")
        self.assertEqual(run.returncode, 77)
        self.assertIn("skipped: neither root nor user namespaces", run.stderr)


class VersionTest(ProgramTest):
    def test_a_result_names_its_program_by_size_and_checksum(self):
        with open(BINARY, "rb") as file:
            program = file.read()
        expected = f"{len(program):08x}{zlib.crc32(program):08x}"
        self.assertEqual(self.result(TINY)["environment"]["program"], expected)

    def test_all_files_have_the_same_version(self):
        version = re.search(r"(?m)^VERSION +:= (\S+)$", text_of("Makefile")).group(1)
        self.assertTrue(self.run_program("--version").stdout.startswith(f"ranklab {version} (git "))
        released = re.search(rf"(?m)^## \[{re.escape(version)}\] - (\d{{4}}-\d\d-\d\d)$", text_of("CHANGELOG.md")).group(1)
        citation = text_of("CITATION.cff")
        self.assertIn(f"\nversion: {version}\n", citation)
        self.assertIn(f"\ndate-released: {released}\n", citation)
        subprocess.run(["make", "-C", ROOT, "--no-print-directory", f"BUILD={self.folder}", f"{self.folder}/deb/changelog"], check=True,
                       stdout=subprocess.DEVNULL)
        self.assertTrue(self.read("deb/changelog").startswith(f"ranklab ({version}) "))

    def test_the_package_depends_on_what_make_deps_installs(self):
        makefile = text_of("Makefile")
        run = set(re.search(r"(?m)^RUN_PACKAGES +:= (.*)$", makefile).group(1).split())
        control = text_of("packaging/debian/control")
        for package in run:
            self.assertRegex(control, rf"(?m)[ ,]{re.escape(package)}\b")


if __name__ == "__main__":
    unittest.main()
