# SPDX-License-Identifier: Apache-2.0
"""sweep, needle and ppl: figures over many runs, held against single runs."""
import csv
import io
import json
import math
import os
import re
import shlex
import subprocess
import unittest

from program import CLI, CliTest, cli

ASSETS = os.path.join(os.path.dirname(__file__), "..", "..", "assets")
PROMPT = os.path.join(ASSETS, "prompts", "needle.txt")
COLUMNS = "policy,spec,ratio,slots,kl,nll,top1_same,local_rel_l2,local_l1_wo,attention_loss,bytes,tokens_per_s,kv_bytes".split(",")


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


class Sweep(CliTest):
    def test_one_row_per_policy_and_ratio_with_the_figures_of_single_runs(self):
        text = self.succeeds("sweep", "--prompt-file", PROMPT, "--generate", "8", "--policies", "h2o,keepkv:threshold=0.7,form=zip,local", "--ratios", "0.1,0.4")
        self.assertEqual(text.splitlines()[0].split(","), COLUMNS)
        rows = rows_of(text)
        self.assertEqual([r["spec"] for r in rows], ["full", "h2o:ratio=0.1", "h2o:ratio=0.4", "keepkv:threshold=0.7,form=zip,ratio=0.1",
                                                     "keepkv:threshold=0.7,form=zip,ratio=0.4", "local:ratio=0.1", "local:ratio=0.4"])
        self.assertEqual([r["ratio"] for r in rows], ["1", "0.1", "0.4"] + ["0.1", "0.4"] * 2)
        lanes = [x for r in rows[1:] for x in ("--lane", r["spec"])]
        together = json.loads(self.succeeds("run", "--prompt-file", PROMPT, "--generate", "8", "--follow", "reference", "--json", *lanes))["lanes"]
        for row, lane in zip(rows, together):
            self.assertEqual(row["policy"], lane["policy"])
            for key in ("kl", "nll", "top1_same", "bytes", "kv_bytes", "slots"):
                self.assertAlmostEqual(float(row[key]), lane[key], delta=1e-6 * max(1, abs(lane[key])), msg=row["spec"] + " " + key)
            self.assertGreater(float(row["tokens_per_s"]), 0)
        self.assertEqual(float(rows[0]["local_rel_l2"]), 0)
        self.assertGreater(float(rows[1]["local_rel_l2"]), float(rows[2]["local_rel_l2"]))

    def test_budgets_of_bytes_are_the_axis_of_what_evicts_and_of_what_stores_in_less(self):
        text = self.succeeds("sweep", "--prompt-file", PROMPT, "--generate", "4", "--policies", "snapkv,kvzip,kivi,turboquant:bits=3", "--bytes", "0.35,0.6")
        rows = rows_of(text)
        self.assertEqual([r["spec"] for r in rows[1:]], [f"{p}bytes={b}" for p in ("snapkv:", "kvzip:", "kivi:", "turboquant:bits=3,") for b in ("0.35", "0.6")])
        whole = float(rows[0]["kv_bytes"])
        for row in rows[1:]:
            share = float(row["kv_bytes"]) / whole                     # what came after the prompt is in both, in full
            self.assertLess(share, float(row["ratio"]) + 0.08, msg=row["spec"])
            self.assertGreater(share, float(row["ratio"]) - 0.16, msg=row["spec"])
        self.refuses(2, ["sweep", "--prompt-file", PROMPT, "--policies", "snapkv,kivi", "--ratios", "0.4"], "--ratios", "kivi", "--bytes alone")
        self.refuses(2, ["sweep", "--prompt-file", PROMPT, "--policies", "quest", "--bytes", "0.4"], "--bytes", "quest", "takes none")
        self.refuses(2, ["sweep", "--prompt-file", PROMPT, "--policies", "h2o", "--bytes", "0.4", "--ratios", "0.2"], "--ratios")
        self.refuses(2, ["sweep", "--prompt-file", PROMPT, "--policies", "kivi", "--bytes", "0.05", "--generate", "2"], "at least 0.")

    def test_it_writes_a_whole_file(self):
        out = os.path.join(self.folder, "s.csv")
        self.assertEqual(self.succeeds("sweep", "--prompt", "Once upon a time", "--policies", "local", "--ratios", "0.5", "--generate", "2", "--out", out), "")
        with open(out, encoding="utf-8") as f:
            self.assertEqual(len(rows_of(f.read())), 2)

    def test_what_is_wrong_is_said_before_the_work(self):
        base = ["sweep", "--prompt", "Once upon a time"]
        for more, words in ((["--policies", "h2o"], "got no ratios"), (["--ratios", "0.5"], "got no policies"), (["--policies", "h3o", "--ratios", "0.5"], "h3o"),
                            (["--policies", "h2o", "--ratios", "1.5"], "0..1"), (["--policies", "h2o:slots=4", "--ratios", "0.5"], "slots"),
                            (["--policies", "h2o", "--ratios", "0.5", "--out", "/no/such/x.csv"], "/no/such")):
            self.refuses(2, base + more, words)


