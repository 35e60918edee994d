"""One file over HTTP: redirects, retries, resuming, size and checksum; the access token and who may see it.

What must stay true:
- the token goes to the hub's own scheme, host and port and nowhere else, whatever a server redirects to; over plain
  http only to this machine;
- only http and https are spoken, and never http after https;
- a file that arrived in part is continued only where the server proves that it is still the same one (If-Range with
  ETag or Last-Modified), or where its checksum is known and will be compared;
- nothing gets its final name before size and checksum, as far as known, are those that were promised.

Part of `plm fetch` (tools/fetch_model.py). Tested by tests/tools/test_fetch_http.py.
"""

import contextlib
import dataclasses
import fcntl
import hashlib
import http.client
import ipaddress
import json
import os
import pathlib
import re
import socket
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request

from fetch_basis import BAD_FILE, CHUNK_BYTES, FAILED, INTERRUPTED, NETWORK, USAGE
from fetch_basis import Failure, check_room, digest_of, megabytes

REDIRECTS, TRIES, WAIT_MOST_S = 5, 6, 60
READ_BYTES = 1 << 18
TEXT_BYTES = 32 << 20  # most that is read of an answer in JSON
GONE, REFUSED = (404, 410), (401, 403)
TRANSIENT = (408, 425, 429, 500, 502, 503, 504)
PORTS = {"http": 80, "https": 443}


@dataclasses.dataclass
class Patience:
    timeout_s: float = 30
    backoff_s: float = 1


@dataclasses.dataclass
class Token:
    """An access token, and the file that it came from; the text itself is never printed."""
    text: str = dataclasses.field(default="", repr=False)
    file: str = ""


class NoConnection(Failure):
    """The server cannot be reached at all; what to do about it is for those to say who know what was asked for."""


class Transient(Exception):
    """A trouble that may be gone at the next try; `moved` says that this try brought the file forward."""

    def __init__(self, message, wait_s=0, moved=False):
        super().__init__(message)
        self.wait_s = wait_s
        self.moved = moved


def origin(address):
    """Scheme, host and port: what must be equal for two addresses to be one server."""
    try:
        parts = urllib.parse.urlsplit(address)
        host, port = parts.hostname, parts.port or PORTS.get(parts.scheme)
    except ValueError:
        raise Failure(USAGE, "an address that cannot be read; expected scheme, host and path") from None
    if parts.scheme not in PORTS or not host:
        raise Failure(USAGE, f"{shown(address)}: neither an http nor an https address")
    if parts.username is not None or parts.password is not None:
        raise Failure(USAGE, f"{shown(address)}: a name or password in an address can be read by others; "
                             "the hub's token is taken from a file (--token-file)")
    return parts.scheme, host, port


def is_loopback(address):
    """Whether an address is one of this machine, as far as it can be told without asking anybody."""
    host = origin(address)[1]
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def shown(address):
    """An address as messages name it: without name and password, and without the query, which may hold a key."""
    parts = urllib.parse.urlsplit(address)
    return f"{parts.scheme}:{'//' if parts.netloc else ''}{parts.netloc.rpartition('@')[2]}{parts.path}"


def next_address(address, location):
    """Where a redirect leads to."""
    try:
        target = urllib.parse.urljoin(address, location)
        scheme = origin(target)[0]
    except (ValueError, Failure):
        raise Failure(NETWORK, f"{shown(address)}: redirected to no http or https address; not followed") from None
    if scheme == "http" and origin(address)[0] == "https":
        raise Failure(NETWORK, f"{shown(address)}: redirected from https to http; not followed")
    return target


class AnyStatus(urllib.request.HTTPErrorProcessor):
    """Hands every answer back, redirects and errors too."""

    def http_response(self, request, response):
        return response

    https_response = http_response


