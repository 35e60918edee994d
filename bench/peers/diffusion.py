#!/usr/bin/env python3
"""plm beside llama.cpp's llama-diffusion-cli on models that fill masks: diffusion.py --peer FOLDER [--model FILE].

FOLDER is what build_llama_cpp.sh was given. Two measurements, each interleaved: in a round every program runs once, in
changing order, so that whatever else the machine does meets all of them. Times are what the programs say of their own
passes, without loading.

1. The same work: pages of equal length in equally many passes over all of them (--length, --passes), with the likeliest
   token of every position and Dream's schedule, which both have. --model: any GGUF file of the architecture llada;
   tools/train/random_twin.py writes one of any size.
2. The same quality: the twin's tasks, so many prompts of each (--prompts), by the peer one position a pass, its best,
   and by plm as well as it can (margin 0.7, the setting that was chosen for all tasks, with and without a cache).

Tables (Markdown) go to stdout, progress to stderr. Standard library only.
"""

import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TWIN = ROOT / "models/twin-mdm.gguf"
TASKS = ("add", "sort", "sudoku", "json", "story", "chain")
TRIES = 5  # the peer prints its text through a logger that may lose the end, and then says nothing of it

CACHES = {
    "plm, margin 0.7": (),
    "plm, margin 0.7, prefix cache": ("--page-cache", "prefix"),
    "plm, margin 0.7, dual cache, blocks of 16": ("--page-cache", "dual", "--block-length", "16"),
}


def output_of(words):
    done = subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    if done.returncode != 0:
        last = (done.stderr.decode(errors="replace").strip().splitlines() or ["it says nothing"])[-1]
        sys.exit(f"error: {' '.join(map(str, words))}: ended with {done.returncode}: {last}")
    return done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")


class Page:
    """A prompt, and how many positions are written behind it in how many passes."""

    def __init__(self, prompt, length, passes):
        self.prompt, self.length, self.passes = prompt, length, passes


class Peer:
    def __init__(self, folder, model, threads):
        self.words = [folder / "build/bin/llama-diffusion-cli", "-m", model, "-t", threads, "--top-k", 1,
                      "--no-log-prefix", "--no-log-timestamps"]

    def write(self, page):
        """Its text behind the prompt, and milliseconds of its passes."""
        cells = len(page.prompt.encode()) + 1 + page.length  # bytes, and the token in front
        words = [*self.words, "-p", page.prompt, "-ub", cells, "-b", cells, "-c", cells, "--diffusion-steps",
                 page.passes, "--diffusion-eps", 0.001]
        for _ in range(TRIES):
            found = re.search(r"total time: ([0-9.]+)ms.*?\n\n?(.*)\n", output_of(words)[1])
            if found:
                return found[2], float(found[1])
        sys.exit(f"error: llama-diffusion-cli: {TRIES} runs without a text on {page.prompt!r}, {cells} cells")


class Plm:
    def __init__(self, plm, model, threads, flags):
        self.words = [plm, "run", model, "-t", threads, "--json", "-q", "--page-cache-meter", 0, *flags]

    def write(self, page):
        out, _ = output_of([*self.words, "-p", page.prompt, "-n", page.length])
        result = json.loads(out)
        times = result["timings"]
        return result["text"], times["prefill_ms"] + times["decode_ms"]


def median_cell(times, length):
    rates = [1000 * length / ms for ms in times]
    return f"{statistics.median(rates):.0f} ({min(rates):.0f}-{max(rates):.0f})"


def same_work(options):
    page = Page("A" * (options.context - 1), options.length, options.passes)
    flags = ("--schedule", "timestep", "--passes", page.passes, "--ignore-eos")
    programs = {"llama-diffusion-cli": Peer(options.peer, options.model, options.threads),
                "plm": Plm(options.plm, options.model, options.threads, flags),
                "plm, dual cache, blocks of 32": Plm(options.plm, options.model, options.threads, (
                    *flags, "--page-cache", "dual", "--block-length", 32))}
    times = {name: [] for name in programs}
    for round_ in range(options.rounds):
        order = list(programs.items())
        for name, program in order if round_ % 2 == 0 else reversed(order):
            times[name].append(program.write(page)[1])
            print(f"round {round_ + 1}: {name}: {times[name][-1]:.0f} ms", file=sys.stderr)
    theirs = statistics.median(times["llama-diffusion-cli"])
    print(f"\n{pathlib.Path(options.model).name}: {page.length} positions behind {options.context} in {page.passes} "
          f"passes, {options.threads} threads; positions a second, median of {options.rounds} (min-max)\n")
    print("| program | positions/s | ratio |\n| --- | --- | --- |")
    for name, values in times.items():
        print(f"| {name} | {median_cell(values, page.length)} | {theirs / statistics.median(values):.2f} |")


def examined(options):
    for task in TASKS:
        lines = (ROOT / f"models/tasks/{task}.jsonl").read_text().splitlines()[:options.prompts]
        yield from (json.loads(line) for line in lines)


def is_right(item, text):
    if "matches" in item:
        return re.fullmatch(item["matches"], text) is not None
    return text == item["answer"]


def same_quality(options):
    programs = {"llama-diffusion-cli, one a pass": Peer(options.peer, TWIN, options.threads)}
    margin = ("--confidence", "margin", "--threshold", 0.7)
    for name, flags in CACHES.items():
        programs[name] = Plm(options.plm, TWIN, options.threads, (*margin, *flags))
    right, times = {name: 0 for name in programs}, {name: 0.0 for name in programs}
    items = list(examined(options))
    for number, item in enumerate(items):
        page = Page(item["prompt"], item["length"], item["length"])
        order = list(programs.items())
        for name, program in order if number % 2 == 0 else reversed(order):
            text, ms = program.write(page)
            # The peer knows no end of a text: what it shows behind is cut off, as end tokens have no text.
            right[name] += is_right(item, text)
            times[name] += ms
        if (number + 1) % options.prompts == 0:
            print(f"{item['task']}: done", file=sys.stderr)
    theirs = times["llama-diffusion-cli, one a pass"]
    print(f"\ntwin-mdm: {options.prompts} prompts of each task, {options.threads} threads\n")
    print("| program | right | ms a text | ratio |\n| --- | --- | --- | --- |")
    for name in programs:
        print(f"| {name} | {right[name] / len(items):.3f} | {times[name] / len(items):.2f} | "
              f"{theirs / times[name]:.2f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", metavar="FOLDER", type=pathlib.Path, required=True)
    parser.add_argument("--plm", metavar="FILE", type=pathlib.Path, default=ROOT / "build/release/plm")
    parser.add_argument("--model", type=pathlib.Path, default=TWIN, help="for the same work")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--context", type=int, default=32, help="cells of the prompt")
    parser.add_argument("--length", type=int, default=128)
    parser.add_argument("--passes", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--prompts", type=int, default=20, help="of each task; 0: the same work only")
    options = parser.parse_args()
    same_work(options)
    if options.prompts > 0:
        same_quality(options)


if __name__ == "__main__":
    sys.exit(main())
