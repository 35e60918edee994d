"""Sampling seen from the command line: orders, profiles, log-probabilities, bans, guidance, traces and recipes."""

import json
import math
import pathlib
import tempfile
import unittest

from program import MODEL, ProgramTest, plm

SUM, ANSWER = "A385+739=", "1124"
RUN = ("run", MODEL, "-p", "S84", "-n", 12, "--ignore-eos", "--seed", 3)
HOT = (*RUN, "--temp", 3, "--top-k", 0, "--top-p", 1, "--min-p", 0)


class ControlTest(ProgramTest):
    def text(self, *flags):
        return self.succeed(*RUN, "-q", *flags).out

    def test_an_order_may_be_written_in_three_ways(self):
        names = self.text("--temp", 2, "--samplers", "temperature;top_p;top_k")
        self.assertEqual(self.text("--temp", 2, "--sampler-seq", "tpk"), names)
        self.assertEqual(self.text("--temp", 2, "--sampling-seq", "tpk"), names)
        self.assertEqual(self.text("--temp", 2, "--top-p", 1, "--sampler-order", "[5, 0]"),
                         self.text("--temp", 2, "--samplers", "temperature;smoothing;top_n_sigma;top_k"))
        self.fail_with(2, *RUN, "--samplers", "top_k;bogus", says=["bogus", "known are", "typical_p"])
        self.fail_with(2, *RUN, "--sampler-seq", "kz", says=["unknown letter \"z\"", "k=top_k"])
        self.fail_with(2, *RUN, "--sampler-order", "0,0", says=["sampler_order", "each once"])
        self.fail_with(2, *RUN, "--samplers", "top_k", "--sampler-seq", "k", says=["more than one order"])

    def test_bad_values_are_refused_or_clamped_as_the_profile_says(self):
        for flags, word in ((("--top-p", 2), "--top-p"), (("--temperature", -1), "--temperature"),
                            (("--min-p", "nan"), "--min-p"), (("--temp", "inf"), "--temperature"),
                            (("--mirostat", 3), "--mirostat"), (("--dry-multiplier", "x"), "--dry-multiplier"),
                            (("--profile", "bogus"), "--profile"), (("--logit-bias", "1=nan"), "logit_bias"),
                            (("--profile", "vllm", "--temp", 3), "temperature"),
                            (("--profile", "llamacpp", "--repeat-last-n", -1), "repeat_last_n"),
                            (("--dry-multiplier", 1, "--dry-sequence-breakers", f"[{'1,' * 5000}1]"), "breakers")):
            with self.subTest(flags[:2]):
                self.fail_with(2, *RUN, *flags, says=[word])
        clamped = self.succeed(*RUN, "--profile", "koboldcpp", "--repeat-last-n", 0)
        self.assertIn("warning: repeat_last_n: 0 is out of the koboldcpp profile's range and was set to 1", clamped.err)

    def test_what_does_not_act_is_said(self):
        ended = self.succeed(*RUN, "--profile", "openai", "--top-k", 3, "--json")
        self.assertIn("warning: top_k: the openai profile has no such control and ignored it", ended.err)
        self.assertEqual(ended.json()["warnings"], ["top_k: the openai profile has no such control and ignored it"])
        self.assertIn("has no effect", self.succeed(*RUN, "--samplers", "top_k", "--top-p", 0.5).err)

    def test_what_the_model_advises_stands_below_the_flags(self):
        advice = ("--override", "general.sampling.temp=float:0", "--override", "general.sampling.top_k=int:7")
        hot = self.text("--temp", 3)
        self.assertEqual(self.text(*advice), self.text("--temp", 0))
        self.assertEqual(self.text(*advice, "--temp", 3, "--top-k", 40), hot)
        self.assertEqual(self.text(*advice, "--no-model-defaults"), self.text())
        ended = self.succeed(*RUN, *advice, "--json")
        self.assertEqual(ended.json()["model_defaults"], {"temperature": 0, "top_k": 7})
        self.assertIn('[sampling of the model\'s file: {"top_k":7,"temperature":0.0}]', ended.err)
        self.assertNotIn("model_defaults", self.succeed(*RUN, "--json").json())
        bad = self.succeed(*RUN, "--override", "general.sampling.top_p=float:9").err
        self.assertIn("warning", bad)
        self.assertIn("general.sampling.top_p is not used", bad)

    def test_phrases_do_not_appear(self):
        plain = self.text("--temp", 0)
        banned = plain[2:4]
        for flags in (("--temp", 0), ("--temp", 2)):
            text = self.text(*flags, "--ban-phrase", banned, "--ban-phrase", "zz")
            self.assertNotIn(banned.lower(), text.lower())
        self.fail_with(2, *RUN, "--ban-phrase", "", says=["banned phrases"])

    def test_guidance_needs_a_negative_prompt(self):
        self.fail_with(2, *RUN, "--guidance-scale", 2, says=["--negative-prompt"])
        self.assertEqual(self.text("--negative-prompt", "x"), self.text())
        self.assertNotEqual(self.text("--negative-prompt", "S84", "--guidance-scale", 0, "--temp", 3), "")


