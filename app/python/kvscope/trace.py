# SPDX-License-Identifier: Apache-2.0
"""A trace (kvscope.trace/1; engine/trace/TRACE.md section 2) as tables."""
import math

import numpy as np

from .document import MOST_WHOLE, Value, display, token_text
from .errors import Error
from .table import Table

MOST_HEADS, MOST_LAYERS = 4096, 4096
MEASURES = ("compress_rel_l2", "local_rel_l2", "local_l1_wo", "attention_loss", "theta")


class Run:
    """What one command computed: the full cache (run 0) and the runs beside it, over one text.

    trace: the file's content as it is. In the tables a column `run` is the run's specification, as in `names`. What the trace does not
    hold (a smaller `detail`) makes tables without rows, and NaN in columns of numbers: never 0.
    """

    def __init__(self, trace, name="trace"):
        root = trace if isinstance(trace, Value) else Value(trace, name)
        check(root)
        self.trace = root.value
        self._figures = None

    @property
    def tokens(self):
        """Texts of the tokens, the prompt's first; of special tokens their name, of others that are no whole character their bytes; without texts in the file <id>."""
        texts = self.trace.get("token_texts")
        if texts is None:
            return [f"<{i}>" for i in self.token_ids]
        return [token_text(Value(t, "token_texts", i)) for i, t in enumerate(texts)]

    @property
    def token_ids(self):
        return list(self.trace["tokens"])

    @property
    def n_prompt(self):
        return self.trace["n_prompt"]

    @property
    def shape(self):
        """(layers, KV heads)"""
        return self.trace["model"]["n_layers"], self.trace["model"]["n_kv_heads"]

    @property
    def names(self):
        """Specifications of the runs; the first is the full cache."""
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
        """A row per run, step, layer and KV head: budget (NaN: unlimited) and slots after the step, and the measures of POLICIES.md section 6."""
        rows = [(spec, step, h["layer"], h["kv_head"], h.get("budget"), len(h["slots"]) if "slots" in h else h.get("n_slots"),
                 *(h.get(m) for m in MEASURES)) for spec, step, h in self._each_head()]
        return Table(rows, ("run", "step", "layer", "kv_head", "budget", "slots", *MEASURES))

    def slots(self):
        """A row per slot that is there after a step: its position in the text, its votes, the score it was ranked by (NaN: not ranked) and the
        attention that the step's query paid it, mean over the query heads of the KV head (NaN: it was not there yet, or detail is not `why`)."""
        rows = []
        for spec, step, h in self._each_head():
            paid = dict(zip(h.get("attended", ()), h.get("attention", ())))
            rows += [(spec, step, h["layer"], h["kv_head"], s[0], s[1], s[2], paid.get(s[0])) for s in h.get("slots", ())]
        return Table(rows, ("run", "step", "layer", "kv_head", "pos", "votes", "score", "attention"))

    def events(self):
        """A row per removal: what happened (evict, merge, spread, restore) to the token at pos, and into which it went (-1: none). A value that is
        spread over several has a row for each."""
        rows = []
        for spec, step, h in self._each_head():
            for e in h.get("events", ()):
                into = e.get("into", -1)
                rows += [(spec, step, h["layer"], h["kv_head"], e["kind"], e["pos"], to, e.get("by", "")) for to in (into if isinstance(into, list) else [into])]
        return Table(rows, ("run", "step", "layer", "kv_head", "kind", "pos", "into", "by"))

    def step(self, run, step=None):
        """The trace's own object of a run's step; None: the last. run: a name or its number. Raises Error: there is none."""
        if isinstance(run, int) and -len(self.names) <= run < len(self.names):
            run = self.names[run]
        for lane in self.trace["lanes"]:
            if lane["spec"] == run and lane["steps"] and (step is None or 0 <= step < len(lane["steps"])):
                return lane["steps"][-1 if step is None else step]
        raise Error(f"expected a run and a step of this result, got run {run!r}, step {step}; "
                    f"runs: {', '.join(self.names)}; steps: 0 to {max((len(lane['steps']) for lane in self.trace['lanes']), default=0) - 1}")

    def kept(self, run, step=None):
        """bool [layers, KV heads, tokens]: the token has a slot of its own after the step (None: the last). Raises Error: no such run or step, or no slots in the trace."""
        at = self.step(run, step)
        out = np.zeros((*self.shape, len(self.trace["tokens"])), dtype=bool)
        if not at.get("heads") or any("slots" not in h for h in at["heads"]):
            raise Error(f"kept: expected a trace with slots, got one of detail {self.trace.get('detail', 'summary')!r}; compute it with detail=\"slots\" or \"why\"")
        for head in at["heads"]:
            out[head["layer"], head["kv_head"], [slot[0] for slot in head["slots"]]] = True
        return out

    def figures(self):
        """A row per run: slots, kv_bytes (of its keys and values), bytes (allocated), kl (mean, nats), top1_same (share), nll (mean, nats),
        tokens_per_s, says (after the prompt: its own choices, whatever was fed). They are defined in one place (POLICIES.md section 6), which is not this package: of a file kvscope-cli says them. NaN: n/a."""
        if self._figures is None:
            from .program import figures_of
            self._figures = figures_of(self.trace)
        keys = ("spec", "slots", "kv_bytes", "bytes", "kl", "top1_same", "nll", "tokens_per_s", "says")
        return Table([tuple(lane[k] for k in keys) for lane in self._figures], ("run", *keys[1:]))

    def page(self):
        """The replay page: a whole HTML document, which needs nothing else. Needs a trace of detail `why`. It holds the text of the prompt."""
        from .program import page_of
        return page_of(self.trace)

    def plot_atlas(self, run=-1, step=None, axes=None):
        """What became of every token in every head, with matplotlib: a row per layer and KV head, a column per token. Returns the axes."""
        from .atlas import plot
        return plot(self, run, step, axes)

    def _repr_html_(self):
        from .cell import of_run
        return of_run(self)

    def __repr__(self):
        return f"<kvscope.Run of {display(self.trace['model']['name'])}: {', '.join(self.names)}; {self.n_prompt} prompt tokens>"


