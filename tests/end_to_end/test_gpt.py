"""one-step-compare --study gpt: the default text, output files that other commands read, bad input."""
import os
import unittest

from program import ProgramTest, loads

TINY = "one-step-compare --study gpt --vocab char --layers 2 --dim 16 --heads 2 --context 8 --batch 4 --steps 6 --trials 2"


class GptTest(ProgramTest):
    def test_the_result_names_the_text_that_was_read(self):
        notes = self.result(TINY)["notes"]
        self.assertTrue(any("the King James Bible (4137850 bytes, checksum " in note and "a vocabulary of 63" in note for note in notes), notes)

    def test_saved_weights_can_be_read_as_published_weights(self):
        self.result(TINY + " --norm layer --position learned --activation gelu --init gpt2 --save kept/model.safetensors --save-steps 0,6")
        for step in ("", ".step0"):
            described = self.run_program(f"rank-collapse --describe kept/model{step}.safetensors").stdout
            self.assertIn("gpt2", described)
            depth = self.result(f"rank-collapse --weights kept/model{step}.safetensors --model-config kept/model{step}.config.json "
                                "--tokens 8 --lambda 1 --trials 2", name="depth.json")
            self.assertEqual(depth["config"]["layers"], 2)
            self.assertEqual(depth["config"]["heads"], 2)

    def test_two_spellings_are_one_run_with_one_verdict(self):
        def text_with(*also):
            words = f"{TINY} --trials 3 --optimizer adam,muon".split()
            return self.result_text(words + [word for each in also for word in ("--also", each)])

        plain = text_with("muon,spectral-on=hidden+embedding", "adam,lr-embedding=0.01", "muon,lr-embedding=0.01")
        other = text_with("muon,spectral-on=embedding+hidden", "adam,lr-embedding=1e-2", "muon,lr-embedding=10e-3,dim=16")
        evidence = {claim["id"]: claim["evidence"]["type"] for claim in loads(plain)["claims"]}
        self.assertEqual(evidence["spectral/section-1.2.1/emb-muon"], "equivalence")
        self.assertEqual(evidence["spectral/section-1/lr-embedding=0.01/muon"], "mean")
        # Names keep the words of the user; nothing else differs.
        for typed, canonical in (("embedding+hidden", "hidden+embedding"), ("lr-embedding=10e-3,dim=16", "lr-embedding=0.01"),
                                 ("lr-embedding=1e-2", "lr-embedding=0.01")):
            self.assertIn(typed, other)
            other = other.replace(typed, canonical)
        plain, other = loads(plain), loads(other)
        for part in ("scalars", "trial_values", "series", "claims"):
            self.assertEqual(plain[part], other[part], part)

    def test_settings_are_compared_with_those_of_another_run_by_value(self):
        wide = TINY + " --optimizer adam,muon"
        for flags, line in (
                ("--also muon,spectral-on=hidden+embedding --also muon,spectral-on=embedding+hidden",
                 "--also: 'muon,spectral-on=embedding+hidden': the same run as 'muon,spectral-on=hidden+embedding'"),
                ("--also muon,lr-muon=0.01 --also muon,lr-muon=1e-2", "--also: 'muon,lr-muon=1e-2': the same run as 'muon,lr-muon=0.01'"),
                ("--also muon,dim=8,layers=1 --also muon,layers=1,dim=8", "--also: 'muon,layers=1,dim=8': the same run as 'muon,dim=8,layers=1'"),
                ("--also adam,spectral-on=W1,lr-adam=0.1 --also adam,lr-adam=0.1", "'adam,lr-adam=0.1': the same run as"),
                ("--also muon,lr-muon=2e-2", "--also: 'muon,lr-muon=2e-2': no setting differs from the run of --optimizer muon"),
                ("--also muon", "--also: 'muon': no setting differs from the run of --optimizer muon"),
                ("--also muon,spectral-on=W2+W1+Wo+Wv+Wk+Wq", "no setting that it uses differs from the run of --optimizer muon"),
                ("--also muon,lr-adam=0.5", "no setting that it uses differs from the run of --optimizer muon"),
                ("--also adam,muon-scale=none", "no setting that it uses differs from the run of --optimizer adam"),
                ("--also adam,qk-norm=auto", "no setting differs from the run of --optimizer adam"),
                ("--also muon,dim=8,dim=32", "dim is given twice")):
            with self.subTest(flags):
                self.refused(f"{wide} {flags} --out out.json", line)
        # What the run of --optimizer does not compute is a run of its own, with its default settings too.
        self.run_program(f"{TINY} --also muon,lr-muon=0.02 --dry-run")
        self.run_program(f"{wide} --also muon,lr-adam=0.5,spectral-on=W2 --dry-run")

    def test_bad_input_is_refused_in_one_line(self):
        self.write("short.txt", "In the beginning")
        self.write("words.txt", "one two three four five six seven eight nine ten. " * 200)
        for flags, needles in (
                ("--text short.txt", ("--text", "short.txt", "too short")),
                ("--text words.txt --vocab bpe:2000", ("--vocab", "has pairs for", "at most 49 tokens")),
                ("--text words.txt --vocab bpe:3", ("--vocab", "at least the 16 distinct bytes")),
                ("--vocab pairs", ("--vocab", "char, or bpe:V")),
                ("--spectral-on criterion", ("--steps", "6", "at least 32")),
                ("--optimizer muon --spectral-on criterion", ("--steps", "6", "at least 32")),
                ("--also muon,spectral-on=against-criterion", ("--also muon,spectral-on=against-criterion", "--steps", "at least 32")),
                ("--optimizer muon --muon-scale rms", ("--muon-scale", "rms", "match-rms")),
                ("--text zipf-facts --vocab bpe:512", ("--vocab", "a text of bytes"))):
            with self.subTest(flags):
                tiny = TINY.replace("--vocab char ", "") if "--vocab" in flags else TINY
                self.refused(f"{tiny} {flags} --out out.json", *needles)
        self.refused(f"{TINY} --text none.txt --out out.json", "none.txt", exit_code=1)
        self.refused(f"{TINY} --save /proc/none/w.safetensors --out out.json", "/proc/none", exit_code=1)

    def test_a_missing_text_package_is_named(self):
        before = os.listdir(self.folder)
        run = self.run_program(TINY + " --out out.json", exit_code=1, env={"PATH": self.folder})
        self.assertEqual(len(run.stderr.splitlines()), 1, run.stderr)
        for word in ("bible-kjv", "bible-kjv-text", "--text"):
            self.assertIn(word, run.stderr)
        self.assertEqual(os.listdir(self.folder), before)

    def test_a_run_that_needs_too_much_memory_is_refused(self):
        self.refused(f"{TINY} --dim 60000 --heads 4 --layers 900 --out out.json", "--dim 60000", "memory")


if __name__ == "__main__":
    unittest.main()
