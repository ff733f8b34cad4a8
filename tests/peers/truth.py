#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What papers say of caches, measured with kvscope on the model that comes with it: writes assets/papers/TRUTH.md and a picture for each row.

    tests/peers/truth.py build/release/kvscope-cli [--only NAME]... [--check]

Needs numpy. --only measures these rows anew and leaves the others. --check measures nothing: it fails where the page has other rows than this
file, where one has no command or picture, or is about another model."""
import argparse
import hashlib
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    print("numpy is missing: pip install numpy")
    sys.exit(77)

from figures import bars, curves, heat

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "oracle"))
from model import Model, Prefill
ASSETS = os.path.join(HERE, "..", "..", "assets")
TEXT = os.path.join(ASSETS, "text", "war-and-peace-excerpt.txt")
N_TEXTS, PROMPT_BYTES, NEXT_BYTES = 6, 1300, 160
rows = []


def claim(name, source, says):
    def add(measure):
        rows.append((name, source, says, measure))
        return measure
    return add


class Kvscope:
    def __init__(self, cli, folder):
        self.cli, self.folder, self.traces, self.said = os.path.abspath(cli), folder, {}, []
        self.model, self.prefills = None, {}

    def say(self, *arguments):
        """Notes a command of the row that is measured, once, for its reader."""
        shown = shlex.join(("kvscope-cli", *arguments))
        for path, name in ((TEXT, "assets/text/" + os.path.basename(TEXT)), (self.folder + os.sep, "")):
            shown = shown.replace(path, name)
        if shown not in self.said:
            self.said.append(shown)

    def run(self, *arguments):
        done = subprocess.run([self.cli, *arguments], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"kvscope-cli {' '.join(arguments)}: {done.stderr}")
        return done.stdout

    def ppl(self, *lanes, tokens=3072, window=512, stride=256, mode="prefill"):
        """nll of each run, the full cache's first."""
        arguments = [a for lane in lanes for a in ("--lane", lane)]
        command = ["ppl", "--text", TEXT, "--tokens", str(tokens), "--window", str(window), "--stride", str(stride), "--prompt-mode", mode, *arguments]
        self.say(*command)
        out = json.loads(self.run(*command, "--json", "--quiet"))
        return [lane["nll"] for lane in out["lanes"]]

    def write_stretch(self, text, prompt, following):
        with open(TEXT, encoding="utf-8") as f:
            novel = f.read()
        begin = text * (PROMPT_BYTES + NEXT_BYTES)
        for path, first, n in ((prompt, begin, PROMPT_BYTES), (following, begin + PROMPT_BYTES, NEXT_BYTES)):
            with open(path, "w", encoding="utf-8") as f:
                f.write(novel[first:first + n])

    def trace(self, text, *lanes, mode="prefill", detail="why"):
        """Of the text-th stretch of the novel, fed with what follows it there."""
        key = (text, lanes, mode, detail)
        runs = [a for lane in lanes for a in ("--lane", lane)]
        self.say("trace", "--prompt-file", os.path.join(self.folder, "prompt.txt"), "--follow", os.path.join(self.folder, "next.txt"), "--prompt-mode", mode, "--detail", detail, *runs)
        if key not in self.traces:
            prompt, following = os.path.join(self.folder, "prompt.txt"), os.path.join(self.folder, "next.txt")
            self.write_stretch(text, prompt, following)
            out = os.path.join(self.folder, "trace.json")
            self.run("trace", "--prompt-file", prompt, "--follow", following, "--prompt-mode", mode, "--detail", detail, "--out", out, "--quiet",
                     *runs)
            with open(out, encoding="utf-8") as f:
                self.traces[key] = json.load(f)
        return self.traces[key]

    def prefill(self, text):
        """Keys and values of the text-th stretch, which no command writes: of tests/oracle, the same model in float64."""
        prompt, following = os.path.join(self.folder, "prompt.txt"), os.path.join(self.folder, "next.txt")
        self.say("tokens", "--text-file", prompt, "--json")
        self.write_stretch(text, prompt, following)
        if text not in self.prefills:
            told = json.loads(self.run("tokens", "--text-file", prompt, "--json"))
            self.model = self.model or Model(os.path.join(ASSETS, "models", "kvmini"))
            self.prefills[text] = Prefill(self.model, [t["id"] for t in told["tokens"]])
        return self.prefills[text]

    def methods(self):
        """Names of all policies with a budget, but those that are put together of others, or read from a file what this model has none of."""
        told = json.loads(self.run("info", "--policies", "--json", "--quiet"))["policies"]
        return [p["name"] for p in told if p["takes_budget"] and p["name"] not in ("custom", "given", "prefill_decode", "qfilter", "kvzap", "fastkvzip", "lukv")]


def percent(x):
    return f"{100 * x:.1f} %"


def whole_percent(x):
    return f"{100 * x:.0f} %"


def three(x):
    return f"{x:.3f}"


def by_head(title, found, mark=None, write=whole_percent):
    """found: {(layer, KV head): value}."""
    heads = sorted(found)
    return bars(title, [f"{layer}·{head}" for layer, head in heads], [float(found[h]) for h in heads], write, mark, below="layer · KV head")


def decoding(lane):
    """Steps after the prompt's."""
    return lane["steps"][1:]


