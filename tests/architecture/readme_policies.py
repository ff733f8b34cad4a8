#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails when the tables of policies in the documents and the catalog differ.

    readme_policies.py README.md POLICIES.md CATALOG.json [--write]

POLICIES.md has one row per policy in the catalog's order: name, paper, idea, keys, what the selection may see. The README has the policies in
the catalog's groups, each once: name, arXiv number, idea. list_policies prints the catalog; --write puts its rows into POLICIES.md and its ideas into the README.
"""
import json
import re
import sys
from pathlib import Path

SEES = {True: "yes", False: "no", None: "as chosen"}
FULL = ["policy", "paper", "idea", "keys", "sees the question"]
SHORT = ["policy", "paper", "idea"]


def cells_of(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def rows(document, header):
    """Rows of every table with this header, as dictionaries; "group" is the line above the table."""
    found, inside, above = [], False, ""
    for line in document.splitlines():
        cells = cells_of(line)
        if not line.startswith("|"):
            inside, above = False, line.strip() or above
        elif cells == header:
            inside = True
        elif inside and not set(line) <= set("|-: "):
            found.append({**dict(zip(header, cells)), "group": above})
    return found


def words(cell):
    return re.findall(r"`([a-z0-9_]+)`", cell)


def name_of(row):
    return (words(row["policy"]) or [row["policy"]])[0]


def arxiv(text):
    return re.findall(r"\d{4}\.\d{5}", text)[:1]


def full_differences(document, catalog):
    found = rows(document, FULL)
    names, known = [name_of(row) for row in found], [policy["name"] for policy in catalog]
    if names != known:
        yield f"policies are {names}, the catalog has {known}"
        return
    for row, policy in zip(found, catalog):
        if words(row["keys"]) != policy["keys"]:
            yield f"{policy['name']}: keys are {words(row['keys'])}, the catalog has {policy['keys']}"
        for column in ("paper", "idea"):
            if row[column] != (policy[column] or "–"):
                yield f"{policy['name']}: {column}: '{row[column]}', the catalog has '{policy[column]}'"
        if row["sees the question"] != SEES[policy["sees_question"]]:
            yield f"{policy['name']}: sees the question: '{row['sees the question']}', the catalog has '{SEES[policy['sees_question']]}'"


def short_differences(document, catalog):
    found = rows(document, SHORT)
    names, known = sorted(name_of(row) for row in found), sorted(policy["name"] for policy in catalog)
    if names != known:
        yield f"policies are {names}, the catalog has {known}"
        return
    by_name = {policy["name"]: policy for policy in catalog}
    for row in found:
        policy = by_name[name_of(row)]
        if row["idea"] != policy["idea"]:
            yield f"{policy['name']}: idea: '{row['idea']}', the catalog has '{policy['idea']}'"
        if (row["paper"] in ("", "–")) != (not policy["paper"]):
            yield f"{policy['name']}: paper: '{row['paper']}', the catalog has '{policy['paper']}'"
        if arxiv(policy["paper"]) and arxiv(row["paper"]) != arxiv(policy["paper"]):
            yield f"{policy['name']}: paper: '{row['paper']}', the catalog has '{policy['paper']}'"
        if policy["group"] is not None and row["group"] != policy["group"]:
            yield f"{policy['name']}: under '{row['group']}', the catalog has it under '{policy['group']}'"


def row_of(policy):
    keys = " ".join(f"`{key}`" for key in policy["keys"]) or "–"
    return f"| `{policy['name']}` | {policy['paper'] or '–'} | {policy['idea']} | {keys} | {SEES[policy['sees_question']]} |"


def with_rows(document, catalog):
    """POLICIES.md with the catalog's rows under the header."""
    head, line, rest = document.partition("| " + " | ".join(FULL) + " |\n")
    ruler, _, after = rest.partition("\n")
    while after.startswith("|"):
        after = after.partition("\n")[2]
    return head + line + ruler + "\n" + "".join(row_of(policy) + "\n" for policy in catalog) + after


def with_ideas(document, catalog):
    """The README with the catalog's ideas in the rows that it has."""
    by_name, lines, inside = {policy["name"]: policy for policy in catalog}, [], False
    for line in document.splitlines(keepends=True):
        cells = cells_of(line)
        inside = line.startswith("|") and (inside or cells == SHORT)
        if inside and len(cells) == len(SHORT) and (words(cells[0]) or [""])[0] in by_name:
            line = f"| {cells[0]} | {cells[1]} | {by_name[words(cells[0])[0]]['idea']} |\n"
        lines.append(line)
    return "".join(lines)


def selftest():
    catalog = [{"name": "a", "keys": ["sinks"], "paper": "A, arXiv:2401.00001", "idea": "x", "sees_question": True, "group": "text"},
               {"name": "b", "keys": [], "paper": "", "idea": "z", "sees_question": None, "group": None}]
    full = ("| policy | paper | idea | keys | sees the question |\n|---|---|---|---|---|\n"
            "| `a` | A, arXiv:2401.00001 | x | `sinks` | yes |\n| `b` | – | z | – | as chosen |\n")
    assert not list(full_differences(full, catalog))
    for old, new in [("`a`", "`c`"), ("`sinks`", "`sink`"), ("00001", "00002"), ("| x |", "| y |"), ("yes", "no"), ("| policy", "| Policy")]:
        assert list(full_differences(full.replace(old, new), catalog)), (old, new)
    assert with_rows("before\n" + full.replace("yes", "no") + "after\n", catalog) == "before\n" + full + "after\n"

    header = "| policy | paper | idea |\n|---|---|---|\n"
    short = header + "| `b` | – | z |\n\ntext\n\n" + header + "| `a` | [2401.00001](https://arxiv.org/abs/2401.00001) | x |\n"
    assert not list(short_differences(short, catalog))
    for old, new in [("`a`", "`c`"), ("00001", "00002"), ("| x |", "| y |"), ("| – |", "| B |"), ("| `b` | – | z |\n", ""), ("text", "Text"), ("`b`", "`a`")]:
        assert list(short_differences(short.replace(old, new), catalog)), (old, new)
    assert with_ideas(short.replace("| z |", "| old |"), catalog) == short


def main():
    selftest()
    readme, policies = Path(sys.argv[1]), Path(sys.argv[2])
    catalog = json.loads(Path(sys.argv[3]).read_text(encoding="utf-8"))
    if sys.argv[4:] == ["--write"]:
        policies.write_text(with_rows(policies.read_text(encoding="utf-8"), catalog), encoding="utf-8")
        readme.write_text(with_ideas(readme.read_text(encoding="utf-8"), catalog), encoding="utf-8")
    found = [(readme.name, line) for line in short_differences(readme.read_text(encoding="utf-8"), catalog)]
    found += [(policies.name, line) for line in full_differences(policies.read_text(encoding="utf-8"), catalog)]
    for document, line in found:
        print(f"{document}: {line}")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
