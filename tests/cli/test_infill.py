"""Holes and edits on the real binary. Covers src/cli/commands/command_infill.cpp, src/cli/commands/command_edit.cpp and
src/cli/hole_filling.cpp. Standard library only, no network."""

import json
import pathlib
import tempfile
import unittest

from program import MODEL, ROOT, ProgramTest

MASKED, THREE_MODES = ROOT / "models" / "twin-mdm.gguf", ROOT / "models" / "twin-tri.gguf"
FIM = ("--override", "tokenizer.ggml.fim_pre_token_id=270", "--override", "tokenizer.ggml.fim_suf_token_id=271",
       "--override", "tokenizer.ggml.fim_mid_token_id=272")


class InfillTest(ProgramTest):
    def infill(self, template, *words, model=MASKED):
        return self.succeed("infill", model, "--template", template, *words, "-q").out

    def test_holes_are_filled_from_both_sides(self):
        self.assertEqual(self.infill("A385+739={{hole:2}}24"), "A385+739=1124\n")
        self.assertEqual(self.infill("A385+739={{hole:1}}1{{hole:1}}4"), "A385+739=1124\n")
        self.assertEqual(self.infill("K.43.1.42..144.2.:2{{hole:3}}134232144{{hole:3}}"),
                         "K.43.1.42..144.2.:2431134232144123\n")

    def test_every_decoder_for_masks_fills_holes(self):
        for decoder in ("diffusion", "wino", "remask"):
            with self.subTest(decoder):
                out = self.infill("A385+739={{hole:2}}24", "--decoder", decoder)
                self.assertRegex(out, r"\AA385\+739=..24\n\Z")

    def test_what_is_given_comes_out_as_it_was(self):
        given = ("x\t<mask>\n", " é漢\U0001f600 ", "\n\n{{no hole}} ", "<eos>")
        template = "".join(text + "{{hole:2}}" for text in given)
        result = self.succeed("infill", MASKED, "--file", "-", "--json", "-q", text=template).json()
        expected = "".join(text + hole["text"] for text, hole in zip(given, result["holes"]))
        self.assertEqual(result["text"], expected)
        self.assertGreaterEqual(result["passes"], 1)
        for hole in result["holes"]:
            self.assertLessEqual(len(hole["ids"]), 2)

    def test_escapes_and_lengths(self):
        self.assertTrue(self.infill(r"S84\n901>{{hole:1}}").startswith("S84\n901>"))
        self.assertTrue(self.infill(r"S84\n901>{{hole:1}}", "--no-escape").startswith(r"S84\n901>"))
        self.assertEqual(self.infill("A385+739={{hole}}24", "--length", 2), "A385+739=1124\n")

    def test_a_recorded_infill_is_run_again_to_the_bit(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "a.plmtraj"
            self.infill("A385+739={{hole:2}}24", "--trajectory", file)
            self.assertIn("identical", self.succeed("replay", file).err)

    def test_a_causal_model_fills_in_the_middle(self):
        result = self.succeed("infill", MODEL, *FIM, "--template", "A385+{{hole:3}}=1{{hole:2}}4", "--json", "-q",
                              "--temp", 0).json()
        first, second = (hole["text"] for hole in result["holes"])
        self.assertEqual(result["text"], f"A385+{first}=1{second}4")
        self.assertLessEqual([len(hole["ids"]) for hole in result["holes"]], [3, 2])

    def test_what_cannot_be_says_what_can(self):
        for model, template, words, says in (
                (MASKED, "no hole", (), ["no holes", "{{hole:12}}"]),
                (MASKED, "a{{hole:0}}", (), ["{{hole:0}}", "from 1"]),
                (MASKED, "a{{hole:100000}}", (), ["100000", "context", "--context"]),
                (MASKED, "a{{hole}}", (), ["--length"]),
                (MASKED, "a{{hole:1}}", ("--length", "much"), ["length", "auto"]),
                (MASKED, "a{{hole:1}}", ("--decoder", "autoregressive"), ["decoder", "diffusion"]),
                (THREE_MODES, "a{{hole:1}}b", ("--decoder", "self_speculation", "--temp", 0), ["holes", "diffusion"]),
                (MODEL, "a{{hole:1}}", (), ["fill in the middle", "fills masks"])):
            with self.subTest(template=template, words=words):
                self.fail_with(2, "infill", model, "--template", template, *words, "-q", says=says)
        self.fail_with(2, "infill", MODEL, *FIM, "--template", "a{{hole:1000}}", "-q", says=["1000", "--context"])


class EditTest(ProgramTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = pathlib.Path(folder.name) / "a.txt"
        self.text = "x\nA385+739=1124\ny\nz\n"
        self.file.write_text(self.text)

    def edit(self, *words):
        return self.succeed("edit", MASKED, self.file, *words, "-q").out

    def test_only_the_lines_change_and_keep_their_length(self):
        out = self.edit("--range", "2:3")
        self.assertTrue(out.startswith("x\n"), out)
        self.assertTrue(out.endswith("\nz\n"), out)
        self.assertLessEqual(len(out.encode()), len(self.text) + 2)

    def test_a_strength_masks_some_tokens_and_keeps_the_others(self):
        line = self.text.splitlines()[1]
        for seed in range(5):
            out = self.edit("--range", "2", "--strength", 0.3, "-s", seed, "--json")
            result = json.loads(out)
            self.assertEqual(result["text"], "x\n" + result["edited"] + "\ny\nz\n")
            if len(result["edited"]) == len(line):
                same = sum(a == b for a, b in zip(result["edited"], line))
                self.assertGreaterEqual(same, len(line) // 3)
        self.assertEqual(self.edit("--strength", 0.5, "-s", 1), self.edit("--strength", 0.5, "-s", 1))

    def test_no_strength_still_masks_one(self):
        self.file.write_text("A385+739=1124")
        self.assertEqual(len(self.edit("--strength", 0, "-s", 4)), len("A385+739=1124"))

    def test_in_place(self):
        expected = self.edit("--range", "2", "-s", 1)
        self.assertEqual(self.edit("--range", "2", "-s", 1, "--in-place"), "")
        self.assertEqual(self.file.read_text(), expected)

    def test_an_instruction_goes_in_front(self):
        out = self.edit("--range", "2", "--instruct", "A1+1=")
        self.assertTrue(out.startswith("x\n") and out.endswith("\ny\nz\n"), out)

    def test_a_causal_model_edits_too(self):
        out = self.succeed("edit", MODEL, self.file, *FIM, "--range", "2", "--temp", 0, "-q").out
        self.assertTrue(out.startswith("x\n") and out.endswith("\ny\nz\n"), out)

    def test_what_cannot_be_says_what_can(self):
        for model, words, says in ((MASKED, (), ["--range", "--strength"]),
                                   (MASKED, ("--range", "9"), ["--range", "4"]),
                                   (MASKED, ("--range", "a"), ["10:14"]),
                                   (MASKED, ("--strength", 2), ["strength", "0 to 1"]),
                                   (MASKED, ("--strength", 0.5, "--length", 3), ["--length"]),
                                   (MASKED, ("--range", "2", "--length", 100000), ["context"]),
                                   (MODEL, ("--range", "2"), ["fill in the middle"]),
                                   (MODEL, (*FIM, "--strength", 0.5), ["--strength", "one token after another"])):
            with self.subTest(words=words):
                self.fail_with(2, "edit", model, self.file, *words, "-q", says=says)


if __name__ == "__main__":
    unittest.main()