def full_attention(k):
    """Attention of every step after the prompt, by text, layer and head: arrays that sum to 1 (mean over the query heads of a KV head)."""
    for text in range(N_TEXTS):
        for step in decoding(k.trace(text, "h2o:ratio=0.2", "snapkv:ratio=0.2")["lanes"][0]):
            for head in step["heads"]:
                yield text, head["layer"], head["kv_head"], np.array(head["attention"])


@claim("sinks", "StreamingLLM, arXiv:2309.17453, Table 1", "Window attention alone collapses once the first tokens leave (Llama-2-13B: perplexity 5158); four sinks beside the window bring it back (5.40).")
def sinks(k):
    full, without, with_sinks = k.ppl("streaming:slots=128,sinks=0", "streaming:slots=128,sinks=4", mode="stream")
    verdict = "shows" if without - full > 4 * (with_sinks - full) else "does not show here"
    why = "" if verdict == "shows" else " The model was trained on short texts, whose first token holds less of the attention than in models of billions of weights: losing it costs, but nothing collapses."
    return verdict, f"perplexity {np.exp(full):.2f} (full), {np.exp(without):.2f} (128 slots, no sinks), {np.exp(with_sinks):.2f} (4 sinks among them).{why}", bars(
        "Perplexity in a stream", ["full cache", "128 slots, no sinks", "128 slots, 4 sinks"], [float(np.exp(x)) for x in (full, without, with_sinks)], lambda x: f"{x:.1f}")


@claim("sparsity", "H2O, arXiv:2306.14048, Fig. 2 (a)", "Attention is sparse: in almost all layers over 95 % of the entries are below 1 % of the largest of their row.")
def sparsity(k):
    by_layer = {}
    for _, layer, _, a in full_attention(k):
        by_layer.setdefault(layer, []).append(np.mean(a < 0.01 * a.max()))
    shares = [float(np.mean(by_layer[layer])) for layer in sorted(by_layer)]
    n = sum(s > 0.95 for s in shares)
    verdict = "shows" if n >= 0.8 * len(shares) else "does not show here"
    return verdict, f"by layer {', '.join(percent(s) for s in shares)}; {n} of {len(shares)} layers above 95 %. Heads of few tokens and texts of some hundred tokens are denser than those of long prompts: the share below 1 % grows with the length of the row.", bars(
        "Attention below 1 % of the largest of its row", [f"layer {i}" for i in range(len(shares))], shares, whole_percent, (0.95, "95 % in the paper"))


@claim("cumulative", "KeepKV, arXiv:2504.09936, Fig. 2 (a)", "The highest tokens do not always hold the majority of the attention.")
def cumulative(k):
    heads, sums, parts = {}, {}, np.linspace(0, 1, 41)
    for _, layer, head, a in full_attention(k):
        highest = np.sort(a)[::-1]
        heads.setdefault((layer, head), []).append(highest[: max(1, round(0.2 * a.size))].sum())
        sums.setdefault((layer, head), []).append(np.interp(parts, np.arange(a.size + 1) / a.size, np.concatenate(([0.0], np.cumsum(highest)))))
    means = {h: float(np.mean(v)) for h, v in heads.items()}
    low = min(means, key=means.get)
    n = sum(m < 0.8 for m in means.values())
    return ("shows" if n > 0 else "does not show here",
            f"the highest 20 % hold {percent(np.mean(list(means.values())))} on average, {percent(means[low])} in L{low[0]} H{low[1]}; below 80 % in {n} of {len(means)} heads, below 50 % in {sum(m < 0.5 for m in means.values())}.",
            curves("Attention that the highest tokens hold, each head", list(100 * parts), [np.mean(v, axis=0).tolist() for v in sums.values()], whole_percent, "highest tokens, %", high=1.0))


@claim("return", "KeepKV, arXiv:2504.09936, Fig. 2 (b)", "Of the prompt's tokens that are to be evicted at 20 %, a part comes into the highest 20 % of the attention while generating.")
def comes_back(k):
    shares, heads = [], {}
    for text in range(N_TEXTS):
        lanes = k.trace(text, "h2o:ratio=0.2", "snapkv:ratio=0.2")["lanes"]
        for h, head in enumerate(lanes[1]["steps"][0]["heads"]):
            gone = np.array([e["pos"] for e in head["events"] if e["kind"] == "evict"], dtype=int)
            seen = np.zeros(gone.size, dtype=bool)
            for step in decoding(lanes[0]):
                a = np.array(step["heads"][h]["attention"])
                seen |= a[gone] >= np.sort(a)[::-1][max(1, round(0.2 * a.size)) - 1]
            shares.append(seen.mean())
            heads.setdefault((head["layer"], head["kv_head"]), []).append(seen.mean())
    return ("shows" if np.mean(shares) > 0.05 else "does not show here",
            f"of the tokens that h2o evicts at 20 %, {percent(np.mean(shares))} are among the highest 20 % in at least one of the next {len(decoding(lanes[0]))} steps (by head {percent(min(shares))} to {percent(max(shares))}).",
            by_head("Evicted tokens that come back into the highest 20 %", {h: np.mean(v) for h, v in heads.items()}))


