"""Measures the largest resident memory of every preset: `make memory [ONLY=spectral-fig03,...]`.

A preset runs as it is, on two threads, for at most SECONDS=30, and its file gets the megabytes as
"memory_mb". results/bench/memory.csv has them all. The memory of lambda-skip-fig01 and -fig02 still
grows after 30 seconds; theirs is measured with SECONDS=120.
"""
import argparse
import json
import os
import re
import signal
import subprocess
import tempfile
import time

MEGABYTE = 1e6


def peak_mb(ranklab, preset, seconds, folder):
    """The largest resident memory of a run of the preset that is interrupted after `seconds`.

    It runs in the folder, where it finds the weights that an earlier preset wrote there."""
    process = subprocess.Popen([os.path.abspath(ranklab), "run", preset, "--threads", "2", "--quiet"], cwd=folder,
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    stop = time.monotonic() + seconds
    while os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
        if time.monotonic() > stop:
            process.send_signal(signal.SIGTERM)
            stop = float("inf")
        time.sleep(0.05)
    _, status, usage = os.wait4(process.pid, 0)
    code = os.waitstatus_to_exitcode(status)
    if code not in (0, 143):
        raise SystemExit(f"{preset}: exit {code}: {process.stderr.read().decode()}")
    return usage.ru_maxrss * 1024 / MEGABYTE


def write_memory(path, megabytes):
    """Sets "memory_mb" in the preset's file, after "seconds", and leaves all else as it is."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    text = re.sub(r'\n *"memory_mb": [^\n]*', "", text)
    text = re.sub(r'(\n( *)"seconds": [^\n]*)', rf'\1\n\2"memory_mb": {megabytes},', text, count=1)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def write_table(path, listed, measured):
    """Renews the rows of the presets that were measured, and leaves the others as they are."""
    rows = {}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            rows = {line.split(",")[0]: line for line in file.read().splitlines()[1:]}
    for preset in listed:
        if preset["name"] in measured:
            rows[preset["name"]] = f"{preset['name']},{preset.get('seconds', 0):g},{preset['memory_mb']:g}"
    with open(path, "w", encoding="utf-8") as file:
        file.write("preset,seconds,memory_mb\n")
        file.writelines(rows[preset["name"]] + "\n" for preset in listed if preset["name"] in rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("ranklab")
    parser.add_argument("--presets", help="only these, separated by commas")
    parser.add_argument("--seconds", type=float, required=True)
    options = parser.parse_args()
    listed = json.loads(subprocess.check_output([options.ranklab, "list", "--json"]))
    wanted = options.presets.split(",") if options.presets else [preset["name"] for preset in listed]
    read = {preset.get("after") for preset in listed}  # they write files that others read
    with tempfile.TemporaryDirectory() as folder:
        for name in sorted(wanted, key=lambda name: name not in read):
            seconds = float("inf") if name in read else options.seconds
            megabytes = round(peak_mb(options.ranklab, name, seconds, folder))
            write_memory(os.path.join("experiments", name + ".json"), megabytes)
            print(f"{name:30} {megabytes:6} MB", flush=True)
    listed = json.loads(subprocess.check_output([options.ranklab, "list", "--json"]))
    write_table("results/bench/memory.csv", listed, wanted)


if __name__ == "__main__":
    main()
