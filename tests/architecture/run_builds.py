#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails when ./run would not build a program or a module that its own configuration announces.

    run_builds.py ROOT

Nothing is compiled. ./run is run with --build-only in a folder of links to the sources, with a ninja that, asked to build, lists the commands of
what it was asked for. CMake's file API says which programs and modules there are.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

NINJA = """#!/bin/sh
# builds as always for CMake's own questions; of our build it lists the commands
if [ "$1" = -C ] && [ "$2" = '{build}' ] && [ "${{3-}}" != -t ]; then
  shift 2
  exec '{ninja}' -C '{build}' -t commands "$@" >'{commands}'
fi
exec '{ninja}' "$@"
"""


def checkout(root, folder):
    """The sources behind links, with a ./run that takes `folder` for the root and an empty build."""
    for entry in root.iterdir():
        if entry.name not in ("build", "run", "cmake") and not entry.name.startswith("."):
            (folder / entry.name).symlink_to(entry)
    shutil.copytree(root / "cmake", folder / "cmake")
    shutil.copy2(root / "run", folder / "run")
    build = folder / "build" / "release"
    query = build / ".cmake" / "api" / "v1" / "query"
    query.mkdir(parents=True)
    (query / "codemodel-v2").touch()
    return build


def announced(build):
    """Paths below the build folder of the programs and modules of the configuration."""
    reply = build / ".cmake" / "api" / "v1" / "reply"
    index = json.loads(next(reply.glob("index-*.json")).read_text(encoding="utf-8"))
    model = json.loads((reply / index["reply"]["codemodel-v2"]["jsonFile"]).read_text(encoding="utf-8"))
    files = set()
    for entry in model["configurations"][0]["targets"]:
        target = json.loads((reply / entry["jsonFile"]).read_text(encoding="utf-8"))
        if target["type"] in ("EXECUTABLE", "MODULE_LIBRARY", "SHARED_LIBRARY"):
            files |= {artifact["path"] for artifact in target["artifacts"]}
    return files


def main():
    root = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory(prefix="kvscope-run-") as name:
        folder = Path(name).resolve()
        build, commands = checkout(root, folder), folder / "commands"
        tools = folder / ".tools"
        tools.mkdir()
        (tools / "ninja").write_text(NINJA.format(build=build, ninja=shutil.which("ninja"), commands=commands), encoding="utf-8")
        (tools / "ninja").chmod(0o755)
        run = subprocess.run([str(folder / "run"), "--build-only"], env={**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"},
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if run.returncode != 0:
            sys.exit(f"./run --build-only ends with {run.returncode}:\n{run.stdout}")
        made = set(re.findall(r" -o (\S+)", commands.read_text(encoding="utf-8")))
        files = announced(build)
        backends = re.search(r"kvscope backends: (.*)", run.stdout)
        print(f"backends: {backends[1] if backends else 'not said'}; programs and modules: {', '.join(sorted(files))}")
        errors = [f"./run does not build {file}, which its configuration announces" for file in sorted(files - made)]
        if not {"kvscope", "kvscope-cli"} <= files:
            errors.append(f"expected kvscope and kvscope-cli among the programs, got {sorted(files)}")
        if not backends:
            errors.append("the configuration does not say which backends there are")
        elif ("cuda" in backends[1].split("(")[0]) != ("kvscope_cuda.so" in files):
            errors.append(f"the configuration says 'backends: {backends[1]}', and there is {'a' if 'kvscope_cuda.so' in files else 'no'} CUDA module")
        sys.exit("\n".join("error: " + e for e in errors) if errors else 0)


if __name__ == "__main__":
    main()
