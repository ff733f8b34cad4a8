"""How keys and values stand in the cache, and what a query reads of them (POLICIES.md section 4.6), from the papers:
KIVI (arXiv 2402.02750, Algorithm 1), TurboQuant (arXiv 2504.19874, Algorithm 1), ThinK (arXiv 2407.21018, as kvpress 0.5.5 has it), Quest
(arXiv 2406.10774). A stored row is replaced by what would be read back; bytes are counted."""
import math

import numpy as np

import geometry

FULL = 8                                                              # bytes of a number in full precision: float64


def quantised(x, bits):
    """One group, asymmetric: the smallest number, a scale, and `bits` bits a number."""
    lo, hi = x.min(), x.max()
    if hi == lo:
        return x.copy()
    scale = (hi - lo) / (2 ** bits - 1)
    return lo + scale * np.clip(np.floor((x - lo) / scale + 0.5), 0, 2 ** bits - 1)


def kivi_keys(k, bits, group):
    """k [n, d], n a multiple of group: per channel over groups of tokens."""
    out = np.empty_like(k)
    for t in range(0, len(k), group):
        for c in range(k.shape[1]):
            out[t:t + group, c] = quantised(k[t:t + group, c], bits)
    return out


def kivi_values(v, bits, group):
    """v [n, d]: per token over groups of channels."""
    out = np.empty_like(v)
    for t in range(len(v)):
        for c in range(0, v.shape[1], group):
            out[t, c:c + group] = quantised(v[t, c:c + group], bits)
    return out


def phi(x):
    return math.exp(-x * x / 2) / math.sqrt(2 * math.pi)


def tail(x):
    return 0.5 * math.erfc(x / math.sqrt(2))


def lloyd_max(bits):
    """Levels of least mean square error for a standard normal number: every level is the mean of what is nearest to it."""
    n = 2 ** bits
    c = np.linspace(-3, 3, n) if n > 2 else np.array([-1.0, 1.0])
    for _ in range(20000):
        edges = [-math.inf, *((c[1:] + c[:-1]) / 2), math.inf]
        new = np.array([(phi(a) - phi(b)) / (tail(a) - tail(b)) for a, b in zip(edges, edges[1:])])
        if np.abs(new - c).max() < 1e-15:
            return new
        c = new
    return c


def rotation(d, seed):
    """Orthonormal rows, each what its random row has beside those before it."""
    rows = geometry.gauss(seed, 0, 0, d, d) * math.sqrt(d)
    basis = []
    for row in rows:
        for _ in range(2):
            for b in basis:
                row = row - (row @ b) * b
        basis.append(row / np.sqrt(row @ row))
    return np.array(basis)


def turboquant(x, levels, turn):
    """x [n, d]: turned, sqrt(d) y / ||x|| to the nearest level, turned back."""
    out = np.empty_like(x)
    for i, row in enumerate(x):
        size = np.sqrt(row @ row / len(row))
        y = turn @ row / size if size > 0 else np.zeros(len(row))
        out[i] = size * (turn.T @ levels[np.abs(y[:, None] - levels).argmin(1)]) if size > 0 else row
    return out


def think_pruned(k, q, share):
    """Channels that go: k [n, d], q [G, w, d] the last queries, rotated. Lowest mean square of k times that of q; of equal ones the higher."""
    d = k.shape[1]
    score = (q ** 2).mean(1).mean(0) * (k ** 2).mean(0)
    return sorted(range(d), key=lambda c: (score[c], -c))[:int(d * share)]


def quest_unread(q, k, page, pages):
    """Slots that the group's queries q [G, d] do not read of k [n, d]. The page that the query stands in is read, and pages - 1 others."""
    own = (len(k) - 1) // page
    bound = []
    for p in range(own):
        part = k[p * page:(p + 1) * page]
        lo, hi = part.min(0), part.max(0)
        bound.append(max(np.maximum(row * lo, row * hi).sum() for row in q))
    best = sorted(range(own), key=lambda p: (-bound[p], p))[:pages - 1]
    return [i for p in range(own) if p not in best for i in range(p * page, (p + 1) * page)]


class Marks:
    """A head of n slots of which nothing is stored yet, without rows."""

    def __init__(self, n):
        self.block, self.vstored = np.full(n, -1), np.zeros(n, int)

    def __len__(self):
        return len(self.block)


