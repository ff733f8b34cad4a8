"""Scores from keys, values and the prompt's queries (POLICIES.md section 4.5), and the selection of chunks. Written from the definitions:
whole arrays, explicit inverses, no shortcuts."""
import math

import numpy as np

import rules
from model import softmax

ROUND = 9                                                              # decimals of normalised scores


def lag_part(rows, reference):
    """Softmax over the tokens of the deviation over channels, each channel measured by its range in the partition that follows."""
    low, high = reference.min(0), reference.max(0)
    wide = high > low
    u = np.where(wide, (rows - low) / np.where(wide, high - low, 1.0), 0.0)
    return softmax(u.std(1, ddof=1))


def lagkv(k, v, sinks, lag, cross):
    n = len(k)
    sinks = min(sinks, n)
    score = np.ones(n)
    if n < sinks + 2 * lag:
        score[sinks:] = np.arange(n - sinks) / max(n - sinks, 1)
        return score
    for first in range(sinks, n - 2 * lag + 1, lag):
        here, after = slice(first, first + lag), slice(first + lag, first + 2 * lag)
        s = (lag_part(k[here], k[after]) + lag_part(v[here], v[after])) / 2
        score[here] = s if cross else np.argsort(np.argsort(s, kind="stable"), kind="stable") / lag
    return score


def cur(kpre, v, window):
    def shares(x):
        sq = (x * x).sum(1)
        return np.concatenate([sq[i:i + window] / sq[i:i + window].sum() for i in range(0, len(sq), window)])
    s = shares(kpre) * shares(v)
    return s / s.sum()


def gauss(seed, layer, head, d, columns):
    """Box and Muller on the draws of POLICIES.md section 2 with step 0; variance 1/columns."""
    out = np.empty(d * columns)
    for i in range(len(out)):
        u, w = (rules.uniform(seed, 0, layer, head, e) for e in (2 * i, 2 * i + 1))
        out[i] = math.sqrt(-2 * math.log(1 - u) / columns) * math.cos(2 * math.pi * w)
    return out.reshape(d, columns)


def leverage(kpre, sketch):
    """sketch: a matrix, or None."""
    x = kpre - kpre.mean(0)
    if sketch is not None:
        x = x @ sketch
    return np.einsum("ni,ij,nj->n", x, np.linalg.inv(x.T @ x + 0.01 * np.eye(x.shape[1])), x)


def noncausal(qr, k, v, chunk):
    """qr [G, n, d] rotated queries. The last chunk is filled up with zero queries and keys, which take part."""
    n, d = k.shape
    full = math.ceil(n / chunk) * chunk
    total = np.zeros(n)
    keys = np.vstack([k, np.zeros((full - n, d))])
    for q in qr:
        q = np.vstack([q, np.zeros((full - n, d))])
        sums = np.concatenate([softmax(q[i:i + chunk] @ keys[i:i + chunk].T).sum(0) for i in range(0, full, chunk)])
        total += sums[:n] / len(qr)
    total = np.concatenate([[0.0], total * np.sqrt((v * v).sum(1)), [0.0]])
    return (total[:-2] + total[1:-1] + total[2:]) / 3


def normalised(heads):
    """(x - mean)/deviation over all heads of the layer together."""
    everything = np.concatenate(heads)
    spread = max(everything.std(ddof=1), 1e-6) if len(everything) > 1 else 1e-6
    return [np.round((x - everything.mean()) / spread, ROUND) for x in heads]


def expected(q, k, v, model, sinks, future, cov, vnorm, eps):
    """q [G, n, d] queries before rotation."""
    n, d = k.shape
    first = min(sinks, n)
    score = np.full(n, np.nan)
    if first == n:
        return score
    r = np.mean([model.rope(np.eye(d), np.full(d, p)).T for p in range(n, n + future)], 0)       # column i: e_i rotated
    total = np.zeros(n - first)
    for one in q:
        seen = one[first:]
        mean = r @ seen.mean(0)
        z = k[first:] @ mean / math.sqrt(d)
        if cov:
            spread = r @ np.cov(seen.T, bias=True) @ r.T
            z = z + np.einsum("ni,ij,nj->n", k[first:], spread, k[first:]) / (2 * d)
        total += softmax(z) / len(q)
    norm = np.sqrt((v[first:] ** 2).sum(1))
    score[first:] = (total + eps) * norm if vnorm else total
    return score


def rkv(zrows, k, w, kernel, lam, similar):
    """R-KV (arXiv 2505.24133): lam * importance - (1 - lam) * redundancy. zrows [rows, G, n]: logits of the last queries. Importance: per
    query the largest logit of the group, softmax over the slots before the window, mean over the queries, max-pooled. Redundancy: softmax over all
    slots of the mean cosine to the others; of every row the newest cosine above `similar` counts as 0 (as the authors have it, the first slot's
    where there is none above), so the newest of near-equal keys is spared."""
    n, m = len(k), len(k) - w
    score = np.full(n, np.nan)
    importance = 0.0 if w == 0 else rules.pool1d(softmax(zrows[-w:, :, :m].max(1)).mean(0), kernel, "max")
    length = np.sqrt((k * k).sum(1))
    unit = k / np.where(length > 0, length, 1.0)[:, None]
    cos = unit @ unit.T
    np.fill_diagonal(cos, 0.0)
    for i in range(n):
        above = np.flatnonzero(cos[i] > similar)
        cos[i, above[-1] if len(above) else 0] = 0.0
    score[:m] = lam * importance - (1 - lam) * softmax(cos.mean(0))[:m]
    return score


