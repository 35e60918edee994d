#!/usr/bin/env python3
"""Token masks of plm beside xgrammar's and llguidance's: constraint.py MODEL CASES [--plm BENCH] [--tokenizer FOLDER].

CASES is the conformance file jsonschema.jsonl (schemas with instances), or a file of lines {"language": "json_schema",
"text": SCHEMA, "documents": [...]}. Each program compiles every schema and computes the mask before every token of
every valid document, the first document of a fresh grammar included, one thread, thread CPU time; a program that
refuses a schema is not timed on it. MODEL is the GGUF file whose vocabulary is used, FOLDER a Hugging Face folder of
the same tokenizer for the peers. --plm names the program bench_constraint.

Needs the packages xgrammar, llguidance, transformers and torch. The table (Markdown) goes to stdout.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time


def read_cases(path):
    """Schemas with their valid documents, compactly written."""
    schemas = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        if "documents" in case:
            schemas[case["text"]] = case["documents"]
        elif case.get("group") != "text" and case.get("valid") and case.get("policy") == "enforce":
            text = json.dumps(case["schema"], ensure_ascii=False)
            document = json.dumps(case["instance"], ensure_ascii=False, separators=(",", ":"))
            schemas.setdefault(text, []).append(document)
    return schemas


def percentiles(values):
    values = sorted(values)
    if not values:
        return None
    place = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "max": 1.0}
    figures = {name: values[int(share * (len(values) - 1))] for name, share in place.items()}
    return {"n": len(values), "mean": sum(values) / len(values), **figures}


def cpu_us():
    return time.thread_time_ns() / 1000


class Result:
    def __init__(self):
        self.compile_us, self.mask_us = [], []
        self.refused = self.rejected = 0

    def json(self):
        return {"compile_us": percentiles(self.compile_us), "mask_us": percentiles(self.mask_us),
                "refused": self.refused, "rejected_documents": self.rejected}


def run_xgrammar(schemas, tokenizer):
    import xgrammar
    info = xgrammar.TokenizerInfo.from_huggingface(tokenizer)
    compiler = xgrammar.GrammarCompiler(info, max_threads=1, cache_enabled=False)
    bitmask = xgrammar.allocate_token_bitmask(1, info.vocab_size)
    result = Result()
    for schema, documents in schemas.items():
        begin = cpu_us()
        try:
            compiled = compiler.compile_json_schema(schema, strict_mode=False)
        except Exception:  # whatever it calls a refusal
            result.refused += 1
            continue
        result.compile_us.append(cpu_us() - begin)
        for document in documents:
            matcher = xgrammar.GrammarMatcher(compiled)
            for token in tokenizer.encode(document, add_special_tokens=False):
                begin = cpu_us()
                matcher.fill_next_token_bitmask(bitmask)
                result.mask_us.append(cpu_us() - begin)
                if not matcher.accept_token(token):
                    result.rejected += 1
                    break
    return result


def run_llguidance(schemas, tokenizer):
    import llguidance
    import llguidance.hf
    import llguidance.numpy
    wrapped = llguidance.hf.from_tokenizer(tokenizer)
    bitmask = llguidance.numpy.allocate_token_bitmask(1, wrapped.vocab_size)
    result = Result()
    for schema, documents in schemas.items():
        begin = cpu_us()
        grammar = llguidance.LLMatcher.grammar_from_json_schema(schema)
        matcher = llguidance.LLMatcher(wrapped, grammar)
        if matcher.is_error():
            result.refused += 1
            continue
        result.compile_us.append(cpu_us() - begin)
        for number, document in enumerate(documents):
            if number > 0:
                matcher.reset()
            for token in tokenizer.encode(document, add_special_tokens=False):
                begin = cpu_us()
                llguidance.numpy.fill_next_token_bitmask(matcher, bitmask, 0)
                result.mask_us.append(cpu_us() - begin)
                if not matcher.consume_token(token):
                    result.rejected += 1
                    break
    return result


def run_plm(program, model, schemas):
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl", encoding="utf-8") as cases:
        for schema, documents in schemas.items():
            cases.write(json.dumps({"language": "json_schema", "text": schema, "documents": documents}) + "\n")
        cases.flush()
        done = subprocess.run([program, model, cases.name], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def table(rows):
    yield "| program | compile ms p50 / p99 / max | mask us p50 / p95 / p99 / max (mean; n) | refused | rejected |"
    yield "| --- | --- | --- | --- | --- |"
    for name, row in rows:
        compiled, mask = row["compile_us"], row["mask_us"]
        if not compiled or not mask:
            yield f"| {name} | - | - | {row['refused']} | {row['rejected_documents']} |"
            continue
        compile_ms = " / ".join(f"{compiled[key] / 1000:.2f}" for key in ("p50", "p99", "max"))
        mask_us = " / ".join(f"{mask[key]:.1f}" for key in ("p50", "p95", "p99", "max"))
        yield (f"| {name} | {compile_ms} | {mask_us} ({mask['mean']:.1f}; {mask['n']}) | {row['refused']} | "
               f"{row['rejected_documents']} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("model")
    parser.add_argument("cases", type=pathlib.Path)
    parser.add_argument("--plm", help="the program bench_constraint")
    parser.add_argument("--tokenizer", help="a folder of the same tokenizer, for the peers")
    parser.add_argument("--peers", default="xgrammar,llguidance")
    flags = parser.parse_args()
    schemas = read_cases(flags.cases)
    rows = []
    if flags.plm:
        plm = run_plm(flags.plm, flags.model, schemas)
        rows.append(("plm", plm))
        rows += [(f"plm, {kind} states", {**plm, "mask_us": plm[f"mask_{kind}_us"]}) for kind in ("seen", "fresh")]
    if flags.tokenizer:
        import transformers
        tokenizer = transformers.AutoTokenizer.from_pretrained(flags.tokenizer)
        runs = {"xgrammar": run_xgrammar, "llguidance": run_llguidance}
        for name in flags.peers.split(","):
            rows.append((name, runs[name](schemas, tokenizer).json()))
    print("\n".join(table(rows)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
