"""What is trained or measured for one model and comes from a file (POLICIES.md section 4.5), written from the definitions."""
import math

import numpy as np


def gelu(x):
    return 0.5 * x * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


def network(file, l, x):
    """KVzap: [kv heads] of one hidden state."""
    if f"layers.{l}.weight" in file:
        return file[f"layers.{l}.weight"] @ x + file[f"layers.{l}.bias"]
    return file[f"layers.{l}.2.weight"] @ gelu(file[f"layers.{l}.0.weight"] @ x + file[f"layers.{l}.0.bias"]) + file[f"layers.{l}.2.bias"]


def rms(x, weight):
    return weight * x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6)


def gate(file, l, x):
    """Fast KVzip: [kv heads] of one hidden state, between 0 and 1."""
    sinks, bias = file[f"{l}.k_base"], file[f"{l}.b"]
    heads, group, width = len(bias), bias.shape[2], sinks.shape[3]
    q = rms((file[f"{l}.q_proj.weight"] @ x + file[f"{l}.q_proj.bias"]).reshape(heads, group, width), file[f"{l}.q_norm.weight"])
    k = rms((file[f"{l}.k_proj.weight"] @ x).reshape(heads, width), file[f"{l}.k_norm.weight"])
    out = np.zeros(heads)
    for h in range(heads):
        for g in range(group):
            own = k[h] @ q[h, g] / math.sqrt(width) + bias[h, 0, g]
            out[h] += 1 / (1 + np.exp(sinks[h, 0] @ q[h, g] / math.sqrt(width) - own).sum()) / group
    return out


def gates_of_prompt(file, layers, local):
    """[layer][head][token], 1 for the newest share of the prompt."""
    found = np.array([np.stack([gate(file, l, x) for x in layer["in"]], 1) for l, layer in enumerate(layers)])
    n = found.shape[2]
    found[:, :, n - (max(1, int(n * local)) if n < 32000 else 4096):] = 1
    return found


def budgets_of_curves(curves, n, removed, least):
    """[layer][head] -> slots: the curve's share of n at this share removed, whole numbers by the largest rests of each layer."""
    out = []
    for gives in curves[min(max(round(100 * removed), 1), 99) - 1]:
        ideal = [(1 - float(g)) * n for g in gives]
        kept = [math.floor(x) for x in ideal]
        rest = min(max(round(sum(ideal)), len(ideal)), len(ideal) * n) - sum(kept)
        for h in sorted(range(len(ideal)), key=lambda h: -(ideal[h] - kept[h]))[:max(0, rest)]:
            kept[h] += 1
        out.append([max(min(max(k, 1), n), least(k)) for k in kept])
    return out
