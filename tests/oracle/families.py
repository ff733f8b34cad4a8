#!/usr/bin/env python3
"""Model families in float64, written down from transformers 5.2 (models/*/modeling_*.py, modeling_rope_utils.py): one plain forward pass over a
whole text, no cache.

families.py check FOLDER...     every FOLDER/reference.json against this forward pass; prints the largest difference
families.py make OUT            writes OUT/FAMILY: small random checkpoints with reference.json; ../golden/families is made so
"""
import json
import math
import os
import sys

import numpy as np

from make_tiny import write_safetensors
from model import read_safetensors

ADDS_ONE = {"gemma", "gemma2", "gemma3_text"}
NORMS_AFTER = {"gemma2", "gemma3_text", "olmo2"}


def rope_keys(config, sliding):
    """theta and the keys of the scaling, for one kind of layer."""
    both = config.get("rope_parameters") or {}
    if "full_attention" in both:
        one = both["sliding_attention" if sliding else "full_attention"]
        return one["rope_theta"], one
    if sliding and "rope_local_base_freq" in config:
        return config["rope_local_base_freq"], {}
    scaling = config.get("rope_scaling") or both
    return config.get("rope_theta", scaling.get("rope_theta", 10000.0)), scaling


def yarn_range(base, dims, original, keys):
    def pair(turns):
        return dims * math.log(original / (turns * 2 * math.pi)) / (2 * math.log(base))
    low, high = math.floor(pair(keys.get("beta_fast", 32))), math.ceil(pair(keys.get("beta_slow", 1)))
    return max(low, 0), min(high, dims - 1)