class Access:
    """How servers are spoken to."""

    def __init__(self, hub, token, patience):
        self.hub = hub
        self.token = token
        self.patience = patience
        self.opener = urllib.request.build_opener(AnyStatus)
        self.direct = urllib.request.build_opener(AnyStatus, urllib.request.ProxyHandler({}))  # to this machine

    def is_hub(self, address):
        return origin(address) == origin(self.hub)

    def open(self, address, extra=None):
        """The answer behind the redirects, and what the hub said about the file on the way (X-Linked-...)."""
        linked = {}
        for _ in range(REDIRECTS + 1):
            headers = {"User-Agent": "palimpsest", "Accept-Encoding": "identity", **(extra or {})}
            if self.token.text and self.is_hub(address):
                headers["Authorization"] = self.credentials(address)
            answer = self.ask(address, headers)
            if self.is_hub(address):
                linked.update({key.lower(): value for key, value in answer.headers.items()
                               if key.lower() in ("x-linked-size", "x-linked-etag")})
            if answer.status not in (301, 302, 303, 307, 308):
                return answer, linked
            with answer:
                address = next_address(address, answer.headers.get("Location", ""))
        raise Failure(NETWORK, f"{shown(address)}: more than {REDIRECTS} redirects; not followed further")

    def credentials(self, address):
        if origin(address)[0] == "http" and not is_loopback(address):
            raise Failure(USAGE, f"{self.hub}: an access token ({self.token.file}) would cross the network in the "
                                 "clear; use an https address in HF_ENDPOINT, or HF_TOKEN_PATH=/dev/null to go without "
                                 "the token")
        return f"Bearer {self.token.text}"

    def ask(self, address, headers):
        opener = self.direct if is_loopback(address) else self.opener
        with network_troubles(address):
            # A server may leave blanks and letters beyond ASCII in the place it redirects to.
            quoted = urllib.parse.quote(address, safe="/:?#[]@!$&'()*+,;=%~-._")
            return opener.open(urllib.request.Request(quoted, headers=headers), timeout=self.patience.timeout_s)

    def patiently(self, work, progress):
        """work(), again and again while its trouble may pass and, each time, a while later."""
        tries = 0
        while True:
            try:
                return work()
            except Transient as trouble:
                tries = 1 if trouble.moved else tries + 1
                if tries >= TRIES:
                    raise Failure(NETWORK, f"{trouble}, {tries} times in a row; try again later, what has arrived is "
                                           "kept") from None
                wait_s = min(max(self.patience.backoff_s * 2 ** (tries - 1), trouble.wait_s), WAIT_MOST_S)
                progress.say(f"trying again in {wait_s:.0f} s ({trouble})")
                time.sleep(wait_s)

    def read_text(self, address, progress, describe):
        """An answer in JSON, its headers, and `describe`d trouble."""
        def work():
            answer, _ = self.open(address, {"Accept": "application/json"})
            with answer, network_troubles(address):
                if answer.status != 200:
                    raise describe(answer)
                text = answer.read(TEXT_BYTES + 1)
                if len(text) < number(answer.headers.get("Content-Length", "")):
                    raise Transient(f"{shown(address)}: the connection ended early")
            if len(text) > TEXT_BYTES:
                raise Failure(BAD_FILE, f"{shown(address)}: an answer of more than {megabytes(TEXT_BYTES)}")
            return text, answer.headers
        text, headers = self.patiently(work, progress)
        try:
            return json.loads(text), headers
        except (ValueError, RecursionError):
            raise Failure(BAD_FILE, f"{shown(address)}: the answer is not JSON; is HF_ENDPOINT a model hub?") from None


@contextlib.contextmanager
def network_troubles(address):
    """Turns what the network layers raise into Transient, or into a Failure where another try is in vain."""
    host = urllib.parse.urlsplit(address).netloc
    try:
        yield
    except urllib.error.URLError as error:
        reason = error.reason
        if isinstance(reason, (TimeoutError, ConnectionResetError, BrokenPipeError)):
            raise Transient(f"{host}: {words_of(reason)}") from None
        if isinstance(reason, ssl.SSLCertVerificationError):
            raise Failure(NETWORK, f"{host}: its certificate cannot be trusted ({reason.verify_message}); check the "
                                   "clock and the system's certificates (SSL_CERT_FILE)") from None
        raise NoConnection(NETWORK, f"no connection to {host} ({words_of(reason)})") from None
    except (http.client.InvalidURL, UnicodeError) as error:
        raise Failure(USAGE, f"{shown(address)}: no address: {error}") from None
    except (OSError, http.client.HTTPException) as error:
        raise Transient(f"{host}: {words_of(error)}") from None


def words_of(reason):
    if isinstance(reason, (TimeoutError, socket.timeout)):
        return "no answer in time"
    if isinstance(reason, http.client.RemoteDisconnected):
        return "the connection was closed without an answer"
    return getattr(reason, "strerror", None) or str(reason) or type(reason).__name__


def describe_status(answer, what):
    """The trouble behind an answer that is not the file."""
    if answer.status in TRANSIENT:
        wait = answer.headers.get("Retry-After", "")
        return Transient(f"{what}: the server answers {answer.status}", float(wait) if re.fullmatch(r"\d{1,4}", wait)
                         else 0)
    if answer.status in GONE:
        return Failure(BAD_FILE, f"{what}: not there (the server answers {answer.status}); check the spelling")
    if answer.status in REFUSED:
        return Failure(NETWORK, f"{what}: the server refuses (it answers {answer.status}); tokens are sent to the hub "
                                "only, fetch the file by other means and give plm its path")
    return Failure(NETWORK, f"{what}: the server answers {answer.status}, expected 200")


