# SPDX-License-Identifier: Apache-2.0
"""A trace (kvscope.trace/1; engine/trace/TRACE.md) as tables."""
import json
import os

import numpy as np

_MEASURES = ("compress_rel_l2", "local_rel_l2", "local_l1_wo", "attention_loss", "theta")


class Table(dict):
    """Columns of equal length by name, as numpy arrays. A number that is not there is NaN."""

    def __init__(self, rows, columns):
        super().__init__((name, _column([row[i] for row in rows])) for i, name in enumerate(columns))

    @classmethod
    def _of(cls, columns):
        table = cls([], ())
        table.update(columns)
        return table

    def __len__(self):
        return len(next(iter(self.values()))) if self.keys() else 0

    def __bool__(self):
        return len(self) > 0

    def where(self, **equals):
        """The rows in which these columns have these values."""
        keep = np.ones(len(self), dtype=bool)
        for name, value in equals.items():
            keep &= self[name] == value
        return Table._of({name: column[keep] for name, column in self.items()})

    def pandas(self):
        """The same as a pandas.DataFrame (needs pandas)."""
        import pandas
        return pandas.DataFrame(dict(self))

    def _repr_html_(self):
        from html import escape
        n = min(len(self), 20)
        head = "".join(f"<th>{escape(name)}</th>" for name in self)
        body = "".join("<tr>" + "".join(f"<td>{escape(str(column[i]))}</td>" for column in self.values()) + "</tr>" for i in range(n))
        more = f"<caption>{len(self)} rows{f', the first {n} shown' if len(self) > n else ''}</caption>"
        return f"<table>{more}<tr>{head}</tr>{body}</table>"


def _column(values):
    if values and all(v is None or isinstance(v, (int, float)) and not isinstance(v, bool) for v in values):
        if any(v is None or isinstance(v, float) for v in values):
            return np.array([np.nan if v is None else v for v in values], dtype=float)
        return np.array(values, dtype=np.int64)
    return np.array(values, dtype=bool if values and all(isinstance(v, bool) for v in values) else object)


class Run:
    """What one command computed: the full cache (run 0) and the runs beside it, over one text."""

    def __init__(self, trace):
        self.trace = trace
        self._figures = None

    @property
    def tokens(self):
        """Texts of the tokens, the prompt's first; of special tokens their name, of others that are no whole character their bytes."""
        def text(t):
            if isinstance(t, str):
                return t
            return t["special"] if "special" in t else bytes.fromhex(t["hex"])
        return [text(t) for t in self.trace["token_texts"]]

    @property
    def token_ids(self):
        return list(self.trace["tokens"])

    @property
    def n_prompt(self):
        return self.trace["n_prompt"]

    @property
    def names(self):
        """Specifications of the runs."""
        return [lane["spec"] for lane in self.trace["lanes"]]

    def _each_step(self):
        for lane in self.trace["lanes"]:
            for step in lane["steps"]:
                yield lane["spec"], step

    def _each_head(self):
        for spec, step in self._each_step():
            for head in step.get("heads", ()):
                yield spec, step["step"], head

    def steps(self):
        """A row per run and step: the token fed next, -ln p of it (nats), KL from the full cache (nats), whether the top choice is the same."""
        keys = ("step", "position", "next_token", "nll", "kl", "top1_same")
        return Table([(spec, *(step.get(k) for k in keys)) for spec, step in self._each_step()], ("run", *keys))

    def heads(self):
        """A row per run, step, layer and KV head: budget and slots after the step, and the measures of POLICIES.md section 6."""
        rows = [(spec, step, h["layer"], h["kv_head"], h.get("budget"), len(h["slots"]) if "slots" in h else None, *(h.get(m) for m in _MEASURES))
                for spec, step, h in self._each_head()]
        return Table(rows, ("run", "step", "layer", "kv_head", "budget", "slots", *_MEASURES))

    def slots(self):
        """A row per slot that is there after a step: its position in the text, its votes and the score it was ranked by (NaN: not ranked)."""
        rows = [(spec, step, h["layer"], h["kv_head"], pos, votes, score)
                for spec, step, h in self._each_head() for pos, votes, score in h.get("slots", ())]
        return Table(rows, ("run", "step", "layer", "kv_head", "pos", "votes", "score"))

    def events(self):
        """A row per removal: what happened (evict, merge, spread, restore) to the token at pos, and into which it went (-1: none)."""
        rows = [(spec, step, h["layer"], h["kv_head"], e["kind"], e["pos"], e.get("into", -1), e.get("by", ""))
                for spec, step, h in self._each_head() for e in h.get("events", ())]
        return Table(rows, ("run", "step", "layer", "kv_head", "kind", "pos", "into", "by"))

    def kept(self, run, step):
        """bool [layers, KV heads, tokens]: the token is in the cache after the step. Raises KeyError: no such run or step."""
        for spec, at in self._each_step():
            if spec != run or at["step"] != step:
                continue
            out = np.zeros((self.trace["model"]["n_layers"], self.trace["model"]["n_kv_heads"], len(self.trace["tokens"])), dtype=bool)
            for head in at["heads"]:
                out[head["layer"], head["kv_head"], [slot[0] for slot in head["slots"]]] = True
            return out
        raise KeyError(f"no step {step} of run {run!r}; runs: {', '.join(self.names)}")

    def figures(self):
        """A row per run: mean KL, top-1 same, mean nll, slots, bytes, as the command line prints them. Only of what run() computed: they are
        defined in one place, which is not this package."""
        if self._figures is None:
            raise ValueError("a trace holds steps, not the figures of the command line; compute it with kvscope.run()")
        keys = ("spec", "slots", "kv_bytes", "bytes", "kl", "top1_same", "nll", "tokens_per_s", "text")
        return Table([tuple(lane[k] for k in keys) for lane in self._figures], ("run", *keys[1:]))

    def __repr__(self):
        return f"<kvscope.Run of {self.trace['model']['name']}: {', '.join(self.names)}; {self.n_prompt} prompt tokens>"


def read(path):
    """A trace file (kvscope.trace/1). Raises ValueError: something else."""
    with open(path, encoding="utf-8") as file:
        content = json.load(file)
    schema = content.get("schema") if isinstance(content, dict) else None
    if schema != "kvscope.trace/1":
        raise ValueError(f"{os.fspath(path)}: expected a trace (kvscope.trace/1), got {schema or 'no schema'}; kvscope-cli trace --out writes one")
    return Run(content)
