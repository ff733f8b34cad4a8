#!/usr/bin/env python3
"""Which positions kvpress 0.5.5 and kvscope keep after a prompt, per layer and KV head, both in float64 on the same weights.

kvpress.py CLI [--model FOLDER] [--write RESULTS.md]

Needs kvpress==0.5.5, torch and transformers<5.3 (python3 -m venv V; V/bin/pip install torch 'transformers<5.3' kvpress==0.5.5); exit status 77
without them. A difference is explained where every exchanged slot scores within 1e-9 of the one it was exchanged for, in kvpress itself.
"""
import argparse
import contextlib
import json
import math
import os
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
    from kvpress.presses import leverage_press, non_causal_attention_press
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

TIE = 1e-9
PROMPTS = ("facts.txt", "needle.txt")
RATIOS = (0.2, 0.5)                                                    # share kept


# ---- transformers keeps norms, angles and softmax in float32 also in a model of doubles
def norm64(self, x):
    return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.variance_epsilon))


def rope64(self, x, position_ids):
    config = self.config
    rope = config.rope_parameters
    if rope.get("rope_type", "default") != "default":
        raise SystemExit(f"rope_type {rope['rope_type']}: only unscaled frequencies are written in float64 here")
    width = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    frequency = 1.0 / (float(rope["rope_theta"]) ** (torch.arange(0, width, 2, dtype=torch.float64) / width))
    angle = position_ids[:, :, None].double() * frequency
    angle = torch.cat((angle, angle), -1)
    return angle.cos(), angle.sin()


def attention64(module, query, key, value, attention_mask, scaling, dropout=0.0, **kwargs):
    key, value = (llama.repeat_kv(x, module.num_key_value_groups) for x in (key, value))
    n = key.shape[-2]
    seen = torch.ones(query.shape[-2], n, dtype=torch.bool).tril(n - query.shape[-2])
    weights = torch.softmax((query @ key.transpose(2, 3) * scaling).masked_fill(~seen, -torch.inf), -1)
    return (weights @ value).transpose(1, 2).contiguous(), None        # no press here reads recorded attention


class InDoubles:
    """torch as the presses see it: what they cast to float32 stays a double, and a random sketch is the identity."""
    float32 = torch.float64

    def __getattr__(self, name):
        return getattr(torch, name)

    def randn(self, *shape, **kwargs):
        return torch.eye(shape[-2], dtype=torch.float64).expand(*shape) * math.sqrt(shape[-1])


def load(folder):
    transformers.utils.logging.disable_progress_bar()
    llama.LlamaRMSNorm.forward, llama.LlamaRotaryEmbedding.forward = norm64, rope64
    llama.eager_attention_forward = attention64
    leverage_press.torch = non_causal_attention_press.torch = InDoubles()
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager")
    return model.double().eval()


def cases(width):
    """(name, press of a share removed, lane without its budget). Presses that score keys and values get no attention to read."""
    P = kvpress
    lev = dict(sketch_dimension=width)
    return [
        ("LagKVPress", lambda r: P.LagKVPress(compression_ratio=r, lag_size=16), "lagkv:lag=16"),
        ("LagKVPress(cross_scoring)", lambda r: P.LagKVPress(compression_ratio=r, lag_size=16, cross_scoring=True), "lagkv:lag=16,cross=1"),
        ("LagKVPress, short prompt", lambda r: P.LagKVPress(compression_ratio=r, lag_size=4096), "lagkv:lag=4096"),
        ("CURPress", lambda r: P.CURPress(compression_ratio=r), "cur"),
        ("LeverageScorePress, exact", lambda r: P.LeverageScorePress(compression_ratio=r, **lev), "leverage:sketch=0"),
        ("NonCausalAttnPress", lambda r: P.NonCausalAttnPress(compression_ratio=r), "noncausal"),
        ("NonCausalAttnPress(chunk_size=32)", lambda r: P.NonCausalAttnPress(compression_ratio=r, chunk_size=32), "noncausal:chunk=32"),
        ("CompactorPress, exact", lambda r: P.CompactorPress(compression_ratio=r, blending=0.7, **lev), "compactor:sketch=0,blend=0.7"),
        ("ExpectedAttentionPress", lambda r: P.ExpectedAttentionPress(compression_ratio=r), "expected"),
        ("ExpectedAttentionPress(mean only)", lambda r: P.ExpectedAttentionPress(compression_ratio=r, use_covariance=False, use_vnorm=False),
         "expected:cov=0,vnorm=0"),
        ("ChunkKVPress(KnormPress)", lambda r: P.ChunkKVPress(P.KnormPress(compression_ratio=r)),
         "custom:stat=knorm,select=chunks,sinks=0,recent=0"),
        ("ChunkKVPress(CURPress, 8)", lambda r: P.ChunkKVPress(P.CURPress(compression_ratio=r, num_sinks=0), chunk_length=8),
         "custom:stat=cur,select=chunks,chunk=8,sinks=0,recent=0"),
    ]


