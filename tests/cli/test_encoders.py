"""plm embed, rerank and reward, on the real binary and the golden checkpoints. Standard library only, no network."""

import json
import math
import unittest

from program import MODEL, ROOT, ProgramTest

GOLDEN = ROOT / "tests" / "golden"
BERT = GOLDEN / "huggingface" / "bert"
CROSS_ENCODER = GOLDEN / "oracle" / "xlmr_reranker-bf16.gguf"
DECODER = GOLDEN / "huggingface" / "qwen3_reranker"
REWARD = GOLDEN / "huggingface" / "llama_reward"
PROCESS_REWARD = GOLDEN / "huggingface" / "qwen2_prm"
TEXTS = ["the end of the world", "", "a dog and a cat"]


def length(vector):
    return math.sqrt(sum(x * x for x in vector))


class EmbedTest(ProgramTest):
    def test_a_text_a_line_and_a_vector_a_line(self):
        lines = self.succeed("embed", BERT, text="\n".join(TEXTS) + "\n").out.splitlines()
        self.assertEqual(len(lines), 3)
        vectors = [[float(x) for x in line.split("\t")] for line in lines]
        for vector in vectors:
            self.assertEqual(len(vector), 64)
            self.assertAlmostEqual(length(vector), 1, places=5)
        flags = [word for text in TEXTS for word in ("-p", text)]
        self.assertEqual(self.succeed("embed", BERT, *flags).out.splitlines(), lines)

    def test_json_has_the_promised_fields(self):
        objects = self.succeed("embed", BERT, "-p", TEXTS[0], "-p", TEXTS[1], "--json", "--dimensions", 4).lines()
        self.assertEqual([set(item) for item in objects], [{"index", "tokens", "truncated", "embedding"}] * 2)
        self.assertEqual([len(item["embedding"]) for item in objects], [4, 4])
        self.assertEqual(objects[1]["tokens"], 2)

    def test_similarity_is_symmetric_with_ones(self):
        rows = self.succeed("embed", BERT, "-p", "a", "-p", "b", "--similarity", "--json").lines()
        self.assertAlmostEqual(rows[0]["similarity"][0], 1, places=6)
        self.assertAlmostEqual(rows[0]["similarity"][1], rows[1]["similarity"][0], places=12)

    def test_a_long_text_is_cut_with_a_warning_or_refused(self):
        long = "the " * 300
        self.assertIn("1 of 2 texts was longer", self.succeed("embed", BERT, "-p", long, "-p", "a").err)
        self.fail_with(2, "embed", BERT, "-p", long, "--no-truncate", says=["text 1: more than 128 tokens"])

    def test_what_does_not_fit_is_refused(self):
        self.fail_with(2, "embed", CROSS_ENCODER, "-p", "a", says=["gives scores and no vectors", "plm rerank"])
        self.fail_with(2, "embed", BERT, text="", says=["standard input is empty"])
        self.fail_with(2, "embed", BERT, "-p", "a", "--dimensions", 65, says=["this model gives 64"])
        self.fail_with(2, "embed", BERT, "-p", "a", "--prompt-name", "query", says=["this model has none"])
        self.fail_with(2, "embed", BERT, "-p", "a", "--prefix", "x", "--prompt-name", "y", says=["two prefixes"])
        self.fail_with(2, "run", BERT, "-p", "a", says=["is an encoder", "use plm embed"])

    def test_a_model_that_writes_gives_vectors_too(self):
        self.assertEqual(len(self.succeed("embed", MODEL, "-p", "a", "--json").lines()), 1)


class RerankTest(ProgramTest):
    def test_the_best_document_comes_first(self):
        words = ("rerank", CROSS_ENCODER, "--query", "the end")
        documents = "\n".join(["a dog", "the end of the world", "and so on"])
        lines = [line.split("\t") for line in self.succeed(*words, text=documents).out.splitlines()]
        scores = [float(line[0]) for line in lines]
        self.assertEqual(scores, sorted(scores, reverse=True))
        self.assertEqual({line[1] for line in lines}, {"0", "1", "2"})
        result = self.succeed(*words, "--json", "--top", 2, text=documents).json()
        self.assertEqual(len(result["results"]), 2)
        best = result["results"][0]
        self.assertEqual(set(best), {"index", "score", "logits", "tokens", "truncated", "document"})
        self.assertAlmostEqual(best["score"], 1 / (1 + math.exp(-best["logits"][0])), places=9)
        self.assertEqual(str(best["index"]), lines[0][1])

    def test_a_decoder_answers_with_words(self):
        words = ("rerank", DECODER, "--query", "the end", "-p", "a dog", "--yes", "y", "--no", "n")
        ended = self.succeed(*words, "--json")
        self.assertEqual(len(ended.json()["results"][0]["logits"]), 2)
        self.assertIn("it is asked", ended.err)

    def test_what_does_not_fit_is_refused(self):
        self.fail_with(2, "rerank", BERT, "--query", "a", "-p", "b", says=["without a head that scores", "plm embed"])
        self.fail_with(2, "rerank", CROSS_ENCODER, "-p", "b", says=["query: missing"])
        self.fail_with(2, "run", CROSS_ENCODER, "-p", "b", says=["gives scores and writes no text"])


class RewardTest(ProgramTest):
    def test_a_score_for_each_text(self):
        objects = self.succeed("reward", REWARD, "-p", "the end", "-p", "a dog", "--json").lines()
        self.assertEqual([len(item["scores"]) for item in objects], [1, 1])
        self.assertEqual(objects[0]["labels"], ["LABEL_0"])
        table = self.succeed("reward", REWARD, "-p", "the end").out
        self.assertAlmostEqual(float(table.split("\t")[0]), objects[0]["scores"][0], places=5)

    def test_conversations(self):
        messages = json.dumps([{"role": "user", "content": "why"}, {"role": "assistant", "content": "so"}])
        asked = self.succeed("reward", REWARD, "--question", "why", "-p", "so", "--json").lines()
        self.assertEqual(self.succeed("reward", REWARD, "--messages", "-p", messages, "--json").lines(), asked)
        self.fail_with(2, "reward", REWARD, "--messages", "--question", "a", "-p", "b", says=["two conversations"])
        self.fail_with(3, "reward", REWARD, "--messages", "-p", "{", says=["text 1: messages"])

    def test_steps(self):
        words = ("reward", PROCESS_REWARD, "--step", "<|mask|>", "--json")
        three = self.succeed(*words, "--whole", text="one\n\ntwo\n\nthree").lines()[0]["steps"]
        self.assertEqual(len(three), 3)
        self.assertTrue(all(0 <= step <= 1 for step in three))
        marked = self.succeed(*words, "-p", "one<|mask|>two<|mask|>three<|mask|>").lines()[0]["steps"]
        self.assertEqual(marked, three)
        self.fail_with(2, *words[:3], "two words", "-p", "a", says=["expected one that the vocabulary has"])

    def test_what_does_not_fit_is_refused(self):
        self.fail_with(2, "reward", MODEL, "-p", "a", says=["has no head that scores"])


if __name__ == "__main__":
    unittest.main()
