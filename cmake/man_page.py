#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the manual pages of a program from what its --help says.

    man_page.py PROGRAM FOLDER

PROGRAM.1.gz, and PROGRAM-COMMAND.1.gz for each subcommand that the help lists.
"""
import gzip
import re
import subprocess
import sys
from pathlib import Path

ITEM = re.compile(r"  (\S.*?)(?:\s{2,}(\S.*))?$")  # of a list: two spaces, the word, two or more, what it means


def said_by(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True, encoding="utf-8").stdout


def escaped(text):
    text = text.replace("\\", "\\(rs").replace("-", "\\-").replace("'", "\\(aq").replace("^", "\\(ha").replace("~", "\\(ti").replace("`", "\\(ga")
    return "\\&" + text if text.startswith(".") else text


def items(lines):
    """(word, meaning) of a list; a line that is indented deeper goes on with the meaning."""
    found = []
    for line in lines:
        if line.startswith("    ") and found:
            word, meaning = found.pop()
            found.append((word, f"{meaning} {line.strip()}".strip()))
        elif match := ITEM.match(line):
            found.append((match[1], match[2] or ""))
    return found


def as_list(found):
    return [part for word, meaning in found for part in (".TP", f"\\fB{escaped(word)}\\fR", escaped(meaning) or "\\&")]


def as_text(lines):
    """What stands under the options: paragraphs are filled; indented lines are lists, or commands as they stand."""
    out, mode = [], ""
    for line in lines + [""]:
        match = ITEM.match(line)
        now = "" if not line.strip() else "list" if match and match[2] else "verbatim" if match else "text"
        if mode == "verbatim" and now != mode:
            out.append(".fi")
        if now != mode:
            out += {"text": [".PP"], "verbatim": [".PP", ".nf"]}.get(now, [])
        mode = now
        if mode == "list":
            out += as_list([(match[1], match[2])])
        elif mode:
            out.append(escaped(line))
    return out


def sections(text):
    """(heading, lines) of a help: "" is what comes before the usage, "more" what follows the lists."""
    parts, heading, lines = [], "", []
    for line in text.splitlines():
        new = None
        if line.startswith("Usage: "):
            new = ("Usage", [line.removeprefix("Usage: ")])
        elif line in ("Options:", "Positionals:", "Subcommands:"):
            new = (line[:-1], [])
        elif heading in ("Options", "Subcommands") and line and not line.startswith(" "):
            new = ("more", [line])
        if new is None:
            lines.append(line)
            continue
        parts.append((heading, lines))
        heading, lines = new
    return dict(parts + [(heading, lines)])


def page(name, text, version, others):
    said = sections(text)
    about = " ".join(line.strip() for line in said[""]).strip().rstrip(".")
    out = [f'.TH {escaped(name).upper()} 1 "" "kvscope {version}" "User Commands"', ".SH NAME", f"{escaped(name)} \\- {escaped(about)}"]
    usage = escaped(" ".join(line.strip() for line in said["Usage"]).strip())
    out += [".SH SYNOPSIS", re.sub(r"^(kvscope(?:\\-cli)?(?: [a-z]+)?)", r"\\fB\1\\fR", usage)]
    for heading, title in (("Positionals", "ARGUMENTS"), ("Options", "OPTIONS"), ("Subcommands", "COMMANDS")):
        if heading in said:
            out += [f".SH {title}"] + as_list(items(said[heading]))
    if "more" in said:
        out += [".SH NOTES"] + as_text(said["more"])
    links = [f"\\fB{escaped(other)}\\fR(1)" for other in others if other != name]
    return "\n".join(out + ([".SH SEE ALSO", ",\n".join(links)] if links else [])) + "\n"


def main():
    program, folder = Path(sys.argv[1]), Path(sys.argv[2])
    version = said_by(program, "--version").split()[-1]
    text = said_by(program, "--help")
    commands = [word for word, _ in items(sections(text).get("Subcommands", []))]
    names = [program.name] + [f"{program.name}-{command}" for command in commands]
    pages = {program.name: (text, names if commands else ["kvscope-cli"])}
    for command in commands:
        pages[f"{program.name}-{command}"] = (said_by(program, command, "--help"), [program.name])
    folder.mkdir(parents=True, exist_ok=True)
    for name, (said, others) in pages.items():
        with open(folder / f"{name}.1.gz", "wb") as file, gzip.GzipFile("", "wb", 9, file, 0) as packed:
            packed.write(page(name, said, version, others).encode())


if __name__ == "__main__":
    main()