@dataclasses.dataclass
class Wanted:
    """A file to be fetched; what is not known is 0 or empty."""
    name: str  # in messages
    address: str
    target: pathlib.Path
    bytes: int = 0
    sha256: str = ""
    git_sha1: str = ""  # of small files the hub knows git's name only
    describe: object = describe_status  # (answer, name) -> the trouble

    def is_whole(self, path):
        """Whether `path` is that file, as far as can be told."""
        return path.is_file() and not self.difference(path)

    def difference(self, path):
        """What is wrong with `path`; empty when nothing is."""
        size = path.stat().st_size
        if self.bytes and size != self.bytes:
            return f"has {size} bytes, expected {self.bytes}"
        if self.sha256 and (found := digest_of(path)) != self.sha256:
            return f"has SHA-256 {found}, expected {self.sha256}"
        if self.git_sha1 and not self.sha256:
            head = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
            if (found := digest_of(path, head)) != self.git_sha1:
                return f"has git SHA-1 {found}, expected {self.git_sha1}"
        return ""


class Download:
    """Brings one file to wanted.target. Until it is whole it is target.partial, with a memo beside it."""

    def __init__(self, wanted, access, progress):
        self.wanted = wanted
        self.access = access
        self.progress = progress
        self.partial = wanted.target.with_name(wanted.target.name + ".partial")
        self.memo_file = wanted.target.with_name(wanted.target.name + ".partial.json")
        self.promise = [wanted.bytes, wanted.sha256]  # before an answer adds to it
        self.started_s = time.monotonic()
        self.arrived = 0  # in this run
        self.resumed = False

    def run(self):
        self.wanted.target.parent.mkdir(parents=True, exist_ok=True)
        with open(self.partial, "ab") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise Failure(FAILED, f"{self.wanted.name}: another plm is fetching it already") from None
            try:
                self.fetch_and_check()
            except KeyboardInterrupt:
                kept = f"{megabytes(self.have())} of {self.wanted.name} are kept" if self.have() else "nothing was kept"
                raise Failure(INTERRUPTED, f"interrupted; {kept}, the same command goes on from there") from None
            finally:
                self.progress.clear()
                if self.have() == 0:
                    self.drop()
        os.replace(self.partial, self.wanted.target)
        self.memo_file.unlink(missing_ok=True)

    def fetch_and_check(self):
        self.access.patiently(self.fetch_rest, self.progress)
        self.progress.say("checking")
        wrong = self.wanted.difference(self.partial)
        if wrong and self.resumed:  # the part that lay here was another file's
            self.drop_content()
            self.resumed = False
            self.access.patiently(self.fetch_rest, self.progress)
            wrong = self.wanted.difference(self.partial)
        if wrong:
            self.drop()
            raise Failure(BAD_FILE, f"{self.wanted.name}: the fetched file {wrong}; it was removed, fetch again")

    def have(self):
        return self.partial.stat().st_size if self.partial.exists() else 0

    def drop_content(self):
        os.truncate(self.partial, 0)
        self.memo_file.unlink(missing_ok=True)

    def drop(self):
        self.partial.unlink(missing_ok=True)
        self.memo_file.unlink(missing_ok=True)

    def read_memo(self):
        """Whether the part that lies here belongs to this file; the server's mark of that file (it may be empty)."""
        try:
            memo = json.loads(self.memo_file.read_text(encoding="utf-8"))
            same = memo["address"] == mark_of(self.wanted.address)
            return same and memo["promise"] == self.promise, str(memo["validator"])
        except (OSError, ValueError, KeyError, TypeError):
            return False, ""

    def write_memo(self, validator):
        memo = {"address": mark_of(self.wanted.address), "promise": self.promise, "validator": validator}
        self.memo_file.write_text(json.dumps(memo), encoding="utf-8")

    def fetch_rest(self):
        """One try to bring what is missing."""
        wanted, have = self.wanted, self.have()
        known, validator = self.read_memo()
        if have and known and have == wanted.bytes:
            self.resumed = True
            return
        may_resume = have and known and (validator or wanted.sha256 or wanted.git_sha1)
        headers = {"Range": f"bytes={have}-"} if may_resume else {}
        if headers and validator:
            headers["If-Range"] = validator
        try:
            answer, linked = self.access.open(wanted.address, headers)
        except NoConnection as trouble:
            if self.arrived == 0:
                raise
            raise Transient(str(trouble)) from None  # there was one a moment ago
        with answer:
            if headers and answer.status == 416 and answer.headers.get("Content-Range", "") == f"bytes */{have}":
                self.resumed = True
                return
            start, total = self.read_head(answer, linked, have if headers else 0, validator)
            self.write_memo(validator_of(answer) or (validator if start > 0 else ""))
            check_room(wanted.target.parent, max(total - start, 0))
            os.truncate(self.partial, start)
            self.resumed = self.resumed or start > 0
            self.receive(answer, start, total)

    def read_head(self, answer, linked, asked, validator):
        """Where in the file the answer begins, and the size of the file (0: unknown)."""
        wanted, start, total = self.wanted, 0, 0
        length = number(answer.headers.get("Content-Length", ""))
        if answer.status == 206 and asked:
            place = re.fullmatch(r"bytes (\d{1,18})-\d{1,18}/(\d{1,18}|\*)", answer.headers.get("Content-Range", ""))
            start, total = (int(place[1]), number(place[2])) if place else (-1, 0)
            if start != asked or (validator and validator_of(answer) not in ("", validator)):
                self.drop_content()
                raise Transient(f"{wanted.name}: the server does not go on where it was asked to")
        elif answer.status == 416 and asked:
            self.drop_content()
            raise Transient(f"{wanted.name}: has become shorter at the server")
        elif answer.status == 200:
            total = length
        else:
            raise wanted.describe(answer, wanted.name)
        if answer.headers.get("Content-Encoding", "identity") != "identity":
            raise Failure(NETWORK, f"{wanted.name}: the server compresses it although asked not to")
        self.believe(linked)
        if total and wanted.bytes and total != wanted.bytes:
            raise Failure(BAD_FILE, f"{wanted.name}: the server has {total} bytes, expected {wanted.bytes}; "
                                    "the file there is not the promised one")
        return start, wanted.bytes or total

    def believe(self, linked):
        """Takes what the hub itself promises for a promise, where none was known."""
        etag = linked.get("x-linked-etag", "").strip('"')
        if not self.wanted.sha256 and re.fullmatch(r"[0-9a-f]{64}", etag):
            self.wanted.sha256 = etag
        if not self.wanted.bytes:
            self.wanted.bytes = number(linked.get("x-linked-size", ""))

    def receive(self, answer, start, total):
        """Appends the body to the part that ends at `start`."""
        wanted, size = self.wanted, start
        length = number(answer.headers.get("Content-Length", ""))
        end = start + length if length else -1  # a server that keeps the connection open is not waited for
        with open(self.partial, "ab", buffering=0) as file:
            try:
                while size != end and (chunk := self.next_chunk(answer)):
                    if size == 0 and wanted.target.suffix == ".gguf" and not chunk.startswith(b"GGUF"[:len(chunk)]):
                        raise Failure(BAD_FILE, f"{wanted.name}: does not begin as a GGUF file does; is the address "
                                                "that of a web page?")
                    size += len(chunk)
                    if total and size > total:
                        self.drop()
                        raise Failure(BAD_FILE, f"{wanted.name}: more than the promised {total} bytes arrive; the "
                                                "part was removed, fetch again")
                    file.write(chunk)
                    self.arrived += len(chunk)
                    self.progress.bar(size, total, self.speed())
                if total and size < total:
                    raise Transient(f"{wanted.name}: the connection ended after {size} of {total} bytes")
            except Transient as trouble:
                raise Transient(str(trouble), moved=size - start >= CHUNK_BYTES) from None
            os.fsync(file.fileno())
        if size == 0:
            raise Failure(BAD_FILE, f"{wanted.name}: the file at the server is empty")

    def next_chunk(self, answer):
        with network_troubles(self.wanted.address):
            return answer.read1(READ_BYTES)

    def speed(self):
        return self.arrived / max(time.monotonic() - self.started_s, 1e-3)


def validator_of(answer):
    """The server's mark of this very content: a strong ETag, else the date of its last change; may be empty."""
    etag = answer.headers.get("ETag", "")
    return etag if etag.startswith('"') else answer.headers.get("Last-Modified", "")


def mark_of(address):
    """An address in a form that gives nothing away (the query may hold a key)."""
    return hashlib.sha256(address.encode()).hexdigest()


def number(text):
    """A decimal number from a stranger; 0 when it is none."""
    return int(text) if re.fullmatch(r"\d{1,18}", text or "") else 0
