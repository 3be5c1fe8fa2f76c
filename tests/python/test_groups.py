"""groups() and check_groups(): roles come from the flow of data, not from names, order or sizes."""
import enum
import unittest

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

import ranklab


class Net(nn.Module):
    def __init__(self, forward, **parts):
        super().__init__()
        self.run = forward
        for name, part in parts.items():
            setattr(self, name, part)

    def forward(self, *inputs):
        return self.run(self, *inputs)


def vit(m, images):
    h = m.patch(images).flatten(2).transpose(1, 2)
    return m.head((h + m.fc2(F.gelu(m.fc1(h)))).mean(1))


def language_model(checkpointed=None, **more):
    def forward(m, ids):
        x = m.table(ids)
        for block in m.blocks:
            x = x + (block(x) if checkpointed is None else checkpoint(block, x, use_reentrant=checkpointed))
        return m.head(x)

    blocks = nn.ModuleList(nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8)) for _ in range(2))
    return Net(forward, head=nn.Linear(8, 11), table=nn.Embedding(11, 8), blocks=blocks)


class GroupsTest(unittest.TestCase):
    def setUp(self):
        torch.manual_seed(5)

    def roles(self, model, loss):
        """Roles of the matrices by groups(), which must be those that watch() finds."""
        found = ranklab.groups(model, lambda _: loss())
        self.assertEqual(sorted(map(id, found.muon + found.other)),
                         sorted(id(p) for p in model.parameters() if p.requires_grad))
        watcher = ranklab.watch(model)
        loss().backward()
        measured = watcher.step()
        watcher.close()
        roles = {name.replace(".weight", ""): role for name, role in found.roles.items() if role != "vector"}
        for name, values in measured.items():
            if name in roles:
                self.assertEqual(values["role"], roles[name], name)
        return roles

    def test_actor_and_critic(self):
        def forward(m, x):
            h = F.relu(m.enc2(F.relu(m.enc1(x))))
            return m.actor(h), m.critic(h)

        model, x = Net(forward, actor=nn.Linear(16, 18), enc1=nn.Linear(12, 16), enc2=nn.Linear(16, 16),
                       critic=nn.Linear(16, 1)), torch.randn(20, 12)
        self.assertEqual(self.roles(model, lambda: sum(each.exp().mean() for each in model(x))),
                         {"actor": "head", "enc1": "first", "enc2": "hidden", "critic": "head"})

    def test_a_head_that_is_registered_first(self):
        model = Net(vit, head=nn.Linear(32, 10), patch=nn.Conv2d(3, 32, 4, 4), fc1=nn.Linear(32, 64), fc2=nn.Linear(64, 32))
        images = torch.randn(8, 3, 16, 16)
        self.assertEqual(self.roles(model, lambda: model(images).exp().mean()),
                         {"head": "head", "patch": "first", "fc1": "hidden", "fc2": "hidden"})

    def test_256_outputs_beside_a_byte_table(self):
        def forward(m, ids):
            h = m.table(ids)
            return m.cls((h + m.fc2(F.gelu(m.fc1(h)))).mean(1))

        model = Net(forward, table=nn.Embedding(256, 32), fc1=nn.Linear(32, 256), fc2=nn.Linear(256, 32), cls=nn.Linear(32, 2))
        ids = torch.randint(256, (8, 20))
        self.assertEqual(self.roles(model, lambda: model(ids).exp().mean()),
                         {"table": "embedding", "fc1": "hidden", "fc2": "hidden", "cls": "head"})

    def test_two_classifiers_and_two_first_matrices(self):
        def forward(m, x, y):
            h = F.relu(m.h(F.relu(m.a(x) + m.b(y))))
            return m.age(h), m.id(h)

        model = Net(forward, age=nn.Linear(9, 40), id=nn.Linear(9, 3), h=nn.Linear(9, 9), a=nn.Linear(5, 9), b=nn.Linear(4, 9))
        x, y = torch.randn(20, 5), torch.randn(20, 4)
        self.assertEqual(self.roles(model, lambda: sum(each.exp().mean() for each in model(x, y))),
                         {"age": "head", "id": "head", "h": "hidden", "a": "first", "b": "first"})

    def test_checkpoints(self):
        for kind in None, False:
            with self.subTest(kind):
                model, ids = language_model(kind), torch.randint(11, (4, 6))
                expected = {f"blocks.{b}.{i}": "hidden" for b in (0, 1) for i in (0, 2)}
                self.assertEqual(self.roles(model, lambda: model(ids).exp().mean()),
                                 {"table": "embedding", "head": "head", **expected})

    def test_a_reentrant_checkpoint_hides_the_roles_inside_it_alone(self):
        def forward(m, x):
            x = F.relu(m.first(x))
            return m.second(checkpoint(m.inside, m.before(x), use_reentrant=True))

        model, x = Net(forward, first=nn.Linear(5, 8), before=nn.Linear(8, 8), inside=nn.Linear(8, 8), second=nn.Linear(8, 3)), torch.randn(20, 5)
        for last, roles in (lambda y: y, ("hidden", "head")), (lambda y: checkpoint(model.inside, y, use_reentrant=True), ("hidden", "hidden")):
            if roles[1] == "hidden":
                model.second = nn.Linear(8, 8)
            loss = lambda _: last(model(x)).exp().mean()
            with self.assertRaisesRegex(ValueError, "inside.weight is used inside a checkpoint .* pass use_reentrant=False"):
                ranklab.groups(model, loss)
            watcher = ranklab.watch(model)
            loss(model).backward()
            found = watcher.step()
            watcher.close()
            self.assertEqual([found[name]["role"] for name in ("first", "before", "second")], ["first", *roles])
            self.assertNotIn("inside", found)
            self.assertIn("use_reentrant=False", str(watcher.not_judged))

    def test_frozen_layers_keep_their_place(self):
        model, ids = language_model(), torch.randint(11, (4, 6))
        model.requires_grad_(False)
        for block in model.blocks:
            block.append(nn.Linear(8, 8))
        self.assertEqual(self.roles(model, lambda: model(ids).exp().mean()), {"blocks.0.3": "hidden", "blocks.1.3": "hidden"})

    def test_notes(self):
        def forward(m, x):
            h = F.relu(m.first(x)) + m.place
            for _ in range(3):
                h = torch.tanh(m.loop(h))
            h = torch.bmm(h.expand(4, *h.shape), m.experts).sum(0)
            h = m.conv(h.t().unsqueeze(0))[0].t()
            return m.head(torch.einsum("nk,mk->nm", h, m.e))

        model = Net(forward, first=nn.Linear(5, 6), place=nn.Parameter(torch.randn(7, 6)), loop=nn.Linear(6, 6),
                    experts=nn.Parameter(torch.randn(4, 6, 6)), conv=nn.Conv1d(6, 6, 3, padding=1),
                    e=nn.Parameter(torch.randn(6, 6)), head=nn.Linear(6, 2), unused=nn.Linear(2, 2))
        x = torch.randn(7, 5)
        found = ranklab.groups(model, lambda model: model(x).exp().mean())
        self.assertEqual({name: role for name, role in found.roles.items() if role != "vector"}, {
            "place": "table", "experts": "hidden", "e": "hidden", "first.weight": "first", "loop.weight": "hidden",
            "conv.weight": "hidden", "head.weight": "head", "unused.weight": "unused"})
        self.assertEqual(found.muon_names, ["e", "loop.weight"])
        for name, words in (("experts", "stack of experts"), ("conv.weight", "convolution"), ("loop.weight", "used 3 times"),
                            ("e", "einsum"), ("place", "used by add"), ("unused.weight", "loss does not depend")):
            self.assertIn(words, found.notes[name])
        self.assertIn("stack of experts", str(found))

    def test_a_tied_table(self):
        model, ids = language_model(), torch.randint(11, (4, 6))
        model.head.weight = model.table.weight
        found = ranklab.groups(model, lambda model: model(ids).exp().mean())
        name, = (name for name, role in found.roles.items() if role == "tied")
        self.assertIn("tied to", found.notes[name])
        self.assertEqual(len(found.muon), 4)

    def test_wrong_arguments(self):
        model, x = nn.Linear(3, 3), torch.randn(2, 3)
        with self.assertRaisesRegex(TypeError, "function of the model"):
            ranklab.groups(model, model(x).sum())
        with self.assertRaisesRegex(TypeError, "scalar"):
            ranklab.groups(model, lambda model: model(x))
        with self.assertRaisesRegex(TypeError, "torch.nn.Module"):
            ranklab.groups({}, lambda _: 0)
        with self.assertRaisesRegex(ValueError, "uses no matrix of this model"):
            ranklab.groups(nn.Linear(3, 3), lambda _: model(x).sum())
        with self.assertRaisesRegex(TypeError, "check_groups\\(\\): needs an optimizer"):
            ranklab.check_groups([list(model.parameters())], model)

    def test_check_groups(self):
        class Muon(torch.optim.SGD):
            pass

        model, ids = language_model(), torch.randint(11, (4, 6))
        loss = lambda model: model(ids).exp().mean()
        found = ranklab.groups(model, loss)
        good = [Muon(found.muon, 0.1), torch.optim.AdamW(found.other)]
        self.assertEqual(ranklab.check_groups(good, model), [])
        self.assertRegex("".join(ranklab.check_groups(torch.optim.AdamW(model.parameters()), model)), "no parameter is known as Muon's")
        bad = [Muon([*found.muon, model.head.weight, model.table.weight], 0.1), torch.optim.AdamW(found.other[2:])]
        said = "\n".join(ranklab.check_groups(bad, model, loss))
        for words in ("head.weight is in Muon, but its role is head", "table.weight is in Muon, but its role is embedding",
                      "head.bias is in no group", "table.weight is in 2 groups"):
            self.assertIn(words, said)

    def test_marks_of_optimizers(self):
        """As in the field: flags in the groups or in the state, a name, an enum, and a wrapper around the optimizer."""
        class Any(torch.optim.Optimizer):
            def __init__(self, groups, defaults=None):
                super().__init__(groups, {"lr": 0.1, **(defaults or {})})

        class Muon(Any):
            pass

        class AdaMuon(Any):
            pass

        class MuonAdamW(Any):
            pass

        class Accelerated:
            def __init__(self, optimizer):
                self.optimizer, self.param_groups, self.state = optimizer, optimizer.param_groups, optimizer.state

        def by_state(hidden, rest):
            optimizer = Muon(hidden + rest)
            for p in hidden + rest:
                optimizer.state[p]["use_muon"] = any(p is each for each in hidden)
            return [optimizer]

        def by_group(kind, muon, other, **more):
            return lambda hidden, rest: [kind([{"params": hidden, **muon}, {"params": rest, **other}], **more)]

        kinds, adam = enum.Enum("Kind", "MUON ADAMW"), torch.optim.AdamW
        marks = {"flag": by_group(MuonAdamW, {"use_muon": True}, {"use_muon": False}), "number": by_group(Any, {"use_muon": 1}, {"use_muon": 0}),
                 "algorithm": by_group(Any, {}, {"algorithm": "lion"}, defaults={"algorithm": "dion"}), "kind": by_group(MuonAdamW, {"kind": "muon"}, {"kind": "adamw"}),
                 "enum": by_group(MuonAdamW, {"kind": kinds.MUON}, {"kind": kinds.ADAMW}), "state": by_state,
                 "wrapper": lambda hidden, rest: [Accelerated(Muon(hidden)), adam(rest)], "AdaMuon": lambda hidden, rest: [AdaMuon(hidden), adam(rest)]}
        model, ids = language_model(), torch.randint(11, (4, 6))
        found = ranklab.groups(model, lambda model: model(ids).exp().mean())
        rest = [p for p in found.other if p is not model.head.weight]
        for kind, make in marks.items():
            with self.subTest(kind):
                self.assertEqual(ranklab.check_groups(make(found.muon, found.other), model), [])
                self.assertEqual(ranklab.check_groups(make([*found.muon, model.head.weight], rest), model), ["head.weight is in Muon, but its role is head"])
        self.assertIn("cannot be read", ranklab.check_groups(MuonAdamW(found.muon + found.other), model)[0])


if __name__ == "__main__":
    unittest.main()
