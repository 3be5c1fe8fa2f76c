"""`ranks` for one pair, in PyTorch: st of the activation, nr of the gradient.

    files.py ACTIVATION.npy GRADIENT.npy [--single]

st needs only the largest eigenvalue of the Gram matrix, which is summed over pieces of samples, so
that memory stays small. nr needs all singular values. Double precision, as in ranklab; --single
keeps the files' single precision.
"""
import argparse

from peer import Clock, np, nuclear_rank, report
import torch

torch.set_num_threads(1)
PIECE = 2048  # samples


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("activation")
    parser.add_argument("gradient")
    parser.add_argument("--single", action="store_true")
    options = parser.parse_args()
    dtype = torch.float32 if options.single else torch.float64
    clock = Clock()
    with clock:
        A = np.load(options.activation, mmap_mode="r")  # (k, n)
        gram = torch.zeros(len(A), len(A), dtype=dtype)
        for first in range(0, A.shape[1], PIECE):
            piece = torch.from_numpy(np.array(A[:, first:first + PIECE])).to(dtype)
            gram.addmm_(piece, piece.t())
        eigenvalues = torch.linalg.eigvalsh(gram)
        G = torch.from_numpy(np.load(options.gradient)).to(dtype)
        s = torch.linalg.svdvals(G).numpy()
    report(clock.seconds, {"layer.stable_rank": float(torch.trace(gram) / eigenvalues[-1]),
                           "layer.nuclear_rank": nuclear_rank(s)})


if __name__ == "__main__":
    main()
