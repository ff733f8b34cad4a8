#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What is measured is written down beside the limits of the same run; the figures themselves depend on the machine."""
import json
import os
import unittest

from program import HERE, TINY, CliTest

SMALL = ["bench", "--shape", "kvmini", "--device", "cpu", "--context", "32"]


class Bench(CliTest):
    def test_a_shape_needs_no_files_and_every_row_has_its_figures(self):
        result = json.loads(self.succeeds(*SMALL, "--batch", "2", "--lane", "h2o:ratio=0.5", "--json"))
        self.assertEqual((result["schema"], result["shape"], result["precision"], result["weights"]), ("kvscope.bench/1", "kvmini", "f32", "bf16"))
        self.assertTrue(result["device"].startswith("cpu, "))
        self.assertGreater(result["limits"]["copy_GBps"], 0)
        self.assertGreater(result["limits"]["gemm_TFLOPs"], 0)
        rows = [(row["name"], row["lane"], row["batch"], row["context"]) for row in result["rows"]]
        self.assertEqual(rows, [("decode", "full", 2, 32), ("reading", "none", 1, 32), ("with statistics", "none", 1, 32),
                                ("prefill", "1 run", 1, 32), ("run", "1 run", 1, 32), ("recorded run", "1 run", 1, 32),
                                ("prefill", "2 runs", 1, 32), ("run", "2 runs", 2, 32), ("recorded run", "2 runs", 2, 32)])
        for row in result["rows"]:
            self.assertGreater(row["tokens_per_s"], 0, row)
            self.assertGreater(row["ms"], 0, row)
        # bytes of a step: bf16 matrices of 6 layers and the output layer, f32 norms, keys and values of both rows in f32
        weights = 2 * (6 * (2 * 256 * 256 + 2 * 256 * 128 + 3 * 256 * 1024) + 2048 * 256) + 4 * 13 * 256
        self.assertEqual(result["rows"][0]["bytes_per_token"], (weights + 2 * 2 * 32 * 6 * 128 * 4) / 2)

    def test_a_shape_can_have_weights_of_other_types(self):
        numbers = 6 * (2 * 256 * 256 + 2 * 256 * 128 + 3 * 256 * 1024) + 2048 * 256
        for given, name, bits in (("q4_k", "Q4_K", 4.5), ("Q6_K", "Q6_K", 6.5625), ("q8_0", "Q8_0", 8.5), ("f16", "f16", 16)):
            result = json.loads(self.succeeds(*SMALL, "--weights", given, "--json"))
            self.assertEqual(result["weights"], name)
            self.assertEqual(result["rows"][0]["bytes_per_token"], numbers * bits / 8 + 4 * 13 * 256 + 2 * 32 * 6 * 128 * 4)
        self.refuses(2, SMALL + ["--weights", "q5_k"], "--weights: expected f32 or f16 or bf16 or Q8_0 or Q6_K or Q4_K, got 'q5_k'")
        self.refuses(2, ["bench", "--model", TINY, "--weights", "q4_k"], "--weights: expected --shape, too")

    def test_a_model_of_files_can_be_measured_and_the_table_names_the_limits(self):
        text = self.succeeds("bench", "--model", TINY, "--context", "16", "--device", "cpu")
        for word in ("limits: copy", "matrix products", "decode", "prefill", "tokens/s"):
            self.assertIn(word, text)

    def test_a_quantised_model_can_be_measured(self):
        # its first layer has matrices of all quantised types, and the limit is measured with the largest of them
        result = json.loads(self.succeeds("bench", "--model", os.path.join(HERE, "..", "data", "gguf", "tiny.gguf"), "--context", "16", "--device", "cpu",
                                          "--json"))
        self.assertGreater(result["limits"]["gemm_TFLOPs"], 0)
        self.assertEqual(result["weights"], "f16, Q8_0, Q4_0, Q5_0, Q4_K, Q5_K, Q6_K, IQ4_NL")
        self.assertEqual({row["name"] for row in result["rows"]}, {"decode", "reading", "with statistics", "prefill", "run", "recorded run"})

    def test_contexts_without_positions_are_named_and_steps_end_at_the_last(self):
        result = json.loads(self.succeeds("bench", "--model", TINY, "--context", "4094,8192", "--device", "cpu", "--json"))
        self.assertEqual((result["contexts_left_out"], {row["context"] for row in result["rows"]}), ([8192], {4094}))
        self.assertIn("left out, because there are fewer positions: contexts of 8192\n",
                      self.succeeds("bench", "--model", TINY, "--context", "16,8192", "--device", "cpu"))

    def test_unusable_words_are_refused(self):
        self.refuses(2, ["bench", "--shape", "gpt-5"], "--shape: expected kvmini or llama2-7b", "got 'gpt-5'")
        self.refuses(2, ["bench", "--shape", "kvmini", "--model", TINY], "expected --shape or --model, got both")
        self.refuses(2, ["bench", "--shape", "kvmini", "--context", "2048"], "--context: expected fewer than the 2048 positions")
        self.refuses(2, SMALL + ["--lane", "h20:slots=2"], "h20")


if __name__ == "__main__":
    unittest.main()
