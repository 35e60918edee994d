"""plm eval on the real binary. Covers src/cli/commands/command_eval.cpp. Standard library only, no network."""

import unittest

from program import MODEL, ROOT, ProgramTest

TASKS = ROOT / "models" / "tasks"
MASKED = ROOT / "models" / "twin-mdm.gguf"


class EvalTest(ProgramTest):
    def test_counts_by_task(self):
        result = self.succeed("eval", MODEL, "--tasks", TASKS / "add.jsonl", "--tasks", TASKS / "story.jsonl",
                              "--limit", 20, "--json").json()
        self.assertEqual([(task["task"], task["texts"]) for task in result["tasks"]], [("add", 20), ("story", 20)])
        self.assertEqual(len(result["texts"]), 40)
        for task in result["tasks"]:
            right = sum(text["right"] for text in result["texts"] if text["task"] == task["task"])
            self.assertEqual(task["right"], right)
            self.assertGreaterEqual(task["accuracy"], 0.9)
            self.assertEqual(task["tokens_per_pass"], 1)
            low, high = task["interval"]
            self.assertTrue(low <= task["accuracy"] <= high)

    def test_pages_take_fewer_passes_than_tokens(self):
        words = ("eval", MASKED, "--tasks", TASKS / "json.jsonl", "--limit", 20, "--json")
        one = self.succeed(*words, "--tokens-per-pass", 1, "--schedule", "count").json()
        many = self.succeed(*words, "--schedule", "threshold", "--threshold", 0.9).json()
        self.assertLess(one["tokens_per_pass"], 1)
        self.assertGreater(many["tokens_per_pass"], 20)
        self.assertGreaterEqual(many["mean_accuracy"], 0.9)

    def test_how_many_at_once_changes_no_text(self):
        words = ("eval", MASKED, "--tasks", TASKS / "sudoku.jsonl", "--limit", 9, "--json")
        self.assertEqual(self.succeed(*words, "-np", 1, "-t", 1).json()["texts"],
                         self.succeed(*words, "-np", 7, "-t", 2).json()["texts"])

    def test_the_table_and_the_failures(self):
        result = self.succeed("eval", MODEL, "--tasks", TASKS / "sudoku.jsonl", "--limit", 40, "--failures", 2)
        self.assertIn("95 % interval", result.out)
        self.assertEqual(result.out.count("expected"), 2)

    def test_what_is_missing_is_named(self):
        self.fail_with(2, "eval", MODEL, says=["--tasks"])
        self.fail_with(3, "eval", MODEL, "--tasks", ROOT / "README.md", says=["README.md", "line 1"])


if __name__ == "__main__":
    unittest.main()
