"""Repositories of the model hub and single addresses: which files make up the model, and where they go.

A repository owner/repo lies at FOLDER/hub/owner/repo with its own file names, an address at FOLDER/NAME.gguf with a
note of its source beside it. What has not arrived in full lies below FOLDER/.partial at the same place; the files of
a model get their place when all of them are whole, the one that makes it a model last.

The hub is the address in the catalog, or HF_ENDPOINT. Its listing (api/models/OWNER/REPO/tree/main) gives path, size
and checksum of every file: SHA-256 of the large ones, git's SHA-1 of the small ones.

Part of `plm fetch` (tools/fetch_model.py). Tested by tests/tools/test_fetch_hub.py.
"""

import dataclasses
import json
import os
import pathlib
import re
import urllib.parse

from fetch_basis import BAD_FILE, NETWORK, USAGE, Failure, Progress, check_room, digest_of, tell
from fetch_http import REFUSED, Download, Token, Wanted, describe_status, mark_of, origin, shown

# Which quantisation is taken when none is asked for: the usual balance of size and quality first.
PREFERRED = ("Q4_K_M", "Q4_K_L", "Q4_K_XL", "Q4_K_S", "Q4_0", "Q4_1", "Q5_K_M", "Q5_K_S", "Q5_0", "Q6_K", "Q8_0",
             "MXFP4", "BF16", "F16", "F32")
NOT_A_MODEL = re.compile(r"mmproj|imatrix", re.IGNORECASE)  # GGUF files that go with a model
PART = re.compile(r"-(\d{5})-of-(\d{5})$")
OWNER_OR_REPO = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,95}")

# What a folder of safetensors needs, beside its weights: of the repository itself and of the numbered folders that
# sentence-transformers keeps its modules in.
FOLDER_FILES = re.compile(
    r"(?:config|generation_config|modules|config_sentence_transformers|sentence_\w+_config|special_tokens_map"
    r"|added_tokens|vocab|tokenizer[\w.-]*|chat_template[\w.-]*|processor_config|preprocessor_config)\.json"
    r"|[\w.-]+\.jinja|vocab\.txt|merges\.txt|(?:tokenizer|spiece|sentencepiece|sentencepiece\.bpe)\.model|tekken\.json"
    r"|(?:LICEN[CS]E|NOTICE)[\w.-]*"
    r"|\d+_\w+/(?:config\.json|model\.safetensors)|additional_chat_templates/[\w.-]+\.jinja")
WEIGHTS = re.compile(r"model(?:-\d{5}-of-\d{5})?\.safetensors(?:\.index\.json)?")
PATH_LENGTH = 1024
LISTING_PAGES = 100


@dataclasses.dataclass
class Repository:
    owner: str
    repo: str
    choice: str = ""  # a file, or a quantisation such as Q4_K_M

    @property
    def name(self):
        return f"{self.owner}/{self.repo}"


@dataclasses.dataclass
class RemoteFile:
    path: str
    bytes: int
    sha256: str
    git_sha1: str


def hub_address(usual):
    """HF_ENDPOINT, else the usual hub; without a slash at its end."""
    base = os.environ.get("HF_ENDPOINT", "").strip() or usual
    origin(base)
    return base.rstrip("/")


def find_token(chosen):
    """The token in --token-file, else in HF_TOKEN_PATH, else where the hub's own programs keep it."""
    home = os.environ.get("HF_HOME") or os.path.join(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "huggingface")
    path = pathlib.Path(chosen or os.environ.get("HF_TOKEN_PATH") or os.path.join(home, "token")).expanduser()
    try:
        with open(path, encoding="ascii") as file:
            text = file.read(4096).strip()
    except UnicodeError:
        text = "?" * 4096
    except OSError as error:
        if chosen:
            raise Failure(BAD_FILE, f"{path}: the access token cannot be read: {error.strerror}") from None
        text = ""
    if not re.fullmatch(r"[!-~]{0,512}", text):
        raise Failure(BAD_FILE, f"{path}: holds no access token; expected one line of at most 512 letters")
    return Token(text, str(path))


