"""What is evicted lives on in sums per head, which a query reads like one more slot (LESS): POLICIES.md section 4.4."""
import math

import numpy as np

PARTS = ("query_1", "query_2", "key_1", "key_2", "key_3")


def gelu(x):
    return x * 0.5 * (1.0 + np.vectorize(math.erf, otypes=[float])(x / math.sqrt(2.0)))


class State:
    """Of one KV head: z [R] and H [R, d] of POLICIES.md. maps: the five matrices of the head, by their names."""
    def __init__(self, maps):
        self.maps, self.n, self.z, self.h = maps, 0, 0.0, 0.0

    def add(self, k, v):
        m = self.maps
        phi = np.abs(gelu(gelu(k @ m["key_1"]) @ m["key_2"]) @ m["key_3"])
        self.n, self.z, self.h = self.n + 1, self.z + phi, self.h + np.outer(phi, v)

    def slot(self, qr):
        """(logits [G], values [G, d]) of the slot that the sums are to the queries [G, d]."""
        psi = np.abs(gelu(gelu(qr @ self.maps["query_1"]) @ self.maps["query_2"]))
        mass = psi @ self.z
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.log(mass), np.where(mass[:, None] > 0, psi @ self.h / mass[:, None], 0.0)


def states(tensors, base, n_layers, n_kv):
    return [[State({part: tensors[f"{base}.{part}"][l, h] for part in PARTS}) for h in range(n_kv)] for l in range(n_layers)]
