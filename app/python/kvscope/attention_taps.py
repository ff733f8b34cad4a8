# SPDX-License-Identifier: Apache-2.0
"""What a transformers model and a press compute on the way and do not hand out: attention of the last query, scores."""
import math

import numpy as np

from .row_hashes import row_hashes


class AttentionTap:
    """Attention that the last query of a forward pass pays to every slot, mean over the query heads of a KV head, per layer.

    Eager attention returns it; for the other kernels, which do not, the one row is computed from the same queries and keys.
    """

    def __init__(self, torch, model, layers):
        self._torch, self._model, self._layers, self._rows = torch, model, layers, {}
        self._plain_softmax = False

    def attach(self, stack):
        for i, layer in enumerate(self._layers):
            stack.callback(layer.register_forward_hook(lambda module, args, output, i=i: self._returned(i, output)).remove)
        kernel = getattr(self._model.config, "_attn_implementation", None)
        from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS as kernels
        if kernel in (None, "eager") or kernel not in kernels:
            return
        self._plain_softmax = kernel == "sdpa"                         # torch's kernel knows neither caps nor learned sinks: transformers drops them
        plain, places = kernels[kernel], {id(layer): i for i, layer in enumerate(self._layers)}

        def listening(module, query, key, value, attention_mask, *args, **kwargs):
            if id(module) in places:
                self._rows[places[id(module)]] = self._row(module, query, key, attention_mask, kwargs)
            return plain(module, query, key, value, attention_mask, *args, **kwargs)
        kernels[kernel] = listening
        stack.callback(kernels.__setitem__, kernel, plain)

    def take(self, layer):
        """float64 [KV heads, slots] of the last forward pass; None: not known."""
        return self._rows.pop(layer, None)

    def _returned(self, i, output):
        weights = output[1] if isinstance(output, tuple) and len(output) > 1 else None
        if weights is None or weights.ndim != 4:
            return
        row = weights[0, :, -1].detach().double()
        n_kv_heads = getattr(self._layers[i].config, "num_key_value_heads", None) or row.shape[0]
        self._rows[i] = row.view(n_kv_heads, -1, row.shape[-1]).mean(1).cpu().numpy()

    def _row(self, module, query, key, mask, options):
        torch = self._torch
        n_kv_heads, n = key.shape[1], key.shape[2]
        q = query[0, :, -1].detach().float().view(n_kv_heads, -1, query.shape[-1])
        scores = q @ key[0].detach().float().transpose(1, 2) * (options.get("scaling") or 1 / math.sqrt(query.shape[-1]))
        if options.get("softcap") and not self._plain_softmax:
            scores = options["softcap"] * torch.tanh(scores / options["softcap"])
        if mask is not None and mask.ndim == 4:
            row = mask[0, 0, -1, :n]
            scores = scores.masked_fill(~row, -torch.inf) if row.dtype == torch.bool else scores + row.float()
        elif options.get("sliding_window"):
            scores[..., :max(0, n - options["sliding_window"])] = -torch.inf
        masked = getattr(module, "masked_key_indices", None)
        if masked is not None and query.shape[2] != n:
            scores.transpose(1, 2)[masked[1], masked[2]] = -torch.inf
        else:
            masked = None
        if options.get("s_aux") is not None and not self._plain_softmax:  # a learned sink takes its share and is no token
            scores = torch.cat([scores, options["s_aux"].float().view(n_kv_heads, -1, 1)], -1)
        out = torch.softmax(scores, -1)[..., :n].mean(1).double().cpu().numpy()
        if masked is not None:
            out[masked[1].cpu().numpy(), masked[2].cpu().numpy()] = np.nan  # no token that is there
        return out


class ScoreTap:
    """Scores that a press gives to tokens, per layer, by the rows of keys that it was shown."""

    def __init__(self, torch):
        self._torch, self._seen, self._placed = torch, {}, {}

    def begin(self):
        """A new step: the scores of the last one are over."""
        self._seen, self._placed = {}, {}

    def attach(self, press, stack):
        for one in _parts(press):
            if callable(getattr(type(one), "score", None)):
                self._wrap(one, "score", self._score, stack)
            if callable(getattr(type(one), "compress_post", None)):    # scores of all layers at once, when the block ends
                self._wrap(one, "compress_post", self._post, stack)

    def _wrap(self, one, name, listener, stack):
        own = vars(one).get(name)                                      # somebody else's wrapper
        plain = getattr(one, name)
        object.__setattr__(one, name, lambda *args, **kwargs: listener(one, plain, args, kwargs))
        stack.callback(lambda: object.__delattr__(one, name) if own is None else object.__setattr__(one, name, own))

    def _score(self, one, plain, args, kwargs):
        out = plain(*args, **kwargs)
        given = dict(zip(("module", "hidden_states", "keys"), args), **kwargs)
        module, keys = given.get("module"), given.get("keys")
        if module is not None and keys is not None and out is not None and out.ndim == 3 and out.shape[1:] == keys.shape[1:3]:
            self._seen[module.layer_idx] = (row_hashes(self._torch, keys[0]), out[0].detach().double().cpu().numpy())
        return out

    def _post(self, one, plain, args, kwargs):
        out = plain(*args, **kwargs)
        scores = getattr(one, "score_val", None)
        for layer in range(len(scores)) if scores is not None else ():
            self._placed[layer] = (None, scores[layer][0].detach().double().cpu().numpy())
        return out

    def place(self, layer, history):
        """Finds which tokens a layer's scores belong to. history: RowHistory."""
        if layer in self._seen:
            rows, scores = self._seen.pop(layer)
            positions = history.of_keys(rows)
            if positions is not None:
                self._placed[layer] = (positions, scores)

    def over(self, mask):
        """float64 [layers, heads, tokens], NaN: none. None: there are no scores at all."""
        if not self._placed:
            return None
        out = np.full(mask.shape, np.nan)
        for layer, (positions, scores) in self._placed.items():
            if positions is None:
                out[layer, :, :scores.shape[1]] = scores
            else:
                np.put_along_axis(out[layer], positions, scores, 1)
        return out


def _parts(press, depth=0):
    """The press and those it is made of."""
    if press is None or depth > 4:
        return
    yield press
    for value in vars(press).values():
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if callable(getattr(type(one), "compress", None)) and hasattr(one, "__dict__"):
                yield from _parts(one, depth + 1)
