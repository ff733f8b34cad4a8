# SPDX-License-Identifier: Apache-2.0
"""Results of kvscope in Python, and results of other programs for kvscope.

    run = kvscope.run("The code of the vault is 4821. ...", runs=["snapkv:ratio=0.25", "h2o:ratio=0.25"])
    run                                 # in a notebook: the replay page
    run.figures()                       # what the command line prints
    run.heads().where(run="snapkv:ratio=0.25", step=0)
    kvscope.read("trace.json")          # also a session with results (*.kvscope), or a file of kept tokens

    kept = kvscope.Kept(tokens, n_layers=6, n_kv_heads=4, model="kvmini")
    kept.run("my method", ratio=0.25).step(0, mask)      # mask: bool [layers, KV heads, tokens]
    kept.write("mine.json")             # kvscope-cli run --kept mine.json

    with kvscope.record(model, press, "mine.json"):      # a transformers model, any press of kvpress or None
        model.generate(**inputs)
"""
from .errors import Error, ProgramError
from .files import read
from .kept import Kept
from .program import program, run
from .recording import record
from .table import Grid, Table
from .trace import Run

__all__ = ["Error", "Grid", "Kept", "ProgramError", "Run", "Table", "program", "read", "record", "run"]
