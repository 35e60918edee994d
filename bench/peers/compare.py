#!/usr/bin/env python3
"""plm beside llama.cpp on one model: compare.py MODEL --peer FOLDER [--plm FILE] [--limits FILE].

FOLDER is what build_llama_cpp.sh was given. Every figure is the median of several rounds; in a round each program runs
each measurement once (after a warm-up of its own), in turn and in changing order, so that whatever else the machine
does meets all of them. With --limits (the program bench_limits) it also says which part of the machine's limits plm
reaches: when decoding, bytes of weights read per second; in a prefill, multiplications and additions with weights.

The table (Markdown) goes to stdout, progress to stderr. Standard library only.
Tested by tests/cli/test_bench.py with a peer that is played.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Failure(Exception):
    """What went wrong, in one sentence."""


@dataclasses.dataclass(frozen=True)
class Case:
    kind: str  # "prefill" or "decode"
    tokens: int
    depth: int

    def __str__(self):
        return f"{self.kind} {self.tokens}" + (f" at depth {self.depth}" if self.depth else "")

    def flags(self):
        prompt, generate = (self.tokens, 0) if self.kind == "prefill" else (0, self.tokens)
        return ["-p", str(prompt), "-n", str(generate), "-d", str(self.depth), "-r", "1"]


def output_of(words):
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    except OSError as error:
        raise Failure(f"{words[0]}: {error.strerror}") from error
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["it says nothing"])[-1]
        raise Failure(f"{' '.join(words)}: ended with {done.returncode}: {last}")
    return done.stdout


class Program:
    """One program with its flags, and its figures by case, in tokens per second."""

    def __init__(self, name, words):
        self.name = name
        self.words = words
        self.rates = {}
        self.identity = ""

    def measure(self, case):
        result, = json.loads(output_of(self.words + case.flags()))
        self.identity = f"{result['build_commit']}, {result.get('device') or result.get('cpu_info', '')}"
        self.rates.setdefault(case, []).append(result["avg_ts"])

    def median(self, case):
        return statistics.median(self.rates[case])

    def cell(self, case):
        rates = self.rates[case]
        return f"{self.median(case):.1f} ({min(rates):.1f}-{max(rates):.1f})"


class Limits:
    """What the machine can do, and how much of it a rate of tokens needs."""

    def __init__(self, program, plm, model, threads):
        tensors = json.loads(output_of([plm, "inspect", model, "--json"]))["tensors"]
        names = {tensor["name"] for tensor in tensors}
        # The embedding is looked up, not read, unless it is the head as well.
        looked_up = {"token_embd.weight"} if "output.weight" in names else set()
        head = {"token_embd.weight", "output.weight"}
        self.token_bytes = sum(tensor["bytes"] for tensor in tensors if tensor["name"] not in looked_up)
        self.token_operations = sum(2 * tensor["shape"][0] * tensor["shape"][1] for tensor in tensors
                                    if len(tensor["shape"]) == 2 and tensor["name"] not in head)
        rows = json.loads(output_of([program, "--json", f"{self.token_bytes / 1e6:.1f}"]))
        of_threads = max(row["threads"] for row in rows if row["threads"] <= threads)
        self.rows = [row for row in rows if row["threads"] == of_threads]

    def cell(self, case, rate):
        reads = case.kind == "decode"
        giga = rate * (self.token_bytes if reads else self.token_operations) / 1e9
        parts = [f"{100 * giga / row['max']:.0f} % of {row['what']}" for row in self.rows
                 if (row["what"] == "read") == reads]
        return f"{giga:.1f} {'GB/s' if reads else 'GOP/s'}: {', '.join(parts)}"

    def sentence(self):
        facts = [f"{row['what']} {row['max']:.1f} {row['unit']}" for row in self.rows]
        return (f"Limits with {self.rows[0]['threads']} threads (best seen): {'; '.join(facts)}. A token needs "
                f"{self.token_bytes / 1e6:.1f} MB of weights and {self.token_operations / 1e9:.3f} G operations "
                "without the head.")


def cases_of(arguments):
    cases = []
    for depth in arguments.depth:
        cases += [Case("prefill", tokens, depth) for tokens in arguments.prompt if tokens > 0]
        cases += [Case("decode", tokens, depth) for tokens in arguments.generate if tokens > 0]
    return cases


def programs_of(arguments, model):
    threads = ["-t", str(arguments.threads)]
    kv_type = ["-ctk", arguments.kv_type, "-ctv", arguments.kv_type] if arguments.kv_type else []
    bench = str(arguments.peer / "build" / "bin" / "llama-bench")
    programs = [Program("plm", [str(arguments.plm), "bench", model, "--json", "-q", *threads, *kv_type])]
    for state, value in (("off", "0"), ("on", "1")):
        programs.append(Program(f"llama.cpp, flash attention {state}",
                                [bench, "-m", model, "-o", "json", "-fa", value, *threads, *kv_type]))
    return programs


def print_table(programs, cases, limits):
    plm, *peers = programs
    heads = [""] + [program.name for program in programs] + ["plm / best peer"] + (["plm reaches"] if limits else [])
    rows = [heads, ["---"] * len(heads)]
    for case in cases:
        best = max(peer.median(case) for peer in peers)
        row = [str(case)] + [program.cell(case) for program in programs] + [f"{plm.median(case) / best:.2f}"]
        rows.append(row + ([limits.cell(case, plm.median(case))] if limits else []))
    print("".join(f"| {' | '.join(row)} |\n" for row in rows), flush=True)


def compare(arguments):
    plm = str(arguments.plm)
    model = arguments.model if os.path.exists(arguments.model) else output_of([plm, "models", "where",
                                                                               arguments.model]).strip()
    load = os.getloadavg()[0]
    limits = Limits(str(arguments.limits), plm, model, arguments.threads) if arguments.limits else None
    programs, cases = programs_of(arguments, model), cases_of(arguments)
    for number in range(arguments.rounds):
        for case in cases:
            print(f"round {number + 1} of {arguments.rounds}: {case}", file=sys.stderr, flush=True)
            for program in programs if number % 2 == 0 else reversed(programs):
                program.measure(case)
    print(f"{pathlib.Path(model).name}, {arguments.threads} threads, tokens per second: median of {arguments.rounds} "
          f"rounds (min-max). Load average of the machine before: {load:.1f}.\n")
    print_table(programs, cases, limits)
    for program in programs[:2]:
        print(f"{program.name.split(',')[0]}: {program.identity}.")
    if limits:
        print(limits.sentence())


def sizes(text):
    return [int(item) for item in text.split(",")]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model", metavar="MODEL", help="a GGUF file, or the name of a fetched model")
    parser.add_argument("--peer", metavar="FOLDER", type=pathlib.Path, required=True)
    parser.add_argument("--plm", metavar="FILE", type=pathlib.Path, default=ROOT / "build" / "release" / "plm")
    parser.add_argument("--limits", metavar="FILE", type=pathlib.Path, help="the program bench_limits")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--prompt", metavar="SIZES", type=sizes, default="512")
    parser.add_argument("--generate", metavar="SIZES", type=sizes, default="64")
    parser.add_argument("--depth", metavar="SIZES", type=sizes, default="0,2048")
    parser.add_argument("--kv-type", metavar="NAME", help="not given: each program's default")
    parser.add_argument("--rounds", type=int, default=5)
    try:
        compare(parser.parse_args())
    except Failure as failure:
        sys.exit(f"error: {failure}")
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
