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
        self.refuses(2, ["sweep", "--prompt", TEXT, "--question", ASKED, "--policies", "h2o", "--ratios", "0.5"], "--question", "--texts")


if __name__ == "__main__":
    unittest.main()
