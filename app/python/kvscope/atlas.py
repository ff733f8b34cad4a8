# SPDX-License-Identifier: Apache-2.0
"""The cache atlas with matplotlib, in the window's colours (viz/draw/theme.cpp, light)."""
import numpy as np

from .document import display
from .errors import needs

# a category is an index: what is not read yet, what has a slot of its own, whose slot stands for others too, what went into another slot, what is gone
NAMES = ("not read yet", "kept", "kept, others merged into it", "merged into another", "evicted")
COLOURS = ("#F5F7F9", "#074C94", "#D89C40", "#F0DDBF", "#C2CBD2")
UNREAD, KEPT, HOLDS, MERGED, EVICTED = range(len(NAMES))
MOST_LABELS = 48                                                       # texts along the axis; more are unreadable


def categories(run, name, step):
    """int8 [layers x KV heads, tokens], an index of NAMES each."""
    at = run.step(name, step)
    name = run.names[name] if isinstance(name, int) else name
    kept = run.kept(name, at["step"])
    out = np.full(kept.shape, EVICTED, dtype=np.int8)
    lane = next(lane for lane in run.trace["lanes"] if lane["spec"] == name)
    for before in lane["steps"][:at["step"] + 1]:
        for head in before.get("heads", ()):
            for event in head.get("events", ()):
                if event["kind"] in ("merge", "evict"):
                    out[head["layer"], head["kv_head"], event["pos"]] = MERGED if event["kind"] == "merge" else EVICTED
    out[kept] = KEPT
    for head in at["heads"]:
        out[head["layer"], head["kv_head"], [pos for pos, votes, *_ in head["slots"] if votes > 1]] = HOLDS
    out[:, :, at["position"] + 1:] = UNREAD
    return out.reshape(-1, out.shape[2])


def plot(run, name, step, axes):
    plt, colors = needs("matplotlib.pyplot", "plot_atlas"), needs("matplotlib.colors", "plot_atlas")
    at = run.step(name, step)
    cells = categories(run, name, step)
    n_layers, n_kv_heads = run.shape
    if axes is None:
        axes = plt.subplots(figsize=(12, 1.5 + min(10, 0.16 * len(cells))), layout="constrained")[1]
    axes.imshow(cells, cmap=colors.ListedColormap(COLOURS), vmin=-0.5, vmax=len(NAMES) - 0.5, aspect="auto", interpolation="nearest")
    axes.set_yticks(np.arange(n_layers) * n_kv_heads, [f"L{layer}" for layer in range(n_layers)])
    tokens = [plain(display(t)) for t in run.tokens]
    every = max(1, -(-len(tokens) // MOST_LABELS))
    axes.set_xticks(range(0, len(tokens), every), tokens[::every], rotation=90, fontsize=7)
    axes.axvline(run.n_prompt - 0.5, color="#14171C", linewidth=0.8)
    spec = run.names[name] if isinstance(name, int) else name
    axes.set_title(plain(f"{spec}, after step {at['step']}"))
    axes.set_xlabel("token (the line: end of the prompt)")
    axes.set_ylabel("layer, its KV heads below each other")
    patch = needs("matplotlib.patches", "plot_atlas").Patch
    axes.legend(handles=[patch(facecolor=COLOURS[i], edgecolor="#8A929C", label=NAMES[i]) for i in np.unique(cells)],
                loc="upper left", bbox_to_anchor=(1, 1), fontsize=8, frameon=False)
    return axes


def plain(text):
    """matplotlib reads $...$ as mathematics, and fails on what is none."""
    return text.replace("$", r"\$")
