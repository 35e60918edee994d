#!/usr/bin/env python3
"""Trains a twin from nothing (or the third from the first) and writes a GGUF file: train_twin.py ar|mdm|tri --out FILE.

  ar   writes one token after another
  mdm  fills masks anywhere on a page that it sees whole
  tri  both: text is read from left to right, a block of eight masks sees itself and all before it; --from twin-ar.gguf

Equal seeds, PyTorch versions and numbers of threads give equal files. README.md says what to expect, and when.
"""

import argparse
import dataclasses
import json
import pathlib
import random
import sys
import time

import torch
import torch.nn.functional as functional

import twin_file
import twin_tasks
from twin_file import BOS, EOS, MASK
from twin_network import Muon, Network, Shape

BLOCK = 8
BEHIND = 0.2  # weight of the second and later end tokens of a page, which are easy
WARM_UP, FALL = 100, 0.4  # steps until the rate is full; part of the run in which it falls to a fiftieth


@dataclasses.dataclass(frozen=True)
class Course:
    steps: int
    rate: float  # of Muon; Adam's is a tenth
    # Examples a step of every task (add, sort, sudoku, json, story, chain), from a part of the run on.
    shares: tuple


# What is learned early gets less later; JSON and sorting come last, and a chain one token after another only.
COURSES = {
    "ar": Course(6200, 0.02, ((0.0, (24, 12, 24, 12, 8, 16)), (0.42, (20, 24, 16, 28, 4, 28)),
                              (0.78, (8, 40, 32, 8, 4, 12)))),
    "mdm": Course(6400, 0.02, ((0.0, (24, 12, 24, 12, 8, 16)), (0.33, (30, 24, 13, 24, 11, 18)),
                               (0.64, (9, 20, 12, 38, 15, 11)))),
    "tri": Course(1600, 0.015, ((0.0, (20, 20, 12, 14, 8, 20)),)),
}


@dataclasses.dataclass
class Batch:
    """Prompts [texts, prompt], answers with end tokens up to the page's width [texts, width], and what these weigh."""
    prompts: torch.Tensor
    answers: torch.Tensor
    weights: torch.Tensor


class Source:
    """Examples without end, and the random numbers of their masks."""

    def __init__(self, seed):
        self.dice = random.Random(seed + 1)
        self.noise = torch.Generator().manual_seed(seed + 2)

    def batch(self, task, count, width_of):
        found = twin_tasks.pairs(task, count, self.dice)
        width = width_of(max(len(answer) for _, answer in found) + 1)
        prompts = torch.tensor([[BOS, *prompt.encode()] for prompt, _ in found])
        answers = torch.full((count, width), EOS)
        weights = torch.full((count, width), BEHIND)
        for row, (_, answer) in enumerate(found):
            answers[row, :len(answer)] = torch.tensor(list(answer.encode()))
            weights[row, :len(answer) + 1] = 1
        return Batch(prompts, answers, weights)

    def masks(self, count, width, all_masked):
        """Which cells are masked, and how many in each row: spread evenly over 1 to width, but in a share of the rows
        all, since every page begins so."""
        spread = (torch.rand(1, generator=self.noise) + torch.arange(count) / count) % 1
        numbers = (spread * width).long() + 1
        numbers[torch.rand(count, generator=self.noise) < all_masked] = width
        order = torch.rand(count, width, generator=self.noise).argsort(dim=1).argsort(dim=1)
        return order < numbers[:, None], numbers


def in_order(rows):
    return torch.ones(rows, rows, dtype=torch.bool).tril()


def loss_ar(network, task, count, source):
    batch = source.batch(task, count, lambda needed: needed)
    tokens = torch.cat([batch.prompts, batch.answers], dim=1)
    counts = batch.weights == 1
    asked = torch.zeros(tokens.shape, dtype=torch.bool)
    asked[:, batch.prompts.shape[1] - 1:-1] = counts  # the row before speaks
    return functional.cross_entropy(network(tokens, in_order(tokens.shape[1]), asked), batch.answers[counts])


