"""Writes a new study from the templates of this folder: `make new-study COMMAND=random-features NAME=gaussian-product [PAPER=products]`.

The study, its test, its preset, the row of its command, and with PAPER the catalog of the paper or a statement in it. What is to be
filled in is written in capitals."""
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.abspath(os.path.join(HERE, *[os.pardir] * 3))
FOLDERS = {"random-features": "random_features", "spiked-model": "spike_plus_bulk", "teacher-student": "spike_plus_bulk",
           "rank-collapse": "rank_collapse", "one-step-compare": "one_step_compare"}
# Without a paper of its own, a claim is beyond the statement that it is closest to.
CLOSEST = "spectral/eq-1.8"


def refuse(text):
    sys.exit(f"make new-study: {text}")


def path(*parts):
    return os.path.join(ROOT, *parts)


def read(*parts):
    with open(path(*parts), encoding="utf-8") as file:
        return file.read()


def write(text, *parts):
    os.makedirs(os.path.dirname(path(*parts)), exist_ok=True)
    with open(path(*parts), "w", encoding="utf-8") as file:
        file.write(text)
    print("  " + os.path.join(*parts))


def template(name, words):
    text = read("src", "experiments", "template", name)
    for word, value in words.items():
        text = text.replace(f"@{word}@", value)
    return text


def formatted(*parts):
    """clang-format is not needed to build; `make format` does the same."""
    try:
        subprocess.run(["clang-format", "-i", path(*parts)], check=False)
    except FileNotFoundError:
        pass


def add_statement(paper, preset):
    """The id of a new statement of the paper, whose catalog is new if it has none."""
    parts = ("experiments", "papers", paper + ".json")
    entry = {"id": f"{paper}/{preset}", "name": f"WRITE THE NAME: {preset}", "section": "1", "type": "equation", "says": "SAY IT IN YOUR WORDS",
             "hypotheses": "", "pictures": [preset]}
    if os.path.exists(path(*parts)):
        text = read(*parts)
        taken = [each["id"] for each in json.loads(text)["statements"]]
        if entry["id"] in taken:
            refuse(f"{'/'.join(parts)} has the statement {entry['id']} already")
        lines = json.dumps(entry, indent=1).replace('[\n  "' + preset + '"\n ]', f'["{preset}"]').splitlines()
        entry_text = ",\n" + "\n".join("  " + line for line in lines)
        at = text.rindex("\n ]")
        write(text[:at] + entry_text + text[at:], *parts)
        return entry["id"]
    orders = [json.loads(read("experiments", "papers", name)).get("order", 0)
              for name in os.listdir(path("experiments", "papers")) if name.endswith(".json")]
    document = {"paper": re.sub("[^A-Za-z]", "", paper.title()), "anchor": paper, "authors": "WRITE THE AUTHORS", "title": "WRITE THE TITLE",
                "arxiv": "0000.00000", "version": "v1", "order": max(orders) + 1, "statements": [entry]}
    text = json.dumps(document, indent=1)
    write(text.replace('[\n    "' + preset + '"\n   ]', f'["{preset}"]') + "\n", *parts)
    return entry["id"]


def add_row(command, name, namespace):
    """In the command's list of studies; returns the name of its header."""
    folder = FOLDERS[command]
    file = "commands" if folder == "spike_plus_bulk" else folder
    parts = ("src", "experiments", folder)
    header = read(*parts, file + ".hpp")
    last = [match.end() for match in re.finditer(r"^std::unique_ptr<Study> make_.*\n", header, re.MULTILINE)][-1]
    write(header[:last] + f"std::unique_ptr<Study> make_{namespace}_study();\n" + header[last:], *parts, file + ".hpp")
    source = read(*parts, file + ".cpp")
    begin = source.index(f'"{command}"')
    rows = [match.end() for match in re.finditer(r"make_\w+_study(\(model\); \})?\}", source[begin:source.index("\n}\n", begin)])]
    at = begin + rows[-1]
    write(source[:at] + f', {{"{name}", "SAY IT IN ONE LINE", 12, make_{namespace}_study}}' + source[at:], *parts, file + ".cpp")
    formatted(*parts, file + ".cpp")
    return file


def main(command, name, paper):
    if command not in FOLDERS:
        refuse(f"COMMAND={command} is not allowed; allowed: {', '.join(FOLDERS)}")
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name):
        refuse(f"NAME={name} is not allowed; allowed: lower-case words with hyphens, such as gaussian-product")
    if paper and not re.fullmatch(r"[a-z]+(-[a-z]+)*", paper):
        refuse(f"PAPER={paper} is not allowed; allowed: lower-case words with hyphens, the name of its file in experiments/papers")
    namespace, folder = name.replace("-", "_"), FOLDERS[command]
    for parts in (("src", "experiments", folder, namespace + ".cpp"), ("experiments", name + ".json")):
        if os.path.exists(path(*parts)):
            refuse(f"{os.path.join(*parts)} exists already")
    statement = add_statement(paper, name) if paper else CLOSEST
    constant = re.sub("[./-]", "_", statement.split("/", 1)[1])
    group = statement.split("/")[0].replace("-", "_")
    place = f'Place{{{group}::{constant}, "/", "SAY WHERE"}}' if paper else f'beyond(Place{{{group}::{constant}, "/{name}/", "SAY WHERE"}})'
    words = {"COMMAND": command, "STUDY": name, "NAMESPACE": namespace, "FOLDER": folder, "STATEMENT": statement, "PLACE": place,
             "CLAIM": f"{statement}/bound" if paper else f"{statement}/{name}/bound", "WHERE": f"[{paper}]" if paper else "our own",
             "SOURCE": json.dumps({"paper": f"[{json.loads(read('experiments', 'papers', paper + '.json'))['paper']}]", "figure": "Figure 1"})
             if paper else ""}
    words["COMMAND_FILE"] = add_row(command, name, namespace)
    for file, parts in (("study.cpp.in", ("src", "experiments", folder, namespace + ".cpp")),
                        ("study_test.cpp.in", ("tests", "unit", "experiments", folder, namespace + "_test.cpp"))):
        write(template(file, words), *parts)
        formatted(*parts)
    preset = template("preset.json.in", words)
    if not paper:
        preset = re.sub(r'^  "source": ,\n', "", preset, flags=re.MULTILINE)
    write(preset, "experiments", name + ".json")
    print(f"""
Fill in what is in capitals. Then:
  make reference NAME={name}     # builds, measures the memory, runs in full, draws, writes the pages
  make check NAME={name}         # what concerns this preset: its tests, run, catalog, reference, memory
src/README.md explains the parts of a study.""")


if __name__ == "__main__":
    main(*(os.environ.get(word, "") for word in ("COMMAND", "NAME", "PAPER")))
