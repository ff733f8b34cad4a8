#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails when a commit since REVISION has a subject of more than 72 characters or no body that says why.

    commits.py ROOT REVISION

77, which ctest calls skipped, outside of a git checkout and in one that does not go back to REVISION.
"""
import subprocess
import sys

LONGEST = 72


def git(root, *arguments):
    return subprocess.run(["git", "-C", root, *arguments], capture_output=True, text=True)


def errors(log):
    """log: hash, subject and body of each commit, separated by NUL, ended by the record separator."""
    for record in log.split("\x1e"):
        if not record.strip():
            continue
        name, subject, body = record.lstrip("\n").split("\0")
        if len(subject) > LONGEST:
            yield f"{name}: expected a subject of at most {LONGEST} characters, got {len(subject)}: {subject}"
        if not body.strip():
            yield f"{name}: expected a body that says why: {subject}"


def selftest():
    good = "a1\0area: Do it\0Because.\n\x1e\n"
    assert not list(errors(good)), list(errors(good))
    assert len(list(errors(good + f"b2\0{'x' * 73}\0Because.\x1e"))) == 1
    assert len(list(errors(f"b2\0{'x' * 72}\0\n\x1e" + good))) == 1


def main():
    selftest()
    root, base = sys.argv[1:]
    if git(root, "cat-file", "-e", base + "^{commit}").returncode != 0:
        print(f"Skipped: {root} is no git checkout that goes back to {base}")
        sys.exit(77)
    log = git(root, "log", "--no-merges", "--format=%h%x00%s%x00%b%x1e", f"{base}..HEAD")
    if log.returncode != 0:
        sys.exit(log.stderr)
    found = list(errors(log.stdout))
    print(f"{log.stdout.count(chr(0x1e))} commits since {base}")
    sys.exit("\n".join("error: " + e for e in found) if found else 0)


if __name__ == "__main__":
    main()