def recording(press):
    """The press, and the scores [layer] that it made."""
    scorer = press.press if hasattr(press, "press") else press
    scores, plain = {}, scorer.score

    def score(module, *args, **kwargs):
        out = plain(module, *args, **kwargs)
        scores[module.layer_idx] = out[0].clone()
        return out
    object.__setattr__(scorer, "score", score)
    return press, scores


def kvpress_keeps(model, tokens, press):
    """[layer][head] -> set of positions, by the rows of keys that are left; and the press's scores."""
    caches, scores = [], {}
    for one in (None, press):
        context = contextlib.nullcontext()
        if one is not None:
            one, scores = recording(one)
            context = one(model)
        cache = DynamicCache()
        with torch.no_grad(), context:
            model(torch.tensor([tokens]), past_key_values=cache)
        caches.append([layer.keys[0] for layer in cache.layers])
    kept = []
    for full, left in zip(*caches):
        kept.append([])
        for h in range(full.shape[0]):
            distance = (left[h][:, None] - full[h][None]).abs().amax(-1)
            assert float(distance.amin(1).max()) == 0, "a key of kvpress is not a key of the prompt"
            kept[-1].append({int(i) for i in distance.argmin(1)})
            assert len(kept[-1][-1]) == left.shape[1]
    return kept, scores


def kvscope_keeps(cli, folder, tokens, lane):
    with tempfile.TemporaryDirectory() as work:
        out = os.path.join(work, "trace.json")
        command = [cli, "trace", "--model", folder, "--prompt-ids", ",".join(map(str, tokens)), "--generate", "0", "--precision", "f64", "--device", "cpu",
                   "--quiet", "--detail", "slots", "--lane", lane, "--out", out]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{lane}: {done.stderr.strip()}")
        with open(out, encoding="utf-8") as f:
            steps = json.load(f)["lanes"][-1]["steps"]
    kept = {}
    for head in steps[0]["heads"]:
        kept.setdefault(head["layer"], []).append({slot[0] for slot in head["slots"]})
    return [kept[l] for l in sorted(kept)]


def tied(score, ours, theirs):
    """True: what only one side keeps scores alike in kvpress, up to TIE."""
    a, b = sorted(float(score[i]) for i in ours - theirs), sorted(float(score[i]) for i in theirs - ours)
    return len(a) == len(b) and all(abs(x - y) <= TIE * max(1.0, abs(x)) for x, y in zip(a, b))


def tokens_of(cli, folder, prompt):
    out = subprocess.run([cli, "tokens", "--model", folder, "--text-file", prompt, "--json"], capture_output=True, text=True)
    if out.returncode:
        raise SystemExit(out.stderr)
    answer = json.loads(out.stdout)
    return [t["id"] if isinstance(t, dict) else t for t in (answer["tokens"] if isinstance(answer, dict) else answer)]


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    ap.add_argument("cli")
    ap.add_argument("--model", default=os.path.join(ROOT, "assets", "models", "kvmini"))
    ap.add_argument("--write", default="")
    o = ap.parse_args()
    model = load(o.model)
    width = getattr(model.config, "head_dim", None) or model.config.hidden_size // model.config.num_attention_heads
    rows, bad = [], 0
    for name, press_of, lane in cases(width):
        equal = ties = different = 0
        for prompt in PROMPTS:
            tokens = tokens_of(o.cli, o.model, os.path.join(ROOT, "assets", "prompts", prompt))
            for ratio in RATIOS:
                n = int(len(tokens) * ratio)
                removed = 1 - (n + 0.5) / len(tokens)                  # so that kvpress keeps int(n + 0.5)
                theirs, scores = kvpress_keeps(model, tokens, press_of(removed))
                ours = kvscope_keeps(o.cli, o.model, tokens, f"{lane}{',' if ':' in lane else ':'}slots={n}")
                for l, (a, b) in enumerate(zip(ours, theirs)):
                    for h in range(len(b)):
                        if a[h] == b[h]:
                            equal += 1
                        elif tied(scores[l][h], a[h], b[h]):
                            ties += 1
                        else:
                            different += 1
                            print(f"{name} {prompt} {ratio} layer {l} head {h}: only kvscope {sorted(a[h] - b[h])[:6]}, only kvpress {sorted(b[h] - a[h])[:6]}")
        bad += different
        rows.append(f"| `{name}` | `{lane}` | {equal} | {ties} | {different} |")
        print(rows[-1], flush=True)
    if o.write:
        with open(o.write, "w", encoding="utf-8") as f:
            f.write("# kvscope beside kvpress 0.5.5\n\nWritten by kvpress.py: sets of positions that each (layer, KV head) keeps after the prompt, both sides in float64,\n"
                    f"model {os.path.basename(os.path.abspath(o.model))}, prompts {' and '.join(PROMPTS)}, shares kept {' and '.join(map(str, RATIOS))}. A tie: what was exchanged scores alike, within 1e-9.\n\n"
                    "| kvpress | kvscope | equal | tie | different |\n|---|---|---|---|---|\n" + "\n".join(rows) + "\n")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
