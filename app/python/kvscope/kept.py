# SPDX-License-Identifier: Apache-2.0
"""Files of kept tokens (kvscope.kept/1; engine/trace/TRACE.md section 6)."""
import json
import math

import numpy as np


class Kept:
    """Which tokens methods kept of one text, to be opened by kvscope.

    tokens: ids, the prompt's first, then those fed after it. texts: the same as texts, for people; optional.
    """

    def __init__(self, tokens, *, n_layers, n_kv_heads, n_prompt=None, model="", texts=None):
        self.tokens = [int(t) for t in tokens]
        self.n_layers, self.n_kv_heads, self.model = int(n_layers), int(n_kv_heads), model
        self.n_prompt = len(self.tokens) if n_prompt is None else int(n_prompt)
        if not 0 < self.n_prompt <= len(self.tokens):
            raise ValueError(f"n_prompt: expected 1 to {len(self.tokens)}, got {self.n_prompt}")
        if texts is not None and len(texts) != len(self.tokens):
            raise ValueError(f"texts: expected {len(self.tokens)}, one for each token, got {len(texts)}")
        self.texts = texts
        self.runs = []

    def run(self, name, ratio=None):
        """Adds a run. ratio: share kept, as the method counts it."""
        if any(run.name == name for run in self.runs):
            raise ValueError(f"run {name!r} is there already; expected another name")
        self.runs.append(KeptRun(self, name, ratio))
        return self.runs[-1]

    def write(self, path):
        """Writes the file; JSON with a final newline."""
        texts = self.texts or [None] * len(self.tokens)
        out = {"schema": "kvscope.kept/1",
               "model": {"name": self.model, "n_layers": self.n_layers, "n_kv_heads": self.n_kv_heads},
               "n_prompt": self.n_prompt,
               "tokens": [i if t is None else {"id": i, "text": t} for i, t in zip(self.tokens, texts)],
               "runs": [run._json() for run in self.runs]}
        with open(path, "w", encoding="utf-8") as file:
            json.dump(out, file, separators=(",", ":"), allow_nan=False)
            file.write("\n")


class KeptRun:
    def __init__(self, file, name, ratio):
        self.name, self.ratio, self._file, self._steps = name, ratio, file, []

    def step(self, step, kept, scores=None):
        """What every head holds after a step (0: after the prompt); steps ascend. Returns the run.

        kept: bool [layers, KV heads, n] over the first n tokens, or nested lists of positions [layers][KV heads][...].
        scores: numbers [layers, KV heads, n] of every token (those of kept ones are written; NaN: none), beside a mask only.
        """
        f = self._file
        if self._steps and step <= self._steps[-1]["step"]:
            raise ValueError(f"step: expected more than {self._steps[-1]['step']}, got {step}")
        mask = kept if isinstance(kept, np.ndarray) else None
        if mask is not None and (mask.dtype != bool or mask.ndim != 3 or mask.shape[:2] != (f.n_layers, f.n_kv_heads)):
            raise ValueError(f"kept: expected bool [{f.n_layers}, {f.n_kv_heads}, tokens], got {mask.dtype} {list(mask.shape)}")
        if mask is not None:
            positions = [[np.flatnonzero(head).tolist() for head in layer] for layer in mask]
        else:
            positions = [[sorted(int(p) for p in head) for head in layer] for layer in kept]
        if len(positions) != f.n_layers or any(len(layer) != f.n_kv_heads for layer in positions):
            raise ValueError(f"kept: expected {f.n_layers} layers of {f.n_kv_heads} KV heads")
        n_read = f.n_prompt + step
        for layer, heads in enumerate(positions):
            for head, held in enumerate(heads):
                if held and (held[0] < 0 or held[-1] >= min(n_read, len(f.tokens))):
                    raise ValueError(f"kept: layer {layer}, KV head {head}: expected positions below {min(n_read, len(f.tokens))}, got {held[0]}..{held[-1]}")
        out = {"step": int(step), "kept": positions}
        if scores is not None:
            scores = np.asarray(scores, dtype=float)
            if mask is None or scores.shape != mask.shape:
                raise ValueError(f"scores: expected the shape of the mask, got {list(scores.shape)}")
            out["scores"] = [[[x if math.isfinite(x) else None for x in scores[l, h, held].tolist()] for h, held in enumerate(heads)]
                             for l, heads in enumerate(positions)]
        self._steps.append(out)
        return self

    def _json(self):
        if not self._steps:
            raise ValueError(f"run {self.name!r}: expected at least one step, got none")
        out = {"name": self.name, "steps": self._steps}
        return out if self.ratio is None else {"name": self.name, "ratio": float(self.ratio), "steps": self._steps}
