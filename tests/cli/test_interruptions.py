"""A running `plm` when the world interferes: Ctrl-C, a reader that goes away, a model file that changes."""

import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import unittest

from program import MODEL, TIMEOUT_S, command

ENDLESS = ("-p", "A385+739=", "-n", -1, "--ignore-eos", "-c", 100000, "--temp", 0, "--threads", 1)


class Running:
    """plm in the middle of a long text."""

    def __init__(self, *words):
        self.process = subprocess.Popen(command(*words), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE)
        self.seen = self.process.stdout.read(40)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def end(self):
        """Waits for the end; returns the exit code (negative: the signal) and what was written to stderr."""
        rest, errors = self.process.communicate(timeout=TIMEOUT_S)
        self.seen += rest
        return self.process.returncode, errors.decode()


class SignalTest(unittest.TestCase):
    def test_an_interrupt_ends_with_text_statistics_and_130(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(number), Running("run", MODEL, *ENDLESS) as running:
                running.process.send_signal(number)
                code, errors = running.end()
                self.assertEqual(code, 130, errors)
                self.assertTrue(running.seen.startswith(b"1124"))
                self.assertTrue(running.seen.endswith(b"\n"))
                self.assertRegex(errors, r"\[seed \d+: interrupted, \d+ tokens written at [\d.]+/s\]\n\[load .*\]\n\Z")

    def test_scoring_can_be_interrupted(self):
        with tempfile.NamedTemporaryFile() as text:
            text.write(b"A" * 60000)
            text.flush()
            with Running("score", MODEL, text.name, "-c", 100000, "--threads", 1) as running:
                running.process.send_signal(signal.SIGINT)
                code, errors = running.end()
                self.assertEqual(code, 130, errors)
                self.assertIn("error: scoring: interrupted\n", errors)

    def test_measuring_can_be_interrupted(self):
        with Running("bench", MODEL, "-p", 200, "-r", 1000, "--threads", 1) as running:
            running.process.send_signal(signal.SIGINT)
            code, errors = running.end()
            self.assertEqual(code, 130, errors)
            self.assertEqual(errors, "error: bench: interrupted\n")

    def test_a_reader_that_goes_away_ends_it_without_a_word(self):
        with Running("run", MODEL, *ENDLESS) as running:
            running.process.stdout.close()
            running.process.stdout = None
            errors = running.process.communicate(timeout=TIMEOUT_S)[1].decode()
            self.assertEqual(running.process.returncode, -signal.SIGPIPE)
            self.assertNotIn("error", errors)


class ModelFileTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.model = pathlib.Path(scratch.name, "model.gguf")
        shutil.copy(MODEL, self.model)

    def expect_change_noticed(self, change):
        with Running("run", self.model, *ENDLESS) as running:
            change()
            code, errors = running.end()
            self.assertEqual(code, 7, errors)
            self.assertRegex(errors, rf"(?m)^error: {self.model}: the file .*while in use")
            self.assertTrue(running.seen.startswith(b"1124"))

    def test_truncated_to_nothing(self):
        self.expect_change_noticed(lambda: os.truncate(self.model, 0))

    def test_truncated_to_half(self):
        self.expect_change_noticed(lambda: os.truncate(self.model, self.model.stat().st_size // 2))

    def test_written_to(self):
        def overwrite():
            with open(self.model, "r+b") as file:
                file.seek(-1, os.SEEK_END)
                file.write(b"\1")

        self.expect_change_noticed(overwrite)

    def test_replaced(self):
        other = self.model.with_suffix(".new")
        shutil.copy(MODEL, other)
        self.expect_change_noticed(lambda: os.replace(other, self.model))

    def test_removed_it_is_still_whole_for_us(self):
        with Running("run", self.model, *ENDLESS) as running:
            self.model.unlink()
            running.process.stdout.read(2000)
            running.process.send_signal(signal.SIGINT)
            self.assertEqual(running.end()[0], 130)


if __name__ == "__main__":
    unittest.main()
