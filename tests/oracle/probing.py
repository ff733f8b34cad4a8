"""A second look at the full cache after the prompt (POLICIES.md section 4.5): probes, one budget over all layers and heads, head scores that
are measured on the model, and selection by a threshold. Written from the definitions: every probe is one more whole forward pass."""
import math

import numpy as np

import rules
from model import Prefill, softmax

OVERLAP = 8                                                            # tokens of the stretch before that a later probe names
POSITIONS = 500                                                        # duo fly=1


def found(model, tokens, stretch, sinks, plus):
    """[layer][head] -> score of every token of the prompt. A model without a tokenizer is asked in no words."""
    n = len(tokens)
    score = np.zeros((model.n_layers, model.n_kv, n))
    for first in range(0, n, stretch):
        end = min(n, first + stretch)
        probe = tokens[first - min(OVERLAP, stretch):first] + tokens[first:end] if first else tokens[:end]
        run = Prefill(model, tokens + probe)
        seen = np.r_[0:min(sinks, first), first:end, n:n + len(probe)]
        own = np.flatnonzero((seen >= first) & (seen < end))
        for l, layer in enumerate(run.layers):
            for g in range(model.n_heads):
                a = softmax(layer["z"][g][n:, seen])[:, own]           # -inf above the diagonal stays 0
                if plus:
                    a = a / np.sqrt((layer["in"][n:] ** 2).sum(1))[:, None]
                    a = a * np.sqrt(((layer["v"][g // model.group][first:end] @ model.wo_rows(l, g)) ** 2).sum(1))
                h = g // model.group
                score[l, h, first:end] = np.maximum(score[l, h, first:end], a.max(0))
    return score


def flat_budgets(score, n, c, sinks, recent):
    """Every head keeps what is protected, and what is among the best of all heads together: C slots on average."""
    prot = rules.protected_mask(np.arange(n), sinks, recent)
    n_layers, n_kv, _ = score.shape
    everything = sorted((-score[l, h, i], i, l, h) for l in range(n_layers) for h in range(n_kv) for i in range(n) if not prot[i])
    out = [[int(prot.sum())] * n_kv for _ in range(n_layers)]
    for _, _, l, h in everything[:max(0, n_layers * n_kv * (c - int(prot.sum())))]:
        out[l][h] += 1
    return [[max(1, x) for x in row] for row in out]


def layer_budgets(score, n, c, sinks, recent):
    return [flat_budgets(layer[None], n, c, sinks, recent)[0] for layer in score]


def head_scores(model, prefill):
    """duo fly=1: area under the cumulated attention of a head's mean query at the last position to its mean key at every one."""
    out = np.zeros((model.n_layers, model.n_kv))
    pos = np.arange(POSITIONS)
    for l, layer in enumerate(prefill.layers):
        for g in range(model.n_heads):
            q, k = layer["q"][g].mean(0), layer["k"][g // model.group].mean(0)
            keys = model.rope(np.tile(k, (POSITIONS, 1)), pos)
            a = softmax(keys @ model.rope(q, POSITIONS - 1) / math.sqrt(model.d))
            out[l, g // model.group] += np.cumsum(a).mean() / model.group
    return out


def threshold_keep(score, pos, prot, threshold, budget):
    stay = int((prot | (score >= threshold)).sum())
    return rules.keep_top(score, pos, prot, min(stay, budget))
