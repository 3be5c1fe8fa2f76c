"""Collects every sentence that a user can see: `make words` writes them to build/words.txt.

Sources: help pages, presets, results, the Python recorder, and the string literals of src, in which "<...>" stands for a computed part.
tests/end_to_end/test_documents.py searches the same list for words that must not occur.
"""
import ast
import glob
import json
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
EXPERIMENTS = ("rank-collapse", "random-features", "spiked-model", "teacher-student", "one-step-compare")
PROSE_KEYS = ("title", "summary", "see", "statement", "detail", "label", "notes", "caption", "source")

LEXER = re.compile(r"""//[^\n]*|/\*.*?\*/|R"(?P<mark>[^(\s]*)\((?P<raw>.*?)\)(?P=mark)"|"(?P<text>(?:\\.|[^"\\\n])*)"|'(?:\\.|[^'\\])+'""",
                   re.DOTALL)


def sentences_of_source(path):
    """The string literals of a C++ file. Literals of one expression are joined."""
    with open(path, encoding="utf-8") as file:
        code = file.read()
    code = re.sub(r"^\s*#.*$", "", code, flags=re.MULTILINE)
    sentence, end = "", 0
    for match in LEXER.finditer(code):
        text = match["raw"] if match["raw"] is not None else match["text"]
        if text is None:
            continue
        between = re.sub(r"//[^\n]*", "", code[end:match.start()]).strip()
        if sentence and between == "":
            sentence += text
        elif sentence and between.startswith("+") and between.endswith("+") and not re.search(r"[;{}]", between):
            sentence += ("<...>" if between != "+" else "") + text
        else:
            yield sentence
            sentence = text
        end = match.end()
    yield sentence


def sentences_of_json(value, key=""):
    if isinstance(value, dict):
        for name, entry in value.items():
            yield from sentences_of_json(entry, name)
    elif isinstance(value, list):
        for entry in value:
            yield from sentences_of_json(entry, key)
    elif isinstance(value, str) and key in PROSE_KEYS:
        yield value


def sentences_of_python(path):
    with open(path, encoding="utf-8") as file:
        for node in ast.walk(ast.parse(file.read())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value


def output(program, *arguments):
    run = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=60)
    return (run.stdout + run.stderr).splitlines()


def words(program):
    """(heading, sentences) of each source. A sentence is listed only where it occurs first."""
    seen = set()

    def unseen(sentences):
        for sentence in sentences:
            plain = sentence.replace("\\n", "\n").replace('\\"', '"').strip()
            if " " in plain and re.search("[a-z]{2}", plain) and plain not in seen:
                seen.add(plain)
                yield plain

    yield "ranklab", list(unseen(output(program)))
    for command in EXPERIMENTS:
        yield f"ranklab {command} --help", list(unseen(output(program, command, "--help")))
    yield "ranklab list", list(unseen(output(program, "list")))
    for pattern, read in (("experiments/*.json", sentences_of_json), ("results/reference/*.json", sentences_of_json),
                          ("experiments/*.py", sentences_of_python), ("src/**/*.?pp", sentences_of_source)):
        for path in sorted(glob.glob(os.path.join(ROOT, pattern), recursive=True)):
            if read is sentences_of_json:
                with open(path, encoding="utf-8") as file:
                    found = list(unseen(read(json.load(file))))
            else:
                found = list(unseen(read(path)))
            if found:
                yield os.path.relpath(path, ROOT), found


if __name__ == "__main__":
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        for heading, sentences in words(sys.argv[1]):
            file.write(f"## {heading}\n\n" + "\n".join(sentences) + "\n\n")
