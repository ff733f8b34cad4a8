"""Figures of a checkpoint on text that it never saw: nll by position in the context, whole answers to hidden needles.

evaluate.py CHECKPOINT.pt TOKENIZER.model BOOKS.txt HELD_OUT.txt..."""
import os
import random
import sys

import torch
import torch.nn.functional as F

import tasks

HELD_OUT = os.environ.get("KVMINI_HELD_OUT", "").split()       # books that are not in the training text


@torch.no_grad()
def prose(model, data, path, context=2048, windows=6):
    """Mean -ln p of the held-out tokens at positions of the context: [0, 512), [512, 1024), [1024, 2048)."""
    ids = data.sp.encode(open(path, encoding="utf-8").read())
    nll = []
    for w in range(min(windows, len(ids) // context)):
        x = torch.tensor([[1] + ids[w * context:(w + 1) * context]]).to(model.emb.device)
        nll.append(F.cross_entropy(model(x[:, :-1])[0], x[0, 1:], reduction="none"))
    nll = torch.stack(nll).mean(0)
    return [nll[a:b].mean().item() for a, b in ((0, 512), (512, 1024), (1024, 2048))]


@torch.no_grad()
def recall(model, data, tokens, make, samples):
    """Share of the questions whose whole answer is, token by token, the most likely one."""
    right = asked = 0
    for s in range(samples):
        r = random.Random(f"evaluation {tokens} {s}")
        items, questions = make(r)
        text, spans, _ = tasks.hide(r, data.paragraphs, int(tokens * 2.9), items, questions)
        for a, b in spans:
            ids, w = data.encode(text[:b], [(a, b)], 2)
            ids, w = ids[-tokens:], w[-tokens:]
            full = torch.tensor([ids + [0] * (-len(ids) % 32)])       # what comes after does not count
            best = model(full.to(model.emb.device))[0].argmax(-1).tolist()
            asked += 1
            right += all(best[i - 1] == ids[i] for i in range(1, len(ids)) if w[i] > 1)
    return right / asked


def one_number(r):
    items = tasks.facts(r, 1, "house")
    return items, items


def four_numbers(r):
    items = tasks.magic(r, 4)
    return items, r.sample(items, 2)


def report(model, data, samples=20):
    for path in HELD_OUT:
        print(f"   {os.path.basename(path)}: nll " + ", ".join(f"{x:.3f}" for x in prose(model, data, path)), flush=True)
    one = [recall(model, data, n, one_number, samples) for n in (512, 1024, 2048)]
    two = recall(model, data, 1024, four_numbers, samples // 2)
    print("   one needle at 512, 1,024, 2,048: " + ", ".join(f"{x:.0%}" for x in one) + f"; two of four at 1,024: {two:.0%}", flush=True)


if __name__ == "__main__":
    from data import Data
    from model import Model
    checkpoint, tokenizer, books, *HELD_OUT = sys.argv[1:]
    model = Model(2048)
    model.load_state_dict(torch.load(checkpoint, map_location="cpu")["sd"])
    report(model, Data(books, tokenizer), 50)
