"""`plm metrics` and `plm diagnose` on the real binary: traces, records of runs, texts."""

import json
import pathlib
import tempfile
import unittest

from program import MODEL, ProgramTest


class MetricsTest(ProgramTest):
    def test_a_trace_of_this_program(self):
        with tempfile.TemporaryDirectory() as folder:
            trace = pathlib.Path(folder, "trace.jsonl")
            self.succeed("run", MODEL, "-p", "The", "-n", 20, "--temperature", 0.8, "--seed", 1, "--trace", trace,
                         "-t", 1)
            metrics = self.succeed("metrics", trace, "--json").json()["metrics"]
            lines = [json.loads(line) for line in trace.read_text().splitlines()]
            mean = sum(line["raw"]["entropy"] for line in lines) / len(lines)
            self.assertAlmostEqual(metrics["entropy_raw"]["value"], mean, places=9)
            self.assertEqual(metrics["length"]["value"], len(lines))
            moved = sum(line["raw"]["rank"] > 1 for line in lines) / len(lines)
            self.assertAlmostEqual(metrics["displacement"]["value"], moved, places=9)
            self.succeed("diagnose", trace)

    def test_texts_and_parameters(self):
        with tempfile.TemporaryDirectory() as folder:
            text = pathlib.Path(folder, "text.txt")
            text.write_text("one two three four " * 40)
            metrics = self.succeed("metrics", text, "--set", "distinct_n.n=1", "--json").json()["metrics"]
            self.assertEqual(metrics["distinct_ngrams"]["value"], 4 / 160)
            self.assertEqual(metrics["tail_loop"]["value"], 160)
            self.assertIsNone(metrics["perplexity"]["value"])
            self.assertIn("tail_loop", self.succeed("metrics", text).out)
            self.assertNotIn("perplexity", self.succeed("metrics", text).out)
            self.assertIn("perplexity", self.succeed("metrics", text, "--all").out)
            self.fail_with(2, "metrics", text, "--set", "mood.n=1", says=["METRIC.NAME=VALUE"])
            self.fail_with(2, "metrics", text, "--set", "distinct_n.n=0", says=["1 to 64"])
            found = self.succeed("diagnose", text, "--json").json()["records"][0]["symptoms"]
            self.assertEqual([symptom["symptom"] for symptom in found], ["repeated_phrases"])
            self.assertIn("try: ", self.succeed("diagnose", text).out)
            text.write_text("All is well here.")
            self.assertIn("nothing found", self.succeed("diagnose", text).out)
            text.write_text('{"tokens": "many"}')
            self.fail_with(3, "diagnose", text, says=["tokens", "list"])
            self.fail_with(3, "metrics", pathlib.Path(folder, "none"), says=["none"])


if __name__ == "__main__":
    unittest.main()
