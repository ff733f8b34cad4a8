"""The hindsight reference `best`: greedy removal by what the next queries of the full-cache lane would miss. Slow and easy to check."""
import numpy as np

from model import softmax


def coming_queries(lane, t, horizon):
    """[(position, [layer] of rotated queries [n_heads, d])]: the next `horizon` positions of the followed text, at its very end the last ones of the prompt."""
    known = lane.reference_queries
    after = [p for p in range(t + 1, t + 1 + horizon) if p < len(known)]
    return [(p, known[p]) for p in after or range(max(0, lane.n_prompt - horizon), lane.n_prompt)]


def distance(pairs, left):
    """Sum of ||(o' - o_full) W_O||_1; o' by a softmax over the slots that are left (KeepKV Eq. 4 says the same)."""
    total = 0.0
    for z, values, full in pairs:
        seen = left & np.isfinite(z)
        out = softmax(z[seen]) @ values[seen] if seen.any() else 0.0
        total += np.abs(out - full).sum()
    return total


def keep(lane, l, h, head, prot, n_remove, horizon):
    """(slots that stay, removed ones in order, scores if a slot alone went, scores at the time of removal)"""
    m, t = lane.model, lane.full_k[l].shape[1] - 1
    pairs = []
    for position, queries in coming_queries(lane, t, horizon):
        for g in range(h * m.group, (h + 1) * m.group):
            q = queries[l][g]
            z = head.k @ q / np.sqrt(m.d) + head.bias()
            z[head.pos > position] = -np.inf
            k, v = lane.full_k[l][h][:position + 1], lane.full_v[l][h][:position + 1]
            if np.isfinite(z).any():
                pairs.append((z, head.v @ m.wo_rows(l, g), softmax(k @ q / np.sqrt(m.d)) @ v @ m.wo_rows(l, g)))
    left, scale = np.ones(len(head), bool), sum(np.abs(full).sum() for _, _, full in pairs)
    free = [i for i in range(len(head)) if not prot[i]]

    def without(i):
        left[i] = False
        sum_ = distance(pairs, left)
        left[i] = True
        return sum_

    alone, at_removal, gone = np.full(len(head), np.nan), np.full(len(head), np.nan), []
    alone[free] = [-without(i) for i in free]
    for _ in range(min(n_remove, len(free))):
        sums = [without(i) for i in free]
        e = max(i for i, s in zip(free, sums) if s <= min(sums) + 1e-12 * (min(sums) + scale))       # equal but for rounding: the higher pos goes
        at_removal[e] = -sums[free.index(e)]
        left[e] = False
        free.remove(e)
        gone.append(e)
    return [i for i in range(len(head)) if left[i]], gone, alone, at_removal