class Needle(CliTest):
    def test_the_texts_that_were_asked_can_be_written(self):
        out = os.path.join(self.folder, "t.json")
        self.cells("--context", "64", "--depths", "0.5", "--samples", "2", "--out-texts", out)
        with open(out, encoding="utf-8") as f:
            asked = json.load(f)
        self.assertEqual((asked["schema"], [t["seed"] for t in asked["texts"]]), ("kvscope.texts/1", [0, 1]))
        for text in asked["texts"]:
            self.assertIn(text["answer"].strip(), text["context"])
            self.assertGreaterEqual(text["answer_tokens"], 3)
            run = json.loads(self.succeeds("run", "--prompt-ids", ",".join(map(str, text["prompt_ids"])), "--generate", "0", "--json"))
            self.assertEqual(run["prompt_tokens"], len(text["prompt_ids"]))

    def cells(self, *more):
        document = json.loads(self.succeeds("needle", "--json", *more))
        self.assertEqual(document["schema"], "kvscope.needle/1")
        return document["cells"]

    def test_the_full_cache_recalls_and_a_short_window_does_not(self):
        for question in ("after", "in-prompt"):
            cells = self.cells("--context", "200", "--depths", "0,0.5", "--samples", "2", "--question", question, "--lane", "local:slots=24")
            self.assertEqual([(c["policy"], c["context"], c["depth"], c["question"], c["samples"]) for c in cells],
                             [(p, 200, d, question, 2) for p in ("full", "local") for d in (0, 0.5)])
            self.assertEqual([c["recall"] for c in cells], [1, 1, 0, 0])

    def test_the_same_seed_asks_the_same(self):
        common = ("--context", "128", "--depths", "0.3", "--samples", "3", "--lane", "h2o:ratio=0.5")
        self.assertEqual(self.cells(*common), self.cells(*common))

    def test_a_prompt_as_long_as_the_model_leaves_room_for_question_and_answer(self):
        for question in ("after", "in-prompt"):
            cells = self.cells("--context", "2048", "--depths", "0.5", "--samples", "1", "--question", question)
            self.assertEqual([(c["context"], c["samples"]) for c in cells], [(2048, 1)])
        self.refuses(2, ["needle", "--context", "4096", "--depths", "0.5", "--samples", "1"], "was made for 2048 positions")

    def test_a_word_of_many_tokens_at_the_end_is_no_reason_to_refuse(self):
        """Of a prompt of 64 tokens it would leave more than 5 % free: another place of the prose is taken."""
        text = self.write("long-words.txt", " ".join(f"The king saw the sea {'-' * 40 if i % 3 == 0 else 'again'} and went home." for i in range(300)))
        for more in ([], ["--text", text]):
            cells = self.cells("--context", "64", "--depths", "0.5", "--samples", "24", *more)
            self.assertEqual([c["samples"] for c in cells], [24])

    def test_warnings_of_its_runs_are_told(self):
        runs = ["--lane", "h2o:slots=0", "--lane", "h2o:slots=1000", "--lane", "h2o:ratio=0.5@evict=4,step=9999"]
        words = ["budget raised from 0", "nothing was removed", "1 edit by hand changed nothing"]
        command = ["--context", "64", "--depths", "0.5", "--samples", "2", *runs]
        text, document = self.succeeds("needle", *command), json.loads(self.succeeds("needle", "--json", *command))
        for spec, word in zip(runs[1::2], words):
            self.assertRegex(text, rf"(?m)^{re.escape(spec)}: .*{word}.* 2 of 2 texts")
            self.assertRegex("\n".join(document["warnings"]), rf"(?m)^{re.escape(spec)}: .*{word}")
        command = ["--window", "128", "--stride", "64", "--tokens", "300", *runs]
        text, document = self.succeeds("ppl", *command), json.loads(self.succeeds("ppl", "--json", *command))
        for lane, spec, word in zip(document["lanes"][1:], runs[1::2], words):
            self.assertRegex(text, rf"(?m)^{re.escape(spec)}: .*{word}")
            self.assertRegex("\n".join(lane["warnings"]), word)
        self.assertEqual(document["lanes"][0]["warnings"], [])
        r = cli("sweep", "--prompt", "Once upon a time there was a king", "--policies", "h2o:recent=20", "--ratios", "0.5", "--generate", "2")
        self.assertRegex(r.stderr, r"h2o:recent=20,ratio=0.5: (budget raised|nothing was removed)")
        self.succeeds("sweep", "--quiet", "--prompt", "Once upon a time there was a king", "--policies", "h2o:recent=20", "--ratios", "0.5", "--generate", "2")

    def test_text_that_is_too_short_or_no_text_is_refused(self):
        short = os.path.join(self.folder, "short.txt")
        with open(short, "w", encoding="utf-8") as f:
            f.write("A word. Another one.")
        self.refuses(2, ["needle", "--text", short, "--context", "512", "--lane", "h2o:ratio=0.5"], "longer --text")
        self.refuses(1, ["needle", "--text", "/no/such", "--context", "64"], "/no/such")


