"""The result of `make bench` as ranklab.result/3, and its tables.

`ranklab plot`, `export` and `compare` read the file. Its command is `bench`, which the program does
not have, so `verify` cannot run it again.
"""
import re

import growth
import threads
from measure import machine
from intervals import mean_and_std

COLUMNS = ["work", "ranklab", "peer", "peer / ranklab", "of the limit", "MB", "peer MB", "target"]


def slug(name):
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def short(seconds):
    for unit, scale in (("s", 1), ("ms", 1e3), ("us", 1e6)):
        if seconds * scale >= 1:
            break
    return f"{seconds * scale:.3g} {unit}"


def share_of_limit(measured, limits):
    """The time that the row's operations take at the machine's rates, in 1e9 per second, over the
    measured time; None if the row has no count or a rate is missing."""
    needs = measured.row.needs
    if not needs or not set(needs) <= set(limits):
        return None
    least = sum(count / (1e9 * limits[name]) for name, count in needs.items())
    return [least / seconds for seconds in measured.ours]


def limits_of(block_runs):
    """The values of each limit, one per run of build/bench, and its unit, by name."""
    values, units = {}, {}
    for name, value, unit in (line for blocks in block_runs for line in blocks):
        if name.startswith("limit "):
            values.setdefault(name[6:], []).append(value)
            units[name[6:]] = unit
    return values, units


def noise(rows, measured_limits):
    """What shows that the machine was not quiet, as notes."""
    out = []
    for name, values in measured_limits.items():
        change = 1 - min(values) / max(values)
        if change > 0.1:
            out.append(f"Not quiet: the limit {name} changed by {100 * change:.0f} % between the "
                       "start and the end.")
    rates = {name: max(values) for name, values in measured_limits.items()}
    above = [m.row.name for m in rows if max(share_of_limit(m, rates) or [0]) > 1]
    if above:
        out.append(f"Not quiet: {', '.join(above)} ran faster than the measured limits allow.")
    return out


def quantities(measured, limits):
    """The row's lists of one number per turn, by name."""
    out = {"ranklab_s": measured.ours, "ranklab_mb": measured.memory}
    if measured.peer:
        out.update(peer_s=measured.peer, peer_mb=measured.peer_memory, ratio=measured.ratios)
    share = share_of_limit(measured, limits)
    if share:
        out["limit_share"] = share
    return out


def target_of(row):
    if row.target:
        return f"> {row.target:g}"
    if row.share:
        return f"{100 * row.share:.0f} % of the limit"
    return f"< {row.seconds:g} s" if row.seconds else "-"


def cells(measured, limits):
    """The row of the table, as text."""
    row, mean = measured.row, lambda values: mean_and_std(values)[0]
    share = share_of_limit(measured, limits)
    ratio = "-"
    if measured.peer:
        ratio = (f"{mean(measured.ratios):.2f} "
                 f"({min(measured.ratios):.2f} to {max(measured.ratios):.2f})")
    return [row.work, short(mean(measured.ours)), short(mean(measured.peer)) if measured.peer else
            "-", ratio, f"{100 * mean(share):.0f} %" if share else "-",
            f"{max(measured.memory):.0f}",
            f"{max(measured.peer_memory):.0f}" if measured.peer else "-", target_of(row)]


def bars(title, label, name, rows, scale, lines=()):
    """A panel of bars, one for each (name, values), and its series."""
    summaries = [mean_and_std(values) for _, values in rows]
    series = {"name": name, "quantity": name, "x_name": "row",
              "x": [float(i + 1) for i in range(len(rows))],
              "mean": [mean for mean, _ in summaries], "std": [std for _, std in summaries]}
    panel = {"title": title,
             "x": {"label": "", "scale": "linear", "ticks": [row for row, _ in rows]},
             "y": {"label": label, "scale": scale},
             "curves": [{"series": name, "label": "", "style": "bars", "color": 0}],
             "lines": list(lines)}
    return panel, series


def panels(rows, limits):
    ratios = [(m.row.name, m.ratios) for m in rows if m.peer]
    shares = [(m.row.name, share) for m in rows if (share := share_of_limit(m, limits))]
    out = []
    if ratios:
        out.append(bars("CPU time of the peer over ours, one thread each", "ratio", "ratio_by_row",
                        ratios, "log", [{"y": 1.0, "label": "equal"}]))
    if shares:
        out.append(bars("Share of the machine's limit", "share",
                        "limit_share_by_row", shares, "linear"))
    return out


def notes(rows, limits, units, loaded, sped_up):
    out = ["Times are CPU seconds of one thread; ranklab and the peer ran in turn."] if rows else []
    if sped_up:
        out.append("A speed-up is the wall time of one thread over that of more threads, in turn.")
    for name, values in limits.items():
        lower = f", the lower run {min(values):.4g}" if len(values) > 1 else ""
        out.append(f"Limit {name}: {max(values):.4g} {units[name]}{lower}.")
    for blas in sorted({m.blas for m in rows if m.blas}):
        out.append(f"BLAS of the peers: {blas}.")
    for m in rows:
        if m.difference is not None:
            out.append(f"{m.row.name}: the peer's numbers differ by at most {m.difference:.2g}.")
        if m.note:
            out.append(f"{m.row.name}: {m.note}.")
    if loaded > 0.5:
        out.append(f"Other programs were running: load {loaded:.1f} at the start.")
    return out + noise(rows, limits)