def repository_of(model, base):
    """The Repository that `model` names, as owner/repo[:choice] or as the address of its page; None: an address."""
    words = model
    if "://" in model:
        if origin(model) != origin(base):
            return None
        path = urllib.parse.unquote(urllib.parse.urlsplit(model).path).strip("/")
        words = re.sub(r"^([^/]+/[^/]+)/(?:blob|resolve|raw)/main/(.+)$", r"\1:\2", path)
        words = re.sub(r"^([^/]+/[^/]+)/tree/main/?$", r"\1", words)
        if ":" not in words and (words.count("/") != 1 or words.endswith(".gguf")):
            return None
    name, _, choice = words.partition(":")
    owner, _, repo = name.partition("/")
    for part in (owner, repo):
        if not OWNER_OR_REPO.fullmatch(part) or ".." in part:
            raise Failure(USAGE, f"{model}: found no owner/repo or owner/repo:FILE, no http(s) address, and no file of "
                                 "that name")
    return Repository(owner, repo, choice)


def safe_path(path):
    """Whether a path from a server stays below the folder that it is put into, on every file system."""
    parts = path.split("/")
    return (len(path) <= PATH_LENGTH and path.isprintable() and "\\" not in path and ":" not in path
            and all(part not in ("", ".", "..") and len(part.encode()) <= 240 for part in parts))


def describe_for(repository, access):
    """Tells what an answer of the hub means."""
    token = access.token

    def describe(answer, name):
        if answer.status not in REFUSED:
            return describe_status(answer, name)
        sent = f"the token in {token.file} was sent" if token.text else f"no token was found in {token.file}"
        return Failure(NETWORK, f"{name}: the hub refuses (it answers {answer.status}; {sent}): the repository may be "
                               f"gated, private or misspelt; accept its licence on the page of {repository.name} at "
                               "the hub and put an access token into that file (or --token-file FILE)")
    return describe


def list_files(repository, access, progress):
    """The files of a repository, as the hub lists them."""
    address = f"{access.hub}/api/models/{repository.name}/tree/main?recursive=1"
    describe = describe_for(repository, access)
    files = []
    for _ in range(LISTING_PAGES):
        page, headers = access.read_text(address, progress, lambda answer: describe(answer, repository.name))
        files += read_listing(repository, page)
        link = re.search(r'<([^>]+)>\s*;\s*rel="?next"?', headers.get("Link", ""))
        if link is None:
            return files
        address = urllib.parse.urljoin(address, link[1])
    raise Failure(BAD_FILE, f"{repository.name}: lists more than {LISTING_PAGES} pages of files")


def read_listing(repository, page):
    try:
        files = []
        for entry in page:
            if entry["type"] != "file":
                continue
            large = entry.get("lfs") or {}
            file = RemoteFile(str(entry["path"]), int(large.get("size", entry["size"])), str(large.get("oid", "")),
                              "" if large else str(entry.get("oid", "")))
            if not safe_path(file.path):
                raise Failure(BAD_FILE, f"{repository.name}: lists a file {file.path[:80]!r}, which would leave its "
                                        "folder; nothing was fetched")
            files.append(file)
        return files
    except (KeyError, TypeError, ValueError, AttributeError):
        raise Failure(BAD_FILE, f"{repository.name}: the listing of its files is not in the form that hubs "
                                "use") from None


def stem_of(path):
    """A GGUF file without folder, ending and number of its part."""
    return PART.sub("", path.rsplit("/", 1)[-1].removesuffix(".gguf"))


def has_tag(path, tag):
    """Whether a GGUF file is of the quantisation `tag`: as the end of its name, or as its folder."""
    folders, stem = path.lower().split("/")[:-1], stem_of(path).lower()
    return tag.lower() in folders or re.search(rf"(?:^|[-._]){re.escape(tag.lower())}$", stem) is not None


