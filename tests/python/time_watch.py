"""Prints what a step with ranklab.watch() costs: `PYTHONPATH=python python3 tests/python/time_watch.py`.

pairs: a model of `layers` pairs of matrices 4 width x width and width x 4 width with GELU between them, and AdamW.
gpt: `layers` blocks of a Transformer on windows of 256 tokens, with a vocabulary of 4,096. plain: a step
without watch; measured and idle: a step with watch, where it measures and where it does not, as multiples of plain; each
the median of several. bf16: under autocast.
"""
import contextlib
import time

import torch
from torch import nn

import ranklab

# model, device, width, layers, samples, autocast
CASES = [("gpt", "cpu", 128, 4, 2048, None), ("gpt", "cpu", 256, 4, 2048, None), ("gpt", "cpu", 384, 3, 2048, None),
         ("pairs", "cpu", 64, 2, 4096, None), ("pairs", "cpu", 128, 3, 4096, None), ("pairs", "cpu", 256, 2, 4096, None),
         ("pairs", "cpu", 512, 1, 4096, None), ("pairs", "cuda", 256, 8, 8192, None), ("pairs", "cuda", 1024, 8, 8192, None),
         ("pairs", "cuda", 1024, 8, 8192, torch.bfloat16), ("pairs", "cuda", 2048, 8, 8192, torch.bfloat16)]


def model_and_data(kind, width, layers, samples):
    """A model, its inputs, and labels for its outputs."""
    if kind == "pairs":
        return nn.Sequential(*[part for _ in range(layers) for part in (
            nn.Linear(width, 4 * width, bias=False), nn.GELU(), nn.Linear(4 * width, width, bias=False), nn.LayerNorm(width))]), torch.randn(2, samples, width)
    block = nn.TransformerEncoderLayer(width, 4, 4 * width, 0, "gelu", batch_first=True, norm_first=True)
    model = nn.Sequential(nn.Embedding(4096, width), nn.TransformerEncoder(block, layers), nn.Linear(width, 4096, bias=False))
    return model, torch.randint(4096, (2, samples // 256, 256))


def loss(out, y):
    return (out.float() - y).square().mean() if y.is_floating_point() else nn.functional.cross_entropy(out.float().flatten(0, 1), y.flatten())


def times(kind, device, width, layers, samples, autocast, repeats=5):
    """Seconds of a plain, a measured and an idle step."""
    torch.manual_seed(0)
    model, data = model_and_data(kind, width, layers, samples)
    model, (x, y) = model.to(device), data.to(device)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4)

    def step(watcher):
        wait()
        start = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, autocast or torch.bfloat16, enabled=autocast is not None):
            out = model(x)
        loss(out, y).backward()
        optimizer.step()
        found = watcher and watcher.step()
        wait()
        assert not watcher or not watcher.not_judged, watcher.not_judged
        return time.perf_counter() - start, found

    def wait():
        if device == "cuda":
            torch.cuda.synchronize()

    def median(every):
        with (ranklab.watch(model, every) if every else contextlib.nullcontext()) as watcher:
            step(watcher)
            return sorted(step(watcher)[0] for _ in range(repeats))[repeats // 2]

    return median(None), median(1), median(10 ** 6)


def main():
    print(f"PyTorch {torch.__version__}, {torch.get_num_threads()} threads"
          + (f", {torch.cuda.get_device_name()}" if torch.cuda.is_available() else ""))
    print("model  device  width  layers  samples  type         plain   measured    idle")
    for kind, device, width, layers, samples, autocast in CASES:
        if device == "cpu" or torch.cuda.is_available():
            plain, measured, idle = times(kind, device, width, layers, samples, autocast)
            print(f"{kind:5}  {device:6}  {width:5}  {layers:6}  {samples:7}  {'bf16' if autocast else 'float32':7}  {1e3 * plain:6.1f} ms"
                  f"  {measured / plain:6.2f} x  {idle / plain:4.2f} x", flush=True)


if __name__ == "__main__":
    main()
