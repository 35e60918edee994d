"""plm walk on the real binary. Covers src/cli/commands/command_walk.cpp. Standard library only, no network."""

import math
import unittest

from program import MODEL, ROOT, ProgramTest


class WalkTest(ProgramTest):
    def test_every_stage_is_there_and_leads_to_the_token_that_run_writes(self):
        walk = self.succeed("walk", MODEL, "-p", "S84901>", "--temperature", 0, "--json").json()
        text = self.succeed("run", MODEL, "-p", "S84901>", "-n", 1, "--temperature", 0, "--json").json()
        self.assertEqual([walk["token"]["id"]], text["ids"])
        self.assertEqual("".join(piece["text"] for piece in walk["tokens"]), "<bos>S84901>")
        self.assertEqual(walk["chain"]["id"], walk["token"]["id"])
        for layer in walk["layers"]:
            self.assertEqual(layer["cells_seen"], len(walk["tokens"]))
            self.assertEqual(sorted(layer["branches"]), ["attn", "ffn"])
            for head in layer["heads"]:
                self.assertTrue(0 <= head["entropy"] <= math.log(layer["cells_seen"]) + 1e-9)
                self.assertTrue(0 < head["weight"] <= 1 + 1e-9)
            self.assertEqual(len(layer["likeliest"]), 3)
            self.assertGreater(layer["cost"]["weight_bytes"], 0)

    def test_the_tables_name_every_layer_and_one_in_full(self):
        result = self.succeed("walk", MODEL, "-p", "S84901>", "--layer", 1)
        layers = len(self.succeed("walk", MODEL, "-p", "S84901>", "--json").json()["layers"])
        rows = [line.split()[0] for line in result.out.splitlines() if line]
        for name in ["tokens,", "embed", *map(str, range(layers)), "head", "model", "token"]:
            self.assertIn(name, rows)
        self.assertIn("\nlayer 1:", result.out)
        self.assertIn("looks most at", result.out)

    def test_pages_are_walked_too(self):
        walk = self.succeed("walk", ROOT / "models" / "twin-mdm.gguf", "-p", "S84901>", "--json").json()
        self.assertNotIn("chain", walk)
        self.assertEqual(walk["layers"][-1]["likeliest"][0]["id"], walk["token"]["id"])

    def test_a_layer_that_is_not_there_is_named(self):
        self.fail_with(2, "walk", MODEL, "-p", "x", "--layer", 99, says=["--layer", "99", "0 to"])


if __name__ == "__main__":
    unittest.main()
