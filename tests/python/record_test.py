# SPDX-License-Identifier: Apache-2.0
"""record(): what presses of kvpress keep in a transformers model is what kvscope keeps by the same method, and opens beside it. Needs torch, transformers < 5.3
and kvpress 0.5.5; skipped without them."""
import json
import os
import random
import subprocess
import sys
import tarfile
import unittest
import warnings

from support import KVMINI, PROMPT, ROOT, InFolder, skipped

os.environ.setdefault("HF_HUB_OFFLINE", "1")
warnings.filterwarnings("ignore")
try:
    import kvpress
    import torch
    import transformers
except ImportError as missing:
    skipped(missing)

import numpy as np
import kvscope

FAMILIES = os.path.join(ROOT, "..", "shared", "models", "families", "families.tar.xz")
TIE = 1e-5                                                             # of scores: both sides compute in float32
SHARE = 0.3
transformers.utils.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()
torch.set_num_threads(1)


def model_of(folder, attention="sdpa"):
    return transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation=attention).eval()


def ids_of(text):
    said = subprocess.run([kvscope.program(), "tokens", "--model", KVMINI, "--text", text, "--json"], capture_output=True, text=True, check=True)
    return [t["id"] for t in json.loads(said.stdout)["tokens"]]


def prompt(name):
    with open(os.path.join(ROOT, "assets", "prompts", name), encoding="utf-8") as file:
        return file.read()


def presses(n, removed):
    """(press, our run that does the same)"""
    return [(kvpress.SnapKVPress(compression_ratio=removed, window_size=16, kernel_size=1), f"snapkv:slots={n},window=16,kernel=1"),
            (kvpress.ExpectedAttentionPress(compression_ratio=removed), f"expected:slots={n}"),
            (kvpress.KnormPress(compression_ratio=removed), f"custom:stat=knorm,slots={n},cadence=once,sinks=0,recent=0"),
            (kvpress.KeyDiffPress(compression_ratio=removed), f"custom:stat=keydiff,slots={n},cadence=once,sinks=0,recent=0"),
            (kvpress.AdaKVPress(kvpress.SnapKVPress(compression_ratio=removed, window_size=16, kernel_size=1), alpha_safeguard=0),
             f"adakv:slots={n},window=16,kernel=1,alpha=0")]


