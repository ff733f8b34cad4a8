# SPDX-License-Identifier: Apache-2.0
"""kvscope-cli tokens, and prompts with special tokens."""
import json
import os
import shutil
import subprocess
import unittest

from program import CLI, HERE, TINY, CliTest, counts_memory, limits_addresses

VOCABULARIES = os.path.join(HERE, "..", "tokenizer", "data")


class Tokens(CliTest):
    def vocabulary(self, name):
        shutil.copy(os.path.join(VOCABULARIES, name + ".json"), self.path("tokenizer.json"))
        return self.folder

    def tokens(self, *arguments):
        return json.loads(self.succeeds("tokens", "--model", self.folder, "--json", *arguments))

    def test_ids_pieces_and_bytes_of_the_text(self):
        self.vocabulary("byte_words")
        with open(os.path.join(VOCABULARIES, "byte_words.cases.json"), encoding="utf-8") as f:
            case = next(c for c in json.load(f) if c["text"] == "I'M don't we'LL 'twas")
        result = self.tokens("--text-file", self.write("text.txt", case["text"]))
        self.assertEqual([t["id"] for t in result["tokens"]], case["ids"])
        self.assertEqual("".join(case["text"][t["begin"]:t["end"]] for t in result["tokens"]), case["text"])
        self.assertEqual((result["first_id"], result["bytes"]), (0, len(case["text"])))

    def test_a_text_is_named_as_other_commands_name_it(self):
        self.vocabulary("byte_words")
        expected = self.tokens("--text", "don't")
        self.assertEqual(self.tokens("--prompt", "don't"), expected)
        for option in ("--prompt-file", "--text-file"):
            self.assertEqual(self.tokens(option, self.write("text.txt", "don't")), expected)
        listed = self.succeeds("tokens", "--help")
        self.assertLess(listed.index("--prompt-file"), listed.index("--text-file"))

    def test_names_of_special_tokens_are_text_unless_asked(self):
        self.vocabulary("byte_words")
        self.assertNotIn(1, [t["id"] for t in self.tokens("--text", "<|end|>")["tokens"]])
        self.assertEqual(self.tokens("--text", "<|end|>", "--special-tokens")["tokens"],
                         [{"id": 1, "piece": "<|end|>", "begin": 0, "end": 7, "special": True}])

    def test_chat_is_written_by_the_models_template(self):
        self.vocabulary("byte_words")
        self.refuses(2, ["tokens", "--model", self.folder, "--chat", "--text", "Hi"], "has no chat template")
        self.write("chat_template.jinja", "{% for m in messages %}{{ m.role }}:{{ m.content }}<|end|>{% endfor %}")
        result = self.tokens("--chat", "--system", "S", "--text", "Hi")
        self.assertEqual(result["bytes"], len("system:S<|end|>user:Hi<|end|>"))
        self.assertEqual([t["id"] for t in result["tokens"]].count(1), 2)
        self.assertIsNone(result["first_id"], "a run puts nothing before it")
        self.assertEqual(self.tokens("--text", "Hi")["first_id"], 0)
        self.assertNotIn("begins with", self.succeeds("tokens", "--model", self.folder, "--chat", "--text", "Hi"))

    def test_names_that_a_user_types_are_text_unless_asked(self):
        self.vocabulary("byte_words")
        self.write("chat_template.jinja", "{% for m in messages %}{{ m.role }}:{{ m.content }}<|end|>{% endfor %}")
        typed = ("--chat", "--system", "S<|end|>", "--text", "a<|end|>b")
        result = self.tokens(*typed)
        ends = [t["begin"] for t in result["tokens"] if t["id"] == 1]
        self.assertEqual(ends, [len("system:S<|end|>"), len("system:S<|end|><|end|>user:a<|end|>b")])
        self.assertEqual(sum(t["end"] - t["begin"] for t in result["tokens"]), result["bytes"])
        self.assertEqual([t["id"] for t in self.tokens(*typed, "--special-tokens")["tokens"]].count(1), 4)

    def test_what_else_a_template_asks_for_is_an_argument(self):
        self.vocabulary("byte_words")
        self.write("chat_template.jinja", "{{ messages[-1].content }}<|end|>{% if enable_thinking is defined and enable_thinking is false %}no"
                                          "{% endif %}{{ words|default('') }}{{ n|default(0) + 1 }}")
        text = lambda *more: self.tokens("--chat", "--text", "<|end|>", *more)["bytes"]
        self.assertEqual(text(), len("<|end|><|end|>1"))
        self.assertEqual(text("--chat-arg", "enable_thinking=false", "--chat-arg", "n=99"), len("<|end|><|end|>no100"))
        self.assertEqual(text("--chat-arg", "words=a=b c"), len("<|end|><|end|>a=b c1"))
        given = self.tokens("--chat", "--text", "<|end|>", "--chat-arg", "enable_thinking=false")
        self.assertEqual([t["begin"] for t in given["tokens"] if t["id"] == 1], [7], "the typed name is text with arguments, too")
        bad = ["tokens", "--model", self.folder, "--chat", "--text", "Hi", "--chat-arg"]
        self.refuses(2, bad + ["thinking"], "--chat-arg: expected NAME=VALUE")
        self.refuses(2, bad + ["messages=[]"], "--chat-arg: messages is what the prompt and the model say")
        self.refuses(2, ["tokens", "--model", self.folder, "--text", "Hi", "--chat-arg", "a=1"], "--chat")

    def test_a_text_larger_than_a_prompt_is_refused_by_its_size(self):
        self.vocabulary("byte_words")
        path = self.path("large.txt")
        with open(path, "wb") as f:
            f.truncate((16 << 20) + 1)
        self.refuses(1, ["tokens", "--model", self.folder, "--text-file", path], f"{path}: expected at most 16777216 bytes, got 16777217")

    def test_a_text_that_is_encoded_as_a_whole_has_a_lower_limit(self):
        path = self.path("large.txt")
        with open(path, "w", encoding="utf-8") as f:
            f.write("a cat " * ((4 << 20) // 6 + 1))
        self.refuses(1, ["tokens", "--text-file", path], "expected at most 4194304 bytes, got 4194306: ", "sentencepiece, which takes a text as a whole")
        self.vocabulary("byte_words")
        self.assertIn("4194306 bytes", self.succeeds("tokens", "--model", self.folder, "--text-file", path))

    @counts_memory
    def test_a_long_text_takes_memory_by_its_tokens_only(self):
        text = "The cat sat on the mat; the dog sat on the log.\n" * 20000
        path = self.write("long.txt", text)
        small = self.write("short.txt", text[:480])
        for arguments in ([], ["--json"]):
            used = []
            for name in (small, path):
                child = subprocess.Popen([CLI, "tokens", "--text-file", name, *arguments], stdout=subprocess.DEVNULL)
                used.append(os.wait4(child.pid, 0)[2].ru_maxrss / 1024)
                child.returncode = 0
            self.assertLess(used[1] - used[0], 120, f"MiB for {len(text)} bytes {arguments}")

    def test_a_result_in_pieces_is_one_document(self):
        text = "caf\u00e9 \u0001 <0x0A>\n" * 9000
        document = self.succeeds("tokens", "--json", "--text-file", self.write("text.txt", text))
        self.assertGreater(len(document), 3 << 20)
        self.assertEqual(json.dumps(json.loads(document), indent=1, ensure_ascii=False, separators=(",", ": ")) + "\n", document)
        self.assertEqual(json.loads(document)["tokens"][-1]["end"], len(text.encode()))

    @limits_addresses  # of the process that writes it
    def test_a_template_that_never_ends_is_a_sentence(self):
        self.vocabulary("byte_words")
        doubled = "{% set ns = namespace(x='aaaaaaaaaaaaaaaa') %}{% for i in range(40) %}{% set ns.x = ns.x + ns.x %}{% endfor %}{{ ns.x }}"
        ranges = "{% for i in range(1000000000) %}{% for j in range(1000000000) %}x{% endfor %}{% endfor %}"
        for template in (doubled, ranges):
            self.write("chat_template.jinja", template)
            self.refuses(1, ["tokens", "--model", self.folder, "--chat", "--text", "Hi"], "the chat template cannot write this conversation: it ")

    def test_a_run_reads_what_the_template_writes(self):
        model = os.path.join(HERE, "..", "data", "gguf", "tiny.gguf")
        chat = json.loads(self.succeeds("tokens", "--model", model, "--json", "--chat", "--text", "hi"))
        ids = [t["id"] for t in chat["tokens"]]
        run = ("run", "--model", model, "--generate", "4", "--lane", "h2o:slots=6", "--json")
        text = self.write("prompt.txt", "<|begin|>user: hi<|end|>")
        given = json.loads(self.succeeds(*run, "--prompt-ids", ",".join(map(str, ids))))
        for same in (("--chat", "--prompt", "hi"), ("--special-tokens", "--no-start-token", "--prompt-file", text)):
            got = json.loads(self.succeeds(*run, *same))
            self.assertEqual([r["tokens"] for r in got["lanes"]], [r["tokens"] for r in given["lanes"]])
            self.assertEqual([r["kl"] for r in got["lanes"]], [r["kl"] for r in given["lanes"]])
        typed = json.loads(self.succeeds("tokens", "--model", model, "--json", "--chat", "--text", "hi<|end|>"))
        given = json.loads(self.succeeds(*run, "--prompt-ids", ",".join(str(t["id"]) for t in typed["tokens"])))
        got = json.loads(self.succeeds(*run, "--chat", "--prompt", "hi<|end|>"))
        self.assertEqual([r["kl"] for r in got["lanes"]], [r["kl"] for r in given["lanes"]])

    def test_needs_one_text_and_a_tokenizer(self):
        self.refuses(2, ["tokens"], "expected exactly one of --prompt, --prompt-file, got none")
        self.refuses(2, ["tokens", "--model", TINY, "--text", "x"], "no tokenizer.json or tokenizer.model")


if __name__ == "__main__":
    unittest.main()
