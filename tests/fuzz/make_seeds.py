#!/usr/bin/env python3
"""Writes tests/fuzz/seeds with small valid files of every format; needs build/ranklab. The seeds are in git, so this runs again only if a
format changes."""
import gzip
import io
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SEEDS = os.path.join(ROOT, "tests", "fuzz", "seeds")
sys.path.insert(0, os.path.join(ROOT, "tests", "end_to_end"))
sys.dont_write_bytecode = True

import reference_models as models  # noqa: E402
from stored_tensors import npy, safetensors  # noqa: E402

# Runs of a few trials, one for each kind of result.
RUNS = {
    "random-features": "random-features --study trajectory --m 6 --k 5 --d 3 --n 12 --steps 4 --restart-every 2 --trials 2",
    "spiked-model": "spiked-model --study gradient-rank --k 6,8 --steps 3 --trials 2",
    "rank-collapse": "rank-collapse --model mamba2 --lambda -1,1 --layers 2 --tokens 4 --dim 8 --state 2 --trials 2",
    "train": "rank-collapse --study train --steps 4 --batch 2 --dim 8 --trials 2 --model attention --lambda 0,1 --precision f32",
    "files": "ranks --activations a.safetensors --gradients g.safetensors --fail-if fc:ratio<1",
}
FLAGS = {"number": "12", "real": "-1.5e3", "list": "1,2,3", "reals": "0.1,1e-3,-2", "shard": "3/12",
         "split": "fc=3", "shares": "f*=32+8+8", "groups": "fc=3@16", "gate": "blocks.*: ratio<0.5",
         "address": "w.safetensors:h.0.attn", "vocab": "bpe:512", "word": "mamba2:800", "words": "attention,mamba2+identity:3x16",
         "switch": "on", "glob": "*.[a-c]?.w*", "empty": "", "utf8": "λ=½", "escape": "\x1b[31m\x7f", "huge": "18446744073709551616",
         "learned": "-1,0,learned", "per-model": "32,mamba2:0", "optimizer": "muon,spectral-on=W2"}
CLAIMS = {"always": "gd.loss >= 0 and not a > 3", "never": "never diff(layer*.r) < 0 from t >= 1", "mean": "mean log10(last(loss[gd]) / first(gd.loss)) <= 0",
          "share": "mean share(gd.loss >= 2 * b) in [0.5, inf]", "slope": "slope log(layer*.r) over log(t + 1) in [0, 2]",
          "over": "slope log(b + 9) over log(n) >= -1", "alike": "alike a, max(b, at(gd.loss, 2)) within 0.1", "quoted": "mean 'd=2.r' ^ 2 - -1 < 1e3"}
