#!/usr/bin/env python3
"""Writes tiny_tokenizers.json: ids of awkward strings by Hugging Face tokenizers (special tokens parsed, none added) and
by the SentencePiece library, for the four vocabularies in tiny_tokenizers/.

usage: make_tiny_tokenizers.py > tiny_tokenizers.json
Made with tokenizers 0.23.3 and sentencepiece 0.2.3. tiny_tokenizers/ is oracle/tokenizers_tiny of the conformance data.
"""
import json
import pathlib
import sys

import sentencepiece
from tokenizers import Tokenizer

HERE = pathlib.Path(__file__).parent
FOLDERS = HERE / "tiny_tokenizers"


def by_tokenizers(folder, texts):
    tokenizer = Tokenizer.from_file(str(FOLDERS / folder / "tokenizer.json"))
    return {
        "ids": [tokenizer.encode(text, add_special_tokens=False).ids for text in texts],
        "hello": tokenizer.encode("Hello world").ids,
    }


def by_sentencepiece(path, texts):
    processor = sentencepiece.SentencePieceProcessor(model_file=str(FOLDERS / path))
    return {"ids": [processor.encode(text) for text in texts]}


def main():
    texts = [row["text"] for row in json.loads((HERE / "strings.json").read_text()) if row["text"] is not None]
    golden = {folder: by_tokenizers(folder, texts) for folder in ("bpe", "unigram", "wordpiece")}
    golden["spm"] = by_sentencepiece("spm/tokenizer.model", texts)
    golden["unigram_spm"] = by_sentencepiece("unigram_spm/sentencepiece.bpe.model", texts)
    json.dump(golden, sys.stdout, separators=(",", ":"))
    print()


main()
