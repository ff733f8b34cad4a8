# SPDX-License-Identifier: Apache-2.0
"""What make_model.py writes opens and runs. Exit status 77 where numpy is missing."""
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import unittest

try:
    import numpy  # noqa: F401
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

import make_model

HERE = os.path.dirname(os.path.abspath(__file__))
CLI = os.environ["KVSCOPE_CLI"]
SMALL = ["--vocab", "96", "--hidden", "32", "--intermediate", "48", "--layers", "2", "--heads", "4", "--kv-heads", "2", "--head-dim", "8"]


class MakesModels(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def make(self, shape, *arguments, name="model"):
        out = os.path.join(self.folder, name)
        done = subprocess.run([sys.executable, "-B", os.path.join(HERE, "make_model.py"), shape, "--out", out, *SMALL, *arguments], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return out

    def tokenizer(self):
        path = os.path.join(self.folder, "letters.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"model": {"type": "BPE", "vocab": {letter: i for i, letter in enumerate("abcdefgh")}, "merges": []}, "pre_tokenizer": {"type": "ByteLevel",
                       "add_prefix_space": False, "trim_offsets": True, "use_regex": True}, "decoder": {"type": "ByteLevel"}}, file)
        return path

    def last_step(self, model, *arguments):
        """Of every run, after 40 tokens and 2 more."""
        trace = os.path.join(self.folder, "trace.json")
        self.cli("trace", "--model", model, "--prompt-ids", ",".join(map(str, range(40))), "--generate", "2", "--detail", "why", "--out", trace, *arguments)
        with open(trace, encoding="utf-8") as file:
            return [lane["steps"][-1] for lane in json.load(file)["lanes"]]

    def cli(self, *arguments):
        done = subprocess.run([CLI, *arguments], capture_output=True, text=True, timeout=120)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.args)
        return done.stdout

    def test_every_shape_opens_as_its_family_and_runs(self):
        for shape, config in make_model.SHAPES.items():
            with self.subTest(shape):
                model = self.make(shape, name=shape)
                info = json.loads(self.cli("info", "--json", "--model", model))["model"]
                self.assertEqual((info["arch"], info["n_layers"], info["n_kv_heads"]), (config["model_type"], 2, 2))
                # a view of attention that is even, or on one token alone, shows nothing
                for head in self.last_step(model, "--lane", "local:slots=20")[0]["heads"]:
                    self.assertGreater(max(head["attention"]), 3 / 42, (head["layer"], head["kv_head"]))
                    self.assertLess(max(head["attention"]), 0.9, (head["layer"], head["kv_head"]))

    def test_what_is_asked_for_is_in_the_config_and_a_tokenizer_is_copied(self):
        model = self.make("smollm2-360m", "--layers", "3", "--positions", "64", "--tokenizer", self.tokenizer())
        info = json.loads(self.cli("info", "--json", "--model", model))["model"]
        self.assertEqual((info["n_layers"], info["max_positions"], info["vocab_size"]), (3, 64, 96))
        self.assertEqual(json.loads(self.cli("tokens", "--json", "--model", model, "--text", "abba"))["tokens"][0]["piece"], "a")

    def test_the_same_seed_writes_the_same_bytes(self):
        def digest(seed, name):
            with open(os.path.join(self.make("smollm2-360m", "--seed", seed, name=name), "model.safetensors"), "rb") as file:
                return hashlib.sha256(file.read()).hexdigest()

        self.assertEqual(digest("7", "a"), digest("7", "b"))
        self.assertNotEqual(digest("7", "c"), digest("8", "d"))


if __name__ == "__main__":
    unittest.main()
