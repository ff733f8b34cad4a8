"""Trains the feature maps of `less` for a model whose weights stay as they are (LESS, ICML 2024; POLICIES.md section 4.4).

kvscope-cli tokens --model MODEL --text-file TEXT --json >tokens.json
less.py MODEL tokens.json [--out MODEL/less_maps.safetensors] [--bases h2o,streaming] [--sequences 128] [--steps 1000] [--threads 2]

MODEL: a folder in the Hugging Face layout that transformers opens; TEXT: some hundred kilobytes of what it was trained on. A model of some
million weights takes minutes on two threads. Layers whose attention has a window or a cap are refused: nobody evicts there by this policy.

What the base policy evicts is known from the frozen model: in each of some hundred sequences the prompt's length and the budget are drawn,
the base decides as it does in a run, and every later query is a sample: with the evicted tokens in the state its head is to say what all
tokens would have said. The loss is the mean square of the difference after W_O, layer by layer.
"""
import argparse
import hashlib
import json
import math
import os
import time

import torch
import torch.nn.functional as F
import transformers

from export import save_safetensors, stored

TOKENS = 512                    # of a sequence
HELD_OUT = 16                   # sequences that nothing is trained on
WIDTH, HIDDEN = 8, 32           # features of a key or query, and width of the layer before them
QUERIES = 48                    # of a sequence, all after its prompt, are samples
BATCH, RATE = 4, 5e-3           # sequences of a training step


def attention_inputs(folder, ids):
    """Per layer (q [n, heads, tokens, d], k, v [n, KV heads, tokens, d], scale, W_O) of the sequences ids [n, tokens]."""
    seen = []

    def attend(module, q, k, v, mask, scaling, **more):
        if more.get("sliding_window") or more.get("softcap"):
            raise SystemExit(f"{folder}: expected attention over all tokens without a cap, got a layer with one of them")
        seen.append((q.half(), k.half(), v.half(), scaling, module.o_proj.weight.float()))
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=scaling, enable_gqa=True)
        return out.transpose(1, 2).contiguous(), None

    transformers.AttentionInterface.register("seen", attend)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, attn_implementation="seen", dtype=torch.float32)
    parts = []
    for some in ids.split(8):
        seen.clear()
        model.model(input_ids=some)
        parts.append(list(seen))
    return [tuple(torch.cat([p[l][i] for p in parts]).float() for i in range(3)) + parts[0][l][3:] for l in range(len(parts[0]))]


def evicted_h2o(q, k, scale, prompt, slots, at):
    """bool [n, KV heads, queries, tokens]: what had gone when the queries at [n, queries] came. The newest half of the slots is protected,
    the rest goes by the attention that it collected: all that is too much after the prompt, then a token for each that comes."""
    n, heads, tokens, d = k.shape
    q = q.reshape(n, heads, -1, tokens, d)
    gone = torch.zeros(n, heads, at.shape[1], tokens, dtype=torch.bool)
    kept = torch.zeros(n, heads, tokens, dtype=torch.bool)
    sums = torch.zeros(n, heads, tokens)
    recent = torch.floor(slots * 0.5 + 0.5)
    for t in range(tokens):
        asked = (at == t).nonzero()
        gone[asked[:, 0], :, asked[:, 1], :t] = ~kept[asked[:, 0], :, :t]
        kept[:, :, t] = True
        z = torch.einsum("nhgd,nhtd->nhgt", q[:, :, :, t], k[:, :, :t + 1]) * scale
        sums[:, :, :t + 1] += z.masked_fill(~kept[:, :, None, :t + 1], -math.inf).softmax(-1).mean(2)
        for i in (prompt == t + 1).nonzero()[:, 0].tolist():
            best = sums[i, :, :t + 1].clone()
            best[:, t + 1 - int(recent[i]):] = math.inf
            kept[i].zero_().scatter_(-1, best.topk(min(int(slots[i]), t + 1), -1).indices, True)
        late = ((prompt < t + 1) & (kept[:, 0].sum(-1) > slots)).nonzero()[:, 0]
        if len(late):
            newest = torch.arange(t + 1) > t - recent[late, None]
            rest = sums[late, :, :t + 1].masked_fill(~kept[late, :, :t + 1] | newest[:, None], math.inf)
            kept[late[:, None], torch.arange(heads)[None], rest.argmin(-1)] = False
    return gone


