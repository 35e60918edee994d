"""`plm template` and `plm chat`: conversations as the model sees them, and their answers."""

import json
import os
import pathlib
import pty
import re
import subprocess
import tempfile
import unittest

from program import MODEL, ProgramTest, command, need_terminal

# The twin model adds numbers: to "A385+739=" it answers 1124.
BARE = "{{ bos_token }}{% for message in messages %}{{ message.content }}{% endfor %}"


class ChatTest(ProgramTest):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.template = self.write("bare.jinja", BARE)

    def write(self, name, text):
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        return path

    def messages(self, *contents):
        roles = ["user", "assistant"] * len(contents)
        return self.write("messages.json", json.dumps(
            [{"role": role, "content": content} for role, content in zip(roles, contents)]))


class TemplateTest(ChatTest):
    def test_text_and_ids(self):
        messages = self.messages("A1+1=", "2")
        shown = self.succeed("template", MODEL, messages, "--chat-template", self.template, "--json").json()
        self.assertEqual(shown["text"], "<bos>A1+1=2")
        plain = self.succeed("tokenize", MODEL, "-p", "A1+1=2", "--json").json()
        self.assertEqual(shown["ids"], plain["ids"])
        ended = self.succeed("template", MODEL, messages, "--chat-template", self.template)
        self.assertEqual(ended.out, "<bos>A1+1=2\n")
        self.assertIn(f"7 tokens, 1 of them control tokens; template: {self.template}", ended.err)

    def test_messages_from_standard_input_and_a_built_in_template(self):
        shown = self.succeed("template", MODEL, "--chat-template", "chatml", "--json",
                             text='{"messages": [{"role": "user", "content": "hi"}]}').json()
        self.assertEqual(shown["text"], "<|im_start|>user\nhi<|im_end|>\n<|im_start|>assistant\n")
        self.assertEqual(shown["template"], "the built-in template chatml")
        source = self.succeed("template", MODEL, "--chat-template", self.template, "--source")
        self.assertEqual(source.out, BARE + "\n")

    def test_stand_ins_are_told(self):
        ended = self.succeed("template", MODEL, "--chat-template", "mistral",
                             text='[{"role": "system", "content": "S"}, {"role": "user", "content": "U"}]')
        self.assertIn("[INST] S\n\nU [/INST]", ended.out)
        self.assertIn("note: the chat template knows no system message", ended.err)

    def test_what_can_be_wrong(self):
        messages = self.messages("x")
        self.fail_with(2, "template", MODEL, messages, "--chat-template", "none", says=['"none"', "chatml", "zephyr"])
        broken = self.write("broken.jinja", "a\n  {% if %}")
        self.fail_with(3, "template", MODEL, messages, "--chat-template", broken,
                       says=["broken.jinja", "line 2", "--chat-template"])
        refuses = self.write("refuses.jinja", BARE + "{{ raise_exception('no, thanks') }}")
        self.fail_with(2, "template", MODEL, messages, "--chat-template", refuses, says=["no, thanks", "line 1"])
        self.fail_with(3, "template", MODEL, "--chat-template", "chatml", text="[{}]",
                       says=["standard input: messages[0].role: missing"])
        self.fail_with(3, "template", MODEL, "--chat-template", "chatml", text="[", says=["not valid JSON"])
        self.fail_with(2, "template", MODEL, messages, "--chat-template", "chatml", "--chat-template-kwargs", "3",
                       says=["expected a JSON object"])