class Recorded(InFolder):
    def record(self, model, press, ids, more=3, name="k.json", **options):
        with kvscope.record(model, press, self.path(name), **options) as recording:
            model.generate(torch.tensor([ids]), attention_mask=torch.ones(1, len(ids)), max_new_tokens=more, do_sample=False, eos_token_id=None, pad_token_id=0)
        return recording.kept

    def agrees(self, model, folder, ids):
        """Every press, recorded and opened beside our run of the same method."""
        n = int(len(ids) * SHARE)
        heads = exchanged = 0
        for press, ours in presses(n, 1 - (n + 0.5) / len(ids)):
            kept = self.record(model, press, ids)
            name = kept.names[0]
            both = kvscope.run(kept=self.path("k.json"), runs=[ours], model=folder)
            mine, given = both.kept(1, 0), both.kept(2, 0)
            theirs = kept.kept(name, 0)
            with self.subTest(press=name):
                np.testing.assert_array_equal(given, theirs, "what is opened is what was recorded")
                self.assertEqual(theirs[:, :, :len(ids)].sum(), n * theirs.shape[0] * theirs.shape[1])
                scores = kept.runs[0].steps[0].scores
                self.assertFalse(np.isnan(scores[theirs[:, :, :len(ids)]]).any(), "every kept token was scored")
                layers = (mine != theirs).any((1, 2))
                for layer in np.flatnonzero(layers):                   # scores of what was exchanged are alike
                    only = np.sort(scores[layer][mine[layer, :, :len(ids)] & ~theirs[layer, :, :len(ids)]])
                    other = np.sort(scores[layer][theirs[layer, :, :len(ids)] & ~mine[layer, :, :len(ids)]])
                    np.testing.assert_allclose(only, other, rtol=TIE)
                    exchanged += len(only)
                heads += theirs.shape[0] * theirs.shape[1]
                self.measures_agree(kept, both)
        self.assertLess(exchanged, heads / 10, "ties are rare")

    def measures_agree(self, kept, both):
        """Attention and next tokens, computed there, are those that kvscope computes with these tokens."""
        for step in (0, 1):
            recorded = kept.runs[0].steps[step]
            ours = np.full(recorded.attention.shape, np.nan)
            for head in both.step(2, step)["heads"]:
                ours[head["layer"], head["kv_head"], head["attended"]] = head["attention"]
            np.testing.assert_allclose(recorded.attention, ours, atol=2e-5, err_msg=f"step {step}, also what is not there")
        for (_, p), token in zip(recorded.top[:1], sorted(both.step(2, 1)["top_tokens"], key=lambda t: t["rank"])):
            self.assertAlmostEqual(p, token["p"], places=4)
            self.assertEqual(recorded.top[0][0], token["id"])

    def test_five_presses_on_the_embedded_model(self):
        self.agrees(model_of(KVMINI), KVMINI, ids_of(prompt("needle.txt")))

    @unittest.skipUnless(os.path.exists(FAMILIES), "no checkpoints of families beside this repository")
    def test_five_presses_on_a_model_of_the_shape_of_qwen3(self):
        with tarfile.open(FAMILIES) as archive:
            archive.extractall(self.path("f"), [m for m in archive if m.name.startswith("./qwen3/")], **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
        folder = os.path.join(self.path("f"), "qwen3")
        model = model_of(folder)
        self.agrees(model, folder, random.Random(3).sample(range(3, model.config.vocab_size), 180))

    def test_the_model_alone(self):
        ids = ids_of(PROMPT)
        for attention in ("sdpa", "eager"):
            kept = self.record(model_of(KVMINI, attention), None, ids)
            self.assertEqual((kept.names, kept.n_prompt, kept.tokens[:len(ids)]), (["full cache"], len(ids), ids))
            self.assertTrue(kept.kept("full cache", 2).all())
            np.testing.assert_allclose(kept.heads()["attention"], 1, atol=1e-6, err_msg=attention)
            both = kvscope.run(kept=self.path("k.json"))
            np.testing.assert_array_equal(both.figures()["kl"], [0, 0])
            self.assertEqual(kept.tokens, both.token_ids)

    def test_what_goes_later_is_seen_when_it_goes(self):
        ids = ids_of(PROMPT)
        press = kvpress.DecodingPress(kvpress.KnormPress(), compression_interval=2, target_size=20, hidden_states_buffer_size=0)
        kept = self.record(model_of(KVMINI), press, ids, more=5)
        n = len(ids)
        self.assertEqual(kept.steps()["slots"].tolist(), [n, n + 1, 20, 21, 20])
        self.assertIn("DecodingPress(KnormPress)", kept.names)
        again = kvscope.run(kept=self.path("k.json"))
        np.testing.assert_array_equal([again.kept(1, s).sum() for s in range(4)], [kept.kept(kept.names[0], s).sum() for s in range(4)])

    def test_a_press_that_decides_when_its_block_ends(self):
        ids = ids_of(prompt("needle.txt"))
        from kvpress.presses import kvzip_press
        words = type("", (), {"chat_template": None, "encode": lambda self, text, **_: torch.tensor([ids_of(text)[1:] if text else []], dtype=torch.long)})()
        saved = kvzip_press.AutoTokenizer
        self.addCleanup(setattr, kvzip_press, "AutoTokenizer", saved)
        kvzip_press.AutoTokenizer = type("", (), {"from_pretrained": staticmethod(lambda name: words)})
        model = model_of(KVMINI)
        with kvscope.record(model, kvpress.KVzipPress(compression_ratio=0.6), self.path("k.json")) as recording:
            model(input_ids=torch.tensor([ids]), past_key_values=transformers.DynamicCache())
        kept = recording.kept.kept("KVzipPress", 0)
        self.assertAlmostEqual(kept.mean(), 0.4, places=3)
        scores = recording.kept.runs[0].steps[0].scores
        self.assertGreaterEqual(scores[kept].min(), scores[~kept].max())
        self.assertEqual(kvscope.run(kept=self.path("k.json")).kept(1, 0).sum(), kept.sum())

    def test_the_pipeline_of_kvpress(self):
        ids = ids_of(PROMPT)
        model = model_of(KVMINI)
        with kvscope.record(model, kvpress.KnormPress(compression_ratio=0.5), name="mine") as recording:  # as its pipeline calls the model
            cache = transformers.DynamicCache()
            model.model(input_ids=torch.tensor([ids[:-4]]), past_key_values=cache)
            model(input_ids=torch.tensor([ids[-4:]]), past_key_values=cache, position_ids=torch.arange(len(ids) - 4, len(ids))[None], logits_to_keep=1)
        steps = recording.kept.runs[0].steps
        self.assertEqual([s.step for s in steps], [0, 4], "a question of four tokens")
        self.assertIsNone(steps[0].top, "the head of the model was not asked")
        self.assertEqual(len(steps[1].top), 5)
        self.assertEqual(steps[1].kept.sum() - steps[0].kept.sum(), 4 * 24)

    def test_merged_values_are_found_by_their_keys_and_turned_keys_by_their_values(self):
        ids = ids_of(PROMPT)

        class Merging(kvpress.KnormPress):
            def compress(self, *args, **kwargs):
                keys, values = super().compress(*args, **kwargs)
                return keys, values * 1.5
        kept = self.record(model_of(KVMINI), Merging(compression_ratio=0.5), ids)
        plain = self.record(model_of(KVMINI), kvpress.KnormPress(compression_ratio=0.5), ids)
        np.testing.assert_array_equal(kept.kept("Merging", 0), plain.kept("KnormPress", 0))
        different = list(dict.fromkeys(ids))                           # no token twice: no value twice in the lowest layer
        turned = self.record(model_of(KVMINI), kvpress.KeyRerotationPress(kvpress.KnormPress(compression_ratio=0.5)), different)
        plain = self.record(model_of(KVMINI), kvpress.KnormPress(compression_ratio=0.5), different)
        np.testing.assert_array_equal(turned.kept(turned.names[0], 0), plain.kept("KnormPress", 0))
        with self.assertRaisesRegex(kvscope.Error, "layer 0: .*some tokens have the same value.*kvscope.Kept"):
            self.record(model_of(KVMINI), kvpress.KeyRerotationPress(kvpress.KnormPress(compression_ratio=0.5)), ids)

        class Both(kvpress.KnormPress):
            def compress(self, *args, **kwargs):
                return tuple(x * 1.5 for x in super().compress(*args, **kwargs))
        with self.assertRaisesRegex(kvscope.Error, "changes keys and values"):
            self.record(model_of(KVMINI), Both(compression_ratio=0.5), ids)

    def test_rows_are_told_apart_whatever_their_type_and_number(self):
        from kvscope.row_hashes import row_hashes
        for kind in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
            rows = torch.randn(2, 5000, 8, generator=torch.Generator().manual_seed(1)).to(kind)
            hashes = row_hashes(torch, rows)
            self.assertEqual(hashes.shape, (2, 5000))
            for head in range(2):
                self.assertEqual(len(np.unique(hashes[head])), len(torch.unique(rows[head], dim=0)))
            np.testing.assert_array_equal(row_hashes(torch, rows[:, 4090:4100:3]), hashes[:, 4090:4100:3], "of the row alone, not of its place")

    def test_many_numbers_stand_beside_the_file(self):
        kept = self.record(model_of(KVMINI), kvpress.KnormPress(compression_ratio=0.5), ids_of(PROMPT), arrays=True)
        again = kvscope.read(self.path("k.json"))
        self.assertTrue(os.path.exists(self.path("k.safetensors")))
        np.testing.assert_array_equal(again.slots()["attention"], kept.slots()["attention"])
        np.testing.assert_array_equal(again.slots()["score"], kept.slots()["score"])
        np.testing.assert_array_equal(kvscope.run(kept=self.path("k.json"), detail="slots").kept(1, 0), kept.kept("KnormPress", 0))

    def test_nothing_stays_behind(self):
        from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS as kernels
        model, press, plain = model_of(KVMINI), kvpress.KnormPress(compression_ratio=0.5), kernels["sdpa"]
        before = vars(press).copy()
        with self.assertRaisesRegex(RuntimeError, "by the user"):
            with kvscope.record(model, press, self.path("k.json")):
                model(input_ids=torch.tensor([[1, 2, 3, 4]]))
                raise RuntimeError("by the user")
        self.assertFalse(os.path.exists(self.path("k.json")))
        self.assertEqual(vars(press), before)
        self.assertIs(kernels["sdpa"], plain)
        for module in model.modules():
            self.assertEqual((len(module._forward_hooks), len(module._forward_pre_hooks)), (0, 0))

    def test_what_cannot_be_recorded_is_said(self):
        model = model_of(KVMINI)
        ids = torch.tensor([[1, 2, 3, 4]])

        def twice():
            model(input_ids=ids)
            model(input_ids=ids)

        def from_the_middle():
            cache = transformers.DynamicCache()
            cache.update(torch.zeros(1, 4, 2, 32), torch.zeros(1, 4, 2, 32), 0)
            model(input_ids=ids, past_key_values=cache)

        def cut():
            cache = transformers.DynamicCache()
            model(input_ids=ids, past_key_values=cache)
            cache.crop(2)
            model(input_ids=ids, past_key_values=cache)
        for use, words in ((lambda: None, "reads a text inside the block, got none"), (twice, "start of another"), (from_the_middle, "already holds 2 tokens"), (cut, "cut in between"),
                           (lambda: model(input_ids=ids.repeat(2, 1)), r"a batch of one text, got input_ids of shape \[2, 4\]"),
                           (lambda: model(inputs_embeds=torch.zeros(1, 3, 256)), "got embeddings"), (lambda: model(input_ids=ids, use_cache=False), "use_cache=True"),
                           (lambda: model(input_ids=ids, past_key_values=transformers.StaticCache(config=model.config, max_cache_len=16)), "plain DynamicCache")):
            with self.assertRaisesRegex(kvscope.Error, words):
                with kvscope.record(model):
                    use()
        for wrong, press, words in ((torch.nn.Linear(2, 2), None, "model.layers, got Linear"), (None, None, "got NoneType"), (model, "SnapKV", "a press of kvpress .* got str"),
                                    (transformers.MambaForCausalLM(transformers.MambaConfig(vocab_size=8, hidden_size=8, state_size=2, num_hidden_layers=1)), None, "model.layers|self_attn")):
            with self.assertRaisesRegex(kvscope.Error, words):
                with kvscope.record(wrong, press):
                    pass
        with self.assertRaisesRegex(kvscope.Error, "make it first"):
            with kvscope.record(model, None, self.path("no/k.json")):
                pass
        self.assertEqual(sys.exc_info()[0], None)


if __name__ == "__main__":
    unittest.main()
