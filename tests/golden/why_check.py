#!/usr/bin/env python3
"""What --detail why writes beyond the other details is recomputed here from the rest of the same trace (POLICIES.md sections 5 and 6).

why_check.py CLI
"""
import json
import math
import os
import subprocess
import sys
import tempfile
from collections import Counter

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "oracle"))
import lanes as all_lanes  # noqa: E402
from catalog import read_catalog, supported  # noqa: E402

FLOAT = 2e-6   # attention is recorded in float32
EXACT = 1e-9


class Checks:
    def __init__(self):
        self.done, self.failures = Counter(), []

    def near(self, name, a, b, tolerance, where):
        self.done[name] += 1
        if a is None or b is None or abs(a - b) > tolerance * max(1.0, abs(b)):
            self.failures.append(f"{where}: {name}: {a!r} against {b!r}")

    def true(self, name, condition, where):
        self.done[name] += 1
        if not condition:
            self.failures.append(f"{where}: {name}")


def check_fit(m, votes_bias, c, where):
    """A slot that stays, with a bias and a value that were fitted."""
    change, before, after = m["fit"]
    c.true("a fitted slot is by itself and stands", m["members"] == [m["into"]] and m["weights"] == [], where)
    c.near("its bias is what was fitted", votes_bias[m["into"]][1] if votes_bias else 0.0, m["extra"], EXACT, where)  # none: all are 0
    c.true("its figures are relative errors", change >= 0 and before >= 0 and after >= 0, where)


def check_merge(m, events, votes_bias, c, where):
    weights = dict(zip(m["members"], m["weights"]))
    spread = any(e["kind"] == "spread" and m["into"] in e["into"] for e in events)
    forms = {e.get("form") for e in events if e["kind"] == "merge" and e["into"] == m["into"]}
    if not spread and (m["T"] or "code" not in forms):                        # POLICIES.md section 7 names the two that are not convex
        c.near("weights of a merge add up to 1", sum(m["weights"]), 1.0, EXACT, where)
    c.true("a merge begins with its target", m["members"][0] == m["into"], where)
    own = [e for e in events if e["kind"] == "merge" and e["into"] == m["into"] and e["pos"] in weights]   # a target may be merged into several times
    if len(own) > 1 and all(abs(sum(e["weights"]) - 1) < EXACT for e in own):  # one after the other: the merge holds what is left of each
        after = {m["into"]: 1.0}
        for e in own:
            after = {p: w * e["weights"][1] for p, w in after.items()}
            after[e["pos"]] = e["weights"][0]
        for p, w in after.items():
            c.near("a chain of events ends at the weights of its merge", w, weights[p], EXACT, where)
    else:
        for e in own:
            c.near("event and merge name the same weight", e["weights"][0], weights[e["pos"]], EXACT, where)
            c.near("event and merge name the same weight", e["weights"][1], weights[m["into"]], EXACT, where)
    if not m["T"]:                                                            # no predicted log-scores: not POLICIES.md section 5
        return
    total = sum(m["mu"])
    for mu, w in zip(m["mu"], m["weights"]):
        c.near("w is mu over its sum", mu / total, w, EXACT, where)
    form = next(e.get("form") for e in events if e["kind"] == "merge" and e["into"] == m["into"])
    if form == "bias":
        c.near("extra is the mean over query heads of T - m", m["extra"], sum(t - x for t, x in zip(m["T"], m["m"])) / len(m["T"]), EXACT, where)
    else:
        c.near("extra is 0 for the other forms", m["extra"], 0.0, 0.0, where)
    if form == "zip":
        c.near("gamma is sum m T over sum m m", m["gamma"], sum(t * x for t, x in zip(m["T"], m["m"])) / sum(x * x for x in m["m"]), EXACT, where)
    if m["into"] in votes_bias:
        votes, bias = votes_bias[m["into"]]
        c.near("the target has the votes of all", votes, sum(m["votes"]), 0.0, where)
        c.near("the target's bias is ln P + extra", bias, math.log(votes) + m["extra"], EXACT, where)