LINES = {
    "trajectory": "random-features --study trajectory --m 12 --k 10 --d 5 --n 30 --steps 20 --trials 3 --seed 4 -o x.json -q",
    "features": "spiked-model --study features --k 8,16,24 --activation=relu -j2",
    "multi-spike": "teacher-student --study multi-spike --d 16,20,24 --trials 3 --strict",
    "layers": "rank-collapse --model pre-norm --also post-norm:3,attention+identity --lambda -1,1 --layers 4 --tokens 8 --dim 12",
    "lambda-sweep": "rank-collapse --study lambda-sweep --lambda -2,0,2",
    "bounds": "rank-collapse --study bounds --tokens 2,4 --dim 2,4 --layers 4 --lambda -10,0,10 --shard 2/3 --trials 6",
    "train": "rank-collapse --study train --task text --vocab char --model attention,mamba2 --norm layer,mamba2:rms --ffn 32,mamba2:0",
    "patches": "rank-collapse --study train --task patches --heads 2 --layers 2,3 --variant post,pre,de-escalated --lr-post 0.001,0.0005",
    "regression": "one-step-compare --trials 40 --m-high 12 --k-high 12 --n-high 24 --resume --out r.json",
    "gpt": "one-step-compare --study gpt --vocab bpe:300 --layers 1 --dim 8 --optimizer muon,adam --one-step on --also muon,spectral-on=W2",
    "files": "ranks --activations a.safetensors --gradients g.safetensors --split fc=2 --fail-if fc:ratio<1 --include f*",
    "weights": "rank-collapse --weights w.safetensors --model-config c.json --tokens-file ids.json --ignore-tensors head.*",
    "run": "run spectral-fig03 --trials 2 --dry-run",
    "preset": "rank-collapse --preset shallow-fig08 --tokens 12 --config c.json",
    "help": "one-step-compare --study gpt --help",
    "compare": "compare A.json B.json",
    "export": "export A.json --what series --out A.csv",
    "merge": "merge x.1-of-2.part x.2-of-2.part --out x.json --force",
    "progress": "merge --dry-run x.1-of-2.part",
    "plot": "plot A.json --out A.png --keep-script",
    "report": "report A.json B.json --out page.html",
    "list": "list --json",
}
# The configs fit the checkpoints of tests/unit/tiny_checkpoint.cpp.
CONFIGS = {
    "bert": {"model_type": "bert", "hidden_size": 6, "num_hidden_layers": 3, "num_attention_heads": 3, "intermediate_size": 10, "hidden_act": "gelu",
             "layer_norm_eps": 1e-12, "vocab_size": 11, "max_position_embeddings": 7, "position_embedding_type": "absolute"},
    "albert": {"model_type": "albert", "hidden_size": 6, "num_hidden_layers": 3, "num_attention_heads": 3, "intermediate_size": 10, "embedding_size": 5,
               "hidden_act": "gelu_new", "vocab_size": 11, "num_hidden_groups": 1, "inner_group_num": 1},
    "gpt2": {"model_type": "gpt2", "n_embd": 6, "n_layer": 3, "n_head": 3, "n_inner": None, "activation_function": "gelu_new", "vocab_size": 11,
             "n_positions": 7, "layer_norm_epsilon": 1e-5},
    "mamba2": {"model_type": "mamba2", "hidden_size": 6, "num_hidden_layers": 3, "num_heads": 3, "head_dim": 4, "state_size": 4, "n_groups": 1,
               "expand": 2, "conv_kernel": 4, "vocab_size": 11, "layer_norm_epsilon": 1e-5, "use_conv_bias": True, "use_bias": False, "hidden_act": "silu"},
    "original-mamba2": {"d_model": 6, "d_intermediate": 0, "n_layer": 3, "vocab_size": 11, "ssm_cfg": {"layer": "Mamba2"}, "attn_layer_idx": [],
                        "attn_cfg": {}, "rms_norm": True, "residual_in_fp32": True, "fused_add_norm": True, "pad_vocab_size_multiple": 16},
    "index": {"metadata": {"total_size": 96}, "weight_map": {"wte.weight": "gpt2.safetensors", "h.0.ln_1.weight": "mamba2.safetensors"}},
}


