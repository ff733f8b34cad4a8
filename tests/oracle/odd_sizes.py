#!/usr/bin/env python3
"""Sizes that random cases seldom meet, for every policy: kvscope-cli against the oracle.

odd_sizes.py CLI [--policies h2o,keepkv] [--seed 1] [--share 1.0]
Prompts of one token, budgets of one slot, windows longer than the text, sinks beyond the budget, one layer, 1 to 8 query heads per KV head, one token
repeated over and over. --share runs a part of all cases, drawn by the seed. Exit status 0 same, 1 different.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

from catalog import read_catalog, supported
from make_tiny import make, make_filters, make_learned, make_maps

HERE = os.path.dirname(os.path.abspath(__file__))
# (layers, KV heads, query heads per KV head)
MODELS = [(1, 1, 1), (1, 1, 8), (2, 2, 4), (3, 3, 2)]
# (name, prompt tokens, tokens after it)
TEXTS = [("one token", [7], [3, 9, 7, 1]), ("two tokens", [7, 7], [7, 7, 7]), ("one token repeated", [5] * 17, [5] * 6),
         ("two tokens in turn", [4, 11] * 9, [4, 11, 4, 4]), ("all different", list(range(20)), [20, 21, 22])]
BUDGETS = ["slots=0", "ratio=0", "slots=1", "slots=2", "slots=6", "slots=100", "ratio=0.01", "ratio=1.0"]
OPTIONS = {
    "local": ["", "sinks=9"], "random": ["", "sinks=0.5,recent=0.5"], "knorm": ["", "sinks=3,recent=0.3"],
    "streaming": ["", "sinks=0", "sinks=0.5,positions=original"], "lm_infinite": ["", "sinks=0", "sinks=2", "sinks=0.5"],
    "h2o": ["", "recent=0", "sinks=9,recent=2"], "scissorhands": ["", "recent=0", "recent=1,window=1,drop=3", "recent=0.2,drop=0.5,window=0.5"],
    "roco": ["", "recent=0,spread=9", "recent=0,spread=0", "recent=0.1,spread=1.0"], "tova": ["", "sinks=3,recent=2"],
    "snapkv": ["", "sinks=9,window=1", "window=0.5,kernel=9,pool=avg,refresh=1"], "pyramidkv": ["", "beta=1,window=1", "window=2,kernel=1,refresh=1"],
    "pyramidinfer": ["", "sinks=0,recent=0", "decay=0,sinks=0,recent=1", "sinks=9"],
    "adakv": ["", "alpha=0,sinks=1", "alpha=1,window=1", "window=2,kernel=1,refresh=2"],
    "headkv": ["scores=headkv.json", "scores=headkv.json,beta=1,window=1", "scores=headkv.json,window=2,kernel=1,refresh=1"],
    "duo": ["heads=duo.json", "", "heads=duo.json,sparsity=0,sinks=0", "heads=duo.json,sparsity=1.0,recent=0,sinks=1", "sparsity=0.3,sinks=0.5"],
    "criticalkv": ["", "base=adakv,window=1,kernel=1,refresh=1", "base=headkv,scores=headkv.json,alpha=0", "alpha=1,eps=0,window=2,sinks=1"],
    "rkv": ["every=1", "every=2,window=1,kernel=1,sinks=1", "every=3,window=0.5,similar=0,lambda=1"],
    "tri": ["every=1", "every=2,zscore=0,sinks=1,recent=1"], "finch": ["", "window=1,norm=0", "window=9,refresh=1,positions=original,sinks=2"],
    "qfilter": ["file=q_filters.safetensors", "file=q_filters.safetensors,sinks=1,recent=2,refresh=1"],
    "kvzap": ["", "file=kvzap_linear.safetensors,sinks=1,recent=2,refresh=1"], "fastkvzip": ["", "local=0.4,sinks=0", "local=1,recent=2"],
    "lukv": ["future=5", "future=9,sinks=0,recent=0,cov=0,eps=0"],
    "dropkv": ["", "window=1,kernel=1,sinks=2", "window=0.5,kernel=9,refresh=1,eps=0.1"],
    "best": ["", "sinks=0,horizon=1", "sinks=1,recent=2,horizon=100"],
    "cam": ["", "base=h2o,recent=0,m=1"], "d2o": ["", "sinks=0,recent=0,beta=1", "sinks=1,form=code"],
    "less": ["maps=maps.safetensors", "maps=maps.safetensors,recent=0", "base=streaming,maps=maps.safetensors,sinks=0"],
    "kvmerger": ["", "recent=0,heavy=0", "recent=1,heavy=1,refresh=1"], "weightedkv": ["", "recent=0,sinks=0"],
    "zeromerge": ["", "sinks=0,recent=0,residual=1", "sinks=1,recent=1,residual=5"],
    "keepkv": ["", "window=1,sinks=0,recent=0,threshold=-1", "base=h2o,threshold=-1", "base=snapkv,window=3,threshold=0,kernel=3",
               "base=pyramidinfer,sinks=1,threshold=-1,predict=window,window=100"],
}
# Policies that compare keys, values or hidden states. Those of one token repeated are equally long, and as near to the one before as to the one after: then the last bit
# of a matrix product decides.
BY_KEYS = {"d2o", "kvmerger", "zeromerge", "keepkv", "knorm", "criticalkv", "rkv", "tri", "qfilter", "dropkv", "kvzap", "fastkvzip", "lukv"}


def cases(r, share, only):
    for m in range(len(MODELS)):
        for text in TEXTS:
            for mode in ("prefill", "stream"):
                for policy, options in OPTIONS.items():
                    for option in options:
                        if policy in BY_KEYS and len(set(text[1])) < 3:
                            continue
                        for budget in BUDGETS:
                            if (not only or policy in only) and r.random() < share:
                                yield m, text, mode, f"{policy}:{budget}" + ("," + option if option else "")


def write(folder, name, data):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as f:
        json.dump(data, f)
    return path


def run(program, folder, out):
    done = subprocess.run([*program, "--out", out], capture_output=True, text=True, cwd=folder)
    return done.returncode, done.stderr.strip()[:150]


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ap.add_argument("cli")
    ap.add_argument("--policies", default="")
    ap.add_argument("--seed", type=int, default=1)
    ap.add_argument("--share", type=float, default=1.0)
    o = ap.parse_args()
    only = {p for p in o.policies.split(",") if p}
    r = np.random.default_rng(o.seed)
    catalog = read_catalog(o.cli)
    same = different = refused = 0
    with tempfile.TemporaryDirectory() as root:
        folders = []
        for i, (layers, kv, group) in enumerate(MODELS):
            folders.append(os.path.join(root, str(i)))
            make(folders[-1], seed=i + 1, layers=layers, heads=kv * group, kv_heads=kv, head_dim=8, vocab=40, qk=2.0, tie=False, dtype="F32")
            write(folders[-1], "headkv.json", np.round(r.random((layers, kv * group)), 4).tolist())
            write(folders[-1], "duo.json", np.round(r.random((layers, kv)), 4).tolist())
            make_filters(folders[-1], r, layers, kv, 8)
            make_maps(folders[-1], r, layers, kv, 8)
            make_learned(folders[-1], r, layers, kv * group, kv, kv * group * 8)
        for m, (words, prompt, follow), mode, spec in cases(r, o.share, only):
            if not supported(spec, catalog):
                continue
            folder = folders[m]
            args = ["--model", folder, "--tokens-file", write(folder, "prompt.json", prompt), "--follow", write(folder, "follow.json", follow),
                    "--prompt-mode", mode, "--lane", spec]
            a, b = os.path.join(root, "cli.json"), os.path.join(root, "oracle.json")
            ours = run([o.cli, "trace", *args, "--precision", "f64", "--device", "cpu"], folder, a)
            theirs = run([sys.executable, os.path.join(HERE, "oracle.py"), *args], folder, b)
            where = f"model {MODELS[m]}, {words}, {mode}, {spec}"
            if ours[0] or theirs[0]:
                refused += 1
                if (ours[0] == 0) != (theirs[0] == 0):
                    different += 1
                    print(f"{where}: one side refuses: cli {ours} oracle {theirs}", flush=True)
                continue
            done = subprocess.run([sys.executable, os.path.join(HERE, "compare.py"), a, b], capture_output=True, text=True)
            same += done.returncode == 0
            different += done.returncode != 0
            if done.returncode:
                print(f"{where}: {done.stdout.strip().splitlines()[0][:220]}", flush=True)
    print(f"{same} same, {different} different, {refused} refused by both or one")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
