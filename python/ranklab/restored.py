"""What a function that runs the user's model puts back afterwards."""
import contextlib

import torch


@contextlib.contextmanager
def buffers_restored(model):
    """Restores buffers, such as the statistics of BatchNorm, and the random state of PyTorch."""
    random = random_state()
    buffers = [(module, name, buffer, buffer.detach().clone()) for module in model.modules()
               for name, buffer in module.named_buffers(recurse=False)]
    try:
        yield
    finally:
        set_buffers(buffers)
        set_random_state(random)


def set_buffers(buffers):
    with torch.no_grad():
        for module, name, buffer, value in buffers:
            if getattr(module, name) is not buffer:
                setattr(module, name, buffer)
            if not torch.equal(buffer, value):
                buffer.copy_(value)


@contextlib.contextmanager
def weights_restored(model):
    """Restores weights and gradients too."""
    weights = [(p, p.detach().clone()) for p in model.parameters()]
    gradients = [(p, p.grad) for p in model.parameters()]
    with buffers_restored(model):
        try:
            yield
        finally:
            with torch.no_grad():
                for p, value in weights:
                    p.copy_(value)
            for p, gradient in gradients:
                p.grad = gradient


def random_state():
    return torch.get_rng_state(), (torch.cuda.get_rng_state_all()
                                   if torch.cuda.is_initialized() else None)


def set_random_state(state):
    torch.set_rng_state(state[0])
    if state[1] is not None:
        torch.cuda.set_rng_state_all(state[1])
