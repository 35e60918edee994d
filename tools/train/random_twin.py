#!/usr/bin/env python3
"""Writes a network that fills masks and knows nothing, of any size, to measure speeds with: random_twin.py --out FILE.

The default has 87 million parameters, a vocabulary of 32,000 (bytes and tokens without a text) and 174 MB.
"""

import argparse
import pathlib

import torch

import twin_file
from twin_network import Network, Shape


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--hidden", type=int, default=640)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--heads", type=int, default=10)
    parser.add_argument("--ffn", type=int, default=1792)
    parser.add_argument("--vocabulary", type=int, default=32000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    torch.manual_seed(options.seed)
    shape = Shape(vocabulary=options.vocabulary, hidden=options.hidden, layers=options.layers, heads=options.heads,
                  kv_heads=options.heads, ffn=options.ffn, context=2048)
    twin_file.write(options.out, "mdm", shape, dict(Network(shape).named_parameters()))


if __name__ == "__main__":
    main()
