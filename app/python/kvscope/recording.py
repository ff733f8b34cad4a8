# SPDX-License-Identifier: Apache-2.0
"""Records which tokens a method keeps in a transformers model, while it runs there (kvscope.kept/1)."""
import contextlib
import os

import numpy as np

from .attention_taps import AttentionTap, ScoreTap
from .errors import Error, needs
from .kept import Kept
from .row_hashes import RowHistory, row_hashes

N_TOP = 5


@contextlib.contextmanager
def record(model, press=None, path=None, *, name=None, tokenizer=None, attention=True, arrays=None):
    """While the block runs, `press` compresses the cache of `model`, and what every KV head keeps is recorded.

        with kvscope.record(model, kvpress.SnapKVPress(compression_ratio=0.75), "snapkv.json") as recording:
            model.generate(**inputs, max_new_tokens=8)
        recording.kept                      # a Kept; also in the file

    model: of transformers, with layers that have a `self_attn` (what kvpress supports). press: a press of kvpress, or None: the model's own cache.
    path: the file to write at the end (kvscope-cli run --kept FILE); None: none. name: of the run; None: the press's class.
    tokenizer: gives the tokens' texts. attention: record what the last query of every step pays. arrays: as in Kept.write.

    One text, from its start, in a batch of one, with a DynamicCache. The first forward pass is the prompt; each later token is a step. Recorded are the
    positions kept (by the rows of the cache that are left, or by what the press masks), the press's scores where it has any, the attention of the last
    query before the step's compression (mean over the query heads of a KV head), and the likeliest next tokens. If the block raises, nothing is written.
    Raises Error for a model, press or use that cannot be recorded.
    """
    torch = needs("torch", "record")
    recording = Recording(torch, model, press, name, tokenizer, attention)
    if path is not None:
        folder = os.path.dirname(os.fspath(path)) or "."
        if not os.path.isdir(folder):
            raise Error(f"record: {os.fspath(path)}: expected a folder that is there, got none of the name {folder}; make it first")
    with contextlib.ExitStack() as after_press:
        recording.listen_to_scores(after_press)
        with press(model) if press is not None else contextlib.nullcontext():
            with contextlib.ExitStack() as hooks:
                recording.listen(hooks)
                yield recording
            n = recording.marks() if recording.begun else None
        if recording.begun and recording.marks() != n:                 # presses that decide when their block ends
            recording.look_again()
    recording.finish()
    if path is not None:
        recording.kept.write(path, arrays)


