"""The operations that a row needs at least, by the usual counts (Golub, Van Loan, "Matrix
Computations"). The limit of a row is the time of its operations at the measured rates:

    dgemm, sgemm   products in double and single precision, operations
    svd            singular values as ranklab finds them at n = 512, in operations of 8/3 n^3 for a
                   square matrix
    bandwidth      bytes

A count leaves out what is small: norms, activations, eigenvalues of small matrices.
"""


def total(*counts):
    """The sum of counts, limit by limit."""
    out = {}
    for count in counts:
        for limit, operations in count.items():
            out[limit] = out.get(limit, 0) + operations
    return out


def times(factor, count):
    return {limit: factor * operations for limit, operations in count.items()}


def product(m, k, n, kind="dgemm"):
    return {kind: 2 * m * k * n}


def gram(k, n, kind="dgemm"):
    """A A' of A (k, n): a symmetric product takes half the operations."""
    return {kind: k * k * n}


def singular_values(m, n=None):
    m, n = max(m, n or m), min(m, n or m)
    return {"svd": 4 * m * n * n - 4 / 3 * n**3}


def polar(n, kind="dgemm"):
    """An inverse (2 n^3), two Halley steps (Gram matrix, Cholesky factor and two triangular
    solutions, 4.3 n^3 each) and two steps of the series (about 3 n^3 each)."""
    return {kind: 17 * n**3}


def drawing(numbers, size=8):
    return {"bandwidth": size * numbers}


def figure_3(k=100, steps=1000, peak=57):
    """GD, SpecGD from W_0, from the peak and from every hundredth iterate."""
    spectral = (steps + 1) + (steps + 1 - peak) + sum(steps + 1 - t for t in range(100, steps, 100))
    return total(times(steps + 1, singular_values(k)), times(spectral, polar(k)))


def figure_4(d=128, h=512, n=512, steps=100):
    """Per step two passes, three Gram matrices, and the spectra of three gradients. Along SpecGD
    the polar factors of two gradients give their spectra."""
    s = "sgemm"
    forward = total(product(h, d, n, s), times(2, product(h, h, n, s)))
    step = total(times(2, forward), times(2, product(h, h, n, s)), times(3, gram(h, n, s)),
                 singular_values(h, d))
    gd = total(step, times(2, singular_values(h)))
    return times(steps + 1, total(step, times(2, polar(h, s)), gd))


def figure_12(k=512, d=256, n=2048, depth=5, activations=6):
    first = total(times(3, product(k, d, n)), times(3 * activations + 1, gram(k, n)))
    deep = total(product(k, k, n), gram(k, n))
    return total(first, times((depth - 1) * (activations + 1), deep))


def figure_14(samples):
    """The sampled iterations, and the window's 14 doublings and 13 bisections."""
    return total(*(times(samples + 27, singular_values(k)) for k in (64, 128, 256, 512)))


def shallow_2(trials, layers=20, n=64, d=512, q=1024):
    block = total(times(3, product(n, d, d)), times(2, product(n, d, q)),
                  times(2, product(n, d, n)), drawing(3 * d * d + 2 * d * q))
    return times(trials * layers, block)


def figure_18b(steps, measured, d=128, h=512, n=8196):
    """Per step and method three products for each map but the first, which needs two, and along
    SpecGD the polar factors of W1 to W3, which give their spectra. A gated layer has 2 h rows. At a
    measured step three Gram matrices, and along GD the spectra of three gradients."""
    s = "sgemm"
    step = total(times(2, product(2 * h, d, n, s)), times(6, product(2 * h, h, n, s)))
    spectra = total(times(6, gram(h, n, s)), singular_values(2 * h, d),
                    times(2, singular_values(2 * h, h)))
    return total(times(steps + 1, total(times(2, step), polar(d, s), times(2, polar(h, s)))),
                 times(measured, spectra))


def mamba2(lambdas, layers, d=768, n=128, state=128, sequences=1, gate=True):
    inner, s = 2 * d, "sgemm"
    block = total(product(n, d, (2 if gate else 1) * inner + 2 * state + inner // 64, s),
                  product(n, inner, d, s), product(n, state, n, s), product(n, n, inner, s))
    return times(lambdas * layers * sequences, block)


def transformer(layers, d, maps=12, n=128):
    """`maps` products of all tokens with a d x d matrix; attention."""
    block = total(times(maps, product(n, d, d, "sgemm")), times(2, product(n, n, d, "sgemm")))
    return times(layers, block)


def gpt2(layers=12, d=768):
    return total(transformer(layers, d), drawing(12 * layers * d * d, 4))


def lambda_skip_1(lambdas=5):
    """Mamba-2 without its gate, and four bare stacks; the two with attention take the most."""
    return total(mamba2(lambdas, 64, 2560, gate=False), drawing(64 * 2560 * 4 * 2560, 4),
                 times(lambdas, times(2, transformer(64, 256, 3))))


def lambda_skip_3():
    """Mamba-2 with its gate and without it, each with its norm and without it."""
    return total(mamba2(2, 64, 2560), mamba2(2, 64, 2560, gate=False),
                 drawing(64 * 2560 * 6 * 2560, 4))


def lambda_skip_2(lambdas=9):
    """Mamba-2, ALBERT and two kinds of bare attention."""
    return total(mamba2(lambdas, 64, 2560), drawing(64 * 2560 * 6 * 2560, 4),
                 times(lambdas, total(transformer(12, 768), times(2, transformer(24, 256, 3)))))


def files(side, samples):
    return total(gram(side, samples), singular_values(side))


def gpt_step(d, rule, layers=4, batch=16, context=64, vocabulary=1024):
    """Forward and backward take three products for each map; Newton-Schulz takes five steps."""
    s, tokens = "sgemm", batch * context
    maps = total(times(12 * layers, product(tokens, d, d, s)), product(tokens, d, vocabulary, s))
    attention = times(2 * layers * batch, product(context, d, context, s))
    step = times(3, total(maps, attention))
    if rule == "adam":
        return step
    square = times(3, product(d, d, d, s))
    long = total(times(2, product(d, 4 * d, d, s)), product(d, d, d, s))
    return total(step, times(5 * layers, total(times(4, square), times(2, long))))


def spectral_gpt():
    """One seed of the preset. The forward pass is a third of a step. At 15 points each run computes
    four validation losses; at 6 points the first run computes 28 losses along each of its 27
    matrices, from the layer of the matrix on: 0.6 of a forward pass on average."""
    step, muon = gpt_step(64, "adam"), gpt_step(64, "muon")
    forward = times(1 / 3, step)
    return total(times(6 * 300, muon), times(3 * 300, step), times(110, gpt_step(128, "muon")),
                 times(110, gpt_step(32, "muon")), times(9 * 15 * 4, forward),
                 times(6 * 27 * 28 * 0.6, forward))


def sequence_step(d, ffn, layers, tokens, batch):
    """One head. Forward and backward take three products for each map."""
    s = "sgemm"
    maps = total(times(4, product(tokens, d, d, s)), times(2, product(tokens, d, ffn, s)))
    attention = times(2, product(tokens, d, tokens, s))
    return times(3 * layers * batch, total(maps, attention))
