"""`plm` as a person sees it: on a pseudo-terminal, with bars, colours and typed prompts."""

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import unittest

from program import MODEL, ROOT, command, need_terminal

CTRL_D = b"\x04"


def on_terminal(*words, typed=b"", env=None, size=None):
    """Runs plm with all three streams on a terminal; returns its exit code and everything the terminal received.
    `size`: rows and columns; not given: a terminal that does not say."""
    keyboard, screen = pty.openpty()
    if size is not None:
        fcntl.ioctl(screen, termios.TIOCSWINSZ, struct.pack("HHHH", *size, 0, 0))
    attributes = termios.tcgetattr(screen)
    attributes[3] &= ~termios.ECHO
    termios.tcsetattr(screen, termios.TCSANOW, attributes)
    process = subprocess.Popen(command(*words), stdin=screen, stdout=screen, stderr=screen,
                               env={**os.environ, "NO_COLOR": "", **(env or {})})
    os.close(screen)
    os.write(keyboard, typed)
    shown = b""
    try:
        while part := os.read(keyboard, 65536):
            shown += part
    except OSError:  # how Linux says that nobody has the terminal open any more
        pass
    os.close(keyboard)
    return process.wait(60), shown.decode().replace("\r\n", "\n")


class TerminalTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        need_terminal()

    RUN = ("run", MODEL, "--temp", 0)

    def test_a_prompt_is_asked_for_and_bars_leave_no_trace(self):
        code, shown = on_terminal(*self.RUN, typed=b"A385+739=\n" + CTRL_D)
        self.assertEqual(code, 0, shown)
        self.assertIn("note:\x1b[0m type the prompt, then Ctrl-D\n", shown)
        self.assertIn("\r\x1b[Kloading [#", shown)
        self.assertIn("\r\x1b[K1124\n", shown)  # the bar is wiped before the text
        self.assertIn("end_of_text", shown)

    def test_colours_only_where_they_are_wanted(self):
        red = "\x1b[31merror:\x1b[0m "
        self.assertIn(red, on_terminal("run")[1])
        code, shown = on_terminal("run", env={"NO_COLOR": "1"})
        self.assertEqual((code, shown[:7]), (2, "error: "))
        self.assertNotIn("\x1b", shown)

    def test_quiet(self):
        self.assertEqual(on_terminal(*self.RUN, "-p", "A385+739=", "-q"), (0, "1124\n"))

    def test_a_model_cannot_steer_the_terminal(self):
        # Asked for more than it knows, this model writes control characters, if any.
        _, shown = on_terminal(*self.RUN, "-q", "-n", 100, "--temp", 50, "--ignore-eos", "--top-k", 0, "--top-p", 1,
                               "--min-p", 0, "-p", "a", "--seed", 1)
        self.assertIn("\\x", shown)
        self.assertEqual([letter for letter in shown if ord(letter) < 32 and letter not in "\n\t"], [])

    def test_an_interrupt_while_the_prompt_is_typed(self):
        keyboard, screen = pty.openpty()
        process = subprocess.Popen(command(*self.RUN), stdin=screen, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        os.close(screen)
        self.assertIn(b"Ctrl-D", process.stderr.readline())
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.communicate(timeout=60)[0], b"")
        self.assertEqual(process.returncode, 130)
        os.close(keyboard)


class PageTest(unittest.TestCase):
    """A page that is drawn while it fills."""

    RUN = ("run", ROOT / "models" / "twin-mdm.gguf", "-n", 20, "-p", "K.43.1.42..144.2.:", "--frame-ms", 1)
    SOLUTION = "2431134232144123"
    XTERM = {"TERM": "xterm"}

    @classmethod
    def setUpClass(cls):
        need_terminal()

    def test_the_text_stands_where_the_page_was_drawn(self):
        code, shown = on_terminal(*self.RUN, env=self.XTERM, size=(24, 80))
        self.assertEqual(code, 0, shown)
        frames = shown.split("\x1b[J")
        self.assertGreater(len(frames), 3)
        self.assertIn("\x1b[2m" + "░" * 20, frames[0])
        self.assertRegex(frames[-2], r"\[pass \d+: 20 of 20 decided")
        self.assertTrue(frames[-1].startswith(self.SOLUTION + "\n"), frames[-1])

    def test_a_page_longer_than_the_screen_moves_no_further_up_than_the_screen(self):
        code, shown = on_terminal(*self.RUN, env=self.XTERM, size=(4, 8))
        self.assertEqual(code, 0, shown)
        ups = [int(count) for count in re.findall(r"\x1b\[(\d+)A", shown)]
        self.assertTrue(ups)
        self.assertLess(max(ups), 4)
        self.assertIn(self.SOLUTION + "\n", shown.split("\x1b[J")[-1])

    def test_no_drawing_where_none_is_wanted_or_possible(self):
        for words, env, size in (((), self.XTERM, None), ((), {"TERM": "dumb"}, (24, 80)),
                                 (("--no-animation",), self.XTERM, (24, 80)), (("--json",), self.XTERM, (24, 80))):
            with self.subTest(words=words, env=env, size=size):
                code, shown = on_terminal(*self.RUN, *words, env=env, size=size)
                self.assertEqual(code, 0, shown)
                self.assertNotIn("░", shown)
                self.assertNotIn("\x1b[J", shown)
                self.assertIn(self.SOLUTION, shown)

    def test_without_colours(self):
        code, shown = on_terminal(*self.RUN, "-q", env={**self.XTERM, "NO_COLOR": "1"}, size=(24, 80))
        self.assertEqual((code, shown), (0, self.SOLUTION + "\n"), "quiet is quiet")
        _, shown = on_terminal(*self.RUN, env={**self.XTERM, "NO_COLOR": "1"}, size=(24, 80))
        self.assertIn("░", shown)
        self.assertNotIn("\x1b[2m", shown)

    def test_an_infill_shows_the_text_around_its_holes(self):
        code, shown = on_terminal("infill", ROOT / "models" / "twin-mdm.gguf", "--template", "A385+739={{hole:2}}24",
                                  "--frame-ms", 1, env={**self.XTERM, "NO_COLOR": "1"}, size=(24, 80))
        self.assertEqual(code, 0, shown)
        self.assertIn("A385+739=░░24", shown)
        self.assertTrue(shown.split("\x1b[J")[-1].startswith("A385+739=1124\n"), shown)


if __name__ == "__main__":
    unittest.main()
