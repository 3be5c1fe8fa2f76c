#!/usr/bin/env python3
"""Compares the verdicts of results in one folder with those of results with the same file names in another folder.

Usage: check_verdicts.py FOLDER REFERENCE. A contradiction is a claim that holds in one folder and fails in the other. Prints each
contradiction and the number of compared claims. Exits with status 1 if there is a contradiction or no result to compare."""
import glob
import json
import os
import sys


def verdicts(path):
    with open(path, encoding="utf-8") as file:
        return {claim["id"]: claim["verdict"] for claim in json.load(file)["claims"]}


def main(folder, reference):
    compared = results = reference_only = 0
    contradictions = []
    for path in sorted(glob.glob(os.path.join(folder, "*.json"))):
        other = os.path.join(reference, os.path.basename(path))
        if not os.path.exists(other):
            continue
        results += 1
        ours, theirs = verdicts(path), verdicts(other)
        for name in ours.keys() & theirs.keys():
            compared += 1
            reference_only += ours[name] == "not-applicable" != theirs[name]
            if {ours[name], theirs[name]} == {"holds", "fails"}:
                contradictions.append(f"{os.path.basename(path)[:-5]}: {name}: {ours[name]} here, {theirs[name]} in {reference}")
    print("\n".join(sorted(contradictions)), end="\n" if contradictions else "")
    print(f"{results} results, {compared} claims in both folders: {len(contradictions)} contradictions, "
          f"{reference_only} judged only in the reference")
    return 1 if contradictions or results == 0 else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
