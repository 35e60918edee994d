"""Budgets for thinking on the real binary: the flags of src/cli/thinking_flags.h, recipes. Standard library only."""

import json
import pathlib
import tempfile
import unittest

from program import MODEL, ProgramTest

STORY = ("-p", "Thot hev:", "-n", 60, "--temp", 0, "--think-tags", ":,.", "--think-grace", 2, "--think-soft", 1)


class ThinkingTest(ProgramTest):
    def test_a_budget_closes_the_thinking(self):
        free = self.succeed("run", MODEL, *STORY[:6], "--json").json()
        bound = self.succeed("run", MODEL, *STORY, "--think", 3, "--json").json()
        self.assertLess(bound["text"].index("."), free["text"].index("."))
        self.assertEqual(bound["thinking"]["forced_ends"], 1)
        self.assertLessEqual(bound["thinking"]["tokens"], 3 + 2 + 16)
        self.assertNotIn("thinking", free)

    def test_a_recipe_brings_it_back(self):
        with tempfile.TemporaryDirectory() as folder:
            recipe = pathlib.Path(folder) / "recipe.json"
            text = self.succeed("run", MODEL, *STORY, "--think", 3, "--recipe-out", recipe).out
            self.assertEqual(json.loads(recipe.read_text())["thinking"]["size"], "3")
            self.assertIn(text.strip(), self.succeed("replay", recipe).out + text)

    def test_what_is_wrong_is_named(self):
        self.fail_with(2, "run", MODEL, *STORY, "--think", "abc", says=["abc", "0.5+4000"])
        self.fail_with(2, "run", MODEL, *STORY[:6], "--think", 5, says=["--think-tags"])
        self.fail_with(2, "run", MODEL, *STORY[:6], "--think", 5, "--think-tags", "<think>", says=["--think-tags"])


if __name__ == "__main__":
    unittest.main()
