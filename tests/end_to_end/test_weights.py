"""rank-collapse on published weights: compares hidden states with reference_models.py, reads every naming scheme and type, and refuses
bad input."""
import math
import os
import unittest

import reference_models as models
from program import ROOT, ProgramTest, loads, reproducible
from stored_tensors import npy, rounded, safetensors

IDS = [[3, 0, 7, 7, 1, 10], [5, 2, 9, 4], [8, 8, 6, 1, 0]]  # of different lengths; every id is in every vocabulary
LAYERS = "rank-collapse --study layers --weights w.safetensors --tokens-file ids.json --model "
BERT_CONFIG = {"model_type": "bert", "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 12,
               "hidden_act": "gelu", "layer_norm_eps": 1e-12, "vocab_size": 11, "max_position_embeddings": 9,
               "position_embedding_type": "absolute", "hidden_dropout_prob": 0.1}


class WeightsTest(ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("ids.json", IDS)

    def write_weights(self, tensors, dtype="F64", rename=lambda name: name, extra=None, name="w.safetensors"):
        """Writes a .safetensors file and returns the tensors with the rounding of its type."""
        stored = {rename(key): (shape, values, dtype) for key, (shape, values) in tensors.items()}
        stored.update(extra or {})
        self.write(name, safetensors(stored, {"format": "pt"}))
        return {key: (shape, rounded(values, dtype)) for key, (shape, values) in tensors.items()}

    def check_states(self, document, states_of_trials, curve="lambda=1", relative=1e-10):
        """Compares series over depth with the states of the reference models, one list of states per trial."""
        series = {s["name"]: s for s in document["series"]}
        self.assertEqual([document["trials"][key] for key in ("requested", "completed")], [len(states_of_trials)] * 2)
        for measure, f in (("mu", models.mu), ("norm", models.norm), ("cosine_similarity", models.cosine_similarity),
                           ("mu_normalized", lambda X: models.mu(X) / models.norm(X))):
            found = series[f"{curve}.{measure}"]
            self.assertEqual(found["x"], list(range(len(states_of_trials[0]))))
            for k, value in enumerate(found["mean"]):
                expected = math.fsum(f(states[k]) for states in states_of_trials) / len(states_of_trials)
                self.assertLess(abs(value - expected), relative * max(abs(expected), 0.1), f"{curve}.{measure} at {k}")

    # --- each model family compared with its equations ---

    def test_bert(self):
        w = self.write_weights(models.bert_checkpoint())
        document = self.result(LAYERS + "bert --heads 2")
        self.check_states(document, [models.bert(w, ids, 2, 2) for ids in IDS])
        self.assertEqual([document["config"][key] for key in ("layers", "dim", "heads", "ffn", "vocabulary", "tokens", "trials")],
                         [2, 8, 2, 12, 11, 6, 3])

    def test_bert_with_config_and_lambda(self):
        w = self.write_weights(models.bert_checkpoint())
        config = dict(BERT_CONFIG, num_attention_heads=4, layer_norm_eps=1e-3, hidden_act="gelu_new")
        self.write("config.json", config)
        run = LAYERS + "bert --model-config config.json --lambda -0.5,2 --lambda-at "
        for where, second in (("attention", lambda lam: 1), ("both", lambda lam: lam)):
            document = self.result(run + where)
            for lam in (-0.5, 2):
                states = [models.bert(w, ids, 4, 2, (lam, second(lam)), 1e-3, models.gelu_new) for ids in IDS]
                self.check_states(document, states, f"lambda={lam:g}")

    def test_albert(self):
        w = self.write_weights(models.albert_checkpoint())
        self.write("config.json", {"model_type": "albert", "hidden_size": 8, "num_hidden_layers": 3, "num_attention_heads": 2,
                                   "intermediate_size": 12, "embedding_size": 4, "hidden_act": "gelu_new", "layer_norm_eps": 1e-12,
                                   "vocab_size": 11, "num_hidden_groups": 1, "inner_group_num": 1})
        self.check_states(self.result(LAYERS + "albert --model-config config.json"), [models.albert(w, ids, 2, 3) for ids in IDS])
        self.check_states(self.result(LAYERS + "albert --heads 4 --layers 5"), [models.albert(w, ids, 4, 5) for ids in IDS])

    def test_a_depth_that_no_file_shows_is_said(self):
        self.write_weights(models.albert_checkpoint())
        note = "Depth: {} layers, of --layers or its default; neither the tensors nor a config show it."
        config = {"model_type": "albert", "hidden_size": 8, "num_attention_heads": 2}
        for depth, layers, flag, shown in ((None, 32, "", True), (None, 2, " --layers 2", True), (3, 3, "", False), (3, 2, " --layers 2", False)):
            self.write("config.json", config | ({} if depth is None else {"num_hidden_layers": depth}))
            document = self.result(f"{LAYERS}albert --model-config config.json{flag}", name="out.json")
            self.assertEqual(document["config"]["layers"], layers)
            self.assertEqual(note.format(layers) in document["notes"], shown)

    def test_gpt2(self):
        w = self.write_weights(models.gpt2_checkpoint())
        self.check_states(self.result(LAYERS + "gpt2 --heads 2"), [models.gpt2(w, ids, 2, 2) for ids in IDS])
        self.check_states(self.result(LAYERS + "gpt2 --heads 1 --lambda 3 --lambda-at both"),
                          [models.gpt2(w, ids, 1, 2, (3, 3)) for ids in IDS], "lambda=3")

    def test_mamba2(self):
        w = self.write_weights(models.mamba2_checkpoint())
        self.check_states(self.result(LAYERS + "mamba2 --lambda 1"), [models.mamba2(w, ids, 2) for ids in IDS])
        self.check_states(self.result(LAYERS + "mamba2 --lambda -2 --gating off"),
                          [models.mamba2(w, ids, 2, lam=-2, gate=False) for ids in IDS], "lambda=-2")

    def test_mamba2_with_groups(self):
        w = self.write_weights(models.mamba2_checkpoint(groups=2, taps=3))
        self.write("config.json", {"model_type": "mamba2", "hidden_size": 8, "num_hidden_layers": 2, "num_heads": 4, "head_dim": 4,
                                   "state_size": 3, "n_groups": 2, "expand": 2, "conv_kernel": 3, "vocab_size": 12,
                                   "layer_norm_epsilon": 1e-3, "use_conv_bias": True, "use_bias": False, "hidden_act": "silu"})
        self.check_states(self.result(LAYERS + "mamba2 --lambda 1 --model-config config.json"),
                          [models.mamba2(w, ids, 2, groups=2, epsilon=1e-3) for ids in IDS])

    def test_the_config_format_of_the_original_mamba2(self):
        w = self.write_weights(models.mamba2_checkpoint())
        self.write("config.json", {"d_model": 8, "d_intermediate": 0, "n_layer": 2, "vocab_size": 11, "ssm_cfg": {"layer": "Mamba2"},
                                   "attn_layer_idx": [], "attn_cfg": {}, "rms_norm": True, "residual_in_fp32": True,
                                   "fused_add_norm": True, "pad_vocab_size_multiple": 16, "tie_embeddings": True})
        self.check_states(self.result(LAYERS + "mamba2 --lambda 1 --model-config config.json"), [models.mamba2(w, ids, 2) for ids in IDS])

    # --- naming schemes, types, files ---

    def test_naming_schemes_of_published_files(self):
        gamma = lambda name: "bert." + name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta")
        heads = {"bert.pooler.dense.weight": ((8, 8), [0.0] * 64), "cls.predictions.bias": ((11,), [0.0] * 11),
                 "bert.embeddings.position_ids": ((1, 9), list(range(9)), "I64")}
        w = self.write_weights(models.bert_checkpoint(), rename=gamma, extra=heads)
        self.check_states(self.result(LAYERS + "bert --heads 2"), [models.bert(w, ids, 2, 2) for ids in IDS])

        heads = {"albert.pooler.weight": ((8, 8), [0.0] * 64), "predictions.bias": ((11,), [0.0] * 11), "sop_classifier.classifier.bias": ((2,), [0.0] * 2)}
        w = self.write_weights(models.albert_checkpoint(), rename=lambda name: "albert." + name, extra=heads)
        self.check_states(self.result(LAYERS + "albert --heads 2 --layers 2"), [models.albert(w, ids, 2, 2) for ids in IDS])

        masks = {f"transformer.h.{i}.attn.bias": ((1, 1, 9, 9), [1.0] * 81) for i in range(2)}
        w = self.write_weights(models.gpt2_checkpoint(), rename=lambda name: "transformer." + name, extra=masks)
        self.check_states(self.result(LAYERS + "gpt2 --heads 2"), [models.gpt2(w, ids, 2, 2) for ids in IDS])

        head = {"lm_head.weight": ((13, 8), [0.0] * 104)}
        w = self.write_weights(models.mamba2_checkpoint(), rename=lambda name: name.replace("embedding.", "embeddings."), extra=head)
        self.check_states(self.result(LAYERS + "mamba2 --lambda 1"), [models.mamba2(w, ids, 2) for ids in IDS])

    def test_prefixes_of_wrappers_are_ignored(self):
        """Prefixes that DistributedDataParallel, torch.compile and PEFT add to tensor names are removed, in any order."""
        for wrapper in ("module.", "_orig_mod.", "base_model.model.", "module._orig_mod.", "_orig_mod.module.base_model.model."):
            w = self.write_weights(models.gpt2_checkpoint(), rename=lambda name: wrapper + "transformer." + name,
                                   extra={wrapper + "lm_head.weight": ((11, 8), [0.0] * 88)})
            self.check_states(self.result(LAYERS + "gpt2 --heads 2"), [models.gpt2(w, ids, 2, 2) for ids in IDS])
        good = models.bert_checkpoint()
        w = self.write_weights(good, rename=lambda name: "module." + name)
        self.check_states(self.result(LAYERS + "bert --heads 2"), [models.bert(w, ids, 2, 2) for ids in IDS])
        bias = "encoder.layer.1.attention.self.key.bias"
        self.write_weights({key: value for key, value in good.items() if key != bias}, rename=lambda name: "module.bert." + name)
        self.refused(LAYERS + "bert --heads 2", "w.safetensors", "'module.bert." + bias, "missing", exit_code=1)
        self.write_weights(good, extra={"module." + bias: ((8,), [0.0] * 8)})
        self.refused(LAYERS + "bert --heads 2", "w.safetensors", bias, "module." + bias, "have the same name", exit_code=1)

    def test_heads_of_fine_tuned_models(self):
        heads = {"classifier.weight": ((3, 8), [0.0] * 24), "classifier.bias": ((3,), [0.0] * 3), "module.qa_outputs.bias": ((2,), [0.0] * 2)}
        w = self.write_weights(models.bert_checkpoint(), rename=lambda name: "bert." + name, extra=heads)
        run = LAYERS + "bert --heads 2"
        self.refused(run, "w.safetensors", "classifier.", "--ignore-tensors", exit_code=1)
        self.refused(run + " --ignore-tensors classifier.*", "module.qa_outputs.bias", exit_code=1)
        self.refused(run + " --ignore-tensors classifier.* --ignore-tensors clasifier.*", "--ignore-tensors", "clasifier.*", "w.safetensors")
        text = self.result_text(run + " --ignore-tensors classifier.* --ignore-tensors qa_*")
        document = loads(text)
        self.check_states(document, [models.bert(w, ids, 2, 2) for ids in IDS])
        self.assertEqual(document["config"]["ignore-tensors"], ["classifier.*", "qa_*"])
        note = [note for note in document["notes"] if "Unused tensors" in note]
        self.assertEqual(len(note), 1, document["notes"])
        for head in heads:
            self.assertIn(head, note[0])
        self.write("again.json", text)
        self.run_program("verify again.json")
        # Tensors that the model needs are read even if a pattern matches them.
        self.check_states(self.result(run + " --ignore-tensors *"), [models.bert(w, ids, 2, 2) for ids in IDS])
        self.assertIn("classifier.bias", self.run_program("rank-collapse --describe w.safetensors").stdout)

    def test_groups_of_states(self):
        """Two groups of 3 states and one group of 6 states have tensors of the same shapes."""
        w = self.write_weights(models.mamba2_checkpoint(groups=2))
        run = LAYERS + "mamba2 --lambda 1"
        text = self.result_text(run + " --ssm-groups 2")
        document = loads(text)
        self.check_states(document, [models.mamba2(w, ids, 2, groups=2) for ids in IDS])
        self.assertEqual([document["config"][key] for key in ("ssm-groups", "state")], [2, 3])
        self.assertFalse(any(note.startswith("Assumed") for note in document["notes"]), document["notes"])
        self.write("again.json", text)
        self.run_program("verify again.json")

        message = self.run_program(run + " --out one.json").stdout
        document = loads(self.read("one.json"))
        self.check_states(document, [models.mamba2(w, ids, 2, groups=1) for ids in IDS])
        self.assertEqual([document["config"][key] for key in ("ssm-groups", "state")], [1, 6])
        self.assertTrue(any(note.startswith("Assumed: 1 group of states") for note in document["notes"]), document["notes"])
        for text in (message, self.run_program("rank-collapse --describe w.safetensors").stdout):
            self.assertIn("--ssm-groups N", text)

        self.refused(run + " --ssm-groups 3", "--ssm-groups 3", "4 heads")
        self.refused(run + " --ssm-groups 4", "w.safetensors", "conv1d", "groups: 4", exit_code=1)
        self.refused(run + " --ssm-groups 0", "--ssm-groups")
        self.refused("rank-collapse --model bert --layers 2 --ssm-groups 2", "--ssm-groups 2", "bert", "mamba2")
        self.write("config.json", {"model_type": "mamba2", "hidden_size": 8, "num_hidden_layers": 2, "num_heads": 4, "n_groups": 2})
        self.assertNotIn("ssm-groups", self.run_program(run + " --model-config config.json --out two.json").stdout)
        self.refused(run + " --model-config config.json --ssm-groups 4", "--ssm-groups 4", "config.json", "2")

    def test_types(self):
        for dtype in ("F32", "F16", "BF16"):
            w = self.write_weights(models.mamba2_checkpoint(), dtype)
            self.check_states(self.result(LAYERS + "mamba2 --lambda 1"), [models.mamba2(w, ids, 2) for ids in IDS])
            self.check_states(self.result(LAYERS + "mamba2 --lambda 1 --precision f32"), [models.mamba2(w, ids, 2) for ids in IDS],
                              relative=1e-4)
            w = self.write_weights(models.gpt2_checkpoint(), dtype)
            self.check_states(self.result(LAYERS + "gpt2 --heads 2"), [models.gpt2(w, ids, 2, 2) for ids in IDS])

    def test_shards(self):
        w = models.bert_checkpoint()
        halves = [dict(list(w.items())[:20]), dict(list(w.items())[20:])]
        for i, half in enumerate(halves):
            self.write(f"w-{i}.safetensors", safetensors({key: (*value, "F64") for key, value in half.items()}))
        where = {key: f"w-{i}.safetensors" for i, half in enumerate(halves) for key in half}
        self.write("model.safetensors.index.json", {"metadata": {"total_size": 1}, "weight_map": where})
        run = LAYERS.replace("w.safetensors", "model.safetensors.index.json") + "bert --heads 2"
        self.check_states(self.result(run), [models.bert(w, ids, 2, 2) for ids in IDS])
        missing = dict(where, **{"encoder.layer.1.output.dense.bias": "gone.safetensors"})
        self.write("model.safetensors.index.json", {"weight_map": missing})
        self.refused(run, "gone.safetensors", exit_code=1)
        self.write("model.safetensors.index.json", {"weight_map": dict(where, x="../w-0.safetensors")})
        self.refused(run, "model.safetensors.index.json", "../w-0.safetensors", exit_code=1)

    def test_token_files(self):
        w = self.write_weights(models.bert_checkpoint())
        square = [ids[:4] for ids in IDS]
        expected = [models.bert(w, ids, 2, 2) for ids in square]
        self.write("ids.npy", npy(square, "<i8"))
        self.write("ids.txt", "3 0 7 7\n5,2,9,4\n\n8\t8 6 1\n")
        self.write("ids.json", square)
        for ending in ("npy", "txt", "json"):
            self.check_states(self.result(LAYERS.replace("ids.json", "ids." + ending) + "bert --heads 2"), expected)
        self.write("ids.json", IDS)  # ragged, cut to four tokens each
        document = self.result(LAYERS + "bert --heads 2 --tokens 4")
        self.check_states(document, expected)
        self.assertTrue(any("2 of them cut" in note for note in document.get("notes", [])), document.get("notes"))
        self.check_states(self.result(LAYERS + "bert --heads 2 --tokens 4 --trials 2"), expected[:2])
        self.refused(LAYERS + "bert --heads 2 --trials 4", "--trials 4", "3")

    def test_layers_flag_uses_only_the_first_layers(self):
        w = self.write_weights(models.gpt2_checkpoint(layers=3))
        self.check_states(self.result(LAYERS + "gpt2 --heads 2 --layers 2"), [models.gpt2(w, ids, 2, 2) for ids in IDS])
        self.refused(LAYERS + "gpt2 --heads 2 --layers 4", "--layers 4", "w.safetensors", "3")

    # --- the other studies, presets, replay ---

    def test_studies(self):
        w = self.write_weights(models.mamba2_checkpoint())
        sweep = self.result(LAYERS.replace("layers", "lambda-sweep") + "mamba2 --lambda -1,0,1 --refine 2")
        final = [s for s in sweep["series"] if s["name"] == "final.mu_normalized"][0]
        self.assertEqual(final["x"], [-1, 0, 1])
        for lam, value in zip(final["x"], final["mean"]):
            states = [models.mamba2(w, ids, 2, lam=lam)[-1] for ids in IDS]
            self.assertLess(abs(value - sum(models.mu(X) / models.norm(X) for X in states) / 3), 1e-10)
        ablation = self.result(LAYERS.replace("layers", "ablation") + "mamba2")
        series = {s["name"]: s["mean"] for s in ablation["series"]}
        states = [models.mamba2(w, ids, 2, gate=False)[-1] for ids in IDS]
        self.assertLess(abs(series["gating=off,norm=on.mu_normalized"][-1] - sum(models.mu(X) / models.norm(X) for X in states) / 3), 1e-10)

    def test_escalation(self):
        """The ratio xi_1/xi_2 of each step: growth of the common part of the tokens relative to the growth of the rest."""
        w = self.write_weights(models.bert_checkpoint())
        document = self.result(LAYERS.replace("layers", "escalation") + "bert --heads 2 --lambda 0.5 --lambda-at both")
        series = {s["name"]: s for s in document["series"]}
        parts = lambda X: (models.norm(X) ** 2 - models.mu(X) ** 2, models.mu(X) ** 2)
        for k in range(2):
            ratios = [[] for _ in range(4)]
            for ids in IDS:
                X = models.bert(w, ids, 2, k, (0.5, 0.5))[-1]
                for s, Y in enumerate(models.encoder_steps(models.Weights(w), X, models.bert_names(k), 2, (0.5, 0.5), 1e-12, models.gelu)):
                    (common, rest), (common_then, rest_then) = parts(X), parts(Y)
                    ratios[s].append(common_then / common / (rest_then / rest))
                    X = Y
            for s in range(4):
                found = series[f"step{s + 1}.xi_ratio"]
                self.assertEqual(found["x"], [1, 2])
                self.assertLess(abs(found["mean"][k] / (math.fsum(ratios[s]) / 3) - 1), 1e-10, f"step {s + 1} of block {k + 1}")
        self.write_weights(models.gpt2_checkpoint())
        self.refused("rank-collapse --study escalation --weights w.safetensors --heads 2 --tokens 4", "gpt2", "post-norm")

    def test_presets_accept_weights(self):
        w = self.write_weights(models.mamba2_checkpoint())
        self.write("ids.json", [ids * 30 for ids in IDS])
        document = self.result("rank-collapse --preset lambda-skip-fig01 --precision f64 --weights w.safetensors --tokens-file ids.json")
        self.assertEqual([document["config"][key] for key in ("model", "layers", "dim", "tokens", "gating", "also")],
                         ["mamba2", 2, 8, 128, "off", []])
        self.check_states(document, [models.mamba2(w, (ids * 30)[:128], 2, lam=-5, gate=False) for ids in IDS], "lambda=-5", 1e-9)
        for preset in ("lambda-skip-fig02", "lambda-skip-fig03"):
            document = self.result(f"rank-collapse --preset {preset} --weights w.safetensors --tokens-file ids.json")
            self.assertEqual(document["trials"]["completed"], 3)
        self.write("ids.json", IDS)
        w = self.write_weights(models.bert_checkpoint())
        document = self.result("rank-collapse --preset shallow-fig01 --weights w.safetensors --heads 2 --tokens-file ids.json")
        self.check_states(document, [models.bert(w, ids, 2, 2) for ids in IDS])

    def test_threads_resume_and_replay_give_the_same_bytes(self):
        self.write_weights(models.gpt2_checkpoint(), "F32")
        self.write("ids.json", [[(i * j) % 11 for j in range(1, 8)] for i in range(1, 12)])
        run = LAYERS + "gpt2 --heads 2 --precision f32 --lambda 1,-1"
        once = self.result_text(run + " --threads 1")
        self.assertEqual(reproducible(self.result_text(run + " --threads 5")), reproducible(once))
        self.write("again.json", once)
        self.assertEqual(reproducible(self.result_text("rank-collapse --config again.json")), reproducible(once))
        self.run_program("verify again.json")
        shorter = loads(self.result_text(run + " --trials 3"))
        for name, values in loads(once)["trial_values"].items():
            self.assertEqual(shorter["trial_values"][name], values[:3], name)

    def test_drawn_tokens(self):
        self.write_weights(models.gpt2_checkpoint(), "F16")
        run = "rank-collapse --model gpt2 --heads 2 --weights w.safetensors --tokens 7 --trials 3"
        uniform, zipf = self.result(run), self.result(run + " --zipf 3")
        self.assertNotEqual(uniform["series"], zipf["series"])
        # With exponent 3 nearly all tokens are equal.
        self.assertGreater(zipf["scalars"]["lambda=1.final_cosine_similarity"]["mean"],
                           uniform["scalars"]["lambda=1.final_cosine_similarity"]["mean"])
        self.refused(run.replace("--tokens 7", "--tokens 10"), "--tokens 10", "9 positions")

    # --- describe ---

    def test_describe(self):
        self.write_weights(models.mamba2_checkpoint(), "F16")
        text = self.run_program("rank-collapse --describe w.safetensors").stdout
        count = sum(len(values) for name, (_, values) in models.mamba2_checkpoint().items() if name != "backbone.norm_f.weight")
        for words in ("mamba2", "2 blocks", "dim 8", "4 heads of 4", "state 3", "vocabulary 13", "F16"):
            self.assertIn(words, text)
        self.assertRegex(text.replace(",", ""), rf"\b({count}|{count + 8})\b")
        self.refused("rank-collapse --describe w.safetensors --seed 1", "--describe")
        self.refused("rank-collapse --describe gone.safetensors", "gone.safetensors", exit_code=1)

    # --- bad input ---

    def test_tensors_that_do_not_fit_are_refused(self):
        good = models.bert_checkpoint()
        bias = "encoder.layer.1.attention.self.key.bias"
        run = LAYERS + "bert --heads 2"
        self.write_weights({key: value for key, value in good.items() if key != bias})
        self.refused(run, "w.safetensors", bias, "missing", exit_code=1)
        self.write_weights(dict(good, **{bias: ((7,), [0.0] * 7)}))
        self.refused(run, "w.safetensors", bias, "7", "8", exit_code=1)
        self.write_weights(good, extra={"encoder.layer.1.attention.self.rotary.weight": ((2,), [0.0] * 2)})
        self.refused(run, "w.safetensors", "encoder.layer.1.attention.self.rotary.weight", exit_code=1)
        self.write_weights({"a": ((2,), [0.0] * 2)})
        self.refused(run, "w.safetensors", exit_code=1)
        self.write("w.safetensors", safetensors({"a": ((2,), [0.0] * 2)})[:-1])
        self.refused(run, "w.safetensors", exit_code=1)
        self.write("pytorch_model.bin", b"PK\x03\x04" + b"\0" * 100)
        self.refused(run.replace("w.safetensors", "pytorch_model.bin"), "pytorch_model.bin", "safetensors", exit_code=1)

    def test_flags_that_do_not_fit_are_refused(self):
        self.write_weights(models.bert_checkpoint())
        run = LAYERS + "bert"
        self.refused(run, "--heads", "--model-config")
        self.refused(run + " --heads 3", "--heads 3")
        self.refused(run + " --heads 2 --dim 16", "--dim 16", "8")
        self.refused(LAYERS + "gpt2 --heads 2", "--model gpt2", "bert")
        self.refused(run + " --heads 2 --weight-scale 2", "--weight-scale")
        self.refused("rank-collapse --model bert --model-config c.json", "--model-config", "--weights")
        self.refused("rank-collapse --model attention --tokens-file ids.json --input gaussian", "--tokens-file", "--input")
        self.refused(run + " --heads 2 --zipf -1", "--zipf")

        self.write_weights(models.albert_checkpoint())
        self.refused(LAYERS + "albert --heads 2 --layers 2 --share-weights off", "--share-weights off", "albert")

    def test_configs_that_do_not_fit_are_refused(self):
        self.write_weights(models.bert_checkpoint())
        run = LAYERS + "bert --model-config config.json"
        for change, *needles in (({"hidden_size": 16}, "16", "8"), ({"num_hidden_layers": 3}, "3", "2"), ({"model_type": "gpt2"}, "gpt2"),
                                 ({"hidden_act": "swish9"}, "swish9"), ({"position_embedding_type": "relative_key"}, "relative_key"),
                                 ({"num_attention_heads": "two"}, "num_attention_heads"), ({"layer_norm_eps": -1}, "layer_norm_eps"),
                                 ({"type_vocab_size": 3}, "type_vocab_size 3", "2")):
            self.write("config.json", dict(BERT_CONFIG, **change))
            self.refused(run, "config.json", *needles, exit_code=1)
        self.write("config.json", "{")
        self.refused(run, "config.json", exit_code=1)

    def test_heads_of_a_config_that_do_not_divide_the_width_are_refused(self):
        """Threads any-guardrail#239 and LLMs-from-scratch#444: no number of heads but the config's own is ever run."""
        for model, checkpoint, key in (("bert", models.bert_checkpoint, "num_attention_heads"), ("albert", models.albert_checkpoint, "num_attention_heads"),
                                       ("gpt2", models.gpt2_checkpoint, "n_head"), ("gpt2", models.gpt2_checkpoint, "num_attention_heads")):
            self.write_weights(checkpoint())  # of width 8
            run = LAYERS + model + " --layers 2 --model-config config.json"
            for heads in range(1, 18):
                self.write("config.json", {"model_type": model, key: heads})
                if 8 % heads == 0:
                    self.assertEqual(loads(self.run_program(run + " --dry-run").stdout)["config"]["heads"], heads)
                else:
                    self.refused(run, f"config.json: {key} {heads} does not divide the width 8; allowed: divisors of 8", exit_code=1)
            for wrong in (0, -2, 2.0, 2.5, 10**30, "2", [2], True):
                self.write("config.json", {"model_type": model, key: wrong})
                self.refused(run, f"config.json: {key} is ", "it must be an integer from 1 to 1000000", exit_code=1)
            self.write("config.json", {"model_type": model, key: 3})
            self.assertEqual(loads(self.run_program(run + " --heads 2 --dry-run").stdout)["config"]["heads"], 2)  # a flag decides
            self.refused(run + " --heads 5", "--heads 5 does not divide --dim 8")
        self.write_weights(models.gpt2_checkpoint())
        self.write_weights(models.bert_checkpoint(), name="also.safetensors")
        self.write("also.config.json", dict(BERT_CONFIG, num_attention_heads=3))
        self.refused(LAYERS + "gpt2 --heads 2 --also also.safetensors", "also.config.json: num_attention_heads 3", exit_code=1)

    def test_every_size_of_a_config_must_be_that_of_the_tensors(self):
        bert = dict(hidden_size=8, num_hidden_layers=2, intermediate_size=12, vocab_size=11, max_position_embeddings=9, type_vocab_size=2)
        mamba2 = dict(hidden_size=8, num_hidden_layers=2, num_heads=4, head_dim=4, state_size=3, conv_kernel=4, expand=2, vocab_size=13)
        for model, checkpoint, sizes in (
                ("bert", models.bert_checkpoint, bert),
                ("albert", models.albert_checkpoint, dict(bert, embedding_size=4, num_hidden_layers=None)),
                ("gpt2", models.gpt2_checkpoint, dict(n_embd=8, n_layer=2, n_inner=8, vocab_size=11, n_positions=9)),
                ("mamba2", models.mamba2_checkpoint, mamba2)):
            self.write_weights(checkpoint())
            run = LAYERS + f"{model} --model-config config.json --dry-run" + ("" if model == "mamba2" else " --heads 2")
            self.write("config.json", dict(sizes, model_type=model))
            self.run_program(run)
            for key, size in sizes.items():
                if size is None:
                    continue
                self.write("config.json", dict(sizes, model_type=model, **{key: 1000}))
                self.refused(run, f"config.json: {key} 1000 does not fit w.safetensors, whose tensors have {size}", exit_code=1)
        self.write("config.json", dict(mamba2, model_type="mamba2", vocab_size=4, pad_vocab_size_multiple=8))  # 8 rows, not 13
        self.refused(run, "vocab_size 4 does not fit w.safetensors, whose tensors have 13", exit_code=1)
        for groups in (3, 8):  # neither divides the 4 heads
            self.write("config.json", {"model_type": "mamba2", "n_groups": groups})
            self.refused(run, f"config.json: n_groups {groups} does not fit w.safetensors", "4 heads and 3 states", exit_code=1)
        self.write("config.json", {"model_type": "mamba2", "hidden_size": 4096, "n_groups": 8})  # mamba#752: the library's defaults
        self.refused(run, "hidden_size 4096 does not fit w.safetensors, whose tensors have 8", exit_code=1)

    def test_a_config_file_that_contradicts_a_model_config_is_refused(self):
        w = self.write_weights(models.bert_checkpoint())
        self.write("config.json", dict(BERT_CONFIG, num_attention_heads=4))
        base = {"study": "layers", "weights": "w.safetensors", "model-config": "config.json", "tokens-file": "ids.json"}
        preset = lambda **values: {"command": "rank-collapse", "title": "t", "summary": "s", "config": dict(base, **values)}
        self.write("mine.json", preset(heads=2))
        run = "rank-collapse --config mine.json"
        self.refused(run, "--config mine.json: heads: 2 does not fit: num_attention_heads of config.json is 4")
        self.write("mine.json", preset(layers=1))
        self.refused(run, "--config mine.json: layers: 1 does not fit: num_hidden_layers of config.json is 2")
        self.write("mine.json", preset(dim=16))
        self.refused(run, "--config mine.json: --dim 16 does not fit --weights w.safetensors, which has 8")
        self.write("mine.json", preset(heads=4))
        self.check_states(self.result(run), [models.bert(w, ids, 4, 2) for ids in IDS])
        os.mkdir(self.path("experiments"))
        self.write("experiments/mine.json", preset(heads=2))
        self.refused("run mine", "preset mine: heads: 2 does not fit")

        # A flag decides; the result says so, also when it is replayed and verified.
        note = "Assumed: --heads 2, although num_attention_heads of config.json is 4."
        document = self.result("run mine --heads 2")
        self.assertIn(note, document["notes"])
        self.check_states(document, [models.bert(w, ids, 2, 2) for ids in IDS])
        self.assertIn(note, self.result("rank-collapse --config out.json", name="again.json")["notes"])
        self.assertIn("reproduced bit for bit", self.run_program("verify out.json").stdout)

    def test_a_preset_of_ones_own_keeps_its_values_beside_weights(self):
        self.write_weights(models.bert_checkpoint())
        self.write("config.json", BERT_CONFIG)
        os.mkdir(self.path("experiments"))
        mine = {"command": "rank-collapse", "title": "t", "summary": "s", "config": {"study": "layers", "model": "bert", "layers": 1, "heads": 2}}
        self.write("experiments/mine.json", mine)
        run = "run mine --weights w.safetensors --tokens-file ids.json --dry-run"
        self.assertEqual(loads(self.run_program(run).stdout)["config"]["layers"], 1)
        mine["config"]["trials"] = 4
        self.write("experiments/mine.json", mine)
        self.refused(run, "with preset mine: --trials 4 is not allowed: the input files hold 3 trials")

    def test_a_preset_of_the_program_gives_way_to_weights_and_says_so(self):
        self.write_weights(models.bert_checkpoint())
        with open(os.path.join(ROOT, "experiments", "shallow-fig01.json"), encoding="utf-8") as file:
            preset = loads(file.read())["config"]
        run = "run shallow-fig01 --weights w.safetensors --tokens-file ids.json --heads 2 --out out.json --force --trials 1"
        note = next(line for line in self.run_program(run).stdout.splitlines() if line.startswith("  assumed"))
        self.assertIn("of preset shallow-fig01, because the input files say so", note)
        self.assertIn(f"--layers 2 instead of {preset['layers']}", note)

    def test_token_types(self):
        """The number of token types is that of the tensors; all tokens have the first type."""
        for types in (1, 3):
            w = self.write_weights(models.bert_checkpoint(types=types))
            self.write("config.json", dict(BERT_CONFIG, type_vocab_size=types))
            self.check_states(self.result(LAYERS + "bert --model-config config.json"), [models.bert(w, ids, 2, 2) for ids in IDS])

    def test_token_files_that_do_not_fit_are_refused(self):
        self.write_weights(models.bert_checkpoint())
        run = LAYERS + "bert --heads 2"
        for content, *needles in (([[1, 2], [3, 11]], "sequence 2", "11", "10"), ([[1, 2], [3]], "2"), ([[1, -2]], "-2"), ([[1, 2.5]], "2.5"),
                                  ([], ""), ([[1] * 10], "10", "9 positions")):
            self.write("ids.json", content)
            self.refused(run, "ids.json", *needles, exit_code=1)
        self.refused(run.replace("ids.json", "ids.csv"), "ids.csv", exit_code=1)


if __name__ == "__main__":
    unittest.main()
