#!/usr/bin/env python3
"""Runs the oracle's fuzzer on kvscope-cli with a fixed seed. Exit status 77 where numpy is missing.

fuzz_check.py CLI CASES
"""
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def main():
    try:
        import numpy  # noqa: F401
    except ImportError:
        print("skipped: the oracle needs numpy")
        return 77
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.run([sys.executable, os.path.join(HERE, "..", "oracle", "fuzz.py"), sys.argv[1], "--cases", sys.argv[2]], env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
