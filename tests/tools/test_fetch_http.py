"""Tests of tools/fetch_http.py: single files from a server on this machine, and every way in which that goes wrong."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import unittest

from fetch_server import ETAG, MODEL, SCRIPT, TOKEN, FetchTest, address, sha256


class AddressTest(FetchTest):
    def setUp(self):
        super().setUp()
        self.url = self.server.put("/a/model.gguf", MODEL)
        self.served = self.server.paths["/a/model.gguf"]
        self.target = self.folder / "model.gguf"
        self.partial = self.folder / ".partial" / "model.gguf.partial"

    def expect_whole(self, *words, requests=1):
        before = len(self.server.requests)
        self.assertEqual(self.succeed(self.url, *words), self.target)
        self.assertEqual(self.target.read_bytes(), MODEL)
        self.assertEqual(self.files(), [".model.gguf.json", "model.gguf"])
        self.assertFalse((self.folder / ".partial").exists())
        self.assertEqual(len(self.server.requests) - before, requests)

    def leave_part(self, sent=100_000, number=signal.SIGINT):
        self.served.endings = [("stall", sent)]
        code, words = self.interrupt(number, self.url)
        self.assertEqual(code, 130)
        self.assertGreater(self.partial.stat().st_size, 0)
        return words

    def test_plain(self):
        self.expect_whole()
        note = json.loads((self.folder / ".model.gguf.json").read_text())
        self.assertEqual((note["source"], note["bytes"], note["sha256"]), (self.url, len(MODEL), sha256(MODEL)))

    def test_what_is_here_and_whole_is_not_asked_for(self):
        self.expect_whole()
        self.expect_whole(requests=0)
        self.target.write_bytes(MODEL[:-1] + b"?")
        self.expect_whole(requests=1)

    def test_a_server_that_does_not_say_the_size(self):
        self.served.says_length = False
        self.expect_whole()

    def test_names(self):
        self.assertEqual(self.succeed(self.url, "--name", "mine"), self.folder / "mine.gguf")
        self.assertEqual(self.succeed(self.server.put("/get?id=3", MODEL), "--name", "third.gguf").name, "third.gguf")
        self.assertEqual(self.succeed(self.server.put("/notes.txt", b"words")).read_bytes(), b"words")
        self.assertEqual(self.succeed(self.server.put("/a%20b.gguf", MODEL)).name, "a b.gguf")
        for path in ("/", "/..", "/.gguf", "/%2e%2e%2f%2e%2e%2fb.gguf/..", "/a%0Ab", "/..%5Cb"):
            self.fail_with(2, self.server.base + path, says=["--name"])
        for name in ("../b", "a/b", "..", ".hidden", "a\\b", "a\x1b[2J", "x" * 300):
            self.fail_with(2, self.url, "--name", name, says=["--name"])
        self.assertEqual([path.name for path in self.root.iterdir()], ["cache"])

    def test_what_came_from_elsewhere_is_not_overwritten(self):
        self.expect_whole()
        other = self.server.put("/b/model.gguf", MODEL + b"more")
        self.fail_with(2, other, says=["model.gguf", self.url, "--name"])
        self.fail_with(2, self.url + "?key=2", says=["model.gguf"])
        (self.folder / "mine.gguf").write_bytes(b"GGUF of somebody")
        self.fail_with(2, self.url, "--name", "mine", says=["mine.gguf", "elsewhere"])
        self.assertEqual((self.folder / "mine.gguf").read_bytes(), b"GGUF of somebody")

    def test_split_files_come_whole(self):
        parts = [MODEL, MODEL[:999], MODEL[:50]]
        for number, part in enumerate(parts, 1):
            self.server.put(f"/big-{number:05}-of-00003.gguf", part)
        first = self.succeed(self.server.base + "/big-00001-of-00003.gguf")
        self.assertEqual(first, self.folder / "big-00001-of-00003.gguf")
        for number, part in enumerate(parts, 1):
            self.assertEqual((self.folder / f"big-{number:05}-of-00003.gguf").read_bytes(), part)
        self.fail_with(2, self.server.base + "/big-00002-of-00003.gguf", says=["first part"])

    def test_redirects(self):
        for status in (301, 302, 303, 307, 308):
            self.server.redirect("/short.gguf", self.url, status)
            path = self.succeed(self.server.base + "/short.gguf", "--name", f"by-{status}")
            self.assertEqual(path.read_bytes(), MODEL)
        self.server.redirect("/relative.gguf", "a/model.gguf")
        self.assertEqual(self.succeed(self.server.base + "/relative.gguf").read_bytes(), MODEL)

    def test_redirects_that_are_not_followed(self):
        self.server.redirect("/round.gguf", "/round.gguf")
        self.fail_with(5, self.server.base + "/round.gguf", says=["5 redirects"])
        self.assertEqual(len(self.server.asked("/round.gguf")), 6)
        for target in ("file:///etc/passwd", address("h/x.gguf", "ftp"), address("u:p@h/x.gguf"), address("[bad")):
            self.server.redirect("/away.gguf", target)
            self.fail_with(5, self.server.base + "/away.gguf", says=["redirected", "not followed"])
        self.assertEqual(self.files(), [])

    def test_interrupt_and_resume(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            words = self.leave_part(number=number)
            self.assertIn("kept", words)
            self.assertIn("same command", words)
            have = self.partial.stat().st_size
            self.expect_whole()
            asked = self.server.asked("/a/model.gguf")[-1]
            self.assertEqual((asked["Range"], asked["If-Range"]), (f"bytes={have}-", ETAG))
            self.target.unlink()

    def test_a_file_that_changed_starts_over(self):
        self.leave_part()
        self.served.content, self.served.etag = MODEL[:4] + MODEL[:3:-1], '"second"'
        self.succeed(self.url)
        self.assertEqual(self.target.read_bytes(), self.served.content)

    def test_a_server_that_forgets_to_compare_is_noticed(self):
        self.leave_part()
        self.served.content = MODEL[:4] + MODEL[:3:-1]
        self.served.headers["ETag"] = '"second"'  # says so, and sends the range of the new file nevertheless
        self.served.etag = ""
        self.server.paths["/a/model.gguf"].etag = ""
        result = self.succeed(self.url)
        self.assertEqual(result.read_bytes(), self.served.content)

    def test_without_ranges_or_marks_it_starts_over(self):
        self.leave_part()
        self.served.ranges = False
        self.expect_whole()
        self.target.unlink()
        self.served.ranges, self.served.etag = True, ""
        self.leave_part()
        self.expect_whole()
        self.assertNotIn("Range", self.server.asked("/a/model.gguf")[-1])

    def test_a_part_that_is_the_whole_file(self):
        self.leave_part()
        self.partial.write_bytes(MODEL)
        self.expect_whole()

    def test_a_part_of_another_file_is_noticed_by_the_checksum(self):
        self.served.endings = [("stall", 100_000)]
        self.assertEqual(self.interrupt(signal.SIGINT, self.url, "--sha256", sha256(MODEL))[0], 130)
        self.partial.write_bytes(b"GGUF, but another one")
        self.expect_whole("--sha256", sha256(MODEL), requests=2)

    def test_lost_connections_are_taken_up_again(self):
        self.served.endings = [("cut", 50_000), ("cut", 50_000), 500, ("cut", 0), 429, 503]
        self.served.endings.insert(3, ("cut", 60_000))
        self.fail_with(5, self.url, says=["429", "6 times"])  # small steps do not count as progress
        self.assertEqual(self.partial.stat().st_size, 160_000)
        self.expect_whole(requests=2)
        self.assertEqual(self.server.asked("/a/model.gguf")[-1]["Range"], "bytes=160000-")

    def test_large_steps_are_progress(self):
        content = b"GGUF" + os.urandom(12 << 20)
        url = self.server.put("/large.gguf", content, endings=[("cut", 3 << 19)] * 7)
        self.assertEqual(self.succeed(url).read_bytes(), content)

    def test_a_server_that_is_silent_is_given_up(self):
        self.served.endings = [("stall", 1000)] * 2
        self.assertEqual(self.succeed(self.url, "--timeout", 0.5).read_bytes(), MODEL)
        self.assertGreaterEqual(len(self.server.requests), 3)

    def test_checksums(self):
        self.expect_whole("--sha256", sha256(MODEL).upper())
        self.fail_with(2, self.url, "--sha256", "12", says=["64"])
        self.target.unlink()
        self.fail_with(3, self.url, "--sha256", "0" * 64, says=["SHA-256", sha256(MODEL), "0" * 64, "removed"])
        self.assertEqual(self.files(), [".model.gguf.json"])

    def test_the_hub_promises_size_and_checksum_in_headers(self):
        self.server.redirect("/x.gguf", self.url, **{"X-Linked-Size": str(len(MODEL)), "X-Linked-ETag": "0" * 64})
        self.fail_with(3, self.server.base + "/x.gguf", says=["SHA-256", "0" * 64])
        self.server.redirect("/x.gguf", self.url, **{"X-Linked-Size": "7"})
        self.fail_with(3, self.server.base + "/x.gguf", says=[str(len(MODEL)), "7"])
        other = self.start_server()
        self.assertEqual(self.succeed(self.server.base + "/x.gguf", HF_ENDPOINT=other.base).read_bytes(), MODEL)

    def test_pages_and_empty_files_are_no_models(self):
        self.fail_with(3, self.server.put("/page.gguf", b"<!doctype html>"), says=["page.gguf", "GGUF", "web page"])
        self.fail_with(3, self.server.put("/none.gguf", b""), says=["none.gguf", "empty"])
        self.assertEqual(self.files(), [])

    def test_answers_that_are_not_the_file(self):
        for status, code, word in ((404, 3, "spelling"), (410, 3, "spelling"), (401, 5, "refuses"),
                                   (403, 5, "refuses"), (418, 5, "418"), (204, 5, "204"), (304, 5, "304")):
            url = self.server.put(f"/s{status}.gguf", status=status)
            self.fail_with(code, url, says=[f"s{status}.gguf", str(status), word])
        self.fail_with(5, self.server.put("/busy.gguf", status=503), says=["503", "6 times", "later"])
        self.assertEqual(len(self.server.asked("/busy.gguf")), 6)
        self.assertEqual(self.files(), [])

    def test_no_room(self):
        self.served.says_length = False
        self.served.headers = {"Content-Length": str(1 << 50)}
        self.fail_with(4, self.url, says=["free", "needed", "PLM_CACHE"])

    def test_nobody_there(self):
        with socket.socket() as closed:
            closed.bind(("127.0.0.1", 0))
            place = f"127.0.0.1:{closed.getsockname()[1]}"
            started = time.monotonic()
            result = self.fail_with(5, address(place + "/m.gguf"),
                                    says=["m.gguf", place, "no connection", "check the address", "this machine"])
            self.assertNotIn("HF_ENDPOINT", result.stderr)  # no hub was asked
            self.fail_with(5, "maker/model", says=["maker/model", place, "no connection", "HF_ENDPOINT"],
                           HF_ENDPOINT=address(place))
            self.assertLess(time.monotonic() - started, 10)
        self.assertEqual(self.files(), [])

    def test_addresses_that_are_none(self):
        for model in (address("h/m.gguf", "ftp"), address("/etc/passwd", "file"), address("/m.gguf"),
                      address("h:99999/m.gguf"), address("[bad/m.gguf")):
            self.fail_with(2, model, says=["address"])
        result = self.fail_with(2, address("me:hush@h/m.gguf"), says=["--token-file"])
        self.assertNotIn("hush", result.stderr)
        self.assertNotIn("hush", self.fail_with(2, address("me:hush@[bad/m.gguf")).stderr)

    def test_progress_is_for_terminals(self):
        self.served.content = MODEL * 20
        self.served.endings = [("cut", 3 << 20), ("cut", 100)]
        terminal, end = os.openpty()
        with subprocess.Popen([sys.executable, str(SCRIPT), *self.arguments(self.url)], env=self.env, stderr=end,
                              stdout=subprocess.DEVNULL) as process:
            os.close(end)
            shown = b""
            while chunk := self.read_terminal(terminal):
                shown += chunk
        os.close(terminal)
        self.assertEqual(process.returncode, 0, shown)
        self.assertRegex(shown, rb"model.gguf: \[=* *\] \d+ of 5.1 MB, [\d.]+ MB/s, 0:\d\d left")
        self.assertIn(b"trying again", shown)
        self.assertTrue(shown.endswith(b"\r\x1b[K"), "the line is wiped at the end")
        self.assertEqual(self.fetch(self.url, "--name", "quiet").stderr, "")

    @staticmethod
    def read_terminal(terminal):
        try:
            return os.read(terminal, 1 << 16)
        except OSError:  # how Linux says that the other end is closed
            return b""

    def test_one_at_a_time(self):
        self.served.endings = [("stall", 1000)]
        with self.start(self.url) as first:
            self.assertTrue(self.server.stalled.wait(20))
            self.wait_for(self.partial.exists)
            self.fail_with(1, self.url, says=["another plm"])
            first.terminate()


class TokenTest(FetchTest):
    def setUp(self):
        super().setUp()
        self.other = self.start_server()
        self.other.put("/blob", MODEL)
        self.server.redirect("/m.gguf", self.other.base + "/blob")
        self.server.redirect("/step.gguf", "/m.gguf")

    def seen(self, server, path):
        return [headers.get("Authorization") for headers in server.asked(path)]

    def test_only_the_hub_sees_it(self):
        self.give_token()
        self.succeed(self.server.base + "/step.gguf")
        self.assertEqual(self.seen(self.server, "/step.gguf") + self.seen(self.server, "/m.gguf"),
                         [f"Bearer {TOKEN}"] * 2)
        self.assertEqual(self.seen(self.other, "/blob"), [None])
        self.other.put("/away.gguf", MODEL)
        self.succeed(self.other.base + "/away.gguf")
        self.assertEqual(self.seen(self.other, "/away.gguf"), [None])

    def test_a_redirect_back_to_the_hub_shows_it_again(self):
        self.give_token()
        self.other.redirect("/back.gguf", self.server.put("/real.gguf", MODEL))
        self.succeed(self.other.base + "/back.gguf")
        self.assertEqual((self.seen(self.other, "/back.gguf"), self.seen(self.server, "/real.gguf")),
                         ([None], [f"Bearer {TOKEN}"]))

    def test_where_it_is_looked_for(self):
        url = self.server.put("/plain.gguf", MODEL)
        places = {"HF_TOKEN_PATH": self.root / "one", "HF_HOME": self.root / "two",
                  "XDG_CACHE_HOME": self.root / "three"}
        for folder in (self.root / "two", self.root / "three" / "huggingface"):
            folder.mkdir(parents=True)
        self.give_token("of-home")
        (self.root / "one").write_text("of-path")
        (self.root / "two" / "token").write_text("of-hf-home\r\n")
        (self.root / "three" / "huggingface" / "token").write_text("of-xdg")
        (self.root / "chosen").write_text("chosen")
        for number, (words, env, token) in enumerate((
                ((), {}, "of-home"), ((), {"XDG_CACHE_HOME": 0}, "of-xdg"), ((), {"HF_HOME": 0}, "of-hf-home"),
                ((), {"HF_HOME": 0, "HF_TOKEN_PATH": 0}, "of-path"),
                (("--token-file", self.root / "chosen"), {"HF_TOKEN_PATH": 0}, "chosen"))):
            self.succeed(url, "--name", f"m{number}", *words, **{name: str(places[name]) for name in env})
            self.assertEqual(self.seen(self.server, "/plain.gguf")[-1], f"Bearer {token}")
        self.succeed(url, "--name", "none", HF_TOKEN_PATH="/dev/null")
        self.assertIsNone(self.seen(self.server, "/plain.gguf")[-1])

    def test_files_that_hold_none(self):
        url = self.server.put("/plain.gguf", MODEL)
        self.fail_with(3, url, "--token-file", self.root / "nowhere", says=["nowhere", "cannot be read"])
        for text in (b"two words", b"line\nline", b"x" * 600, b"\xff\xfe", b"a\x00b"):
            (self.root / "bad").write_bytes(text)
            self.fail_with(3, url, "--token-file", self.root / "bad", says=["bad", "no access token"])
        self.assertEqual(self.server.requests, [])

    def test_never_in_the_clear_over_a_network(self):
        self.give_token()
        hub = address("hub.invalid")
        for model in ("maker/model", hub + "/m.gguf"):
            self.fail_with(2, model, says=["in the clear", "HF_TOKEN_PATH"], HF_ENDPOINT=hub)
        self.other.redirect("/to-hub.gguf", hub + "/m.gguf")
        self.fail_with(2, self.other.base + "/to-hub.gguf", says=["in the clear"], HF_ENDPOINT=hub)
        self.succeed(self.server.put("/plain.gguf", MODEL), HF_ENDPOINT=hub)
        self.assertEqual(self.seen(self.server, "/plain.gguf"), [None])

    def test_never_to_a_proxy_on_the_way_to_this_machine(self):
        self.give_token()
        self.succeed(self.server.put("/plain.gguf", MODEL), http_proxy=self.other.base)
        self.assertEqual(self.other.requests, [])

    def test_a_chosen_token_for_another_server_is_a_mistake(self):
        self.fail_with(2, self.other.base + "/blob", "--token-file", self.give_token(), says=["--token-file", "hub"])


if __name__ == "__main__":
    unittest.main()
