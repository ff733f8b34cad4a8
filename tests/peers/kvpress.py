#!/usr/bin/env python3
"""Which positions kvpress 0.5.5 and kvscope keep after a prompt, per layer and KV head, both in float64 on the same weights.

kvpress.py CLI [--model FOLDER]... [--only TEXT] [--proposed FOLDER] [--write RESULTS.md]

Without --model: the embedded one, and tiny ones with random weights in the shape of Llama 3 (scaled RoPE) and Qwen 3 (normed queries and keys).

A model without a tokenizer gets random ids, and is asked in no words where a press would put a question. --chat: the model gets a chat
template of its own, in a copy of its folder. --proposed: files of presses that are proposed for kvpress and in no release, as in its pull
request 285 (dropkv_press.py); without it their rows are left out.

Needs kvpress==0.5.5, torch and transformers<5.3 (python3 -m venv V; V/bin/pip install torch 'transformers<5.3' kvpress==0.5.5); exit status 77
without them. A difference is explained where every exchanged slot scores within 1e-9 of the one it was exchanged for, in kvpress itself.
"""
import argparse
import contextlib
import importlib.util
import json
import logging
import math
import os
import random
import shutil
import subprocess
import sys
import tempfile

os.environ.setdefault("HF_HUB_OFFLINE", "1")
HERE = os.path.dirname(os.path.abspath(__file__))
if sys.path and os.path.abspath(sys.path[0]) == HERE:
    sys.path.pop(0)                                                    # this file has the name of the package
ROOT = os.path.join(HERE, "..", "..")
try:
    import torch
    import kvpress
    import transformers
    from transformers import AutoModelForCausalLM, DynamicCache
    from transformers.models.llama import modeling_llama as llama
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS
    from transformers.models.qwen3 import modeling_qwen3 as qwen3
    from kvpress.attention_patch import attention_patch
    from kvpress.presses import duo_attention_press, kvzip_press, leverage_press, lukv_press, non_causal_attention_press, snapkv_press
    from kvpress.presses.fastkvzip_press import FastKVzipGate
    from kvpress.presses.kvzap_press import KVzapConfig, KVzapModel
    from safetensors.torch import load_file, save_file
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

TIE = 1e-9
PROMPTS = ("facts.txt", "needle.txt")
RATIOS = (0.2, 0.5)                                                    # share kept
EMBEDDED = os.path.join(ROOT, "assets", "models", "kvmini")
SHAPES = ("llama3", "qwen3")                                           # of random weights, made here


# ---- transformers keeps norms, angles and softmax in float32 also in a model of doubles
def norm64(self, x):
    return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.variance_epsilon))


def frequencies64(config):
    """[head_dim / 2] angles per position."""
    rope = config.rope_parameters
    width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    frequency = 1.0 / (float(rope["rope_theta"]) ** (torch.arange(0, width, 2, dtype=torch.float64) / width))
    if rope.get("rope_type", "default") == "llama3":
        low, high, factor, length = (float(rope[k]) for k in ("low_freq_factor", "high_freq_factor", "factor", "original_max_position_embeddings"))
        turns = length * frequency / (2 * math.pi)
        share = ((turns - low) / (high - low)).clamp(0, 1)
        frequency = (1 - share) * frequency / factor + share * frequency
    elif rope.get("rope_type", "default") != "default":
        raise SystemExit(f"rope_type {rope['rope_type']}: only unscaled frequencies and llama3 are written in float64 here")
    return frequency


def rope64(self, x, position_ids):
    angle = position_ids[:, :, None].double() * frequencies64(self.config)
    angle = torch.cat((angle, angle), -1)
    return angle.cos(), angle.sin()


recorded = [False]                                                     # attention is given to the presses, some of which refuse it


def attention64(module, query, key, value, attention_mask, scaling, dropout=0.0, **kwargs):
    key, value = (llama.repeat_kv(x, module.num_key_value_groups) for x in (key, value))
    n = key.shape[-2]
    seen = torch.ones(query.shape[-2], n, dtype=torch.bool).tril(n - query.shape[-2])
    weights = torch.softmax((query @ key.transpose(2, 3) * scaling).masked_fill(~seen, -torch.inf), -1)
    return (weights @ value).transpose(1, 2).contiguous(), weights if recorded[0] else None


def masking64(module, query, key, value, attention_mask, dropout=0.0, scaling=None, **kwargs):
    return attention64(module, query, key, value, attention_mask, scaling)


class InDoubles:
    """torch as the presses see it: what they cast to float32 stays a double, and a random sketch is the identity."""
    float32 = torch.float64

    def __getattr__(self, name):
        return getattr(torch, name)

    def randn(self, *shape, **kwargs):
        return torch.eye(shape[-2], dtype=torch.float64).expand(*shape) * math.sqrt(shape[-1])

    def zeros(self, *shape, **kwargs):
        return torch.zeros(*shape, **{"dtype": torch.float64, **kwargs})

    def full(self, size, value, device=None):
        return torch.full(size, value, dtype=torch.float64)


