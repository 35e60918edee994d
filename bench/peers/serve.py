#!/usr/bin/env python3
"""Many streams at once: serve.py URL... --streams N. One client for every server that speaks OpenAI's completions.

Each round asks every server in turn, in changing order, for N streams at the same time; figures are medians of the
rounds: tokens per second of all streams together (prompts not counted), the time to the first token (p50 and p99) and
between two tokens (p50 and p99). Every stream has a prompt of its own, so that no server gains by what it remembers of
another.

    plm serve MODEL --parallel 16 --threads 2 --port 8001
    llama-server -m MODEL --parallel 16 --threads 2 --port 8002
    serve.py 127.0.0.1:8001 127.0.0.1:8002

Standard library only. The table (Markdown) goes to stdout, progress to stderr.
"""

import argparse
import http.client
import json
import statistics
import sys
import threading
import time

WORDS = ("river stone winter garden letter window market engine shadow bridge copper summer paper island candle forest "
         "morning thunder velvet harbour").split()


def prompt_of(number, words):
    """Of so many words, another one for each number."""
    return f"Story number {number}. " + " ".join(WORDS[(number * 7 + i * (1 + number % 5)) % len(WORDS)]
                                                   for i in range(words))


class Stream(threading.Thread):
    """One request; when each piece of its answer came."""

    def __init__(self, server, number, options):
        super().__init__()
        self.server, self.number, self.options = server, number, options
        self.began, self.arrivals, self.failure = 0.0, [], None

    def run(self):
        body = {"model": "any", "prompt": prompt_of(self.number, self.options.words), "max_tokens": self.options.tokens,
                "temperature": 0, "stream": True, "ignore_eos": True}
        connection = http.client.HTTPConnection(self.server, timeout=600)
        try:
            self.began = time.monotonic()
            connection.request("POST", "/v1/completions", json.dumps(body), {"Content-Type": "application/json"})
            for line in connection.getresponse():
                if line.startswith(b"data: {") and json.loads(line[6:])["choices"][0]["text"]:
                    self.arrivals.append(time.monotonic())
        except (OSError, http.client.HTTPException, ValueError, KeyError) as error:
            self.failure = error
        finally:
            connection.close()


def one_round(server, first, options):
    """Tokens per second, times to the first token, times between two."""
    streams = [Stream(server, first + i, options) for i in range(options.streams)]
    for stream in streams:
        stream.start()
    for stream in streams:
        stream.join()
    for stream in streams:
        if stream.failure is not None or not stream.arrivals:
            raise SystemExit(f"serve.py: {server}: {stream.failure or 'no text came'}")
    seconds = max(s.arrivals[-1] for s in streams) - min(s.began for s in streams)
    firsts = [s.arrivals[0] - s.began for s in streams]
    gaps = [b - a for s in streams for a, b in zip(s.arrivals, s.arrivals[1:])]
    return options.streams * options.tokens / seconds, firsts, gaps


def quantile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("servers", nargs="+", metavar="HOST:PORT")
    parser.add_argument("--streams", type=int, default=16)
    parser.add_argument("--tokens", type=int, default=64, help="that each stream writes")
    parser.add_argument("--words", type=int, default=100, help="of each prompt")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    figures = {server: ([], [], []) for server in options.servers}
    for number in range(options.rounds):
        order = options.servers if number % 2 == 0 else list(reversed(options.servers))
        for server in order:
            rate, firsts, gaps = one_round(server, number * options.streams, options)
            print(f"round {number + 1}: {server}: {rate:.1f} tokens/s", file=sys.stderr)
            figures[server][0].append(rate)
            figures[server][1].extend(firsts)
            figures[server][2].extend(gaps)
    print(f"{options.streams} streams of {options.tokens} tokens, prompts of {options.words} words, "
          f"{options.rounds} rounds\n")
    print("| server | tokens/s | first token p50, p99 (s) | between tokens p50, p99 (s) |")
    print("| --- | ---: | ---: | ---: |")
    for server, (rates, firsts, gaps) in figures.items():
        print(f"| {server} | {statistics.median(rates):.1f} | {quantile(firsts, .5):.2f}, {quantile(firsts, .99):.2f} "
              f"| {quantile(gaps, .5):.3f}, {quantile(gaps, .99):.3f} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
