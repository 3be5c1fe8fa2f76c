"""What is no sample is not recorded as one; samples that hardly count are measured."""
import torch
import torch.nn.functional as F
from test_dump import RecordingTest
from torch import nn


class SamplesTest(RecordingTest):
    def setUp(self):
        super().setUp()
        self.x = torch.randn(12, 5).double()
        self.model = nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 3)).double()
        self.loss = lambda: self.model(self.x).square().sum()

    def layer(self, name):
        return next(layer for layer in self.recording["layers"] if layer["name"] == name)

    def test_regularizers_add_no_samples(self):
        w = self.model[0].weight
        normed = lambda: w / w.norm(dim=1, keepdim=True)
        penalties = {"squares": lambda: w.square().sum(),
                     "orthogonal": lambda: (w.t() @ w - torch.eye(5).double()).square().sum(),
                     "linear": lambda: F.linear(w, w).square().sum(),
                     "normed": lambda: (normed() @ normed().t()).exp().sum(),
                     "one normed": lambda: (normed() @ w.t()).square().sum(),
                     "other": lambda: (self.model[2].weight @ w).square().sum(),
                     "decay": lambda: torch.linalg.norm(w), "sum": lambda: (3 * w.exp()).sum()}
        for name, penalty in penalties.items():
            for strength, cause in ((1e-9, None), (1e3, "other-use")):
                with self.subTest(f"{name} {strength}"):
                    self.model.zero_grad()
                    found = self.step(lambda: (self.loss() + strength * penalty()).backward(),
                                      self.model)
                    layer, tensors = self.layer("0"), self.tensors(self.layer("0"))
                    self.assertEqual(layer.get("cause"), cause)
                    self.close(tensors["second_moment"], self.x.t() @ self.x)
                    self.assertEqual((layer["calls"], layer["samples"]), (1, 12))
                    if name != "other":
                        self.assertIsNone(found["2.weight"])
                    if cause:
                        self.expect(found, "0.weight", cause, "a regularizer or another use")

    def test_learned_queries_are_samples(self):
        model = nn.ParameterDict({"query": nn.Parameter(torch.randn(1, 4, 5).double()),
                                  "w": nn.Parameter(torch.randn(3, 5).double())})

        def steps():
            query = model["query"].expand(6, -1, -1)
            (F.linear(query, model["w"]) * torch.randn(6, 4, 3).double()).sum().backward()

        found = self.step(steps, model)
        self.assertIsNone(found["w"])
        samples = model["query"].detach().expand(6, -1, -1).reshape(-1, 5)
        self.close(self.tensors(self.layer("w"))["second_moment"], samples.t() @ samples)

    def test_complex_weights(self):
        layer = nn.Linear(5, 4, dtype=torch.complex128)
        model = nn.ModuleList([layer, nn.Linear(4, 3)])
        model[1].double()
        x = torch.randn(12, 5, dtype=torch.complex128)
        found = self.step(lambda: model[1](layer(x).abs()).square().sum().backward(), model)
        self.expect(found, "0.weight", "complex", "complex")
        self.assertIsNone(found["1.weight"])

    def test_negligible_samples(self):
        weights = torch.ones(12).double()
        weights[3:6], weights[6] = 1e-9, 0.0
        x = self.x * torch.linspace(1, 2, 12).double()[:, None]

        def steps():
            for batch in (x, x[:6]):  # judged call by call
                (self.model(batch).square().sum(1) * weights[:len(batch)]).sum().backward()

        self.step(steps, self.model)
        squares, layer = x.square().sum(1), self.layer("0")
        self.assertEqual((layer["samples"], layer["dropped"]), (17, 1))
        self.assertEqual(layer["negligible_samples"], 6)
        total = squares.sum() - squares[6] + squares[:6].sum()
        self.assertAlmostEqual(layer["negligible_share"], float(2 * squares[3:6].sum() / total))
        self.step(lambda: self.loss().backward(), self.model)
        self.assertEqual(self.layer("2")["negligible_samples"], 0)
        self.assertEqual(self.layer("2")["negligible_share"], 0)

    def test_negligible_ids(self):
        table = nn.Embedding(9, 4).double()
        ids, weights = torch.tensor([1, 2, 2, 5]), torch.tensor([1, 1, 1e-9, 1]).double()
        self.step(lambda: (table(ids).square().sum(1) * weights).sum().backward(), table)
        layer = self.recording["layers"][0]
        self.assertEqual((layer["negligible_samples"], layer["negligible_share"]), (1, 0.25))

    def test_padding_without_an_attention_mask(self):
        """Tokens that others attend to are samples, even if the loss ignores them."""
        block = nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True).double()
        model = nn.ModuleDict({"table": nn.Embedding(9, 8, padding_idx=0), "lower": block, "upper": nn.Linear(8, 9)}).double()
        ids = torch.randint(1, 9, (4, 6))
        ids[:, 4:] = 0
        labels = ids.masked_fill(ids == 0, -100)
        causal = torch.full((6, 6), float("-inf")).triu(1).double()
        for mask, dropped in (causal, 8), (None, 0):
            def steps():
                h = model["lower"](model["table"](ids) + torch.randn(6, 8).double(), mask)
                F.cross_entropy(model["upper"](h).flatten(0, 1), labels.flatten()).backward()

            self.step(steps, model)
            self.assertEqual(self.layer("lower.self_attn.in_proj_weight")["dropped"], dropped)
            self.assertEqual(self.layer("lower.self_attn.in_proj_weight")["negligible_samples"], 0)
            self.assertEqual(self.layer("upper")["dropped"], 8)