def loss_mdm(network, task, count, source):
    def width(needed):
        # Mostly the page that the task is asked on; else any, so that the end is not learned by its place.
        return task.room if source.dice.random() < 0.6 else source.dice.randint(needed, task.room + 4)

    batch = source.batch(task, count, width)
    masked, numbers = source.masks(count, batch.answers.shape[1], 0.15)
    tokens = torch.cat([batch.prompts, torch.where(masked, MASK, batch.answers)], dim=1)
    asked = torch.cat([torch.zeros_like(batch.prompts, dtype=torch.bool), masked], dim=1)
    losses = functional.cross_entropy(network(tokens, None, asked), batch.answers[masked], reduction="none")
    # 1 over the number of masks makes it a bound of the text's probability; few masks would weigh too much.
    weights = batch.weights / numbers.clamp(min=max(1, batch.answers.shape[1] // 6))[:, None]
    return (losses * weights[masked]).sum() / count


def sight_of_blocks(prompt, width):
    """Rows: prompt and answer as they are, then the answer with masks. A row as it is sees those before it; one of a
    block with masks its block and everything as it is before the block."""
    places = torch.cat([torch.arange(prompt + width), torch.arange(prompt, prompt + width)])
    is_clean = torch.arange(prompt + 2 * width) < prompt + width
    block = (places - prompt).div(BLOCK, rounding_mode="floor")
    before = places[None, :] < (prompt + block * BLOCK)[:, None]
    causal = is_clean[:, None] & is_clean[None, :] & (places[None, :] <= places[:, None])
    past = ~is_clean[:, None] & is_clean[None, :] & before
    own = ~is_clean[:, None] & ~is_clean[None, :] & (block[:, None] == block[None, :])
    return places, causal | past | own


def loss_tri(network, task, count, source):
    batch = source.batch(task, count, lambda needed: -(-needed // BLOCK) * BLOCK)
    prompt, width = batch.prompts.shape[1], batch.answers.shape[1]
    parts = [source.masks(count, BLOCK, 0.3) for _ in range(width // BLOCK)]
    masked = torch.cat([part for part, _ in parts], dim=1)
    numbers = torch.cat([numbers[:, None].expand(-1, BLOCK) for _, numbers in parts], dim=1)
    tokens = torch.cat([batch.prompts, batch.answers, torch.where(masked, MASK, batch.answers)], dim=1)
    places, sees = sight_of_blocks(prompt, width)
    counts = batch.weights == 1
    following, filled = torch.zeros(tokens.shape, dtype=torch.bool), torch.zeros(tokens.shape, dtype=torch.bool)
    following[:, prompt - 1:prompt + width - 1] = counts
    filled[:, prompt + width:] = masked
    asked = following | filled
    logits = network(tokens, sees, asked, places)
    is_following = following[asked]
    causal = functional.cross_entropy(logits[is_following], batch.answers[counts])
    losses = functional.cross_entropy(logits[~is_following], batch.answers[masked], reduction="none")
    weights = (batch.weights / numbers.clamp(min=2))[masked]
    return 0.5 * causal + 0.5 * (losses * weights).sum() / (count * width / BLOCK)


LOSSES = {"ar": loss_ar, "mdm": loss_mdm, "tri": loss_tri}


class Average:
    """Of the weights over the last few hundred steps: better than any of them."""

    def __init__(self, network):
        self.weights = {name: weight.detach().clone() for name, weight in network.named_parameters()}

    @torch.no_grad()
    def take(self, network, step):
        keep = min(0.998, (1 + step) / (10 + step))
        for name, weight in network.named_parameters():
            self.weights[name].lerp_(weight, 1 - keep)


class Run:
    def __init__(self, options):
        self.options, self.course = options, COURSES[options.twin]
        self.steps = options.steps or self.course.steps
        torch.set_num_threads(options.threads)
        torch.manual_seed(options.seed)
        self.shape = Shape()
        self.network = Network(self.shape)
        if options.begin:
            self.network.load_state_dict(twin_file.read(options.begin, self.shape))
        self.source = Source(options.seed)
        inner = [weight for name, weight in self.network.named_parameters() if weight.dim() == 2 and "blk" in name]
        self.rest = [weight for name, weight in self.network.named_parameters()
                     if weight.dim() != 2 or "blk" not in name]
        self.muon, self.adam = Muon(inner), torch.optim.Adam(self.rest, lr=1, betas=(0.9, 0.98))
        self.average = Average(self.network)
        self.losses = {}

    def rate(self, step):
        rising = min(1.0, (step + 1) / WARM_UP)
        falling = min(1.0, 0.02 + 0.98 * (1 - step / self.steps) / FALL)
        return self.course.rate * rising * falling

    def shares(self, step):
        current = [counts for begins, counts in self.course.shares if begins <= step / self.steps][-1]
        return dict(zip(twin_tasks.TASKS, current))

    def step(self, number):
        shares = self.shares(number)
        self.network.zero_grad(set_to_none=True)
        for name, count in shares.items():
            loss = LOSSES[self.options.twin](self.network, twin_tasks.TASKS[name], count, self.source)
            (loss * count / sum(shares.values())).backward()
            self.losses[name] = loss.item() + 0.98 * (self.losses.get(name, loss.item()) - loss.item())
        torch.nn.utils.clip_grad_norm_(self.rest, 1.0)
        self.muon.step(self.rate(number))
        for group in self.adam.param_groups:
            group["lr"] = self.rate(number) / 10
        self.adam.step()
        self.average.take(self.network, number + 1)

    def save(self):
        unfinished = self.options.out.with_suffix(".part")
        twin_file.write(unfinished, self.options.twin, self.shape, self.average.weights)
        unfinished.replace(self.options.out)

    def run(self):
        began = told = saved = time.monotonic()
        for number in range(self.steps):
            self.step(number)
            now = time.monotonic()
            if now - told > 30 or number + 1 in (1, 10, 100, self.steps):
                told = now
                losses = {name: round(loss, 4) for name, loss in self.losses.items()}
                print(json.dumps({"step": number + 1, "seconds": round(now - began), "loss": losses}), flush=True)
            if now - saved > 300:
                saved = now
                self.save()
        self.save()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("twin", choices=LOSSES)
    parser.add_argument("--out", type=pathlib.Path, required=True, help="the GGUF file; written every five minutes")
    parser.add_argument("--from", dest="begin", type=pathlib.Path, help="a twin to go on from, with its weights alone")
    parser.add_argument("--steps", type=int, default=0, help="other than planned; the course is stretched to it")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    if options.steps < 0 or options.threads < 1:
        parser.error("--steps and --threads must be positive")
    if options.twin == "tri" and not options.begin:
        print("note: without --from twin-ar.gguf the planned steps are too few for tri", file=sys.stderr)
    Run(options).run()


if __name__ == "__main__":
    main()
