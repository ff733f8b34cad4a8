#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""transformers_step.py --shape NAME [--context N,...] [--batch N] [--device cuda]: milliseconds of a decode step of transformers (PyTorch, sdpa,
bf16, random weights) with a full cache, for the table beside `kvscope-cli bench`. Of a growing and a static cache the faster one counts."""
import argparse
import statistics
import time

import torch
import transformers

# dim, layers, heads, KV heads, feed-forward, vocabulary, rope theta: as engine/runtime/model/synthetic_model.cpp
SHAPES = {"llama2-7b": (4096, 32, 32, 32, 11008, 32000, 1e4), "llama2-13b": (5120, 40, 40, 40, 13824, 32000, 1e4),
          "llama3-8b": (4096, 32, 32, 8, 14336, 128256, 5e5), "mistral-7b": (4096, 32, 32, 8, 14336, 32000, 1e4),
          "kvmini": (256, 6, 8, 4, 1024, 2048, 1e4)}


def model_of(shape, longest, device):
    dim, layers, heads, kv_heads, hidden, vocabulary, theta = SHAPES[shape]
    config = transformers.LlamaConfig(hidden_size=dim, num_hidden_layers=layers, num_attention_heads=heads, num_key_value_heads=kv_heads,
                                      intermediate_size=hidden, vocab_size=vocabulary, rope_theta=theta, max_position_embeddings=longest,
                                      attn_implementation="sdpa", dtype=torch.bfloat16)
    with torch.device(device):
        torch.set_default_dtype(torch.bfloat16)
        return transformers.LlamaForCausalLM(config).eval()


def filled(cache, model, batch, context, device):
    """The cache after a prompt of `context` tokens, read in pieces."""
    ids = torch.arange(context, device=device).remainder(model.config.vocab_size).repeat(batch, 1)
    for begin in range(0, context, 512):
        model(ids[:, begin:begin + 512], past_key_values=cache, cache_position=torch.arange(begin, min(begin + 512, context), device=device),
              logits_to_keep=1)
    return cache


@torch.no_grad()
def milliseconds(model, cache, batch, context, steps, device):
    """Median over `steps` steps; the token of each is on the host before the next one begins, as for anybody who samples."""
    filled(cache, model, batch, context, device)
    token, times = torch.ones(batch, 1, dtype=torch.long, device=device), []
    for step in range(steps + 3):
        begin = time.perf_counter()
        logits = model(token, past_key_values=cache, cache_position=torch.tensor([context + step], device=device)).logits
        logits[:, -1].argmax(-1).tolist()
        times.append((time.perf_counter() - begin) * 1e3)
    return statistics.median(times[3:])


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--shape", choices=SHAPES, required=True)
    p.add_argument("--context", default="128,4096")
    p.add_argument("--batch", type=int, default=1)
    p.add_argument("--steps", type=int, default=16)
    p.add_argument("--device", default="cuda")
    a = p.parse_args()
    contexts = [int(n) for n in a.context.split(",")]
    longest = max(contexts) + a.steps + 8
    model = model_of(a.shape, longest, a.device)
    name = torch.cuda.get_device_name() if a.device == "cuda" else a.device
    print(f"transformers {transformers.__version__}, torch {torch.__version__}, {name}, {a.shape}, bf16, sdpa")
    for context in contexts:
        growing = milliseconds(model, transformers.DynamicCache(config=model.config), a.batch, context, a.steps, a.device)
        static = milliseconds(model, transformers.StaticCache(config=model.config, max_cache_len=longest), a.batch, context, a.steps, a.device)
        best = min(growing, static)
        print(f"context {context}, batch {a.batch}: growing cache {growing:.2f} ms, static cache {static:.2f} ms; {a.batch * 1e3 / best:.1f} tokens/s")


if __name__ == "__main__":
    main()
