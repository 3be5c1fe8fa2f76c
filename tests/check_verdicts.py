#!/usr/bin/env python3
"""Compares the verdicts of the results in one folder with those of the same names in another: no claim may hold in one and fail in the
other. Prints each one that does, exits with 1 if there is any, and says what was compared."""
import glob
import json
import os
import sys


def verdicts(path):
    with open(path, encoding="utf-8") as file:
        return {claim["id"]: claim["verdict"] for claim in json.load(file)["claims"]}


def main(folder, reference):
    compared = results = withheld = 0
    contradictions = []
    for path in sorted(glob.glob(os.path.join(folder, "*.json"))):
        other = os.path.join(reference, os.path.basename(path))
        if not os.path.exists(other):
            continue
        results += 1
        mine, theirs = verdicts(path), verdicts(other)
        for name in mine.keys() & theirs.keys():
            compared += 1
            withheld += mine[name] == "not-applicable" != theirs[name]
            if {mine[name], theirs[name]} == {"holds", "fails"}:
                contradictions.append(f"{os.path.basename(path)[:-5]}: {name}: {mine[name]} here, {theirs[name]} in {reference}")
    print("\n".join(sorted(contradictions)), end="\n" if contradictions else "")
    print(f"{results} results, {compared} claims of both: {len(contradictions)} contradictions, {withheld} not judged here")
    return 1 if contradictions or results == 0 else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
