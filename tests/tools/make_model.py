#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a checkpoint of random weights in the shape of a known model: for views, times and memory at real sizes, not for text.

    make_model.py llama-3.2-1b --out /tmp/models/llama --tokenizer tokenizer.json
    make_model.py qwen3-0.6b --out /tmp/models/thin --hidden 256 --intermediate 512

The folder has config.json as the family writes it and model.safetensors in BF16, written a few MiB at a time, so that memory does not
grow with the model. Matrices are normal with the families' initializer_range of 0.02. With it alone, the attention of a narrow model
is nearly even over the text, and nothing shows in its pictures; so queries and keys are scaled until the logits of attention have the
standard deviation of --attention (in the first layer, where the input is known; later ones come close). The same names and seed give
the same bytes.
"""
import argparse
import json
import os
import shutil
import struct

import numpy as np

RANGE = 0.02
CHUNK = 1 << 20  # numbers in memory at a time


def shape(model_type, vocab, hidden, intermediate, layers, heads, kv_heads, head_dim, positions, **more):
    return dict(model_type=model_type, vocab_size=vocab, hidden_size=hidden, intermediate_size=intermediate, num_hidden_layers=layers, num_attention_heads=heads,
                num_key_value_heads=kv_heads, head_dim=head_dim, max_position_embeddings=positions, hidden_act="silu", torch_dtype="bfloat16", **more)


LLAMA3_ROPE = {"rope_type": "llama3", "factor": 32.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}
SHAPES = {
    "tinyllama-1.1b": shape("llama", 32000, 2048, 5632, 22, 32, 4, 64, 2048, rope_theta=10000.0, rms_norm_eps=1e-5, tie_word_embeddings=False,
                            bos_token_id=1, eos_token_id=2),
    "smollm2-360m": shape("llama", 49152, 960, 2560, 32, 15, 5, 64, 8192, rope_theta=100000.0, rms_norm_eps=1e-5, tie_word_embeddings=True,
                          bos_token_id=0, eos_token_id=0),
    "llama-3.2-1b": shape("llama", 128256, 2048, 8192, 16, 32, 8, 64, 131072, rope_theta=500000.0, rms_norm_eps=1e-5, tie_word_embeddings=True,
                          rope_scaling=LLAMA3_ROPE, bos_token_id=128000, eos_token_id=128001),
    "qwen3-0.6b": shape("qwen3", 151936, 1024, 3072, 28, 16, 8, 128, 40960, rope_theta=1000000.0, rms_norm_eps=1e-6, tie_word_embeddings=True,
                        bos_token_id=151643, eos_token_id=151645),
    "qwen3-4b": shape("qwen3", 151936, 2560, 9728, 36, 32, 8, 128, 40960, rope_theta=1000000.0, rms_norm_eps=1e-6, tie_word_embeddings=True,
                        bos_token_id=151643, eos_token_id=151645),
}
OPTIONS = {"vocab": "vocab_size", "hidden": "hidden_size", "intermediate": "intermediate_size", "layers": "num_hidden_layers", "heads": "num_attention_heads",
           "kv_heads": "num_key_value_heads", "head_dim": "head_dim", "positions": "max_position_embeddings"}


def tensors_of(config, attention):
    """Name, shape and standard deviation of every tensor; a deviation of None: a vector of the same number, which stands in its place."""
    hidden, head_dim = config["hidden_size"], config["head_dim"]
    q, kv, inter = config["num_attention_heads"] * head_dim, config["num_key_value_heads"] * head_dim, config["intermediate_size"]
    # queries and keys of a normalised input have deviation d * sqrt(hidden) each, so the logits q k / sqrt(head_dim) have d^2 * hidden
    normed = config["model_type"] == "qwen3"  # every head of queries and keys is normalised: there the weights of the norms decide
    qk = RANGE if normed else (attention / hidden) ** 0.5
    yield "model.embed_tokens.weight", (config["vocab_size"], hidden), RANGE, None
    for layer in range(config["num_hidden_layers"]):
        of = f"model.layers.{layer}."
        yield of + "input_layernorm.weight", (hidden,), None, 1.0
        yield of + "self_attn.q_proj.weight", (q, hidden), qk, None
        yield of + "self_attn.k_proj.weight", (kv, hidden), qk, None
        yield of + "self_attn.v_proj.weight", (kv, hidden), RANGE, None
        yield of + "self_attn.o_proj.weight", (hidden, q), RANGE, None
        if normed:
            yield of + "self_attn.q_norm.weight", (head_dim,), None, attention**0.5
            yield of + "self_attn.k_norm.weight", (head_dim,), None, attention**0.5
        yield of + "post_attention_layernorm.weight", (hidden,), None, 1.0
        yield of + "mlp.gate_proj.weight", (inter, hidden), RANGE, None
        yield of + "mlp.up_proj.weight", (inter, hidden), RANGE, None
        yield of + "mlp.down_proj.weight", (hidden, inter), RANGE, None
    yield "model.norm.weight", (hidden,), None, 1.0
    if not config["tie_word_embeddings"]:
        yield "lm_head.weight", (config["vocab_size"], hidden), RANGE, None


def bfloat16(x):
    """Round to nearest even."""
    bits = x.view(np.uint32)
    return ((bits + np.uint32(0x7FFF) + ((bits >> np.uint32(16)) & np.uint32(1))) >> np.uint32(16)).astype("<u2")


def write_weights(path, tensors, seed):
    header, at = {}, 0
    for name, dims, _, _ in tensors:
        size = 2 * int(np.prod(dims, dtype=np.int64))
        header[name] = {"dtype": "BF16", "shape": list(dims), "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    random = np.random.default_rng(seed)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for name, dims, deviation, same in tensors:
            left = int(np.prod(dims, dtype=np.int64))
            while left > 0:
                n = min(left, CHUNK)
                numbers = np.full(n, same, np.float32) if deviation is None else random.standard_normal(n, np.float32) * np.float32(deviation)
                file.write(bfloat16(numbers).tobytes())
                left -= n
    return at


def read_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shape", choices=SHAPES)
    parser.add_argument("--out", required=True, metavar="DIR", help="made where it is not there")
    parser.add_argument("--tokenizer", metavar="FILE", help="a tokenizer.json to copy into the folder; without one, prompts are token ids")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--attention", type=float, default=2.5, help="standard deviation of the logits of attention (default: 2.5)")
    for option, key in OPTIONS.items():
        parser.add_argument("--" + option.replace("_", "-"), type=int, help=f"another {key}")
    return parser.parse_args()


def main():
    arguments = read_arguments()
    family = SHAPES[arguments.shape]["model_type"].capitalize()
    config = {"architectures": [family + "ForCausalLM"], **SHAPES[arguments.shape], "initializer_range": RANGE}
    for option, key in OPTIONS.items():
        if getattr(arguments, option) is not None:
            config[key] = getattr(arguments, option)
    for key in ("bos_token_id", "eos_token_id"):
        if config[key] >= config["vocab_size"]:
            config[key] = None
    os.makedirs(arguments.out, exist_ok=True)
    with open(os.path.join(arguments.out, "config.json"), "w", encoding="utf-8") as file:
        json.dump(config, file, indent=1)
        file.write("\n")
    if arguments.tokenizer:
        shutil.copyfile(arguments.tokenizer, os.path.join(arguments.out, "tokenizer.json"))
    size = write_weights(os.path.join(arguments.out, "model.safetensors"), list(tensors_of(config, arguments.attention)), arguments.seed)
    print(f"{arguments.out}: {arguments.shape}, {size / 2e6:.0f} M weights, {size / 2**20:.0f} MiB")


if __name__ == "__main__":
    main()
