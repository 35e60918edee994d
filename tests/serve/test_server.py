"""plm serve as a program: its flags, its signals, clients over real sockets.

Run by ctest with PLM_BINARY set. Only the standard library.
"""

import http.client
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLM = os.environ.get("PLM_BINARY", str(ROOT / "build/release/plm"))
TWIN = str(ROOT / "models/twin-ar.gguf")
SUM = "A385+739="  # the twin goes on with 1124
WAIT_S = 60  # so that a failure ends; never reached otherwise


class Server:
    """A running `plm serve` on a free port."""

    def __init__(self, *flags, model=TWIN, context="4096"):
        words = [PLM, "serve", model, "--port", "0", "--threads", "1", "--context", context, *flags]
        self.process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
        self.lines, self.ready = [], threading.Event()
        self.reader = threading.Thread(target=self._read)
        self.reader.start()
        if not self.ready.wait(WAIT_S) or not hasattr(self, "port"):
            self.stop(signal.SIGKILL)
            raise AssertionError("".join(self.lines))

    def _read(self):
        for line in self.process.stderr:
            self.lines.append(line)
            if "serving " in line:
                self.port = int(line.rsplit(":", 1)[1])
                self.ready.set()
        self.ready.set()

    def stop(self, number=signal.SIGTERM):
        """Its exit code."""
        self.process.send_signal(number)
        code = self.process.wait(WAIT_S)
        self.reader.join()
        self.process.stderr.close()
        return code

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.stop()

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=WAIT_S)

    def ask(self, method, path, body=None, headers=None):
        """Status and body of a request on a connection of its own."""
        connection = self.connect()
        text = None if body is None else json.dumps(body)
        connection.request(method, path, text, {"Content-Type": "application/json", **(headers or {})})
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        return answer.status, data

    def post(self, path, body, headers=None):
        status, data = self.ask("POST", path, body, headers)
        return status, json.loads(data)

    def metric(self, name):
        _, data = self.ask("GET", "/metrics")
        return float(next(line.split()[-1] for line in data.decode().splitlines() if line.startswith(name + " ")))

    def becomes_idle(self):
        for _ in range(WAIT_S * 20):
            if self.metric("plm_texts_running") == 0 and self.metric("plm_texts_waiting") == 0:
                return True
            threading.Event().wait(0.05)
        return False


def refusal(*flags):
    """Exit code and words of a server that does not start."""
    done = subprocess.run([PLM, "serve", TWIN, "--port", "0", *flags], capture_output=True, text=True, timeout=WAIT_S,
                          check=False)
    return done.returncode, done.stderr


ENDLESS = {"prompt": SUM, "max_tokens": 3500, "stream": True, "ignore_eos": True}


class ServerTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("--parallel", "4")

    @classmethod
    def tearDownClass(cls):
        code = cls.server.stop()
        assert code == 0, code

    def test_a_connection_serves_many_requests(self):
        connection = self.server.connect()
        for _ in range(3):
            connection.request("POST", "/v1/completions", json.dumps({"prompt": SUM, "temperature": 0}))
            self.assertEqual(json.loads(connection.getresponse().read())["choices"][0]["text"], "1124")
        connection.close()

    def test_a_stream_comes_in_pieces_and_is_the_whole(self):
        body = {"prompt": "A1", "seed": 3, "temperature": 1.5, "max_tokens": 40, "ignore_eos": True}
        _, whole = self.server.post("/v1/completions", body)
        connection = self.server.connect()
        connection.request("POST", "/v1/completions", json.dumps({**body, "stream": True}))
        answer = connection.getresponse()
        self.assertEqual(answer.headers["content-type"], "text/event-stream")
        text, lines = "", []
        for line in answer:
            lines.append(line)
            if line.startswith(b"data: {"):
                text += json.loads(line[6:])["choices"][0]["text"]
        connection.close()
        self.assertEqual(text, whole["choices"][0]["text"])
        self.assertIn(b"data: [DONE]\n", lines)
        self.assertGreater(len(lines), 20)

    def test_clients_that_vanish_leave_nothing_behind(self):
        gone = self.server.metric("plm_clients_gone_total")
        for i in range(20):
            raw = socket.create_connection(("127.0.0.1", self.server.port), WAIT_S)
            text = json.dumps(ENDLESS)
            raw.sendall(f"POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(text)}\r\n\r\n{text}"
                        .encode())
            if i % 2:
                raw.recv(100)
            raw.close()
        self.assertTrue(self.server.becomes_idle())
        self.assertEqual(self.server.metric("plm_clients_gone_total"), gone + 20)

    def test_thirty_at_once_are_all_answered(self):
        answers = [None] * 30

        def ask(i):
            answers[i] = self.server.post("/v1/completions", {"prompt": SUM, "temperature": 0})

        threads = [threading.Thread(target=ask, args=(i,)) for i in range(len(answers))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for status, answer in answers:
            self.assertEqual(status, 200, answer)
            self.assertEqual(answer["choices"][0]["text"], "1124")

    def test_browsers_are_kept_out(self):
        self.assertEqual(self.server.ask("GET", "/v1/models", None, {"Host": "evil.example"})[0], 403)
        status, _ = self.server.ask("POST", "/v1/completions", {"prompt": "a"}, {"Origin": "null"})
        self.assertEqual(status, 403)
        status, page = self.server.ask("GET", "/", None, {"Accept": "text/html"})
        self.assertEqual(status, 200)
        self.assertIn(b"<!doctype html>", page)

    def test_says_one_line_of_json_for_each_request(self):
        self.server.ask("GET", "/health", None, {"X-Request-Id": "look-for-me"})
        for _ in range(WAIT_S * 20):
            found = [line for line in self.server.lines if "look-for-me" in line]
            if found:
                break
            threading.Event().wait(0.05)
        self.assertEqual(json.loads(found[0])["path"], "/health")


class StartTest(unittest.TestCase):
    def test_refuses_to_be_open_to_others_without_a_key(self):
        code, words = refusal("--host", "0.0.0.0")
        self.assertEqual(code, 2)
        self.assertIn("--api-key", words)

    def test_refuses_what_cannot_be(self):
        self.assertEqual(refusal("--host", "example.org", "--accept-open")[0], 2)
        self.assertEqual(refusal("--api-key", "")[0], 2)
        self.assertEqual(refusal("--api-key-file", "no/such/file")[0], 3)
        with socket.create_server(("127.0.0.1", 0)) as taken:
            code, words = refusal("--port", str(taken.getsockname()[1]))
        self.assertEqual(code, 5)
        self.assertIn("--port", words)
        done = subprocess.run([PLM, "serve", "no-such-model.gguf", "--port", "0"], capture_output=True, text=True,
                              timeout=WAIT_S, check=False)
        self.assertEqual(done.returncode, 3)

    def test_keys_from_a_file(self):
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as keys:
            keys.write("# who may ask\nfirst\nsecond\n")
            keys.flush()
            with Server("--api-key-file", keys.name) as server:
                self.assertEqual(server.ask("GET", "/v1/models")[0], 401)
                for key in ("first", "second"):
                    headers = {"Authorization": "Bearer " + key}
                    self.assertEqual(server.ask("GET", "/v1/models", None, headers)[0], 200)

    def test_finishes_what_is_under_way(self):
        server = Server("--parallel", "2")
        connection = server.connect()
        connection.request("POST", "/v1/completions", json.dumps({**ENDLESS, "max_tokens": 1500}))
        answer = connection.getresponse()
        answer.readline()
        server.process.send_signal(signal.SIGTERM)
        self.assertIn(b"[DONE]", answer.read())
        connection.close()
        self.assertEqual(server.process.wait(WAIT_S), 0)
        server.reader.join()
        server.process.stderr.close()

    def test_a_second_signal_ends_it_at_once(self):
        server = Server("--parallel", "1")
        connection = server.connect()
        connection.request("POST", "/v1/completions", json.dumps(ENDLESS))
        connection.getresponse().readline()
        server.process.send_signal(signal.SIGTERM)
        while not any("once more" in line for line in server.lines):
            threading.Event().wait(0.02)
        self.assertEqual(server.stop(), 130)
        connection.close()


if __name__ == "__main__":
    if not os.access(PLM, os.X_OK):
        sys.exit(f"{PLM}: no such program; build it first")
    unittest.main()
