"""nn.LSTM, nn.GRU and nn.RNN step by step, so that each product with a weight is seen.

Source of the equations: the documentation of torch.nn.LSTM, torch.nn.GRU and torch.nn.RNN.
"""
import torch
import torch.nn.functional as F

from .causes import Refused

FUNCTIONS = {"lstm", "gru", "rnn_tanh", "rnn_relu",
             "lstm_cell", "gru_cell", "rnn_tanh_cell", "rnn_relu_cell"}


def cell(kind, gates_x, gates_h, state):
    """One step, given W_ih x and W_hh h (batch x gates); state is (h, c) or (h,)."""
    if kind == "lstm":
        i, f, g, o = (gates_x + gates_h).chunk(4, -1)
        c = torch.sigmoid(f) * state[1] + torch.sigmoid(i) * torch.tanh(g)
        return torch.sigmoid(o) * torch.tanh(c), c
    if kind == "gru":  # the operations of PyTorch's own cell, also in place, for the same bits
        (r, z, n), (hr, hz, hn) = (torch.unsafe_chunk(g, 3, -1) for g in (gates_x, gates_h))
        r, z = hr.add_(r).sigmoid_(), hz.add_(z).sigmoid_()
        n = n.add(hn.mul_(r)).tanh_()
        return ((state[0] - n).mul_(z).add_(n),)
    return ((torch.relu if kind == "rnn_relu" else torch.tanh)(gates_x + gates_h),)


def one_step(function, name, x, *args):
    """What PyTorch returns for one step of one sample: its types are those of a fused kernel, which
    rounds its outputs under autocast."""
    def first(state):
        return (state[..., :1, :] if isinstance(state, torch.Tensor) else
                [s[..., :1, :] for s in state])

    args = list(args)
    packed = not isinstance(args[2], bool)
    with torch.no_grad():
        if name.endswith("_cell"):
            return function(x[:1], first(args[0]), *args[1:])
        if packed:
            args[0] = torch.ones_like(args[0][:1])
        args[packed] = first(args[packed])
        args[4 + packed:6 + packed] = 0.0, False  # no dropout
        return function(x[:1] if packed else x[:1, :1], *args)


def like(outputs, others):
    """Outputs in the types of others."""
    if isinstance(outputs, torch.Tensor):
        return outputs.to(others.dtype)
    return tuple(out.to(each.dtype) for out, each in zip(outputs, others))


def recurrent(function, x, *args):
    """torch.lstm, torch.gru, torch.rnn_tanh, torch.rnn_relu and their cells, with their arguments.

    Throws Refused for proj_size.
    """
    kind = function.replace("_cell", "")

    def states_of(hx):
        return tuple(hx) if kind == "lstm" else (hx,)

    if kind != function:
        hx, w_ih, w_hh, b_ih, b_hh = (*args, None, None)[:5]
        states = states_of(hx)
        new = cell(kind, F.linear(x, w_ih, b_ih), F.linear(states[0], w_hh, b_hh), states)
        return new if kind == "lstm" else new[0]
    if isinstance(args[2], bool):  # (steps, batch, k), or (batch, steps, k)
        hx, *args, batch_first = args
        x = x.transpose(0, 1) if batch_first else x
        out, last = layers(kind, x, [x.shape[1]] * len(x), states_of(hx), *args)
        return (out.transpose(0, 1) if batch_first else out, *last)
    sizes, hx, *args = args  # packed sequences: the first sizes[t] rows take part in step t
    out, last = layers(kind, x, sizes.tolist(), states_of(hx), *args)
    return (out, *last)


def layers(kind, x, sizes, states, weights, biases, count, dropout, training, bidirectional):
    """x: steps x batch x k, or samples x k with the steps one after another; states: layers and
    directions x batch x k."""
    each, directions, last = 4 if biases else 2, 2 if bidirectional else 1, []
    if len(weights) != each * count * directions:
        raise Refused("projected-lstm")
    for layer in range(count):
        outputs = []
        for direction in range(directions):
            at = layer * directions + direction
            w_ih, w_hh, b_ih, b_hh = (*weights[each * at:each * (at + 1)], None, None)[:4]
            gates, start = F.linear(x, w_ih, b_ih), [s[at] for s in states]
            gates = gates.split(sizes) if x.dim() == 2 else gates.unbind(0)
            state = [s[:sizes[-1]] for s in start] if direction and sizes[-1] < sizes[0] else start
            ended, steps = [], [None] * len(sizes)
            for t in (reversed(range(len(sizes))) if direction else range(len(sizes))):
                runs, before = sizes[t], len(state[0])
                if runs < before:  # sequences have ended
                    ended.append([s[runs:] for s in state])
                    state = [s[:runs] for s in state]
                elif runs > before:  # sequences begin
                    state = [torch.cat([s, first[before:runs]]) for s, first in zip(state, start)]
                state = cell(kind, gates[t], F.linear(state[0], w_hh, b_hh), state)
                steps[t] = state[0]
            outputs.append(torch.cat(steps) if x.dim() == 2 else torch.stack(steps))
            last.append([torch.cat(parts) for parts in zip(state, *reversed(ended))])
        x = torch.cat(outputs, -1)
        if layer + 1 < count and dropout:
            x = F.dropout(x, dropout, training)
    return x, [torch.stack(each_layer) for each_layer in zip(*last)]
