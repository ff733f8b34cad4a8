# SPDX-License-Identifier: Apache-2.0
"""Which token a row of keys and values in a cache belongs to, when a method has gathered the rows anew and says nothing: rows are copied bit
for bit, so a hash of 64 bits finds them again. Nothing of the method is asked, and no second copy of the cache is kept."""
import numpy as np

from .errors import Error


AT_ONCE = 4096                                                         # rows: bits take 8 bytes a number on the way


def row_hashes(torch, rows):
    """int64 [heads, n] of rows [heads, n, width]: sum over i of bits_i x an odd number of its own, modulo 2^64."""
    kind = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[rows.element_size()]
    draw = torch.from_numpy(np.random.default_rng(0).integers(-2**63, 2**63 - 1, rows.shape[-1], dtype=np.int64) | 1).to(rows.device)
    parts = rows.detach().split(AT_ONCE, 1)
    return np.concatenate([(part.contiguous().view(kind).to(torch.int64) * draw).sum(-1).cpu().numpy() for part in parts], 1)


class RowHistory:
    """Hashes of every row that a layer has ever stored, in order of its token."""

    def __init__(self):
        self._keys, self._values = [], []

    def add(self, keys, values):
        """Of the newest tokens, int64 [heads, n] each."""
        self._keys.append(keys)
        self._values.append(values)

    def of_keys(self, keys):
        """int64 [heads, m]: the tokens of these rows by their keys alone; None: some were never stored."""
        found = [_places(a, b) for a, b in zip(np.concatenate(self._keys, 1), keys)]
        return None if any(f is None for f in found) else np.stack(found)

    def positions(self, keys, values, where):
        """int64 [heads, m]: the tokens of these rows, by key and value, else by key (merged values), else by value (keys that were turned).
        Raises Error: rows that were never stored, or turned keys whose values are alike."""
        own_keys, own_values = np.concatenate(self._keys, 1), np.concatenate(self._values, 1)
        mixed = lambda k, v: k * np.int64(3) + v                       # noqa: E731
        with np.errstate(over="ignore"):
            for own, rows in ((mixed(own_keys, own_values), mixed(keys, values)), (own_keys, keys)):
                found = [_places(a, b) for a, b in zip(own, rows)]
                if all(f is not None for f in found):
                    return np.stack(found)
        found = [_places(a, b) for a, b in zip(own_values, values)]
        if any(f is None for f in found):
            raise Error(f"{where}: expected rows of the cache that the model has stored, got others: a static or quantised cache, or a method that "
                        "changes keys and values; use the plain DynamicCache, or write its positions with kvscope.Kept")
        if any(np.isin(rows, _repeated(own)).any() for own, rows in zip(own_values, values)):
            raise Error(f"{where}: expected keys as they were stored, got turned ones, and some tokens have the same value, so that which of them stayed "
                        "cannot be told; switch rerotation off, or write its positions with kvscope.Kept")
        return np.stack(found)


def _repeated(hashes):
    values, counts = np.unique(hashes, return_counts=True)
    return values[counts > 1]


def _places(own, rows):
    """Index in `own` of each of `rows`, equal ones in ascending order; None: some are not there."""
    order = np.argsort(own, kind="stable")
    by_value = np.argsort(rows, kind="stable")
    ascending = rows[by_value]
    first = np.searchsorted(ascending, ascending, "left")
    at = np.searchsorted(own[order], ascending, "left") + np.arange(len(rows)) - first
    if len(rows) and (at.max() >= len(own) or (own[order][at] != ascending).any()):
        return None
    out = np.empty(len(rows), dtype=np.int64)
    out[by_value] = order[at]
    return out
