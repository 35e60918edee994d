"""Pages on the real binary: models that fill masks, and what writing in parallel costs. Covers
src/cli/commands/command_crossover.cpp. Standard library only, no network."""

import unittest

from program import MODEL, ROOT, ProgramTest

MASKED, THREE_MODES = ROOT / "models" / "twin-mdm.gguf", ROOT / "models" / "twin-tri.gguf"
SUDOKU, SOLUTION = "K.43.1.42..144.2.:", "2431134232144123"


class PagesTest(ProgramTest):
    def test_a_page_is_written_by_every_schedule_that_decides_one_token_a_pass(self):
        page = ("run", MASKED, "-p", SUDOKU, "-n", 20, "-q")
        for flags in (("--schedule", "count", "--tokens-per-pass", 1), ("--schedule", "threshold", "--threshold", 1),
                      ("--schedule", "factor", "--factor", 0), ("--decoder", "diffusion", "--most-per-pass", 1)):
            with self.subTest(flags):
                self.assertEqual(self.succeed(*page, *flags).out, SOLUTION + "\n")

    def test_ids_are_those_of_the_text_in_order(self):
        result = self.succeed("run", MASKED, "-p", SUDOKU, "-n", 20, "--json").json()
        self.assertEqual((result["text"], result["ids"], result["finish_reason"]),
                         (SOLUTION, list(SOLUTION.encode()), "end_of_text"))

    def test_self_speculation_writes_what_one_token_after_another_does(self):
        for prompt in ("A385+739=", "S84901>", "Thot hev:", "C1*2*3+8>"):
            run = ("run", THREE_MODES, "-p", prompt, "-n", 48, "--temperature", 0, "-q")
            with self.subTest(prompt):
                self.assertEqual(self.succeed(*run, "--decoder", "self_speculation").out, self.succeed(*run).out)

    def test_equal_seeds_write_equal_pages_whatever_the_threads(self):
        run = ("run", MASKED, "-p", "Thot hev:", "-n", 40, "--page-temperature", 1, "-s", 7, "-q")
        self.assertEqual(self.succeed(*run, "-t", 1).out, self.succeed(*run, "-t", 2).out)

    def test_a_summary_says_what_was_spent(self):
        run = ("run", MASKED, "-p", SUDOKU, "-n", 20)
        passes = self.succeed(*run, "--json").json()["passes"]
        self.assertEqual(passes["rows"], 39 * passes["count"])
        self.assertEqual((passes["cells_reused"], passes["cache_hit_rate"]), (0, 0))
        self.assertEqual([(kind["rows"], kind["passes"]) for kind in passes["by_rows"]], [(39, passes["count"])])
        self.assertAlmostEqual(passes["tokens_per_pass"], 16 / passes["count"])
        self.assertNotIn("drift", passes)
        self.assertIn(f"{passes['count']} passes", self.succeed(*run).err)

    def test_one_token_after_another_reads_what_is_before_from_memory(self):
        passes = self.succeed("run", MODEL, "-p", "A385+739=", "-n", 8, "--temperature", 0, "--json").json()["passes"]
        self.assertEqual((passes["count"], passes["rows"]), (5, 10 + 4))
        self.assertEqual(passes["cells_reused"], 10 + 11 + 12 + 13)

    def test_caches_that_are_not_exact_say_how_far_they_are_off(self):
        run = ("run", MASKED, "-p", SUDOKU, "-n", 20, "--schedule", "count", "--tokens-per-pass", 1, "--json")
        for kind, block in (("prefix", 20), ("dual", 5), ("delayed", 20)):
            flags = (*run, "--page-cache", kind, "--block-length", block)
            with self.subTest(kind):
                result = self.succeed(*flags, "--page-cache-meter", 2).json()
                self.assertGreater(result["passes"]["cache_hit_rate"], 0.2)
                drift = result["passes"]["drift"]
                self.assertGreater(drift["largest_logit_change"], 0)
                self.assertLess(drift["flipped_share"], 0.5)
                unmeasured = self.succeed(*flags, "--page-cache-meter", 0).json()
                self.assertEqual(unmeasured["text"], result["text"])
                self.assertNotIn("drift", unmeasured["passes"])

    def test_a_cache_that_is_always_refreshed_half_the_time_still_solves(self):
        result = self.succeed("run", MASKED, "-p", SUDOKU, "-n", 20, "--page-cache", "prefix",
                              "--page-cache-refresh", 1, "-q")
        self.assertEqual(result.out, SOLUTION + "\n")

    def test_what_cannot_be_says_what_can(self):
        for words, says in (((MODEL, "--decoder", "diffusion"), ["autoregressive"]),
                            ((MASKED, "--decoder", "autoregressive"), ["diffusion"]),
                            ((MASKED, "--decoder", "edit"), ["trained", "wino"]),
                            ((MASKED, "--schedule", "sideways"), ["schedule", "threshold"]),
                            ((MASKED, "--confidence", "hope"), ["confidence", "margin"]),
                            ((MASKED, "-n", 1000), ["page", "--context"]),
                            ((THREE_MODES, "--decoder", "diffusion", "--block-length", 0), ["block_length"]),
                            ((THREE_MODES, "--decoder", "self_speculation", "--temp", 0, "--page-temperature", 1),
                             ["--page-temperature"]),
                            ((MASKED, "--page-cache", "dual", "--decoder", "wino"), ["page_cache", "diffusion"]),
                            ((MASKED, "--page-cache", "dual", "--length", "auto"), ["page_cache", "--length auto"]),
                            ((THREE_MODES, "--page-cache", "dual", "--decoder", "diffusion"),
                             ["page_cache", "exactly"]),
                            ((MASKED, "--decoder", "uniform"), ["uniform", "diffusion"]),
                            ((MASKED, "--logprobs", 2, "--json"), ["--logprobs", "page"])):
            with self.subTest(words):
                self.fail_with(2, "run", *words, "-p", SUDOKU, says=says)


class CrossoverTest(ProgramTest):
    def test_measures_every_length_and_tells_where_both_ways_are_even(self):
        result = self.succeed("crossover", MODEL, "--most-rows", 8, "--depth", 20, "--sequences", 2, "-r", 1,
                              "--json").json()
        self.assertEqual(result["depth"], 20)
        self.assertEqual([(line["sequences"], line["rows"]) for line in result["passes"]],
                         [(sequences, rows) for sequences in (1, 2) for rows in (1, 2, 4, 8)])
        for line in result["passes"]:
            write, refine, keep = line["write_ms"], line["refine_ms"], line["keep_ms"]
            self.assertGreater(min(write, refine, keep), 0)
            self.assertAlmostEqual(line["break_even_without_keeping"], refine / write)
            left = line["rows"] * write - keep
            if left <= 0:
                self.assertIsNone(line["break_even_tokens_per_pass"])
            else:
                self.assertAlmostEqual(line["break_even_tokens_per_pass"], line["rows"] * refine / left)

    def test_a_context_that_is_too_short_is_named(self):
        self.fail_with(2, "crossover", MODEL, "--depth", 200, "--most-rows", 128, says=["--depth 200", "256"])


if __name__ == "__main__":
    unittest.main()
