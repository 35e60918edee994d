"""`plm bench` on the real binary and the model that ships, and the comparison with a peer (bench/peers/compare.py)."""

import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import unittest

from program import BINARY, MODEL, ROOT, ProgramTest


class BenchTest(ProgramTest):
    QUICK = ("bench", MODEL, "-r", 2, "--no-warmup", "-t", 1)

    def test_json_has_the_fields_of_llama_bench_and_ours(self):
        cases = self.succeed(*self.QUICK, "-p", "5,7", "-n", 3, "-d", "0,20", "--sequences", "1,4", "--json").json()
        self.assertEqual([(case["n_depth"], case["n_prompt"], case["n_gen"], case["n_sequences"]) for case in cases],
                         [(depth, *case) for depth in (0, 20)
                          for case in ((5, 0, 1), (7, 0, 1), (0, 3, 1), (0, 3, 4))])
        for case in cases:
            tokens = (case["n_prompt"] + case["n_gen"]) * case["n_sequences"]
            self.assertEqual((len(case["samples_ns"]), len(case["samples_ts"])), (2, 2))
            for ns, rate in zip(case["samples_ns"], case["samples_ts"]):
                self.assertAlmostEqual(rate * ns / 1e9 / tokens, 1, places=4)
            for unit, places in (("ns", -1), ("ts", 6)):
                samples = case[f"samples_{unit}"]
                self.assertAlmostEqual(case[f"avg_{unit}"], statistics.mean(samples), places)
                self.assertAlmostEqual(case[f"stddev_{unit}"], statistics.stdev(samples), places)
            self.assertAlmostEqual(case["median_ts"], statistics.median(case["samples_ts"]))
            self.assertEqual((case["min_ts"], case["max_ts"]), (min(case["samples_ts"]), max(case["samples_ts"])))
        facts = self.succeed("inspect", MODEL, "--json").json()
        expected = {"model_filename": MODEL, "model_type": "llama 0.775M F16", "model_size": facts["tensor_bytes"],
                    "model_n_params": facts["parameters"], "n_threads": 1, "type_k": "f32", "type_v": "f32"}
        self.assertEqual(cases[0], {**cases[0], **expected})

    def test_table(self):
        ended = self.succeed(*self.QUICK, "-p", 6, "-n", 2, "--kv-type", "f16")
        self.assertRegex(ended.out, r"\Atwin-ar\.gguf: llama 0\.775M F16, 1\.5 MiB of weights\n"
                                    r"cpu [^\n]+, 1 threads, keys and values f16\n\n"
                                    r"measured +depth +sequences +median +min +max +tokens/s\n"
                                    r"prefill 6 +0 +1( +\d+\.\d){3}\ndecode 2 +0 +1( +\d+\.\d){3}\n\Z")
        self.assertEqual(ended.err, "")

    def test_what_does_not_fit_or_is_no_size(self):
        self.fail_with(2, *self.QUICK, "-c", 64, "-d", 30, "-p", 40, says=["--depth 30", "--prompt 40", "70 tokens",
                                                                           "holds 64", "--context"])
        self.fail_with(2, *self.QUICK, "-c", 64, "-p", 0, "-n", 65, says=["--generate 65", "holds 64"])
        self.fail_with(2, *self.QUICK, "-p", 0, "-n", 0, says=["--prompt", "--generate"])
        self.fail_with(2, *self.QUICK, "-p", "5,x", says=["--prompt", '"x"', "1,2,3"])
        self.fail_with(2, *self.QUICK, "-p", "", says=["--prompt", "empty"])
        self.fail_with(2, *self.QUICK, "--sequences", 0, says=["--sequences", "1 to 256"])
        self.fail_with(2, *self.QUICK, "-r", 0, says=["--repeats"])

    def test_comparison_with_a_peer(self):
        result = {"build_commit": "b1", "cpu_info": "a machine", "avg_ts": 0.5}
        with tempfile.TemporaryDirectory() as folder:
            peer = pathlib.Path(folder, "build", "bin", "llama-bench")
            peer.parent.mkdir(parents=True)
            peer.write_text(f"#!/bin/sh\necho '[{json.dumps(result)}]'\n")
            peer.chmod(0o755)
            script = [sys.executable, ROOT / "bench" / "peers" / "compare.py", MODEL, "--plm", BINARY, "--peer", folder]
            words = [*script, "--rounds", "2", "--prompt", "8", "--generate", "2", "--depth", "0,9", "--threads", "1"]
            done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, 0, done)
            for case in ("prefill 8", "decode 2", "prefill 8 at depth 9", "decode 2 at depth 9"):
                ours, peers, ratio = r"[\d.]+ \([\d.]+-[\d.]+\)", r"0\.5 \(0\.5-0\.5\) \| " * 2, r"\d+\.\d\d"
                self.assertRegex(done.stdout, rf"\n\| {case} \| {ours} \| {peers}{ratio} \|\n")
            self.assertIn("llama.cpp: b1, a machine.", done.stdout)
            peer.write_text("#!/bin/sh\necho no such model >&2\nexit 3\n")
            done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, 1, done)
            self.assertRegex(done.stderr, r"(?m)^error: .*llama-bench .* ended with 3: no such model$")


if __name__ == "__main__":
    unittest.main()
