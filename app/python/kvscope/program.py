# SPDX-License-Identifier: Apache-2.0
"""kvscope-cli as a function."""
import json
import os
import shutil
import signal
import subprocess
import tempfile

from .errors import Error, ProgramError
from .files import read


def program():
    """Path of kvscope-cli: $KVSCOPE_CLI, else the one on the PATH. Raises Error: there is none."""
    path = os.environ.get("KVSCOPE_CLI") or shutil.which("kvscope-cli")
    if not path or not os.access(path, os.X_OK) or os.path.isdir(path):
        raise Error(f"expected the program kvscope-cli on the PATH or in KVSCOPE_CLI, got {path or 'none'}; "
                    "`./run --build-only` builds it and says where it is")
    return path


def run(prompt=None, runs=(), model=None, *, lanes=None, prompt_ids=None, kept=None, generate=32, detail="why", precision="f32", options=()):
    """Computes runs and returns them as a Run.

    prompt, prompt_ids, kept: exactly one of a text, a list of token ids, or the path of a file of kept tokens (Kept.write, record).
    runs: specifications, NAME:key=value,...; the full cache is always run 0. lanes: the same, as the command line calls them.
    model: folder or GGUF file; None: the embedded model. generate: tokens after the prompt; of a kept file those it has.
    detail: summary, events, slots or why; the page in a notebook's cell needs why. options: further options of `kvscope-cli trace`, as words.
    Raises ProgramError with the program's sentence, Error for what is wrong before it starts.
    """
    given = [name for name, value in (("prompt", prompt), ("prompt_ids", prompt_ids), ("kept", kept)) if value is not None]
    if len(given) != 1:
        raise Error(f"run: expected exactly one of prompt, prompt_ids and kept, got {', '.join(given) or 'none'}")
    if lanes is not None and runs:
        raise Error("run: expected runs or lanes, two names of the same, got both")
    asked = runs if lanes is None else lanes
    asked = [asked] if isinstance(asked, str) else list(asked)
    if any(not isinstance(one, str) for one in asked):
        raise Error(f"run: expected runs as texts like NAME:ratio=0.25, got {next(one for one in asked if not isinstance(one, str))!r}")
    words = ["trace", "--quiet", "--json", "--detail", detail, "--precision", precision]
    if kept is None:
        words += ["--generate", str(generate)]
    if model is not None:
        words += ["--model", os.fspath(model)]
    if kept is not None:
        words += ["--kept", os.fspath(kept)]
    for one in asked:
        words += ["--lane", one]
    with tempfile.TemporaryDirectory(prefix="kvscope-") as folder:
        out = os.path.join(folder, "trace.json")
        if prompt is not None:
            words += ["--prompt-file", _written(os.path.join(folder, "prompt.txt"), prompt)]
        if prompt_ids is not None:
            words += ["--tokens-file", _written(os.path.join(folder, "prompt.json"), json.dumps([int(i) for i in prompt_ids]))]
        said = ask(*words, "--out", out, *options)
        result = read(out)
    result._figures = _lanes(said)
    return result


def ask(*words):
    """What kvscope-cli prints for these words. Raises ProgramError with its sentence."""
    try:
        done = subprocess.run([program(), *words], capture_output=True, text=True, encoding="utf-8", errors="replace")
    except (ValueError, OSError) as error:                             # a NUL in a word; no memory
        if isinstance(error, Error):
            raise
        raise Error(f"kvscope-cli {words[0]}: expected words that a program can be started with, got: {error}") from error
    if done.returncode < 0:
        raise ProgramError(f"kvscope-cli {words[0]} was ended by {signal.Signals(-done.returncode).name}; is the memory enough?", done.returncode)
    if done.returncode:
        raise ProgramError(done.stderr.strip().removeprefix("kvscope-cli: ") or f"kvscope-cli {words[0]} failed", done.returncode)
    return done.stdout


def figures_of(trace):
    """Of each run of a trace (its content) the object that `kvscope-cli run --json` has for it."""
    with tempfile.TemporaryDirectory(prefix="kvscope-") as folder:
        return _lanes(ask("run", "--json", _stored(folder, trace)))


def page_of(trace):
    """The replay page of a trace (its content): a whole HTML document, as text."""
    with tempfile.TemporaryDirectory(prefix="kvscope-") as folder:
        out = os.path.join(folder, "run.html")
        ask("share", "--quiet", _stored(folder, trace), "--out", out)
        with open(out, encoding="utf-8", newline="") as file:
            return file.read()


def _lanes(said):
    document = json.loads(said)
    if document.get("schema") != "kvscope.run/1":
        raise Error(f"kvscope-cli: expected its answer in kvscope.run/1, got {document.get('schema')}; take program and package of the same version")
    return document["lanes"]


def _stored(folder, trace):
    try:
        return _written(os.path.join(folder, "trace.json"), json.dumps(trace, allow_nan=False))
    except ValueError as error:
        if isinstance(error, Error):
            raise
        raise Error(f"trace: expected finite numbers and null, got others ({error})") from error


def _written(path, text):
    """The path. Surrogates are no text."""
    try:
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(text)
    except UnicodeEncodeError as error:
        raise Error(f"prompt: expected Unicode text, got a lone surrogate at character {error.start}; decode it from its real encoding first") from error
    return path
