# SPDX-License-Identifier: Apache-2.0
"""kvscope-cli as a function."""
import json
import os
import shutil
import subprocess
import tempfile

from .trace import Run, read


class ProgramError(RuntimeError):
    """kvscope-cli refused or failed; the text is its own sentence."""

    def __init__(self, message, status):
        super().__init__(message)
        self.status = status


def program():
    """Path of kvscope-cli: $KVSCOPE_CLI, else the one on the PATH. Raises FileNotFoundError."""
    path = os.environ.get("KVSCOPE_CLI") or shutil.which("kvscope-cli")
    if not path:
        raise FileNotFoundError("kvscope-cli is not on the PATH; put its folder there (./run --build-only says where it is), or set KVSCOPE_CLI")
    return path


def run(prompt=None, lanes=(), model=None, *, prompt_ids=None, kept=None, generate=32, detail="slots", precision="f32", options=()):
    """Computes runs and returns them as a Run.

    prompt, prompt_ids, kept: exactly one of a text, a list of token ids, or the path of a file of kept tokens (Kept.write).
    lanes: specifications, "snapkv:ratio=0.25"; the full cache is always run 0. model: folder or GGUF file; None: the embedded model.
    generate: tokens after the prompt. detail: summary, events, slots or why. options: further options of `kvscope-cli trace`, as words.
    Raises ProgramError with the program's sentence.
    """
    given = [name for name, value in (("prompt", prompt), ("prompt_ids", prompt_ids), ("kept", kept)) if value is not None]
    if len(given) != 1:
        raise ValueError(f"expected exactly one of prompt, prompt_ids and kept, got {', '.join(given) or 'none'}")
    words = [program(), "trace", "--quiet", "--json", "--detail", detail, "--precision", precision]
    if kept is None:
        words += ["--generate", str(generate)]
    if model is not None:
        words += ["--model", os.fspath(model)]
    if kept is not None:
        words += ["--kept", os.fspath(kept)]
    if prompt_ids is not None:
        words += ["--prompt-ids", ",".join(str(int(i)) for i in prompt_ids)]
    for lane in lanes:
        words += ["--lane", lane]
    with tempfile.TemporaryDirectory(prefix="kvscope-") as folder:
        out = os.path.join(folder, "trace.json")
        if prompt is not None:
            with open(os.path.join(folder, "prompt.txt"), "w", encoding="utf-8", newline="") as file:
                file.write(prompt)
            words += ["--prompt-file", file.name]
        done = subprocess.run([*words, "--out", out, *options], capture_output=True, text=True)
        if done.returncode != 0:
            raise ProgramError(done.stderr.strip().removeprefix("kvscope-cli: "), done.returncode)
        result = read(out)
    result._figures = json.loads(done.stdout)["lanes"]
    return result
