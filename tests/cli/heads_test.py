# SPDX-License-Identifier: Apache-2.0
"""kvscope-cli heads: scores of heads as files that lanes take."""
import json
import os
import shutil
import signal
import subprocess
import time
import unittest

from program import CLI, HERE, TINY, CliTest

KVMINI = os.path.join(HERE, "..", "..", "assets", "models", "kvmini")
FEW = ["--samples", "1", "--depths", "0.3,0.8", "--context", "120"]


class Heads(CliTest):
    def test_writes_both_files_and_a_table(self):
        text = self.succeeds("heads", *FEW, "--out-retrieval", self.path("r.json"), "--out-distant", self.path("d.json"))
        retrieval, duo = self.read_json("r.json"), self.read_json("d.json")
        self.assertEqual([len(row) for row in retrieval], [8] * 6)
        self.assertEqual([len(row) for row in duo], [4] * 6)
        self.assertIn("mean over 2 texts", text)
        for rows in (retrieval, duo):
            for x in sum(rows, []):
                self.assertTrue(0 <= x <= 1)
        self.assertGreater(max(sum(retrieval, [])), 0.3, "the model retrieves: some head looks at the hidden number")
        again = json.loads(self.succeeds("heads", *FEW, "--json", "--threads", "1"))
        self.assertEqual((again["schema"], again["texts"], again["retrieval"]), ("kvscope.heads/1", 2, retrieval))
        self.assertEqual(again["distant"], duo)
        other = json.loads(self.succeeds("heads", *FEW, "--json", "--seed", "7", "--recent", "8"))
        self.assertNotEqual(other["retrieval"], retrieval)
        self.assertGreater(sum(map(sum, other["distant"])), sum(map(sum, duo)), "fewer tokens count as recent")

    def test_the_characters_of_the_embedded_model_are_what_the_command_measures(self):
        self.succeeds("heads", "--quiet", "--out-characters", self.path("heads.json"))
        got = self.read_json("heads.json")
        with open(os.path.join(KVMINI, "heads.json"), encoding="utf-8") as f:
            shipped = json.load(f)
        self.assertEqual((got["schema"], got.keys()), ("kvscope.head_characters/1", shipped.keys()))
        for name in ("sink", "near", "previous", "induction", "retrieval", "entropy"):
            self.assertEqual([len(row) for row in got[name]], [8] * 6, name)
            for ours, theirs in zip(sum(got[name], []), sum(shipped[name], []), strict=True):
                self.assertAlmostEqual(ours, theirs, delta=1e-3 * max(1, theirs), msg=name)
                self.assertTrue(0 <= ours <= (1 if name != "entropy" else 9), name)
        self.assertGreater(max(sum(got["induction"], [])), 0.2, "some head copies")
        self.assertGreater(max(sum(got["previous"], [])), 0.2, "some head looks at the token before")

    def test_the_texts_that_were_asked_can_be_written(self):
        self.succeeds("heads", *FEW, "--quiet", "--out-texts", self.path("t.json"))
        asked = self.read_json("t.json")
        self.assertEqual((asked["schema"], asked["model"], len(asked["texts"])), ("kvscope.texts/1", "kvmini", 2))
        for text in asked["texts"]:
            whole = text["context"] + text["question"] + text["answer"]
            self.assertIn(text["answer"].strip(), text["context"], "it can be copied")
            tokens = json.loads(self.succeeds("tokens", "--text-file", self.write("whole.txt", whole), "--json"))["tokens"]
            self.assertEqual(text["prompt_ids"], [1] + [t["id"] for t in tokens])

    def test_lanes_take_the_files(self):
        self.succeeds("heads", *FEW, "--quiet", "--out-retrieval", self.path("r.json"), "--out-distant", self.path("d.json"))
        prompt = "Once upon a time there was a king who had three sons and a castle by the sea"
        text = self.succeeds("run", "--prompt", prompt, "--generate", "3", "--lane", "headkv:slots=8,scores=" + self.path("r.json"),
                             "--lane", "duo:slots=8,heads=" + self.path("d.json"))
        self.assertIn("--- headkv:slots=8", text)

    def test_the_embedded_model_has_its_own(self):
        for mode in ("prefill", "stream"):
            out = json.loads(self.succeeds("run", "--prompt", "Once upon a time there was a king " * 3, "--generate", "2", "--prompt-mode", mode, "--json",
                                           "--lane", "headkv:ratio=0.25", "--lane", "duo", "--lane", "criticalkv:base=headkv,ratio=0.5"))
            self.assertEqual([lane["policy"] for lane in out["lanes"]], ["full", "headkv", "duo", "criticalkv"])
            self.assertLess(out["lanes"][2]["slots"], out["lanes"][0]["slots"])

    def test_the_files_of_the_embedded_model_are_what_the_command_measures(self):
        out = json.loads(self.succeeds("heads", "--json"))
        for name, key in (("retrieval_heads.json", "retrieval"), ("distant_heads.json", "distant")):
            with open(os.path.join(KVMINI, name), encoding="utf-8") as f:
                for ours, theirs in zip(sum(out[key], []), sum(json.load(f), []), strict=True):
                    self.assertAlmostEqual(ours, theirs, delta=1e-4, msg=name)

    def test_a_model_without_files(self):
        folder = self.path("bare")
        prompt = "Once upon a time there was a king"  # longer than the budget, else no file is wanted
        shutil.copytree(KVMINI, folder, ignore=shutil.ignore_patterns("*_heads.json", "train"))
        self.refuses(2, ["run", "--model", folder, "--prompt", prompt, "--lane", "headkv:slots=4"], "scores: expected retrieval_heads.json in the model's folder",
                     "kvscope-cli heads")
        self.succeeds("run", "--model", folder, "--prompt", "Once upon a time", "--generate", "1", "--lane", "duo")
        self.refuses(2, ["run", "--model", folder, "--prompt", "a", "--prompt-mode", "stream", "--lane", "duo"], "expected prompt mode prefill")
        for content in ("", "[[1,2]]", "{}", "null", '[["a"]]', b"\xff\xfe", "[" * 100000):
            self.write("bare/retrieval_heads.json", content)
            self.refuses(2, ["run", "--model", folder, "--prompt", prompt, "--lane", "headkv:slots=4"], "scores: ", "retrieval_heads.json", "expected")

    def test_refuses_what_it_cannot_use(self):
        self.refuses(2, ["heads", "--depths", "0.5,2"], "expected 0..1, got '2'")
        self.refuses(2, ["heads", "--samples", "0"], "expected 1..100000, got '0'")
        self.refuses(2, ["heads", "--lane", "full"], "unexpected '--lane'")
        self.refuses(2, ["heads", "--out-distant", "/nowhere/d.json"], "--out-distant /nowhere/d.json", "does not exist")
        self.refuses(2, ["heads", "--model", TINY], "no tokenizer.json or tokenizer.model")
        self.refuses(2, ["heads", "--text", self.write("empty.txt", "no sentence")], "expected sentences of prose", "got none")
        self.refuses(1, ["heads", "--text", self.path("nowhere.txt")], "nowhere.txt")
        self.refuses(2, ["heads", "--context", "5000"], "heads: --context 5000: expected prose of so many tokens, got", "longer --text")
        self.refuses(2, ["heads", "--sinks", "99999", "--out-distant", self.path("d.json")], "expected --sinks and --recent below the", "no token would count")
        self.assertFalse(os.path.exists(self.path("d.json")))
        self.refuses(2, ["heads", "--context", "5000", "--text", self.write("long.txt", "The king went to the sea. " * 700)], "shorten it")

    def test_stops_with_ctrl_c_and_leaves_nothing(self):
        process = subprocess.Popen([CLI, "heads", "--samples", "500", "--out-distant", self.path("d.json")], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(process.kill)
        time.sleep(0.6)
        self.assertIsNone(process.poll(), "it must still be running")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
        self.assertEqual((process.returncode, out, err), (130, b"", b"kvscope-cli: stopped\n"))
        self.assertEqual(os.listdir(self.folder), [])


if __name__ == "__main__":
    unittest.main()