class Recording:
    """What was recorded: `kept`, a Kept, once the block has ended."""

    def __init__(self, torch, model, press, name, tokenizer, attention):
        self.kept = None
        self._torch, self._model, self._press, self._tokenizer = torch, model, press, tokenizer
        self._inner = _language_model(model)
        self._layers = _attention_layers(self._inner, model)
        if press is not None and not callable(press):
            raise Error(f"record: expected a press of kvpress (SnapKVPress(...)) or None, got {type(press).__name__}")
        self._name = name or (_name_of(press) if press is not None else "full cache")
        self._tokens, self._n_prompt, self._steps, self._cache = [], 0, [], None
        self._slots = [None] * len(self._layers)                       # positions [heads, slots] in the order of the cache
        self._history = [RowHistory() for _ in self._layers]
        self._scores = ScoreTap(torch)
        self._attention = AttentionTap(torch, model, self._layers) if attention else None
        self._inside = False

    @property
    def begun(self):
        return self._n_prompt > 0

    def listen_to_scores(self, stack):
        self._scores.attach(self._press, stack)

    def listen(self, stack):
        """Hooks for as long as `stack` lives."""
        hooks = [self._inner.register_forward_pre_hook(self._before, with_kwargs=True), self._inner.register_forward_hook(self._after)]
        hooks += [layer.register_forward_pre_hook(self._before_layer, with_kwargs=True) for layer in self._layers]
        if self._model is not self._inner:
            hooks.append(self._model.register_forward_hook(self._after_head))
        for hook in hooks:
            stack.callback(hook.remove)
        stack.callback(self._release_cache)
        if self._attention:
            self._attention.attach(stack)

    def _before(self, module, args, kwargs):
        ids = kwargs.get("input_ids", args[0] if args else None)
        if ids is None:
            raise Error("record: expected input_ids, got embeddings; a text without tokens cannot be opened")
        if ids.ndim != 2 or ids.shape[0] != 1:
            raise Error(f"record: expected a batch of one text, got input_ids of shape {list(ids.shape)}; record one text at a time")
        cache = kwargs.get("past_key_values")
        n_held = cache.get_seq_length() if cache is not None else 0
        if self.begun and (n_held == 0 or cache is not self._cache):
            raise Error("record: expected one text, got the start of another (a new cache); record each in a block of its own")
        if not self.begun and n_held > 0:
            raise Error(f"record: expected the text from its start, got a cache that already holds {n_held} tokens; start the block before the prompt is read")
        if self.begun and any(_rows(self._cache, i)[0].shape[2] != self._slots[i].shape[1] for i in range(len(self._layers))):
            raise Error("record: expected the cache as the last step left it, got one that was cut in between; ask one question in a block")
        self._new = ids[0].tolist()
        self._tokens += self._new
        self._inside, self._updated = True, set()
        self._scores.begin()

    def _before_layer(self, module, args, kwargs):
        cache = kwargs.get("past_key_values", kwargs.get("past_key_value"))
        if not self._inside or cache is None or cache is self._cache:
            return
        if not hasattr(cache, "layers"):
            raise Error(f"record: expected a DynamicCache, got {type(cache).__name__}; leave past_key_values out")
        self._cache, store = cache, cache.update

        def update(keys, values, layer_idx, *args, **kwargs):
            if self._inside:
                self._updated.add(layer_idx)
                self._history[layer_idx].add(row_hashes(self._torch, keys[0]), row_hashes(self._torch, values[0]))
            return store(keys, values, layer_idx, *args, **kwargs)
        cache.update = update

    def _release_cache(self):
        if self._cache is not None:
            del self._cache.update

    def _after(self, module, args, output):
        self._inside = False
        if self._cache is None or len(self._updated) != len(self._layers):
            raise Error(f"record: expected that {len(self._layers)} layers store keys in a cache, got {len(self._updated)}; "
                        "call the model with use_cache=True, and without layers that share keys or keep a state instead")
        if not self.begun:
            self._n_prompt = len(self._tokens)
        self._steps.append(self._look())

    def _look(self):
        """The step that was just read."""
        n = len(self._tokens)
        mask, paid = None, None
        for i in range(len(self._layers)):
            keys, values = _rows(self._cache, i)
            new = np.broadcast_to(np.arange(n - len(self._new), n), (keys.shape[1], len(self._new)))
            before = new if self._slots[i] is None else np.concatenate([self._slots[i], new], 1)
            self._scores.place(i, self._history[i])
            if mask is None:
                mask = np.zeros((len(self._layers), keys.shape[1], n), dtype=bool)
                paid = np.full(mask.shape, np.nan)
            if keys.shape[1] != mask.shape[1]:
                raise Error(f"record: layer {i}: expected {mask.shape[1]} KV heads as in layer 0, got {keys.shape[1]}; a file has one number for all layers")
            self._slots[i] = before if keys.shape[2] == before.shape[1] else self._find(i, keys, values)
            mask[i] = self._kept_of(i, n)
            weights = self._attention.take(i) if self._attention else None
            if weights is not None and weights.shape == before.shape:
                np.put_along_axis(paid[i], before, weights, 1)
        return {"step": n - self._n_prompt, "kept": mask, "attention": paid if self._attention and not np.isnan(paid).all() else None,
                "scores": self._scores.over(mask), "top": None}

    def _find(self, i, keys, values):
        return self._history[i].positions(row_hashes(self._torch, keys[0]), row_hashes(self._torch, values[0]), f"record: layer {i}")

    def _kept_of(self, i, n):
        """bool [heads, n]: by the slots of a layer, less those that the press masks."""
        slots = self._slots[i]
        held = np.ones(slots.shape, dtype=bool)
        masked = _masked(self._model, self._layers[i])
        if masked is not None:
            held[masked] = False
        out = np.zeros((slots.shape[0], n), dtype=bool)
        for head in range(slots.shape[0]):
            out[head, slots[head, held[head]]] = True
        return out

    def marks(self):
        """How many slots and masked slots the layers have now."""
        return [(_rows(self._cache, i)[0].shape[2], len(masked[0]) if (masked := _masked(self._model, layer)) is not None else 0) for i, layer in enumerate(self._layers)]

    def look_again(self):
        """The last step anew, after the press has ended its work."""
        step = self._steps[-1]
        for i in range(len(self._layers)):
            keys, values = _rows(self._cache, i)
            if keys.shape[2] != self._slots[i].shape[1]:
                self._slots[i] = self._find(i, keys, values)
            step["kept"][i] = self._kept_of(i, len(self._tokens))
            self._scores.place(i, self._history[i])
        step["scores"] = self._scores.over(step["kept"])

    def _after_head(self, module, args, output):
        logits = getattr(output, "logits", None)
        if self._steps and logits is not None and logits.ndim == 3:
            p, ids = self._torch.softmax(logits[0, -1].detach().float(), -1).topk(min(N_TOP, logits.shape[-1]))
            self._steps[-1]["top"] = list(zip(ids.tolist(), p.tolist()))

    def finish(self):
        if not self.begun:
            raise Error("record: expected that the model reads a text inside the block, got none; call model(...) or model.generate(...) there")
        config = self._inner.config
        name = os.path.basename(str(getattr(config, "_name_or_path", "") or getattr(self._model, "name_or_path", "") or "").rstrip("/")) or config.model_type
        texts = None if self._tokenizer is None else [self._tokenizer.decode([i]) for i in self._tokens]
        self.kept = Kept(self._tokens, n_layers=len(self._layers), n_kv_heads=self._steps[0]["kept"].shape[1], n_prompt=self._n_prompt, model=name, texts=texts)
        run = self.kept.run(self._name, _ratio_of(self._press))
        for step in self._steps:
            run.step(step["step"], step["kept"], step["scores"], attention=step["attention"], top=step["top"])


