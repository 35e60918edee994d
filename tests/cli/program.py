"""Runs the real `plm` for the tests of this folder. ctest names the binary in PLM_BINARY, the conformance data in
PLM_SHARED."""

import json
import os
import pathlib
import pty
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = os.environ.get("PLM_BINARY", str(ROOT / "build" / "release" / "plm"))
SHARED = pathlib.Path(os.environ.get("PLM_SHARED", ROOT.parent / "shared"))
MODEL = str(ROOT / "models" / "twin-ar.gguf")
TIMEOUT_S = 120


def command(*words):
    return [BINARY, *map(str, words)]


class Ended:
    """How a run ended, and what it printed."""

    def __init__(self, words, process):
        self.words = words
        self.code = process.returncode
        self.out = process.stdout.decode()
        self.err = process.stderr.decode()

    def __repr__(self):
        return f"plm {' '.join(map(str, self.words))}: {self.code}\nstdout: {self.out}\nstderr: {self.err}"

    def json(self):
        return json.loads(self.out)

    def lines(self):
        return [json.loads(line) for line in self.out.splitlines()]


def plm(*words, text=None, env=None, cwd=None):
    """Runs plm to its end; `text` goes to its standard input, which is /dev/null otherwise."""
    source = {"stdin": subprocess.DEVNULL} if text is None else {"input": text.encode()}
    environment = {**os.environ, **(env or {})}
    return Ended(words, subprocess.run(command(*words), capture_output=True, timeout=TIMEOUT_S, env=environment,
                                       cwd=cwd, check=False, **source))


def need_terminal():
    """Skips the tests of a class where no terminal can be made: a bare chroot or container has no /dev/pts."""
    try:
        for end in pty.openpty():
            os.close(end)
    except OSError as reason:
        raise unittest.SkipTest(f"no terminal can be made here: {reason}")


class ProgramTest(unittest.TestCase):
    maxDiff = None

    def succeed(self, *words, **how):
        ended = plm(*words, **how)
        self.assertEqual(ended.code, 0, ended)
        return ended

    def fail_with(self, code, *words, says=(), **how):
        """Runs what must fail: with this exit code, nothing on stdout and one line on stderr that says these words."""
        ended = plm(*words, **how)
        self.assertEqual(ended.code, code, ended)
        self.assertEqual(ended.out, "", ended)
        self.assertRegex(ended.err, r"\Aerror: [^\n]+\n\Z")
        for word in says:
            self.assertIn(word, ended.err)
        return ended
