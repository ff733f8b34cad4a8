#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the documents promise, run with the real program.

    documents.py commands README.md CLI ROOT     every line of a document that starts with build/release/kvscope-cli ends with status 0
    documents.py prompts PROMPTS/README.md CLI   the full cache goes on as the table says, after as many tokens as it says
"""
import json
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM = "build/release/kvscope-cli"


def commands(readme):
    """Command lines inside fenced blocks; a backslash at the end goes on with the next line."""
    blocks = re.findall(r"^```[a-z]*\n(.*?)^```", readme, re.S | re.M)
    lines = [line.strip() for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    return [line for line in lines if line.startswith(PROGRAM)]


def check_commands(readme, cli, root):
    lines = commands(Path(readme).read_text(encoding="utf-8"))
    if not lines:
        return [f"{readme}: no line begins with {PROGRAM}"]
    errors = []
    with tempfile.TemporaryDirectory() as folder:
        for name in ("assets", "tests"):  # paths in the README are relative to the repository
            (Path(folder) / name).symlink_to(Path(root) / name)
        for line in lines:
            words = shlex.split(line, comments=True)
            done = subprocess.run([cli, *words[1:]], cwd=folder, capture_output=True, text=True)
            if done.returncode != 0:
                errors.append(f"{line}: status {done.returncode}: {done.stderr.strip()}")
    return errors


def check_prompts(table, cli):
    rows = re.findall(r"^\| `([^`]+)` \| (\d+) \| `([^`]*)` \| (.*) \|$", Path(table).read_text(encoding="utf-8"), re.M)
    files = sorted(path.name for path in Path(table).parent.glob("*.txt"))
    if sorted(row[0] for row in rows) != files:
        return [f"{table}: the rows are {[row[0] for row in rows]}, the files {files}"]
    listed = json.loads((Path(table).parent / "prompts.json").read_text(encoding="utf-8"))["prompts"]
    if [(p["file"], p["about"]) for p in listed] != [(row[0], row[3]) for row in rows]:
        return [f"{table}: files or what to look for differ from prompts.json, or their order does"]
    errors = []
    for name, n_tokens, answer, _ in rows:
        prompt = Path(table).parent / name
        done = subprocess.run([cli, "run", "--json", "--generate", str(len(answer)), "--prompt-file", str(prompt)], capture_output=True, text=True)
        if done.returncode != 0:
            errors.append(f"{name}: status {done.returncode}: {done.stderr.strip()}")
            continue
        result = json.loads(done.stdout)
        text = result["lanes"][0]["text"]
        rest = text[len(prompt.read_text(encoding="utf-8")):]
        if not rest.startswith(answer):
            errors.append(f"{name}: the full cache goes on with '{rest[:80]}', the table says '{answer}'")
        if result["prompt_tokens"] != int(n_tokens):
            errors.append(f"{name}: {result['prompt_tokens']} tokens, the table says {n_tokens}")
    return errors


def main():
    what, document, cli = sys.argv[1:4]
    errors = check_commands(document, cli, sys.argv[4]) if what == "commands" else check_prompts(document, cli)
    for line in errors:
        print(line)
    sys.exit(1 if errors else 0)


if __name__ == "__main__":
    main()