class ConversationTest(ChatTest):
    def chat(self, text, *words):
        return self.succeed("chat", MODEL, "--chat-template", self.template, "--temp", 0, *words, text=text)

    def test_lines_are_messages(self):
        ended = self.chat("A385+739=\nA1+1=\n")
        first, second = ended.out.splitlines()
        self.assertEqual(first, "1124")
        # The second prompt holds the first exchange, of which the state was kept.
        reused = [tuple(map(int, found)) for found in
                  re.findall(r"prompt (\d+) tokens, (\d+) known before", ended.err)]
        self.assertEqual(reused[0][1], 0)
        self.assertEqual(reused[1][0], 1 + len("A385+739=1124A1+1="))
        self.assertGreaterEqual(reused[1][1], 1 + len("A385+739=112"))
        alone = self.succeed("run", MODEL, "--temp", 0, "-p", "A385+739=1124A1+1=")
        self.assertEqual(second + "\n", alone.out)

    def test_the_picture(self):
        said = self.chat("A385+739=\n", "--system", "be brief").err
        self.assertIn(f"template     {self.template}", said)
        self.assertIn('system       "be brief"', said)
        self.assertRegex(said, r"stop tokens  \S+")
        self.assertRegex(said, r"context      \d+ tokens")
        self.assertIn("system       none\n", self.chat("A1+1=\n").err)

    def test_the_picture_shows_what_a_template_says_unasked(self):
        polite = self.write("polite.jinja",
                            "{{ bos_token }}{% if messages[0].role != 'system' %}[system] Be kind.\n{% endif %}"
                            "{% for m in messages %}[{{ m.role }}] {{ m.content }}\n{% endfor %}")
        ended = self.succeed("chat", MODEL, "--chat-template", polite, "-n", 1, text="A1+1=\n")
        self.assertIn('system       none of yours; the template says "[system] Be kind."\n', ended.err)
        ended = self.succeed("chat", MODEL, "--chat-template", polite, "-n", 1, "--system", "Be brief.", text="A1+1=\n")
        self.assertIn('system       "Be brief."\n', ended.err)

    def test_a_first_message_and_quiet(self):
        ended = self.chat("", "-p", "A385+739=", "-q")
        self.assertEqual((ended.out, ended.err), ("1124\n", ""))

    def test_what_can_be_wrong(self):
        long = "A1+1=" * 30
        self.fail_with(2, "chat", MODEL, "--chat-template", self.template, "-q", "-c", 64, text=long + "\n",
                       says=["151 tokens", "64", "--context"])


class TerminalChatTest(ChatTest):
    @classmethod
    def setUpClass(cls):
        need_terminal()

    def talk(self, *lines):
        """Types each line when it is asked for one; returns the exit code and all that was shown."""
        keyboard, screen = pty.openpty()
        words = command("chat", MODEL, "--chat-template", self.template, "--temp", 0, "-n", 8)
        process = subprocess.Popen(words, stdin=screen, stdout=screen, stderr=screen,
                                   env={**os.environ, "TERM": "dumb", "NO_COLOR": "1"})
        os.close(screen)
        waiting, shown = list(lines), b""
        try:
            while part := os.read(keyboard, 65536):
                shown += part
                if waiting and shown.endswith((b"\n> ", b"\r> ", b"\n  ", b"\r  ")):
                    os.write(keyboard, waiting.pop(0).encode() + b"\n")
        except OSError:  # how Linux says that nobody has the terminal open any more
            pass
        os.close(keyboard)
        return process.wait(60), shown.decode().replace("\r\n", "\n")

    def test_commands(self):
        saved = self.folder / "saved.json"
        code, shown = self.talk("A385+739=", "/again", "/help", "/nonsense", "/show", f"/save {saved}", "/undo",
                                "/info", "/exit")
        self.assertEqual(code, 0, shown)
        self.assertEqual(shown.count("\x1b[K1124\n["), 2, shown)
        self.assertIn("/again", shown)
        self.assertIn("/nonsense: no such command; /help lists them", shown)
        self.assertIn("<bos>A385+739=1124\n", shown)
        self.assertEqual(json.loads(saved.read_text(encoding="utf-8")),
                         [{"role": "user", "content": "A385+739="}, {"role": "assistant", "content": "1124"}])
        self.assertIn("(taken back; 0 messages are left)", shown)

    def test_an_edited_message_and_one_of_many_lines(self):
        saved = self.folder / "saved.json"
        code, shown = self.talk("A385+738=", "/edit A385+739=", '"""A1+', '1="""', f"/save {saved}", "/exit")
        self.assertEqual(code, 0, shown)
        self.assertIn("1124\n[", shown)
        said = [message["content"] for message in json.loads(saved.read_text(encoding="utf-8"))
                if message["role"] == "user"]
        self.assertEqual(said, ["A385+739=", "A1+\n1="])


if __name__ == "__main__":
    unittest.main()
