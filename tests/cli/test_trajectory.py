"""Trajectories on the real binary: recorded, run again, explained. Covers src/cli/trajectory_file.cpp and
src/cli/trajectory_story.cpp. Standard library only, no network."""

import json
import pathlib
import tempfile
import unittest

from program import MODEL, ROOT, ProgramTest, plm

MASKED, THREE_MODES = ROOT / "models" / "twin-mdm.gguf", ROOT / "models" / "twin-tri.gguf"
SUDOKU, SOLUTION = "K.43.1.42..144.2.:", "2431134232144123"


class TrajectoryTest(ProgramTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = pathlib.Path(folder.name) / "a.plmtraj"

    def record(self, *words):
        return self.succeed("run", *words, "-n", 20, "--trajectory", self.file, "-q")

    def lines(self):
        return [json.loads(line) for line in self.file.read_text().splitlines()]

    def test_what_is_recorded_is_run_again_to_the_bit_whatever_the_threads(self):
        for words in ((MASKED, "-p", SUDOKU), (MASKED, "-p", SUDOKU, "--decoder", "wino"),
                      (MASKED, "-p", "Thot hev:", "--page-temperature", 1, "-s", 7, "--decoder", "remask"),
                      (MASKED, "-p", SUDOKU, "--schedule", "kl_stable", "--block-length", 5),
                      (THREE_MODES, "-p", "A385+739=", "--decoder", "diffusion"),
                      (THREE_MODES, "-p", "A385+739=", "--decoder", "self_speculation", "--temp", 0),
                      (MODEL, "-p", "A385+739=", "-s", 3)):
            with self.subTest(words):
                self.record(*words)
                for threads in (1, 2):
                    again = self.succeed("replay", self.file, "-t", threads)
                    self.assertIn("identical", again.err)

    def test_a_page_has_its_recipe_its_passes_and_its_result(self):
        self.record(MASKED, "-p", SUDOKU)
        header, *passes, result = self.lines()
        self.assertEqual(header["plmtraj"], 1)
        self.assertEqual(len(header["recipe"]["model"]["content_sha256"]), 64)
        self.assertEqual(header["page"]["schedule"], "threshold")
        self.assertEqual([line["pass"] for line in passes], list(range(len(passes))))
        self.assertEqual(result["result"]["text"], SOLUTION)
        self.assertEqual(result["result"]["passes"], len(passes) - 1)
        for line in passes:
            entropies = line["proposed"]["entropy"]
            self.assertAlmostEqual(line["sum_marginal_entropy"], sum(entropies))

    def test_the_first_difference_is_named(self):
        self.record(MASKED, "-p", SUDOKU)
        text = self.file.read_text()
        at = text.index('"committed":') + len('"committed":')
        position = text[at:text.index(",", at)]
        self.file.write_text(text.replace('"rule":"threshold"', '"rule":"chance"', 1))
        told = self.fail_with_data(1, "replay", self.file)
        self.assertIn(f'pass 1, position {position}, committed, rule: "chance" in the recipe, "threshold" now', told)
        told = self.fail_with_data(1, "replay", self.file, "--json")
        self.assertFalse(json.loads(told)["identical"])

    def fail_with_data(self, code, *words):
        ended = plm(*words, "-q")
        self.assertEqual(ended.code, code, ended)
        return ended.out

    def test_a_file_that_breaks_off_is_compared_as_far_as_it_goes(self):
        self.record(MASKED, "-p", SUDOKU)
        lines = self.file.read_text().splitlines(keepends=True)
        self.file.write_text("".join(lines[:3]))
        self.assertIn("breaks off", self.succeed("replay", self.file).err)
        self.assertIn("breaks off", self.succeed("explain", self.file).out)

    def test_one_position_is_explained(self):
        self.record(MASKED, "-p", SUDOKU)
        given = len(self.lines()[0]["recipe"]["text"]["prompt_ids"])
        overview = self.succeed("explain", self.file).out
        self.assertIn("not the entropy of the page", overview)
        for place, letter in enumerate(SOLUTION):
            story = self.succeed("explain", self.file, "--position", given + place).out
            self.assertRegex(story, rf'\Aposition {given + place}: "{letter}" \(\d+\), committed in pass \d+ of \d+\n')
            self.assertIn("schedule threshold, threshold 0.9", story)
            self.assertIn("given the tokens that the pass saw", story)
        self.assertIn("given", self.succeed("explain", self.file, "--position", 0).out)
        self.fail_with(2, "explain", self.file, "--position", 10000, says=["--position", "positions"])
        self.fail_with(2, "explain", self.file, "--token", 1, says=["--position"])

    def test_what_was_taken_back_is_explained(self):
        self.record(MASKED, "-p", "K1..4...:", "--decoder", "wino")
        changes = [change for line in self.lines()[1:-1] for change in line["changes"]]
        revoked = [change["revoked"] for change in changes if "revoked" in change]
        self.assertTrue(revoked)
        story = self.succeed("explain", self.file, "--position", revoked[0]).out
        self.assertIn("wino_keep 0.9", story)

    def test_what_is_no_trajectory_is_refused(self):
        self.file.write_text('{"plmtraj":1}\n')
        for command in ("explain", "replay"):
            self.fail_with(3, command, self.file, says=["line 1", "recipe"])
        self.fail_with(2, "run", MASKED, "-p", "a", "--trajectory", self.file, "-np", 2, says=["--trajectory"])


if __name__ == "__main__":
    unittest.main()
