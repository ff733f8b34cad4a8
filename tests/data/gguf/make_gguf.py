#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the GGUF files of this folder, with the package gguf (pip install gguf).

    make_gguf.py

types.gguf   one tensor of every type that is read, of random blocks
types.f32    the numbers of these tensors as gguf's own dequantize() has them, float32, one tensor after the other by name
tiny.gguf    a llama of one layer whose matrices are of all quantised types, with a vocabulary of byte pairs and a chat template
"""
from pathlib import Path

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Type

HERE = Path(__file__).parent
RANDOM = np.random.default_rng(7)
TYPES = ["F32", "F16", "BF16", "Q8_0", "Q4_0", "Q5_0", "Q4_K", "Q5_K", "Q6_K", "IQ4_NL"]
# Bytes of a block that are float16 scales.
SCALES = {"Q8_0": [0], "Q4_0": [0], "Q5_0": [0], "IQ4_NL": [0], "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208]}


def random_blocks(kind, rows, columns, low, high):
    """Rows of blocks with scales in [low, high) and random signs; everything else is any bytes. A Q6_K's scales of 8 bits stay small."""
    numbers, size = gguf.GGML_QUANT_SIZES[Type[kind]]
    blocks = RANDOM.integers(0, 256, (rows * columns // numbers, size), dtype=np.uint8)
    for at in SCALES[kind]:
        scale = RANDOM.uniform(low, high, len(blocks)) * (RANDOM.choice([-1, 1], len(blocks)) if at == 0 else 1)
        blocks[:, at:at + 2] = scale.astype(np.float16).view(np.uint8).reshape(-1, 2)
    return blocks.reshape(rows, -1)


def plain(kind, rows, columns):
    numbers = RANDOM.normal(0, 0.5, (rows, columns)).astype(np.float32)
    return gguf.quants.quantize(numbers, Type[kind])


def make_types():
    writer = gguf.GGUFWriter(HERE / "types.gguf", "none")
    expected = {}
    for kind in TYPES:
        if kind in SCALES:  # with subnormal scales
            data = np.concatenate([random_blocks(kind, 1, 256, 1e-3, 2), random_blocks(kind, 1, 256, 1e-7, 6e-5)])
        else:
            data = plain(kind, 2, 256)
        writer.add_tensor(kind, data, raw_dtype=Type[kind])
        expected[kind] = gguf.quants.dequantize(data, Type[kind]).astype(np.float32)
    write(writer)
    (HERE / "types.f32").write_bytes(b"".join(expected[kind].tobytes() for kind in sorted(expected)))


def byte_letters():
    """The visible letters that stand for bytes in byte-level vocabularies."""
    visible = [*range(0x21, 0x7f), *range(0xa1, 0xad), *range(0xae, 0x100)]
    letters, extra = {}, 0
    for byte in range(256):
        letters[byte] = chr(byte if byte in visible else 0x100 + extra)
        extra += byte not in visible
    return [letters[byte] for byte in range(256)]


def make_tiny():
    dim, heads, kv_heads, head_dim, hidden = 256, 2, 1, 32, 32
    merges = [("t", "h"), ("th", "e"), ("\u0120", "the"), ("i", "n"), ("\u0120", "a"), ("1", "2")]
    tokens = byte_letters() + [a + b for a, b in merges] + ["<|begin|>", "<|end|>"]
    kinds = [1] * (len(tokens) - 2) + [3, 3]
    writer = gguf.GGUFWriter(HERE / "tiny.gguf", "llama")
    writer.add_name("tiny of all types")
    writer.add_block_count(1)
    writer.add_context_length(128)
    writer.add_embedding_length(dim)
    writer.add_feed_forward_length(hidden)
    writer.add_head_count(heads)
    writer.add_head_count_kv(kv_heads)
    writer.add_key_length(head_dim)
    writer.add_value_length(head_dim)
    writer.add_rope_dimension_count(head_dim)
    writer.add_rope_freq_base(10000.0)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("llama-bpe")
    writer.add_token_list(tokens)
    writer.add_token_types(kinds)
    writer.add_token_merges([f"{a} {b}" for a, b in merges])
    writer.add_bos_token_id(len(tokens) - 2)
    writer.add_eos_token_id(len(tokens) - 1)
    writer.add_chat_template("{{ bos_token }}{% for m in messages %}{{ m.role }}: {{ m.content }}{{ eos_token }}{% endfor %}")

    def matrix(name, kind, rows, columns, size):
        if kind in SCALES:
            data = random_blocks(kind, rows, columns, size / 2, size)
        else:
            data = plain(kind, rows, columns)
        writer.add_tensor(name, data, raw_dtype=Type[kind])

    def norm(name):
        writer.add_tensor(name, (1 + 0.2 * RANDOM.normal(0, 1, dim)).astype(np.float32))

    matrix("token_embd.weight", "Q8_0", len(tokens), dim, 1e-2)
    norm("output_norm.weight")
    norm("blk.0.attn_norm.weight")
    norm("blk.0.ffn_norm.weight")
    matrix("blk.0.attn_q.weight", "Q4_K", heads * head_dim, dim, 6e-4)
    matrix("blk.0.attn_k.weight", "Q5_K", kv_heads * head_dim, dim, 3e-4)
    matrix("blk.0.attn_v.weight", "Q6_K", kv_heads * head_dim, dim, 5e-5)
    matrix("blk.0.attn_output.weight", "Q5_0", dim, heads * head_dim, 2e-2)
    matrix("blk.0.ffn_gate.weight", "Q4_0", hidden, dim, 2e-2)
    matrix("blk.0.ffn_up.weight", "IQ4_NL", hidden, dim, 2e-3)
    matrix("blk.0.ffn_down.weight", "F16", dim, hidden, 0)
    write(writer)


def write(writer):
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


make_types()
make_tiny()
