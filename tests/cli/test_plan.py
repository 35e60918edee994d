"""`plm plan` and `plm fit` on the real binary: files, folders, settings and descriptions of sizes alone."""

import json
import pathlib
import tempfile
import unittest

from program import MODEL, ROOT, ProgramTest

CONFIG = {"model_type": "llama", "vocab_size": 1000, "hidden_size": 256, "num_hidden_layers": 4,
          "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 512,
          "max_position_embeddings": 4096, "torch_dtype": "bfloat16", "tie_word_embeddings": False}
SKETCH = {"id": "tiny", "vocab": 100, "d_model": 64, "tied": True, "final": 64, "layers": "ama",
          "kinds": {"a": {"mix": {"type": "attn", "nq": 4, "nkv": 1, "hd": 16}, "norm": 128},
                    "m": {"mix": {"type": "mamba2", "d_inner": 128, "groups": 1, "d_state": 16, "heads": 4,
                                  "d_conv": 4}, "norm": 64}}}


class PlanTest(ProgramTest):
    def test_a_file(self):
        plan = self.succeed("plan", MODEL, "-c", 512, "--json").json()
        self.assertEqual(plan["context"]["configured"], 512)
        self.assertEqual(plan["memory"]["pages_per_sequence"], 2)
        self.assertEqual(sum(share["parameters"] for share in plan["weights"]["types"]), plan["parameters"]["stored"])
        half = self.succeed("plan", MODEL, "-c", 512, "--kv-type", "f16", "--json").json()
        self.assertEqual(2 * half["memory"]["page"], plan["memory"]["page"])
        text = self.succeed("plan", MODEL).out
        for words in ("parameters", "multiplied", "peak", "1000 tokens more", "effective"):
            self.assertIn(words, text)

    def test_folders_settings_and_descriptions(self):
        folder = ROOT / "tests" / "golden" / "huggingface" / "llama"
        self.assertGreater(self.succeed("plan", folder, "--json").json()["parameters"]["stored"], 0)
        with tempfile.TemporaryDirectory() as name:
            config, sketch = pathlib.Path(name, "config.json"), pathlib.Path(name, "sketch.json")
            config.write_text(json.dumps(CONFIG))
            sketch.write_text(json.dumps(SKETCH))
            stored = 2 * 1000 * 256 + 4 * (2 * 256 * 256 + 2 * 256 * 128 + 3 * 256 * 512 + 512) + 256
            for subject in (config, name):
                plan = self.succeed("plan", subject, "--json").json()
                self.assertEqual(plan["parameters"]["stored"], stored)
                self.assertEqual(plan["weights"]["bytes"], 2 * stored)
            plan = self.succeed("plan", sketch, "--json").json()
            self.assertEqual([kind["layers"] for kind in plan["sequence"]["kinds"]], [2, 1])
            long = self.succeed("plan", config, "-c", 8192)
            self.assertIn("positions for 4096", long.err)
            self.fail_with(2, "plan", MODEL, "--weights", "q8_0", says=["plm quantize"])
            self.fail_with(2, "plan", config, "--weights", "q9", says=["q4_k"])
            sketch.write_text("{}")
            self.fail_with(3, "plan", sketch, says=["vocab_size"])

    def test_what_fits(self):
        fit = self.succeed("fit", MODEL, "--memory", "1G", "--json").json()
        self.assertTrue(all(setting["peak"] <= 1 << 30 for setting in fit["settings"]))
        contexts = [setting["context"] for setting in fit["settings"]]
        self.assertEqual(contexts, sorted(contexts, reverse=True))
        self.assertIn("kv-dtype", self.succeed("fit", MODEL, "--memory", "1G").out)
        self.fail_with(4, "fit", MODEL, "--memory", "1K", says=["nothing fits"])
        self.fail_with(2, "fit", MODEL, "--memory", "much", says=["8G"])


if __name__ == "__main__":
    unittest.main()