def check(root):
    """Refuses what the tables could not be made of. root: Value. Raises Error."""
    schema = root.value.get("schema") if isinstance(root.value, dict) else None
    if schema != "kvscope.trace/1":
        raise Error(f"{root.where}: expected a trace (kvscope.trace/1), got {schema if isinstance(schema, str) else 'no schema'}; kvscope-cli trace --out writes one")
    model = root.at("model")
    model.at("name").text()
    n_layers, n_kv_heads = model.at("n_layers").whole(1, MOST_LAYERS), model.at("n_kv_heads").whole(1, MOST_HEADS)
    n_tokens = len(root.at("tokens").wholes(0, MOST_WHOLE))
    root.at("n_prompt").whole(0, n_tokens)
    if "token_texts" in root.value:
        texts = [token_text(t) for t in root.at("token_texts").each()]
        if len(texts) != n_tokens:
            root.at("token_texts").fail(f"one text for each of {n_tokens} tokens")
    for lane in root.at("lanes").each(1024):
        lane.at("spec").text()
        for i, step in enumerate(lane.at("steps").each()):
            _check_step(step, i, n_layers, n_kv_heads, n_tokens)


def _check_step(step, number, n_layers, n_kv_heads, n_tokens):
    step.at("step").whole(number, number)
    position = step.at("position").whole(0, max(n_tokens - 1, 0))
    for key in ("next_token",):
        if step.given(key):
            step.at(key).whole()
    for key in ("nll", "kl"):
        if step.given(key):
            step.at(key).number()
    step.at("top1_same").flag()
    if not step.given("heads"):
        return
    heads = list(step.at("heads").each())
    if len(heads) not in (0, n_layers * n_kv_heads):
        step.at("heads").fail(f"none or all {n_layers * n_kv_heads} heads")
    for i, head in enumerate(heads):
        head.at("layer").whole(i // n_kv_heads, i // n_kv_heads)
        head.at("kv_head").whole(i % n_kv_heads, i % n_kv_heads)
        _check_head(head, position)


def _check_head(head, position):
    for key in ("budget", "n_slots"):
        if head.given(key):
            head.at(key).whole()
    for key in MEASURES:
        if head.given(key):
            head.at(key).number()
    if head.given("attended"):
        n = len(head.at("attended").wholes(0, position))
        if len(head.at("attention").numbers()) not in (0, n):
            head.at("attention").fail(f"none or one number for each of {n} attended slots")
    if "slots" in head.value:
        _check_slots(head.at("slots"), position)
    for event in head.at("events").each() if "events" in head.value else ():
        event.at("kind").text()
        event.at("pos").whole(0, position)
        if event.given("into"):
            into = event.at("into")
            into.wholes(0, position) if isinstance(into.value, list) else into.whole(0, position)


def _check_slots(slots, position):
    """Most of a trace is slots: what is right is passed over without an object for each number."""
    if not isinstance(slots.value, list):
        slots.fail("a list")
    last = -1
    for i, slot in enumerate(slots.value):
        if type(slot) is not list or len(slot) < 3:
            Value(slot, slots, i).fail("[pos, votes, score]")
        pos, votes, score = slot[:3]
        if not (type(pos) is int and last < pos <= position and type(votes) is int and 0 <= votes <= MOST_WHOLE
                and (score is None or type(score) in (int, float) and math.isfinite(score))):
            at = Value(slot, slots, i)
            Value(pos, at, 0).whole(last + 1, position)
            Value(votes, at, 1).whole()
            Value(score, at, 2).number()
        last = pos
