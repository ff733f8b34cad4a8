# SPDX-License-Identifier: Apache-2.0
"""Files of kept tokens (kvscope.kept/1; engine/trace/TRACE.md section 6)."""
import json
import math
import os

import numpy as np

from .arrays import read_array, write_arrays
from .document import MOST_WHOLE, display, token_text
from .errors import Error
from .table import Table

MOST_LAYERS, MOST_HEADS, MOST_TOKENS, MOST_RUNS, MOST_NAME = 4096, 4096, 1 << 20, 64, 4096
MOST_CELLS = 1 << 30                                                   # of all masks together: layers x KV heads x tokens x steps
POSITIONS = ("original", "cache", "ceiling")                           # of keys, in the words of the policies
MOST_INLINE = 1 << 20                                                  # numbers in the JSON itself; more stand in a file beside it


class Kept:
    """Which tokens methods kept of one text, to be opened by kvscope.

    tokens: ids, the prompt's first, then those fed after it, one a step. texts: the same as texts, for people; optional.
    n_prompt: how many are the prompt's; None: all. runs: what was added with run().
    """

    def __init__(self, tokens, *, n_layers, n_kv_heads, n_prompt=None, model="", texts=None):
        try:
            self.tokens = [int(t) for t in tokens]
            self.n_layers, self.n_kv_heads = int(n_layers), int(n_kv_heads)
            self.n_prompt = len(self.tokens) if n_prompt is None else int(n_prompt)
        except (TypeError, ValueError) as error:
            raise Error(f"Kept: expected tokens, n_layers, n_kv_heads and n_prompt as whole numbers, got others ({error})") from error
        self.model, self.texts, self.runs = model, None if texts is None else list(texts), []
        if not 0 < len(self.tokens) <= MOST_TOKENS or min(self.tokens) < 0 or max(self.tokens) > MOST_WHOLE:
            raise Error(f"tokens: expected 1 to {MOST_TOKENS} ids from 0, got {len(self.tokens)}{f', the least {min(self.tokens)}' if self.tokens else ''}")
        for name, got, most in (("n_layers", self.n_layers, MOST_LAYERS), ("n_kv_heads", self.n_kv_heads, MOST_HEADS), ("n_prompt", self.n_prompt, len(self.tokens))):
            if not 1 <= got <= most:
                raise Error(f"{name}: expected 1 to {most}, got {got}")
        if self.texts is not None and len(self.texts) != len(self.tokens):
            raise Error(f"texts: expected {len(self.tokens)}, one for each token, got {len(self.texts)}")

    def run(self, name, ratio=None, positions="original"):
        """Adds a run. ratio: share kept, 0 to 1, as the method counts it; None: not said. positions: where its keys stand: original (in the text) or cache (rotated to their
        index in the cache)."""
        if any(run.name == name for run in self.runs):
            raise Error(f"run {name!r} is there already; expected another name")
        if not isinstance(name, str) or len(name.encode("utf-8", "replace")) > MOST_NAME:
            raise Error(f"run: expected a name of at most {MOST_NAME} bytes, got {type(name).__name__} {str(name)[:40]!r}")
        if ratio is not None and not 0 <= ratio <= 1:
            raise Error(f"run {name!r}: ratio: expected the share that is kept, 0 to 1, got {ratio}")
        if positions not in POSITIONS:
            raise Error(f"run {name!r}: positions: expected one of {', '.join(POSITIONS)}, got {positions!r}")
        if len(self.runs) == MOST_RUNS:
            raise Error(f"run {name!r}: expected at most {MOST_RUNS} runs in a file, got one more; write another file")
        self.runs.append(KeptRun(self, name, ratio, positions))
        return self.runs[-1]

    @property
    def names(self):
        return [run.name for run in self.runs]

    @property
    def shape(self):
        """(layers, KV heads)"""
        return self.n_layers, self.n_kv_heads

    def kept(self, run, step=0):
        """bool [layers, KV heads, tokens]: the head holds the token after the step. In steps that are not in the file nothing left. Raises Error: no such run or step."""
        for one in self.runs:
            if one.name == run and 0 <= step <= len(self.tokens) - self.n_prompt:
                return one.kept(step)
        raise Error(f"expected a run and a step of this file, got run {run!r}, step {step}; runs: {', '.join(self.names)}; steps: 0 to {len(self.tokens) - self.n_prompt}")

    def _each_step(self):
        return ((run.name, step) for run in self.runs for step in run.steps)

    def steps(self):
        """A row per run and step of the file: tokens read, slots (mean per head), the most likely next token and its probability (NaN: not given)."""
        rows = [(run, s.step, self.n_prompt + s.step, float(s.kept.sum(2).mean()), *(s.top[0] if s.top else (None, None))) for run, s in self._each_step()]
        return Table(rows, ("run", "step", "read", "slots", "top1", "p"))

    def heads(self):
        """A row per run, step, layer and KV head: slots after the step, and the attention that its last query paid to what is still there (NaN: not given)."""
        rows = []
        for run, s in self._each_step():
            paid = np.full(self.shape, np.nan) if s.attention is None else np.where(s.kept, s.attention, 0).sum(2)
            n = s.kept.sum(2)
            rows += [(run, s.step, layer, head, int(n[layer, head]), float(paid[layer, head])) for layer in range(self.n_layers) for head in range(self.n_kv_heads)]
        return Table(rows, ("run", "step", "layer", "kv_head", "slots", "attention"))

    def slots(self):
        """A row per slot: its position in the text, its score and the attention of the step's last query (NaN: not given)."""
        columns = {name: [] for name in ("run", "step", "layer", "kv_head", "pos", "score", "attention")}
        for run, s in self._each_step():
            at = np.nonzero(s.kept)
            n = len(at[0])
            for name, values in zip(columns, (np.full(n, run, dtype=object), np.full(n, s.step), *at,
                                              *(np.full(n, np.nan) if x is None else x[at] for x in (s.scores, s.attention)))):
                columns[name].append(values)
        return Table.of({name: np.concatenate(parts) if parts else np.array([]) for name, parts in columns.items()})

    def __repr__(self):
        return f"<kvscope.Kept of {display(self.model) or 'a model'}: {', '.join(map(display, self.names)) or 'no runs'}; {self.n_prompt} prompt tokens>"

    def _repr_html_(self):
        return self.steps()._repr_html_()

    def write(self, path, arrays=None):
        """Writes the file. arrays: masks, scores and attention in NAME.safetensors beside it; None: where they are many."""
        path = os.fspath(path)
        for run in self.runs:
            if not run.steps:
                raise Error(f"run {run.name!r}: expected at least one step, got none")
        if not self.runs:
            raise Error(f"{path}: expected at least one run, got none; Kept.run adds one")
        last = max(run.steps[-1].step for run in self.runs)
        if last > len(self.tokens) - self.n_prompt:
            raise Error(f"{path}: expected the tokens of all steps, {self.n_prompt + last}, got {len(self.tokens)}")
        if arrays is None:
            arrays = sum(int(s.kept.sum()) * (1 + (s.scores is not None) + (s.attention is not None)) for _, s in self._each_step()) > MOST_INLINE
        beside = {} if arrays else None
        stem = os.path.splitext(os.path.basename(path))[0] + ".safetensors"
        texts = self.texts or [None] * len(self.tokens)
        out = {"schema": "kvscope.kept/1",
               "model": {"name": self.model, "n_layers": self.n_layers, "n_kv_heads": self.n_kv_heads},
               "n_prompt": self.n_prompt,
               "tokens": [i if t is None else {"id": i, "text": {"hex": t.hex()} if isinstance(t, bytes) else t} for i, t in zip(self.tokens, texts)],
               "runs": [run.content(i, beside, stem) for i, run in enumerate(self.runs)]}
        try:
            text = json.dumps(out, separators=(",", ":"), allow_nan=False, ensure_ascii=False).encode("utf-8") + b"\n"
        except UnicodeEncodeError as error:
            raise Error(f"{path}: expected names and texts in Unicode, got a lone surrogate ({error}); give such tokens as bytes") from error
        except TypeError as error:
            raise Error(f"{path}: expected names, texts and numbers, got {error}") from error
        try:
            if arrays:
                write_arrays(os.path.join(os.path.dirname(path), stem), beside)
            with open(path, "wb") as file:
                file.write(text)
        except OSError as error:
            raise Error(f"{path}: expected a file that can be written, got: {error.strerror}") from error

    @classmethod
    def of(cls, root, folder):
        """Of a document. folder: where its arrays are. Raises Error."""
        model = root.at("model")
        n_layers, n_kv_heads = model.at("n_layers").whole(1, MOST_LAYERS), model.at("n_kv_heads").whole(1, MOST_HEADS)
        tokens, texts = [], []
        for token in root.at("tokens").each(MOST_TOKENS):
            tokens.append((token.at("id") if isinstance(token.value, dict) else token).whole())
            texts.append(token_text(token.at("text")) if token.given("text") else None)
        if not tokens:
            root.at("tokens").fail("at least one token")
        runs = list(root.at("runs").each(MOST_RUNS))
        if not runs:
            root.at("runs").fail("at least one run")
        last = 0
        for run in runs:
            steps = [step.at("step").whole(0, MOST_TOKENS) for step in run.at("steps").each()]
            if not steps:
                run.at("steps").fail("at least one step")
            last = max(last, *steps)
        if last >= len(tokens):
            root.at("tokens").fail(f"the tokens of all steps, more than {last}")
        n_prompt = root.at("n_prompt").whole(1, len(tokens) - last) if root.given("n_prompt") else len(tokens) - last
        out = cls(tokens, n_layers=n_layers, n_kv_heads=n_kv_heads, n_prompt=n_prompt, model=model.at("name").text() if model.given("name") else "",
                  texts=texts if any(t is not None for t in texts) else None)
        cells = sum(len(run.value["steps"]) for run in runs) * n_layers * n_kv_heads * len(tokens)
        if cells > MOST_CELLS:
            raise Error(f"{root.where}: expected at most {MOST_CELLS} steps x layers x KV heads x tokens, got {cells}; write fewer steps into a file")
        for i, run in enumerate(runs):
            name = run.at("name").text() if run.given("name") else f"run {i + 1}"
            ratio = run.at("ratio").number() if run.given("ratio") else None
            if name in out.names or ratio is not None and not 0 <= ratio <= 1:
                run.fail("a name of its own and a ratio in 0..1")
            positions = run.at("positions").text() if run.given("positions") else "original"
            if positions not in POSITIONS:
                run.at("positions").fail(f"one of {', '.join(POSITIONS)}")
            out.run(name, ratio, positions)._read(run, folder)
        return out


