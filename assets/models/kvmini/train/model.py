"""The model (Llama architecture): bf16 matrix products over fp32 weights, in a form that torch.compile fuses well."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

from attention import attention

CFG = dict(dim=256, n_layers=6, n_heads=8, n_kv_heads=4, head_dim=32, hidden_dim=1024, vocab_size=2048, rope_theta=10000.0, norm_eps=1e-5)
BF16 = torch.bfloat16


def linear(x, *weights):
    """x @ w.T for each of the weights, as one product."""
    w = torch.cat([w.to(BF16) for w in weights]) if len(weights) > 1 else weights[0].to(BF16)
    y = F.linear(x, w)
    return y.split([w.shape[0] for w in weights], -1) if len(weights) > 1 else y


def rms_norm(x, w):
    x = x.float()
    return (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + CFG["norm_eps"]) * w).to(BF16)


class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(CFG["dim"]))


def rope(x, cos, sin):
    """Half-split rotary embedding (Hugging Face layout). x: [batch, tokens, heads, head_dim]."""
    a, b = x.float().chunk(2, -1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), -1).to(BF16)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        d, h, k, hd, f = (CFG[n] for n in ("dim", "n_heads", "n_kv_heads", "head_dim", "hidden_dim"))
        p = lambda out, inp, scale=1.0: nn.Parameter(torch.randn(out, inp) * 0.02 * scale)
        r = 1 / math.sqrt(2 * CFG["n_layers"])
        self.n1, self.n2 = Norm(), Norm()
        self.wq, self.wk, self.wv, self.wo = p(h * hd, d), p(k * hd, d), p(k * hd, d), p(d, h * hd, r)
        self.w1, self.w3, self.w2 = p(f, d), p(f, d), p(d, f, r)


QUERIES = 16                      # of a sequence that look back
NEAR, FIRST = 64, 4               # tokens: what a look back leaves out before the query, and at the beginning


def glance(q, k, marks, at):
    """How far marked tokens are from standing out: mean over heads, marked keys and queries of max(0, 1 - z), z the distance of the key's
    score to the mean of the others in their standard deviations. q: [batch, tokens, heads, head_dim], k: its KV heads; marks: [batch, tokens];
    at: the queries that look, [n]."""
    b, t, heads, d = q.shape
    s = torch.einsum("bnkgd,btkd->bkgnt", q[:, at].reshape(b, len(at), k.shape[2], -1, d).float(), k.float())
    key = torch.arange(t, device=q.device)
    far = (key >= FIRST) & (key < at[:, None] - NEAR)                           # [n, tokens]
    marked, other = far & marks[:, None], (far & ~marks[:, None]).float()       # [batch, n, tokens]
    count = other.sum(-1).clamp(min=1)[:, None, None, :]
    mean = (s * other[:, None, None]).sum(-1) / count
    spread = (((s - mean[..., None]).square() * other[:, None, None]).sum(-1) / count + 1e-3).sqrt().detach()
    short = F.relu(1 - (s - mean[..., None]) / spread[..., None]) * marked[:, None, None]
    return short.sum() / (marked.sum() * heads).clamp(min=1)


def block(x, cos, sin, marks, at, n1, n2, wq, wk, wv, wo, w1, w3, w2):
    """One layer. x: [batch, tokens, dim], bf16 -> the same; and how far the marked tokens are from standing out to its heads."""
    b, t, _ = x.shape
    q, k, v = (y.reshape(b, t, -1, CFG["head_dim"]) for y in linear(rms_norm(x, n1), wq, wk, wv))
    q, k = rope(q, cos, sin), rope(k, cos, sin)
    x = x + linear(attention(q, k, v).reshape(b, t, -1), wo)
    gate, up = linear(rms_norm(x, n2), w1, w3)
    return x + linear(F.silu(gate) * up, w2), glance(q, k, marks, at)


def head(x, norm, emb):
    """Logits, fp32. x: [batch, tokens, dim] -> [batch, tokens, vocabulary]."""
    return linear(rms_norm(x, norm), emb).float()


def loss_of(x, norm, emb, targets, weights):
    """Mean of -ln p of the targets, weighted."""
    nll = F.cross_entropy(head(x, norm, emb).flatten(0, 1), targets.flatten(), reduction="none")
    return (nll * weights.flatten()).sum() / weights.sum()


class Model(nn.Module):
    def __init__(self, context):
        super().__init__()
        self.emb = nn.Parameter(torch.randn(CFG["vocab_size"], CFG["dim"]) * 0.02)      # tied with the output matrix
        self.blocks = nn.ModuleList(Block() for _ in range(CFG["n_layers"]))
        self.nf = Norm()
        hd = CFG["head_dim"]
        angle = torch.arange(context).float()[:, None, None] * CFG["rope_theta"] ** (-torch.arange(0, hd, 2).float() / hd)
        self.register_buffer("cos", angle.cos(), persistent=False)
        self.register_buffer("sin", angle.sin(), persistent=False)

    def hidden(self, ids, layer, marks, at):
        """(the last layer's output [batch, tokens, dim], mean of the layers' glances)"""
        x, t, total = F.embedding(ids, self.emb).to(BF16), ids.shape[1], 0
        for b in self.blocks:
            x, short = layer(x, self.cos[:t], self.sin[:t], marks, at, b.n1.w, b.n2.w, b.wq, b.wk, b.wv, b.wo, b.w1, b.w3, b.w2)
            total = total + short
        return x, total / len(self.blocks)

    def forward(self, ids):
        """ids: [batch, tokens] -> logits [batch, tokens, vocabulary], fp32."""
        marks, at = torch.zeros_like(ids, dtype=torch.bool), torch.zeros(1, dtype=torch.long, device=ids.device)
        return head(self.hidden(ids, block, marks, at)[0], self.nf.w, self.emb)


class Loss:
    """The loss of a model, compiled: one layer once for all layers, so that it starts fast."""
    def __init__(self, model):
        self.model, self.layer, self.last = model, torch.compile(block, dynamic=False), torch.compile(loss_of, dynamic=False)

    def __call__(self, ids, targets, weights, marks):
        """(mean -ln p of the targets, how far what may be asked is from standing out)"""
        t = ids.shape[1]
        at = torch.randint(t // 4, t, (QUERIES,), device=ids.device)
        hidden, short = self.model.hidden(ids, self.layer, marks, at)
        return self.last(hidden, self.model.nf.w, self.model.emb, targets, weights), short


def widen(state, hidden_dim):
    """A state with more feed-forward units that computes the same: the new units start without influence on the output."""
    out = dict(state)
    for name, w in state.items():
        kind, old = name.split(".")[-1], w.shape
        if kind in ("w1", "w3") and old[0] < hidden_dim:
            out[name] = torch.cat((w, torch.randn(hidden_dim - old[0], old[1]) * w.std()))
        if kind == "w2" and old[1] < hidden_dim:
            out[name] = torch.cat((w, torch.zeros(old[0], hidden_dim - old[1])), 1)
    return out
