"""Every command and study at a tiny size: it runs, its result satisfies the schema and is plotted and reported."""
import os
import sys
import unittest

from program import PRESETS, ROOT, TINY, TINY_STABLE_RANK, ProgramTest, loads

sys.path.insert(0, os.path.join(ROOT, "tests"))
import check_preset  # noqa: E402

RUNS = {
    "trajectory": TINY,
    "trajectory of a gated activation": TINY + " --activation swiglu",
    "trajectory at the paper's scale": TINY + " --scale paper --from-peak off --restart-every 0",
    "stable-rank": TINY_STABLE_RANK,
    "concentration": "random-features --study concentration --draws 4 --p0 0.05 --bulk 12 --d 3 --n 64,256 --width 8 --vector 32 --k 64 --columns 4 --trials 3",
}
for _command in ("spiked-model", "teacher-student"):
    RUNS[f"{_command} gradient-rank"] = f"{_command} --study gradient-rank --k 8,12,16 --steps 12 --trials 3"
    RUNS[f"{_command} features"] = f"{_command} --study features --k 8,16,24 --trials 3"
    RUNS[f"{_command} multi-spike"] = f"{_command} --study multi-spike --d 16,20,24 --trials 3"

_MODEL = "--layers 4 --tokens 8 --dim 12 --trials 2"
for _model in ("attention", "linear-attention", "pre-norm", "bert", "albert"):
    RUNS[f"layers of {_model}"] = f"rank-collapse --model {_model} --lambda -1,1 {_MODEL}"
for _model in ("lti-ssm", "s4d", "selective-ssm", "mamba2", "mamba1"):
    RUNS[f"layers of {_model}"] = f"rank-collapse --model {_model} --lambda -1,1 {_MODEL} --state 4"
RUNS["layers in single precision"] = f"rank-collapse --model mamba2 --precision f32 --lambda -1,1 {_MODEL} --state 4"
RUNS["layers with de-escalation"] = f"rank-collapse --model post-norm --tau 0.1,1 {_MODEL}"
RUNS["layers of several models"] = f"rank-collapse --model pre-norm --also post-norm:3,attention+identity {_MODEL}"
RUNS["lambda-sweep"] = f"rank-collapse --study lambda-sweep --lambda -2,-1,0,1,2 --also attention+identity {_MODEL}"
RUNS["ablation of the gate"] = f"rank-collapse --study ablation {_MODEL} --state 4"
RUNS["ablation of the skip"] = f"rank-collapse --study ablation --model s4d {_MODEL} --state 4"
RUNS["escalation"] = "rank-collapse --study escalation --layers 4 --tokens 8 --dim 16 --heads 2 --trials 2"
RUNS["escalation-rate"] = "rank-collapse --study escalation-rate --layers 4 --tokens 8 --dim 16 --heads 2 --trials 8"
RUNS["eta"] = "rank-collapse --study eta --tokens 12 --dim 4,8 --trials 6"
RUNS["escalation-lemmas"] = "rank-collapse --study escalation-lemmas --tokens 6 --dim 4,8 --t 0.25,1 --alpha 1,1.5 --trials 6"
RUNS["spectral-gap"] = "rank-collapse --study spectral-gap --tokens 4,8,16 --dim 4,8 --trials 4"
RUNS["bounds"] = "rank-collapse --study bounds --tokens 2,4 --dim 2,4 --layers 4 --lambda -10,0,10 --trials 2"
RUNS["examples sys1"] = "rank-collapse --study examples --layers 40"
RUNS["examples sys2"] = "rank-collapse --study examples --system sys2 --layers 40"
_TRAIN = "rank-collapse --study train --steps 10 --batch 4 --dim 16 --trials 2"
RUNS["train on recall"] = _TRAIN + " --model attention,linear-attention,mamba2,mamba1,s4d --lambda -1,0,1,learned --precision f32"
RUNS["train on pixels"] = _TRAIN + " --task pixels --train-size 64 --test-size 16 --variant pre,post --init fan,small --lambda-where mixer,both"
RUNS["train on text"] = _TRAIN + " --task text --vocab char --length 8 --model attention,mamba2 --lambda 0,1 --norm layer,mamba2:rms --ffn 32,mamba2:0"
RUNS["train on patches"] = _TRAIN + " --task patches --train-size 64 --test-size 16 --heads 2 --layers 2,3 --variant post,pre,de-escalated --init alg1,torch --lr-post 0.001,0.0005"
RUNS["train de-escalated on text"] = _TRAIN + " --task text --length 8 --heads 2 --layers 2 --variant post,pre,de-escalated --mean strict,segment,prefix"
RUNS["train with several removals"] = _TRAIN + " --task patches --train-size 64 --test-size 16 --heads 2 --layers 2 --variant post,de-escalated --removal end:1,ffn:0.5,ffn:learned,branch:learned"
RUNS["regression"] = "one-step-compare --trials 40 --m-high 12 --k-high 12 --n-high 24"
_NETWORK = "one-step-compare --study mlp --d 8 --n 32 --steps 6 --trials 2 --lr-gd 0.001 --lr-spec 0.001"
RUNS["mlp"] = _NETWORK
RUNS["mlp of a gated activation"] = _NETWORK + " --activation swiglu"
RUNS["curvature"] = "one-step-compare --study curvature --d 4 --width 6 --n 12 --layers 3 --steps 4 --measure-steps 0,4 --directions 2 --trials 3"
RUNS["curvature of a transformer"] = "one-step-compare --study curvature --model transformer --activation gelu --d 4 --n 64 --layers 1 --steps 4 --measure-steps 0,4 --trials 3"
RUNS["mlp-init"] = "one-step-compare --study mlp-init --d 4 --width 8 --n 8,16,32 --trials 3"
_GPT = "one-step-compare --study gpt --vocab char --layers 1 --dim 8 --heads 2 --context 8 --batch 2 --steps 3 --trials 2"
RUNS["gpt"] = _GPT + " --optimizer muon,adam --one-step on --also muon,spectral-on=W2"
RUNS["gpt on facts"] = (_GPT.replace("--vocab char ", "").replace("--steps 3", "--steps 34") + " --text zipf-facts --also muon,muon-scale=measured "
                       "--also muon,spectral-on=criterion --also muon,spectral-on=Wv+Wo+W1+W2")
