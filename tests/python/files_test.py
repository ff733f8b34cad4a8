# SPDX-License-Identifier: Apache-2.0
"""Files of strangers: what cannot be used is refused in a sentence that says where and what, and nothing else is ever raised."""
import copy
import json
import random
import unittest

from support import InFolder

import numpy as np
import kvscope
from kvscope.arrays import read_array, write_arrays

TRACE = {"schema": "kvscope.trace/1", "model": {"name": "m", "arch": "llama", "n_layers": 1, "n_heads": 2, "n_kv_heads": 2, "head_dim": 4, "vocab_size": 9},
         "device": "cpu", "precision": "f32", "prompt_mode": "prefill", "follow": "reference", "seed": 0, "tokens": [1, 3, 7], "n_prompt": 2,
         "token_texts": [{"special": "<s>"}, "a", {"hex": "c3"}],
         "lanes": [{"spec": "h2o:slots=1", "policy": "h2o", "params": {"slots": 1}, "steps": [
             {"step": 0, "position": 1, "next_token": 7, "nll": 2.5, "kl": 0.5, "top1_same": True, "heads": [
                 {"layer": 0, "kv_head": 0, "budget": 1, "slots": [[1, 2, 0.25]], "events": [{"kind": "merge", "pos": 0, "into": 1}], "attention_loss": None},
                 {"layer": 0, "kv_head": 1, "budget": 1, "slots": [[0, 1, None]], "events": [{"kind": "spread", "pos": 1, "into": [0]}, {"kind": "evict", "pos": 1}],
                  "attended": [0, 1], "attention": [0.75, 0.25]}]}]}]}
KEPT = {"schema": "kvscope.kept/1", "model": {"name": "m", "n_layers": 1, "n_kv_heads": 2}, "n_prompt": 3,
        "tokens": [{"id": 1, "text": {"special": "<s>"}}, {"id": 300, "text": "The"}, 17, 5],
        "runs": [{"name": "my method", "ratio": 0.5, "steps": [
            {"step": 0, "kept": [[[2, 0], [1]]], "scores": [[[0.9, None], [3]]], "attention": [[[0.5, 0.25], [0.125]]], "top": [[5, 0.75]]},
            {"step": 1, "kept": [[[0, 2, 3], [1, 3]]], "merged": [[[], [[2, 3]]]]}]}]}


def changed(whole, way, value):
    """A copy in which what the way leads to is another value."""
    out = at = copy.deepcopy(whole)
    for key in way[:-1]:
        at = at[key]
    at[way[-1]] = value
    return out


