"""Token sequences for training: prose as it stands in the books, tasks hidden in prose, dense recall streams."""
import collections
import itertools
import multiprocessing
import os
import random

import numpy as np
import sentencepiece as spm
import torch

import tasks


def inside(piece, ranges):
    return any(piece.begin >= a and piece.end <= b for a, b in ranges)


class Data:
    def __init__(self, books, tokenizer):
        self.sp = spm.SentencePieceProcessor(model_file=tokenizer)
        text = open(books, encoding="ascii").read().split("\n")
        self.paragraphs = [p for p in text if 100 < len(p) < 1500]
        cache = books + ".ids.npy"
        if not os.path.exists(cache):
            # Paragraphs joined as a reader's text has them: encoded one by one, each would begin with the blank that stands before words.
            ids = []
            for i in range(0, len(text), 2000):
                ids += self.sp.encode("\n".join(text[i:i + 2000]) + "\n")
            np.save(cache, np.array(ids, dtype=np.uint16))
        self.ids = np.load(cache, mmap_mode="r")

    def encode(self, text, spans, weight):
        """Token ids with BOS, and their weights: `weight` for pieces inside of a span, else 1."""
        pieces = self.sp.encode(text, return_type="proto").pieces
        return [1] + [p.id for p in pieces], [1] + [weight if inside(p, spans) else 1 for p in pieces]

    def tasks(self, r, length, generate, chars_per_token, weight):
        """Ids, weights and marks of `length` + 1 tokens full of tasks; what can be recalled weighs `weight`, what may be asked is marked."""
        ids, w, marks = [], [], []
        while len(ids) < length + 1:
            text, spans, hidden = generate(r, self.paragraphs, int((length + 1 - len(ids)) * chars_per_token))
            pieces = self.sp.encode(text, return_type="proto").pieces
            if len(ids) + len(pieces) > length and not ids and r.random() < 0.9:
                continue                    # the questions, which stand at the end, would be cut off
            ids += [1] + [p.id for p in pieces]
            w += [1] + [weight if inside(p, spans) else 1 for p in pieces]
            marks += [0] + [int(inside(p, hidden)) for p in pieces]
        return ids[:length + 1], w[:length + 1], marks[:length + 1]

    def batch(self, seed, sequences, length, shares):
        """(inputs, targets, weights of the targets, marks of the inputs that may be asked about), each [sequences, length]; the same for the same
        seed. shares: of tasks, of streams."""
        r, rows = random.Random(seed), []
        for _ in range(sequences):
            kind = r.random()
            if kind < shares[0]:
                rows.append(self.tasks(r, length, tasks.sample, 3.05, 6))
            elif kind < shares[0] + shares[1]:
                rows.append(self.tasks(r, length, tasks.dense, 2.6, 2))
            else:
                s = r.randrange(len(self.ids) - length)
                rows.append(([1] + self.ids[s:s + length].tolist(), [1] * (length + 1), [0] * (length + 1)))
        x, w, marks = (torch.tensor(column, dtype=kind) for column, kind in zip(zip(*rows), (torch.long, torch.float, torch.bool)))
        return x[:, :-1], x[:, 1:], w[:, 1:], marks[:, :-1]


class Stream:
    """The batches of a training run: made where they are asked for, or ahead of time by processes of their own.

    describe(step, i) gives the arguments of Data.batch for pass i of a step. With processes, batches are asked for in their order.
    """
    def __init__(self, books, tokenizer, device, processes, describe, passes, step):
        self.data, self.device, self.describe = Data(books, tokenizer), device, describe
        self.ready = None
        if processes:
            pool = multiprocessing.get_context("spawn").Pool(processes, prepare, (books, tokenizer))
            self.ready = ahead(pool, (describe(s, i) for s in itertools.count(step) for i in range(passes)), 4 * processes)

    def batch(self, step, i):
        tensors = next(self.ready) if self.ready else self.data.batch(*self.describe(step, i))
        return [torch.as_tensor(t).to(self.device) for t in tensors]


def prepare(books, tokenizer):
    global prepared
    torch.set_num_threads(1)
    prepared = Data(books, tokenizer)


def make(description):
    return [t.numpy() for t in prepared.batch(*description)]


def ahead(pool, descriptions, count):
    """Results in the order of the descriptions, `count` of them under way."""
    under_way = collections.deque(pool.apply_async(make, (d,)) for d in itertools.islice(descriptions, count))
    while under_way:
        yield under_way.popleft().get()
        under_way.extend(pool.apply_async(make, (d,)) for d in itertools.islice(descriptions, 1))
