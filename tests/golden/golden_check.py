#!/usr/bin/env python3
"""Holds kvscope-cli to the golden traces of the oracle: the same tokens, the same lanes, the same decisions, the same numbers.

golden_check.py --list                   every lane specification of the golden traces, one a line
golden_check.py CLI SPEC                 that lane in every golden trace that has it
golden_check.py CLI --together FILE      all lanes of one golden trace in one run
Every lane is run in f64 (numbers within 1e-9 and 1e-7, relative) and in f32 (the same decisions, numbers within 1e-4 and 1e-3).
Exit status 0 same, 1 different, 77 nothing to compare because this build has no such policy, key or choice.
"""
import argparse
import contextlib
import glob
import io
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "oracle"))
import compare  # noqa: E402
from catalog import read_catalog, supported  # noqa: E402

SKIPPED = 77
PRECISIONS = {"f64": ["--atol", "1e-9", "--rtol", "1e-7"], "f32": ["--atol", "1e-4", "--rtol", "1e-3"]}


def documents():
    for path in sorted(glob.glob(os.path.join(HERE, "tiny-*.json"))):
        with open(path, encoding="utf-8") as f:
            yield path, json.load(f)


def write(folder, name, data):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as f:
        json.dump(data, f)
    return path


def compare_lanes(cli, doc, lanes, label):
    """Runs `lanes` of a golden document (the full cache among them) and compares. Returns True if both precisions agree."""
    good = True
    decisions = sum(len(s.get("heads", [])) for lane in lanes for s in lane["steps"])
    if not decisions:
        print(f"{label}: the golden trace has no decisions of these lanes")
        return False
    model = os.path.join(HERE, doc["model"]["name"])
    with tempfile.TemporaryDirectory() as folder:
        prompt = write(folder, "prompt.json", doc["tokens"][:doc["n_prompt"]])
        follow = write(folder, "follow.json", doc["tokens"][doc["n_prompt"]:])
        golden = write(folder, "golden.json", {**doc, "lanes": lanes})
        for precision, tolerance in PRECISIONS.items():
            out = os.path.join(folder, precision + ".json")
            command = [cli, "trace", "--model", model, "--tokens-file", prompt, "--follow", follow, "--prompt-mode", doc["prompt_mode"],
                       "--seed", str(doc["seed"]), "--precision", precision, "--device", "cpu", "--quiet", "--out", out]
            for lane in lanes:
                command += ["--lane", lane["spec"]]
            run = subprocess.run(command, capture_output=True, text=True, cwd=model)
            if run.returncode:
                print(f"{label} {precision}: exit status {run.returncode}: {run.stderr.strip()}")
                good = False
                continue
            words = io.StringIO()
            with contextlib.redirect_stdout(words):
                status = compare.main([out, golden, *tolerance])
            good = good and status == 0
            print(f"{label} {precision}: {words.getvalue().strip()}")
    return good


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ap.add_argument("cli", nargs="?")
    ap.add_argument("spec", nargs="?")
    ap.add_argument("--list", action="store_true")
    ap.add_argument("--together", default="")
    o = ap.parse_args()
    if o.list:
        specs = {lane["spec"] for _, doc in documents() for lane in doc["lanes"]}
        print("\n".join(sorted(specs - {"full"})))
        return 0
    catalog = read_catalog(o.cli)
    if o.spec and not supported(o.spec, catalog):
        print(f"skipped: this build has no lane {o.spec}")
        return SKIPPED
    good, compared = True, 0
    for path, doc in documents():
        name = os.path.basename(path)
        full, others = doc["lanes"][0], doc["lanes"][1:]
        if o.together:
            if name != os.path.basename(o.together):
                continue
            lanes = [x for x in others if supported(x["spec"], catalog)]
            print(f"{name}: {len(others) - len(lanes)} of {len(others)} lanes are not in this build")
        else:
            lanes = [x for x in others if x["spec"] == o.spec]
        if lanes:
            compared += 1
            good = compare_lanes(o.cli, doc, [full, *lanes], name) and good
    if not compared:
        print("skipped: nothing to compare")
        return SKIPPED
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
