"""plm solve on the real binary. Covers src/cli/commands/command_solve.cpp. Standard library only, no network."""

import unittest

from program import MODEL, ROOT, ProgramTest

MASKED = ROOT / "models" / "twin-mdm.gguf"
SUM = ("-p", "A385+739=", "--max-tokens", 8, "--seed", 1)


class SolveTest(ProgramTest):
    def test_an_exact_verifier_takes_the_right_one(self):
        result = self.succeed("solve", MODEL, *SUM, "--search", "best_of_n", "-n", 32, "--verifier", "numeric:1124",
                              "--temp", 1.5, "--json").json()
        self.assertEqual(result["text"], "1124")
        chosen = result["candidates"][result["chosen"]]
        self.assertTrue(chosen["accepted"])
        self.assertEqual(result["cost"]["generated_tokens"], sum(each["tokens"] for each in result["candidates"]))

    def test_how_many_at_once_changes_nothing_that_counts(self):
        words = ("solve", MODEL, *SUM, "--search", "asc", "-n", 12, "--temp", 1, "--json")
        alone, together = (self.succeed(*words, "-np", count, "-t", count).json() for count in (1, 2))
        for key in ("chosen", "text", "reason", "votes"):
            self.assertEqual(alone[key], together[key])

    def test_pages_are_candidates_too(self):
        result = self.succeed("solve", MASKED, *SUM, "-n", 5, "--answer", "number", "--return", "all")
        self.assertEqual(result.err.count("--- candidate"), 5 if "(chosen)" in result.err else 0)
        self.assertIn("1124", result.out)

    def test_what_does_not_fit_is_named(self):
        self.fail_with(2, "solve", MODEL, *SUM, "--search", "best_of_n", says=["--verifier"])
        self.fail_with(2, "solve", MODEL, *SUM, "--search", "none", says=["none", "best_of_n"])
        self.fail_with(2, "solve", MODEL, *SUM, "--verifier", "numeric:x", says=["numeric", "x"])
        self.fail_with(2, "solve", MODEL, *SUM, "-n", 0, says=["candidates"])


if __name__ == "__main__":
    unittest.main()
