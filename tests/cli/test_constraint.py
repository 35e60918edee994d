"""Constraints seen from the command line: plm grammar, and plm run under grammars, expressions and choices."""

import json
import pathlib
import re
import tempfile
import unittest

from program import MODEL, ProgramTest, plm

RUN = ("run", MODEL, "-q", "-p", "S84")
DIGITS = 'root ::= [0-9]{3,5} ("," [0-9])* ";"\n'


class ConstraintTest(ProgramTest):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.grammar = self.write("digits.gbnf", DIGITS)

    def write(self, name, text):
        path = pathlib.Path(self.folder.name) / name
        path.write_text(text, encoding="utf-8")
        return path

    def text(self, *flags):
        return self.succeed(*RUN, *flags).out.removesuffix("\n")

    def test_every_text_fits(self):
        for seed in range(6):
            hot = ("--temp", 5, "--top-k", 0, "--top-p", 1, "--min-p", 0, "--seed", seed)
            self.assertRegex(self.text("--grammar", self.grammar, *hot, "-n", 12), r"\A\d{3,5}(,\d)*;\Z")
            self.assertRegex(self.text("--regex", "[A-F]{2}-[0-9]{1,4}", *hot), r"\A[A-F]{2}-\d{1,4}\Z")
            self.assertIn(self.text("--choice", "17,4\\,5", "--choice", "S8", *hot), ("17", "4,5", "S8"))
            self.assertRegex(self.text("--regex", "[0-9]{9}", "--constraint-mode", "resample", *hot), r"\A\d{9}\Z")
            self.assertRegex(self.text("--regex", "[0-9]{9}", "--ignore-eos", *hot), r"\A\d{9}\Z")

    def test_the_limit_of_tokens_closes_the_text(self):
        hot = ("--temp", 5, "--top-k", 0, "--top-p", 1, "--min-p", 0)
        for tokens in range(4, 9):
            self.assertRegex(self.text("--regex", "[0-9]{3,};", *hot, "-n", tokens), r"\A\d{3,};\Z")
        cut = self.text("--regex", "[0-9]{30};", *hot, "-n", 4, "--no-close")
        self.assertNotIn(";", cut)
        self.fail_with(6, *RUN, "--regex", "[0-9]{3};", "-n", 2, says=["4 tokens", "--no-close"])

    def test_several_texts_at_once_are_those_written_alone(self):
        flags = ("--grammar", self.grammar, "--temp", 3, "-n", 12)
        together = [json.loads(line)["text"] for line in
                    self.succeed(*RUN, *flags, "--seed", 4, "--parallel", 3, "--json").out.splitlines()]
        self.assertEqual(together, [self.text(*flags, "--seed", seed) for seed in (4, 5, 6)])

    def test_a_recipe_holds_the_constraint(self):
        recipe = pathlib.Path(self.folder.name) / "recipe.json"
        flags = ("--grammar", self.grammar, "--temp", 3, "--seed", 2, "-n", 12)
        text = self.text(*flags, "--recipe-out", recipe)
        self.assertEqual(text, self.text(*flags))
        held = json.loads(recipe.read_text(encoding="utf-8"))["constraint"]
        self.assertEqual((held["language"], held["text"], held["closes"]), ("gbnf", DIGITS, True))
        self.grammar.unlink()
        self.succeed("replay", recipe)

    def test_log_probabilities_are_of_the_model_or_of_what_fits(self):
        flags = ("--choice", "1,2", "-n", 1, "--json", "--logprobs", 1)
        raw = self.succeed(*RUN, *flags).json()["logprobs"][0]
        masked = self.succeed(*RUN, *flags, "--logprobs-of", "masked").json()["logprobs"][0]
        self.assertLess(raw["logprob"], masked["logprob"])

    def test_what_is_wrong_is_said(self):
        self.fail_with(2, *RUN, "--grammar", self.write("bad.gbnf", "root ::= x\n"), says=["line 1, column 10", "'x'"])
        self.fail_with(2, *RUN, "--regex", "(a", says=["regular expression, line 1, column 1"])
        self.fail_with(2, *RUN, "--regex", "a", "--choice", "b", says=["--regex", "--choice"])
        self.fail_with(3, *RUN, "--grammar", "no-such-file.gbnf", says=["no-such-file.gbnf"])
        self.fail_with(2, *RUN, "--lenient", says=["no constraint"])


class GrammarTest(ProgramTest):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.grammar = pathlib.Path(self.folder.name) / "digits.gbnf"
        self.grammar.write_text(DIGITS, encoding="utf-8")

    def test_check_says_where_a_text_fails(self):
        self.assertEqual(self.succeed("grammar", "check", self.grammar, "1234,5;").out, "fits\n")
        for text, found, place in (("12x", "'x'", "byte 3"), ("123", "the end", "byte 4"), ("123;;", "';'", "byte 5")):
            ended = plm("grammar", "check", self.grammar, text)
            self.assertEqual(ended.code, 6)
            self.assertIn(f"{place}: found {found}", ended.out)
        verdict = json.loads(plm("grammar", "check", self.grammar, "12", "--json").out)
        self.assertEqual((verdict["fits"], verdict["read"]), (False, 2))
        self.assertIn("'0' to '9'", verdict["expected"])

    def test_generate_makes_texts_that_fit(self):
        lines = self.succeed("grammar", "generate", self.grammar, "-n", 40, "--seed", 1).out.splitlines()
        self.assertEqual(len(lines), 40)
        for line in lines:
            self.assertTrue(re.fullmatch(r"\d{3,5}(,\d)*;", line), line)
        self.assertGreater(len(set(lines)), 20)
        again = self.succeed("grammar", "generate", self.grammar, "-n", 40, "--seed", 1).out.splitlines()
        self.assertEqual(lines, again)

    def test_explain_shows_the_shortest_text(self):
        shown = self.succeed("grammar", "explain", self.grammar, "--json").json()
        self.assertEqual(shown["shortest"], "000;")
        self.assertEqual(shown["begins_with"], "'0' to '9'")


if __name__ == "__main__":
    unittest.main()
