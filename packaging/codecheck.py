"""Prints codecheck.yml (https://codecheck.org.uk/spec/config/1.0/): which picture reproduces which figure or table of the papers.

`make gallery` writes it from the presets and the pictures of the reference results."""
import glob
import json
import os

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def pictures(name, title):
    """The pictures of a preset's reference result, each with its title."""
    result = os.path.join("results", "reference", name)
    further = read(os.path.join(ROOT, result + ".json")).get("more_figures", [])
    return [(f"{result}.svg", title)] + [(f"{result}.{i}.svg", f"{title}; further picture: {each['title']}") for i, each in enumerate(further, 2)]


papers = sorted(map(read, glob.glob(os.path.join(ROOT, "experiments", "papers", "*.json"))), key=lambda paper: paper["order"])
presets = {os.path.basename(path).removesuffix(".json"): read(path)
           for path in sorted(glob.glob(os.path.join(ROOT, "experiments", "*.json"))) if not path.endswith(".schema.json")}

print("---\n# Written by `make gallery`. results/README.md says how to check this reproduction."
      "\nversion: https://codecheck.org.uk/spec/config/1.0/"
      "\n# A certificate is about one paper. Its `paper`, `codechecker` and `report` are the codechecker's to add:")
for paper in papers:
    print(f"# paper:\n#   title: {json.dumps(paper['title'])}\n#   authors:")
    for author in paper["authors"].split(", "):
        print(f"#     - name: {json.dumps(author, ensure_ascii=False)}")
    print(f"#   reference: https://arxiv.org/abs/{paper['arxiv']}{paper['version']}")
print("manifest:")
for paper in papers:
    key = f"[{paper['paper']}]"
    for name, preset in presets.items():
        source = preset.get("source") or {}
        if source.get("paper") != key or not source["figure"].startswith(("Figure", "Table")):
            continue
        for picture, title in pictures(name, preset["title"]):
            print(f"  - file: {picture}\n    comment: " + json.dumps(f"{key} {source['figure']}: {title} (make {name})", ensure_ascii=False))
    page = os.path.join("results", paper["anchor"] + ".md")
    print(f"  - file: {page}\n    comment: " + json.dumps(f"{key}: the verdict on every statement, with its evidence"))
