"""Accuracy, tokens per pass and tokens per second of the twins: one after another, and six ways of writing in parallel.

  python3 bench/twins.py --plm build/release/plm            measures, writes docs/explanation/twins.md and twins.svg
  python3 bench/twins.py --plm build/release/plm --validation   the other prompts, printed only: to choose settings by

Every line is one `plm eval` over the six tasks, 300 held-out prompts each. Speed is that of one text at a time.
"""

import argparse
import json
import math
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TASKS = ("add", "sort", "sudoku", "json", "story", "chain")
PAGE = ROOT / "docs/explanation/twins.md"
BEGIN, END = "<!-- bench/twins.py writes from here -->", "<!-- to here -->"

# name, model, flags
LINES = (
    ("one token after another", "twin-ar", ()),
    ("one position a pass", "twin-mdm", ("--schedule", "count", "--tokens-per-pass", "1")),
    ("two a pass", "twin-mdm", ("--schedule", "count", "--tokens-per-pass", "2")),
    ("four a pass", "twin-mdm", ("--schedule", "count", "--tokens-per-pass", "4")),
    ("eight a pass", "twin-mdm", ("--schedule", "count", "--tokens-per-pass", "8")),
    ("threshold 0.9", "twin-mdm", ("--schedule", "threshold", "--threshold", "0.9")),
    ("threshold 0.7", "twin-mdm", ("--schedule", "threshold", "--threshold", "0.7")),
    ("margin 0.7", "twin-mdm", ("--confidence", "margin", "--threshold", "0.7")),
    ("entropy bound 0.1", "twin-mdm", ("--schedule", "entropy_bound", "--confidence", "neg_entropy")),
    ("factor 1", "twin-mdm", ("--schedule", "factor")),
    ("WINO 0.2, 0.95", "twin-mdm", ("--decoder", "wino", "--wino-accept", "0.2", "--wino-keep", "0.95")),
    ("one after another", "twin-tri", ("--decoder", "autoregressive")),
    ("self-speculation", "twin-tri", ("--decoder", "self_speculation")),
    ("blocks of 8, threshold 0.9", "twin-tri", ("--decoder", "diffusion", "--block-length", "8")),
    ("blocks of 8, four a pass", "twin-tri",
     ("--decoder", "diffusion", "--block-length", "8", "--schedule", "count", "--tokens-per-pass", "4")),
)


def evaluate(plm, folder, model, flags, together):
    files = [word for task in TASKS for word in ("--tasks", folder / f"{task}.jsonl")]
    words = [plm, "eval", ROOT / f"models/{model}.gguf", *files, "-np", together, "--json", "-q", *flags]
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}\n{done.stderr}")
    return json.loads(done.stdout)


def cell(task):
    low, high = task["interval"]
    return f"{task['accuracy']:.3f} ({low:.2f}-{high:.2f}) / {task['tokens_per_pass']:.2f}"


def table(rows):
    lines = ["| model | how | " + " | ".join(TASKS) + " | mean | tokens a pass | tokens/s |",
             "| --- | --- |" + " --- |" * (len(TASKS) + 3)]
    for name, model, result in rows:
        cells = " | ".join(cell(task) for task in result["tasks"])
        lines.append(f"| {model} | {name} | {cells} | {result['mean_accuracy']:.3f} | "
                     f"{result['tokens_per_pass']:.2f} | {result['tokens_per_s']:.0f} |")
    return "\n".join(lines)


def drawing(rows):
    """Accuracy over tokens per pass (a logarithm); the area of a mark is tokens per second; numbers as in the list."""
    width, height, left, right, bottom, lowest = 900, 420, 60, 620, 50, 0.4
    colours = {"twin-ar": "#555555", "twin-mdm": "#b5542a", "twin-tri": "#2a6fb5"}

    def x(value):
        return left + (math.log2(value) + 1) / 3.6 * (right - left)

    def y(value):
        return height - bottom - (value - lowest) / (1 - lowest) * (height - bottom - 20)

    fastest = max(result["tokens_per_s"] for _, _, result in rows)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
             f'font-size="12"><rect width="{width}" height="{height}" fill="#ffffff"/>']
    for value in (0.5, 1, 2, 4):
        parts.append(f'<path d="M{x(value):.1f} 20V{height - bottom}" stroke="#dddddd"/>'
                     f'<text x="{x(value):.1f}" y="{height - bottom + 16}" text-anchor="middle">{value:g}</text>')
    for value in (0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1):
        parts.append(f'<path d="M{left} {y(value):.1f}H{right}" stroke="#dddddd"/>'
                     f'<text x="{left - 6}" y="{y(value) + 4:.1f}" text-anchor="end">{value:.1f}</text>')
    parts.append(f'<text x="{(left + right) / 2}" y="{height - 12}" text-anchor="middle">tokens per pass (harmonic '
                 f'mean over the tasks)</text><text transform="translate(16 {height / 2}) rotate(-90)" '
                 f'text-anchor="middle">right answers, mean over the tasks</text>')
    for number, (name, model, result) in enumerate(rows, 1):
        across, down, colour = x(result["tokens_per_pass"]), y(result["mean_accuracy"]), colours[model]
        radius = 3 + 9 * math.sqrt(result["tokens_per_s"] / fastest)
        parts.append(f'<circle cx="{across:.1f}" cy="{down:.1f}" r="{radius:.1f}" fill="{colour}" fill-opacity="0.45"/>'
                     f'<text x="{across:.1f}" y="{down + 4:.1f}" text-anchor="middle">{number}</text>'
                     f'<text x="{right + 24}" y="{20 + 22 * number}" fill="{colour}">{number}  {model}: {name}</text>')
    return "".join(parts) + "</svg>\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plm", required=True)
    parser.add_argument("--validation", action="store_true", help="the prompts to choose settings by; writes nothing")
    parser.add_argument("--together", type=int, default=1, help="texts at once; above 1 speeds are those of a batch")
    options = parser.parse_args()
    folder = ROOT / "models/tasks" / ("validation" if options.validation else "")
    rows = []
    for name, model, flags in LINES:
        rows.append((name, model, evaluate(options.plm, folder, model, flags, options.together)))
        print(f"{model:9} {name:28} {rows[-1][2]['mean_accuracy']:.3f} {rows[-1][2]['tokens_per_pass']:6.2f} "
              f"{rows[-1][2]['tokens_per_s']:7.0f}/s", flush=True)
    if options.validation:
        return
    before, _, rest = PAGE.read_text().partition(BEGIN)
    PAGE.write_text(before + BEGIN + "\n" + table(rows) + "\n" + END + rest.partition(END)[2])
    (ROOT / "docs/explanation/twins.svg").write_text(drawing(rows))
    plain, drafted = ([row for row in rows if row[0] == name][0][2]["texts"]
                      for name in ("one after another", "self-speculation"))
    same = sum(a["text"] == b["text"] for a, b in zip(plain, drafted))
    print(f"self-speculation writes the text of one after another in {same} of {len(plain)}")


if __name__ == "__main__":
    main()