RUNS["gpt of GPT-2's architecture"] = _GPT + " --norm layer --position learned --activation gelu --init gpt2 --precision f32"
RUNS["transformer-init"] = "one-step-compare --study transformer-init --d 16 --n 16 --layers 3 --trials 3"

def _toys():
    """The presets that say what their tests change."""
    for preset in PRESETS:
        with open(os.path.join(ROOT, "experiments", preset + ".json"), encoding="utf-8") as file:
            document = loads(file.read())
        if "toy" in document:
            values = {**document["config"], **document["toy"]}
            words = (f"--{key} {','.join(map(str, value)) if isinstance(value, list) else value}" for key, value in values.items())
            yield "toy of " + preset, " ".join([document["command"], *words])


RUNS.update(_toys())
PARTS = 8  # tests into which a test of all runs is split, so that they run in parallel


def for_each_part(name):
    """Class decorator: adds the tests test_NAME_1_of_PARTS ..., which call the method NAME(part)."""
    def decorate(test_class):
        for part in range(PARTS):
            def test(self, part=part):
                getattr(self, name)(part)
            setattr(test_class, f"test_{name}_{part + 1}_of_{PARTS}", test)
        return test_class
    return decorate


@for_each_part("runs_draw_and_report")
class SmokeTest(ProgramTest):
    def test_nothing_of_a_preset_was_forgotten(self):
        for preset in PRESETS:
            with open(os.path.join(ROOT, "experiments", preset + ".json"), encoding="utf-8") as file:
                self.assertEqual(list(check_preset.missing(loads(file.read()), preset)), [])

    def runs_draw_and_report(self, part):
        """The runs number part, part + PARTS, part + 2 PARTS and so on, and a report of them."""
        results = []
        for number, (what, arguments) in list(enumerate(RUNS.items()))[part::PARTS]:
            with self.subTest(what):
                document = self.result(arguments, name=f"{number}.json")
                results.append(f"{number}.json")
                self.assertEqual(document["status"], "complete")
                self.assertTrue(document["claims"])
                self.run_program(f"plot {number}.json --quiet")
                self.assertIn("<svg", self.read(f"{number}.svg"))
        self.run_program(["report", "--quiet", "--out", "report.html"] + results)
        self.assertIn("</html>", self.read("report.html"))

    def test_every_preset_is_listed_and_resolves(self):
        self.run_program("run lambda-skip-trained --steps 2 --quiet")  # writes the weights that some presets read
        listed = self.run_program("list").stdout.splitlines()
        self.assertRegex(listed[-1], rf"^{len(PRESETS)} presets, [\d.]+ (h|min) in total")
        command_of = dict(line.split()[:2] for line in listed[1:-1] if line[:1].islower())
        main_name = {alias: preset["name"] for preset in loads(self.run_program("list --json").stdout) for alias in preset.get("aliases", ())}
        self.assertEqual(sorted(command_of), sorted(PRESETS + list(main_name)))
        for preset, command in command_of.items():
            plan = loads(self.run_program(f"{command} --preset {preset} --dry-run").stdout)
            self.assertEqual(plan["config"]["preset"], main_name.get(preset, preset))
            self.assertEqual(plan["out"], f"results/{preset}.json")
            self.assertTrue(plan["estimate"]["fits"])


if __name__ == "__main__":
    unittest.main()