@claim("locality", "KeepKV, arXiv:2504.09936, Fig. 2 (c)", "A token's attention changes slowly: its variance over all steps is larger than the average variance within a sliding window.")
def locality(k):
    window, wins, n, heads = 8, 0, 0, {}
    for text in range(N_TEXTS):
        steps = decoding(k.trace(text, "h2o:ratio=0.2", "snapkv:ratio=0.2")["lanes"][0])
        for h in range(len(steps[0]["heads"])):
            length = len(steps[0]["heads"][h]["attention"])
            a = np.array([s["heads"][h]["attention"][:length] for s in steps])
            inside = np.mean([a[i:i + window].var(axis=0, ddof=1) for i in range(len(a) - window + 1)], axis=0)
            slow = a.var(axis=0, ddof=1) > inside
            heads.setdefault((steps[0]["heads"][h]["layer"], steps[0]["heads"][h]["kv_head"]), []).append(slow.mean())
            wins += int(slow.sum())
            n += length
    return ("shows" if wins > 0.6 * n else "does not show here", f"true for {percent(wins / n)} of the tokens of all heads, window of {window} steps; {percent(0.5)} would be chance.",
            by_head("Tokens whose attention varies less within a window", {h: np.mean(v) for h, v in heads.items()}, (0.5, "chance")))


