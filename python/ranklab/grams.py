"""Products A A' by blocks below the diagonal, about half the work."""


def add_lower(gram, samples):
    """Adds a a' of samples x k to a k x k matrix: the blocks on and below the diagonal."""
    for start, end in steps(len(gram)):
        gram[start:end, :end].addmm_(samples[:, start:end].t(), samples[:, :end])
    return gram


def mirror(gram):
    """The symmetric matrix of what add_lower() added, in place."""
    for start, end in steps(len(gram)):
        own = gram[start:end, start:end]
        own.copy_(own.tril() + own.tril(-1).t())
        gram[:start, start:end] = gram[start:end, :start].t()
    return gram


def gram_of(samples):
    """A A' of samples x k."""
    return mirror(add_lower(samples.new_zeros(2 * samples.shape[1:]), samples))


def steps(size):
    step = max(64, -(-size // 8))
    return [(start, min(start + step, size)) for start in range(0, size, step)]