def tri(q, kpre, pos, inv_freq, zscore):
    """TriAttention (arXiv 2604.04921): q [G, L, d] the prompt's queries before rotation, kpre [n, d] keys before rotation. Number f and f + d/2 are one
    complex number. Distances count from the token that comes next, plus D = 1, 2, 4, ..., 65536."""
    half = q.shape[2] // 2
    c = q[:, :, :half] + 1j * q[:, :, half:]
    k = kpre[:, :half] + 1j * kpre[:, half:]
    near = pos[-1] + 1 - pos
    best = np.full(len(pos), -math.inf)
    for one in c:
        center, length = one.mean(0), np.abs(one).mean(0)
        phase = np.angle(center * np.conj(k))                          # [n, half]
        size = np.abs(center) * np.abs(k)
        s = np.mean([(size * np.cos(inv_freq * (near + 2.0 ** e)[:, None] + phase)).sum(1) for e in range(17)], 0)
        s = s + ((length - np.abs(center)) * np.abs(k)).sum(1)
        best = np.maximum(best, np.round((s - s.mean()) / max(s.std(), 1e-6), ROUND) if zscore else s)
    return best


def dropkv(zrows, v, w, kernel, eps):
    """DropKV: sum over the last w queries of the squared move of their output if slot j alone went, mean over the group, mean of `kernel` slots with
    zeros beyond the ends. zrows [rows, G, n], -inf for slots that are younger than the query."""
    n = len(v)
    p = softmax(zrows[-w:]) if w else np.zeros((0, 1, n))
    o = p @ v                                                          # [w, G, d]
    moved = (p / (1 - p + eps)) ** 2 * ((v[None, None] - o[:, :, None]) ** 2).sum(-1)
    total = np.concatenate([np.zeros(kernel // 2), moved.sum(0).mean(0), np.zeros(kernel // 2)])
    score = np.array([math.fsum(total[i:i + kernel]) / kernel for i in range(n)])       # equal sums are equal
    score[n - w:] = np.nan
    return score


def finch(rows, w, norm):
    """rows [r, n] of the window's attention: mean, each times the number of slots before its own. The window stays."""
    r, n = len(rows), rows.shape[1]
    weight = n - r + np.arange(r) if norm else np.ones(r)
    score = np.full(n, np.nan)
    score[:n - w] = ((weight[:, None] * rows).sum(0) / r)[:n - w]
    return score


def chunk_keep(score, pos, prot, size, budget, share, fits, slack=1e-9):
    """(kept indices, score of every slot: the mean of its chunk). A chunk with a protected slot goes last, without it."""
    chunks, shown = [], np.array(score, float)
    for c in sorted(set(int(p) // size for p in pos)):
        members = [i for i in range(len(pos)) if pos[i] // size == c]
        free = [i for i in members if not prot[i]]
        mean = float(np.sum(np.asarray(score)[free] / len(free))) if free else 0.0
        mean = -math.inf if math.isnan(mean) else mean
        shown[free] = mean
        chunks.append((len(free) == len(members), -mean, c, free))
    chunks.sort()
    gone, wanted = set(), max(1, math.floor(share * len(chunks) + slack))
    while chunks and (len(pos) - len(gone) > budget if fits else len(chunks) > wanted):
        gone.update(chunks.pop()[3])
    return [i for i in range(len(pos)) if i not in gone], shown


# ---- one layer
def scores(policy, l, heads, prompt):
    """Of every head: (score, second score for ties or None)."""
    par, sel, m = policy.par, policy.sel, policy.model
    s = rules.count(par["sinks"], policy.c)
    if sel == "lagkv":
        return [(lagkv(x.k, x.v, s, int(par["lag"]), par["cross"] == "1"), x.pos) for x in heads]
    if sel == "cur":
        return [(cur(x.kpre, x.v, rules.count(par["window"], policy.c)), None) for x in heads]
    if sel in ("leverage", "compactor"):
        columns = int(par["sketch"])
        sketch = [gauss(policy.seed, l, h, m.d, columns) if columns else None for h in range(len(heads))]
    if sel == "kvzap":
        return [(np.array([policy.learned[l][p][h] for p in x.pos]), None) for h, x in enumerate(heads)]
    if sel == "qfilter":
        return [(-x.k @ f, None) for x, f in zip(heads, policy.filters[l])]
    if sel == "leverage":
        return [(x, None) for x in normalised([leverage(x.kpre, g) for x, g in zip(heads, sketch)])]
    layer = policy.lane.prefill.layers[l]
    group = [slice(h * m.group, (h + 1) * m.group) for h in range(len(heads))]
    if sel == "noncausal":
        return [(x, None) for x in normalised([noncausal(layer["qr"][g], x.k, x.v, int(par["chunk"])) for x, g in zip(heads, group)])]
    if sel == "tri":
        return [(tri(layer["q"][g], x.kpre, x.pos, m.inv_freq, par["zscore"] == "1"), None) for x, g in zip(heads, group)]
    if sel == "expected":
        return [(expected(layer["q"][g], x.k, x.v, m, s, int(par["future"]), par["cov"] == "1", par["vnorm"] == "1", float(par["eps"])), None)
                for x, g in zip(heads, group)]
    n = len(heads[0])                                                  # compactor
    part = slice(min(n, s), n - min(n - min(n, s), rules.count(par["recent"], policy.c)))
    lev = normalised([leverage(x.kpre[part], g) for x, g in zip(heads, sketch)])
    att = normalised([noncausal(layer["qr"][g][:, part], x.k[part], x.v[part], int(par["chunk"])) for x, g in zip(heads, group)])
    blend = 1 - policy.c / n if par["blend"] == "removed" else float(par["blend"])
    out = []
    for a, b in zip(lev, att):
        score = np.full(n, np.nan)
        score[part] = blend * a + b
        out.append((score, None))
    return out
