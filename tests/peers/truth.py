#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What papers say of caches, measured with kvscope on the model that comes with it: writes assets/papers/TRUTH.md and a picture for each row.

    tests/peers/truth.py build/release/kvscope-cli [--only NAME] [--check]

Needs numpy. --check measures nothing: it fails where the page has other rows than this file or is about another model."""
import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    print("numpy is missing: pip install numpy")
    sys.exit(77)

from figures import bars, curves

HERE = os.path.dirname(os.path.abspath(__file__))
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
        self.cli, self.folder, self.traces = os.path.abspath(cli), folder, {}

    def run(self, *arguments):
        done = subprocess.run([self.cli, *arguments], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"kvscope-cli {' '.join(arguments)}: {done.stderr}")
        return done.stdout

    def ppl(self, *lanes, tokens=3072, window=512, stride=256, mode="prefill"):
        """nll of each run, the full cache's first."""
        arguments = [a for lane in lanes for a in ("--lane", lane)]
        out = json.loads(self.run("ppl", "--text", TEXT, "--tokens", str(tokens), "--window", str(window), "--stride", str(stride),
                                  "--prompt-mode", mode, "--json", "--quiet", *arguments))
        return [lane["nll"] for lane in out["lanes"]]

    def trace(self, text, *lanes, mode="prefill", detail="why"):
        """Of the text-th stretch of the novel, fed with what follows it there."""
        key = (text, lanes, mode, detail)
        if key not in self.traces:
            prompt, following = os.path.join(self.folder, "prompt.txt"), os.path.join(self.folder, "next.txt")
            with open(TEXT, encoding="utf-8") as f:
                novel = f.read()
            begin = text * (PROMPT_BYTES + NEXT_BYTES)
            for path, first, n in ((prompt, begin, PROMPT_BYTES), (following, begin + PROMPT_BYTES, NEXT_BYTES)):
                with open(path, "w", encoding="utf-8") as f:
                    f.write(novel[first:first + n])
            out = os.path.join(self.folder, "trace.json")
            self.run("trace", "--prompt-file", prompt, "--follow", following, "--prompt-mode", mode, "--detail", detail, "--out", out, "--quiet",
                     *[a for lane in lanes for a in ("--lane", lane)])
            with open(out, encoding="utf-8") as f:
                self.traces[key] = json.load(f)
        return self.traces[key]


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


def picture_of(name):
    return name.replace(" ", "-") + ".svg"


def model_hash():
    with open(os.path.join(ASSETS, "models", "kvmini", "model.safetensors"), "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cli")
    parser.add_argument("--only")
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    path = os.path.join(ASSETS, "papers", "TRUTH.md")
    if args.check:
        with open(path, encoding="utf-8") as f:
            page = f.read()
        there = [tuple(cell.strip() for cell in line.split("|")[1:4]) for line in page.splitlines() if line.startswith("| ")][1:]
        asked = [row[:3] for row in rows]
        wrong = [f"{path}: {name}: expected '{source}: {says}'" for name, source, says in asked if (name, source, says) not in there]
        wrong += [f"{path}: {row[0]}: nobody measures it" for row in there if row not in asked]
        wrong += [f"{path}: {row[0]}: no picture" for row in asked if not os.path.exists(os.path.join(ASSETS, "papers", picture_of(row[0])))]
        if model_hash() not in page:
            wrong.append(f"{path}: is about another model than {model_hash()}")
        sys.exit("\n".join(wrong) or 0)
    lines = []
    with tempfile.TemporaryDirectory(prefix="kvscope-truth-") as folder:
        k = Kvscope(args.cli, folder)
        for name, source, says, measure in rows:
            if args.only not in (None, name):
                continue
            verdict, text, picture = measure(k)
            lines.append(f"| {name} | {source} | {says} | **{verdict}**: {text} [Picture]({picture_of(name)}) |")
            with open(os.path.join(ASSETS, "papers", picture_of(name)), "w", encoding="utf-8") as f:
                f.write(picture)
            print(lines[-1], flush=True)
    if args.only:
        return
    page = f"""# What papers say, and what shows here

Written by `tests/peers/truth.py build/release/kvscope-cli` (float32, one run of each; the numbers are decisions and sums that repeat to the digits shown). Model
kvmini, SHA-256 of its weights `{model_hash()}`; text: assets/text/war-and-peace-excerpt.txt, its first {N_TEXTS} stretches of {PROMPT_BYTES} characters with the
{NEXT_BYTES} that follow fed after them; perplexities over its first 3,072 tokens in windows of 512, of which 256 count.

A small model of short texts is no Llama: *does not show here* is a result, with the reason where it was found. Nothing was tuned for this page.

| | source | what it says | what kvscope measures |
|---|---|---|---|
""" + "\n".join(lines) + """

Not here yet: KeepKV Fig. 2 (d) (error of predicted scores), KVMerger Fig. 2, 3 (a) and 9 and WeightedKV Fig. 1 and 2 (keys and values themselves, which no command
writes), CriticalKV Fig. 3 and 5 and ZeroMerge's speeds (times on a GPU), maps of retrieval heads of public models. Decisions beside kvpress: tests/peers/RESULTS.md.
"""
    with open(path, "w", encoding="utf-8") as f:
        f.write(page)


if __name__ == "__main__":
    main()
