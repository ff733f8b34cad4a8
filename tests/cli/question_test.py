# SPDX-License-Identifier: Apache-2.0
"""--question: what is asked stands behind the prompt, and is the window of policies that look at a question."""
import json
import unittest

from program import CliTest

TEXT, ASKED = "The house number of Helen is 482. The sky is blue and the sea is wide.", " What is the house number of Helen?"


class Question(CliTest):
    def run_of(self, *more):
        return json.loads(self.succeeds("run", *more, "--generate", "2", "--json"))

    def test_it_is_the_window_of_a_run_that_asks_for_one_and_of_no_other(self):
        out = self.run_of("--prompt", TEXT, "--question", ASKED, "--lane", "finch:slots=24", "--lane", "snapkv:slots=24")
        whole = self.run_of("--prompt", TEXT + ASKED, "--lane", "h2o:slots=24")
        n = len(json.loads(self.succeeds("tokens", "--text", TEXT + ASKED, "--json"))["tokens"]) - len(json.loads(self.succeeds("tokens", "--text", TEXT, "--json"))["tokens"])
        self.assertGreater(n, 3)
        self.assertEqual([lane["spec"] for lane in out["lanes"]], ["full", f"finch:slots=24,window={n}", "snapkv:slots=24"])
        self.assertEqual(out["prompt_tokens"], whole["prompt_tokens"])
        self.assertEqual(out["lanes"][0]["tokens"], whole["lanes"][0]["tokens"])

    def test_a_question_without_a_text_before_it_is_refused(self):
        self.refuses(2, ["run", "--prompt-ids", "1,5,7", "--question", ASKED], "--question", "--prompt")
        self.refuses(2, ["sweep", "--prompt-ids", "1,5,7", "--question", ASKED, "--policies", "h2o", "--ratios", "0.5"], "--question", "--prompt")

    def test_a_sweep_over_a_prompt_asks_as_a_run_does(self):
        sweep = json.loads(self.succeeds("sweep", "--prompt", TEXT, "--question", ASKED, "--policies", "finch,snapkv", "--ratios", "0.6,0.8", "--generate", "2", "--json"))
        for i, item in enumerate(sweep["items"]):
            policy, ratio = [("full", 1), ("finch", 0.6), ("finch", 0.8), ("snapkv", 0.6), ("snapkv", 0.8)][i]
            lanes = self.run_of("--prompt", TEXT, "--question", ASKED, "--follow", "reference", *([] if policy == "full" else ["--lane", f"{policy}:ratio={ratio}"]))["lanes"]
            self.assertEqual((item["spec"], item["kl"], item["slots"]), (lanes[-1]["spec"], lanes[-1]["kl"], lanes[-1]["slots"]))
        self.assertRegex(sweep["items"][1]["spec"], "^finch:ratio=0.6,window=[0-9]+$")

    def test_texts_with_questions_take_no_other(self):
        runs = ["--policies", "h2o", "--ratios", "0.5", "--question", ASKED]
        self.refuses(2, ["sweep", "--texts", "any.jsonl", *runs], "--texts: every text is asked its own question", "write it into the lines of the file")
        self.refuses(2, ["sweep", "--hidden-numbers", *runs], "--hidden-numbers: every text is asked its own question")


if __name__ == "__main__":
    unittest.main()
