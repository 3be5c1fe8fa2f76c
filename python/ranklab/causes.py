"""Causes, stable codes of why a matrix is not judged, and their sentences."""

REASONS = {
    # what kind of parameter it is
    "no-matrix": "no matrix",
    "frozen": "frozen (requires_grad is False)",
    "parametrized": "a part of {0}, which is measured instead",
    "uninitialized": "a lazy parameter without a shape; call the model once before the measurement",
    "sharded": "sharded (DTensor): this process did not see the whole matrix with its whole "
               "gradient; use DDP or fully_shard",
    "complex": "a complex matrix, which is not measured",
    # how it is used
    "einsum": "used by einsum, which is not measured",
    "tensordot": "used by tensordot, which is not measured",
    "embedding-bag": "used by EmbeddingBag, whose sums of rows are not measured",
    "bilinear": "used by a bilinear layer, which is not measured",
    "transposed-convolution": "used by a transposed convolution, which is not measured",
    "grouped-convolution": "a convolution with {0} groups ({0} matrices), which is not measured",
    "projected-lstm": "a recurrent layer with proj_size, which is not measured",
    "batched-product": "used in a batched product, which is not measured",
    "multi-dot": "used by multi_dot or chain_matmul, which are not measured",
    "elementwise": "multiplied elementwise (a gain, or a sum of products that is written out), "
                   "which is not measured",
    "reshaped": "a vector that is reshaped to a matrix, which is not measured",
    "sparse-input": "its input is a sparse or nested tensor, which is not measured",
    "scaled-by-frequency": "scale_grad_by_freq=True: its gradient is not the sum over its samples",
    "custom-function": "used inside a torch.autograd.Function, which is not measured",
    "reentrant-checkpoint": "used inside a checkpoint with use_reentrant=True (the default), which "
                            "hides the graph; pass use_reentrant=False",
    "function": "used by {0}, but not as a matrix, or a block of its rows, that multiplies "
                "activations; for example as an input, a term, a block of columns, or to compute "
                "another weight",
    "computed": "multiplied by activations only after a function of it, such as a mask, a norm or "
                "a block of columns ({0}), which is not measured",
    "lookup": "its rows are looked up by indexing or in a function of it, which is not measured",
    "tied": "tied: used as an embedding and as a matrix, which have different inputs; so it has a "
            "nuclear rank alone",
    "both-orientations": "used both as W and as its transpose, which have different inputs; so it "
                         "has a nuclear rank alone",
    "overlap": "its uses overlap: some use more rows than others",
    # that it is not used, or not seen
    "not-called": "not used (a module that is not called, an expert without tokens, or a use "
                  "inside torch.func)",
    "no-tokens": "called without a single sample (an expert without tokens)",
    "no-grad": "used only under torch.no_grad()",
    "no-backward": "its forward pass was observed, but no backward pass ran",
    "not-in-loss": "no gradient reached its output: the loss does not depend on it",
    "forward-before": "it received a gradient, but its forward pass ran before the measurement, in "
                      "another thread, a torch.autograd.Function, torch.func, TorchScript, or "
                      "torch.compile before PyTorch 2.6",
    "gradient-not-seen": "torch.autograd.grad() hides its gradient before PyTorch 2",
    "inputs-freed": "its inputs were freed before its gradient arrived",
    # its gradient
    "updated": "the weight changed between two of its calls (an optimizer step, a cast or a move); "
               "measure one update at a time: call step() after each",
    "cleared": "the gradients of two backward passes were not added up in p.grad (cleared or "
               "changed between them, or taken by torch.autograd.grad); measure one of them at a "
               "time",
    "overflow": "overflow: its inputs or gradients are too large for sums of squares in {0}",
    "underflow": "underflow: its {1} are too small for sums of squares in {0}",
    "not-finite": "its gradient is not finite",
    "zero-gradient": "its gradient is exactly zero (for example behind a layer with zero weights)",
    "negligible": "{0:.4g} % of ||A||_F^2 is from samples whose output gradient is negligible",
    "other-use": "its gradient has a regularizer or another use ({1}) that was not observed as a "
                 "matrix (cosine {0:.3f})",
    "second-derivative": "its inputs and output gradients do not explain its second derivatives "
                         "(create_graph=True, as for a gradient penalty; cosine {0:.3f})",
    "gradient-changed": "its gradient was changed, is one of several that arrived, or a part of "
                        "its forward pass ran before the measurement (cosine {0:.3f}); measure one "
                        "update of the optimizer at a time",
    "parts": "the parts {0} do not divide its {1} {2}",
    "recorder-error": "ranklab failed: {0}",
}


def why(cause, *details):
    """(cause, reason)."""
    return cause, REASONS[cause].format(*details)


def failure(error):
    """(cause, reason) of an exception: that of a Refused, else an error of this package."""
    text = " ".join(str(error).split())
    return error.args if isinstance(error, Refused) else why(
        "recorder-error", text if len(text) <= 200 else text[:200] + " ...")


class Refused(Exception):
    """A matrix that cannot be judged."""

    def __init__(self, cause, *details):
        super().__init__(*why(cause, *details))
