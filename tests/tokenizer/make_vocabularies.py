#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the small vocabularies of tests/tokenizer/data and what Hugging Face's tokenizers (pip install tokenizers==0.23.3) does with them.

    make_vocabularies.py CHECKOUT

Each is trained on the prose of assets/text; together they have every component that the reader knows. NAME.json is a tokenizer.json,
NAME.cases.json a list of {text, ids, ids_specials_as_text, decoded}.
"""
import json
import random
import sys
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

ROOT = Path(sys.argv[1])
OUT = ROOT / "tests/tokenizer/data"
PROSE = (ROOT / "assets/text/dracula-excerpt.txt").read_text(encoding="utf-8")[:60000]
SCRIPTS = (ROOT / "assets/prompts/scripts.txt").read_text(encoding="utf-8")
WORDS = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")


def special(name, **kw):
    return AddedToken(name, special=True, normalized=False, **kw)


def train(tokenizer, size, alphabet, specials=("<|end|>",)):
    trainer = trainers.BpeTrainer(vocab_size=size, special_tokens=[special(s) for s in specials], initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator([PROSE, SCRIPTS], trainer)
    return tokenizer


def starts_with(tokenizer, name):
    return processors.TemplateProcessing(single=f"{name} $A", special_tokens=[(name, tokenizer.token_to_id(name))])


def byte_words():
    t = Tokenizer(models.BPE(ignore_merges=True))
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(WORDS), "isolated"), pre_tokenizers.ByteLevel(False, use_regex=False)])
    t.decoder = decoders.ByteLevel()
    train(t, 420, pre_tokenizers.ByteLevel.alphabet(), ("<|start|>", "<|end|>"))
    t.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), starts_with(t, "<|start|>")])
    return t


def byte_digits():
    t = Tokenizer(models.BPE())
    t.normalizer = normalizers.Sequence([normalizers.NFC()])
    t.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Punctuation("contiguous"), pre_tokenizers.ByteLevel(True), pre_tokenizers.Digits(False),
        pre_tokenizers.Split(Regex("[0-9][0-9][0-9]"), "isolated")])
    t.decoder = decoders.ByteLevel()
    t.post_processor = processors.ByteLevel(trim_offsets=False)
    train(t, 400, sorted(pre_tokenizers.ByteLevel.alphabet())[:250])  # some bytes are in no token
    t.add_tokens([AddedToken("  ", normalized=True), AddedToken("Étude", normalized=True, single_word=True), AddedToken("<tag>", lstrip=True, rstrip=True, normalized=False)])
    return t


def fallback():
    t = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    t.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    t.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    t.pre_tokenizer = pre_tokenizers.Split("▁", "merged_with_next")  # while it learns: tokens do not cross words
    train(t, 500, [], ("<unk>", "<s>", "</s>", *(f"<0x{b:02X}>" for b in range(256))))
    document = json.loads(t.to_str())
    document["pre_tokenizer"] = None
    document["added_tokens"] = [a for a in document["added_tokens"] if not a["content"].startswith("<0x")]
    t = Tokenizer.from_str(json.dumps(document))
    t.post_processor = starts_with(t, "<s>")
    return t


def marks():
    t = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=False))
    t.normalizer = normalizers.NFKC()
    t.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.Metaspace("▁", "never"), pre_tokenizers.Digits(True)])
    t.decoder = decoders.Metaspace("▁", "never")
    return train(t, 300, [], ("<unk>", "<|end|>"))


def texts(name):
    yield from ("", " ", "a", "Hello world", "  two  spaces ", "tab\tand\nnew\r\nlines\n\n", "I'M don't we'LL 'twas", "1234567 ٣٤ Ⅷ½²", "Привет, мир", SCRIPTS,
                "e\u0301tude E\u0301tude xÉtude étude", "<|end|>x <|end|> <s> </s><unk>", "a <tag>  b<tag>", "日本語 𝛼 🙂👍🏿", "\u180e\u00a0\u3000x", "\x00\x01\x85", "ﬁ ①")
    rng = random.Random("kvscope-" + name)
    pool = ["the", " the", "Mina", "  ", " ", "\n", "\t", "12", "2024", ",", "...", "!?", "é", "e\u0301", "ü", "ß", "日本", "한국어", "🙂", "\u00a0", "<|end|>", "<s>", "</s>",
            "<tag>", "'s", "'T", "x", "Y", "ﬁ", "\u0301", "½", "ਖ਼", "\u180e"]
    for _ in range(150):
        yield "".join(rng.choice(pool) for _ in range(rng.randint(1, 25)))


for make in (byte_words, byte_digits, fallback, marks):
    name = make.__name__
    tokenizer = Tokenizer.from_str(make().to_str())
    document = json.loads(tokenizer.to_str())
    if name == "byte_digits":
        document["model"]["merges"] = [" ".join(m) for m in document["model"]["merges"]]  # as files of before 2024 have them
    (OUT / f"{name}.json").write_text(json.dumps(document, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")
    cases = []
    for text in texts(name):
        case = {"text": text, "ids": tokenizer.encode(text, add_special_tokens=False).ids}
        tokenizer.encode_special_tokens = True
        as_text = tokenizer.encode(text, add_special_tokens=False).ids
        tokenizer.encode_special_tokens = False
        if as_text != case["ids"]:
            case["ids_specials_as_text"] = as_text
        decoded = tokenizer.decode(case["ids"], skip_special_tokens=False)
        if decoded != text:
            case["decoded"] = decoded
        cases.append(case)
    (OUT / f"{name}.cases.json").write_text("[\n" + ",\n".join(json.dumps(c, ensure_ascii=False) for c in cases) + "\n]\n", encoding="utf-8")
