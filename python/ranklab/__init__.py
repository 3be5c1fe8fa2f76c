"""Measures on a PyTorch model what decides between Euclidean and spectral steps (Muon).

    watch(model, every=100)             stable and nuclear ranks during training
    groups(model, loss)                 parameters for Muon and for the other optimizer
    check_groups(optimizers, model)     what is wrong with the groups of optimizers
    probe(model, loss, batch, other)    what one step really does to the loss
    record(model, path)                 one training step as a file for `ranklab ranks`
"""
from .directions import newton_schulz
from .groups import Groups, check_groups, groups
from .probe import probe
from .record import record
from .watch import Watcher, watch

__version__ = "0.3.0"
__all__ = ["Groups", "Watcher", "check_groups", "groups", "newton_schulz", "probe", "record",
           "watch"]