def evicted_streaming(q, k, scale, prompt, slots, at, sinks=4):
    """The same of the first tokens and the newest: no query is asked."""
    i = torch.arange(k.shape[2])
    gone = (i >= sinks) & (i < (at - (slots - sinks)[:, None])[..., None])
    return gone[:, None].expand(-1, k.shape[1], -1, -1)


BASES = {"h2o": evicted_h2o, "streaming": evicted_streaming}


class Maps(torch.nn.Module):
    """Features of the queries and keys of a layer's KV heads: not negative, WIDTH of each."""
    def __init__(self, heads, d, level):
        super().__init__()
        p = lambda *shape: torch.nn.Parameter((torch.rand(*shape) * 2 - 1) * math.sqrt(3 / (shape[-1] + shape[-2])))
        self.q1, self.q2, self.k1, self.k2 = p(heads, d, HIDDEN), p(heads, HIDDEN, WIDTH), p(heads, d, HIDDEN), p(heads, HIDDEN, WIDTH)
        self.k3 = torch.nn.Parameter(torch.eye(WIDTH).repeat(heads, 1, 1) + 0.1 * torch.randn(heads, WIDTH, WIDTH))
        self.level = torch.nn.Parameter(level.clone())          # ln of a factor of a head's features of keys

    def queries(self, q):
        """[n, KV heads, ..., d]"""
        return F.gelu(times(F.gelu(times(q, self.q1)), self.q2)).abs()

    def keys(self, k):
        return times(F.gelu(times(F.gelu(times(k, self.k1)), self.k2)), self.k3 * self.level.exp()[:, None, None]).abs()

    def tensors(self):
        return {"query_1": self.q1, "query_2": self.q2, "key_1": self.k1, "key_2": self.k2,
                "key_3": self.k3 * self.level.exp()[:, None, None]}


def times(x, w):
    """x [n, heads, ..., a], w [heads, a, b]"""
    return torch.einsum("nh...a,hab->nh...b", x, w)


class Layer:
    """The samples of a layer: what each query gets without the state, and what all tokens would have said. gone: as evicted_h2o() has it."""
    def __init__(self, q, k, v, scale, wo, gone, at):
        n, heads, tokens, d = k.shape
        self.k, self.v, self.gone = k, v, gone
        q = q.reshape(n, heads, -1, tokens, d)
        self.q = torch.stack([x[:, :, rows] for x, rows in zip(q, at)])
        self.wo = wo.reshape(wo.shape[0], heads, -1, d)
        z = torch.einsum("nhgqd,nhtd->nhgqt", self.q, k) * scale
        z.masked_fill_((torch.arange(tokens) > at[..., None])[:, None, None], -math.inf)
        self.full = z.softmax(-1) @ v[:, :, None]
        away = gone[:, :, None]
        self.level = torch.where(away, z, 0).sum((0, 2, 3, 4)) / (away.sum((0, 2, 3, 4)) * q.shape[2]).clamp(min=1)
        z.masked_fill_(away, -math.inf)
        self.mass = z.logsumexp(-1)
        self.kept = z.softmax(-1) @ v[:, :, None]

    def after_wo(self, o):
        return torch.einsum("nhgqd,whgd->nqw", o, self.wo)

    def error(self, maps, which):
        """Mean square of what is missing after W_O in the sequences `which`, with the state and without."""
        s = torch.einsum("nhgqr,nhtr->nhgqt", maps.queries(self.q[which]), maps.keys(self.k[which])) * self.gone[which][:, :, None]
        total = s.sum(-1) + 1e-30
        share = torch.sigmoid(total.log() - self.mass[which])[..., None]
        kept, full = self.kept[which], self.full[which]
        o = (1 - share) * kept + share * (s @ self.v[which][:, :, None]) / total[..., None]
        return self.after_wo(o - full).square().mean(), self.after_wo(kept - full).square().mean()


