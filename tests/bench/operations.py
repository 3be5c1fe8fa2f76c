"""The operations that a row needs at least, by the usual counts (Golub, Van Loan, "Matrix
Computations"). The limit of a row is the time of its operations at the measured rates:

    dgemm, sgemm   products in double and single precision, operations
    svd            singular values by LAPACK, in operations of 8/3 n^3 for a square matrix
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


def mamba2(lambdas, layers, d=768, n=128, state=128, sequences=1):
    inner, s = 2 * d, "sgemm"
    block = total(product(n, d, 2 * inner + 2 * state + inner // 64, s), product(n, inner, d, s),
                  product(n, state, n, s), product(n, n, inner, s))
    return times(lambdas * layers * sequences, block)


def gpt2(layers=12, d=768, n=128):
    block = total(times(12, product(n, d, d, "sgemm")), times(2, product(n, n, d, "sgemm")))
    return times(layers, total(block, drawing(12 * d * d, 4)))


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