class Words:
    """The model's tokenizer as kvpress asks it, by the command line; no words at all where there is none."""

    def __init__(self, cli, folder):
        self.cli, self.folder = cli, folder
        template = os.path.join(folder, "chat_template.jinja")
        self.chat_template = None
        if os.path.exists(template):
            with open(template, encoding="utf-8") as f:
                self.chat_template = f.read()
        self.silent = not any(os.path.exists(os.path.join(folder, name)) for name in ("tokenizer.json", "tokenizer.model"))
        self.text_ids = []                                             # of the text that heads are measured on

    def encode(self, text, return_tensors=None, add_special_tokens=False):
        return torch.tensor([self.ids(text)], dtype=torch.long)

    def ids(self, text):
        if self.silent or not text:
            return []
        with tempfile.NamedTemporaryFile("w", suffix=".txt", encoding="utf-8") as f:
            f.write(text)
            f.flush()
            return tokens_of(self.cli, self.folder, f.name)

    def apply_chat_template(self, messages, add_generation_prompt, tokenize, enable_thinking):
        import jinja2
        return jinja2.Template(self.chat_template).render(messages=messages, add_generation_prompt=add_generation_prompt)

    def __call__(self, text, return_tensors):
        return Tensors(input_ids=torch.tensor([self.text_ids]))


class Tensors(dict):
    def to(self, device):
        return self


class OneText:
    """The set of texts that kvpress draws from to measure heads: the prompt alone."""

    def to_pandas(self):
        return self

    def sample(self, n, random_state):
        return {"chapter": self}

    def tolist(self):
        return [""]


def load(folder):
    transformers.utils.logging.disable_progress_bar()
    logging.getLogger("kvpress").setLevel(logging.ERROR)
    llama.LlamaRMSNorm.forward = qwen3.Qwen3RMSNorm.forward = norm64
    llama.LlamaRotaryEmbedding.forward = qwen3.Qwen3RotaryEmbedding.forward = rope64
    llama.eager_attention_forward = qwen3.eager_attention_forward = attention64
    ALL_ATTENTION_FUNCTIONS["sdpa"] = attention_patch(masking64)
    leverage_press.torch = non_causal_attention_press.torch = snapkv_press.torch = duo_attention_press.torch = kvzip_press.torch = lukv_press.torch = InDoubles()
    duo_attention_press.load_dataset = lambda *args, **kwargs: OneText()
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager")
    torch.Tensor.float = torch.Tensor.double                           # a press may ask a tensor for it
    return model.double().eval()


class SmallDuo(kvpress.DuoAttentionPress):
    """With fewer slots in a streaming head than the 384 that kvpress has for it."""

    def post_init_from_model(self, model):
        duo_attention_press.cache.clear()
        super().post_init_from_model(model)
        self.sink_size, self.recent_size = 4, 16


def filed_duo(scores, share):
    """With these scores in the place of published ones, and short streaming heads."""
    press = kvpress.DuoAttentionPress(head_compression_ratio=share)
    press.load_attention_pattern = lambda model: (4, 16, scores)
    return press


def proposed(folder, module, name):
    """A class of a file that is in no release; none without it."""
    path = os.path.join(folder, f"{module}.py")
    if not folder or not os.path.exists(path):
        return None
    spec = importlib.util.spec_from_file_location(module, path)
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    loaded.torch = InDoubles()
    return getattr(loaded, name)


QUESTION = 12                                                          # tokens at the end of the prompt
EVERY = 8                                                              # generated tokens from one compression to the next


def finch(ratio, normalize=True):
    """As it is behind the delimiter that stands before the last tokens of the prompt."""
    press = kvpress.FinchPress(compression_ratio=ratio, normalize_scores=normalize, rerotate_keys=False)
    press.delimiter_token_id, press.window_size = -1, QUESTION
    return press


def filtering(ratio, filters):
    """With these directions in the place of published ones."""
    press = kvpress.QFilterPress(compression_ratio=ratio)
    press.q_filters, press.post_init_from_model = filters.double(), lambda model: None
    return press


class Learned:
    """Networks, gates and curves drawn at random, the same every time, in the files that both sides read: kvpress has them by the model's name."""

    def __init__(self, config, folder):
        state, heads, group = config.hidden_size, config.num_key_value_heads, config.num_attention_heads // config.num_key_value_heads
        layers, generator = config.num_hidden_layers, torch.Generator().manual_seed(3)
        draw = lambda *shape: torch.randn(*shape, generator=generator)
        units, small, sinks = 24, 4, 3
        linear, mlp, gates = {}, {}, {}
        for l in range(layers):
            linear.update({f"layers.{l}.weight": draw(heads, state) / state ** 0.5, f"layers.{l}.bias": draw(heads)})
            mlp.update({f"layers.{l}.0.weight": draw(units, state) / state ** 0.5, f"layers.{l}.0.bias": draw(units),
                        f"layers.{l}.2.weight": draw(heads, units), f"layers.{l}.2.bias": draw(heads)})
            gates.update({f"{l}.q_proj.weight": draw(heads * group * small, state), f"{l}.q_proj.bias": draw(heads * group * small),
                          f"{l}.k_proj.weight": draw(heads * small, state), f"{l}.q_norm.weight": 1 + draw(small) / 8, f"{l}.k_norm.weight": 1 + draw(small) / 8,
                          f"{l}.k_base": draw(heads, 1, sinks, small), f"{l}.b": draw(heads, 1, group)})
        curves = (torch.arange(1, 100) / 100)[:, None, None] ** torch.exp(draw(1, layers, heads) / 3)
        self.path = {}
        for name, tensors in (("linear", linear), ("mlp", mlp), ("gates", gates), ("curves", {"budget_curves": curves})):
            self.path[name] = os.path.join(folder, f"{name}.safetensors")
            save_file(tensors, self.path[name])
        self.sizes = (state, heads, group, small, sinks, layers, units)

    def zap(self, kind, ratio=0.0):
        state, heads, _, _, _, layers, units = self.sizes
        press = kvpress.KVzapPress(compression_ratio=ratio, model_type=kind)
        press.kvzap_model = KVzapModel(KVzapConfig(input_dim=state, output_dim=heads, n_modules=layers, hidden_dim=units if kind == "mlp" else None))
        press.kvzap_model.load_state_dict(load_file(self.path[kind]))
        press.kvzap_model.double()
        press.post_init_from_model = lambda model: None
        return press

    def gated(self, ratio, **keys):
        state, heads, group, small, sinks, layers, _ = self.sizes
        press = kvpress.FastKVzipPress(compression_ratio=ratio, **keys)
        file, press.gates = load_file(self.path["gates"]), []
        for l in range(layers):
            gate = FastKVzipGate(l, state, heads, group, torch.float32, small, sinks)
            gate.load_state_dict({name[len(f"{l}."):]: x for name, x in file.items() if name.startswith(f"{l}.")})
            press.gates.append(gate.double())
        return press

    def shared(self, ratio, *inner, **keys):
        press = lukv_press.LUKVPress(*inner, compression_ratio=ratio, **keys)
        press._budget_curves = load_file(self.path["curves"])["budget_curves"].numpy()
        return press