class KeptStep:
    """What every head holds after a step. kept: bool [layers, KV heads, tokens read by then]; scores, attention: float64 of the same shape or None; NaN: none."""

    __slots__ = ("step", "kept", "scores", "attention", "top", "merged")

    def __init__(self, step, kept, scores=None, attention=None, top=None, merged=None):
        self.step, self.kept, self.scores, self.attention, self.top, self.merged = step, kept, scores, attention, top, merged


class KeptRun:
    """A method's decisions. steps: list of KeptStep."""

    def __init__(self, file, name, ratio, positions):
        self.name, self.ratio, self.positions, self._file, self.steps = name, ratio, positions, file, []

    def step(self, step, kept, scores=None, *, attention=None, top=None, merged=None):
        """What every head holds after a step (0: after the prompt); steps ascend. Returns the run.

        kept: bool [layers, KV heads, n] over the first n tokens, or nested lists of positions [layers][KV heads][...].
        scores: numbers [layers, KV heads, n] of every token (those of kept ones are written; NaN: none), beside a mask only.
        attention: the same, what the step's last query paid, mean over the query heads of a KV head. top: (id, probability) of the likeliest next tokens.
        merged: lists [layers][KV heads] of (from, into), told and not repeated.
        """
        f = self._file
        if type(step) is not int or step < 0 or self.steps and step <= self.steps[-1].step:
            raise Error(f"step: expected a whole number, more than {self.steps[-1].step if self.steps else -1}, got {step!r}")
        n_read = min(f.n_prompt + step, len(f.tokens))
        mask = kept if isinstance(kept, np.ndarray) else self._mask(kept, n_read)
        if mask.dtype != bool or mask.ndim != 3 or mask.shape[:2] != f.shape:
            raise Error(f"kept: expected bool [{f.n_layers}, {f.n_kv_heads}, tokens], got {mask.dtype} {list(mask.shape)}")
        late = np.argwhere(mask[:, :, n_read:])
        if len(late):
            layer, head, pos = late[0].tolist()
            raise Error(f"kept: layer {layer}, KV head {head}: expected positions below {n_read}, the tokens read by step {step}, got {n_read + pos}")
        numbers = {}
        for name, given in (("scores", scores), ("attention", attention)):
            if given is None:
                continue
            try:
                given = np.asarray(given, dtype=float)
            except (TypeError, ValueError) as error:
                raise Error(f"{name}: expected numbers, got {error}") from error
            if given.shape != mask.shape or not isinstance(kept, np.ndarray):
                raise Error(f"{name}: expected the shape of the mask, {list(mask.shape)}, got {list(given.shape)}")
            numbers[name] = _over(np.where(np.isfinite(given), given, np.nan), n_read, np.nan)
        self.steps.append(KeptStep(step, _over(mask, n_read, False), top=None if top is None else [(int(i), float(p)) for i, p in top], merged=merged, **numbers))
        return self

    def kept(self, step):
        """bool [layers, KV heads, tokens] after a step, whether the file has it or not."""
        f = self._file
        out = np.zeros((*f.shape, len(f.tokens)), dtype=bool)
        n_read = f.n_prompt + step
        before = [s for s in self.steps if s.step <= step]
        n_known = before[-1].kept.shape[2] if before else 0
        out[:, :, n_known:n_read] = True
        if before:
            out[:, :, :n_known] = before[-1].kept
        return out

    def _mask(self, lists, n_read):
        f = self._file
        if not isinstance(lists, (list, tuple)) or len(lists) != f.n_layers or any(not isinstance(layer, (list, tuple)) or len(layer) != f.n_kv_heads for layer in lists):
            raise Error(f"kept: expected {f.n_layers} layers of {f.n_kv_heads} KV heads")
        out = np.zeros((*f.shape, n_read), dtype=bool)
        for layer, heads in enumerate(lists):
            for head, held in enumerate(heads):
                try:
                    held = [int(p) for p in held]
                except (TypeError, ValueError) as error:
                    raise Error(f"kept: layer {layer}, KV head {head}: expected a list of positions, got {error}") from error
                if held and (min(held) < 0 or max(held) >= n_read):
                    raise Error(f"kept: layer {layer}, KV head {head}: expected positions below {n_read}, got {min(held)}..{max(held)}")
                if len(set(held)) != len(held):
                    raise Error(f"kept: layer {layer}, KV head {head}: expected each position once, got one twice")
                out[layer, head, held] = True
        return out

    def content(self, number, beside, stem):
        """As JSON. beside: takes the arrays by name, for the file `stem`; None: all is inline."""
        steps = []
        for s in self.steps:
            out = {"step": s.step}
            for key, values in (("kept", s.kept), ("scores", s.scores), ("attention", s.attention)):
                if values is None:
                    continue
                if beside is not None:
                    name = f"run{number}.step{s.step}" + ("" if key == "kept" else f".{key}")
                    narrow = values.dtype == bool or np.array_equal(values.astype(np.float32), values, equal_nan=True)
                    beside[name] = values if values.dtype == bool else np.where(s.kept, values, np.nan).astype(np.float32 if narrow else float)
                    out[key] = {"file": stem, "tensor": name}
                elif key == "kept":
                    out[key] = [[np.flatnonzero(head).tolist() for head in layer] for layer in values]
                else:
                    out[key] = [[[None if math.isnan(x) else x for x in values[layer, head, s.kept[layer, head]].tolist()]
                                 for head in range(values.shape[1])] for layer in range(values.shape[0])]
            if s.top is not None:
                out["top"] = [[i, p if math.isfinite(p) else None] for i, p in s.top]
            if s.merged is not None:
                out["merged"] = s.merged
            steps.append(out)
        out = {"name": self.name}
        if self.ratio is not None:
            out["ratio"] = float(self.ratio)
        if self.positions != "original":
            out["positions"] = self.positions
        return {**out, "steps": steps}

    def _read(self, run, folder):
        f = self._file
        for at in run.at("steps").each():
            step = at.at("step").whole(self.steps[-1].step + 1 if self.steps else 0, MOST_TOKENS)
            mask, lists = self._read_kept(at.at("kept"), f.n_prompt + step, folder)
            numbers = {key: self._read_numbers(at.at(key), mask, lists, folder) for key in ("scores", "attention") if at.given(key)}
            top = [_likely(pair) for pair in at.at("top").each()] if at.given("top") else None
            self.steps.append(KeptStep(step, mask, top=top, merged=at.value.get("merged"), **numbers))

    def _each_head(self, layers):
        """(layer, head, value) of a list of lists. layers: Value."""
        f = self._file
        rows = list(layers.each())
        if len(rows) != f.n_layers:
            layers.fail(f"a list for each of {f.n_layers} layers")
        for layer, row in enumerate(rows):
            heads = list(row.each())
            if len(heads) != f.n_kv_heads:
                row.fail(f"a list for each of {f.n_kv_heads} KV heads")
            for head, value in enumerate(heads):
                yield layer, head, value

    def _array(self, at, folder, dtypes):
        file = at.at("file").text()
        if os.path.basename(file) != file or file in ("", ".", "..") or "\0" in file:
            at.at("file").fail("the name of a file in the same folder")
        out = read_array(os.path.join(folder, file), at.at("tensor").text())
        if out.dtype not in dtypes or out.ndim != 3 or out.shape[:2] != self._file.shape:
            at.fail(f"a tensor [{self._file.n_layers} layers, {self._file.n_kv_heads} KV heads, tokens] of {' or '.join(str(np.dtype(d)) for d in dtypes)}, "
                    f"which has {out.dtype} {list(out.shape)},")
        return out

    def _read_kept(self, kept, n_read, folder):
        """(bool [layers, KV heads, n_read], the order of positions in each head's list or None)"""
        if isinstance(kept.value, dict):
            mask = self._array(kept, folder, [np.uint8]) != 0
            if mask[:, :, n_read:].any():
                kept.fail(f"a mask of the {n_read} tokens read by then, which has more,")
            return _over(mask, n_read, False), None
        mask, lists = np.zeros((*self._file.shape, n_read), dtype=bool), {}
        for layer, head, value in self._each_head(kept):
            lists[layer, head] = held = value.wholes(0, n_read - 1)
            if len(np.unique(held)) != len(held):
                value.fail("each position once")
            mask[layer, head, held] = True
        return mask, lists

    def _read_numbers(self, at, mask, lists, folder):
        if isinstance(at.value, dict):
            return _over(self._array(at, folder, [np.float32, np.float64]).astype(float), mask.shape[2], np.nan)
        out = np.full(mask.shape, np.nan)
        for layer, head, value in self._each_head(at):
            held = np.flatnonzero(mask[layer, head]) if lists is None else lists[layer, head]
            numbers = value.numbers()
            if len(numbers) != len(held):
                value.fail(f"a number for each of {len(held)} kept positions")
            out[layer, head, held] = numbers
        return out


def _likely(pair):
    """(id, probability)"""
    parts = list(pair.each())
    if len(parts) != 2:
        pair.fail("[id, probability]")
    return parts[0].whole(), parts[1].number()


def _over(values, n, otherwise):
    """The array over n tokens: cut, or filled up with what is not known."""
    out = np.full((*values.shape[:2], n), otherwise, dtype=values.dtype)
    m = min(n, values.shape[2])
    out[:, :, :m] = values[:, :, :m]
    return out
