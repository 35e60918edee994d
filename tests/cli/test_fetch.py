"""plm fetch on the real binary: the scripts that it carries, against a web server on this machine."""

import json
import pathlib
import signal
import sys
import subprocess
import unittest

from program import MODEL, ProgramTest, command, plm

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tools"))
from fetch_server import FetchTest, sha256  # noqa: E402

CONTENT = pathlib.Path(MODEL).read_bytes()
RUN = ("-p", "A385+739=", "--temp", 0, "-q")


class CommandTest(FetchTest, ProgramTest):
    """FetchTest brings the server and the environment, ProgramTest runs the binary."""

    def setUp(self):
        super().setUp()
        self.env["PLM_CACHE"] = str(self.folder)

    def fetch_with(self, *words):
        return ProgramTest.succeed(self, "fetch", *words, env=self.env)

    def listed(self):
        return {model["name"]: model for model in plm("models", "--json", env=self.env).json() if model["fetched"]}

    def expect_runs(self, name):
        self.assertEqual(plm("run", name, *RUN, env=self.env).out, "1124\n")

    def test_from_the_hub_to_an_answer_and_away(self):
        self.put_repository({"tiny-Q8_0.gguf": CONTENT, "tiny-Q4_K_M.gguf": CONTENT})
        ended = self.fetch_with("maker/model")
        place = self.folder / "hub" / "maker" / "model"
        self.assertEqual(ended.out, f"{place / 'tiny-Q4_K_M.gguf'}\n")
        self.assertIn("tiny-Q8_0.gguf", ended.err)
        self.expect_runs("maker/model")
        self.fetch_with("maker/model:q8_0")
        self.expect_runs("maker/model:Q8_0")
        self.assertEqual({name: model["source"] for name, model in self.listed().items()},
                         {"maker/model:tiny-Q4_K_M.gguf": "hub", "maker/model:tiny-Q8_0.gguf": "hub"})
        ProgramTest.fail_with(self, 3, "run", "maker/model", *RUN, env=self.env, says=["several", "tiny-Q8_0.gguf"])
        for tag in ("Q4_K_M", "Q8_0"):
            plm("models", "remove", f"maker/model:{tag}", env=self.env)
        self.assertEqual(self.listed(), {})
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_from_an_address(self):
        url = self.server.put("/some/tiny.gguf", CONTENT)
        self.fetch_with(url, "--name", "mine", "--sha256", sha256(CONTENT))
        self.expect_runs("mine")
        self.assertEqual(self.listed()["mine"], {"name": "mine", "path": str(self.folder / "mine.gguf"), "source": url,
                                                 "bytes": len(CONTENT), "fetched": True})
        ProgramTest.fail_with(self, 3, "run", url, *RUN, env=self.env, says=["plm fetch"])

    def test_endings_are_those_of_the_scripts(self):
        for words, code, says in ((("maker/model",), 3, "404"), (("nosuch",), 2, "unknown model"),
                                  ((self.server.base + "/x.gguf",), 3, "404"), (("a/b/c",), 2, "owner/repo"),
                                  (("minilm", "--sha256", "0"), 2, "--sha256"),
                                  (("maker/model", "--token-file", self.root / "none"), 3, "none")):
            ProgramTest.fail_with(self, code, "fetch", *words, env=self.env, says=[says])

    def test_what_is_here_is_used_in_place(self):
        ended = self.fetch_with(MODEL)
        self.assertEqual(ended.out, f"{MODEL}\n")
        self.assertIn("in place", ended.err)
        self.assertFalse(self.folder.exists())
        for path in ("./nosuch.gguf", "/no/such.gguf", "../nosuch", "~/nosuch.gguf"):
            ProgramTest.fail_with(self, 3, "fetch", path, env=self.env, says=["no such file", "owner/repo"])
        self.assertEqual(self.server.requests, [])

    def test_modules_of_the_current_folder_are_not_run(self):
        (self.root / "json.py").write_text("raise SystemExit(77)")
        url = self.server.put("/tiny.gguf", CONTENT)
        ended = subprocess.run(command("fetch", url), cwd=self.root, env=self.env, capture_output=True, timeout=60,
                               check=False)
        self.assertEqual(ended.returncode, 0, ended.stderr)

    def test_an_interrupt_keeps_what_has_arrived(self):
        url = self.server.put("/tiny.gguf", CONTENT, endings=[("stall", 500_000)])
        partial = self.folder / ".partial" / "tiny.gguf.partial"
        for number in (signal.SIGINT, signal.SIGTERM):
            self.server.stalled.clear()
            self.server.paths["/tiny.gguf"].endings = [("stall", 500_000)]
            with subprocess.Popen(command("fetch", url), env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  text=True) as process:
                self.assertTrue(self.server.stalled.wait(20))
                self.wait_for(lambda: partial.exists() and partial.stat().st_size > 0)
                process.send_signal(number)
                out, err = process.communicate(timeout=30)
            self.assertEqual((process.returncode, out), (130, ""))
            self.assertIn("the same command goes on", err)
        self.assertIn("unfinished", plm("models", env=self.env).out)
        self.fetch_with(url)
        self.assertEqual((self.folder / "tiny.gguf").read_bytes(), CONTENT)
        self.assertNotIn("unfinished", plm("models", env=self.env).out)


if __name__ == "__main__":
    unittest.main()