def check_scores(m, group, c, where):
    """T of POLICIES.md section 5 from the members' own predicted log-scores, member by member and query head by query head."""
    lshat = [m["log_scores"][i * group:(i + 1) * group] for i in range(len(m["members"]))]
    for g, t in enumerate(m["T"]):
        total = sum(p * math.exp(x[g]) for p, x in zip(m["votes"], lshat))
        c.near("T is ln of the votes' mean exp(lshat)", t, math.log(total / sum(m["votes"])), EXACT, where)


def check_runner_ups(e, slots, c, where):
    ups = e.get("runner_ups", [])
    others = [s for s in slots if s != e.get("into")]
    c.true("runner-ups are the best three of the other kept slots", len(ups) == min(3, len(others)) and {p for p, _ in ups} <= set(others), where)
    c.true("runner-ups come best first", all(a[1] >= b[1] for a, b in zip(ups, ups[1:])), where)
    if e["kind"] == "merge":
        c.true("no runner-up is more alike than the target", all(cos <= e["cos"] for _, cos in ups), where)
    elif ups:
        c.near("the nearest kept key of an evicted slot is its first runner-up", ups[0][1], e["cos"], EXACT, where)


def check_warnings(trace, lane, c):
    """What the engine announces about a lane, from the events of its trace."""
    said = {w["kind"]: w for w in lane["warnings"]}
    events = [e for s in lane["steps"] for h in s["heads"] for e in h["events"]]
    last = lane["steps"][-1]
    limited = lane["slots_asked"] >= 0
    c.true("nothing removed is announced, and only then", ("nothing_removed" in said) == (limited and not events), lane["spec"])
    c.near("every fallback is counted", said.get("fallback", {"count": 0})["count"], sum(e.get("fallback", False) for e in events), 0.0, lane["spec"])
    mean = sum(len(h["slots"]) for h in last["heads"]) / len(last["heads"])
    missed = limited and bool(events) and last["position"] + 1 > lane["slots_asked"] and abs(mean - lane["slots_asked"]) >= 0.5
    c.true("another size than asked for is announced, and only then", ("budget_missed" in said) == missed, lane["spec"])
    if missed:
        c.near("the realised budget is the mean of the heads", said["budget_missed"]["got"], mean, EXACT, lane["spec"])
    c.true("top-level warnings repeat those of the lanes", sum(f"({lane['spec']}): " in w for w in trace.get("warnings", [])) >= len(said), lane["spec"])