class Files(InFolder):
    def read(self, content, name="x.json"):
        return kvscope.read(self.write(name, content if isinstance(content, (str, bytes)) else json.dumps(content)))

    def refuses(self, content, *words):
        with self.assertRaises(kvscope.Error) as caught:
            self.read(content)
        for word in ("x.json", *words):
            self.assertIn(word, str(caught.exception))

    def test_a_trace_by_hand(self):
        r = self.read(TRACE)
        self.assertEqual(r.tokens, ["<s>", "a", b"\xc3"])
        events = r.events()
        self.assertEqual(list(zip(events["kind"], events["pos"], events["into"])), [("merge", 0, 1), ("spread", 1, 0), ("evict", 1, -1)])
        slots = r.slots()
        np.testing.assert_array_equal(slots["score"], [0.25, np.nan])
        np.testing.assert_array_equal(slots["attention"], [np.nan, 0.75], "not told is not 0")
        self.assertTrue(np.isnan(r.heads()["attention_loss"]).all())
        np.testing.assert_array_equal(r.kept("h2o:slots=1", 0), [[[False, True, False], [True, False, False]]])
        bare = {k: v for k, v in TRACE.items() if k != "token_texts"}
        self.assertEqual(self.read(bare).tokens, ["<1>", "<3>", "<7>"])

    def test_a_kept_file_by_hand(self):
        k = self.read(KEPT)
        np.testing.assert_array_equal(k.kept("my method", 0), [[[1, 0, 1, 0], [0, 1, 0, 0]]])
        step = k.runs[0].steps[0]
        np.testing.assert_array_equal(step.scores, [[[np.nan, np.nan, 0.9], [np.nan, 3, np.nan]]], "in the order of the file's positions")
        np.testing.assert_array_equal(step.attention, [[[0.25, np.nan, 0.5], [np.nan, 0.125, np.nan]]])
        self.assertEqual(k.heads()["attention"].tolist()[:2], [0.75, 0.125])
        self.assertTrue(np.isnan(k.heads()["attention"][2:]).all())
        self.assertEqual((k.texts, k.tokens), (["<s>", "The", None, None], [1, 300, 17, 5]))
        self.assertEqual(k.steps()["top1"].tolist()[0], 5)
        self.assertEqual(len(k.slots()), 8)
        for arrays in (False, True):
            k.write(self.path("again.json"), arrays)
            again = kvscope.read(self.path("again.json"))
            np.testing.assert_array_equal(again.slots()["score"], k.slots()["score"])
            np.testing.assert_array_equal(again.slots()["pos"], k.slots()["pos"])
            np.testing.assert_array_equal(again.slots()["attention"], k.slots()["attention"])
            self.assertEqual((again.runs[0].steps[1].merged, again.runs[0].steps[0].top, again.runs[0].ratio), ([[[], [[2, 3]]]], [(5, 0.75)], 0.5))

    def test_where_keys_stand_is_kept(self):
        content = json.loads(json.dumps(KEPT))
        self.assertEqual(self.read(content).runs[0].positions, "original")
        content["runs"][0]["positions"] = "cache"
        k = self.read(content)
        k.write(self.path("again.json"))
        self.assertEqual((k.runs[0].positions, kvscope.read(self.path("again.json")).runs[0].positions), ("cache", "cache"))
        content["runs"][0]["positions"] = "text"
        with self.assertRaisesRegex(kvscope.Error, "positions"):
            self.read(content)

    def test_steps_that_are_not_there_lose_nothing(self):
        k = kvscope.Kept([1, 2, 3, 4, 5], n_layers=1, n_kv_heads=1, n_prompt=2)
        k.run("a").step(1, [[[0, 2]]])
        self.assertEqual([k.kept("a", step).sum() for step in range(4)], [2, 2, 3, 4])
        with self.assertRaisesRegex(kvscope.Error, "steps: 0 to 3"):
            k.kept("a", 4)

    def test_what_is_no_such_file(self):
        with self.assertRaisesRegex(kvscope.Error, "nothing.json: expected a file that can be read, got: No such file"):
            kvscope.read(self.path("nothing.json"))
        with self.assertRaisesRegex(kvscope.Error, "Is a directory"):
            kvscope.read(self.path("."))
        for content, words in (("", "expected JSON"), ("[]", "expected a trace"), ("{}", "no schema"), ('{"schema":"kvscope.trace/2"}', "kvscope.trace/2"),
                               ('{"schema":7}', "no schema"), ('{"kvscope":"scenes"}', "'scenes'"), (b"\x80\x02}q", "expected UTF-8, got the byte 0x80 at byte 0"),
                               (json.dumps(TRACE)[:-40], "or not all of it"), ("[" * 100000, "levels deep"), ('{"schema": NaN}', "got NaN"),
                               ('{"schema": "kvscope.trace/1", "seed": 1' + "0" * 5000 + "}", "expected JSON"), (b"\xef\xbb\xbf{}", "expected JSON")):
            self.refuses(content, words)

    def test_numbers_that_are_none(self):
        for word in ("NaN", "Infinity", "-Infinity"):
            self.refuses(json.dumps(TRACE).replace("2.5", word), f"got {word}")
        self.refuses(json.dumps(TRACE).replace("2.5", "1e999"), "lanes[0].steps[0].nll", "finite")
        self.refuses(json.dumps(KEPT).replace("0.9", "1e999"), "runs[0].steps[0].scores[0][0][0]", "finite")

    def test_traces_whose_parts_do_not_fit(self):
        head = ("lanes", 0, "steps", 0, "heads", 0)
        for way, value, words in (
                (("model",), None, "model: expected an object"), (("model", "n_layers"), 10**9, "model.n_layers: expected a whole number in 1..4096, got 1000000000"),
                (("model", "n_kv_heads"), 3, "none or all 3 heads"), (("model", "n_layers"), 1.0, "n_layers"), (("model", "n_layers"), True, "got true"),
                (("tokens",), "abc", "tokens: expected a list"), (("tokens", 1), -1, "tokens[1]"), (("n_prompt",), 4, "0..3"), (("token_texts",), [], "one text for each"),
                (("token_texts", 2), {"hex": "zz"}, "token_texts[2].hex"), (("token_texts", 2), 5, "token_texts[2]"), (("lanes",), {}, "lanes: expected a list"),
                (("lanes", 0, "spec"), None, "lanes[0].spec: expected a text, got null"), (("lanes", 0, "steps", 0, "step"), 1, "steps[0].step"),
                (("lanes", 0, "steps", 0, "position"), 3, "position"), (("lanes", 0, "steps", 0, "top1_same"), "yes", "top1_same"),
                ((*head, "layer"), 1, "heads[0].layer"), ((*head, "slots"), [[2, 1, 0]], "slots[0][0]: expected a whole number in 0..1, got 2"),
                ((*head, "slots"), [[1, 1, 0], [0, 1, 0]], "slots[1][0]"), ((*head, "slots"), [[1]], "[pos, votes, score]"), ((*head, "slots"), None, "slots"),
                ((*head, "slots", 0, 2), "x", "slots[0][2]"), ((*head, "events", 0, "into"), 9, "into"), ((*head, "events", 0, "pos"), None, "pos"),
                ((*head, "budget"), -1, "budget"), ((*head[:-1], 1, "attention"), [0.5], "each of 2 attended")):
            self.refuses(changed(TRACE, way, value), words)

    def test_kept_files_whose_parts_do_not_fit(self):
        step = ("runs", 0, "steps", 0)
        for way, value, words in (
                (("model", "n_layers"), 4097, "n_layers"), (("model", "n_layers"), 2, "a list for each of 2 layers"), (("model", "n_kv_heads"), 1, "a list for each of 1 KV heads"),
                (("tokens",), [], "at least one token"), (("tokens", 2), -1, "tokens[2]"), (("tokens", 0), {}, "'id'"), (("n_prompt",), 4, "n_prompt"),
                (("tokens",), [1], "the tokens of all steps"), (("runs",), [], "at least one run"), (("runs", 0, "steps"), [], "at least one step"),
                (("runs", 0, "ratio"), 25, "a ratio in 0..1"), (("runs", 0, "name"), 3, "name"), ((*step, "step"), -1, "steps[0].step"), ((*step, "step"), 1, "steps[1].step"),
                ((*step, "kept", 0, 0), [3], "kept[0][0][0]: expected a whole number in 0..2, got 3"), ((*step, "kept", 0, 0), [1, 1], "each position once"),
                ((*step, "kept", 0, 0), "all", "kept[0][0]"), ((*step, "scores", 0, 0), [1], "a number for each of 2"), ((*step, "top", 0), [5], "top"),
                ((*step, "kept"), {"file": "../x.safetensors", "tensor": "a"}, "in the same folder"), ((*step, "kept"), {"file": "x.json", "tensor": "a"}, "is this a safetensors file"),
                (("tokens",), [1] * (2**20 + 1), "a list of at most 1048576")):
            with self.subTest(way=way):
                self.refuses(changed(KEPT, way, value), words)
        two = changed(KEPT, ("runs",), KEPT["runs"] * 2)
        self.refuses(two, "a name of its own")

    def test_a_small_file_does_not_become_a_large_one(self):
        steps = [{"step": i, "kept": [[[]]]} for i in range(5000)]
        self.refuses({**KEPT, "model": {"name": "m", "n_layers": 1, "n_kv_heads": 1}, "n_prompt": 1, "tokens": [1] * 300000, "runs": [{"name": "a", "steps": steps}]},
                     "write fewer steps")

    def test_arrays_of_strangers(self):
        mask = np.ones((1, 2, 3), dtype=bool)
        write_arrays(self.path("a.safetensors"), {"mask": mask, "wide": np.ones((1, 2, 9), dtype=bool), "flat": np.ones(6, dtype=np.float32)})
        np.testing.assert_array_equal(read_array(self.path("a.safetensors"), "mask"), mask)
        for tensor, words in (("none", "expected a tensor 'none'"), ("flat", "float32 [6]"), ("wide", "the 3 tokens read by then")):
            with self.assertRaises(kvscope.Error) as caught:
                self.read(changed(KEPT, ("runs", 0, "steps", 0, "kept"), {"file": "a.safetensors", "tensor": tensor}))
            self.assertIn(words, str(caught.exception))
        with open(self.path("a.safetensors"), "rb") as file:
            good = file.read()

        def refused(content, words):
            self.write("b.safetensors", content)
            with self.assertRaisesRegex(kvscope.Error, words):
                read_array(self.path("b.safetensors"), "mask")
        header = {"mask": {"dtype": "U8", "shape": [1, 2, 3], "data_offsets": [0, 6]}}

        def of(change):
            text = json.dumps({"mask": {**header["mask"], **change}}).encode()
            return len(text).to_bytes(8, "little") + text + bytes(6)
        refused(b"", "header")
        refused(b"\xff" * 8, "is this a safetensors file")
        refused(good[:-45], "within the file's")
        for change, words in (({"dtype": "I64"}, "one of BOOL"), ({"shape": [2**40, 2**40]}, "data_offsets"), ({"shape": [1, -2, 3]}, "shape"), ({"shape": "x"}, "shape"),
                              ({"data_offsets": [0]}, "data_offsets"), ({"data_offsets": [3, 9]}, "within"), ({"data_offsets": [6, 0]}, "data_offsets")):
            refused(of(change), words)

    def test_damage_anywhere_is_a_sentence_or_reads(self):
        draw = random.Random(25)
        for whole in (TRACE, KEPT):
            text = json.dumps(whole).encode()
            for _ in range(400):
                broken = bytearray(text)
                for _ in range(draw.randint(1, 3)):
                    broken[draw.randrange(len(broken))] = draw.choice(b'0123456789[]{},:"-e.ntf \xff')
                try:
                    one = self.read(bytes(broken))
                    for table in (one.slots, one.heads, one.steps):
                        table()._repr_html_()
                    repr(one)
                except kvscope.Error as error:
                    self.assertIn("x.json", str(error))

    def test_what_is_to_be_written_is_checked(self):
        for words, arguments in (("tokens: expected 1 to", ([],)), ("tokens", ([-1],)), ("whole numbers", (["a"],)), ("n_layers", ([1], 0)), ("n_prompt", ([1], 1, 1, 2))):
            with self.assertRaisesRegex(kvscope.Error, words):
                kvscope.Kept(arguments[0], **dict(zip(("n_layers", "n_kv_heads", "n_prompt"), (*arguments[1:], *(1, 1, None)[len(arguments) - 1:]))))
        with self.assertRaisesRegex(kvscope.Error, "texts: expected 1"):
            kvscope.Kept([1], n_layers=1, n_kv_heads=1, texts=["a", "b"])
        file = kvscope.Kept([1, 2, 3], n_layers=1, n_kv_heads=2)
        run = file.run("a")
        mask = np.ones((1, 2, 3), dtype=bool)
        for kept, words in ((np.ones((1, 1, 3), dtype=bool), r"expected bool \[1, 2, tokens\]"), ([[[3], []]], "positions below 3, got 3..3"), ([[[0]]], "1 layers of 2"),
                            ([[["a"], []]], "a list of positions"), ([[[0, 0], []]], "each position once"), (mask.astype(int), "got int"), ("all", "1 layers"),
                            (np.ones((1, 2, 4), dtype=bool), r"layer 0, KV head 0: expected positions below 3, the tokens read by step 0, got 3")):
            with self.assertRaisesRegex(kvscope.Error, words):
                run.step(0, kept)
        with self.assertRaisesRegex(kvscope.Error, "at least one step"):
            file.write(self.path("k.json"))
        with self.assertRaisesRegex(kvscope.Error, "the shape of the mask"):
            run.step(0, mask, np.ones((1, 2)))
        with self.assertRaisesRegex(kvscope.Error, "scores: expected numbers"):
            run.step(0, mask, [["x"]])
        run.step(0, mask, np.full((1, 2, 3), np.inf))
        self.assertTrue(np.isnan(run.steps[0].scores).all(), "infinite is no score")
        with self.assertRaisesRegex(kvscope.Error, "more than 0"):
            run.step(0, [[[0], []]])
        for name, ratio, words in (("a", None, "another name"), ("b", 25, "0 to 1"), ("x" * 5000, None, "4096 bytes"), (5, None, "expected a name")):
            with self.assertRaisesRegex(kvscope.Error, words):
                file.run(name, ratio)
        with self.assertRaisesRegex(kvscope.Error, "positions: expected one of original, cache, ceiling, got 'text'"):
            file.run("b", positions="text")
        run.step(2, [[[0], [1]]])
        with self.assertRaisesRegex(kvscope.Error, "the tokens of all steps, 5, got 3"):
            file.write(self.path("k.json"))
        with self.assertRaisesRegex(kvscope.Error, "expected a file that can be written"):
            other = kvscope.Kept([1], n_layers=1, n_kv_heads=1)
            other.run("a").step(0, [[[0]]])
            other.write(self.path("no/k.json"))
        bad = kvscope.Kept([1], n_layers=1, n_kv_heads=1, texts=["\ud800"])
        bad.run("a").step(0, [[[0]]])
        with self.assertRaisesRegex(kvscope.Error, "surrogate"):
            bad.write(self.path("k.json"))


if __name__ == "__main__":
    unittest.main()
