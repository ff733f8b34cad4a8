#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails when a comment or a document cites something that is not there.

    citations.py ROOT

- A document that is named (POLICIES.md, tests/oracle/README.md) is a file of the repository.
- A section that is cited with it ("POLICIES.md section 5", "sections 2 and 8", "section 2 of POLICIES.md") has a numbered heading there.
- "section 5" by itself says nothing to a reader: its document must stand beside it ("the paper's section 3" is somebody else's).
- A code of a view (V2) has a row in viz/README.md.
- A relative link of a document leads to a file.
"""
import os
import re
import sys
from pathlib import Path

CODE = {".h", ".hpp", ".cpp", ".cu", ".cuh"}
SCRIPTS = {".py", ".sh", ".cmake"}
FOLDERS = ("engine", "viz", "app", "tests", "assets", "cmake", ".ci")
VIEWS = "viz/README.md"
MADE = re.compile(r"^(\$\w+|[A-Z]+)/")  # what an argument names: OUT/report.md

DOCUMENT = r"(?:[\w.$-]+/)*[\w$-]+\.md\b"
NUMBER = r"\d+(?:\.\d+)*"
NUMBERS = rf"{NUMBER}(?:(?:, | and | to |–){NUMBER})*"
AFTER = re.compile(rf"({DOCUMENT}),? (?:sections? |§ ?)({NUMBERS})")       # POLICIES.md sections 2 and 8
BEFORE = re.compile(rf"(?:sections? |§ ?)({NUMBERS}) of ({DOCUMENT})")       # section 2 of POLICIES.md
ALONE = re.compile(rf"(?<!paper, )(?<!paper's )(?<!paper's, )(?:\bsections? |§ ?)({NUMBERS})")
HEADING = re.compile(rf"^#+ ({NUMBER})\.? ", re.M)
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(?:#[^)]*)?\)")


def comments(text):
    """What a reader of C++ reads as prose: comments, those of several lines in one."""
    token = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|(//[^\n]*(?:\n[ \t]*//[^\n]*)*)|(/\*.*?\*/)', re.S)
    return "\n".join(re.sub(r"\n[ \t]*(?:///?<?|\*)?[ \t]*", " ", m[1] or m[2]) for m in token.finditer(text) if m[1] or m[2])


def prose(path, text):
    if path.suffix in CODE:
        return comments(text)
    if path.suffix == ".md":
        return re.sub(r"(?<!\n)\n(?![\n|#-])", " ", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text))  # links are looked at by themselves
    return re.sub(r"\n[ \t]*#?[ \t]*(?=\S)", " ", text)  # scripts: comments and texts alike


def files(root):
    for path in sorted(root.iterdir()):
        if path.is_file() and (path.suffix == ".md" or path.name in ("run", "check", "CMakeLists.txt")):
            yield path
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            script = path.suffix in SCRIPTS or path.name in ("run", "pack", "check", "CMakeLists.txt")
            if path.is_file() and (path.suffix in CODE or path.suffix == ".md" or script):
                yield path


def find(cited, documents, beside):
    """The documents that a name may mean: beside the file that cites it, from the root, or of that name anywhere."""
    near = os.path.normpath(beside.parent / cited)
    if near in documents:
        return [near]
    return [name for name in documents if name == cited or name.endswith("/" + cited)]


def errors_of(name, text, documents, sections, views):
    where = Path(name)
    own = set(HEADING.findall(text)) if where.suffix == ".md" else set()
    words = prose(where, text)
    for cited in sorted(set(re.findall(DOCUMENT, words))):
        if not MADE.match(cited) and not find(cited, documents, where):
            yield f"{name}: cites {cited}, which is not in the repository"
    for pattern, order in ((AFTER, (1, 2)), (BEFORE, (2, 1))):
        for match in pattern.finditer(words):
            document, numbers = match[order[0]], re.findall(NUMBER, match[order[1]])
            found = find(document, documents, where)
            for number in numbers:
                if found and not any(number in sections[d] for d in found):
                    yield f"{name}: cites section {number} of {document}, which has no such heading"
    for match in ALONE.finditer(BEFORE.sub("", AFTER.sub("", words))):
        if not own.issuperset(re.findall(NUMBER, match[1])):
            yield f"{name}: cites section {match[1]} without its document"
    if name.startswith(("app/", "viz/")) and where.suffix in CODE:
        for code in sorted(set(re.findall(r"\bV\d{1,2}\b", words)) - views):
            yield f"{name}: cites the view {code}, which {VIEWS} does not list"
    if where.suffix == ".md":
        for link in LINK.findall(re.sub(r"```.*?```", "", text, flags=re.S)):
            if "://" not in link and not link.startswith("mailto:") and not (documents.root / where.parent / link).exists():
                yield f"{name}: links to {link}, which does not exist"


class Documents(set):
    root = Path()


def check(root):
    """(errors, number of citations of a section)"""
    root = Path(root)
    texts = {p.relative_to(root).as_posix(): p.read_text(encoding="utf-8", errors="replace") for p in files(root)}
    documents = Documents(name for name in texts if name.endswith(".md"))
    documents.root = root
    sections = {name: set(HEADING.findall(texts[name])) for name in documents}
    views = set(re.findall(r"^\| (V\d+) \|", texts.get(VIEWS, ""), re.M))
    errors, cited = [], 0
    for name, text in texts.items():
        if name.startswith("tests/architecture/citations"):
            continue  # its examples are no citations
        words = prose(Path(name), text)
        cited += len(AFTER.findall(words)) + len(BEFORE.findall(words))
        errors += errors_of(name, text, documents, sections, views)
    return errors, cited


def main():
    errors, cited = check(sys.argv[1])
    for line in errors:
        print("error:", line)
    print(f"{cited} citations of sections")
    sys.exit(1 if errors or cited == 0 else 0)


if __name__ == "__main__":
    main()
