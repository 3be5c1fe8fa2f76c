"""Means and confidence intervals of a few numbers, with the standard library alone."""
import math
import statistics


def mean_and_std(values):
    return statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else 0.0


def student_tail(t, degrees):
    """P(T > t) for t >= 0, by Simpson's rule in x = atan(t / sqrt(degrees)); degrees need not be
    an integer."""
    # T has density c (1 + t^2/k)^(-(k+1)/2), so x has the density proportional to cos(x)^(k-1).
    pieces, low = 2000, math.atan(t / math.sqrt(degrees))

    def integral(a, b):
        h = (b - a) / pieces
        return h / 3 * sum(
            (1 if i in (0, pieces) else 4 if i % 2 else 2)
            * max(math.cos(a + i * h), 0.0) ** (degrees - 1) for i in range(pieces + 1))

    return 0.5 * integral(low, math.pi / 2) / integral(0.0, math.pi / 2)


def student_quantile(level, degrees):
    """The t with P(|T| <= t) = level."""
    low, high = 0.0, 1.0
    while student_tail(high, degrees) > (1 - level) / 2:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if student_tail(middle, degrees) > (1 - level) / 2 else (
            low, middle)
    return high


def interval_of_mean(values, level):
    """(mean, half-width) of independent values."""
    mean, std = mean_and_std(values)
    if len(values) < 2:
        return mean, math.inf
    return mean, student_quantile(level, len(values) - 1) * std / math.sqrt(len(values))


def interval_of_difference(a, b, level):
    """(mean of b - mean of a, half-width): Welch's interval of two unpaired samples."""
    (mean_a, std_a), (mean_b, std_b) = mean_and_std(a), mean_and_std(b)
    if len(a) < 2 or len(b) < 2:
        return mean_b - mean_a, math.inf
    u, v = std_a**2 / len(a), std_b**2 / len(b)
    if u + v == 0:
        return mean_b - mean_a, 0.0
    degrees = (u + v) ** 2 / (u**2 / (len(a) - 1) + v**2 / (len(b) - 1))
    return mean_b - mean_a, student_quantile(level, degrees) * math.sqrt(u + v)
