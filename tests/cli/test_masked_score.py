"""How probable texts are under models that fill masks, on the real binary. Covers src/cli/commands/command_score.cpp.
Standard library only, no network."""

import math
import unittest

from program import MODEL, ROOT, ProgramTest

MASKED = ROOT / "models" / "twin-mdm.gguf"


class MaskedScoreTest(ProgramTest):
    def score(self, *words, text=None, model=MASKED):
        return self.succeed("score", model, *words, "--json", "-q", text=text).json()

    def test_a_text_has_a_bound_with_its_error(self):
        found = self.score(text="A385+739=1124")
        self.assertEqual(found["passes"], 128)
        self.assertGreater(found["standard_error"], 0)
        self.assertAlmostEqual(found["perplexity_bound"], math.exp(-found["logprob_bound"] / found["scored_tokens"]))
        self.assertEqual(found, self.score(text="A385+739=1124"))
        self.assertNotEqual(found, self.score("--seed", 1, text="A385+739=1124"))
        more = self.score("--draws", 512, text="A385+739=1124")
        self.assertLess(more["standard_error"], found["standard_error"])
        self.assertAlmostEqual(more["logprob_bound"], found["logprob_bound"], delta=4 * found["standard_error"])
        self.assertIn("standard error", self.succeed("score", MASKED, text="A385+739=1124").out)

    def test_each_token_given_all_others(self):
        found = self.score("--method", "pseudo", "--prompt", "A385+739=", text="1124")
        self.assertEqual([position["id"] for position in found["positions"]], list(b"1124"))
        self.assertAlmostEqual(found["logprob_sum"], sum(position["logprob"] for position in found["positions"]))
        self.assertIn("pseudo-perplexity", self.succeed("score", MASKED, "--method", "pseudo", text="1124").out)

    def test_choices_behind_a_prompt(self):
        words = ("--prompt", "A385+739=", "--choice", "1024", "--choice", "1124", "--choice", "99")
        for model, method in ((MASKED, "auto"), (MASKED, "pseudo"), (MODEL, "auto")):
            with self.subTest(model=model, method=method):
                choices = self.score(*words, "--method", method, model=model)["choices"]
                self.assertEqual([choice["text"] for choice in choices], ["1024", "1124", "99"])
                self.assertEqual(max(choices, key=lambda choice: choice["logprob"])["text"], "1124")
                self.assertAlmostEqual(sum(choice["share"] for choice in choices), 1)
        self.assertIn("1124", self.succeed("score", MASKED, *words).out)

    def test_a_prompt_is_not_scored(self):
        whole = self.score(text="A385+739=1124", model=MODEL)
        behind = self.score("--prompt", "A385+739=", text="1124", model=MODEL)
        tail = sum(position["logprob"] for position in whole["positions"][-4:])
        self.assertAlmostEqual(behind["logprob_sum"], tail, places=9)
        self.assertEqual(behind["scored_tokens"], 4)

    def test_what_cannot_be_says_what_can(self):
        for model, words, says in ((MODEL, ("--method", "bound"), ["--method", "fill masks"]),
                                   (MASKED, ("--top", 3), ["--top"]),
                                   (MASKED, ("--choice", "a"), ["--prompt"]),
                                   (MASKED, ("--choice", "a", "--ids", "1"), ["--choice", "--ids"]),
                                   (MASKED, ("--prompt", "a", "--choice", ""), ["empty"])):
            with self.subTest(words=words):
                self.fail_with(2, "score", model, *words, "-q", says=says, text="a")


if __name__ == "__main__":
    unittest.main()