def train(layer, steps):
    n, heads, tokens, d = layer.k.shape
    maps = Maps(heads, d, layer.level)
    best = torch.optim.Adam(maps.parameters(), lr=RATE)
    rate = torch.optim.lr_scheduler.OneCycleLR(best, RATE, total_steps=steps, pct_start=0.05)
    usual = None                                                    # error without the state
    for _ in range(steps):
        error, without = layer.error(maps, torch.randint(0, n - HELD_OUT, (BATCH,)))
        usual = without.item() if usual is None else 0.98 * usual + 0.02 * without.item()
        best.zero_grad()
        (error / usual).backward()
        torch.nn.utils.clip_grad_norm_(maps.parameters(), 1.0)
        best.step()
        rate.step()
    with torch.no_grad():
        error, without = layer.error(maps, torch.arange(n - HELD_OUT, n))
    return maps, error.item() / without.item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("model")
    ap.add_argument("tokens")
    ap.add_argument("--out")
    ap.add_argument("--bases", default="h2o,streaming")
    ap.add_argument("--sequences", type=int, default=128)
    ap.add_argument("--steps", type=int, default=1000)
    ap.add_argument("--threads", type=int, default=2)
    a = ap.parse_args()
    torch.set_num_threads(a.threads)
    torch.manual_seed(0)
    ids = json.load(open(a.tokens, encoding="utf-8"))
    ids = [t["id"] for t in ids["tokens"]]
    bos = json.load(open(os.path.join(a.model, "config.json"), encoding="utf-8")).get("bos_token_id")
    start = [] if bos is None else [bos]
    step = TOKENS - len(start)
    rows = [start + ids[i:i + step] for i in range(0, len(ids) - step + 1, step)][:a.sequences]
    if len(rows) < 2 * HELD_OUT:
        raise SystemExit(f"{a.tokens}: expected at least {2 * HELD_OUT * step} tokens, got {len(ids)}")
    began = time.time()
    with torch.no_grad():
        layers = attention_inputs(a.model, torch.tensor(rows))
    prompt = torch.randint(TOKENS // 8, TOKENS - 128, (len(rows),))
    at = torch.stack([torch.randperm(TOKENS - p)[:QUERIES].sort().values + p for p in prompt.tolist()])
    slots = (prompt * (0.08 + 0.42 * torch.rand(len(rows)))).round().clamp(min=8)
    tensors = {}
    for base in a.bases.split(","):
        stacked = {}
        for l, (q, k, v, scale, wo) in enumerate(layers):
            with torch.no_grad():
                layer = Layer(q, k, v, scale, wo, BASES[base](q, k, scale, prompt, slots, at), at)
            maps, left = train(layer, a.steps)
            print(f"{base} layer {l}: {left:.3f} of the error left, {time.time() - began:.0f} s", flush=True)
            for name, x in maps.tensors().items():
                stacked.setdefault(name, []).append(x.detach())
        for name, xs in stacked.items():
            wide = name == "key_3"                                   # its size may be that of exp of a logit
            tensors[f"{base}.{name}"] = stored(torch.stack(xs), torch.float32 if wide else torch.float16)
    weights = os.path.join(a.model, "model.safetensors")
    if os.path.exists(weights):                                      # of sharded weights only the shape is compared
        with open(weights, "rb") as f:
            tensors["weights_sha256"] = ("U8", [32], hashlib.sha256(f.read()).digest())
    save_safetensors(a.out or os.path.join(a.model, "less_maps.safetensors"), dict(sorted(tensors.items())))


if __name__ == "__main__":
    main()