class LogprobTest(ProgramTest):
    def test_of_the_model_they_are_those_of_score(self):
        result = self.succeed("run", MODEL, "-p", SUM, "--temp", 0, "--json", "--logprobs", 2, "--echo").json()
        ids = [256, *(SUM + ANSWER).encode()]
        score = ("score", MODEL, "--ids", ",".join(map(str, ids)), "--json", "--top", 2)
        scored = self.succeed(*score).json()["positions"]
        found = result["prompt_logprobs"] + result["logprobs"]
        self.assertEqual([entry["id"] for entry in found[:-1]], ids[1:])
        for entry, expected, before in zip(found, scored[1:], scored):
            self.assertAlmostEqual(entry["logprob"], expected["logprob"], places=6)
            self.assertEqual([likely["id"] for likely in entry["top"]], [likely["id"] for likely in before["top"]])
        self.assertEqual(len(found), len(ids), "the end token has one too")

    def test_of_the_chain_they_are_those_of_what_was_left(self):
        result = self.succeed(*HOT, "--top-k", 3, "--json", "--logprobs", 5, "--logprobs-of", "chain", "--echo").json()
        for entry in result["logprobs"]:
            self.assertEqual(len(entry["top"]), 3)
            self.assertAlmostEqual(sum(math.exp(likely["logprob"]) for likely in entry["top"]), 1, places=5)
        self.assertEqual(len(result["prompt_logprobs"]), 3)

    def test_flags_that_need_others_say_so(self):
        self.fail_with(2, *RUN, "--logprobs", 3, says=["--json"])
        self.fail_with(2, *RUN, "--json", "--echo", says=["--logprobs"])


