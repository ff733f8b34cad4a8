# SPDX-License-Identifier: Apache-2.0
"""Results of kvscope in Python, and results of other programs for kvscope.

    run = kvscope.run(prompt="The code of the vault is 4821. ...", lanes=["snapkv:ratio=0.25", "h2o:ratio=0.25"])
    run.figures()                       # what the command line prints
    run.heads().where(run="snapkv:ratio=0.25", step=0)
    kvscope.read("trace.json")          # a trace that was written before

    kept = kvscope.Kept(tokens, n_layers=6, n_kv_heads=4, n_prompt=len(tokens), model="kvmini")
    kept.run("my method", ratio=0.25).step(0, mask)      # mask: bool [layers, KV heads, tokens]
    kept.write("mine.json")             # kvscope-cli run --kept mine.json
"""
from .kept import Kept
from .program import ProgramError, program, run
from .trace import Run, Table, read

__all__ = ["Kept", "ProgramError", "Run", "Table", "program", "read", "run"]
