"""A web server on this machine for the tests of `plm fetch`, and the run of the script against it."""

import contextlib
import dataclasses
import hashlib
import http.server
import io
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from unittest import mock

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tools" / "fetch_model.py"
sys.path.insert(0, str(SCRIPT.parent))
import fetch_hub  # noqa: E402, F401  (for the tests that import this module)
import fetch_model  # noqa: E402

ETAG, TOKEN = '"first"', "hf_secret"
MODEL = b"GGUF" + bytes(range(256)) * 1000
STALL_S = 20


def address(place, scheme="http"):
    return f"{scheme}://{place}"


@dataclasses.dataclass
class Served:
    """What a path answers. `endings` are used up one by one, before the plain content: a status, ("cut", bytes sent),
    ("stall", bytes sent)."""
    content: bytes = b""
    etag: str = ETAG
    headers: dict = dataclasses.field(default_factory=dict)
    status: int = 200
    endings: list = dataclasses.field(default_factory=list)
    ranges: bool = True
    says_length: bool = True


class Server:
    def __init__(self):
        self.paths, self.requests, self.stalled = {}, [], threading.Event()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                outer.answer(self)

            def log_message(self, *_):
                pass

        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.place = f"127.0.0.1:{self.http.server_port}"
        self.base = address(self.place)
        threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True).start()

    def close(self):
        self.http.shutdown()
        self.http.server_close()

    def put(self, path, content=b"", **served):
        self.paths[path] = Served(content, **served)
        return self.base + path

    def redirect(self, path, target, status=302, **headers):
        return self.put(path, status=status, headers={"Location": target, **headers})

    def asked(self, path):
        return [headers for asked, headers in self.requests if asked == path]

    def answer(self, handler):
        self.requests.append((handler.path, dict(handler.headers)))
        served = self.paths.get(handler.path, Served(status=404))
        ending = served.endings.pop(0) if served.endings else None
        if isinstance(ending, int):
            self.send(handler, ending, {"Retry-After": "0"}, b"")
            return
        status, headers, start = served.status, dict(served.headers), 0
        asked = re.fullmatch(r"bytes=(\d+)-", handler.headers.get("Range", ""))
        if asked and served.ranges and handler.headers.get("If-Range", served.etag) == served.etag:
            start = int(asked[1])
            status = 206 if start < len(served.content) else 416
            size = len(served.content)
            headers["Content-Range"] = f"bytes {start}-{size - 1}/{size}" if status == 206 else f"bytes */{size}"
        if served.etag:
            headers["ETag"] = served.etag
        body = served.content[start:]
        if served.says_length:
            headers["Content-Length"] = str(len(body))
        how, sent = ending or ("all", len(body))
        self.send(handler, status, headers, body[:sent])
        if how == "stall":
            self.stalled.set()
            time.sleep(STALL_S)

    @staticmethod
    def send(handler, status, headers, body):
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.end_headers()
        try:
            handler.wfile.write(body)
            handler.wfile.flush()
        except OSError:
            pass  # the other side has seen enough


class FetchTest(unittest.TestCase):
    """A server, a folder for models, and the script with neither token nor proxy from outside."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = pathlib.Path(scratch.name)
        self.folder = self.root / "cache"
        self.server = self.start_server()
        self.env = {"PATH": os.environ.get("PATH", ""), "HOME": str(self.root), "HF_ENDPOINT": self.server.base,
                    "PYTHONDONTWRITEBYTECODE": "1"}

    def start_server(self):
        server = Server()
        self.addCleanup(server.close)
        return server

    def give_token(self, text=TOKEN):
        path = self.root / ".cache" / "huggingface" / "token"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
        return path

    def arguments(self, *words):
        return ["--backoff", "0.01", "--timeout", "5", *map(str, words[1:]), "--", str(words[0]), str(self.folder)]

    def start(self, *words):
        """The script in a process of its own, for what a function cannot show."""
        return subprocess.Popen([sys.executable, str(SCRIPT), *self.arguments(*words)], env=self.env, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def fetch(self, *words, **env):
        """The script in this process, which is quicker."""
        out, err = io.StringIO(), io.StringIO()
        before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            with mock.patch.dict(os.environ, {**self.env, **env}, clear=True), contextlib.redirect_stdout(out), \
                    contextlib.redirect_stderr(err):
                code = fetch_model.main(self.arguments(*words))
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
        self.assertNotIn(TOKEN, out.getvalue() + err.getvalue())
        return subprocess.CompletedProcess(words, code, out.getvalue(), err.getvalue())

    def succeed(self, *words, **env):
        """The path that was printed."""
        result = self.fetch(*words, **env)
        self.assertEqual(result.returncode, 0, result.stderr)
        return pathlib.Path(result.stdout.removesuffix("\n"))

    def fail_with(self, code, *words, says=(), **env):
        result = self.fetch(*words, **env)
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertEqual(result.stdout, "")
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        for word in says:
            self.assertIn(word, result.stderr)
        return result

    def files(self):
        """All that lies in the folder."""
        return sorted(str(path.relative_to(self.folder)) for path in self.folder.rglob("*") if path.is_file())

    def interrupt(self, number, *words):
        """Starts a fetch, interrupts it once the server stalls; its exit code and words."""
        self.server.stalled.clear()
        with self.start(*words) as process:
            self.assertTrue(self.server.stalled.wait(20))
            self.wait_for(lambda: any(path.is_file() and path.stat().st_size
                                      for path in self.folder.rglob("*.partial")))
            process.send_signal(number)
            out, err = process.communicate(timeout=30)
        self.assertEqual(out, "")
        return process.returncode, err

    def wait_for(self, condition):
        deadline = time.monotonic() + 20
        while not condition():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)

    def put_repository(self, files, name="maker/model", **served):
        """Serves a repository as the hub does: large files by SHA-256, small ones by git's SHA-1."""
        listing = []
        for path, content in files.items():
            git = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
            entry = {"type": "file", "path": path, "size": len(content), "oid": git}
            if path.endswith((".gguf", ".safetensors")):
                entry["lfs"] = {"oid": sha256(content), "size": len(content)}
            listing.append(entry)
            self.server.put(f"/{name}/resolve/main/{path}", content, **served)
        listing.append({"type": "directory", "path": "folder", "size": 0, "oid": "0" * 40})
        self.put_listing(listing, name)
        return listing

    def put_listing(self, listing, name="maker/model", **served):
        self.server.put(listing_path(name), json.dumps(listing).encode(), **served)


def listing_path(name="maker/model"):
    return f"/api/models/{name}/tree/main?recursive=1"


def sha256(content):
    return hashlib.sha256(content).hexdigest()