def frequencies(config, head_dim, n_tokens, sliding):
    """[pairs] angles per position, and the factor of cosines and sines."""
    base, keys = rope_keys(config, sliding)
    kind = keys.get("rope_type", keys.get("type", "default"))
    part = config.get("partial_rotary_factor", keys.get("partial_rotary_factor", 1.0))
    dims = int(head_dim * part)
    plain = 1.0 / base ** (np.arange(0, dims, 2) / dims)
    original = keys.get("original_max_position_embeddings", config.get("original_max_position_embeddings", config["max_position_embeddings"]))
    if kind == "linear":
        return plain / keys["factor"], 1.0
    if kind == "llama3":
        wave = 2 * np.pi / plain
        low, high, factor = keys["low_freq_factor"], keys["high_freq_factor"], keys["factor"]
        mix = (original / wave - low) / (high - low)
        between = (1 - mix) * plain / factor + mix * plain
        return np.where(wave > original / low, plain / factor, np.where(wave < original / high, plain, between)), 1.0
    if kind == "yarn":
        low, high = yarn_range(base, dims, original, keys)
        ramp = np.clip((np.arange(dims // 2) - low) / max(high - low, 0.001), 0, 1)
        return plain / keys["factor"] * ramp + plain * (1 - ramp), keys.get("attention_factor", 0.1 * math.log(keys["factor"]) + 1)
    if kind == "longrope":
        by = keys["long_factor"] if n_tokens > original else keys["short_factor"]
        return plain / np.array(by), math.sqrt(1 + math.log(config["max_position_embeddings"] / original) / math.log(original))
    return plain, 1.0


def slides(config, layer):
    family = config["model_type"]
    if "layer_types" in config:
        return config["layer_types"][layer] == "sliding_attention"
    if family == "mistral":
        return config.get("sliding_window") is not None
    if family == "gemma2":
        return (layer + 1) % 2 != 0
    if family == "gemma3_text":
        return (layer + 1) % config.get("sliding_window_pattern", 6) != 0
    return False


class Decoder:
    def __init__(self, folder):
        with open(os.path.join(folder, "config.json"), encoding="utf-8") as f:
            self.config = json.load(f)
        c = self.config
        self.family = c["model_type"]
        self.w = read_safetensors(os.path.join(folder, "model.safetensors"))
        self.head_dim = c.get("head_dim") or c["hidden_size"] // c["num_attention_heads"]

    def norm(self, x, name):
        w = self.w[name] + (1.0 if self.family in ADDS_ONE else 0.0)
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + self.config["rms_norm_eps"]) * w

    def linear(self, x, name):
        y = x @ self.w[name + ".weight"].T
        return y + self.w[name + ".bias"] if name + ".bias" in self.w else y

    def rotate(self, x, layer):
        """x [n, heads, head_dim]"""
        no_rope = self.config.get("no_rope_layers")
        if no_rope and not no_rope[layer]:
            return x
        n = len(x)
        f, gain = frequencies(self.config, self.head_dim, n, slides(self.config, layer))
        angle = np.arange(n)[:, None, None] * f
        cos, sin, half = np.cos(angle) * gain, np.sin(angle) * gain, len(f)
        a, b, rest = x[..., :half], x[..., half:2 * half], x[..., 2 * half:]
        return np.concatenate([a * cos - b * sin, b * cos + a * sin, rest], -1)

    def heads(self, x, layer):
        c, p, d = self.config, f"model.layers.{layer}.self_attn.", self.head_dim
        n_q, n_kv = c["num_attention_heads"] * d, c["num_key_value_heads"] * d
        if p + "qkv_proj.weight" in self.w:
            q, k, v = np.split(self.linear(x, p + "qkv_proj"), [n_q, n_q + n_kv], -1)
        else:
            q, k, v = (self.linear(x, p + name) for name in ("q_proj", "k_proj", "v_proj"))
        whole = self.family == "olmo2"
        if whole:
            q, k = self.norm(q, p + "q_norm.weight"), self.norm(k, p + "k_norm.weight")
        q, k, v = (y.reshape(len(x), -1, d) for y in (q, k, v))
        if not whole and p + "q_norm.weight" in self.w:
            q, k = self.norm(q, p + "q_norm.weight"), self.norm(k, p + "k_norm.weight")
        return self.rotate(q, layer), self.rotate(k, layer), v

    def attention(self, x, layer):
        c, n = self.config, len(x)
        q, k, v = self.heads(x, layer)
        group = q.shape[1] // k.shape[1]
        scale = c.get("attention_multiplier") or (c["query_pre_attn_scalar"] if "query_pre_attn_scalar" in c else self.head_dim) ** -0.5
        distance = np.arange(n)[:, None] - np.arange(n)[None, :]
        seen = distance >= 0
        if slides(c, layer):
            seen &= distance < c["sliding_window"]
        out = np.empty_like(q)
        for h in range(q.shape[1]):
            z = q[:, h] @ k[:, h // group].T * scale
            cap = c.get("attn_logit_softcapping")
            if cap:
                z = cap * np.tanh(z / cap)
            z = np.where(seen, z, -np.inf)
            p = np.exp(z - z.max(-1, keepdims=True))
            out[:, h] = p / p.sum(-1, keepdims=True) @ v[:, h // group]
        return self.linear(out.reshape(n, -1), f"model.layers.{layer}.self_attn.o_proj")

    def mlp(self, x, layer):
        p = f"model.layers.{layer}.mlp."
        if p + "gate_up_proj.weight" in self.w:
            gate, up = np.split(self.linear(x, p + "gate_up_proj"), 2, -1)
        else:
            gate, up = self.linear(x, p + "gate_proj"), self.linear(x, p + "up_proj")
        if self.family in ADDS_ONE:
            gate = 0.5 * gate * (1 + np.tanh(math.sqrt(2 / math.pi) * (gate + 0.044715 * gate ** 3)))
        else:
            gate = gate / (1 + np.exp(-gate))
        return self.linear(gate * up, p + "down_proj")

    def logits(self, ids):
        """[n, vocab]"""
        c = self.config
        x = self.w["model.embed_tokens.weight"][ids] * c.get("embedding_multiplier", 1.0)
        if self.family in ADDS_ONE:
            x = x * math.sqrt(c["hidden_size"])
        scale = c.get("residual_multiplier", 1.0)
        for layer in range(c["num_hidden_layers"]):
            p = f"model.layers.{layer}."
            before = "pre_feedforward_layernorm" if p + "pre_feedforward_layernorm.weight" in self.w else "post_attention_layernorm"
            y = self.norm(x, p + "input_layernorm.weight") if self.family != "olmo2" else x
            y = self.attention(y, layer)
            x = x + scale * (self.norm(y, p + "post_attention_layernorm.weight") if self.family in NORMS_AFTER else y)
            y = self.norm(x, p + before + ".weight") if self.family != "olmo2" else x
            y = self.mlp(y, layer)
            x = x + scale * (self.norm(y, p + "post_feedforward_layernorm.weight") if self.family in NORMS_AFTER else y)
        z = self.norm(x, "model.norm.weight") @ self.w.get("lm_head.weight", self.w["model.embed_tokens.weight"]).T / c.get("logits_scaling", 1.0)
        cap = c.get("final_logit_softcapping")
        return cap * np.tanh(z / cap) if cap else z


def check(folders):
    for folder in folders:
        model = Decoder(folder)
        with open(os.path.join(folder, "reference.json"), encoding="utf-8") as f:
            prompts = json.load(f)["prompts"]
        worst = 0.0
        for p in prompts:
            worst = max(worst, np.abs(model.logits(p["ids"])[-1] - p["last_logits"]).max())
            for at, expected in zip(p.get("positions", []), p.get("logits_at", [])):
                worst = max(worst, np.abs(model.logits(p["ids"][:at + 1])[-1] - expected).max())
        print(f"{folder}: {worst:.2e}")


SMALL = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 32,
         "max_position_embeddings": 128, "rms_norm_eps": 1e-6, "rope_theta": 10000.0, "head_dim": 8, "bos_token_id": 1, "eos_token_id": 2}
GEMMA = {"hidden_activation": "gelu_pytorch_tanh", "sliding_window": 6, "query_pre_attn_scalar": 6}
KINDS = {
    "llama3": {"model_type": "llama", "rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                                                       "original_max_position_embeddings": 16}},
    "yarn": {"model_type": "llama", "rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32}},
    "mistral": {"sliding_window": 6},
    "qwen2": {"tie_word_embeddings": True},
    "qwen3": {"tie_word_embeddings": True},
    "smollm3": {"no_rope_layers": [1, 0], "tie_word_embeddings": True},
    "granite": {"embedding_multiplier": 6.0, "attention_multiplier": 0.15, "residual_multiplier": 0.4, "logits_scaling": 0.5},
    "phi3": {"partial_rotary_factor": 0.75, "original_max_position_embeddings": 32,
             "rope_scaling": {"type": "longrope", "short_factor": [1.0, 1.2, 1.5], "long_factor": [1.5, 3.0, 7.5]}},
    "olmo2": {},
    "gemma": {"hidden_activation": "gelu_pytorch_tanh", "num_key_value_heads": 1},
    "gemma2": dict(GEMMA, attn_logit_softcapping=3.0, final_logit_softcapping=4.0),
    "gemma3_text": dict(GEMMA, num_hidden_layers=3, sliding_window_pattern=3, rope_local_base_freq=100.0, rope_theta=1e6,
                        rope_scaling={"rope_type": "linear", "factor": 8.0}),
    "ministral": {"sliding_window": 6, "layer_types": ["sliding_attention", "full_attention"]},
}


def tensors(config, r):
    c, family = config, config["model_type"]
    h, m, d = c["hidden_size"], c["intermediate_size"], c["head_dim"]
    q, kv = c["num_attention_heads"] * d, c["num_key_value_heads"] * d
    one = 0.0 if family in ADDS_ONE else 1.0
    tied = c.get("tie_word_embeddings", family in ADDS_ONE)

    def norm(n):
        return one + 0.2 * r.normal(size=n)
    w = {"model.embed_tokens.weight": 0.3 * r.normal(size=(c["vocab_size"], h)), "model.norm.weight": norm(h) * (3 if tied and one else 1)}
    if not tied:
        w["lm_head.weight"] = 0.4 * r.normal(size=(c["vocab_size"], h))
    for l in range(c["num_hidden_layers"]):
        p = f"model.layers.{l}."
        names = ["post_attention_layernorm"] + ([] if family == "olmo2" else ["input_layernorm"])
        names += ["post_feedforward_layernorm"] if family in NORMS_AFTER else []
        names += ["pre_feedforward_layernorm"] if family in ("gemma2", "gemma3_text") else []
        for name in names:
            w[p + name + ".weight"] = norm(h)
        parts = {"q_proj": 0.5 * r.normal(size=(q, h)), "k_proj": 0.5 * r.normal(size=(kv, h)), "v_proj": 0.3 * r.normal(size=(kv, h))}
        gate_up = [0.3 * r.normal(size=(m, h)), 0.3 * r.normal(size=(m, h))]
        if family == "phi3":
            w[p + "self_attn.qkv_proj.weight"] = np.concatenate(list(parts.values()))
            w[p + "mlp.gate_up_proj.weight"] = np.concatenate(gate_up)
        else:
            w.update({p + f"self_attn.{name}.weight": x for name, x in parts.items()})
            w[p + "mlp.gate_proj.weight"], w[p + "mlp.up_proj.weight"] = gate_up
        if family == "qwen2":
            w.update({p + f"self_attn.{name}.bias": 0.3 * r.normal(size=len(x)) for name, x in parts.items()})
        if family in ("qwen3", "gemma3_text", "olmo2"):
            whole = family == "olmo2"
            w[p + "self_attn.q_norm.weight"], w[p + "self_attn.k_norm.weight"] = norm(q if whole else d), norm(kv if whole else d)
        w[p + "self_attn.o_proj.weight"] = 0.4 * r.normal(size=(h, q))
        w[p + "mlp.down_proj.weight"] = 0.4 * r.normal(size=(h, m))
    return w


def reference(model, r):
    """Two texts, of which the second is long for every table and window; None where a step is nearly a tie."""
    prompts = []
    for n in (8, 40):
        ids = [int(x) for x in r.integers(3, model.config["vocab_size"], n)]
        rows = model.logits(ids)
        greedy = []
        for _ in range(16):
            z = model.logits(ids + greedy)[-1]
            best = np.sort(z)
            if best[-1] - best[-2] < 1e-2:
                return None
            greedy.append(int(z.argmax()))
        prompt = {"ids": ids, "greedy16": greedy, "last_logits": [float(x) for x in rows[-1]]}
        if n == 8:  # a beginning of the long text may have another table
            prompt.update(positions=[0, 5], logits_at=[[float(x) for x in rows[at]] for at in (0, 5)])
        prompts.append(prompt)
    return {"prompts": prompts}


def make(out):
    for number, (name, keys) in enumerate(KINDS.items()):
        config = dict(SMALL, **keys)
        config.setdefault("model_type", name)
        folder = os.path.join(out, name)
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as f:
            json.dump(config, f, separators=(",", ":"))
            f.write("\n")
        found, seed = None, 1000 * number
        while found is None:
            r = np.random.default_rng(seed)
            write_safetensors(os.path.join(folder, "model.safetensors"), tensors(config, r), "BF16")
            found = reference(Decoder(folder), r)
            seed += 1
        with open(os.path.join(folder, "reference.json"), "w", encoding="utf-8") as f:
            json.dump(found, f, separators=(",", ":"))
            f.write("\n")


if __name__ == "__main__":
    if len(sys.argv) < 3 or sys.argv[1] not in ("check", "make"):
        sys.exit(__doc__)
    check(sys.argv[2:]) if sys.argv[1] == "check" else make(sys.argv[2])
