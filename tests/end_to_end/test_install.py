"""The man page, the completion in bash, and the presets of an installed program."""
import os
import re
import shlex
import shutil
import subprocess
import unittest

from program import BINARY, ROOT, ProgramTest, loads
from stored_tensors import recording


class ManTest(ProgramTest):
    def test_every_command_and_flag_is_in_the_page(self):
        page = self.run_program("man").stdout
        text = page.replace("\\-", "-").replace("\\:", "")
        self.assertTrue(page.startswith(".TH RANKLAB 1 "))
        commands = re.findall(r"(?m)^  ([a-z][a-z-]+) ", self.run_program("--help").stdout)
        self.assertGreater(len(commands), 10)
        for command in commands:
            self.assertIn(f"\n.B {command}", text)
            for flag in re.findall(r"(?m)^  (?:-\w, )?(--[a-z0-9-]+)", self.run_program(f"{command} --help").stdout):
                self.assertRegex(text, rf"(?m)^\.B (-\w, )?{flag}( FILE)?$", f"{command} {flag}")

    def test_every_roff_request_is_known(self):
        # A line of text that begins with a dot or an apostrophe would vanish from the page.
        for line in self.run_program("man").stdout.splitlines():
            if line.startswith((".", "'")):
                self.assertRegex(line, r"^\.(TH|ad|SH|SS|TP|PP|RS|RE|B|I)\b")

    @unittest.skipIf(shutil.which("groff") is None, "groff is not installed")
    def test_groff_typesets_the_page_without_a_warning(self):
        run = subprocess.run(["groff", "-man", "-ww", "-Tutf8"], input=self.run_program("man").stdout, capture_output=True, text=True, check=True)
        self.assertEqual(run.stderr, "")


class CompletionTest(ProgramTest):
    def complete(self, *words):
        script = (f"PATH={os.path.dirname(BINARY)}:$PATH; source {ROOT}/packaging/ranklab.bash; COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); _ranklab; "
                  'printf "%s\\n" "${COMPREPLY[@]}"; complete -p ranklab >&2')
        run = subprocess.run(["bash", "-c", script, "bash", "ranklab", *words], cwd=self.folder, capture_output=True, text=True, check=True)
        self.assertEqual(run.stderr, "complete -o default -F _ranklab ranklab\n")
        return run.stdout.split()

    def test_commands_flags_values_and_presets_are_completed(self):
        self.assertEqual(sorted(self.complete("ran")), ["random-features", "rank-collapse", "ranks"])
        self.assertEqual(self.complete("random-features", "--restart"), ["--restart-every"])
        self.assertEqual(self.complete("random-features", "--study", "st"), ["stable-rank"])
        self.assertEqual(self.complete("random-features", "--progress", "ne"), ["never"])
        self.assertEqual(self.complete("one-step-compare", "--precision", "f6"), ["f64"])
        self.assertEqual(self.complete("random-features", "--preset", "spectral-fig03"), ["spectral-fig03"])
        self.assertEqual(self.complete("run", "spectral-fig03"), ["spectral-fig03"])
        self.assertEqual(self.complete("run", "spectral-fig03", "--restart"), ["--restart-every"])
        self.assertEqual(self.complete("reproduce", "shallow-fig01", "spectral-fig03"), ["spectral-fig03"])
        self.assertEqual(self.complete("papers", "sha"), ["shallow"])
        self.assertEqual(sorted(self.complete("papers", "")), ["lambda-skip", "shallow", "spectral"])
        self.assertEqual(sorted(self.complete("papers", "spectral", "prop-2")), ["prop-2.14"])
        self.assertEqual(self.complete("papers", "spectral", "--err"), ["--errata"])
        self.assertEqual(self.complete("help", "plo"), ["plot"])
        self.assertEqual(self.complete("export", "--wh"), ["--what"])
        self.assertEqual(sorted(self.complete("export", "r.json", "--what", "s")), ["scalars", "series"])
        self.assertEqual(self.complete("help", "stable"), ["stable-rank"])

    def test_only_what_applies_is_completed(self):
        train = ["rank-collapse", "--study", "train"]
        flags = self.complete(*train, "--")
        self.assertLessEqual({"--task", "--model", "--pairs", "--out"}, set(flags))
        self.assertEqual(set(flags) & {"--weights", "--readout", "--text", "--lr-post"}, set())  # of other studies, tasks and variants
        self.assertIn("--readout", self.complete(*train, "--task", "patches", "--"))
        self.assertEqual(self.complete("help", *train, "--task", "patches", "--reado"), ["--readout"])
        self.assertEqual(sorted(self.complete(*train, "--model", "")), ["attention", "linear-attention", "mamba1", "mamba2", "s4d"])
        self.assertEqual(self.complete(*train, "--model", "attention,mam"), ["attention,mamba2", "attention,mamba1"][::-1])
        self.assertEqual(self.complete(*train, "--task", "no-such", "--pai"), ["--pairs"])  # refused flags: those of the command

    def test_bash_completes_names_of_files(self):
        # Where no word fits, bash itself completes names of files.
        self.assertEqual(self.complete("plot", "res") + self.complete("plot", "--quiet", "o"), [])


class WorkflowTest(ProgramTest):
    """packaging/github-workflow.yml, an example for users."""

    def test_its_commands_run_on_a_recording(self):
        with open(os.path.join(ROOT, "packaging", "github-workflow.yml"), encoding="utf-8") as file:
            commands = re.findall(r"run: ranklab (.*)", file.read())
        self.assertEqual([command.split()[0] for command in commands], ["ranks", "verify"])
        # One layer with st(A) = 1, nr(G) = 1 and so a ratio of 1.
        ones = [2, 2], [1.0] * 4
        self.write("step.safetensors", recording([{"name": "layer", "n": 2}], {"layer.activations": ones, "layer.gradient": ones}))
        words = [shlex.split(command) for command in commands]
        for command in words:
            self.run_program(command)
        failing = [word.replace("<0.5", "<2") for word in words[0]] + ["--force"]
        self.run_program(failing, exit_code=3)


class InstallTest(ProgramTest):
    def test_an_installed_program_finds_its_presets(self):
        os.makedirs(self.path("usr/bin"))
        shutil.copy(BINARY, self.path("usr/bin/ranklab"))
        run = lambda: subprocess.run([self.path("usr/bin/ranklab"), "run", "spectral-fig03", "--dry-run"], cwd=self.folder,
                                     capture_output=True, text=True)
        self.assertEqual(run().returncode, 2)
        shutil.copytree(os.path.join(ROOT, "experiments"), self.path("usr/share/ranklab/experiments"))
        self.assertEqual(loads(run().stdout)["config"]["preset"], "spectral-fig03")

    def test_make_install_puts_all_files_below_the_prefix(self):
        run = subprocess.run(["make", "-n", "install", "PREFIX=/opt/x", f"DESTDIR={self.folder}", "BUILD=" + os.environ.get("RANKLAB_BUILD", "build")],
                             cwd=ROOT, capture_output=True, text=True, check=True)
        for place in ("bin/ranklab", "share/ranklab/experiments", "share/man/man1/ranklab.1", "share/bash-completion/completions/ranklab"):
            self.assertIn(f"{self.folder}/opt/x/{place}", run.stdout)


if __name__ == "__main__":
    unittest.main()