def slots_within(storage, share, n_prompt):
    """The most slots of a prompt that take at most this share of the bytes of all its keys and values in full."""
    for n in range(n_prompt, 0, -1):
        marks = Marks(n)
        storage.mark(marks, *storage.due(marks, True))
        if storage.bytes(marks) <= room(share, n_prompt, storage.d):
            return n
    return 0


def room(share, n_prompt, d):
    return share * (1 + 1e-12) * n_prompt * 2 * d * FULL              # 0.29 of 100 is 29


def filled(kind, par, seed, d, share, n_prompt):
    """The least that must be stored so that the prompt takes at most this share: {key: value} of a policy that lets nothing go."""
    storage = Storage(kind, dict(par, residual="0"), seed, d)
    values = [g / d for g in range(d)] if kind == "pruned" else range(n_prompt // storage.group * storage.group, -1, -storage.group) if kind == "grouped" else range(n_prompt, -1, -1)
    for value in values:
        storage.share, storage.residual = (value, storage.residual) if kind == "pruned" else (None, value)
        marks = Marks(n_prompt)
        storage.mark(marks, *storage.due(marks, True))
        if storage.bytes(marks) <= room(share, n_prompt, d):
            return {"pruned" if kind == "pruned" else "residual": repr(value)}
    raise ValueError(f"bytes={share}: less than this storage can take")


class Storage:
    """kind: grouped, rotated or pruned, with the keys of custom."""

    def __init__(self, kind, par, seed, d):
        self.kind, self.d = kind, d
        self.bits, self.group = int(par.get("bits", "0")), int(par.get("group_size", "0"))
        self.residual = int(par.get("residual") or par.get("full_tokens") or ("128" if kind == "grouped" else "0"))
        if kind == "grouped" and self.residual % self.group:
            raise ValueError(f"residual: expected a multiple of {self.group}, got {self.residual}")
        if kind == "rotated":
            self.levels, self.turn = lloyd_max(self.bits), rotation(d, seed)
        if kind == "pruned":
            self.share, self.window = float(par["pruned"]), int(par.get("channel_window") or par["window"])

    def due(self, head, prompt):
        """Slots whose keys, and slots whose values, are stored now."""
        n = len(head)
        keys, values = [], [i for i in range(n - self.residual) if not head.vstored[i]]
        if self.kind == "grouped":
            full, at_a_time = [i for i in range(n) if head.block[i] < 0], self.residual or self.group
            keys = full[:len(full) // at_a_time * at_a_time]
        elif self.kind == "rotated":
            keys = [i for i in range(n - self.residual) if head.block[i] < 0]
        else:
            keys, values = list(range(n)) if prompt else [], []
        return keys, values

    def mark(self, head, keys, values):
        first, size = max([-1, *head.block]) + 1, {"grouped": self.group, "rotated": 1, "pruned": len(head)}[self.kind]
        head.block[keys] = first + np.arange(len(keys)) // size
        head.vstored[values] = 1

    def store(self, head, q):
        """After a step. q: the prompt's queries [G, L, d], rotated, right after the prompt, else None. True if rows changed."""
        keys, values = self.due(head, q is not None)
        if not keys and not values:
            return False
        k, v = head.k[keys], head.v[values]
        if self.kind == "grouped":
            k, v = kivi_keys(k, self.bits, self.group), kivi_values(v, self.bits, self.group)
        elif self.kind == "rotated":
            k, v = turboquant(k, self.levels, self.turn), turboquant(v, self.levels, self.turn)
        else:
            k = k.copy()
            k[:, think_pruned(k, q[:, -self.window:], self.share)] = 0
        head.k[keys], head.v[values] = k, v
        if keys:
            head.kpre[keys] = head.model.rope(k, -head.pos[keys])
        self.mark(head, keys, values)
        return True

    def bytes(self, head):
        d, n = self.d, len(head)
        keys, values = int((head.block >= 0).sum()), int(head.vstored.sum())
        in_full = FULL * d * (2 * n - keys - values)
        if self.kind == "pruned":
            return FULL * (d * 2 * n - int(d * self.share) * keys) + (math.ceil(d / 8) if keys else 0)
        if self.kind == "rotated":
            return in_full + (keys + values) * (d * self.bits / 8 + 2)
        blocks = len(set(head.block[head.block >= 0].tolist()))
        return in_full + (keys + values) * d * self.bits / 8 + 4 * (blocks * d + values * math.ceil(d / self.group))