class TraceTest(ProgramTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.trace = self.folder / "trace.jsonl"

    def test_a_trace_has_a_line_for_each_token(self):
        plain = self.succeed(*HOT, "--json").json()
        traced = self.succeed(*HOT, "--json", "--trace", self.trace, "--trace-top", 4).json()
        self.assertEqual((traced["text"], traced["ids"]), (plain["text"], plain["ids"]))
        lines = [json.loads(line) for line in self.trace.read_text().splitlines()]
        self.assertEqual([line["id"] for line in lines], plain["ids"])
        for line in lines:
            self.assertEqual(len(line["raw"]["top"]), 4)
            self.assertEqual([step["sampler"] for step in line["steps"]], ["temperature"])
            self.assertEqual(line["steps"][0]["support"], line["raw"]["support"])

    def test_explain_shows_all_tokens_or_the_funnel_of_one(self):
        self.succeed(*RUN, "--trace", self.trace, "--mirostat", 2)
        overview = self.succeed("explain", self.trace).out.splitlines()
        self.assertEqual(len(overview), 13)
        funnel = self.succeed("explain", self.trace, "--token", 2).out
        for word in ("token 2 at position 5", "model", "mirostat", "entropy", "likeliest"):
            self.assertIn(word, funnel)
        self.fail_with(2, "explain", self.trace, "--token", 13, says=["--token", "12"])

    def test_explain_refuses_what_is_no_trace(self):
        for text in ("{}\n", "[1]\n", "x\n", '{"position":1,"id":2,"text":"a","random":0,"raw":{},"steps":[]}\n'):
            self.trace.write_text(text)
            self.fail_with(3, "explain", self.trace, says=["line 1"])
        self.fail_with(3, "explain", self.folder / "none", says=["none"])

    def test_what_was_taken_back_is_in_the_trace_and_not_in_the_text(self):
        plain = self.succeed(*RUN, "--temp", 0, "-q").out
        result = self.succeed(*RUN, "--temp", 0, "--json", "--ban-phrase", plain[2:4], "--trace", self.trace).json()
        self.assertIn("taken_back", self.trace.read_text())
        self.assertEqual(len(self.succeed("explain", self.trace).out.splitlines()), 1 + len(result["ids"]))


class RecipeTest(ProgramTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.recipe = self.folder / "recipe.json"
        self.env = {"PLM_CACHE": str(self.folder / "cache")}

    def test_replay_is_identical_whatever_the_threads_and_the_batch(self):
        chains = (("--temp", 2), ("--mirostat", 2), ("--rng", "mt19937", "--xtc-probability", 0.5, "--temp", 1.5),
                  ("--repeat-penalty", 1.3, "--dry-multiplier", 0.8, "--profile", "llamacpp"),
                  ("--ban-phrase", "4", "--temp", 2), ("--negative-prompt", "A3", "--guidance-scale", 2, "--temp", 2),
                  ("--temp", 0, "--kv-type", "f16", "--stop", "9"))
        for flags in chains:
            with self.subTest(flags):
                text = self.succeed(*RUN, *flags, "--recipe-out", self.recipe, env=self.env).out
                for machine in (("--threads", 1), ("--threads", 2, "--batch-rows", 2)):
                    again = self.succeed("replay", self.recipe, *machine, env=self.env)
                    self.assertEqual(again.out, text)
                    self.assertIn("[identical: text, tokens and trace]", again.err)

    def test_replay_names_the_fields_that_differ(self):
        self.succeed(*HOT, "--recipe-out", self.recipe, env=self.env)
        recipe = json.loads(self.recipe.read_text())
        recipe["text"]["seed"] += 1
        recipe["program"]["version"] = "0.0.1"
        recipe["model"]["content_sha256"] = "0"
        self.recipe.write_text(json.dumps(recipe))
        ended = plm("replay", self.recipe, "--json", env=self.env)
        self.assertEqual(ended.code, 1, ended)
        verdict = ended.json()
        self.assertFalse(verdict["identical"])
        fields = {entry["field"] for entry in verdict["differences"]}
        self.assertEqual(fields, {"program.version", "model.content_sha256", "result.text", "result.ids",
                                  "result.trace_sha256"})

    def test_recipes_tell_what_the_model_advised(self):
        self.succeed(*RUN, "--override", "general.sampling.temp=float:2", "--recipe-out", self.recipe, env=self.env)
        recipe = json.loads(self.recipe.read_text())
        self.assertEqual(recipe["sampling_from_model"], ["temperature"])
        self.assertEqual(recipe["sampling"]["temperature"], 2)
        self.assertIn("identical", self.succeed("replay", self.recipe, env=self.env).err)

    def test_a_page_is_written_again_to_the_bit(self):
        model = str(pathlib.Path(MODEL).parent / "twin-mdm.gguf")
        run = ("run", model, "-p", "K.43.1.42..144.2.:", "-n", 20, "--seed", 5)
        for flags in ((), ("--page-temperature", 1), ("--decoder", "remask")):
            with self.subTest(flags):
                text = self.succeed(*run, *flags, "--recipe-out", self.recipe, env=self.env).out
                for machine in (("-t", 1), ("-t", 2, "--batch-rows", 3)):
                    again = self.succeed("replay", self.recipe, *machine, env=self.env)
                    self.assertEqual(again.out, text)
                    self.assertIn("identical", again.err)

    def test_bad_recipes_are_refused(self):
        self.succeed(*RUN, "--recipe-out", self.recipe, env=self.env)
        good = json.loads(self.recipe.read_text())
        for part, value in (("recipe", 2), ("engine", {"bogus": ["1"]}), ("engine", {"threads": ["2"]}),
                            ("engine", {"context": ["x"]}), ("sampling", {"top_p": 2}), ("model", None)):
            self.recipe.write_text(json.dumps({**good, part: value}))
            self.fail_with(3, "replay", self.recipe, says=[part], env=self.env)
        self.fail_with(3, "replay", self.folder / "none.json", says=["none.json"])

    def test_diff_says_what_the_difference_does(self):
        other = self.folder / "other.json"
        self.succeed(*RUN, "--temp", 1, "--recipe-out", self.recipe, env=self.env)
        self.succeed(*RUN, "--temp", 1.5, "--top-k", 5, "--recipe-out", other, env=self.env)
        ended = plm("diff", self.recipe, other)
        self.assertEqual(ended.code, 1)
        self.assertRegex(ended.out, r"sampling.temperature: 1.0 -> 1.5\n    raised: entropy and diversity: up")
        self.assertIn("sampling.top_k: 40 -> 5", ended.out)
        self.assertEqual(plm("diff", self.recipe, self.recipe).code, 0)

    def test_recipes_and_traces_are_of_one_text(self):
        self.fail_with(2, *RUN, "--parallel", 2, "--recipe-out", self.recipe, says=["--parallel"])


if __name__ == "__main__":
    unittest.main()
