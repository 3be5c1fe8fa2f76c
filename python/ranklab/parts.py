"""Parts of a matrix that are measured as matrices of their own: q, k and v, or the heads."""
import fnmatch

from .causes import Refused


def check_parts(parts, names):
    """Throws TypeError or ValueError for wrong `parts` of watch(), given the names of all matrices
    of the model."""
    if not isinstance(parts, dict):
        raise TypeError('watch(): parts must be a dict, such as {"*.qkv": 3}')
    for pattern, rule in parts.items():
        heads = isinstance(rule, tuple) and len(rule) == 2 and rule[0] == "heads"
        numbers = rule[1:] if heads else rule if isinstance(rule, (list, tuple)) else (rule,)
        if not numbers or not all(isinstance(n, int) and not isinstance(n, bool) and n > 0
                                  for n in numbers):
            raise ValueError(f'watch(): parts["{pattern}"] must be a number of blocks of rows, a '
                             'list of their sizes, or ("heads", number of blocks of columns)')
        if not any(fnmatch.fnmatchcase(name, pattern) for name in names):
            raise ValueError(f'watch(): parts: "{pattern}" matches no matrix, such as '
                             f'{min(names, default="none")}')


def cut(layer, parts):
    """[(name, moment, pieces of a matrix)] of a layer (sums.py): one if nothing cuts it.

    parts: pattern -> rule as in watch(). moment: A A' or samples, see ranks.stable_ranks().
    pieces(G): the part of a matrix shaped like G. Blocks of rows share A; blocks of columns have
    their own rows of A. Throws Refused if a rule does not divide the matrix.
    """
    name, (m, k) = layer.layer(), layer.gradient.shape
    rule = next((rule for pattern, rule in parts.items()
                 if fnmatch.fnmatchcase(name, pattern) or fnmatch.fnmatchcase(layer.name, pattern)),
                layer.blocks())
    if rule == 1:
        return [(name, layer.moment(), lambda g: g)]
    by_columns = isinstance(rule, tuple) and rule[0] == "heads"
    size, what = (k, "columns") if by_columns else (m, "rows")
    sizes = list(rule) if not by_columns and not isinstance(rule, int) else None
    if sizes is None:
        count = rule[1] if by_columns else rule
        sizes = [size // count] * count
    if sum(sizes) != size or min(sizes) < 1 or by_columns and layer.kind == "embedding":
        raise Refused("parts", rule if isinstance(rule, int) else str(rule), size, what)
    out, at, moment = [], 0, layer.moment()
    for i, length in enumerate(sizes):
        block = slice(at, at + length)
        own = columns_of(moment, block) if by_columns else moment
        out.append((f"{name}.{i + 1}", own, (lambda g, block=block: g[:, block]) if by_columns
                    else (lambda g, block=block: g[block])))
        at += length
    return out


def columns_of(moment, block):
    """A A' of some rows of A."""
    return ("samples", moment[1][:, block]) if isinstance(moment, tuple) else moment[block, block]