def write(target, name, content):
    os.makedirs(os.path.join(SEEDS, target), exist_ok=True)
    if not isinstance(content, (bytes, str)):
        content = json.dumps(content, separators=(",", ":"))
    with open(os.path.join(SEEDS, target, name), "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())


def archive(members, method):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as file:
        for name, content in members.items():
            file.writestr(zipfile.ZipInfo(name), content, method)
    return buffer.getvalue()


def tensors():
    matrix = [[1.5, -2.0, 0.25], [0.0, 3.0, -1.0]]
    write("npy", "f8", npy(matrix))
    write("npy", "f4-fortran", npy(matrix, "<f4", fortran=True))
    write("npy", "f8-big-endian", npy(matrix, ">f8"))
    write("npy", "i4", npy([[1, 2, 3]], "<i4"))
    write("npy", "f2-stack", npy(matrix, "<f2").replace(b"(2, 3), ", b"(1,2,3)"))
    write("npz", "stored", archive({"a.npy": npy(matrix), "b.npy": npy(matrix, "<f2")}, zipfile.ZIP_STORED))
    write("npz", "deflated", archive({"layer.0/w.npy": npy(matrix, "<f4", fortran=True)}, zipfile.ZIP_DEFLATED))
    write("npz", "member", npy(matrix))
    write("safetensors", "matrices", safetensors({"a": ((2, 3), [1.0] * 6), "b": ((4,), [0.5] * 4, "F64"), "c": ((), [2.0], "BF16")}, {"format": "pt"}))
    write("safetensors", "text", '{"a":{"dtype":"F16","shape":[2,2],"data_offsets":[0,8]}}\nabcdefgh')
    for name, checkpoint in {"gpt2": models.gpt2_checkpoint(layers=1, d=2, ffn=4, vocabulary=3, positions=2),
                             "bert": models.bert_checkpoint(layers=1, d=2, ffn=3, vocabulary=3, positions=2),
                             "mamba2": models.mamba2_checkpoint(layers=1, d=2, heads=2, state=1, vocabulary=3, taps=2)}.items():
        bytes_ = safetensors({key: (*value, "F16") for key, value in checkpoint.items()})
        (length,) = struct.unpack("<Q", bytes_[:8])
        write("safetensors", name, bytes_[8:8 + length].rstrip() + b"\n" + bytes_[8 + length:])


def tokens_images_texts():
    write("token_ids", "rows.json", [[3, 0, 7], [5, 2]])
    write("token_ids", "one.json", [1, 2, 3])
    write("token_ids", "lines.txt", "1 2 3\n\n4,5\t6\n4294967295 0\n")
    write("token_ids", "rows.npy", npy([[1, 2, 3], [4, 5, 6]], "<i8"))
    write("token_ids", "bytes.npy", npy([[1, 2, 3]], "<u2"))
    images = struct.pack(">IIII", 0x803, 2, 2, 2) + bytes(range(8))
    write("images", "idx3", images)
    write("images", "idx3.gz", gzip.compress(images, mtime=0))
    write("images", "idx1", struct.pack(">II", 0x801, 2) + bytes([1, 9]))
    write("images", "cifar", bytes([3]) + bytes(i % 251 for i in range(3072)))
    write("images", "digits", "\n".join(",".join(str((i * j) % 17) for i in range(64)) + f",{j}" for j in range(3)) + "\n")
    write("corpus", "text", "In the beginning God created the heaven and the earth.\nAnd the earth was without form, and void; 12 34.\n" * 6)
    write("corpus", "bytes", bytes(range(64)) * 5)


def records(content):
    """The records of a journal or part, as the fuzz targets store them again: R, then a length of two bytes and the bytes of each."""
    out, at = b"R", content.index(b"\n") + 1
    while at + 16 <= len(content):
        (length,) = struct.unpack("<Q", content[at:at + 8])
        record = content[at + 16:at + 16 + length]
        if b'"cpu"' in record:
            note = dict(json.loads(record[8:]), cpu="cpu")
            record = record[:8] + json.dumps(note).encode()
        out += struct.pack("<H", len(record)) + record
        at += 16 + length
    return out


def without_machine(document):
    """The result without what the machine and the program change in it."""
    kept = {"version": "0", "git": "0", "compiler": "c", "flags": "f", "armadillo": "a", "blas": "b", "blas_core": "k", "cpu": "cpu", "program": "0"}
    document["environment"].update({key: kept[key] for key in document["environment"] if key in kept})
    document["environment"]["argv"] = ["ranklab"]
    document["timing"] = dict.fromkeys(document["timing"], 0.5)
    return document


def runs():
    program = os.path.join(ROOT, "build", "ranklab")
    folder = tempfile.mkdtemp()
    run = lambda words: subprocess.run([program, *words.split(), "--quiet"], cwd=folder, check=True)
    for name, tensor in (("a", ([3, 4], [2.0, 0.5, 0.0, 0.1, 0.0, 1.0, 0.25, 0.0, 0.0, 0.0, 0.5, 1.0])), ("g", ([2, 3], [1.0, 0.5, 0.0, 0.0, 1.0, 2.0]))):
        with open(os.path.join(folder, name + ".safetensors"), "wb") as file:
            file.write(safetensors({"fc": tensor}))
    for name, words in RUNS.items():
        run(f"{words} --out {name}.json") if name != "files" else subprocess.run([program, *words.split(), "--quiet", "--out", "files.json"], cwd=folder)
        with open(os.path.join(folder, name + ".json"), encoding="utf-8") as file:
            document = without_machine(json.load(file))
        write("result", name + ".json", document)
        if name in ("spiked-model", "files"):
            write("config", name + ".json", {key: document[key] for key in ("schema", "command", "config", "trials")})
        if name == "random-features":
            for series in document["series"]:
                series["trials"] = [[1.5] * len(series["x"]), [0.5] * (len(series["x"]) - 1) + [None]]
            document.update({"claims": [], "figure": None, "more_figures": []})
            write("claim", "result", "mean last(gd.objective_gap) - at(specgd.objective_gap, 2) <= 1\0" + json.dumps(document, separators=(",", ":")))
    write("config", "preset.json", {"command": "rank-collapse", "title": "t", "source": {"paper": "p", "figure": "Figure 1"}, "see": "s", "seconds": 2,
                                    "finding": {"claim": "c", "verdict": "holds", "sentence": "s", "panel": 1}, "trial": "input",
                                    "judged_in": {"shallow-fig01": ["a*"]}, "reproduce": {"config": {"trials": 2}, "seconds": 1},
                                    "config": {"study": "layers", "model": "mamba2", "layers": 4, "lambda": [-1, 1], "also": ["attention"], "trials": 3}})
    run(RUNS["spiked-model"] + " --shard 1/2 --out x.part")
    with open(os.path.join(folder, "x.part"), "rb") as file:
        part = records(file.read())
    header = part[3:3 + struct.unpack("<H", part[1:3])[0]]
    lines = []
    for line in header.decode().splitlines():
        section, rest = line.split(" ", 1)
        lines.append(section + " " + rest.split(":")[0] + ': "0"' if section == "environment" else line)
    header = ("\n".join(lines) + "\n").encode()
    part = part[:1] + struct.pack("<H", len(header)) + header + part[3 + struct.unpack("<H", part[1:3])[0]:]
    write("part", "complete", part)
    write("part", "header", part[:3 + len(header)])
    write("part", "torn", part[:-9])
    write("journal", "identity", b"R" + struct.pack("<H", 9) + b"name: 12\n")
    trial = struct.pack("<QQQ", 0, 1, 1) + b"x" + struct.pack("<Qd", 1, 0.5)
    note = b"\xff" * 8 + b'{"threads": 1, "wall_s": 0.5}'
    body = b"".join(struct.pack("<H", len(record)) + record for record in (b"name: 12\n", note, trial))
    write("journal", "trial", b"R" + body)
    shutil.rmtree(folder)


def documents():
    for name, config in CONFIGS.items():
        write("model_config", name + ".json", config)
    layer = {"name": "fc", "role": "head", "n": 6, "blocks": 3, "loss_scale": 2.0}
    layers = [layer, {"name": "few", "role": "hidden", "n": 1}, {"name": "table", "role": "embedding", "n": 6},
              {"name": "tied", "role": "tied", "n": 6, "cause": "tied", "reason": "two uses"}]
    not_seen = {"odd": {"cause": "unused", "reason": "used by einsum"}, "fc.bias": {"cause": "no-matrix", "reason": "a vector"}}
    write("recording", "metadata", json.dumps(layers) + "\n" + json.dumps(not_seen))
    for name, text in FLAGS.items():
        write("flags", name, text)
    for name, line in LINES.items():
        write("command_line", name, line)
    for name, text in CLAIMS.items():
        write("claim", name, text)


def main():
    shutil.rmtree(SEEDS, ignore_errors=True)
    tensors()
    tokens_images_texts()
    documents()
    runs()


if __name__ == "__main__":
    main()
