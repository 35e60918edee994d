#!/usr/bin/env python3
"""Writes tiny_bpe.json: ids of awkward strings by Hugging Face tokenizers, for one tiny byte-level BPE vocabulary and the
pre-tokenisers that need no vocabulary of their own.

usage: make_tiny_bpe.py TOKENIZER_JSON STRINGS_JSON > tiny_bpe.json
TOKENIZER_JSON: oracle/tokenizers_tiny/bpe/tokenizer.json; STRINGS_JSON: oracle/tokenizer/strings.json of the conformance
data. Made with tokenizers 0.23.3.
"""
import json
import sys

from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers as pre

CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
SPACES = r"|\s*[\r\n]+|\s+(?!\S)|\s+"
LLAMA3 = CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*" + SPACES
QWEN2 = CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*" + SPACES
QWEN35 = CONTRACTIONS + r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*" + SPACES
EAST_ASIAN = "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+"


def splits(*expressions):
    parts = [pre.Split(Regex(expression), "isolated") for expression in expressions]
    return pre.Sequence([*parts, pre.ByteLevel(add_prefix_space=False, use_regex=False)])


GPT2 = pre.ByteLevel(add_prefix_space=False, use_regex=True)
WAYS = {
    "gpt-2": dict(pre_tokenizer=GPT2),
    "smollm": dict(pre_tokenizer=pre.Sequence([pre.Digits(individual_digits=True), GPT2])),
    "llama-bpe": dict(pre_tokenizer=splits(LLAMA3), ignore_merges=True),
    "chatglm-bpe": dict(pre_tokenizer=splits(LLAMA3)),
    "qwen2": dict(pre_tokenizer=splits(QWEN2), normalizer=normalizers.NFC()),
    "stablelm2": dict(pre_tokenizer=splits(QWEN2)),
    "qwen35": dict(pre_tokenizer=splits(QWEN35)),
    "deepseek-coder": dict(pre_tokenizer=splits(r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", EAST_ASIAN, r"\p{N}")),
}


def main():
    source = json.load(open(sys.argv[1], encoding="utf-8"))
    strings = [s["text"] for s in json.load(open(sys.argv[2], encoding="utf-8")) if s["text"] is not None]
    vocabulary = source["model"]["vocab"]
    special = [token["content"] for token in source["added_tokens"]]
    merges = [merge if isinstance(merge, str) else " ".join(merge) for merge in source["model"]["merges"]]
    tokens = sorted({**vocabulary, **{t["content"]: t["id"] for t in source["added_tokens"]}}.items(), key=lambda x: x[1])
    assert [number for _, number in tokens] == list(range(len(tokens)))

    ids = {}
    for name, way in WAYS.items():
        model = models.BPE(vocab=vocabulary, merges=[tuple(m.split(" ")) for m in merges],
                           ignore_merges=way.get("ignore_merges", False))
        tokenizer = Tokenizer(model)
        if "normalizer" in way:
            tokenizer.normalizer = way["normalizer"]
        tokenizer.pre_tokenizer = way["pre_tokenizer"]
        tokenizer.add_special_tokens([AddedToken(text, normalized=False) for text in special])
        ids[name] = [tokenizer.encode(text, add_special_tokens=False).ids for text in strings]
    json.dump({"tokens": [text for text, _ in tokens], "special": special, "merges": merges,
               "strings": strings, "ids": ids}, sys.stdout, ensure_ascii=True, separators=(",", ":"))
    print()


main()
