#!/usr/bin/env python3
"""The greedy text of stories260K equals what llama2.c prints, to the last byte.

stories_check.py CLI FOLDER      FOLDER holds the model and reference.json; exit status 77 where it does not exist
"""
import json
import os
import subprocess
import sys


def main():
    cli, folder = sys.argv[1:3]
    path = os.path.join(folder, "reference.json")
    if not os.path.exists(path):
        print(f"skipped: {folder} does not hold the model (set KVSCOPE_SHARED to the folder that has models/stories260K)")
        return 77
    with open(path, encoding="utf-8") as f:
        reference = json.load(f)
    bad = 0
    for mode in ("prefill", "stream"):
        for precision in ("f32", "f64"):
            run = subprocess.run([cli, "run", "--model", folder, "--prompt", reference["prompt"], "--generate", "252", "--follow", "reference", "--json",
                                  "--prompt-mode", mode, "--precision", precision], capture_output=True, check=True)
            lane = json.loads(run.stdout)["lanes"][0]
            same = lane["text"].encode() == reference["text"].encode() and len(lane["tokens"]) == 257  # BOS and 256 steps
            bad += not same
            print(f"{mode} {precision}: {'same' if same else repr(lane['text'])}, {len(lane['text'])} characters, {len(lane['tokens'])} tokens")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
