#!/usr/bin/env python3
"""Writes the next-token logits of a model after a prompt, computed by the oracle in float64, with all their digits.

make_logits.py MODEL OUT.json        tests/golden/kvmini-logits.json is written from assets/models/kvmini
"""
import json
import sys

from model import Model, Prefill

# 40 tokens of kvmini: <s> The old clock in the hall had stopped at a quarter past nine, and nobody in the house remembered when it had last been ...
IDS = [1, 355, 745, 650, 865, 289, 264, 300, 291, 356, 358, 1961, 1215, 366, 262, 554, 296, 369, 1897, 293, 543, 1976, 285, 465, 1520, 289, 264, 666, 673,
       435, 1978, 626, 506, 335, 356, 833, 515, 266, 493, 426]


def main():
    model = Model(sys.argv[1])
    logits = Prefill(model, IDS).logits
    with open(sys.argv[2], "w", encoding="utf-8") as f:
        json.dump({"model": model.name, "tokens": IDS, "logits": [float(x) for x in logits]}, f, separators=(",", ":"))
        f.write("\n")


if __name__ == "__main__":
    main()