def versions(rows):
    out = {}
    for m in rows:
        out.update(m.versions or {})
    return out


def bench_result(rows, block_runs, environment, wall, loaded, full, grown=(), sped_up=(),
                 status="complete"):
    """The JSON document. `block_runs`: (name, value, unit) lines of build/bench, at the start and
    at the end; `grown`: the sweeps; `sped_up`: runs on several threads. A limit is the best run:
    other load can only lower it."""
    limits, units = limits_of(block_runs)
    rates = {name: max(measured) for name, measured in limits.items()}
    values = {f"limit.{name}": [rate] for name, rate in rates.items()}
    values.update({f"limit_runs.{name}": measured for name, measured in limits.items()})
    values.update({f"block.{slug(name)}.{slug(unit)}": [value]
                   for name, value, unit in (block_runs[0] if block_runs else [])
                   if not name.startswith("limit ")})
    for m in rows:
        values.update({f"{m.row.name}.{k}": v for k, v in quantities(m, rates).items()})
    for one in grown:
        values.update({name: [value] for name, value in growth.scalars(one).items()})
    for one in sped_up:
        values.update(one.values())
    drawn = panels(rows, rates)
    curves = [s for one in grown for s in growth.series(one)]
    curves += [s for one in sped_up for s in one.series()]
    figures = [{"columns": 1, "panels": [panel for panel, _ in drawn]}] if drawn else []
    figures += [growth.figure(grown)] if grown else []
    figures += [threads.figure(sped_up)] if sped_up else []
    scalars = {}
    for name, numbers in values.items():
        mean, std = mean_and_std(numbers)
        scalars[name] = {"mean": mean, "std": std, "n": len(numbers), "quantity": name}
    turns = max([len(m.ours) for m in rows] + [one.turns for one in sped_up], default=1)
    cpu = sum(sum(m.ours) + sum(m.peer) for m in rows)
    return {
        "schema": "ranklab.result/3", "command": "bench", "study": "speed", "preset": None,
        "title": "Speed of ranklab, its peers and the machine", "source": None,
        "config": {"study": "speed", "preset": None, "seed": 1, "trials": turns,
                   "blas-threads": 1, "full": full,
                   "row": [m.row.name for m in rows]},
        "status": status, "trials": {"requested": turns, "completed": turns, "unit": "turn"},
        "scalars": scalars, "series": [series for _, series in drawn] + curves, "claims": [],
        "figure": figures[0] if figures else None,
        **({"more_figures": figures[1:]} if figures[1:] else {}),
        "table": {"columns": COLUMNS, "rows": [cells(m, rates) for m in rows]},
        "notes": notes(rows, limits, units, loaded, sped_up),
        "environment": {**environment, **machine(), "argv": ["bench.py"], "peers": versions(rows)},
        "trial_values": values, "non_finite": 0,
        "timing": {"wall_s": wall, "cpu_s": cpu, "trials_s": wall}}


def tables(result):
    """The columns and rows of the tables below the figures, by the first column's name."""
    figures = [result["figure"] or {}, *result.get("more_figures", [])]
    return {table["columns"][0]: [table["columns"], *table["rows"]]
            for figure in figures for table in figure.get("tables", [])}


def aligned(rows):
    if not rows:
        return []
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return ["  ".join(cell.ljust(w) if i == 0 else cell.rjust(w)
                      for i, (cell, w) in enumerate(zip(row, widths))).rstrip() for row in rows]


def text_table(result):
    """The tables for a terminal, and the notes."""
    lines = aligned([result["table"]["columns"], *result["table"]["rows"]])
    for table in tables(result).values():
        lines += ["", *aligned(table)]
    return "\n".join(lines + [""] + result["notes"])


def markdown(rows):
    lines = [rows[0], ["---"] + ["--:"] * (len(rows[0]) - 1), *rows[1:]]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def full_table(result):
    return markdown([result["table"]["columns"], *result["table"]["rows"]])


def short_table(result, rows):
    """The columns that a reader of the README needs."""
    def mean(row, what, form, scale=1):
        found = result["scalars"].get(f"{row.name}.{what}")
        return form.format(scale * found["mean"]) if found else "-"

    lines = [["work", "ranklab", "peer", "peer / ranklab", "of the limit", "MB"]]
    table = dict(zip(result["config"]["row"], result["table"]["rows"]))
    for row in rows:
        lines.append(table[row.name][:3] + [
            mean(row, "ratio", "{:.2f}"), mean(row, "limit_share", "{:.0f} %", 100),
            mean(row, "ranklab_mb", "{:.0f}")])
    return markdown(lines)
