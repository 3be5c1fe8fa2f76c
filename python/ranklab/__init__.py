"""Give Muon all hidden matrices of a PyTorch model: groups(model, loss).muon.

nr(G)/st(A), which watch() measures, does not choose among them; and tune the rate of embedding and
head for Adam first, whose best was 10 times that of the hidden matrices. In the preset muon-blocks
(held-out nats minus Adam's, five seeds, rates tuned for each choice) Muon on all hidden matrices
gives -0.021 +- 0.013, with the embedding too -0.056 +- 0.013, on those with nr >= st 0.021 +- 0.024,
and on the others -0.044 +- 0.018.

    groups(model, loss)                 parameters for Muon and for the other optimizer
    check_groups(optimizers, model)     what is wrong with the groups of optimizers
    watch(model, every=100)             stable and nuclear ranks during training
    probe(model, loss, batch, other)    what one step of the hidden matrices does to the loss
    record(model, path)                 one training step as a file for `ranklab ranks`
"""
from .groups import Groups, check_groups, groups
from .polar import newton_schulz
from .probe import probe
from .record import record
from .watch import Found, Watcher, watch

__version__ = "0.4.0"
__all__ = ["Found", "Groups", "Watcher", "check_groups", "groups", "newton_schulz", "probe",
           "record", "watch"]
