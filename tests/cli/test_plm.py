"""What a person can do with `plm`, on the real binary and the model that ships. Standard library only, no network."""

import json
import math
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

from program import BINARY, MODEL, ROOT, ProgramTest, plm

SUM, ANSWER = "A385+739=", "1124"
SAMPLED = ("run", MODEL, "-p", "S84", "-n", 24, "--ignore-eos", "--temp", 5, "--top-k", 0, "--top-p", 1,
           "--min-p", 0)
COMMANDS = ("bench", "chat", "completion", "convert", "crossover", "describe", "diagnose", "diff", "edit", "embed",
            "eval", "explain", "fetch", "fit", "grammar", "infill", "inspect", "metrics", "models", "plan", "quantize",
            "replay", "rerank", "reward", "run", "schema", "score", "serve", "signature", "solve", "template",
            "tokenize", "walk")


class RunTest(ProgramTest):
    def test_text_goes_to_stdout_and_all_else_to_stderr(self):
        ended = self.succeed("run", MODEL, "-p", SUM, "--temperature", 0)
        self.assertEqual(ended.out, ANSWER + "\n")
        self.assertRegex(ended.err, r"\A\[seed \d+: end_of_text, 4 tokens written at [\d.]+/s\]\n"
                                    r"\[load \d+ ms, first token \d+ ms, prompt 10 tokens at \d+/s, "
                                    r"peak \d+ MiB\]\n\Z")
        self.assertEqual(self.succeed("run", MODEL, "-p", SUM, "--temp", 0, "-q").err, "")

    def test_json_has_the_promised_fields(self):
        result = self.succeed("run", MODEL, "-p", SUM, "--temp", 0, "--json").json()
        self.assertEqual(set(result), {"text", "ids", "finish_reason", "timings", "passes"})
        self.assertEqual((result["text"], result["ids"], result["finish_reason"]),
                         (ANSWER, list(ANSWER.encode()), "end_of_text"))
        timings = result["timings"]
        self.assertEqual((timings["prompt_tokens"], timings["generated_tokens"]), (10, 4))
        for name in ("load_ms", "first_token_ms", "prefill_ms", "prefill_tokens_per_s", "decode_ms",
                     "decode_tokens_per_s", "peak_memory_bytes"):
            self.assertGreater(timings[name], 0, name)

    def test_the_prompt_may_come_from_anywhere(self):
        greedy = ("run", MODEL, "--temp", 0, "-q")
        ids = ",".join(map(str, [256, *SUM.encode()]))
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "prompt.txt")
            file.write_text(SUM + "\n")
            for how in ({"words": ("-p", SUM)}, {"words": ("-f", file)}, {"words": ("--prompt-ids", ids)},
                        {"words": (), "text": SUM}, {"words": (), "text": SUM + "\n"},
                        {"words": ("-f", "-"), "text": SUM}):
                with self.subTest(how):
                    self.assertEqual(self.succeed(*greedy, *how.pop("words"), **how).out, ANSWER + "\n")

    def test_never_waits_when_stdin_is_no_terminal(self):
        # With a prompt, stdin is not touched, though it stays open and silent; without one, its end is the prompt's.
        reader, writer = os.pipe()
        try:
            done = subprocess.run([BINARY, "run", MODEL, "-p", SUM, "--temp", "0"], stdin=reader, capture_output=True,
                                  timeout=60, check=True)
            self.assertEqual(done.stdout.decode(), ANSWER + "\n")
        finally:
            os.close(reader)
            os.close(writer)
        self.succeed("run", MODEL, "-n", 2)  # /dev/null: only the token that this model puts in front
        self.fail_with(2, "run", MODEL, "--no-bos", says=["prompt: empty"])
        closed = subprocess.run(["sh", "-c", '"$0" run "$1" -n 1 <&-', BINARY, MODEL], capture_output=True, timeout=60,
                                check=False)
        self.assertEqual(closed.returncode, 0, closed)

    def test_stop_strings_cut_the_text_wherever_tokens_end(self):
        run = ("run", MODEL, "-p", SUM, "--temp", 0, "--json")  # every character of 1124 is a token
        for stops, text in ((["4"], "112"), (["12"], "1"), (["124", "12"], "1"), (["xyz", "24"], "11"),
                            (["9"], ANSWER)):
            with self.subTest(stops):
                flags = [word for stop in stops for word in ("--stop", stop)]
                result = self.succeed(*run, *flags).json()
                self.assertEqual(result["text"], text)
                self.assertEqual(result["finish_reason"], "end_of_text" if text == ANSWER else "stop")
        self.fail_with(2, *run, "--stop", "", says=["stop"])

    def test_parallel_texts_equal_single_ones(self):
        several = self.succeed(*SAMPLED, "--parallel", 4, "--seed", 1, "--json").lines()
        self.assertEqual([text["seed"] for text in several], [1, 2, 3, 4])
        for text in several:
            alone = self.succeed(*SAMPLED, "--seed", text["seed"], "--json").json()
            self.assertEqual((text["text"], text["ids"]), (alone["text"], alone["ids"]))
        self.assertEqual(len({text["text"] for text in several}), 4)
        printed = self.succeed(*SAMPLED, "--parallel", 2, "--seed", 1)
        self.assertEqual(printed.out, "".join(text["text"] + "\n" for text in several[:2]))
        self.assertIn("--- seed 2\n", printed.err)

    def test_a_seed_decides_the_text_and_nothing_else_does(self):
        text = self.succeed(*SAMPLED, "--seed", 7).out
        for flags in (("--threads", 1), ("--threads", 3), ("--batch-rows", 1), ("--batch-rows", 2)):
            with self.subTest(flags):
                self.assertEqual(self.succeed(*SAMPLED, "--seed", 7, *flags).out, text)
        self.assertNotEqual(self.succeed(*SAMPLED, "--seed", 8).out, text)
        self.assertNotEqual(self.succeed(*SAMPLED).err, self.succeed(*SAMPLED, "--seed", -1).err)

    def test_plain_kernels_agree_on_a_clear_answer(self):
        # The two targets may differ in the last bits, which decide nothing where the model is sure.
        self.assertEqual(self.succeed("run", MODEL, "-p", SUM, "--temp", 0, "--kernels", "reference").out,
                         ANSWER + "\n")

    def test_lengths(self):
        run = ("run", MODEL, "-p", SUM, "--temp", 0, "--json")
        nothing = self.succeed(*run, "-n", 0).json()
        self.assertEqual((nothing["text"], nothing["ids"], nothing["finish_reason"]), ("", [], "length"))
        self.assertEqual(self.succeed(*run, "-n", 2).json()["finish_reason"], "length")
        endless = self.succeed(*run, "-n", -1, "--ignore-eos", "-c", 40).json()
        self.assertEqual((endless["finish_reason"], len(endless["ids"])), ("context", 40 - 10))
        self.assertTrue(endless["text"].startswith(ANSWER))

    def test_a_prompt_longer_than_the_context_names_both_numbers_and_the_flag(self):
        self.fail_with(2, "run", MODEL, "-p", SUM, "-c", 4, says=["10 tokens", "holds 4", "--context"])
        self.fail_with(2, "run", MODEL, "--prompt-ids", "1,2,99999", says=["99999"])
        self.fail_with(2, "run", MODEL, "--prompt-ids", "1,b", says=['"b"', "1,2,3"])

    def test_more_context_than_the_model_was_trained_with_is_said(self):
        self.assertIn("warning: context of 300 tokens", self.succeed("run", MODEL, "-p", SUM, "-c", 300).err)

    def test_flags_of_llama_cpp(self):
        ended = self.succeed("run", "-m", MODEL, "-ngl", 99, "-fa", "on", "--no-mmap", "-st", "-p", SUM, "-n", 16, "-c",
                             64, "-t", 1, "-s", 1, "--temp", 0, "-b", 8, "-ub", 8, "--top-k", 1, "--top-p", 1,
                             "--min-p", 0, "-ctk", "f16", "-r", "x", "-np", 1)
        self.assertEqual(ended.out, ANSWER + "\n")
        for flag in ("-ngl", "-fa", "--no-mmap", "-st"):
            self.assertRegex(ended.err, f"note: {flag} has no effect: ")
        self.assertEqual(self.succeed("run", "-fa", MODEL, "-p", SUM, "--temp", 0).out, ANSWER + "\n")
        self.assertEqual(self.succeed("run", MODEL, "-p", "-ngl", "-n", 1).err.count("no effect"), 0)

    def test_one_prompt_only(self):
        self.fail_with(2, "run", MODEL, "-p", "a", "--prompt-ids", "1", says=["--prompt-ids"])

    def test_a_chain_that_is_not_known(self):
        self.fail_with(2, "run", MODEL, "-p", SUM, "--samplers", "top_k;magic", says=['"magic"', "top_k", "min_p"])

    def test_output_that_cannot_be_written(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full here")
        # The long text is given up at its first lines.
        for words, text in ((["run", MODEL, "-p", SUM], b""), (["score", MODEL], b"A" * 20),
                            (["score", MODEL, "-c", "100000"], b"A" * 20000), (["describe"], b"")):
            with self.subTest(words), open("/dev/full", "wb") as full:
                done = subprocess.run([BINARY, *words], input=text, stdout=full, stderr=subprocess.PIPE, timeout=60,
                                      check=False)
                self.assertEqual(done.returncode, 4, done)
                self.assertIn(b"error: standard output: ", done.stderr)
                self.assertEqual(done.stderr.count(b"error: "), 1, done.stderr)


class TokenizeTest(ProgramTest):
    def test_json(self):
        result = self.succeed("tokenize", MODEL, "-p", "A3é", "--json").json()
        self.assertEqual(set(result), {"ids", "pieces"})
        self.assertEqual(result["ids"], [256, *"A3é".encode()])
        self.assertEqual(result["pieces"][:3], ["<bos>", "A", "3"])

    def test_text(self):
        ended = self.succeed("tokenize", MODEL, "-p", "A\n")
        self.assertEqual(ended.out, '    256  "<bos>"\n     65  "A"\n     10  "\\n"\n')
        self.assertEqual(ended.err, "3 tokens, 2 bytes\n")

    def test_special_tokens_are_asked_for(self):
        def ids(*flags, **how):
            return self.succeed("tokenize", MODEL, "--json", *flags, **how).json()["ids"]

        self.assertEqual(ids("-p", "A", "--no-bos"), [65])
        self.assertEqual(ids("-p", "<bos>", "--no-bos"), list(b"<bos>"))
        self.assertEqual(ids("-p", "<bos>", "--no-bos", "--special"), [256])
        self.assertEqual(ids("--no-bos", text="AB"), [65, 66])
        self.assertEqual(ids("--no-bos"), [])


class ScoreTest(ProgramTest):
    IDS = [256, *SUM.encode(), *ANSWER.encode()]

    def score(self, *flags):
        return self.succeed("score", MODEL, "--ids", ",".join(map(str, self.IDS)), *flags, "--json").json()

    def test_json_positions_and_perplexity(self):
        vocabulary = 288
        result = self.score("--top", vocabulary)
        positions = result["positions"]
        self.assertEqual([position["id"] for position in positions], self.IDS)
        self.assertIsNone(positions[0]["logprob"])
        for before, position in zip(positions, positions[1:]):
            self.assertEqual(set(position), {"id", "logprob", "top"})
            distribution = {entry["id"]: entry["logprob"] for entry in before["top"]}
            self.assertEqual(len(distribution), vocabulary)
            self.assertAlmostEqual(sum(map(math.exp, distribution.values())), 1, places=6)
            self.assertEqual(list(distribution.values()), sorted(distribution.values(), reverse=True))
            self.assertAlmostEqual(position["logprob"], distribution[position["id"]], places=9)
        own = -sum(position["logprob"] for position in positions[1:]) / (len(self.IDS) - 1)
        self.assertAlmostEqual(result["perplexity"] / math.exp(own), 1, places=9)
        self.assertEqual(result["scored_tokens"], len(self.IDS) - 1)
        for before, wanted in zip(positions[len(SUM):], ANSWER.encode()):
            self.assertEqual(before["top"][0]["id"], wanted)

    def test_top_is_a_prefix_and_chunks_change_nothing(self):
        whole = self.score("--top", 5)
        self.assertEqual([len(position["top"]) for position in whole["positions"]], [5] * len(self.IDS))
        self.assertEqual(self.score("--top", 5, "--batch-rows", 3, "--threads", 1), whole)
        self.assertEqual(self.score()["positions"][0]["top"], [])

    def test_text_from_a_file_or_stdin(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "text.txt")
            file.write_text(SUM + ANSWER)
            from_file = self.succeed("score", MODEL, file).out
        self.assertEqual(from_file, self.succeed("score", MODEL, text=SUM + ANSWER).out)
        self.assertEqual(from_file, self.succeed("score", "-m", MODEL, "-", text=SUM + ANSWER).out)
        self.assertEqual(len(from_file.splitlines()), len(self.IDS) + 1)
        self.assertRegex(from_file, r"\nperplexity [\d.]+ over 13 tokens, log-probability -[\d.]+\n\Z")
        self.fail_with(3, "score", MODEL, "nowhere.txt", says=["nowhere.txt"])
        self.fail_with(3, "score", MODEL, "/", says=["directory"])
        self.fail_with(2, "score", MODEL, "text.txt", "--ids", "1", says=["--ids"])
        self.fail_with(2, "score", MODEL, "text.txt", "--text", "text.txt", says=["--text"])

    def test_what_types_of_keys_and_values_lose_is_told_beside_the_score(self):
        exact = self.score()
        self.assertNotIn("kl_to_f32_kv", exact)
        loss = {}
        for types in ("f16", "bf16", "q8_0", "q8_0/q4_0"):
            result = self.score("--kv-dtype", types)
            told = result["kl_to_f32_kv"]
            loss[types] = told["mean"]
            self.assertEqual(told["positions"], len(self.IDS))
            self.assertAlmostEqual(sum(position["kl"] for position in result["positions"]) / len(self.IDS),
                                   told["mean"], places=12)
            alone = self.score("--kv-dtype", types, "--no-kl")
            self.assertNotIn("kl_to_f32_kv", alone)
            self.assertEqual(alone["perplexity"], result["perplexity"])
        self.assertEqual(sorted(loss.values()), list(loss.values()))
        self.assertGreater(loss["f16"], 0)
        self.assertEqual(self.score("-ctk", "q8_0", "-ctv", "q4_0"), self.score("--kv-type", "q8_0/q4_0"))
        self.fail_with(2, "score", MODEL, "--ids", "1", "--kv-dtype", "q8_0/q3",
                       says=["q3", "f32, f16, bf16, q8_0, q4_0"])
        warned = self.succeed("score", MODEL, "--ids", "65,66", "--kv-dtype", "q4_0")
        self.assertIn("keys in q4_0", warned.err)
        self.assertRegex(warned.out, r"\nkeys and values in q4_0: KL to f32 [\d.]+ nat on average over 2 positions, "
                                     r"likeliest token the same at [\d.]+ %\n\Z")

    def test_a_long_text_is_scored_in_windows(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "text.txt")
            file.write_text("A385+739=1124" * 100)  # more than the context holds
            self.fail_with(2, "score", MODEL, file, says=["--context"])
            def score(*flags):
                return self.succeed("score", MODEL, "--text", file, "--json", *flags).json()
            cut = score("--window", 65, "--tokens", 200)
            self.assertEqual(cut["scored_tokens"], 200)
            self.assertEqual([position["id"] for position in cut["positions"]].count(256), 4)
            self.assertEqual(score("--window", 64, "--tokens", 64, "--no-bos")["scored_tokens"], 63)


class InspectTest(ProgramTest):
    def test_json_adds_up(self):
        facts = self.succeed("inspect", MODEL, "--json").json()
        self.assertEqual(facts["metadata"]["general.architecture"], "llama")
        self.assertEqual(len(facts["metadata"]["tokenizer.ggml.tokens"]), 288)
        self.assertEqual(facts["parameters"], sum(math.prod(tensor["shape"]) for tensor in facts["tensors"]))
        self.assertEqual(facts["tensor_bytes"], sum(tensor["bytes"] for tensor in facts["tensors"]))
        for name, total in facts["storage_types"].items():
            of_type = [tensor for tensor in facts["tensors"] if tensor["type"] == name]
            self.assertEqual((total["tensors"], total["bytes"]),
                             (len(of_type), sum(tensor["bytes"] for tensor in of_type)))
        self.assertLess(facts["tensor_bytes"], os.path.getsize(MODEL))
        self.assertEqual(facts["warnings"], [])

    def test_experts(self):
        path = str(ROOT / "tests" / "golden" / "oracle" / "mixtral-bf16.gguf")
        facts = self.succeed("inspect", path, "--json").json()
        self.assertEqual((facts["experts"], facts["used_experts"]), (4, 2))
        self.assertEqual((facts["parameters"], facts["active_parameters"]), (115520, 90944))
        self.assertIn("90,944 of them active for a token: 2 of 4 experts", self.succeed("inspect", path).out)

    def test_text(self):
        text = self.succeed("inspect", MODEL).out
        for fact in ("775,296 parameters", "38 tensors", "general.architecture", "array of 288: [",
                     "blk.3.ffn_down.weight", "F16"):
            self.assertIn(fact, text)
        self.assertLessEqual(max(map(len, text.splitlines())), 80)
        self.assertGreater(len(self.succeed("inspect", MODEL, "--all").out), len(text) + 1000)


class ModelsTest(ProgramTest):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.env = {"PLM_CACHE": scratch.name}

    def test_list_where_remove(self):
        self.assertIn("no models on this machine", self.succeed("models", env=self.env).out)
        target = self.folder / "tiny.gguf"
        target.write_bytes(pathlib.Path(MODEL).read_bytes())
        (self.folder / "notes.txt").write_text("no model")
        self.assertRegex(self.succeed("models", env=self.env).out, r"tiny +1\.6 MB")
        listed = {entry["name"]: entry for entry in self.succeed("models", "--json", env=self.env).json()}
        self.assertEqual(listed["tiny"], {"name": "tiny", "path": str(target), "bytes": target.stat().st_size,
                                          "source": "local", "fetched": True})
        self.assertFalse(listed["smollm2-135m"]["fetched"])
        self.assertEqual(self.succeed("models", "where", "tiny", env=self.env).out, f"{target}\n")
        self.assertEqual(self.succeed("run", "tiny", "-p", SUM, "--temp", 0, env=self.env).out, ANSWER + "\n")
        self.succeed("models", "remove", "tiny", env=self.env)
        self.assertFalse(target.exists())
        self.fail_with(3, "models", "where", "tiny", env=self.env, says=["tiny", "plm models"])

    def test_words_that_are_wrong(self):
        self.fail_with(2, "models", "burn", env=self.env, says=["burn", "list, where, remove"])
        self.fail_with(2, "models", "where", env=self.env, says=["NAME"])
        self.fail_with(3, "run", "smollm2-135m", "-p", "a", env=self.env, says=["plm fetch smollm2-135m"])
        self.fail_with(3, "run", "nosuch", "-p", "a", env=self.env, says=["nosuch", "plm models"])
        self.fail_with(2, "models", env={"PLM_CACHE": "", "HOME": ""}, says=["PLM_CACHE"])

    def test_fetch_knows_its_catalogue(self):
        self.fail_with(2, "fetch", "nosuch", env=self.env, says=["nosuch", "smollm2-135m"])
        self.fail_with(2, "fetch", env=self.env, says=["MODEL"])


class DescribeTest(ProgramTest):
    def test_json_names_everything_with_summary_and_source(self):
        registries = self.succeed("describe", "--json").json()
        for registry, name in (("commands", "run"), ("architectures", "llama"), ("storage types", "q4_1"),
                               ("samplers", "top_p"), ("decoders", "autoregressive")):
            self.assertIn(name, [entry["name"] for entry in registries[registry]])
        self.assertEqual([entry["name"] for entry in registries["commands"]], sorted(COMMANDS))
        for registry, entries in registries.items():
            for entry in entries:
                self.assertTrue(entry["summary"] and entry["source"], (registry, entry["name"]))
                for parameter in entry["parameters"]:
                    self.assertTrue(parameter["summary"], (registry, entry["name"], parameter["name"]))

    def test_text_and_markdown_name_the_same_things(self):
        registries = self.succeed("describe", "--json").json()
        text, markdown = self.succeed("describe").out, self.succeed("describe", "--markdown").out
        for entries in registries.values():
            for entry in entries:
                self.assertIn(entry["summary"], text)
                self.assertIn(f"### {entry['name']}\n", markdown)
                for parameter in entry["parameters"]:
                    self.assertIn(f"| `{parameter['name']}` |", markdown)


    def test_one_thing_is_told_by_its_name(self):
        for name, words in (("top-p", ("sampler top_p", "default     0.95", "p_1 + ... + p_k")),
                            ("penalties", ("repeat_penalty:", "repeat_slope:")), ("q8_0", ("of the storage types",)),
                            ("run", ("of the commands", "max_tokens"))):
            for word in words:
                self.assertIn(word, self.succeed("describe", name).out)
        self.assertEqual(list(self.succeed("describe", "top_p", "--json").json()), ["samplers"])
        self.fail_with(2, "describe", "bogus", says=["bogus"])


class SignatureTest(ProgramTest):
    def test_is_the_recorded_one_wherever_it_runs(self):
        recorded = (ROOT / "tests" / "golden" / "signature.txt").read_text()
        self.assertEqual(self.succeed("signature", "--models", ROOT / "models").out, recorded)
        self.assertEqual(self.succeed("signature", cwd=ROOT).out, recorded)

    def test_says_what_it_misses(self):
        with tempfile.TemporaryDirectory() as folder:
            self.fail_with(3, "signature", "--models", folder, says=["twin-ar.gguf", "--models"])


class HelpTest(ProgramTest):
    def test_every_command_names_every_flag_within_80_columns(self):
        described = {entry["name"]: entry for entry in self.succeed("describe", "--json").json()["commands"]}
        overview = self.succeed("--help").out
        for name in COMMANDS:
            with self.subTest(name):
                text = self.succeed(name, "--help").out
                self.assertEqual(text, self.succeed("help", name).out)
                self.assertEqual(text, self.succeed("--help", name).out)
                self.assertLessEqual(max(map(len, text.splitlines())), 80)
                self.assertRegex(overview, rf"\n  {name} +\w")
                self.assertIn(f"usage: plm {name}", text)
                for parameter in described[name]["parameters"]:
                    self.assertRegex(text, rf"--{parameter['name'].replace('_', '-')}\b")
        self.assertLessEqual(max(map(len, overview.splitlines())), 80)
        self.assertIn("\nsampling\n", self.succeed("run", "-h").out)

    def test_version(self):
        self.assertRegex(self.succeed("--version").out, r"\Aplm \d+\.\d+\.\d+\n\Z")

    def test_no_command_is_a_question(self):
        ended = plm()
        self.assertEqual((ended.code, ended.out), (2, ""))
        self.assertIn("usage: plm COMMAND", ended.err)

    def test_wrong_words_get_a_remedy(self):
        self.fail_with(2, "rum", says=['"rum"', "did you mean plm run?"])
        self.fail_with(2, "help", "xyzzy", says=['"xyzzy"', "plm --help"])
        self.fail_with(2, "run", says=["MODEL", "usage: plm run MODEL"])
        self.fail_with(2, "run", MODEL, "--tempratur", 1, says=["--tempratur", "did you mean --temperature?"])
        self.fail_with(2, "run", MODEL, "--xyzzy", says=["--xyzzy", "plm run --help"])
        self.fail_with(2, "run", MODEL, "more", says=['"more"', "usage: plm run"])
        self.fail_with(2, "run", MODEL, "-n", says=["-n", "value"])
        self.fail_with(2, "run", MODEL, "-n", "many", says=["--max-tokens", '"many"', "whole number"])
        self.fail_with(2, "run", MODEL, "--top-p", 1.5, says=["--top-p", "1.5", "0 to 1"])
        self.fail_with(2, "run", MODEL, "--kernels", "magic", says=["--kernels", "fast, reference"])
        self.fail_with(2, "models", "-ngl", 1, says=["-ngl"])

    def test_no_escape_sequences_outside_a_terminal(self):
        for words in (("run", MODEL, "-p", SUM), ("run",), ("--help",)):
            ended = plm(*words, env={"NO_COLOR": ""})
            self.assertNotIn("\x1b", ended.out + ended.err)


class CompletionTest(ProgramTest):
    def complete(self, *words):
        """What bash offers for the last of these words."""
        quoted = " ".join(f"'{word}'" for word in words)
        script = (f"source <('{BINARY}' completion bash)\n"
                  f"COMP_WORDS=({quoted}) COMP_CWORD={len(words) - 1}\n"
                  "_plm\nprintf '%s\\n' \"${COMPREPLY[@]}\"")
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=60, check=True)
        return done.stdout.split()

    def test_bash_completes_commands_flags_words_and_files(self):
        self.assertEqual(self.complete("plm", "ru"), ["run"])
        self.assertEqual(set(COMMANDS) - set(self.complete("plm", "")), set())
        self.assertEqual(self.complete("plm", "run", "--max"), ["--max-tokens"])
        self.assertIn("--top-k", self.complete("plm", "run", "--"))
        self.assertEqual(self.complete("plm", "run", "twin"), [])  # then bash offers files
        self.assertIn("complete -o default ", self.succeed("completion", "bash").out)
        self.assertEqual(self.complete("plm", "completion", "z"), ["zsh"])
        self.assertEqual(self.complete("plm", "run", "--kernels", "ref"), ["reference"])

    def test_every_shell_gets_every_flag(self):
        commands = self.succeed("describe", "--json").json()["commands"]
        for shell, prefix in (("bash", "--"), ("zsh", "--"), ("fish", "-l ")):
            script = self.succeed("completion", shell).out
            for entry in commands:
                self.assertIn(entry["name"], script)
                for parameter in entry["parameters"]:
                    self.assertIn(prefix + parameter["name"].replace("_", "-"), script)
        self.fail_with(2, "completion", "tcsh", says=["bash, zsh, fish"])


if __name__ == "__main__":
    unittest.main()
