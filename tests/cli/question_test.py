# SPDX-License-Identifier: Apache-2.0
"""--question: what is asked stands behind the prompt, and is the window of policies that look at a question."""
import json
import os
import shutil
import unittest

from program import HERE, CliTest

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

    def test_what_a_template_writes_behind_it_does_not_take_its_place(self):
        model = self.path("model")
        shutil.copytree(os.path.join(HERE, "..", "..", "assets", "models", "kvmini"), model)
        with open(os.path.join(model, "chat_template.jinja"), "w", encoding="utf-8") as f:
            f.write("{% for m in messages %}Tom: {{ m.content | trim }}\n{% endfor %}Then the wise old king looked up and said: ")
        ids = lambda *text: [t["id"] for t in json.loads(self.succeeds("tokens", "--model", model, "--json", *text))["tokens"]]
        asked = ["--model", model, "--prompt", TEXT, "--question", ASKED + "\n", "--lane", "finch:slots=60"]
        spec = self.run_of(*asked, "--chat")["lanes"][1]["spec"]
        whole, before = ids("--chat", "--text", TEXT + ASKED), ids("--special-tokens", "--text", "Tom: " + TEXT)
        self.assertEqual(whole[:len(before)], before)
        self.assertEqual(spec, f"finch:slots=60,window={len(whole) - len(before)}")
        with open(os.path.join(model, "chat_template.jinja"), "w", encoding="utf-8") as f:
            f.write("{{ messages[-1].content | upper }}")
        self.refuses(2, ["run", *asked, "--chat"], "--question: expected it in what the chat template writes")

    def test_names_of_special_tokens_count_as_the_tokens_that_they_are(self):
        model = os.path.join(HERE, "..", "data", "gguf", "tiny.gguf")
        specs = {names: self.run_of("--model", model, "--prompt", "hi hi", "--question", " a<|end|>b", "--lane", "finch:slots=8", *names)["lanes"][1]["spec"]
                 for names in ((), ("--special-tokens",))}
        n = {names: len(json.loads(self.succeeds("tokens", "--model", model, "--json", "--text", " a<|end|>b", *names))["tokens"]) for names in specs}
        self.assertLess(n["--special-tokens",], n[()])
        for names, spec in specs.items():
            self.assertEqual(spec, f"finch:slots=8,window={n[names]}")

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
