#!/usr/bin/env python3
"""The same run gives the same trace file, byte for byte: for 1, 2 and 5 threads, in f64 and f32, prefill and stream.

determinism_check.py CLI
"""
import hashlib
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "oracle"))
import lanes as all_lanes  # noqa: E402
from catalog import read_catalog, supported  # noqa: E402

TEXT = ("The old clock in the hall had stopped at a quarter past nine, and nobody in the house remembered when it had last been wound or who "
        "had kept the key. The letters on the table were addressed to people who had left years ago.")


WITHOUT_FILES = ("kvzap", "fastkvzip", "lukv")  # nobody has trained theirs for the embedded model


def digest(cli, arguments, folder):
    out = os.path.join(folder, "trace.json")
    subprocess.run([cli, "trace", "--quiet", "--detail", "why", "--out", out, *arguments], check=True)
    with open(out, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest(), os.path.getsize(out)


def main():
    cli = sys.argv[1]
    catalog = read_catalog(cli)
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        for mode, generate, prompt in (("prefill", "6", TEXT), ("stream", "2", TEXT[:90])):
            # the embedded model has feature maps of its own; the other files are those of the oracle's models
            specs = [s.replace(",maps=maps.safetensors", "") for s in all_lanes.specs(14, mode)]
            specs = [s for s in specs if supported(s, catalog) and ".json" not in s and "file=" not in s and s.split(":")[0] not in WITHOUT_FILES]
            for precision in ("f64", "f32"):
                arguments = ["--prompt", prompt, "--generate", generate, "--prompt-mode", mode, "--precision", precision, "--seed", "3"]
                for spec in specs:
                    arguments += ["--lane", spec]
                seen = {f"{n} threads": digest(cli, [*arguments, "--threads", str(n)], folder) for n in (1, 2, 5)}
                # nothing of it is refused when it is read again: once, the others have the same bytes
                subprocess.run([cli, "run", "--quiet", os.path.join(folder, "trace.json")], check=True, stdout=subprocess.DEVNULL)
                same = len(set(seen.values())) == 1
                bad += not same
                print(f"{mode} {precision}, {len(specs)} lanes: {'same bytes' if same else seen} ({seen['1 threads'][1]} bytes)")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
