"""Damaged, hostile and mistaken files, given to the real `plm`: one line that names file and field, exit code 3, and
never a crash, a hang or more memory than the file is worth.

The corpus of about 200 broken GGUF files is made by make_bad_gguf.py of the conformance data (which needs numpy);
without either, that part is skipped.
"""

import concurrent.futures
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import unittest
import zipfile

from program import MODEL, SHARED, command

GENERATOR = SHARED / "conformance" / "bad-inputs" / "make_bad_gguf.py"
STRICT_GROUPS = {"header", "kv", "tensor", "hparam", "control"}
MOST_CPU_S, MOST_WALL_S = 1.0, 20  # the machine may be busy; what we use of it is ours
MOST_EXTRA_BYTES = 64 << 20

RUN = ("run", "FILE", "--prompt-ids", "1,2,3", "-n", 4, "--temp", 0, "--threads", 1)
SCORE = ("score", "FILE", "--ids", "1,2,3", "--threads", 1)
INSPECT = ("inspect", "FILE")

# Where the manifest names a kind of field and we name the field itself.
FIELD_WORDS = {
    "-": "",
    "file": "is empty",
    "kv": "key tokenizer.ggml.tokens",
    "key length": "key takes",
    "tensor sizes": "tensor blk.0.attn_q.weight",
    "tensor data": "data",
}
# Defects whose place in the file is not where they show, or that we refuse for a broader reason. Each names what shows.
FIELD_WORDS_OF_CASE = {
    "n_kv_plus1": "tensor table entry 1",  # the first tensor was taken for a key, so the table begins within it
    "n_kv_minus1": "tensor tokenizer.chat_template",  # the last key was taken for a tensor
    "name_64": "tensor name",  # the manifest names a tensor that is whole
    "off_gap": "output_norm.weight",  # the tensor behind the hole
    "experts_used_gt": "llama.expert_count",  # no mixture of experts is read at all
}


class Outcome:
    """How a run ended, what it said, and what it cost."""

    def __init__(self, words):
        with tempfile.TemporaryFile() as errors:
            self.process = subprocess.Popen(command(*words), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                            stderr=errors)
            with concurrent.futures.ThreadPoolExecutor(1) as waiter:
                ended = waiter.submit(os.wait4, self.process.pid, 0)
                try:
                    _, status, usage = ended.result(MOST_WALL_S)
                except concurrent.futures.TimeoutError:
                    self.process.kill()
                    _, status, usage = ended.result()
            self.process.returncode = self.code = os.waitstatus_to_exitcode(status)
            self.cpu_s = usage.ru_utime + usage.ru_stime
            self.peak_bytes = usage.ru_maxrss * 1024
            errors.seek(0)
            lines = errors.read().decode("utf-8").splitlines()
        self.lines = [line for line in lines if not line.startswith("[")]  # without statistics


