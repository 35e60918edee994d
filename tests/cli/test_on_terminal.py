"""`plm` as a person sees it: on a pseudo-terminal, with bars, colours and typed prompts."""

import os
import pty
import signal
import subprocess
import termios
import unittest

from program import MODEL, command, need_terminal

CTRL_D = b"\x04"


def on_terminal(*words, typed=b"", env=None):
    """Runs plm with all three streams on a terminal; returns its exit code and everything the terminal received."""
    keyboard, screen = pty.openpty()
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


if __name__ == "__main__":
    unittest.main()