@claim("prediction", "KeepKV, arXiv:2504.09936, Fig. 2 (d)", "An EMA of the past scores predicts the next ones with a smaller relative error than the score of the present step.")
def prediction(k):
    runs = {name: f"keepkv:ratio=0.2,predict={name}" for name in ("ema", "window", "current")}
    relative, nats = {name: [] for name in runs}, {name: [] for name in runs}
    for text in range(N_TEXTS // 2):
        for name, lane in zip(runs, k.trace(text, *runs.values(), detail="slots")["lanes"][1:]):
            heads = [h for s in decoding(lane) for h in s["heads"] if h.get("predictor_rel_error") is not None]
            relative[name] += [h["predictor_rel_error"] for h in heads]
            nats[name] += [h["predictor_error"] for h in heads]
    middle = {name: float(np.median(v)) for name, v in relative.items()}
    shows = middle["ema"] < middle["current"]
    cause = "" if shows else " The cause: scores of this model move by e^1 and more from a step to the next, and a mean of past scores is ruled by the highest of them: it stays too high for long where one was high once."
    return ("shows" if shows else "does not show here",
            "relative error of the predicted scores, median over heads and steps: " + ", ".join(f"{name} {middle[name]:.2f} (of their logarithms: {np.mean(nats[name]):.2f} nats on average)" for name in runs) + "." + cause,
            bars("Relative error of predicted scores, median", list(middle), list(middle.values()), lambda x: f"{x:.1f}"))


@claim("alike keys", "KVMerger, arXiv:2407.08454, Fig. 2", "Keys of one sequence are alike, and those of adjacent tokens more than others.")
def alike_keys(k):
    cosines, near, by_chance, reach = {}, [], [], 16
    for text in range(N_TEXTS):
        for head in k.trace(text, 'custom:score="similarity",ratio=0.5,cadence=once', detail="slots")["lanes"][1]["steps"][0]["heads"]:
            scores = [s[2] for s in head["slots"] if s[2] is not None] + [e["score"] for e in head["events"] if e.get("score") is not None]
            cosines.setdefault((head["layer"], head["kv_head"]), []).append(np.mean(scores))
        for head in k.trace(text, "keepkv:ratio=0.5,threshold=-1", detail="slots")["lanes"][1]["steps"][0]["heads"]:
            gone = {e["pos"] for e in head["events"]}
            kept = np.array([s[0] for s in head["slots"]])
            for e in head["events"]:
                if e.get("into") is not None and e["into"] not in gone:
                    near.append(abs(e["pos"] - e["into"]) <= reach)
                    by_chance.append(np.mean(abs(kept - e["pos"]) <= reach))
    mean = {h: float(np.mean(v)) for h, v in cosines.items()}
    shows = np.mean(list(mean.values())) > 0.7 and np.mean(near) > 2 * np.mean(by_chance)
    return ("shows" if shows else "shows in part" if np.mean(near) > 1.5 * np.mean(by_chance) else "does not show here",
            f"the most similar other key of a token has cosine {np.mean(list(mean.values())):.2f} on average (by head {min(mean.values()):.2f} to {max(mean.values()):.2f}); of a token that goes at 50 % it stands within {reach} tokens "
            f"in {percent(np.mean(near))}, where {percent(np.mean(by_chance))} of the kept keys stand.",
            by_head("Cosine of the most similar other key", mean, write=lambda x: f"{x:.2f}"))


@claim("alike by distance", "KVMerger, arXiv:2407.08454, Fig. 3 (a)", "How alike a key is to those before it changes with the distance, and differently from head to head; values do not show the same.")
def alike_by_distance(k):
    reach = (1, 2, 4, 8, 16, 32, 64, 128)
    found = {name: {} for name in ("kr", "v")}
    for text in range(N_TEXTS // 2):
        for layer, rows in enumerate(k.prefill(text).layers):
            for name, of_head in found.items():
                unit = rows[name] / np.linalg.norm(rows[name], axis=-1, keepdims=True)
                for head, x in enumerate(unit):
                    cosines = x @ x.T
                    of_head.setdefault((layer, head), []).append([np.diagonal(cosines, -d).mean() for d in reach])
    keys, values = ({h: np.mean(v, axis=0) for h, v in of_head.items()} for of_head in found.values())
    falls = lambda of: {h: c[0] - c[-1] for h, c in of.items()}
    of_keys, of_values = (np.array(list(falls(x).values())) for x in (keys, values))
    n = int(np.sum(of_keys > 2 * np.abs(of_values)))
    shows = np.mean(of_keys) > 3 * np.mean(np.abs(of_values)) and np.std(of_keys) > 0.02
    words = lambda of: ", ".join(f"{np.mean([c[i] for c in of.values()]):.2f} ({d})" for i, d in enumerate(reach))
    return ("shows" if shows else "shows in part" if n > len(keys) / 2 else "does not show here",
            f"mean cosine by distance in tokens, keys as they are cached: {words(keys)}; values: {words(values)}. From a distance of 1 to one of {reach[-1]} the cosine of keys falls by {np.mean(of_keys):.2f} "
            f"({min(of_keys):.2f} to {max(of_keys):.2f} by head), that of values by {np.mean(of_values):.2f} ({min(of_values):.2f} to {max(of_values):.2f}); by more than twice as much in {n} of {len(keys)} heads.",
            curves("Cosine of a key and an earlier one, each head", [float(np.log2(d)) for d in reach], [c.tolist() for c in keys.values()], lambda x: f"{x:.1f}", "distance in tokens, as a power of 2",
                   low=min(0.0, float(min(c.min() for c in keys.values()))), high=1.0))


@claim("hit rate", "SnapKV, arXiv:2404.14469, Fig. 2 and 3", "What the last queries of the prompt choose is what later queries attend to, all through the generation.")
def hit_rate(k):
    chosen, random, by_step = [], [], {}
    for text in range(N_TEXTS):
        lanes = k.trace(text, "h2o:ratio=0.2", "snapkv:ratio=0.2")["lanes"]
        n_prompt = lanes[0]["steps"][0]["position"] + 1
        for h, head in enumerate(lanes[2]["steps"][0]["heads"]):
            kept = np.array([s[0] for s in head["slots"]])
            for i, step in enumerate(decoding(lanes[0])):
                a = np.array(step["heads"][h]["attention"])[:n_prompt]
                chosen.append(np.isin(np.argsort(-a, kind="stable")[: kept.size], kept).mean())
                by_step.setdefault(i + 1, []).append(chosen[-1])
                random.append(kept.size / n_prompt)
    return ("shows" if np.mean(chosen) > 2 * np.mean(random) else "does not show here",
            f"of the 20 % of the prompt that a later query attends to most, {percent(np.mean(chosen))} were kept by snapkv at 20 % (as many at random: {percent(np.mean(random))}).",
            curves("What later queries attend to most and snapkv kept", list(by_step), [[float(np.mean(v)) for v in by_step.values()]], whole_percent, "step after the prompt",
                   (float(np.mean(random)), "at random"), high=1.0))


@claim("perturbation", "CriticalKV, arXiv:2502.03805, Fig. 4", "Choosing by attention and projected value lowers the output perturbation of the first decoding token in 92 % (Llama-3.1-8B) and 86 % (Mistral-7B) of the heads, at 20 %.")
def perturbation(k):
    verdict, text, _, change = reduced(k, 0.2)
    picture = by_head("Output perturbation with values, beside attention alone", change, (0.0, "no change"), lambda x: f"{100 * x:+.0f} %")
    if verdict == "shows":
        return verdict, text, picture
    spread = []
    for head in k.trace(0, 'custom:score="vnorm",ratio=0.5,cadence=once', detail="slots")["lanes"][1]["steps"][0]["heads"]:
        scores = [s[2] for s in head["slots"] if s[2] is not None] + [e["score"] for e in head["events"] if e.get("score") is not None]
        spread.append(np.std(scores) / np.mean(scores))
    return verdict, f"{text} The cause: the norms of the values of a head differ by only {percent(np.mean(spread))} of their mean (standard deviation), so there is little beside the attention that could be chosen by.", picture


def reduced(k, ratio):
    total = {}
    for text in range(N_TEXTS):
        lanes = k.trace(text, f"snapkv:ratio={ratio}", f"criticalkv:ratio={ratio}", detail="slots")["lanes"]
        for a, b in zip(lanes[1]["steps"][1]["heads"], lanes[2]["steps"][1]["heads"]):
            x = total.setdefault((a["layer"], a["kv_head"]), [0.0, 0.0])
            x[0] += a["local_l1_wo"]
            x[1] += b["local_l1_wo"]
    share = np.mean([b < a for a, b in total.values()])
    layers = sorted({layer for layer, _ in total})
    last = [(a, b) for (layer, _), (a, b) in total.items() if layer == layers[-1]]
    change = sum(b for _, b in last) / sum(a for a, _ in last) - 1
    return ("shows" if share > 0.6 else "does not show here",
            f"lower in {percent(share)} of the {len(total)} heads over {N_TEXTS} texts (snapkv beside criticalkv over it); in the last layer {100 * change:+.1f} %.", float(share), {h: b / a - 1 for h, (a, b) in total.items()})


@claim("layers", "CriticalKV, arXiv:2502.03805, Fig. 5", "The reduction of the perturbation grows through the layers and is largest in the last ones.")
def layers(k):
    _, _, _, change = reduced(k, 0.2)
    by_layer = [float(np.mean([v for (layer, _), v in change.items() if layer == l])) for l in sorted({layer for layer, _ in change})]
    return ("shows" if by_layer[-1] < 0 and by_layer[-1] == min(by_layer) else "does not show here",
            f"change of the perturbation by layer {', '.join(f'{100 * x:+.1f} %' for x in by_layer)} (mean over the heads, at 20 %); the cause is that of the row above.",
            bars("Output perturbation with values, by layer", [str(l) for l in range(len(by_layer))], by_layer, lambda x: f"{100 * x:+.0f} %", (0.0, "no change"), below="layer"))


@claim("budgets", "CriticalKV, arXiv:2502.03805, Fig. 6", "The reduction holds for budgets from 2.5 % to 40 %.")
def budgets(k):
    found = [(r, *reduced(k, r)) for r in (0.05, 0.1, 0.2, 0.4)]
    verdict = "shows" if all(v == "shows" for _, v, *_ in found) else "shows in part" if any(v == "shows" for _, v, *_ in found) else "does not show here"
    words = "; ".join(f"{r * 100:g} %: {text.split(' (snapkv')[0]}" for r, _, text, *_ in found) + "."
    return verdict, words, bars("Heads whose output moves less, by budget", [f"{r * 100:g} %" for r, *_ in found], [share for *_, share, _ in found], whole_percent, (0.5, "half of the heads"))


@claim("half the attention", "CriticalKV, arXiv:2502.03805, Fig. 7", "With half of the budget the most attended tokens hold over half of the attention in 99 % of the heads.")
def half(k):
    shares = {}
    for _, layer, head, a in full_attention(k):
        top = np.sort(a)[::-1][: max(1, round(0.1 * a.size))]
        shares.setdefault((layer, head), []).append(top.sum())
    n = np.mean([np.mean(v) > 0.5 for v in shares.values()])
    low = min(shares, key=lambda h: np.mean(shares[h]))
    return ("shows" if n > 0.95 else "does not show here", f"in {percent(n)} of the heads, 10 % of the tokens (half of a budget of 20 %); least in L{low[0]} H{low[1]}: {percent(np.mean(shares[low]))}.",
            by_head("Attention of the highest 10 % of the tokens", {h: np.mean(v) for h, v in shares.items()}, (0.5, "half")))


@claim("keys of few directions", "WeightedKV, arXiv:2503.01330, Fig. 1", "The normalized singular values of keys fall to zero soon, those of values have a heavier tail: keys are redundant, values are not.")
def directions(k):
    found = {name: {} for name in ("kr", "k", "v")}
    for text in range(N_TEXTS):
        for layer, rows in enumerate(k.prefill(text).layers):
            for name, of_head in found.items():
                for head, x in enumerate(rows[name]):
                    of_head.setdefault((layer, head), []).append(np.linalg.svd(x, compute_uv=False))
    normal = {name: {h: np.mean([s / s[0] for s in v], axis=0) for h, v in of_head.items()} for name, of_head in found.items()}
    mean = {name: np.mean(list(of.values()), axis=0) for name, of in normal.items()}
    half = len(mean["v"]) // 2
    tail = {name: float(of[half:].mean()) for name, of in mean.items()}
    n = sum(normal["kr"][h][half:].mean() < v[half:].mean() for h, v in normal["v"].items())
    return ("shows" if tail["kr"] < 0.67 * tail["v"] else "shows in part" if n > 0.8 * len(normal["v"]) else "does not show here",
            f"mean of the lower half of the {len(mean['v'])} normalized singular values: keys {tail['kr']:.3f} (before rotation {tail['k']:.3f}), values {tail['v']:.3f}; that of keys is lower in {n} of {len(normal['v'])} heads.",
            curves("Normalized singular values: keys (low) and values, mean of the heads", list(range(1, len(mean["v"]) + 1)), [mean["kr"].tolist(), mean["v"].tolist()], lambda x: f"{x:.1f}",
                   "singular value", high=1.0))


@claim("one value joined", "WeightedKV, arXiv:2503.01330, Fig. 2", "Once the token of least attention has been joined into its right neighbour, the attention of the next 800 steps stays what it is in the full cache: cosine close to 1.")
def joined(k):
    by_step = {}
    for text in range(N_TEXTS // 2):
        n = k.prefill(text).n
        full, one = k.trace(text, f"custom:stat=mean,merge=weightedkv,cadence=once,sinks=0,recent=0,slots={n - 1}")["lanes"]
        for i, (a, b) in enumerate(zip(decoding(full), decoding(one)), 1):
            for of_full, of_one in zip(a["heads"], b["heads"]):
                x, y = np.array(of_full["attention"]), np.zeros(len(of_full["attention"]))
                y[[s[0] for s in of_one["slots"]]] = of_one["attention"]
                by_step.setdefault(i, []).append(x @ y / np.linalg.norm(x) / np.linalg.norm(y))
    steps = sorted(by_step)
    low = min(min(v) for v in by_step.values())
    mean = float(np.mean([np.mean(v) for v in by_step.values()]))
    return ("shows" if mean > 0.999 else "does not show here",
            f"mean cosine over {steps[-1]} steps, all heads and {N_TEXTS // 2} texts {mean:.5f}, lowest {low:.4f}.",
            curves("Cosine of the attention with that of the full cache: mean, lowest", steps, [[float(np.mean(by_step[i])) for i in steps], [float(min(by_step[i])) for i in steps]], lambda x: f"{x:.3f}", "step",
                   low=min(0.99, low)))


@claim("values into neighbours", "WeightedKV, arXiv:2503.01330, Fig. 4", "Mixing the value of what goes into the next token lowers the perplexity beside evicting it.")
def weighted(k):
    full, merged, evicted = k.ppl("weightedkv:ratio=0.2", "weightedkv:ratio=0.2,merge=off", mode="stream")
    return ("shows" if evicted - merged > 0.005 else "does not show here", f"nll {full:.3f} (full), {merged:.3f} (merged), {evicted:.3f} (evicted), at 20 %.",
            bars("nll of the text at 20 %", ["full cache", "merged", "evicted"], [full, merged, evicted], three, low=3.0))


@claim("merging", "KeepKV, arXiv:2504.09936, Table 1", "Merging into the most similar key, with votes, is better than evicting by the same ranking.")
def merging(k):
    full, *nll = k.ppl("keepkv:ratio=0.2,threshold=1.1", "keepkv:ratio=0.2,threshold=0.8", "keepkv:ratio=0.2,threshold=0.5")
    return ("shows" if nll[2] < nll[0] - 0.005 else "does not show here",
            f"nll {full:.3f} (full), {nll[0]:.3f} (nothing is similar enough: evicted), {nll[1]:.3f} (threshold 0.8), {nll[2]:.3f} (threshold 0.5), at 20 %.",
            bars("nll of the text at 20 %", ["full cache", "evicted", "threshold 0.8", "threshold 0.5"], [full, *nll], three, low=3.0))


@claim("when to merge", "kvscope's own", "Merging helps the more, the more alike what is joined is; below a similarity it harms.")
def when_to_merge(k):
    thresholds = (1.1, 0.9, 0.8, 0.7, 0.6, 0.5, 0.3, 0.0, -1)
    runs = [f"keepkv:ratio=0.2,threshold={t}" for t in thresholds]
    full, *nll = k.ppl(*runs)
    best = int(np.argmin(nll))
    errors, cosines = [{} for _ in runs], {}
    for text in range(N_TEXTS // 2):
        lanes = k.trace(text, *runs, detail="events")["lanes"][1:]
        for lane, error in zip(lanes, errors):
            for h, error_of in local_errors(lane).items():
                error[h] = error.get(h, 0.0) + error_of
        for step in lanes[-1]["steps"]:                               # which joins whatever goes, however unlike
            for head in step["heads"]:
                cosines.setdefault((head["layer"], head["kv_head"]), []).extend(e["cos"] for e in head["events"] if e.get("cos") is not None)
    heads = sorted(errors[0], key=lambda h: np.mean(cosines[h]))
    change = [[error[h] / errors[0][h] - 1 for h in heads] for error in errors[1:]]
    half = len(heads) // 2
    means = [(float(np.mean(row[:half])), float(np.mean(row[half:]))) for row in change]
    alike = [float(np.mean(np.concatenate([cosines[h] for h in part]))) for part in (heads[:half], heads[half:])]
    words = ", ".join(f"{n:.3f} ({threshold_words(t)})" for t, n in zip(thresholds, nll))
    lower, upper = (min(range(len(means)), key=lambda i: means[i][part]) for part in (0, 1))
    helps, harms = nll[0] - nll[best] > 0.005, nll[-1] - nll[best] > 0.005
    return ("shows" if helps and harms else "shows in part" if helps else "does not show here",
            f"nll {full:.3f} (full); at 20 % by the least cosine that is merged {words}"
            + ("" if harms else f": no similarity below which it harms ({percent(np.mean(np.concatenate([*cosines.values()]) < 0.5))} of what goes has no key left within a cosine of 0.5)") + f". Local error beside eviction, in the half of the heads whose pairs are less alike (cosine {alike[0]:.2f} on average): "
            f"{100 * means[-1][0]:+.1f} % where all merges, at best {100 * means[lower][0]:+.1f} % ({threshold_words(thresholds[lower + 1])}); in the other half ({alike[1]:.2f}): "
            f"{100 * means[-1][1]:+.1f} %, at best {100 * means[upper][1]:+.1f} % ({threshold_words(thresholds[upper + 1])}). Merging all lowers it in {sum(x < 0 for x in change[-1])} of {len(heads)} heads; "
            f"correlation of that with the heads' cosine: {np.corrcoef([np.mean(cosines[h]) for h in heads], change[-1])[0, 1]:+.2f}.",
            heat("Local error beside eviction, by the least cosine that is merged", [threshold_words(t) for t in thresholds[1:]], [f"{l}·{h}" for l, h in heads],
                 [[1 + x for x in row] for row in change], lambda x: f"{100 * (x - 1):+.1f} %", "layer · KV head, from those whose pairs are least alike to those where they are most"))


def threshold_words(t):
    return "none" if t > 1 else "all" if t < 0 else f"{t:g}"


def local_errors(lane):
    """{(layer, KV head): sum over the steps after the prompt} of the relative error of the head's output."""
    found = {}
    for step in decoding(lane):
        for head in step["heads"]:
            h = head["layer"], head["kv_head"]
            found[h] = found.get(h, 0.0) + head["local_rel_l2"]
    return found


@claim("refitting", "Attention Matching, arXiv:2602.16284", "Biases and values fitted to the keys that stay keep what eviction of the same tokens loses.")
def refitting(k):
    kept = "stat=reference,recent=0"
    full, *nll = k.ppl(*(f"custom:ratio={r},alloc=flat,{kept}{more}" for r in (0.1, 0.2) for more in ("", ",merge=refit")))
    return ("shows" if nll[1] < nll[0] - 0.005 and nll[3] < nll[2] - 0.005 else "does not show here",
            f"nll {full:.3f} (full); at 10 % {nll[0]:.3f} (evicted), {nll[1]:.3f} (refitted); at 20 % {nll[2]:.3f} (evicted), {nll[3]:.3f} (refitted); same keys.",
            bars("nll of the text, same keys", ["full cache", "10 %, evicted", "10 %, refitted", "20 %, evicted", "20 %, refitted"], [full, *nll], three, low=3.1))


@claim("a state beside the cache", "LESS, ICML 2024", "A small state for what is evicted, read through trained maps, keeps a part of what eviction loses: more than as many bytes of further slots do.")
def state(k):
    full, *nll = k.ppl(*(lane for slots in (26, 51) for lane in (f"h2o:slots={slots}", f"h2o:slots={slots + 5}", f"less:slots={slots}")))
    shows = nll[2] < min(nll[:2]) - 0.005 and nll[5] < min(nll[3:5]) - 0.005
    return ("shows" if shows else "does not show here",
            f"nll {full:.3f} (full); 26 slots {nll[0]:.3f} (h2o), 31 slots {nll[1]:.3f} (h2o), 26 and the state {nll[2]:.3f}; 51 slots {nll[3]:.3f} (h2o), "
            f"56 slots {nll[4]:.3f} (h2o), 51 and the state {nll[5]:.3f}. The state has the numbers of 4.1 slots.",
            bars("nll of the text", ["full cache", "26", "31", "26 + state", "51", "56", "51 + state"], [full, *nll], three, low=3.0, below="slots"))


@claim("layers keep their ratio", "KVMerger, arXiv:2407.08454, Fig. 3 (b)", "How far merging sets compress a layer is the model's own: nearly the same for different texts, different from layer to layer.")
def merging_sets(k):
    by_text = []
    for text in range(N_TEXTS):
        heads = k.trace(text, "kvmerger:ratio=0.5,fit=threshold", detail="slots")["lanes"][1]["steps"][0]
        kept = {}
        for head in heads["heads"]:
            kept.setdefault(head["layer"], []).append(len(head["slots"]) / (heads["position"] + 1))
        by_text.append([np.mean(kept[layer]) for layer in sorted(kept)])
    by_text = np.array(by_text)
    texts, layers = by_text.std(axis=0, ddof=1).mean(), by_text.mean(axis=0).std(ddof=1)
    return ("shows" if layers > 2 * texts else "does not show here",
            f"slots left by layer {', '.join(percent(m) for m in by_text.mean(axis=0))}; standard deviation over layers {percent(layers)}, over texts {percent(texts)}.",
            curves("Slots that merging sets leave, each text", list(range(by_text.shape[1])), by_text.tolist(), whole_percent, "layer", high=1.0))


@claim("constant memory", "ZeroMerge, arXiv:2503.10714, Fig. 3", "The memory of the cache stays constant however long the text becomes.")
def constant(k):
    slots = []
    for step in k.trace(0, "zeromerge:slots=64", mode="stream", detail="slots")["lanes"][1]["steps"]:
        slots.append(max(len(h["slots"]) for h in step["heads"]))
    after = slots[slots.index(max(slots)):]
    return ("shows" if max(slots) <= 64 and set(after) == {64} else "does not show here",
            f"slots a head: {slots[31]} after 32 tokens, {slots[63]} after 64, {slots[-1]} after {len(slots)}. Speed and megabytes of a GPU: not measured here.",
            curves("Slots of a head as the text grows", list(range(1, len(slots) + 1)), [slots], lambda x: f"{x:g}", "tokens", high=80))


@claim("a floor", "kvscope's own", "`best` evicts by the coming queries of the full cache, one token at a time.")
def floor(k):
    names = ("best", "snapkv", "h2o", "expected", "kvzip")
    full, *nll = k.ppl(*(f"{name}:ratio=0.2" for name in names), tokens=1536)
    found = dict(zip(names, nll))
    beaten = [name for name in names[1:] if found[name] < found["best"]]
    text = ", ".join(f"{name} {found[name]:.3f}" for name in names)
    return ("is none" if beaten else "holds here", f"nll at 20 % over 1,536 tokens: full {full:.3f}, {text}." + (f" Beaten by {', '.join(beaten)}: greedy by attention, not by what the answer costs." if beaten else ""),
            bars("nll of the text at 20 %", ["full cache", *names], [full, *nll], three, low=3.1))


@claim("distance to best", "kvscope's own", "How far the heads of every method are from those of `best`, which sees the coming queries.")
def distance(k):
    names = k.methods()
    total = {name: {} for name in names}
    for text in range(1):                                              # all methods at once take their time
        for name, lane in zip(names, k.trace(text, *(f"{name}:ratio=0.2" for name in names), detail="events")["lanes"][1:]):
            for h, error in local_errors(lane).items():
                total[name][h] = total[name].get(h, 0.0) + error
    heads = sorted(total["best"])
    times = {name: [total[name][h] / total["best"][h] for h in heads] for name in names if name != "best"}
    middle = {name: float(np.median(t)) for name, t in times.items()}
    order = sorted(times, key=middle.get)
    below = [name for name in order if any(x < 1 for x in times[name])]
    return ("is no floor" if below else "holds here",
            f"local error of a head beside that of `best`, both at 20 %, first text, median of {len(heads)} heads (in how many it is lower): "
            + ", ".join(f"{name} {middle[name]:.1f} × ({sum(x < 1 for x in times[name])})" for name in order)
            + ". Methods that compress the prompt alone hold besides it what is generated; `best` evicts in every step. Left out: qfilter, kvzap, fastkvzip and lukv, whose files nobody made for this model.",
            heat("Local error of a head, times that of best", order, [f"{l}·{h}" for l, h in heads], [times[name] for name in order], lambda x: f"{x:.2f} ×", "layer · KV head"))


def picture_of(name):
    return name.replace(" ", "-") + ".svg"


def model_hash():
    with open(os.path.join(ASSETS, "models", "kvmini", "model.safetensors"), "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


def rows_of(page):
    """{name: [source, what it says, what is measured, command, model]} of the page's two tables."""
    found = {}
    for line in page.splitlines():
        name, *told = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] or [""]
        if line.startswith("| ") and name:
            found.setdefault(name, []).extend(told)
    return found


def wrongs(path):
    """What the page lacks or has too much, a sentence each."""
    with open(path, encoding="utf-8") as f:
        there = rows_of(f.read())
    for name, source, says, _ in rows:
        told = there.get(name, [])
        if told[:2] != [source, says] or len(told) != 5:
            yield f"{path}: {name}: expected '{source} | {says}', what is measured, a command and the model, got {told}"
        elif not told[3].startswith("`kvscope-cli "):
            yield f"{path}: {name}: expected a command, got {told[3]}"
        elif told[4] != model_words():
            yield f"{path}: {name}: is about {told[4]}, expected {model_words()}: measure it anew"
        if not os.path.exists(os.path.join(ASSETS, "papers", picture_of(name))):
            yield f"{path}: {name}: no picture"
    yield from (f"{path}: {name}: nobody measures it" for name in there if name not in [row[0] for row in rows])


def model_words():
    return f"kvmini `{model_hash()[:12]}`"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cli")
    parser.add_argument("--only", action="append", choices=[name for name, *_ in rows])
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    path = os.path.join(ASSETS, "papers", "TRUTH.md")
    if args.check:
        sys.exit("\n".join(wrongs(path)) or 0)
    with open(path, encoding="utf-8") as f:
        known = rows_of(f.read()) if args.only else {}
    with tempfile.TemporaryDirectory(prefix="kvscope-truth-") as folder:
        k = Kvscope(args.cli, folder)
        for name, source, says, measure in rows:
            if args.only and name not in args.only:
                continue
            k.said.clear()
            verdict, text, picture = measure(k)
            commands = "; ".join(f"`{command}`" for command in k.said).replace("|", "\\|")
            known[name] = [source, says, f"**{verdict}**: {text} [Picture]({picture_of(name)})", commands, model_words()]
            with open(os.path.join(ASSETS, "papers", picture_of(name)), "w", encoding="utf-8") as f:
                f.write(picture)
            write_page(path, known)
            print(f"{name}: {known[name][2]}", flush=True)


def table(known, columns):
    return "\n".join(" | ".join((f"| {name}", *known[name][columns])) + " |" for name, *_ in rows if name in known)


def write_page(path, known):
    page = f"""# What papers say, and what shows here

Written by `tests/peers/truth.py build/release/kvscope-cli` (float32, one run of each; the numbers are decisions and sums that repeat to the digits shown); `--only NAME` measures a row anew. Model
kvmini, SHA-256 of its weights `{model_hash()}`; text: assets/text/war-and-peace-excerpt.txt, its first {N_TEXTS} stretches of {PROMPT_BYTES} characters with the
{NEXT_BYTES} that follow fed after them; perplexities over its first 3,072 tokens in windows of 512, of which 256 count. In the commands prompt.txt and next.txt are such a stretch and what follows it; what is
made of what they print stands in the script, a function a row. Keys and values, which no command prints, are those of tests/oracle for the same tokens: the same model in float64.

A small model of short texts is no Llama: *does not show here* is a result, with the reason where it was found. Nothing was tuned for this page.

| | source | what it says | what kvscope measures |
|---|---|---|---|
{table(known, slice(0, 3))}

## Commands

| | command | model |
|---|---|---|
{table(known, slice(3, 5))}

Not here: KVMerger Fig. 9 (Fig. 3 (b) of other models), CriticalKV Fig. 3 and ZeroMerge's speeds (times on a GPU), retrieval scores of public models (published without a licence). Retrieval and streaming heads of six public models, as DuoAttention's authors trained them:
assets/heads. Decisions beside kvpress: tests/peers/RESULTS.md, beside the authors' code of five methods: tests/peers/AUTHORS.md.
"""
    with open(path, "w", encoding="utf-8") as f:
        f.write(page)


if __name__ == "__main__":
    main()