def check_lane(trace, lane, c):
    n_heads = trace["model"]["n_layers"] * trace["model"]["n_kv_heads"]
    evicted = [set() for _ in range(n_heads)]
    stands_for = [{} for _ in range(n_heads)]                                 # slot: tokens
    first = trace["n_prompt"] - 1 if trace["prompt_mode"] == "prefill" else 0
    for h in range(n_heads):
        stands_for[h] = {p: {p} for p in range(first)}
    check_warnings(trace, lane, c)
    for step in lane["steps"]:
        where = f"{lane['spec']} {trace['prompt_mode']} step {step['step']}"
        by_id = {t["id"]: t for t in step["top_tokens"]}
        for t in step["top_tokens"][1:]:
            a = step["top_tokens"][0]
            c.near("probabilities differ as the logits do", math.log(t["p"] / a["p"]), t["logit"] - a["logit"], EXACT, where)
            c.near("probabilities differ as the logits do", math.log(t["p_reference"] / a["p_reference"]), t["logit_reference"] - a["logit_reference"], EXACT, where)
        for token, logit, p, p_reference in step["logits_top"]:
            if token in by_id:
                c.true("logits_top repeats the candidates", (logit, p, p_reference) == tuple(by_id[token][k] for k in ("logit", "p", "p_reference")), where)
        for h, head in enumerate(step["heads"]):
            spot = f"{where} layer {head['layer']} head {head['kv_head']}"
            members = stands_for[h]
            members[step["position"]] = {step["position"]}
            c.true("the query sees the slots that were left, and its own", head["attended"] == sorted(members), spot)
            # with what the sums of evicted tokens got, where a policy keeps some
            c.near("attention over the slots adds up to 1", sum(head["attention"]) + head.get("pooled_share", 0.0), 1.0, FLOAT, spot)
            if lane is trace["lanes"][0]:                                    # the full cache is its own reference
                c.true("the full cache sees everything", head["attended"] == list(range(step["position"] + 1)) and not head["events"], spot)
                continue
            c.near("attention over the full history adds up to 1", sum(head["reference_attention"]), 1.0, FLOAT, spot)
            unread = {t for slot in head.get("unread", []) for t in members[slot]}  # in the cache, but this query did not read them
            lost = sum(a for p, a in enumerate(head["reference_attention"]) if p in evicted[h] or p in unread)
            if head["attention_loss"] is not None and not (trace["prompt_mode"] == "prefill" and step["step"] == 0):
                c.near("attention_loss is what evicted and unread tokens would have got", head["attention_loss"], lost, FLOAT, spot)
            votes_bias = {s[0]: (s[1], b) for s, b in zip(head["slots"], head["stats"]["bias"])}
            c.true("every merge event has its numbers",
                   all(any(e["pos"] in m["members"] and e["into"] == m["into"] for m in head["merges"]) for e in head["events"] if e["kind"] == "merge"), spot)
            for m in head["merges"]:
                if "fit" in m:
                    check_fit(m, votes_bias, c, spot)
                    continue
                check_merge(m, head["events"], votes_bias, c, spot)
                if m["T"]:
                    check_scores(m, trace["model"]["n_heads"] // trace["model"]["n_kv_heads"], c, spot)
            for e in head["events"]:
                if "cos" in e:
                    check_runner_ups(e, [s[0] for s in head["slots"]], c, spot)
            for e in head["events"]:
                if e["kind"] == "spread":                                     # its token goes with the evict event that follows
                    continue
                gone = members.pop(e["pos"])
                if e["kind"] == "merge":
                    members[e["into"]] |= gone
                else:
                    evicted[h] |= gone
            c.true("slots are what the events left", [s[0] for s in head["slots"]] == sorted(members), spot)
            c.true("evicted_votes counts the evicted tokens", head["evicted_votes"] == len(evicted[h]), spot)
            c.true("tokens seen are votes and evicted tokens",
                   "spread" in {e["kind"] for e in head["events"]} or sum(len(x) for x in members.values()) + len(evicted[h]) == step["position"] + 1, spot)


def main():
    cli, c = sys.argv[1], Checks()
    catalog = read_catalog(cli)
    n_lanes = 0
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "why.json")
        ids = ",".join(str((7 * i * i + 3 * i) % 64) for i in range(24))
        for model in ("tiny-gqa", "tiny-mha"):
            for mode in ("prefill", "stream"):
                specs = [s for s in all_lanes.specs(10, mode) if supported(s, catalog)]
                arguments = ["--model", os.path.join(HERE, model), "--prompt-ids", ids, "--generate", "6", "--prompt-mode", mode, "--precision", "f64"]
                for spec in specs:
                    arguments += ["--lane", spec]
                subprocess.run([cli, "trace", "--quiet", "--detail", "why", "--out", out, *arguments], check=True, cwd=os.path.join(HERE, model))
                with open(out, encoding="utf-8") as f:
                    trace = json.load(f)
                for lane in trace["lanes"]:
                    check_lane(trace, lane, c)
                    n_lanes += 1
    for name, n in sorted(c.done.items()):
        print(f"{n:8} {name}")
    for failure in c.failures[:20]:
        print("FAILED", failure)
    print(f"{n_lanes} lanes, {sum(c.done.values())} checks, {len(c.failures)} failures")
    return 1 if c.failures else 0


if __name__ == "__main__":
    sys.exit(main())