def outcomes(runs):
    """Runs several commands at a time; each as a list of words."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(Outcome, runs))


def with_file(words, path):
    return [path if word == "FILE" else word for word in words]


class BadInputsTest(unittest.TestCase):
    def expect_bounded(self, outcome, path, good):
        self.assertGreaterEqual(outcome.code, 0, f"ended by signal {-outcome.code}: {outcome.lines}")
        self.assertLess(outcome.cpu_s, MOST_CPU_S)
        self.assertLess(outcome.peak_bytes, good.peak_bytes + os.path.getsize(path) + MOST_EXTRA_BYTES)

    def expect_refusal(self, outcome, path, *words):
        self.assertEqual(outcome.code, 3, outcome.lines)
        self.assertEqual(len(outcome.lines), 1, outcome.lines)
        self.assertRegex(outcome.lines[0], rf"\Aerror: {re.escape(str(path))}: .")
        for word in words:
            self.assertIn(word, outcome.lines[0])


class CorpusTest(BadInputsTest):
    @classmethod
    def setUpClass(cls):
        if not GENERATOR.exists():
            raise unittest.SkipTest(f"{GENERATOR} is not here")
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        made = subprocess.run([sys.executable, "-B", GENERATOR, folder.name], capture_output=True, text=True,
                              check=False)
        if "numpy" in made.stderr:
            raise unittest.SkipTest(f"{GENERATOR.name} needs numpy; install python3-numpy")
        if made.returncode != 0:
            raise AssertionError(made.stderr)
        cls.cases = json.loads((cls.folder / "manifest.json").read_text())

    def try_all(self, words, cases, check):
        """Runs the command on each file; what holds for all is checked here, the rest by check(case, path, outcome)."""
        good = Outcome(with_file(words, self.folder / "control__valid.gguf"))
        self.assertEqual((good.code, good.lines), (0, []))
        paths = [self.folder / case["file"] for case in cases]
        for case, path, outcome in zip(cases, paths, outcomes([with_file(words, path) for path in paths])):
            with self.subTest(case=f"{case['group']}/{case['name']}: {case['defect']}", command=words[0]):
                self.expect_bounded(outcome, path, good)
                check(case, path, outcome)

    def expect_wanted(self, case, path, outcome):
        word = FIELD_WORDS_OF_CASE.get(case["name"], FIELD_WORDS.get(case["field"], case["field"]))
        if outcome.code == 3:
            self.assertIn(case["want"], ("reject", "reject-or-warn"), outcome.lines)
            self.expect_refusal(outcome, path, word)
        else:
            self.assertEqual(outcome.code, 0, outcome.lines)
            self.assertNotEqual(case["want"], "reject")
            warnings = [line for line in outcome.lines if line.startswith(f"warning: {path}: ") and word in line]
            self.assertEqual(bool(warnings), case["want"] != "accept", outcome.lines)

    def test_models_run_or_are_refused_by_name(self):
        cases = [case for case in self.cases if case["kind"] == "gguf" and case["group"] in STRICT_GROUPS]
        self.assertEqual(len(cases), 158)
        for words in (RUN, SCORE):
            self.try_all(words, cases, self.expect_wanted)

    def test_inspect_shows_or_refuses(self):
        def check(case, path, outcome):
            if outcome.code != 0:
                self.expect_refusal(outcome, path)
                self.assertIn(case["want"], ("reject", "reject-or-warn"))

        self.try_all(INSPECT, [case for case in self.cases if case["kind"] == "gguf"], check)

    def test_folders(self):
        """Each broken config.json as it is, each broken safetensors file beside a whole one."""
        base = json.loads((self.folder / "cfg_valid" / "config.json").read_text())
        config = json.dumps({**base, "tie_word_embeddings": True})
        good = Outcome(("inspect", self.folder / "cfg_valid"))
        self.assertEqual((good.code, good.lines), (0, []))
        cases = [case for case in self.cases if case["group"] in ("config", "safetensors")]
        self.assertEqual(len(cases), 37)
        for case in cases:
            path = self.folder / case["file"]
            if case["group"] == "safetensors":
                folder = self.folder / f"folder_{case['name']}"
                folder.mkdir()
                (folder / "config.json").write_text(config)
                content = path.read_bytes()
                path = folder / "model.safetensors"
                path.write_bytes(content)
            with self.subTest(case=f"{case['group']}/{case['name']}: {case['defect']}"):
                outcome = Outcome(("inspect", path.parent))
                self.expect_bounded(outcome, path, good)
                if case["want"] == "accept":
                    self.assertEqual(outcome.code, 0, outcome.lines)
                    continue
                field = case["field"].removeprefix("b.").replace("config.json", "not valid JSON")
                self.expect_refusal(outcome, path, "is empty" if field == "file" else field)

    def test_everything_else_ends_quietly(self):
        def check(_case, path, outcome):
            if outcome.code != 0:
                self.expect_refusal(outcome, path)

        self.try_all(RUN, [case for case in self.cases if case["group"] not in STRICT_GROUPS], check)


class MistakenFileTest(BadInputsTest):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def expect_all_refuse(self, path, *words):
        for outcome in outcomes([with_file(run, path) for run in (RUN, SCORE, INSPECT)]):
            self.expect_refusal(outcome, path, *words)

    def test_what_is_no_file(self):
        self.expect_all_refuse(self.folder / "nowhere.gguf", "no such file")
        self.expect_all_refuse(self.folder, "is a directory")
        self.expect_all_refuse("/dev/zero", "device")
        fifo = self.folder / "pipe.gguf"
        os.mkfifo(fifo)
        self.expect_all_refuse(fifo, "is a pipe")

    def test_a_file_that_may_not_be_read(self):
        path = self.folder / "private.gguf"
        path.write_bytes(b"GGUF")
        path.chmod(0)
        if os.access(path, os.R_OK):
            self.skipTest("this user may read everything")
        self.expect_all_refuse(path, "Permission denied")

    def test_what_is_no_model(self):
        archive = self.folder / "model.zip"
        with zipfile.ZipFile(archive, "w") as file:
            file.writestr("weights", "1234")
        self.expect_all_refuse(archive, "zip")
        header = json.dumps({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
        for name, content, word in (
                ("empty", b"", "is empty"),
                ("text", b"Once upon a time there was no model.\n", "not a GGUF file"),
                ("page", b"<!DOCTYPE html><html><body>404</body></html>", "HTML"),
                ("weights.safetensors", struct.pack("<Q", len(header)) + header + b"\0\0\0\0", "safetensors"),
                ("escape", b"\x1b[2J\x1b[31m", "\\x1b[2J")):
            with self.subTest(name):
                path = self.folder / name
                path.write_bytes(content)
                self.expect_all_refuse(path, word)

    def test_a_real_file_cut_anywhere(self):
        whole = pathlib.Path(MODEL).read_bytes()
        path = self.folder / "cut.gguf"
        for size in (1, 4, 16, 100, 5000, len(whole) // 2, len(whole) - 1):
            with self.subTest(size):
                path.write_bytes(whole[:size])
                self.expect_all_refuse(path)


if __name__ == "__main__":
    unittest.main()
