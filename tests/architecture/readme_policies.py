#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails when the README's table of policies and the catalog differ in a name, paper, idea, key or in what the selection may see.

    readme_policies.py README CATALOG.json [--write]      (list_policies prints the catalog; --write puts its rows into the README)
"""
import json
import re
import sys
from pathlib import Path

SEES = {True: "yes", False: "no", None: "as chosen"}
HEADER = ["policy", "paper", "idea", "keys", "sees the question"]


def table(readme):
    """Rows under the header line; [] if there is none."""
    rows, inside = [], False
    for line in readme.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if cells == HEADER:
            inside = True
        elif inside and not line.startswith("|"):
            break
        elif inside and not set(line) <= set("|-: "):
            rows.append(dict(zip(HEADER, cells)))
    return rows


def words(cell):
    return re.findall(r"`([a-z0-9_]+)`", cell)


def differences(readme, catalog):
    rows = table(readme)
    names = [words(row["policy"])[0] if words(row["policy"]) else row["policy"] for row in rows]
    known = [policy["name"] for policy in catalog]
    if names != known:
        yield f"policies are {names}, the catalog has {known}"
        return
    for row, policy in zip(rows, catalog):
        if words(row["keys"]) != policy["keys"]:
            yield f"{policy['name']}: keys are {words(row['keys'])}, the catalog has {policy['keys']}"
        for column in ("paper", "idea"):
            if row[column] != (policy[column] or "–"):
                yield f"{policy['name']}: {column}: '{row[column]}', the catalog has '{policy[column]}'"
        if row["sees the question"] != SEES[policy["sees_question"]]:
            yield f"{policy['name']}: sees the question: '{row['sees the question']}', the catalog has '{SEES[policy['sees_question']]}'"


def row_of(policy):
    keys = " ".join(f"`{key}`" for key in policy["keys"]) or "–"
    return f"| `{policy['name']}` | {policy['paper'] or '–'} | {policy['idea']} | {keys} | {SEES[policy['sees_question']]} |"


def rewritten(readme, catalog):
    """The README with the catalog's rows under the header."""
    head, line, rest = readme.partition("| " + " | ".join(HEADER) + " |\n")
    ruler, _, after = rest.partition("\n")
    while after.startswith("|"):
        after = after.partition("\n")[2]
    return head + line + ruler + "\n" + "".join(row_of(policy) + "\n" for policy in catalog) + after


def selftest():
    catalog = [{"name": "a", "keys": ["sinks"], "paper": "A, arXiv:2401.00001", "idea": "x", "sees_question": True}]
    good = "| policy | paper | idea | keys | sees the question |\n|---|---|---|---|---|\n| `a` | A, arXiv:2401.00001 | x | `sinks` | yes |\n"
    assert not list(differences(good, catalog))
    for old, new in [("`a`", "`b`"), ("`sinks`", "`sink`"), ("00001", "00002"), ("| x |", "| y |"), ("yes", "no"), ("| policy", "| Policy")]:
        assert list(differences(good.replace(old, new), catalog)), (old, new)
    assert rewritten("before\n" + good.replace("yes", "no") + "after\n", catalog) == "before\n" + good + "after\n"


def main():
    selftest()
    if sys.argv[3:] == ["--write"]:
        readme, catalog = Path(sys.argv[1]), json.loads(Path(sys.argv[2]).read_text(encoding="utf-8"))
        readme.write_text(rewritten(readme.read_text(encoding="utf-8"), catalog), encoding="utf-8")
    found = list(differences(Path(sys.argv[1]).read_text(encoding="utf-8"), json.loads(Path(sys.argv[2]).read_text(encoding="utf-8"))))
    for line in found:
        print("README.md:", line)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