def parts_of(path, files):
    """The files of the split model that `path` is part of, or just that file."""
    split = PART.search(path.removesuffix(".gguf"))
    if split is None or not path.endswith(".gguf"):
        return [file for file in files if file.path == path]
    count, base = int(split[2]), path[:-len(split[0]) - len(".gguf")]
    wanted = [f"{base}-{number:05}-of-{split[2]}.gguf" for number in range(1, count + 1)] if count <= 1000 else []
    found = {file.path: file for file in files}
    missing = [name for name in wanted if name not in found]
    if missing or not wanted:
        raise Failure(BAD_FILE, f"{path}: part of {count}, but {missing[0] if missing else path} is not at the hub")
    return [found[name] for name in wanted]


def choose_gguf(repository, models):
    """The path of the GGUF file that is meant; the first part of a split one."""
    if repository.choice:
        fits = [path for path in models if has_tag(path, repository.choice)]
        if not fits:
            raise Failure(BAD_FILE, f"{repository.name}: no file or quantisation {repository.choice[:80]!r}; there is "
                                    + listed(models))
        return min(fits, key=lambda path: (len(path), path))
    for tag in PREFERRED:
        fits = [path for path in models if has_tag(path, tag)]
        if fits:
            return min(fits, key=lambda path: (len(path), path))
    return models[0]


def listed(paths, most=12):
    more = f" and {len(paths) - most} more" if len(paths) > most else ""
    return ", ".join(paths[:most]) + more


def choose(repository, files):
    """The files that make up the model, the one that names it first."""
    if any(file.path == repository.choice for file in files):
        return parts_of(repository.choice, files)
    models = sorted(file.path for file in files
                    if file.path.endswith(".gguf") and not NOT_A_MODEL.search(file.path.rsplit("/", 1)[-1])
                    and (not (part := PART.search(file.path.removesuffix(".gguf"))) or int(part[1]) == 1))
    if models:
        path = choose_gguf(repository, models)
        if not repository.choice and len(models) > 1:
            others = [other for other in models if other != path]
            tell(f"{repository.name}: taking {path}; {repository.name}:FILE takes another of {listed(others)}")
        return parts_of(path, files)
    if repository.choice:
        raise Failure(BAD_FILE, f"{repository.name}: no file {repository.choice[:80]!r}; there is "
                                + (listed(sorted(file.path for file in files)) or "none"))
    return choose_folder(repository, files)


def choose_folder(repository, files):
    """Configuration, tokeniser and weights of a repository without GGUF files; config.json first."""
    weights = [file for file in files if WEIGHTS.fullmatch(file.path)]
    if not weights:
        weights = [file for file in files if "/" not in file.path and file.path.endswith(".safetensors")]
    config = [file for file in files if file.path == "config.json"]
    if not weights or not config:
        raise Failure(BAD_FILE, f"{repository.name}: holds no model that plm can open: expected GGUF files, or "
                                "config.json with safetensors; found "
                                + (listed(sorted(file.path for file in files)) or "no files"))
    rest = [file for file in files if FOLDER_FILES.fullmatch(file.path) and file.path != "config.json"]
    return config + weights + rest


def fetch_repository(repository, folder, access):
    """Returns the path of the model: a GGUF file, else the folder."""
    place = pathlib.PurePath("hub", repository.owner, repository.repo)
    progress = Progress(repository.name)
    try:
        files = list_files(repository, access, progress)
        progress.clear()
        chosen = choose(repository, files)
        if chosen[0].bytes <= 0:
            raise Failure(BAD_FILE, f"{repository.name}: {chosen[0].path} is empty at the hub")
        describe = describe_for(repository, access)
        wanted = [Wanted(f"{repository.name}: {file.path}",
                         f"{access.hub}/{repository.name}/resolve/main/{urllib.parse.quote(file.path)}",
                         folder / ".partial" / place / file.path, file.bytes, file.sha256, file.git_sha1, describe)
                  for file in chosen if file.bytes > 0]
        progress.say("checking what is here")
        bring(wanted, folder, access, progress)
    finally:
        progress.clear()
    is_folder = chosen[0].path == "config.json" and len(chosen) > 1
    return folder / place if is_folder else folder / place / chosen[0].path


