"""Records ordinary PyTorch models with experiments/ranklab_dump.py and reads the recordings with `ranklab`.

Run by `make test-torch`. Needs Debian's python3-torch."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

import torch
import torch.nn.functional as F
from torch import nn

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "experiments"))
import ranklab_dump  # noqa: E402

TOLERANCE = {torch.float64: 1e-10, torch.float32: 2e-6, torch.float16: 5e-4, torch.bfloat16: 2e-2}  # of the type of the sums
DTYPES = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}


def read(path):
    """The tensors of a file, with whole second moments of packed triangles and samples."""
    with open(path, "rb") as file:
        content = file.read()
    size = int.from_bytes(content[:8], "little")
    out = {}
    for name, entry in json.loads(content[8:8 + size]).items():
        first, end = (8 + size + at for at in entry["data_offsets"])
        out[name] = torch.frombuffer(bytearray(content[first:end]), dtype=DTYPES[entry["dtype"]]).reshape(entry["shape"])
        if name.endswith("_moment"):
            out[name] = unpacked(out[name])
    for samples, moment in ("inputs", "second_moment"), ("output_gradients", "error_moment"):
        if samples in out:
            x = out[samples].double()
            out[moment] = (x.t() @ x).to(out[samples].dtype)
    return out


def unpacked(triangle):
    size = int((2 * len(triangle)) ** 0.5)
    assert len(triangle) == size * (size + 1) // 2
    row, column = torch.tril_indices(size, size)
    whole = torch.zeros(size, size, dtype=triangle.dtype)
    whole[row, column] = whole[column, row] = triangle
    return whole


def program(words):
    binary = os.path.join(ROOT, os.environ.get("RANKLAB_BUILD", "build"), "ranklab")
    return subprocess.run([binary, "one-step-compare", "--study", "files"] + words, check=True, capture_output=True, text=True)


class RecordingTest(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(1)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = os.path.join(folder.name, "step1")

    def record(self, model, loss, **options):
        model.double().zero_grad()
        with ranklab_dump.record(model, self.folder, replace=True, **options):
            loss().backward()
        with open(os.path.join(self.folder, "recording.json"), encoding="utf-8") as file:
            self.recording = json.load(file)
        self.assertEqual(self.recording["format"], "ranklab.recording/1")
        return {layer["name"]: layer for layer in self.recording["layers"]}

    def tensors(self, layer):
        return read(os.path.join(self.folder, layer["file"]))

    def step(self, steps, model, **options):
        """Records steps(); returns name -> (cause, reason) of all matrices, None if judged."""
        with ranklab_dump.record(model, self.folder, replace=True, **options):
            steps()
        with open(os.path.join(self.folder, "recording.json"), encoding="utf-8") as file:
            self.recording = json.load(file)
        not_seen, causes = self.recording["not_seen"], self.recording["causes"]
        self.assertEqual(set(not_seen), set(causes))
        out = {name: (causes[name], reason) for name, reason in not_seen.items()
               if reason != "no matrix"}
        for layer in self.recording["layers"]:
            self.assertEqual("cause" in layer, "reason" in layer)
            out[layer["parameter"]] = (layer["cause"], layer["reason"]) if "cause" in layer else None
        return out

    def expect(self, found, name, cause, words):
        self.assertEqual(found[name][0], cause)
        self.assertIn(words, found[name][1])

    def check(self, layer, inputs, gradient, kept=None):
        """Compares a layer with inputs (samples x k, all samples that the loss uses) and gradient (m x k)."""
        tensors = self.tensors(layer)
        self.assertNotIn("reason", layer)
        self.close(tensors["second_moment"], inputs.t() @ inputs)
        self.close(tensors["gradient"], gradient)
        self.assertEqual(layer["samples"], len(inputs) if kept is None else kept)
        # The program must report the same ranks.
        s = torch.linalg.svdvals(inputs)
        parts, scalars = layer.get("parts", 0), self.measured()
        for i, block in enumerate(gradient.chunk(max(parts, 1))):
            name, t = layer["name"] + (f".{layer['first_part'] + i}" if parts else ""), torch.linalg.svdvals(block)
            self.assertAlmostEqual(scalars[f"{name}.stable_rank"]["mean"], float(s.square().sum() / s[0] ** 2), places=9)
            self.assertAlmostEqual(scalars[f"{name}.nuclear_rank"]["mean"], float(t.sum() ** 2 / t.square().sum()), places=9)

    def measured(self):
        result = self.folder + ".json"
        program(["--from", self.folder, "--out", result, "--force", "--quiet"])
        with open(result, encoding="utf-8") as file:
            return json.load(file)["scalars"]

    def close(self, a, b):
        """Compares a recorded tensor with its exact value, to the precision of its type."""
        self.assertEqual(a.shape, b.shape)
        self.assertLess(float((a.double() - b.double()).norm()), TOLERANCE[a.dtype] * float(b.norm()))


class LinearTest(RecordingTest):
    def test_micro_batches_are_summed_and_roles_recorded(self):
        model = nn.Sequential(nn.Linear(5, 7), nn.ReLU(inplace=True), nn.Linear(7, 6), nn.Tanh(), nn.Linear(6, 2))
        x, y = torch.randn(12, 5).double(), torch.randn(12, 2).double()

        def loss():
            F.mse_loss(model(x[:6]), y[:6]).backward()
            return F.mse_loss(model(x[6:]), y[6:])

        layers = self.record(model, loss)
        self.assertEqual([layers[n]["role"] for n in ("0", "2", "4")], ["first", "hidden", "head"])
        self.check(layers["0"], x, model[0].weight.grad)
        self.check(layers["2"], torch.relu(model[0](x)).detach(), model[2].weight.grad)
        self.assertEqual(layers["0"]["calls"], 2)
        self.assertEqual(set(self.recording["not_seen"]), {"0.bias", "2.bias", "4.bias"})

    def test_a_looped_layer_counts_every_call(self):
        layer, head = nn.Linear(6, 6), nn.Linear(6, 3)
        model = nn.ModuleList([layer, head])
        x = torch.randn(9, 6).double()
        h = [x]

        def loss():
            del h[1:]
            for _ in range(4):
                h.append(torch.tanh(layer(h[-1])))
            return head(h[-1]).square().sum()

        layers = self.record(model, loss)
        self.check(layers["0"], torch.cat(h[:4]).detach(), layer.weight.grad)
        self.assertEqual(layers["0"]["calls"], 4)

    def test_samples_outside_the_loss_are_left_out(self):
        model = nn.Sequential(nn.Linear(5, 7), nn.ReLU(), nn.Linear(7, 3))
        x, mask = torch.randn(4, 10, 5).double(), torch.rand(4, 10) < 0.6
        layers = self.record(model, lambda: model(x)[mask].square().sum())
        self.check(layers["0"], x[mask], model[0].weight.grad)
        self.assertEqual(layers["0"]["dropped"], int((~mask).sum()))

    def test_a_changed_gradient_or_an_unobserved_use_is_reported(self):
        model = nn.Sequential(nn.Linear(5, 7), nn.ReLU(), nn.Linear(7, 3))
        x = torch.randn(20, 5).double()
        layers = self.record(model, lambda: model(x).square().sum() + 100 * model[0].weight.pow(3).sum())
        self.assertIn("not observed", layers["0"]["reason"])
        self.assertNotIn("reason", layers["2"])

    def test_earlier_and_clipped_gradients_are_accepted(self):
        def reasons(steps):
            with ranklab_dump.record(model, self.folder, replace=True):
                steps()
            with open(os.path.join(self.folder, "recording.json"), encoding="utf-8") as file:
                return [layer.get("reason") for layer in json.load(file)["layers"]]

        torch.manual_seed(0)
        model, x = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 3)).double(), torch.randn(20, 4).double()
        backward = lambda: model(x).square().sum().backward()
        clipped = lambda: (backward(), nn.utils.clip_grad_norm_(model.parameters(), 1e-3))
        self.assertEqual(reasons(clipped), [None, None])
        model.zero_grad()
        model(x * 3 + 1).sum().backward()
        self.assertEqual(reasons(backward), [None, None])
        # An earlier gradient that is clipped too cannot be told from an unobserved use.
        self.assertIn("its gradient was changed", reasons(clipped)[0] or "")

    def test_keyword_arguments_and_products_with_vectors(self):
        class KeywordModel(nn.Module):
            def __init__(self):
                super().__init__()
                self.table, self.w, self.v = nn.Embedding(9, 4), nn.Parameter(torch.randn(5, 4)), nn.Parameter(torch.randn(5, 4))
                self.kernel, self.lstm, self.u = nn.Parameter(torch.randn(3, 5, 2)), nn.LSTM(3, 3), nn.Parameter(torch.randn(6, 3))

            def forward(self, ids):
                x = F.embedding(input=ids, weight=self.table.weight)
                x = F.linear(input=x, weight=self.w) + torch.matmul(x, other=self.v.t())
                x = x + torch.addmm(torch.zeros(5).double(), mat1=x, mat2=torch.eye(5).double())
                x = F.conv1d(input=x.t().unsqueeze(0), weight=self.kernel)[0].t()
                x = self.lstm(input=x)[0]
                return torch.matmul(self.u, x[0]).square().sum() + x.sum()

        model, ids = KeywordModel(), torch.arange(8)
        layers = self.record(model, lambda: model(ids))
        self.assertEqual({name for name, layer in layers.items() if "reason" not in layer},
                         {"table", "w", "v", "kernel", "lstm.weight_ih_l0", "lstm.weight_hh_l0"})
        self.close(self.tensors(layers["w"])["gradient"], model.w.grad)
        self.close(self.tensors(layers["v"])["gradient"], model.v.grad)
        self.assertIn("vector", self.recording["not_seen"]["u"])

    def test_roles_do_not_depend_on_the_included_layers(self):
        model, x = nn.Sequential(*[nn.Linear(4, 4) for _ in range(5)]), torch.randn(6, 4).double()
        layers = self.record(model, lambda: model(x).square().sum(), include="[0124].*")
        self.assertEqual({name: layer["role"] for name, layer in layers.items()}, {"0": "first", "1": "hidden", "2": "hidden", "4": "head"})

    def test_an_error_writes_no_files_and_ends_the_recording(self):
        model = nn.Linear(3, 3)
        with self.assertRaises(ZeroDivisionError):
            with ranklab_dump.record(model, self.folder) as recording:
                model(torch.ones(2, 3))
                1 / 0
        self.assertFalse(os.path.exists(self.folder))
        self.assertEqual(list(recording.uses), ["weight"])
        recording.uses.clear()
        model(torch.ones(2, 3))
        self.assertEqual(list(recording.uses), [])
        self.record(model, lambda: model(torch.ones(2, 3).double()).sum())
        with self.assertRaises(FileExistsError):
            with ranklab_dump.record(model, self.folder):
                pass


class ModelsTest(RecordingTest):
    def test_transformer_encoder_with_padding(self):
        model = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True), 2)
        x, padding = torch.randn(3, 6, 8).double(), torch.zeros(3, 6, dtype=torch.bool)
        padding[0, 4:] = padding[2, 2:] = True
        layers = self.record(model, lambda: model(x, src_key_padding_mask=padding)[~padding].square().sum())
        names = [f"layers.{i}.{part}" for i in (0, 1) for part in ("self_attn.in_proj_weight", "self_attn.out_proj", "linear1", "linear2")]
        self.assertEqual(sorted(layers), sorted(names))
        self.assertEqual(layers["layers.0.self_attn.in_proj_weight"]["parts"], 3)
        self.check(layers["layers.0.self_attn.in_proj_weight"], x[~padding], model.layers[0].self_attn.in_proj_weight.grad)
        for i in (0, 1):
            block = model.layers[i]
            for name, weight in (("self_attn.out_proj", block.self_attn.out_proj), ("linear1", block.linear1), ("linear2", block.linear2)):
                layer = layers[f"layers.{i}.{name}"]
                self.assertEqual((layer["samples"], layer["dropped"]), (12, 6))
                self.close(self.tensors(layer)["gradient"], weight.weight.grad)

    def test_cross_attention_has_two_inputs(self):
        model = nn.MultiheadAttention(8, 2)
        q, kv = torch.randn(5, 3, 8).double(), torch.randn(7, 3, 8).double()
        self.record(model, lambda: model(q, kv, kv)[0].square().sum())
        layers = [layer for layer in self.recording["layers"] if layer["name"] == "in_proj_weight"]
        self.assertEqual([(layer["first_part"], layer["parts"], layer["samples"]) for layer in layers], [(1, 1, 15), (2, 2, 21)])
        flat = kv.reshape(-1, 8)
        self.check(layers[1], flat, model.in_proj_weight.grad[8:])

    def test_convolutions(self):
        model = nn.Sequential(nn.Conv2d(3, 5, (3, 2), stride=(2, 1), padding=(1, 0), dilation=(1, 2)), nn.Tanh(),
                              nn.Conv2d(5, 4, 3, padding="same"), nn.Flatten(2), nn.Conv1d(4, 6, 3, stride=2, padding=1), nn.Conv1d(6, 6, 3, groups=2))
        x = torch.randn(2, 3, 9, 8).double()
        layers = self.record(model, lambda: model(x).square().sum())
        patches = F.unfold(x, (3, 2), padding=(1, 0), stride=(2, 1), dilation=(1, 2)).transpose(1, 2).reshape(-1, 18)
        self.check(layers["0"], patches, model[0].weight.grad.reshape(5, -1))
        between = torch.tanh(model[0](x)).detach()
        self.check(layers["2"], F.unfold(between, 3, padding=1).transpose(1, 2).reshape(-1, 45), model[2].weight.grad.reshape(4, -1))
        for name, rows in (("4", 6),):
            self.close(self.tensors(layers[name])["gradient"], model[4].weight.grad.reshape(rows, -1))
        self.assertIn("groups", self.recording["not_seen"]["5.weight"])
        volume = nn.Conv3d(2, 3, 2)
        y = torch.randn(1, 2, 3, 4, 5).double()
        layers = self.record(volume, lambda: volume(y).square().sum())
        self.close(self.tensors(layers["weight"] if "weight" in layers else layers[""])["gradient"], volume.weight.grad.reshape(3, -1))

    def test_recorded_recurrent_layers_compute_the_same_as_pytorch(self):
        for kind, options in ((nn.LSTM, {}), (nn.GRU, {}), (nn.RNN, {}), (nn.RNN, {"nonlinearity": "relu"})):
            for bidirectional in (False, True):
                with self.subTest(f"{kind.__name__} {options} {bidirectional}"):
                    model = kind(4, 5, num_layers=2, bidirectional=bidirectional, batch_first=True, **options).double()
                    x = torch.randn(3, 6, 4).double()
                    expected = model(x)
                    packed = nn.utils.rnn.pack_padded_sequence(x, [3, 6, 2], batch_first=True, enforce_sorted=False)
                    expected_packed = model(packed)
                    expected_packed[0].data.square().sum().backward()
                    gradients = {name: p.grad.clone() for name, p in model.named_parameters()}
                    found = []

                    def loss():
                        found.extend([model(x), model(packed)])
                        return found[1][0].data.square().sum()

                    layers = self.record(model, loss)
                    for a, b in zip(_flat(expected) + _flat(expected_packed), _flat(found[0]) + _flat(found[1])):
                        self.close(a.detach(), b.detach())
                    for name in ("weight_ih_l0", "weight_hh_l1"):
                        self.close(model.get_parameter(name).grad, gradients[name])
                        self.close(self.tensors(layers[name])["gradient"], gradients[name])
                    if not options:  # with ReLU, samples whose units are all zero are left out
                        rows = torch.cat([x[0, :3], x[1], x[2, :2]])
                        self.check(layers["weight_ih_l0"], rows, gradients["weight_ih_l0"])
        for kind in (nn.LSTMCell, nn.GRUCell, nn.RNNCell):
            cell, x = kind(4, 5).double(), torch.randn(3, 4).double()
            expected, found = cell(x), []

            def cell_loss():
                found.append(cell(x))
                return _flat(found[0])[0].square().sum()

            layers = self.record(cell, cell_loss)
            self.close(_flat(expected)[0].detach(), _flat(found[0])[0].detach())
            self.check(layers["weight_ih"], x, cell.weight_ih.grad)

    def test_a_tied_head_is_reported(self):
        class Language(nn.Module):
            def __init__(self):
                super().__init__()
                self.table, self.body, self.head = nn.Embedding(11, 6), nn.Linear(6, 6), nn.Linear(6, 11, bias=False)
                self.head.weight = self.table.weight

            def forward(self, ids):
                return self.head(torch.tanh(self.body(self.table(ids))))

        model, ids = Language(), torch.randint(0, 11, (4, 7))
        self.record(model, lambda: F.cross_entropy(model(ids[:, :-1]).reshape(-1, 11), ids[:, 1:].reshape(-1)))
        reasons = [layer.get("reason", "") for layer in self.recording["layers"] if layer["parameter"] == "table.weight"]
        self.assertEqual(len(reasons), 2)
        for reason in reasons:
            self.assertIn("tied", reason)
        self.assertEqual(self.recording["tied"], {"table.weight": ["head.weight"]})

    def test_uses_of_embedding_rows_are_counted(self):
        model = nn.Sequential(nn.Embedding(9, 4, padding_idx=0), nn.Linear(4, 2))
        ids = torch.tensor([[1, 2, 2, 0], [5, 2, 0, 0]])
        layers = self.record(model, lambda: model(ids).square().sum())
        layer = layers["0"]
        self.assertEqual(layer["role"], "embedding")
        counts = self.tensors(layer)["counts"]
        self.assertEqual(counts.tolist(), [0, 1, 3, 0, 0, 1, 0, 0, 0])
        self.close(self.tensors(layer)["gradient"], model[0].weight.grad.t())

    def test_a_token_classifier_with_ignored_labels(self):
        class Classifier(nn.Module):
            def __init__(self):
                super().__init__()
                self.table = nn.Embedding(20, 8)
                self.block = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
                self.head = nn.Linear(8, 3)

            def forward(self, ids, padding):
                return self.head(self.block(self.table(ids), src_key_padding_mask=padding))

        model, ids = Classifier(), torch.randint(1, 20, (4, 9))
        labels, padding = torch.randint(0, 3, (4, 9)), torch.zeros(4, 9, dtype=torch.bool)
        padding[:, 5:] = True
        labels[padding] = -100
        layers = self.record(model, lambda: F.cross_entropy(model(ids, padding).transpose(1, 2), labels))
        for name in ("block.linear1", "block.linear2", "head", "block.self_attn.in_proj_weight"):
            self.assertEqual((layers[name]["samples"], layers[name]["dropped"]), (20, 16), name)
        inputs = []
        model.block.linear1.register_forward_hook(lambda module, x, out: inputs.append(x[0].detach()))
        model(ids, padding)
        self.check(layers["block.linear1"], inputs[0][~padding], model.block.linear1.weight.grad)

    def test_stacked_experts_and_plain_products(self):
        class Experts(nn.Module):
            def __init__(self):
                super().__init__()
                self.up, self.conv1d = nn.Parameter(torch.randn(3, 4, 6)), nn.Parameter(torch.randn(6, 5))  # (E, k, m), (k, m)
                self.down = nn.Parameter(torch.randn(3, 2, 5))  # (E, m, k), used one expert at a time
                self.left, self.odd = nn.Parameter(torch.randn(7, 3)), nn.Parameter(torch.randn(2, 2))

            def forward(self, x):
                h = torch.relu(torch.bmm(x, self.up))
                h = torch.addmm(torch.zeros(5).double(), h.reshape(-1, 6), self.conv1d).reshape(3, -1, 5)
                y = torch.stack([F.linear(h[e], self.down[e]) for e in range(3)])
                return torch.einsum("ij,ejn->ein", self.odd, (self.left @ y.sum(-1)).square().sum() * y.transpose(1, 2))

        model, x = Experts(), torch.randn(3, 10, 4).double()
        self.record(model, lambda: model(x).square().sum())
        layers = self.recording["layers"]
        up = [layer for layer in layers if layer["name"] == "up"]
        self.assertEqual([layer["first_part"] for layer in up], [1, 2, 3])
        self.check(up[1], x[1], model.up.grad[1].t())
        down = [layer for layer in layers if layer["name"] == "down"]
        self.assertEqual([layer["first_part"] for layer in down], [1, 2, 3])
        self.close(self.tensors(down[2])["gradient"], model.down.grad[2])
        one = {layer["name"]: layer for layer in layers}
        self.close(self.tensors(one["conv1d"])["gradient"], model.conv1d.grad.t())
        self.close(self.tensors(one["left"])["gradient"], model.left.grad)
        self.assertIn("einsum", self.recording["not_seen"]["odd"])


class ExampleTest(unittest.TestCase):
    def test_the_language_model_in_the_guide(self):
        with tempfile.TemporaryDirectory() as folder:
            environment = dict(os.environ, PYTHONPATH=os.path.join(ROOT, "experiments"))
            text, dump, result = os.path.join(ROOT, "README.md"), os.path.join(folder, "dump"), os.path.join(folder, "out.json")
            subprocess.run([sys.executable, os.path.join(ROOT, "tests", "torch", "language_model.py"), text, dump, "20"], env=environment,
                           check=True, capture_output=True)
            program(["--from", dump, "--out", result, "--quiet"])
            with open(result, encoding="utf-8") as file:
                document = json.load(file)
        self.assertEqual(len(document["table"]["rows"]), 2 + 4 * 6)
        self.assertEqual([skipped["name"] for skipped in document["skipped"]], ["places"])
        series = {each["name"]: each["x"] for each in document["series"]}
        self.assertEqual(series["blocks.1.linear1.predicted_ratio"], list(range(21)))


def _flat(output):
    if isinstance(output, nn.utils.rnn.PackedSequence):
        return [output.data]
    if isinstance(output, torch.Tensor):
        return [output]
    return [tensor for part in output for tensor in _flat(part)]


if __name__ == "__main__":  # runs all test files of this folder
    unittest.main(module=None, argv=[sys.argv[0], "discover", "-s", os.path.dirname(os.path.abspath(__file__)), *sys.argv[1:]])
