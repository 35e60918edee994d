"""plm convert and plm quantize, and Hugging Face folders wherever a MODEL is named."""

import pathlib
import resource
import signal
import subprocess
import tempfile
import unittest

from program import MODEL, ROOT, ProgramTest, command

GOLDEN = ROOT / "tests" / "golden"
Q256 = GOLDEN / "oracle" / "q256" / "llama_q256-Q8_0.gguf"
FOLDER = GOLDEN / "huggingface" / "llama"
GREEDY = ("--prompt-ids", "1,9,30,7", "-n", 8, "--temp", 0, "--json", "--threads", 1)


class ConvertTest(ProgramTest):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = pathlib.Path(scratch.name)
        self.out = self.scratch / "out.gguf"

    def inspect(self, model):
        return self.succeed("inspect", model, "--json").json()


class QuantizeTest(ConvertTest):
    def test_a_model_becomes_smaller_and_still_runs(self):
        before = self.inspect(MODEL)
        self.succeed("quantize", MODEL, self.out, "--type", "q8_0")
        after = self.inspect(self.out)
        self.assertEqual(after["metadata"]["general.file_type"], 7)
        self.assertEqual([t["name"] for t in after["tensors"]], [t["name"] for t in before["tensors"]])
        self.assertIn("Q8_0", after["storage_types"])
        for key, value in before["metadata"].items():
            if key not in ("general.file_type", "general.quantization_version"):
                self.assertEqual(after["metadata"][key], value, key)
        self.succeed("run", self.out, "-p", "A385+739=", "-n", 6, "--temp", 0)

    def test_llama_cpp_chooses_the_same_types(self):
        for name in ("Q4_K_M", "q5_k", "Q6_K", "q4_0"):
            theirs = Q256.parent / f"llama_q256-{name.upper().removesuffix('_M')}.gguf"
            theirs = theirs if theirs.exists() else Q256.parent / f"llama_q256-{name.upper().removesuffix('_M')}_M.gguf"
            self.succeed("quantize", Q256, self.out, "--type", name, "--quiet")
            types = [{t["name"]: t["type"] for t in self.inspect(path)["tensors"]} for path in (self.out, theirs)]
            self.assertEqual(*types)

    def test_the_same_bytes_with_any_number_of_threads(self):
        contents = []
        for threads in (1, 3):
            self.succeed("quantize", Q256, self.out, "--type", "q4_k", "--threads", threads)
            contents.append(self.out.read_bytes())
        self.assertEqual(*contents)

    def test_pure(self):
        self.succeed("quantize", Q256, self.out, "--type", "q4_k", "--pure")
        self.assertEqual(set(self.inspect(self.out)["storage_types"]), {"F32", "Q4_K"})

    def test_what_is_refused(self):
        same = self.scratch / "in.gguf"
        same.write_bytes(Q256.read_bytes())
        link = self.scratch / "link.gguf"
        link.symlink_to(same)
        self.fail_with(2, "quantize", same, same, "--type", "q8_0", says=[str(same), "being read"])
        self.fail_with(2, "quantize", same, link, "--type", "q8_0", says=["being read"])
        self.fail_with(2, "quantize", same, self.scratch, "--type", "q8_0", says=["name a file"])
        self.fail_with(2, "quantize", same, self.out, "--type", "q9_9", says=["--type", "q9_9", "q4_k"])
        self.fail_with(2, "quantize", same, self.out, says=["--type q4_k"])
        self.fail_with(3, "quantize", self.scratch / "nowhere", self.out, "--type", "q8_0", says=["no such file"])
        self.fail_with(1, "quantize", same, self.scratch / "no" / "out.gguf", "--type", "q8_0",
                       says=["cannot be created"])
        self.assertEqual(same.read_bytes(), Q256.read_bytes())
        self.assertEqual(sorted(path.name for path in self.scratch.iterdir()), ["in.gguf", "link.gguf"])

    def test_a_disk_that_fills_up_is_told_by_its_own_exit_code(self):
        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

        ended = subprocess.run(command("quantize", Q256, self.out, "--type", "f32"), capture_output=True,
                               preexec_fn=limit, check=False)
        self.assertEqual(ended.returncode, 4, ended.stderr)
        self.assertEqual(list(self.scratch.iterdir()), [])


class FolderTest(ConvertTest):
    def test_inspect_shows_a_folder_as_the_file_that_it_would_be(self):
        found = self.inspect(FOLDER)
        expected = self.inspect(GOLDEN / "oracle" / "llama-f32.gguf")
        self.assertEqual(found["parameters"], expected["parameters"])
        self.assertEqual({t["name"]: t["shape"] for t in found["tensors"]},
                         {t["name"]: t["shape"] for t in expected["tensors"]})
        self.assertEqual(found["warnings"], [])

    def test_a_folder_runs_as_its_file_does(self):
        self.succeed("convert", FOLDER, self.out)
        runs = [self.succeed("run", model, *GREEDY).json()["text"] for model in
                (FOLDER, self.out, GOLDEN / "oracle" / "llama-f32.gguf")]
        self.assertEqual(runs[0], runs[1])
        self.assertEqual(runs[0], runs[2])
        texts = [self.succeed("tokenize", model, "-p", "the old man and the sea <|eos|>", "--json").json()
                 for model in (FOLDER, self.out)]
        self.assertEqual(*texts)

    def test_a_sentencepiece_model_stands_in_for_tokenizer_json(self):
        folder = self.scratch / "folder"
        folder.mkdir()
        tokenizer = GOLDEN / "text" / "tiny_tokenizers" / "spm"
        for path in (FOLDER / "config.json", FOLDER / "model.safetensors", *tokenizer.iterdir()):
            (folder / path.name).write_bytes(path.read_bytes())
        self.succeed("convert", folder, self.out)
        self.assertEqual(self.inspect(self.out)["metadata"]["tokenizer.ggml.model"], "llama")
        texts = [self.succeed("tokenize", model, "-p", "The old man  and the s\u00e9a", "--json").json()
                 for model in (folder, self.out)]
        self.assertEqual(*texts)
        self.assertEqual(texts[0]["ids"][0], 1)

    def test_convert_with_a_type(self):
        self.succeed("convert", FOLDER, self.out, "--type", "q8_0")
        self.assertEqual(set(self.inspect(self.out)["storage_types"]), {"F32", "Q8_0"})


if __name__ == "__main__":
    unittest.main()
