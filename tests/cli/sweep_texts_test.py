# SPDX-License-Identifier: Apache-2.0
"""sweep --texts: questions about many texts, bands over them."""
import csv
import io
import json
import os
import subprocess
import unittest

from program import CLI, CliTest, cli
from sweep_store_test import items_in

RUNS = ["--policies", "local,h2o", "--ratios", "0.2,0.9", "--quiet"]
MODEL = os.path.join(os.path.dirname(__file__), "..", "..", "assets", "models", "kvmini")
LINES = ["Martin bought a horse on the market of the town. The house number of Tom is 482. It was late, and the rain fell on the roofs.",
         "The boats lay in the harbour all day long. The house number of Tom is 731. Nobody knew when the wind would turn, and so they waited.",
         "She read the letter twice before she put it away. The house number of Tom is 265. In the morning the carriage stood at the door."]
NUMBERS = ["482", "731", "265"]


def line(i, **more):
    return {"context": LINES[i], "question": "\nWhat is the house number of Tom?", "answer": [NUMBERS[i]], "answer_prefix": " The house number of Tom is", "max_new_tokens": 6, **more}


class SweepTexts(CliTest):
    def texts(self, *lines):
        return self.write("texts.jsonl", "".join(json.dumps(x) + "\n" for x in lines))

    def sweep(self, *more):
        return json.loads(self.succeeds("sweep", "--texts", self.path("texts.jsonl"), *RUNS, "--json", *more))

    def test_a_run_goes_on_by_itself_after_the_question_and_its_words_are_scored(self):
        self.texts(line(0), line(1), line(2))
        got = self.sweep()
        self.assertEqual((got["schema"], got["texts"], got["seeds"]), ("kvscope.sweep/1", 3, 1))
        self.assertEqual([(i["text"], i["spec"]) for i in got["items"][:6]], [(1, "full"), (1, "local:ratio=0.2"), (1, "local:ratio=0.9"), (1, "h2o:ratio=0.2"), (1, "h2o:ratio=0.9"), (2, "full")])
        for item in got["items"]:
            self.assertEqual(item["score"], float(NUMBERS[item["text"] - 1] in item["said"]), item)
        full = [i for i in got["items"] if i["policy"] == "full"]
        self.assertEqual([i["score"] for i in full], [1, 1, 1], [i["said"] for i in full])
        # the full cache says what a plain run says after the same words, read at once
        for i in full:
            text = line(i["text"] - 1)
            run = json.loads(self.succeeds("run", "--prompt", text["context"] + text["question"] + text["answer_prefix"], "--generate", "6", "--json"))
            self.assertTrue(run["lanes"][0]["text"].endswith(i["said"]), (run["lanes"][0]["text"], i["said"]))

    def test_bands_are_the_items_of_a_run_and_pairs_are_those_of_one_text(self):
        self.texts(line(0), line(1), line(2))
        got = self.sweep("--seeds", "2")
        self.assertEqual(len(got["items"]), 3 * 2 * 5)
        specs = [b["spec"] for b in got["bands"]]
        for band in got["bands"]:
            mine = [i for i in got["items"] if i["spec"] == band["spec"]]
            self.assertEqual(band["n"], 6)
            for key in ("kl", "nll", "score", "slots"):
                values = [i[key] for i in mine if i[key] is not None]
                self.assertEqual(band[key]["n"], len(values))
                if values:
                    self.assertAlmostEqual(band[key]["mean"], sum(values) / len(values))
                    self.assertEqual((band[key]["min"], band[key]["max"]), (min(values), max(values)))
            if band["policy"] != "h2o":
                self.assertEqual((band["better"], band["worse"], band["compared"], band["beside"]), (None, None, 0, None))
                continue
            self.assertEqual(band["beside"], f"local:ratio={band['ratio']}")
            theirs = [i for i in got["items"] if i["spec"] == band["beside"]]
            self.assertEqual([(i["text"], i["seed"]) for i in mine], [(i["text"], i["seed"]) for i in theirs])
            ahead = [a["score"] - b["score"] for a, b in zip(mine, theirs) if a["seed"] == 0]  # nothing is drawn: the other seed is the same
            self.assertEqual([i["kl"] for i in mine if i["seed"] == 0], [i["kl"] for i in mine if i["seed"] == 1])
            self.assertTrue(band["seeds_alike"])
            self.assertEqual((band["better"], band["worse"], band["compared"]), (sum(x > 0 for x in ahead), sum(x < 0 for x in ahead), 3))
        rows = list(csv.DictReader(io.StringIO(self.succeeds("sweep", "--texts", self.path("texts.jsonl"), *RUNS, "--seeds", "2"))))
        self.assertEqual([r["spec"] for r in rows], specs)
        for row, band in zip(rows, got["bands"]):
            self.assertEqual(int(row["n"]), 6)
            for key, column in (("mean", "kl"), ("min", "kl_min"), ("max", "kl_max")):
                self.assertEqual(float(row[column]), band["kl"][key])
            self.assertEqual(row["better"], "" if band["better"] is None else str(band["better"]))
        table = self.succeeds("sweep", "--texts", self.path("texts.jsonl"), *RUNS, "--seeds", "2", "--table").splitlines()
        self.assertRegex(table[0], r"^run +n +slots +KL +NLL +top-1 same ", "as run and the window name it")
        self.assertEqual(len(table), 1 + len(specs))
        band = got["bands"][-1]
        self.assertIn(f"better on {band['better']} of 3 texts (all seeds alike), worse on {band['worse']}", table[-1])

    def test_all_answers_count_and_of_a_qa_task_one_is_enough(self):
        self.texts(line(0, answer=["482", "no such words"]), line(0, answer=["no such words", "482"], task="qa_1"), line(0, answer="NO SUCH WORDS"))
        full = [i["score"] for i in self.sweep()["items"] if i["policy"] == "full"]
        self.assertEqual(full, [0.5, 1, 0])

    def test_what_became_of_the_answers_is_told_by_head_as_a_trace_tells_it(self):
        self.texts(line(0), line(1), line(2, answer=["265", "the door"]))
        got = self.sweep("--store", self.path("store"))
        table = self.succeeds("sweep", "--texts", self.path("texts.jsonl"), *RUNS, "--store", self.path("store"), "--table").splitlines()
        at = table[0].index("kept in heads")
        for band, row in zip(got["bands"], table[1:]):
            heads = band["answer_heads"]
            self.assertEqual((heads["n"], heads["layers"], heads["kv_heads"]), (3, 6, 4))
            for moment in ("after_prompt", "at_end"):
                self.assertEqual({sum(x) for x in zip(heads[moment]["kept"], heads[moment]["merged"], heads[moment]["evicted"])}, {3})
                self.assertEqual([len(x) for x in heads[moment].values()], [24] * 3)
            kept = [0] * 24
            for i in range(3):
                for h, whole in enumerate(self.whole_in_trace(i, band["spec"], ["265", "the door"] if i == 2 else [NUMBERS[i]])):
                    kept[h] += whole
            self.assertEqual(heads["after_prompt"]["kept"], kept, band["spec"])
            self.assertTrue(all(b <= a for a, b in zip(kept, heads["at_end"]["kept"])), "what went does not come back")
            self.assertAlmostEqual(float(row[at:].split("%")[0]) / 100, sum(kept) / 24 / 3, places=2)
        self.assertEqual(got["bands"][0]["answer_heads"]["at_end"]["kept"], [3] * 24)
        self.assertLess(sum(got["bands"][1]["answer_heads"]["after_prompt"]["kept"]), 3 * 24)

    def whole_in_trace(self, i, spec, answers):
        """Of every head whether all tokens of the answers have their slot after the prompt."""
        tokens = json.loads(self.succeeds("tokens", "--text", LINES[i], "--json"))["tokens"]
        trace = json.loads(self.succeeds("trace", "--prompt", LINES[i], "--detail", "slots", *([] if spec == "full" else ["--lane", spec]), "--json", "--quiet"))
        first = trace["n_prompt"] - len(tokens)  # after the start token
        wanted = set()
        for answer in answers:
            begin = LINES[i].encode().index(answer.encode())
            wanted |= {t + first for t, token in enumerate(tokens) if token["end"] > begin and token["begin"] < begin + len(answer.encode())}
        return [wanted <= {slot[0] for slot in head["slots"]} for head in trace["lanes"][-1]["steps"][0]["heads"]]

    def test_an_answer_in_no_place_or_several_says_nothing_of_heads(self):
        for answer in (["no such words"], ["the"], ["482", "the"]):
            self.texts(line(0, answer=answer))
            self.assertEqual([b["answer_heads"] for b in self.sweep()["bands"]], [None] * 5, answer)
        self.texts(line(0), line(1, answer="the"))
        self.assertEqual([b["answer_heads"]["n"] for b in self.sweep()["bands"]], [1] * 5)

    def test_texts_fill_a_store_and_a_changed_answer_is_another_item(self):
        self.texts(line(0), line(1))
        store = self.path("store")
        first = self.sweep("--store", store)
        self.assertEqual(self.sweep("--store", store), first)
        self.texts(line(1), line(0))  # other places, the same texts
        again = self.sweep("--store", store)
        self.assertEqual(len(items_in(store)), 10)
        self.assertEqual([i["said"] for i in again["items"]], [i["said"] for i in first["items"][5:] + first["items"][:5]])
        self.texts(line(0, answer=["48"]), line(1))
        self.sweep("--store", store)
        self.assertEqual(len(items_in(store)), 15)

    def test_the_slurm_script_fills_the_store(self):
        self.texts(line(0), line(1), line(2))
        script = os.path.join(os.path.dirname(__file__), "..", "..", "assets", "cluster", "sweep.slurm")
        store = self.path("store")
        environment = {**os.environ, "PATH": os.path.dirname(CLI) + ":" + os.environ["PATH"], "MODEL": MODEL, "TEXTS": self.path("texts.jsonl"), "STORE": store,
                       "POLICIES": "local,h2o", "RATIOS": "0.2,0.9", "SLURM_ARRAY_TASK_COUNT": "2"}
        said = []
        for task in ("2", "1"):
            r = subprocess.run(["bash", script], env={**environment, "SLURM_ARRAY_TASK_ID": task}, capture_output=True, text=True, timeout=120)
            self.assertEqual(r.returncode, 0, r.stderr)
            said.append((r.stdout.count("\n"), r.stderr.count("\n")))
        self.assertEqual(said, [(0, 1), (6, 0)])  # "7 of 15 items are there"; then the result
        self.assertEqual(len(items_in(store)), 15)
        r = subprocess.run(["bash", script], env={**environment, "MODEL": ""}, capture_output=True, text=True, timeout=120)
        self.assertIn("MODEL: a model folder", r.stderr)

    def test_a_bad_line_is_a_sentence_with_its_number(self):
        whole = json.dumps(line(0)) + "\n"
        bad = {"{": "JSON", "[1,2]": "an object", "3": "an object", "null": "an object", json.dumps({**line(0), "context": 5}): "context", json.dumps({**line(0), "context": ""}): "context",
               json.dumps({**line(0), "answer": []}): "answer", json.dumps({**line(0), "answer": [""]}): "answer", json.dumps({**line(0), "answer": " "}): "not blank", json.dumps({**line(0), "answer": {"a": 1}}): "answer",
               json.dumps({**line(0), "answer": [1]}): "answer", json.dumps({**line(0), "max_new_tokens": -1}): "max_new_tokens", json.dumps({**line(0), "max_new_tokens": 1e30}): "max_new_tokens",
               json.dumps({k: v for k, v in line(0).items() if k != "question"}): "question", json.dumps({k: v for k, v in line(0).items() if k != "answer"}): "answer",
               "[" * 100000: "deep", json.dumps({**line(0), "x": list(range(5000))}): "values", "{\"context\": \"a\0b": "JSON"}
        for text, word in bad.items():
            self.write("texts.jsonl", whole + "\n" + text + "\n" + whole)
            r = cli("sweep", "--texts", self.path("texts.jsonl"), *RUNS)
            self.assertEqual((r.returncode, r.stdout, r.stderr.count("\n")), (1, "", 1), (text[:60], r.stderr))
            self.assertIn("texts.jsonl:3", r.stderr, text[:60])
            self.assertIn(word, r.stderr, text[:60])
        self.write("texts.jsonl", b"{\"context\": \"\xff\xfe\"}\n")
        self.refuses(1, ["sweep", "--texts", self.path("texts.jsonl"), *RUNS], "texts.jsonl:1")
        for empty in ("", "\n\n \r\n"):
            self.write("texts.jsonl", empty)
            self.refuses(2, ["sweep", "--texts", self.path("texts.jsonl"), *RUNS], "got no line")
        self.write("texts.jsonl", whole + json.dumps({**line(0), "context": "word " * 5000}) + "\n")
        self.refuses(2, ["sweep", "--texts", self.path("texts.jsonl"), *RUNS], "texts.jsonl:2", "was made for")
        self.refuses(1, ["sweep", "--texts", self.path("none"), *RUNS], "none")

    def test_a_huge_line_is_refused_before_it_is_read_into_values(self):
        with open(self.path("texts.jsonl"), "w", encoding="utf-8") as f:
            f.write('{"context": "' + "x" * (70 << 20) + '"}\n')
        self.refuses(1, ["sweep", "--texts", self.path("texts.jsonl"), *RUNS], "texts.jsonl:1", "bytes")

    def test_numbers_are_hidden_in_prose_at_depths_as_needle_hides_them(self):
        hidden = ["--context", "64", "--depths", "0,0.5,1", "--samples", "2", "--seed", "3"]
        store = self.path("store")
        got = json.loads(self.succeeds("sweep", "--hidden-numbers", *hidden, *RUNS, "--json", "--store", store))
        self.assertEqual((got["texts"], len(got["items"])), (6, 30))
        self.succeeds("needle", *hidden, "--lane", "local:ratio=0.2", "--quiet", "--out-texts", self.path("asked.json"))
        with open(self.path("asked.json"), encoding="utf-8") as f:
            asked = json.load(f)["texts"]
        full = [i for i in got["items"] if i["policy"] == "full"]
        self.assertEqual([i["score"] for i in full], [float(t["answer"].strip(" .") in i["said"]) for t, i in zip(asked, full)])
        self.assertGreater(sum(i["score"] for i in full), 3)
        name = next(n for n in os.listdir(store) if n.startswith("sweep-"))
        with open(os.path.join(store, name), encoding="utf-8") as f:
            depths = [t["depth"] for t in json.load(f)["texts"]]
        for depth, t in zip(depths, asked):
            number = t["answer"].strip(" .")
            self.assertAlmostEqual(depth, t["context"].index(number) / (len(t["context"].encode()) - len(number)), places=2)
        # the texts as a file are the same work
        self.texts(*({"context": t["context"], "question": t["question"], "answer": t["answer"].strip(" ."), "max_new_tokens": t["answer_tokens"] + 2} for t in asked))
        before = items_in(store)
        again = json.loads(self.succeeds("sweep", "--texts", self.path("texts.jsonl"), "--seed", "3", *RUNS, "--json", "--store", store))
        self.assertEqual(items_in(store), before)
        self.assertEqual(again["items"], got["items"])

    def test_words_that_do_not_go_with_texts(self):
        self.texts(line(0))
        base = ["sweep", "--texts", self.path("texts.jsonl"), *RUNS]
        for more, word in ((["--prompt", "x"], "exactly one"), (["--follow", "reference"], "--follow"), (["--special-tokens"], "--special-tokens"), (["--chat"], "--chat"), (["--out", self.path("texts.jsonl")], "is read for the result")):
            self.refuses(2, base + more, word)
        hidden = ["sweep", "--hidden-numbers", *RUNS]
        for more, word in ((["--texts", self.path("texts.jsonl")], "exactly one"), (["--chat"], "--hidden-numbers"), (["--context", "100000"], "was made for"),
                           (["--text", self.path("none.txt")], "none.txt")):
            self.assertIn(word, cli(*hidden, *more).stderr)
        self.assertIn("--hidden-numbers", cli(*base, "--depths", "0.5").stderr)
        self.refuses(2, base + ["--model", os.path.join(os.path.dirname(__file__), "..", "golden", "tiny-gqa")], "no tokenizer")


if __name__ == "__main__":
    unittest.main()
