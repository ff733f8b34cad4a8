# SPDX-License-Identifier: Apache-2.0
"""kvscope-cli models."""
import json
import os
import shutil
import subprocess
import unittest

from program import CLI, HERE, TINY, CliTest

GGUF = os.path.join(HERE, "..", "data", "gguf", "tiny.gguf")


class ModelsHere(CliTest):
    def run_models(self, *arguments):
        """With a home of its own: what this machine has is no test's."""
        known = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "HUGGINGFACE_", "OLLAMA_", "LLAMA_", "XDG_"))}
        return subprocess.run([CLI, "models", *arguments], capture_output=True, text=True, timeout=120, env={**known, "HOME": self.path("home")})

    def listed(self, *arguments):
        done = self.run_models("--json", *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        # models of a service that keeps them outside of every home
        return [m for m in json.loads(done.stdout)["models"] if m["path"].startswith(self.folder)]

    def copy(self, source, *parts):
        target = self.path(os.path.join(*parts))
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copytree(source, target) if os.path.isdir(source) else shutil.copy(source, target)
        return target

    def test_models_of_all_programs_and_of_folders_are_listed(self):
        hub = self.copy(TINY, "home", ".cache", "huggingface", "hub", "models--org--tiny", "snapshots", "abc")
        lm_studio = self.copy(GGUF, "home", ".lmstudio", "models", "someone", "repo", "tiny-F32.gguf")
        self.copy(GGUF, "home", ".cache", "llama.cpp", "cached.gguf")
        blob = self.copy(GGUF, "home", ".ollama", "models", "blobs", "sha256-" + 64 * "0")
        manifest = self.path("home/.ollama/models/manifests/registry.ollama.ai/library/tiny/latest")
        os.makedirs(os.path.dirname(manifest))
        with open(manifest, "w", encoding="utf-8") as f:
            json.dump({"layers": [{"mediaType": "application/vnd.ollama.image.model", "digest": "sha256:" + 64 * "0"}]}, f)
        mine = self.copy(TINY, "mine", "model")
        models = self.listed("--dir", self.path("mine"))
        self.assertEqual([(m["name"], m["found_in"], m["path"]) for m in models],
                         [("model", "folder", mine), ("org/tiny", "Hugging Face", hub), ("tiny:latest", "Ollama", blob),
                          ("someone/repo/tiny-F32", "LM Studio", lm_studio),
                          ("cached", "llama.cpp", self.path("home/.cache/llama.cpp/cached.gguf"))])
        for model in models:
            self.assertIsNone(model["problem"])
            self.assertTrue(model["opens"])
            self.assertEqual(json.loads(self.succeeds("info", "--json", "--model", model["path"]))["weight_bytes"], model["weight_bytes"])

    def test_memory_is_said_in_the_precision_of_the_cache_as_far_as_the_model_goes(self):
        self.copy(TINY, "mine", "model")
        model = self.listed("--dir", self.path("mine"))[0]
        half = self.listed("--dir", self.path("mine"), "--precision", "f16")[0]
        info = json.loads(self.succeeds("info", "--json", "--model", TINY))
        self.assertEqual(model["family"], "llama")
        self.assertEqual(model["max_positions"], info["model"]["max_positions"])
        self.assertEqual(model["bytes_at"]["2048"], info["weight_bytes"] + 2048 * info["kv_bytes_per_token"])
        self.assertEqual(half["bytes_at"]["2048"], info["weight_bytes"] + 1024 * info["kv_bytes_per_token"])
        self.assertIsNone(model["bytes_at"]["32768"])

    def test_the_table_has_the_paths_that_open_and_the_reasons_of_the_others(self):
        model = self.copy(TINY, "mine", "good")
        bad = self.copy(TINY, "mine", "bad")
        with open(os.path.join(bad, "config.json"), "w", encoding="utf-8") as f:
            f.write('{"model_type": "mamba"}')
        with open(self.path("mine/\x1b[2Jname.gguf"), "w", encoding="utf-8") as f:
            f.write("x")
        done = self.run_models("--dir", self.path("mine"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("\x1b", done.stdout)
        lines = done.stdout.splitlines()
        self.assertIn("  " + model, lines)
        self.assertIn("models do not open:", done.stdout)
        at = next(i for i, line in enumerate(lines) if line.startswith("  bad (folder, mamba"))
        self.assertIn("keep a state of fixed size", lines[at + 1])
        self.refuses(1, ["info", "--model", bad], lines[at + 1].strip())

    def test_nothing_found_says_where_it_looked(self):
        os.makedirs(self.path("mine"))
        done = self.run_models("--dir", self.path("mine"))
        self.assertEqual(done.returncode, 0, done.stderr)
        if not self.listed() and "Ollama" not in done.stdout:
            self.assertIn(self.path("mine"), done.stdout)
            self.assertIn("--dir DIR looks into another folder", done.stdout)

    def test_models_beside_are_listed_and_where_it_looked_is_said(self):
        model = self.copy(TINY, "work", "models", "tiny")
        done = subprocess.run([CLI, "models"], capture_output=True, text=True, timeout=120, cwd=self.path("work"),
                              env={**os.environ, "HOME": self.path("home")})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("./models", done.stdout)
        self.assertIn("  " + model, done.stdout.splitlines())
        self.assertIn("looked in " + self.path("work/models") + ", ", done.stdout)
        self.assertIn("what was opened before is in the window's list", done.stdout)

    def test_a_working_directory_that_is_no_more_is_said(self):
        gone = self.path("gone")
        os.mkdir(gone)
        r = subprocess.run(["bash", "-c", 'cd "$1" && rmdir "$1" && "$0" models --dir .', CLI, gone], capture_output=True, text=True, timeout=60)
        self.assertEqual(r.returncode, 2, r)
        self.assertIn("the working directory is no more", r.stderr)

    def test_a_folder_that_is_not_there_is_refused(self):
        self.refuses(2, ["models", "--dir", self.path("none")], "--dir: expected a folder", "not there")
        self.refuses(2, ["models", "--dir", self.write("file", "")], "--dir: expected a folder")
        self.refuses(2, ["models", "--depth", "3"], "unexpected", "--dir")


if __name__ == "__main__":
    unittest.main()