def bring(wanted, folder, access, progress):
    """Fetches what is missing of some files that make up one model, and moves them to their places."""
    staging = folder / ".partial"
    missing = [file for file in wanted if not file.is_whole(folder / file.target.relative_to(staging))]
    if not missing:
        return
    staging.mkdir(parents=True, exist_ok=True)
    loads = [Download(file, access, progress) for file in missing if not file.is_whole(file.target)]
    check_room(staging, sum(max(load.wanted.bytes - load.have(), 0) for load in loads))
    for number, load in enumerate(loads, 1):
        progress.name = load.wanted.name + (f" ({number} of {len(loads)})" if len(loads) > 1 else "")
        load.run()
    for file in reversed(missing):  # the first one makes the others a model
        target = folder / file.target.relative_to(staging)
        target.parent.mkdir(parents=True, exist_ok=True)
        os.replace(file.target, target)
        remove_empty_folders(file.target.parent, folder)


def remove_empty_folders(folder, above):
    while folder != above:
        try:
            folder.rmdir()
        except OSError:
            return  # something is in it
        folder = folder.parent


def fetch_address(options, access):
    """Fetches one file, or all parts of a split one, by address; returns the path of the (first) file."""
    address = options.model
    if options.sha256 and not re.fullmatch(r"[0-9a-fA-F]{64}", options.sha256):
        raise Failure(USAGE, f"--sha256 {options.sha256[:80]}: expected 64 hexadecimal digits")
    if options.token_file and not access.is_hub(address):
        raise Failure(USAGE, "--token-file: the token is for the hub, and this address is elsewhere; HF_ENDPOINT names "
                             "another hub")
    name = pathlib.PurePosixPath(urllib.parse.unquote(urllib.parse.urlsplit(address).path)).name
    split = PART.search(name.removesuffix(".gguf")) if name.endswith(".gguf") else None
    if options.name:
        name = f"{options.name.removesuffix('.gguf')}{split[0] if split else ''}.gguf"
    if not safe_path(name) or "/" in name or name.startswith("."):
        raise Failure(USAGE, f"{name or 'this address'}: no name for a file; --name NAME gives it one")
    if split is None:
        return fetch_one(address, name, options, access)
    if options.sha256 or int(split[1]) != 1 or int(split[2]) > 1000:
        raise Failure(USAGE, f"{name}: part {int(split[1])} of {int(split[2])}; give the address of the first part, "
                             "without --sha256, and all will be fetched")
    path = options.folder / name
    for number in range(1, int(split[2]) + 1):
        part = f"-{number:05}-of-{split[2]}"
        before, _, after = address.rpartition(split[0])
        fetch_one(before + part + after, name.replace(split[0], part), options, access)
    return path


def fetch_one(address, name, options, access):
    target, note = options.folder / name, options.folder / f".{name}.json"
    sha256 = options.sha256.lower()
    if is_fetched(target, note, address, sha256):
        return target
    progress = Progress(name)
    wanted = Wanted(name, address, options.folder / ".partial" / name, sha256=sha256)
    try:
        Download(wanted, access, progress).run()
        progress.say("checking")
        note.write_text(json.dumps({"source": shown(address), "address": mark_of(address),
                                    "bytes": wanted.target.stat().st_size,
                                    "sha256": wanted.sha256 or digest_of(wanted.target)}), encoding="utf-8")
        os.replace(wanted.target, target)
        remove_empty_folders(wanted.target.parent, options.folder)
    finally:
        progress.clear()
    return target


def is_fetched(target, note, address, sha256):
    """Whether that address lies here already, whole. What came from elsewhere is not overwritten."""
    if not target.exists():
        return False
    try:
        known = json.loads(note.read_text(encoding="utf-8"))
        source, same = known["source"], known["address"] == mark_of(address)
        whole = (target.stat().st_size == known["bytes"] and sha256 in ("", known["sha256"])
                 and digest_of(target) == known["sha256"])
    except (OSError, ValueError, KeyError, TypeError):
        source, same, whole = "elsewhere", False, False
    if not same:
        raise Failure(USAGE, f"{target.name}: a file of that name is here already, from {source}; choose another one "
                             "with --name NAME, or remove it (plm models remove)")
    return whole
