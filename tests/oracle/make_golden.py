#!/usr/bin/env python3
"""Writes the tiny models and the golden traces of tests/golden. Run it again after a change of the specification, then read the diff.

tiny-gqa: 2 layers, 4 query heads of 8 on 2 KV heads, F32.   tiny-mha: 2 layers, 2 of 16 on 2, BF16, tied output matrix.
Traces: <model>-<prefill|stream>-<part>.json. To keep them small: numbers have 9 significant digits, the lane `full` (needed as the
reference of kl) has no heads, and neither has a step before the first one in which something is removed. The tokens after the
prompt are given, not generated (follow = file).
"""
import json
import os

import numpy as np

import lanes
import oracle
import tracefile
from make_tiny import make, make_filters, make_learned, make_maps
from model import Model

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "golden")

SLOTS, LENGTHS = 10, {"prefill": (20, 3), "stream": (18, 2)}              # (prompt, tokens after it)
MODELS = {"tiny-gqa": dict(seed=11, layers=2, heads=4, kv_heads=2, head_dim=8, vocab=64, tie=False, dtype="F32"),
          "tiny-mha": dict(seed=12, layers=2, heads=2, kv_heads=2, head_dim=16, vocab=64, tie=True, dtype="BF16")}


def short(x):
    if isinstance(x, dict):
        return {k: short(v) for k, v in x.items()}
    if isinstance(x, list):
        return [short(v) for v in x]
    return float(f"{x:.9g}") if isinstance(x, float) else x


def trim(doc):
    for lane in doc["lanes"]:
        seen = False
        for step in lane["steps"]:
            seen = seen or any(h["events"] for h in step["heads"])
            if not seen or lane["policy"] == "full":
                del step["heads"]
            for head in step.get("heads", []):
                head.pop("kv_bytes", None)                             # as many as the precision makes of them


def main():
    total = 0
    for i, (name, kw) in enumerate(MODELS.items()):
        path = os.path.join(HERE, name)
        make(path, **kw)
        r = np.random.default_rng(100 + i)
        for file, cols in (("headkv.json", kw["heads"]), ("duo.json", kw["kv_heads"])):
            with open(os.path.join(path, file), "w", encoding="utf-8") as f:
                json.dump(np.round(r.random((kw["layers"], cols)), 4).tolist(), f)
                f.write("\n")
        make_filters(path, np.random.default_rng(200 + i), kw["layers"], kw["kv_heads"], kw["head_dim"])
        make_maps(path, np.random.default_rng(300 + i), kw["layers"], kw["kv_heads"], kw["head_dim"])
        make_learned(path, np.random.default_rng(400 + i), kw["layers"], kw["heads"], kw["kv_heads"], kw["heads"] * kw["head_dim"])
        model = Model(path)
        ids = [int(x) for x in r.permutation(kw["vocab"])]              # no token twice: no exact ties between equal keys
        for mode, (n, more) in LENGTHS.items():
            for group in lanes.GROUPS:
                specs = lanes.specs(SLOTS, mode, group)
                parts = -(-len(specs) // (5 if mode == "stream" else 6))
                for part in range(parts):
                    doc = oracle.run(model, ids[:n], specs[part::parts], more, mode, follow=ids[n:], dirs=(path,))
                    trim(doc)
                    out = os.path.join(HERE, f"{name}-{mode}-{group}{part + 1 if parts > 1 else ''}.json")
                    with open(out, "w", encoding="utf-8") as f:
                        f.write(tracefile.dumps(short(doc)))
                    size = os.path.getsize(out)
                    total += size
                    print(f"{os.path.basename(out)}: {len(doc['lanes'])} lanes, {len(doc['lanes'][0]['steps'])} steps, {size / 1000:.0f} kB")
    print(f"{total / 1e6:.2f} MB of traces")


if __name__ == "__main__":
    main()