class InOrder(kvpress.presses.base_press.BasePress):
    """What a press leaves, in the order of the text: kvpress has it in the order of its scores, and what ranks by neighbours reads that as the text."""

    def __init__(self, press):
        self.press = press

    def compress(self, module, hidden_states, keys, values, attentions, kwargs):
        scores = self.press.score(module, hidden_states, keys, values, attentions, kwargs)
        kept = scores.topk(int(keys.shape[2] * (1 - self.press.compression_ratio)), -1).indices.sort(-1).values
        kept = kept[..., None].expand(-1, -1, -1, module.head_dim)
        return keys.gather(2, kept), values.gather(2, kept)


def every(base, size):
    return kvpress.DecodingPress(base, compression_interval=EVERY, target_size=size, hidden_states_buffer_size=0)


def filter_file(config, width, folder):
    """Random directions, and the file that has them."""
    filters = torch.randn(config.num_hidden_layers, config.num_key_value_heads, width, generator=torch.Generator().manual_seed(1))
    path = os.path.join(folder, "q_filters.safetensors")
    save_file({"q_filters": filters}, path)
    return filters, path


def duo_file(config, folder):
    """Random scores of KV heads, and the file that has them."""
    scores = torch.rand(config.num_hidden_layers, config.num_key_value_heads, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
    path = os.path.join(folder, "distant_heads.json")
    with open(path, "w", encoding="utf-8") as f:
        json.dump(scores.tolist(), f)
    return scores.numpy(), path


def cases(width, filters, path, duo, duo_path, drop_kv, learned):
    """(name, press of a share removed and of the slots left, lane without its budget or with {n} where it stands, or of the share kept with what it has of one). Presses that
    score keys and values get no attention to read; DecodingPress removes nothing of the prompt, but after EVERY further tokens."""
    P = kvpress
    whole = f"cadence=every,every={EVERY},after_prompt=0"
    lev = dict(sketch_dimension=width)
    zip_ = lambda **keys: lambda r, n: P.KVzipPress(compression_ratio=r, **keys)
    both = lambda first, then: lambda r, n: P.PrefillDecodingPress(first(compression_ratio=r), every(then, n))
    both_in_order = lambda first, then: lambda r, n: P.PrefillDecodingPress(InOrder(first(compression_ratio=r)), every(then, n))
    norms = lambda kept: -5.0 if kept > 0.3 else -2.5                  # other shares, other thresholds
    zap = lambda kept: 0.5 if kept > 0.3 else 3.0
    ada = lambda press, **keys: lambda r, n: P.AdaKVPress(press(compression_ratio=r, **keys))
    drops = [] if drop_kv is None else [
        ("DropKVPress, proposed", lambda r, n: drop_kv(compression_ratio=r), "dropkv"),
        ("DropKVPress(window_size=8, kernel_size=3, epsilon=0.01), proposed",
         lambda r, n: drop_kv(compression_ratio=r, window_size=8, kernel_size=3, epsilon=0.01), "dropkv:window=8,kernel=3,eps=0.01")]
    return drops + [
        ("KVzipPress", zip_(), "kvzip"),
        ("KVzipPress(kvzip_plus_normalization)", zip_(kvzip_plus_normalization=True), "kvzip:plus=1"),
        ("KVzipPress(layerwise)", zip_(layerwise=True), "kvzip:layerwise=1"),
        ("KVzipPress(chunk_size=50)", zip_(chunk_size=50), "kvzip:repeat=50"),
        ("KVzipPress(plus, layerwise, 50, n_sink=2)", zip_(kvzip_plus_normalization=True, layerwise=True, chunk_size=50, n_sink=2),
         "kvzip:plus=1,layerwise=1,repeat=50,sinks=2"),
        ("DMSPress(KnormPress)", lambda r, n: P.DMSPress(P.KnormPress(), threshold=norms(1 - r), sliding_window_size=32),
         lambda kept: f"dms:threshold={norms(kept)},recent=32"),
        ("DMSPress(ExpectedAttentionPress)", lambda r, n: P.DMSPress(P.ExpectedAttentionPress(), threshold=0.004 * r, sliding_window_size=20),
         lambda kept: f"custom:stat=expected,select=threshold,score_threshold={0.004 * (1 - kept)!r},recent=20,sinks=4"),
        ("DuoAttentionPress(on_the_fly_scoring)", lambda r, n: SmallDuo(head_compression_ratio=0.8 * r, on_the_fly_scoring=True),
         lambda kept: f"duo:fly=1,sinks=4,recent=16,slots=40,sparsity={0.8 * (1 - kept)!r}"),
        ("DuoAttentionPress, heads of a file", lambda r, n: filed_duo(duo, 0.8 * r),
         lambda kept: f"duo:heads={duo_path},sinks=4,recent=16,slots=40,sparsity={0.8 * (1 - kept)!r}"),
        ("AdaKVPress(ExpectedAttentionPress), composed by hand", ada(P.ExpectedAttentionPress), "custom:stat=expected,alloc=ada"),
        ("AdaKVPress(CompactorPress), exact", ada(P.CompactorPress, blending=0.7, **lev), "custom:stat=compactor,sketch=0,blend=0.7,alloc=ada"),
        ("AdaKVPress(LeverageScorePress), exact", ada(P.LeverageScorePress, **lev), "custom:stat=leverage,sketch=0,alloc=ada"),
        ("AdaKVPress(LagKVPress)", ada(P.LagKVPress, lag_size=16), "custom:stat=lagkv,lag=16,alloc=ada"),
        ("AdaKVPress(LagKVPress(cross_scoring))", ada(P.LagKVPress, lag_size=16, cross_scoring=True), "custom:stat=lagkv,lag=16,cross=1,alloc=ada"),
        ("LagKVPress", lambda r, n: P.LagKVPress(compression_ratio=r, lag_size=16), "lagkv:lag=16"),
        ("LagKVPress(cross_scoring)", lambda r, n: P.LagKVPress(compression_ratio=r, lag_size=16, cross_scoring=True), "lagkv:lag=16,cross=1"),
        ("LagKVPress, short prompt", lambda r, n: P.LagKVPress(compression_ratio=r, lag_size=4096), "lagkv:lag=4096"),
        ("CURPress", lambda r, n: P.CURPress(compression_ratio=r), "cur"),
        ("LeverageScorePress, exact", lambda r, n: P.LeverageScorePress(compression_ratio=r, **lev), "leverage:sketch=0"),
        ("NonCausalAttnPress", lambda r, n: P.NonCausalAttnPress(compression_ratio=r), "noncausal"),
        ("NonCausalAttnPress(chunk_size=32)", lambda r, n: P.NonCausalAttnPress(compression_ratio=r, chunk_size=32), "noncausal:chunk=32"),
        ("CompactorPress, exact", lambda r, n: P.CompactorPress(compression_ratio=r, blending=0.7, **lev), "compactor:sketch=0,blend=0.7"),
        ("CompactorPress, exact, blending as it is", lambda r, n: P.CompactorPress(compression_ratio=r, **lev), "compactor:sketch=0"),
        ("ExpectedAttentionPress", lambda r, n: P.ExpectedAttentionPress(compression_ratio=r), "expected"),
        ("ExpectedAttentionPress(mean only)", lambda r, n: P.ExpectedAttentionPress(compression_ratio=r, use_covariance=False, use_vnorm=False),
         "expected:cov=0,vnorm=0"),
        ("ChunkKVPress(KnormPress)", lambda r, n: P.ChunkKVPress(P.KnormPress(compression_ratio=r)),
         "custom:stat=knorm,select=chunks,sinks=0,recent=0"),
        ("ChunkKVPress(CURPress, 8)", lambda r, n: P.ChunkKVPress(P.CURPress(compression_ratio=r, num_sinks=0), chunk_length=8),
         "custom:stat=cur,select=chunks,chunk=8,sinks=0,recent=0"),
        ("QFilterPress", lambda r, n: filtering(r, filters), f"qfilter:file={path}"),
        ("KVzapPress", lambda r, n: learned.zap("mlp", r), f"kvzap:file={learned.path['mlp']}"),
        ("KVzapPress(linear)", lambda r, n: learned.zap("linear", r), f"kvzap:file={learned.path['linear']}"),
        ("AdaKVPress(KVzapPress)", lambda r, n: P.AdaKVPress(learned.zap("mlp", r)), f"custom:stat=kvzap,kvzap_file={learned.path['mlp']},alloc=ada"),
        ("DMSPress(KVzapPress)", lambda r, n: P.DMSPress(learned.zap("mlp"), threshold=zap(1 - r), sliding_window_size=24),
         lambda kept: f"custom:stat=kvzap,kvzap_file={learned.path['mlp']},select=threshold,score_threshold={zap(kept)},recent=24"),
        ("DMSPress(KVzapPress(linear), decoding=True)", lambda r, n: P.DMSPress(learned.zap("linear"), threshold=zap(1 - r) / 4, sliding_window_size=12, decoding=True),
         lambda kept: f"custom:stat=kvzap,kvzap_file={learned.path['linear']},select=threshold,cadence=every_step,score_threshold={zap(kept) / 4},recent=12"),
        ("FastKVzipPress", lambda r, n: learned.gated(r), f"fastkvzip:file={learned.path['gates']}"),
        ("FastKVzipPress(layerwise, n_sink=2, window_ratio=0.1)", lambda r, n: learned.gated(r, layerwise=True, n_sink=2, window_ratio=0.1),
         f"fastkvzip:file={learned.path['gates']},layerwise=1,sinks=2,local=0.1"),
        ("LUKVPress", lambda r, n: learned.shared(r), f"lukv:file={learned.path['curves']}"),
        ("LUKVPress(KeyDiffPress, sink=2, window=3)", lambda r, n: learned.shared(r, P.KeyDiffPress(), sink=2, window=3),
         f"custom:stat=keydiff,cadence=once,alloc=curves,curves={learned.path['curves']},sinks=2,recent=3"),
        ("FinchPress", lambda r, n: finch(r), f"finch:window={QUESTION}"),
        ("FinchPress(normalize_scores=False)", lambda r, n: finch(r, False), f"finch:window={QUESTION},norm=0"),
        ("DecodingPress(KnormPress)", lambda r, n: every(P.KnormPress(), n), f"custom:stat=knorm,{whole},sinks=0,recent=0"),
        ("DecodingPress(KeyDiffPress)", lambda r, n: every(P.KeyDiffPress(), n), f"custom:stat=keydiff,{whole},sinks=0,recent=0"),
        ("DecodingPress(LagKVPress)", lambda r, n: every(P.LagKVPress(lag_size=16, cross_scoring=True), n), f"custom:stat=lagkv,lag=16,cross=1,{whole},recent=0"),
        ("DecodingPress(CURPress)", lambda r, n: every(P.CURPress(), n), f"custom:stat=cur,{whole},recent=0"),
        ("PrefillDecodingPress(ExpectedAttentionPress, DecodingPress(KeyDiffPress))", both(P.ExpectedAttentionPress, P.KeyDiffPress()),
         f'prefill_decode:prefill="expected:slots={{n}}",decode="custom:stat=keydiff,{whole},sinks=0,recent=0,slots={{n}}"'),
        ("PrefillDecodingPress(ExpectedAttentionPress, DecodingPress(LagKVPress)), in order", both_in_order(P.ExpectedAttentionPress, P.LagKVPress(lag_size=16, cross_scoring=True)),
         f'prefill_decode:prefill="expected:slots={{n}}",decode="custom:stat=lagkv,lag=16,cross=1,{whole},recent=0,slots={{n}}"'),
        ("PrefillDecodingPress(KeyDiffPress, DecodingPress(CURPress)), in order", both_in_order(P.KeyDiffPress, P.CURPress(num_sinks=0)),
         f'prefill_decode:prefill="keydiff:sinks=0,recent=0,slots={{n}}",decode="custom:stat=cur,{whole},sinks=0,recent=0,slots={{n}}"'),
    ]


# Read by both sides as they stand: kvpress makes the press, kvscope the run that it is an alias of.
ALIASES = (
    "KnormPress(compression_ratio={r})",
    "KeyDiffPress(compression_ratio={r})",
    "StreamingLLMPress(compression_ratio={r})",
    "SnapKVPress(compression_ratio={r})",
    "SnapKVPress(compression_ratio={r}, window_size=16)",
    "SnapKVPress(compression_ratio={r}, window_size=8, kernel_size=3)",
    "PyramidKVPress(compression_ratio={r}, window_size=8)",
    "PyramidKVPress(compression_ratio={r}, window_size=4, beta=4)",
    "PyramidKVPress(compression_ratio={r})",
    "KeyRerotationPress(StreamingLLMPress(compression_ratio={r}))",
    "KeyRerotationPress(KnormPress(compression_ratio={r}))",
    "KeyRerotationPress(SnapKVPress(compression_ratio={r}, window_size=16))",
    "KeyRerotationPress(ExpectedAttentionPress(compression_ratio={r}))",
    "TOVAPress(compression_ratio={r})",
    "ObservedAttentionPress(compression_ratio={r})",
    "LagKVPress(compression_ratio={r}, lag_size=16)",
    "NonCausalAttnPress(compression_ratio={r})",
    "CURPress(compression_ratio={r})",
    "ExpectedAttentionPress(compression_ratio={r}, epsilon=1e-2)",
    "AdaKVPress(ExpectedAttentionPress(compression_ratio={r}))",
    "AdaKVPress(ExpectedAttentionPress(compression_ratio={r}, epsilon=1e-2), alpha_safeguard=0.5)",
    "AdaKVPress(SnapKVPress(compression_ratio={r}))",
    "AdaKVPress(SnapKVPress(compression_ratio={r}, window_size=16))",
    "AdaKVPress(SnapKVPress(compression_ratio={r}, window_size=8), alpha_safeguard=0.6)",
    "AdaKVPress(KnormPress(compression_ratio={r}))",
    "AdaKVPress(KeyDiffPress(compression_ratio={r}), alpha_safeguard=0.1)",
    "AdaKVPress(CURPress(compression_ratio={r}))",
    "AdaKVPress(NonCausalAttnPress(compression_ratio={r}))",
    "CriticalKVPress(SnapKVPress(compression_ratio={r}, window_size=16))",
    "CriticalKVPress(SnapKVPress(compression_ratio={r}, window_size=8), first_stage_ratio=0.25)",
    "CriticalKVPress(ExpectedAttentionPress(compression_ratio={r}, use_vnorm=False))",
    "CriticalKVPress(CURPress(compression_ratio={r}))",
    "CriticalAdaKVPress(SnapKVPress(compression_ratio={r}, window_size=16))",
    "CriticalAdaKVPress(SnapKVPress(compression_ratio={r}, window_size=8), alpha_safeguard=0.5, first_stage_ratio=0.25)",
    "CriticalAdaKVPress(ExpectedAttentionPress(compression_ratio={r}, use_vnorm=False))",
    "ChunkKVPress(SnapKVPress(compression_ratio={r}, window_size=16), chunk_length=10)",
    "ChunkKVPress(ExpectedAttentionPress(compression_ratio={r}))",
    "ChunkKVPress(KeyDiffPress(compression_ratio={r}), chunk_length=7)",
    "DMSPress(KeyDiffPress(), threshold=-0.9, sliding_window_size=24)",
)


def aliases():
    for text in ALIASES:
        yield text.format(r="c"), lambda r, n, text=text: eval(text.format(r=r), vars(kvpress).copy()), lambda kept, text=text: text.format(r=1 - kept)


def dims(width):
    """(name, press, lane) of presses that leave every position and part of its key. Compared is what the model says: logits after the prompt and
    after further tokens, within 1e-9 of the largest."""
    P = kvpress
    return [(f"ThinKPress({share}, window_size={window})", P.ThinKPress(key_channel_compression_ratio=share, window_size=window), f"think:pruned={share},window={window}")
            for share in (0.25, 0.5, 0.75) for window in (16, 32)]


def kvpress_says(model, tokens, more, press):
    """[1 + more, vocab] logits."""
    model.config._attn_implementation = "eager"
    cache, out = DynamicCache(), []
    with torch.no_grad(), press(model):
        out.append(model(torch.tensor([tokens]), past_key_values=cache).logits[0, -1])
        for place, token in enumerate(more, len(tokens)):
            place = torch.tensor([place])
            out.append(model(torch.tensor([[token]]), past_key_values=cache, position_ids=place[None], cache_position=place).logits[0, -1])
    return torch.stack(out)


def kvscope_says(cli, folder, tokens, more, lane):
    steps = kvscope_steps(cli, folder, tokens, more, lane, "--detail", "summary", "--logits", "all")
    out = torch.empty(len(steps), len(steps[0]["logits_top"]), dtype=torch.float64)
    for row, step in zip(out, steps, strict=True):
        for token, logit in step["logits_top"]:
            row[token] = logit
    return out


def recording(press):
    """The press, and the scores [layer] that it made."""
    of_steps = getattr(press, "decoding_press", press)
    scorer = getattr(of_steps, "press", getattr(of_steps, "base_press", of_steps))
    scores = {}
    if isinstance(press, (kvpress.KVzipPress, kvpress.FastKVzipPress)):
        plain_end = press.compress_post

        def compress_post(model):
            plain_end(model)
            scores.update(enumerate(x[0].clone() for x in press.score_val))
        object.__setattr__(press, "compress_post", compress_post)
        return press, scores
    if not hasattr(scorer, "score"):
        return press, scores
    plain = scorer.score

    def score(module, *args, **kwargs):
        out = plain(module, *args, **kwargs)
        scores[module.layer_idx] = out[0].clone()
        return out
    object.__setattr__(scorer, "score", score)
    return press, scores


def kvpress_keeps(model, tokens, more, press):
    """[layer][head] -> set of positions after the prompt and these further tokens, by the rows of keys that are left or by what is masked; and the press's scores."""
    masks = isinstance(press, (kvpress.KVzipPress, kvpress.FastKVzipPress, lukv_press.LUKVPress, kvpress.DMSPress, kvpress.DuoAttentionPress, kvpress.AdaKVPress, kvpress.CriticalAdaKVPress))
    model.config._attn_implementation = "sdpa" if masks else "eager"
    if isinstance(press, kvpress.KeyRerotationPress):                  # keys that are turned are no keys of the run before
        return rerotated(model, tokens, press)
    caches, scores = [], {}
    # of two presses the first one alone, too: what it took changes the keys of what follows, which the second one keeps or takes
    first = [press.prefilling_press] if isinstance(press, kvpress.PrefillDecodingPress) else []
    for one in (None, *first, press):
        context = contextlib.nullcontext()
        if one is not None:
            one, scores = recording(one)
            context = one(model)
        cache = DynamicCache()
        with torch.no_grad(), context:
            model(torch.tensor([tokens]), past_key_values=cache)
            for place, token in enumerate(more, len(tokens)):
                place = torch.tensor([place])
                model(torch.tensor([[token]]), past_key_values=cache, position_ids=place[None], cache_position=place)
        caches.append([layer.keys[0] for layer in cache.layers])
    kept = []
    for l, layer in enumerate(model.model.layers if masks else []):
        every = [set(range(caches[0][l].shape[1])) for _ in range(caches[0][l].shape[0])]
        masked = layer.self_attn.masked_key_indices
        for h, i in zip(masked[1].tolist(), masked[2].tolist()) if masked is not None else ():
            every[h].discard(i)
        kept.append(every)
    of_places = {}
    for layers in zip(*caches) if not masks else ():
        kept.append([])
        for h in range(layers[0].shape[0]):
            places = list(range(layers[0].shape[1]))
            for had, left in zip(layers, layers[1:]):
                if had is layers[1]:                                   # scores are of rows, which are other positions by now
                    l = len(kept) - 1
                    of_places.setdefault(l, {})[h] = dict(zip(places, scores[l][h]))
                after = more if len(layers) > 2 and left is layers[1] else []      # rows of which no other run has the like
                rows = left[h][:left.shape[1] - len(after)]
                distance = (rows[:, None] - had[h][None]).abs().amax(-1)
                assert float(distance.amin(1).max()) == 0, "a key of kvpress is not a key of the run before"
                places = [places[int(i)] for i in distance.argmin(1)] + list(range(len(tokens), len(tokens) + len(after)))
            kept[-1].append(set(places))
            assert len(kept[-1][-1]) == layers[-1].shape[1]
    return kept, of_places or scores


def rerotated(model, tokens, press):
    """As kvpress_keeps, by the rows that were chosen to be turned."""
    press.press, scores = recording(press.press)
    kept, turn = {}, press.rerotate_keys

    def rerotate_keys(module, indices, keys):
        kept[module.layer_idx] = [set(row.tolist()) for row in indices[0]]
        return turn(module, indices, keys)
    press.rerotate_keys = rerotate_keys
    with torch.no_grad(), press(model):
        model(torch.tensor([tokens]), past_key_values=DynamicCache())
    return [kept[l] for l in sorted(kept)], scores


def kvscope_steps(cli, folder, tokens, more, lane, *asked):
    with tempfile.TemporaryDirectory() as work:
        out, follow = os.path.join(work, "trace.json"), os.path.join(work, "follow.json")
        with open(follow, "w", encoding="utf-8") as f:
            json.dump(more, f)
        command = [cli, "trace", "--model", folder, "--prompt-ids", ",".join(map(str, tokens)), "--precision", "f64", "--device", "cpu",
                   "--quiet", *asked, "--lane", lane, "--out", out, *(["--follow", follow] if more else ["--generate", "0"])]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{lane}: {done.stderr.strip()}")
        with open(out, encoding="utf-8") as f:
            return json.load(f)["lanes"][-1]["steps"]


def kvscope_keeps(cli, folder, tokens, more, lane):
    kept = {}
    for head in kvscope_steps(cli, folder, tokens, more, lane, "--detail", "slots")[len(more)]["heads"]:
        kept.setdefault(head["layer"], []).append({slot[0] for slot in head["slots"]})
    return [kept[l] for l in sorted(kept)]


def tied(score, ours, theirs):
    """True: what only one side keeps scores alike in kvpress, up to TIE. score: by place, of those that it could keep."""
    if isinstance(score, dict) and not ours ^ theirs <= score.keys():
        return False
    a, b = sorted(float(score[i]) for i in ours - theirs), sorted(float(score[i]) for i in theirs - ours)
    return len(a) == len(b) and all(abs(x - y) <= TIE * max(1.0, abs(x)) for x, y in zip(a, b))


def exchanged_alike(scores, ours, theirs):
    """True: over all heads together, what only one side keeps scores alike in kvpress, up to TIE."""
    only = lambda a, b: sorted(float(scores[l][h][i]) for l in range(len(a)) for h in range(len(a[l])) for i in a[l][h] - b[l][h])
    a, b = only(ours, theirs), only(theirs, ours)
    return len(a) == len(b) and all(abs(x - y) <= TIE * max(1.0, abs(x)) for x, y in zip(a, b))


def tokens_of(cli, folder, prompt):
    out = subprocess.run([cli, "tokens", "--model", folder, "--text-file", prompt, "--json"], capture_output=True, text=True)
    if out.returncode:
        raise SystemExit(out.stderr)
    answer = json.loads(out.stdout)
    return [t["id"] if isinstance(t, dict) else t for t in (answer["tokens"] if isinstance(answer, dict) else answer)]


def prompts_of(o, words, vocabulary):
    """(name, tokens)"""
    for prompt in PROMPTS:
        if words.silent:
            yield f"random {prompt}", random.Random(prompt).sample(range(3, vocabulary), min(vocabulary - 3, 180))
            continue
        with open(os.path.join(ROOT, "assets", "prompts", prompt), encoding="utf-8") as f:
            text = f.read()
        if words.chat_template:
            turn = words.apply_chat_template([{"role": "user", "content": text}], True, False, False)
            opening, rest = turn[:turn.index(text)], turn[turn.index(text):]
            yield prompt, words.ids(opening) + words.ids(rest)
        else:
            yield prompt, words.ids(text)


class Count:
    """Heads of one case in one model."""

    def __init__(self):
        self.equal = self.ties = self.different = 0

    def __str__(self):
        parts = [f"{n} {word}" for n, word in ((self.equal, "equal"), (self.ties, "tied"), (self.different, "**different**")) if n]
        return ", ".join(parts)


def compare_sets(o, model, words, case, folder):
    name, press_of, lane = case
    count = Count()
    recorded[0] = "ObservedAttention" in name
    for prompt, tokens in prompts_of(o, words, model.config.vocab_size):
        words.text_ids = tokens
        for ratio in RATIOS:
            n = int(len(tokens) * ratio)
            removed = 1 - (n + 0.5) / len(tokens)                      # so that kvpress keeps int(n + 0.5)
            if name.startswith(("KVzip", "FastKVzip")):
                removed = 1 - n / len(tokens) + 1e-12                  # it counts what goes, over all heads
            if name.startswith("LUKV"):
                removed = 1 - n / len(tokens)                          # it looks for the nearest per cent
            if name.startswith("ChunkKV") or name.endswith("blending as it is"):
                removed = 1 - n / len(tokens) - 1e-12                  # it counts chunks, or weighs by what goes
            press = press_of(removed if not callable(lane) else 1 - ratio, n)
            spec = lane(ratio) if callable(lane) else lane.replace("{n}", str(n)) if "{n}" in lane else f"{lane}{',' if ':' in lane else ':'}slots={n}"
            more = tokens[:EVERY] if "cadence=every" in spec else []
            theirs, scores = kvpress_keeps(model, tokens, more, press)
            ours = kvscope_keeps(o.cli, folder, tokens, more, spec)
            alike = name.startswith(("KVzip", "FastKVzip")) and exchanged_alike(scores, ours, theirs)
            for l, layer in enumerate(theirs):
                of_layer = name.startswith("AdaKV") and l in scores and exchanged_alike([scores[l]], [ours[l]], [layer])
                for h, b in enumerate(layer):
                    a = ours[l][h]
                    if a == b:
                        count.equal += 1
                    elif alike or of_layer or (l in scores and tied(scores[l][h], a, b)):
                        count.ties += 1
                    else:
                        count.different += 1
                        print(f"{name} {prompt} {ratio} layer {l} head {h}: only kvscope {sorted(a - b)[:6]}, only kvpress {sorted(b - a)[:6]}")
    return count


def compare_logits(o, model, words, case, folder):
    name, press, lane = case
    worst = 0.0
    for _, tokens in prompts_of(o, words, model.config.vocab_size):
        more = tokens[:EVERY]
        theirs, ours = kvpress_says(model, tokens, more, press), kvscope_says(o.cli, folder, tokens, more, lane)
        worst = max(worst, float((theirs - ours).abs().max() / theirs.abs().max()))
    return worst


def random_model(shape, work, **other):
    """Two layers, eight query heads, four KV heads where nothing else is said; the same weights every time."""
    torch.manual_seed(5)
    sizes = dict(hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=8, num_key_value_heads=4, head_dim=16, vocab_size=512,
                 max_position_embeddings=512, initializer_range=0.3, bos_token_id=1, eos_token_id=2)
    sizes.update(other)
    if shape == "llama3":
        scaling = dict(rope_type="llama3", rope_theta=5e5, factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=64)
        model = transformers.LlamaForCausalLM(transformers.LlamaConfig(**sizes, rope_parameters=scaling))
    else:
        model = transformers.Qwen3ForCausalLM(transformers.Qwen3Config(**sizes, rope_parameters=dict(rope_type="default", rope_theta=1e6), tie_word_embeddings=True))
    folder = os.path.join(work, "-".join((shape, *other)))
    model.save_pretrained(folder)
    return folder


def with_chat(folder, work):
    copy = shutil.copytree(folder, os.path.join(work, "with-chat"), ignore=shutil.ignore_patterns("train"))
    with open(os.path.join(copy, "chat_template.jinja"), "w", encoding="utf-8") as f:
        f.write("Somebody says:\n{% for m in messages %}{{ m.content }}\nThat was {{ m.role }}.\n{% endfor %}"
                "{% if add_generation_prompt %}And the answer is:\n{% endif %}")
    return copy


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ap.add_argument("cli")
    ap.add_argument("--model", action="append", default=[])
    ap.add_argument("--chat", action="store_true")
    ap.add_argument("--only", default="", help="cases whose name contains this")
    ap.add_argument("--proposed", default="", help="folder of presses that are in no release")
    ap.add_argument("--write", default="")
    o = ap.parse_args()
    work = tempfile.TemporaryDirectory()
    models = o.model or [EMBEDDED, *(random_model(shape, work.name) for shape in SHAPES)]
    drop_kv = proposed(o.proposed, "dropkv_press", "DropKVPress")
    rows, said, bad = {}, {}, 0                                        # by name: the lane, and of each model what came out
    for place, folder in enumerate(models):
        folder = with_chat(folder, work.name) if o.chat else folder
        model, words = load(folder), Words(o.cli, folder)
        kvzip_press.AutoTokenizer = duo_attention_press.AutoTokenizer = type("", (), {"from_pretrained": staticmethod(lambda name, words=words: words)})
        width = getattr(model.config, "head_dim", None) or model.config.hidden_size // model.config.num_attention_heads
        for case in [*cases(width, *filter_file(model.config, width, work.name), *duo_file(model.config, work.name), drop_kv, Learned(model.config, work.name)), *aliases()]:
            if o.only not in case[0]:
                continue
            count = compare_sets(o, model, words, case, folder)
            bad += count.different
            shown = "as it stands" if case[0] in {name for name, _, _ in aliases()} else (case[2](RATIOS[0]) if callable(case[2]) else case[2]).replace(work.name + os.sep, "")
            rows.setdefault(case[0], [shown if place == 0 or case[0] not in rows else rows[case[0]][0]]).append(str(count))
            print(f"{os.path.basename(os.path.abspath(folder))}: {case[0]}: {count}", flush=True)
        for case in dims(width):
            if o.only not in case[0]:
                continue
            worst = compare_logits(o, model, words, case, folder)
            bad += worst > TIE
            said.setdefault(case[0], [case[2]]).append(f"{worst:.1e}")
            print(f"{os.path.basename(os.path.abspath(folder))}: {case[0]}: {worst:.1e}", flush=True)
    if o.write:
        write_results(o.write, [os.path.basename(os.path.abspath(m)) for m in models], rows, said)
    return 1 if bad else 0


def write_results(path, models, rows, said):
    head = f"| kvpress | kvscope | {' | '.join(models)} |\n|---|---|{'---|' * len(models)}\n"
    table = lambda of: head + "\n".join(f"| `{name}` | {cells[0] if cells[0] == 'as it stands' else f'`{cells[0]}`'} | {' | '.join(cells[1:])} |" for name, cells in of.items())
    with open(path, "w", encoding="utf-8") as f:
        f.write("# kvscope beside kvpress 0.5.5\n\nWritten by kvpress.py: sets of positions that each (layer, KV head) keeps after the prompt, both sides in float64,\n"
                f"where `every` is given after {EVERY} further tokens; filters, networks, gates and curves drawn at random, a question of {QUESTION} tokens;\n"
                f"prompts {' and '.join(PROMPTS)} (of models without a tokenizer random ids), shares kept {' and '.join(map(str, RATIOS))}. A tie: what was exchanged scores alike, within 1e-9.\n"
                "`as it stands`: both programs read the same words, `c` the share removed.\n\n" + table(rows) + "\n\n"
                f"Presses that leave every position and part of its key: largest difference of logits after the prompt and {EVERY} further tokens, over the largest logit.\n\n" + table(said) + "\n")


if __name__ == "__main__":
    sys.exit(main())
