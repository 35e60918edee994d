"""What all ways of fetching share: how they end, what they show, room on disk, checksums.

Part of `plm fetch` (tools/fetch_model.py says how the parts reach the program). Tested by
tests/tools/test_fetch_model.py and tests/tools/test_fetch_http.py.
"""

import hashlib
import shutil
import sys
import time

FAILED, USAGE, BAD_FILE, NO_ROOM, NETWORK, INTERRUPTED = 1, 2, 3, 4, 5, 130
CHUNK_BYTES = 1 << 20
BAR_CELLS = 24
REDRAW_S = 0.1


class Failure(Exception):
    """What went wrong, in one sentence, and the exit code that says so."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


def megabytes(count):
    return f"{count / 1e6:.0f} MB" if count >= 1e7 else f"{count / 1e6:.1f} MB"


def tell(message):
    """A line on stderr. What servers say may be in it, so nothing that could steer a terminal gets through."""
    print("".join(letter if letter.isprintable() else "?" for letter in message), file=sys.stderr, flush=True)


class Progress:
    """One line on stderr that is written over; silent when stderr is not a terminal."""

    def __init__(self, name):
        self.name = name
        self.shown = sys.stderr.isatty()
        self.drawn_s = 0.0

    def say(self, text):
        if self.shown:
            room = max(shutil.get_terminal_size().columns - 1, 20)
            print(f"\r\033[K{f'{self.name}: {text}'[:room]}", end="", file=sys.stderr, flush=True)

    def bar(self, done, total, speed):
        """Bytes so far, of `total` (0: unknown), at `speed` bytes per second."""
        now = time.monotonic()
        if not self.shown or now - self.drawn_s < REDRAW_S:
            return
        self.drawn_s = now
        rate = f"{speed / 1e6:.1f} MB/s"
        if total == 0:
            self.say(f"{megabytes(done)}, {rate}")
            return
        cells = BAR_CELLS * done // total
        left_s = int((total - done) / speed) if speed > 0 else 0
        left = f"{left_s // 60}:{left_s % 60:02} left" if left_s < 36000 else f"{left_s // 3600} hours left"
        self.say(f"[{'=' * cells}{' ' * (BAR_CELLS - cells)}] {done / 1e6:.0f} of {megabytes(total)}, {rate}, {left}")

    def clear(self):
        if self.shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def check_room(folder, needed):
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise Failure(NO_ROOM, f"{folder}: {megabytes(free)} free, {megabytes(needed)} needed while fetching; "
                               "make room or set PLM_CACHE to another folder")


def digest_of(path, digest=None):
    """Hexadecimal digest of a file; SHA-256 unless another one has been started."""
    digest = digest or hashlib.sha256()
    with open(path, "rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()
