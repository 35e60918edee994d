#!/usr/bin/env python3
"""Sentence embeddings beside PyTorch: minilm.py MODEL [--plm FILE] [--threads N] [--rounds N].

MODEL is the folder of all-MiniLM-L6-v2 (`plm fetch minilm`). 256 sentences of 6 to 60 words are embedded by `plm embed`
and by transformers (float32, its own attention, sorted by length, 32 at a time, as sentence-transformers does). In each
round both run once, in turn and in changing order; the figure is the median. Loading and tokenising do not count for
PyTorch, tokenising does for plm. Needs torch, transformers and tokenizers.
"""
import argparse
import pathlib
import random
import re
import statistics
import subprocess
import time

import torch
from tokenizers import Tokenizer
from transformers import BertModel

ROOT = pathlib.Path(__file__).resolve().parents[2]
COUNT, BATCH = 256, 32
WORDS = ("the of and a to in is was it for on with as his they be at one have this from or had by hot word but what "
         "some we can out other were all there when up use your how said an each she which do their time if will way "
         "about many then them write would like so these her long make thing see him two has look more day could go "
         "come did number sound no most people my over know water than call first who may down side been now find "
         "palimpsest manuscript encoder revenue quarterly language model parchment").split()


def sentences():
    chance = random.Random(256)
    return [" ".join(chance.choices(WORDS, k=chance.randint(6, 60))) for _ in range(COUNT)]


class Torch:
    name = "PyTorch"

    def __init__(self, options):
        torch.set_num_threads(options.threads)
        self.model = BertModel.from_pretrained(options.model, dtype=torch.float32).eval()
        tokenizer = Tokenizer.from_file(f"{options.model}/tokenizer.json")
        tokenizer.no_padding()
        tokenizer.enable_truncation(256)
        self.ids = sorted((tokenizer.encode(text).ids for text in sentences()), key=len)
        self.run()  # the first one compiles

    def run(self):
        begin = time.perf_counter()
        with torch.inference_mode():
            for at in range(0, COUNT, BATCH):
                batch = self.ids[at:at + BATCH]
                longest = max(map(len, batch))
                ids = torch.tensor([row + [0] * (longest - len(row)) for row in batch])
                mask = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in batch])
                hidden = self.model(input_ids=ids, attention_mask=mask).last_hidden_state
                mean = (hidden * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
                torch.nn.functional.normalize(mean, dim=1)
        return time.perf_counter() - begin


class Plm:
    name = "plm"

    def __init__(self, options):
        self.words = [options.plm, "embed", options.model, "--threads", str(options.threads)]
        self.text = "\n".join(sentences())

    def run(self):
        done = subprocess.run(self.words, input=self.text, capture_output=True, text=True, check=True)
        return float(re.search(r"tokens in ([\d.]+) ms", done.stderr)[1]) / 1000


def main():
    parser = argparse.ArgumentParser(description="MiniLM in plm and in PyTorch, in turn.")
    parser.add_argument("model")
    parser.add_argument("--plm", default=str(ROOT / "build" / "release" / "plm"))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    programs = [Torch(options), Plm(options)]
    seconds = {program.name: [] for program in programs}
    for number in range(options.rounds):
        for program in programs if number % 2 == 0 else reversed(programs):
            seconds[program.name].append(program.run())
    print("| program | sentences/s, median | best |\n| --- | --- | --- |")
    for name, times in seconds.items():
        print(f"| {name} | {COUNT / statistics.median(times):.0f} | {COUNT / min(times):.0f} |")
    ratios = [a / b for a, b in zip(seconds["PyTorch"], seconds["plm"])]
    print(f"\nplm / PyTorch: {statistics.median(ratios):.2f} (median of {options.rounds} rounds)")


main()