def _language_model(model):
    inner = getattr(model, "model", None)
    inner = getattr(inner, "language_model", inner)
    return inner if inner is not None else getattr(model, "base_model", model)


def _attention_layers(inner, model):
    layers = getattr(inner, "layers", None)
    if layers is None or not hasattr(model, "register_forward_hook") or len(layers) == 0:
        raise Error(f"record: expected a decoder of transformers with model.layers, got {type(model).__name__}; load it with AutoModelForCausalLM")
    for i, layer in enumerate(layers):
        if not hasattr(layer, "self_attn"):
            raise Error(f"record: expected attention (self_attn) in every layer, got layer {i} of {type(model).__name__} with "
                        f"{', '.join(name for name, _ in layer.named_children()) or 'nothing'}; there is no cache of keys and values to look at")
    return [layer.self_attn for layer in layers]


def _rows(cache, i):
    """keys and values [1, heads, slots, width] of a layer."""
    layer = cache.layers[i]
    if getattr(layer, "keys", None) is None or layer.keys.ndim != 4:
        raise Error(f"record: layer {i}: expected keys and values as they are, got {type(layer).__name__}; use the plain DynamicCache")
    return layer.keys, layer.values


def _masked(model, layer):
    """(heads, slots) of what a press has masked in a layer instead of removing it; None: nothing. Eager attention cannot mask (kvpress)."""
    masked = getattr(layer, "masked_key_indices", None)
    if masked is None or getattr(model.config, "_attn_implementation", "") == "eager":
        return None
    return masked[1].cpu().numpy(), masked[2].cpu().numpy()


def _name_of(press):
    inner = next((x for x in (getattr(press, "press", None), getattr(press, "base_press", None)) if x is not None), None)
    return type(press).__name__ + (f"({_name_of(inner)})" if inner is not None else "")


def _ratio_of(press):
    try:
        kept = 1 - float(press.compression_ratio)
    except Exception:                                                  # noqa: BLE001  a property may assert what it likes
        return None
    return kept if 0 <= kept <= 1 else None