class Ppl(CliTest):
    def test_it_is_the_mean_over_the_windows(self):
        text = os.path.join(self.folder, "t.txt")
        with open(os.path.join(ASSETS, "text", "dracula-excerpt.txt"), encoding="utf-8") as f:
            words = f.read(1500)
        with open(text, "w", encoding="utf-8") as f:
            f.write(words)
        got = json.loads(self.succeeds("ppl", "--text", text, "--window", "96", "--stride", "40", "--tokens", "200", "--precision", "f64", "--lane", "h2o:slots=20", "--json"))
        self.assertEqual(got["schema"], "kvscope.ppl/1")
        # the same windows, one run each
        whole = json.loads(self.succeeds("run", "--prompt-file", text, "--generate", "0", "--json"))
        ids = whole["lanes"][0]["tokens"][:201]  # BOS and 200
        n_prompt, sums, n = 96 - 40 - 1, {"full": 0, "h2o": 0}, 0
        for first in range(1, len(ids) - n_prompt - 40 + 1, 40):
            prompt, follow = [ids[0]] + ids[first:first + n_prompt], ids[first + n_prompt:first + n_prompt + 40]
            path = os.path.join(self.folder, "follow.json")
            with open(path, "w", encoding="utf-8") as f:
                json.dump(follow, f)
            out = os.path.join(self.folder, "trace.json")
            self.succeeds("trace", "--prompt-ids", ",".join(map(str, prompt)), "--follow", path, "--precision", "f64", "--lane", "h2o:slots=20", "--detail", "summary",
                          "--quiet", "--out", out)
            with open(out, encoding="utf-8") as f:
                for lane in json.load(f)["lanes"]:
                    sums[lane["policy"]] += sum(step["nll"] for step in lane["steps"][:40])
            n += 40
        self.assertGreaterEqual(n, 120)
        for lane in got["lanes"]:
            self.assertEqual(lane["tokens"], n)
            self.assertAlmostEqual(lane["nll"], sums[lane["policy"]] / n, places=9)
            self.assertAlmostEqual(lane["ppl"], math.exp(lane["nll"]), places=6)

    def test_bounds(self):
        self.refuses(2, ["ppl", "--window", "64", "--stride", "64"], "below the window")
        self.refuses(2, ["ppl", "--tokens", "20"], "at least one window")


class Examples(CliTest):
    def test_the_examples_of_the_help_run(self):
        for command in ("sweep", "needle", "ppl"):
            examples = [x.strip() for x in self.succeeds(command, "--help").splitlines() if x.strip().startswith("kvscope-cli " + command) and "FILE" not in x]
            quick = [x for x in examples if ".txt" not in x and ".jsonl" not in x and "20" not in x]
            self.assertGreaterEqual(len(quick), 1, command)
            for example in quick:
                r = subprocess.run([CLI] + shlex.split(example)[1:], capture_output=True, text=True, cwd=self.folder)
                said = [x for x in r.stderr.splitlines() if "budget raised from" not in x]  # of a prompt of some ten tokens
                self.assertEqual((r.returncode, said), (0, []), example)


if __name__ == "__main__":
    unittest.main()
