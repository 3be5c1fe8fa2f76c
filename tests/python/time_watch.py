"""Prints what a step with ranklab.watch() costs: `PYTHONPATH=python python3 tests/python/time_watch.py [pattern ...]`.

Each step has a forward and a backward pass and AdamW. Plain and measured steps alternate in one process; a measured step includes the
start and the end of the measurement. Each number is a median over PAIRS pairs of neighbors; measured: of measured/plain, with its
quartiles. With one thread the time is that of the processor, which other processes hardly change. Patterns (of fnmatch) choose among
the names of CASES.
"""
import fnmatch
import sys
import time

import torch
from torch import nn
from torch.nn import functional as F

import ranklab

PAIRS = 15


class Last(nn.Module):
    """The outputs of a recurrent layer, without its state."""

    def forward(self, out):
        return out[0]


def transformer(width, tokens=2048, blocks=4, vocabulary=4096):
    block = nn.TransformerEncoderLayer(width, max(1, width // 64), 4 * width, 0, "gelu", batch_first=True, norm_first=True)
    model = nn.Sequential(nn.Embedding(vocabulary, width), nn.TransformerEncoder(block, blocks), nn.Linear(width, vocabulary, bias=False))
    return model, *torch.randint(vocabulary, (2, tokens // 256, 256))


def convolutions(images, width=32):
    layers, channels = [], 3
    for i in range(4):
        layers += [nn.Conv2d(channels, width << i, 3, stride=1 + (i > 0), padding=1), nn.BatchNorm2d(width << i), nn.ReLU()]
        channels = width << i
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 10)), torch.randn(images, 3, 32, 32), torch.randint(10, (images,))


def lstm(width, tokens=2048, vocabulary=4096):
    model = nn.Sequential(nn.Embedding(vocabulary, width), nn.LSTM(width, width, 2, batch_first=True), Last(), nn.Linear(width, vocabulary))
    return model, *torch.randint(vocabulary, (2, tokens // 64, 64))


def mlp(width, samples):
    model = nn.Sequential(nn.Linear(32, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 10))
    return model, torch.randn(samples, 32), torch.randint(10, (samples,))


# name -> (builder, arguments)
CASES = {**{f"Transformer, width {width}, {tokens} tokens": (transformer, width, tokens) for width in (64, 128, 256, 512) for tokens in (2048, 256)
            if tokens == 2048 or width == 64},
         **{f"CNN, {images} images of 32 x 32": (convolutions, images) for images in (64, 8)},
         **{f"LSTM, width {width}, 2048 tokens": (lstm, width) for width in (64, 256)},
         "MLP, width 64, 128 samples": (mlp, 64, 128), "MLP, width 512, 2048 samples": (mlp, 512, 2048)}


def times(builder, *arguments, device="cpu"):
    """(plain, measured) seconds of PAIRS steps each, in turn."""
    torch.manual_seed(0)
    model, x, y = builder(*arguments)
    model, x, y = model.to(device), x.to(device), y.to(device)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4)

    clock = time.process_time if device == "cpu" and torch.get_num_threads() == 1 else time.perf_counter

    def step(measured):
        wait()
        start = clock()
        watcher = ranklab.watch(model) if measured else None
        optimizer.zero_grad(set_to_none=True)
        F.cross_entropy(model(x).flatten(0, -2), y.flatten()).backward()
        optimizer.step()
        found = watcher and watcher.step()
        wait()
        seconds = clock() - start
        if watcher:
            assert found and not watcher.not_judged, watcher.not_judged
            watcher.close()
        return seconds

    def wait():
        if device == "cuda":
            torch.cuda.synchronize()

    for measured in (False, True, False, True):
        step(measured)
    return tuple(zip(*[(step(False), step(True)) for _ in range(PAIRS)]))


def quartiles(values):
    values = sorted(values)
    return [values[round(share * (len(values) - 1))] for share in (0.25, 0.5, 0.75)]


def main(patterns):
    device = "cuda" if torch.cuda.is_available() else "cpu"
    print(f"PyTorch {torch.__version__}, {torch.get_num_threads()} threads" + (f", {torch.cuda.get_device_name()}" if device == "cuda" else ""))
    print(f"{'':40}  plain in ms  measured, in plain steps (quartiles)")
    for name, case in CASES.items():
        if any(fnmatch.fnmatch(name, pattern) for pattern in patterns or "*"):
            plain, measured = times(*case, device=device)
            low, ratio, high = quartiles([b / a for a, b in zip(plain, measured)])
            print(f"{name:40}  {1e3 * quartiles(plain)[1]:11.1f}  {ratio:8.2f} ({low:.2f} to {high:.2f})", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
