#!/usr/bin/env python3
"""The house rules as a test: tidy.py [ROOT]. One pass over the tree, one verdict; ctest runs it as `tidy`.

Every finding is one line, `path:line: rule: remedy`. Warnings do not fail. Only the standard library is used.
Source: DESIGN sections 2, 4, 5, 7 and 8. The links of the rooms are read from src/CMakeLists.txt, which is the single
table that the build uses; ROOMS below is the same table as the design fixes it, and the build's may only be narrower.
Tested by tests/tools/test_tidy.py.
"""

import pathlib
import re
import sys

# Who may include whom (DESIGN section 2), in the order a text lives.
ROOMS = {
    "base": "",
    "format": "base",
    "text": "base format",
    "tensor": "base",
    "kernels": "base tensor",
    "state": "base tensor",
    "model": "base format tensor kernels state",
    "sampling": "base",
    "constraint": "base text",
    "decode": "base tensor model state sampling constraint text",
    "engine": "base format text tensor kernels model state sampling constraint decode",
    "search": "base text sampling constraint decode engine",
    "plan": "base format tensor model state kernels",
    "lab": "base text sampling constraint decode engine search plan",
    "serve": "base text sampling constraint decode engine search plan",
    "cli": "base format text tensor kernels state model sampling constraint decode engine search plan lab serve",
}
# Where DESIGN lets a room see only part of another: the headers that are that part.
DOORS = {
    ("engine", "kernels"): {"kernels/device.h", "kernels/watched_device.h"},
    ("plan", "model"): {"model/config.h"},
    ("plan", "state"): {"state/layout.h"},
    ("plan", "kernels"): {"kernels/profile.h"},
    ("serve", "decode"): {"decode/event.h"},
}
# Foreign headers by the CMake target that brings them; a room may include what its own plm_room line links.
# fmt and tl::expected are everyone's.
LIBRARIES = {
    "nlohmann/": "nlohmann_json::nlohmann_json", "pcre2": "PkgConfig::PCRE2", "utf8proc": "PkgConfig::UTF8PROC",
    "hwy/": "hwy::hwy", "openssl/": "OpenSSL::Crypto", "boost/": "Boost::headers", "sqlite3": "SQLite::SQLite3",
    "zlib.h": "ZLIB::ZLIB",
}
NUMERIC_ROOMS = {"tensor", "kernels", "state", "model", "sampling", "decode"}
MAY_EXIT = ("src/cli/", "src/base/error.cpp", "src/base/mapped_file.cpp")
MAY_PRINT = ("src/cli/", "src/base/error.cpp")

SKIPPED = {".git", "build", ".cache", "__pycache__", "node_modules", "golden"}
CODE_SUFFIXES = {".h", ".cpp", ".py", ".sh", ".cmake"}
CODE_NAMES = {"CMakeLists.txt", "Makefile", "run"}
VAGUE = {"common", "util", "utils", "helper", "helpers", "misc", "types", "manager"}
VAGUE_ENDINGS = VAGUE - {"common", "types"}  # storage_types says something, string_utils does not
MOST_COLUMNS = 120
WARN_LINES, MOST_LINES = 450, 600
UNTESTED_LINES = 40  # a source file up to this long needs no test of its own

LIBM = "exp|exp2|expm1|log|log2|log10|log1p|pow|sin|cos|tan|sinh|cosh|tanh|asin|acos|atan|atan2|erf|erfc|cbrt|tgamma"
CALL = r"(?:(?<![\w.>:])|\bstd::|(?<!\w)::)"  # a free function of the C library, not a member or one of ours

# (rule, pattern, which files of src, remedy), for C++ without comments and literals.
BANNED_CODE = [
    ("numerics", re.compile(CALL + rf"(?:{LIBM})[fl]?\s*\("),
     lambda file: file.room in NUMERIC_ROOMS,
     "the C library's result differs between machines; use base/portable_math.h"),
    ("randomness", re.compile(CALL + r"(?:s?rand|random)\s*\(|std::random_device"),
     lambda file: True,
     "random numbers are counters; use base/philox.h"),
    ("print", re.compile(r"std::(?:cout|cerr|clog)\b|fmt::print\b|" + CALL + r"(?:v?f?printf|f?puts|perror)\s*\("),
     lambda file: not file.path.startswith(MAY_PRINT),
     "the library never prints; return an Error or emit an event"),
    ("exit", re.compile(CALL + r"(?:_?exit|_Exit|quick_exit|abort|terminate)\s*\("),
     lambda file: not file.path.startswith(MAY_EXIT),
     "the library never exits; return an Error, or PLM_CHECK an invariant"),
]
# (rule, pattern, whether Markdown is meant too, remedy), for the raw lines of every text file.
REGISTRY_HOSTS = r"\b(?:pypi[.]org|pythonhosted[.]org|debian[.]org|npmjs[.]\w+|crates[.]io|proxy[.]golang[.]org)"
BANNED_TEXT = [
    ("marker", re.compile(r"\b(?:TO" r"DO|FIX" r"ME|X" r"XX)\b"), True,
     "do it, or file an issue and leave no marker"),
    ("machine-path", re.compile(r"(?<![\w.])/(?:work|tmp|root)/"), True,
     "name no place of one machine; take the path as an argument or use a temporary folder"),
    ("host", re.compile(REGISTRY_HOSTS), True,
     "registries are reached through their clients by package name; name no host"),
    ("host", re.compile(r"https?://(?!git-lfs|www[.]w3[.]org/2000/svg)"
                        r"|(?<!git-lfs[.])\b(?:github|gitlab|huggingface)[.]com?\b"), False,
     "no addresses in code; name the paper, the project or the section"),  # a Git LFS pointer, an SVG's namespace
]

TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"([^(\s]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<!\w)\'(?:\\.|[^\'\\\n])+\'', re.DOTALL)


class File:
    """A text file of the tree; `code` is its text with comments and literals blanked, line for line."""

    def __init__(self, root, path):
        self.path = path.relative_to(root).as_posix()
        self.stem = path.stem
        self.text = path.read_text(encoding="utf-8")
        self.lines = self.text.splitlines()
        parts = self.path.split("/")
        self.room = parts[1] if parts[0] == "src" and len(parts) > 2 else None
        self.is_cpp = path.suffix in (".h", ".cpp")
        self.is_code = path.suffix in CODE_SUFFIXES or path.name in CODE_NAMES
        self.is_fragment = path.stem.endswith(("-inl", "_inl"))  # included several times, for Highway's targets
        self.literals = []
        self.code = TOKEN.sub(self._blank, self.text) if self.is_cpp else ""

    def _blank(self, match):
        token = match.group()
        if token.startswith('"'):
            self.literals.append((self.line_at(match.start()), token[1:-1]))
        return " " + "\n" * token.count("\n")

    def line_at(self, offset):
        return self.text.count("\n", 0, offset) + 1

    def head(self):
        """The comment at the top, without its marks."""
        lines = []
        for line in self.lines:
            if not line.startswith("//"):
                break
            lines.append(line.lstrip("/ "))
        return "\n".join(lines)

    def code_lines(self):
        return enumerate(self.code.split("\n"), 1)


class Tree:
    def __init__(self, root):
        self.root = pathlib.Path(root).resolve()
        self.findings = []
        self.folders, self.files = set(), {}
        for path in sorted(self.root.rglob("*")):
            relative = path.relative_to(self.root)
            if SKIPPED.intersection(relative.parts):
                continue
            if path.is_dir():
                self.folders.add(relative.as_posix())
            elif path.suffix in CODE_SUFFIXES | {".md"} or path.name in CODE_NAMES:
                try:
                    file = File(self.root, path)
                    self.files[file.path] = file
                except UnicodeDecodeError:
                    self.error(relative.as_posix(), 1, "encoding", "is not UTF-8; save it as UTF-8")
        table = self.files["src/CMakeLists.txt"].text if "src/CMakeLists.txt" in self.files else ""
        self.links, self.libraries = {}, {}
        for room, arguments in re.findall(r"^plm_room\((\w+)([^)]*)\)", table, re.MULTILINE):
            rooms, _, libraries = arguments.partition("LIBRARIES")
            self.links[room] = set(rooms.replace("ROOMS", "").split())
            self.libraries[room] = set(libraries.split())
        self.registries = re.findall(r"^plm_registry\((\w+) FOLDER (\w+) PREFIX (\w+) TYPE (\w+)", table, re.MULTILINE)

    def error(self, path, line, rule, remedy):
        self.findings.append((path, line, rule, remedy))

    def twin(self, file):
        """The header x.h beside a source x.cpp, if any."""
        return self.files.get(file.path.removesuffix(".cpp") + ".h") if file.path.endswith(".cpp") else None

    def sources(self):
        return [file for file in self.files.values() if file.room and file.is_cpp]

    def cpp_files(self):
        return [file for file in self.files.values() if file.is_cpp]


def check_table(tree):
    """The build's links are within the design's."""
    for room, links in tree.links.items():
        if room not in ROOMS:
            tree.error("src/CMakeLists.txt", 1, "rooms", f"{room} is no room of the design; decide it there first")
        elif extra := links - set(ROOMS[room].split()):
            tree.error("src/CMakeLists.txt", 1, "rooms", f"{room} may not link {', '.join(sorted(extra))}")
    for file in tree.sources():
        if file.room not in tree.links:
            tree.error(file.path, 1, "rooms", f"{file.room} has no plm_room line in src/CMakeLists.txt")


def check_includes(tree):
    """Quoted includes are ours, relative to src/ (in tests also to tests/ or to the file), and follow the table."""
    for file in tree.cpp_files():
        for number, line in enumerate(file.lines, 1):
            match = re.match(r'\s*#\s*include\s+(["<])([^">]+)[">]', line)
            if not match:
                continue
            quoted, target = match.group(1) == '"', match.group(2)
            if quoted:
                check_own_include(tree, file, number, target)
            elif file.room:
                for prefix, library in LIBRARIES.items():
                    if target.startswith(prefix) and library not in tree.libraries.get(file.room, ()):
                        tree.error(file.path, number, "library", f"{file.room} does not link {library}; use the room "
                                   "that wraps it, or add it to the room's plm_room line")


def check_own_include(tree, file, number, target):
    beside = file.path.rpartition("/")[0] + "/"
    roots = ["src/"] if file.room else ["src/", "tests/", beside]
    if not any(root + target in tree.files for root in roots):
        tree.error(file.path, number, "include", f'"{target}" is no file of {" or ".join(roots)}; '
                   "write our headers as room/name.h and others in angle brackets")
        return
    room = target.split("/")[0]
    if not file.room or room == file.room:
        return
    if room not in tree.links.get(file.room, ()):
        tree.error(file.path, number, "rooms", f"{file.room} may not include {room}; it may know "
                   f"{', '.join(sorted(tree.links.get(file.room, ()))) or 'nobody'}")
    elif target not in DOORS.get((file.room, room), {target}):
        tree.error(file.path, number, "rooms", f"of {room}, {file.room} may include "
                   f"{', '.join(sorted(DOORS[file.room, room]))} only")


def check_own_header_first(tree):
    """x.cpp includes x.h before all else, which proves that the header compiles alone."""
    for file in tree.sources():
        if not (header := tree.twin(file)):
            continue
        own = header.path.removeprefix("src/")
        includes = re.findall(r'^\s*#\s*include\s+["<]([^">]+)', file.text, re.MULTILINE)
        if includes[:1] != [own]:
            tree.error(file.path, 1, "include", f'include "{own}" first; that proves that it stands alone')


def check_headers(tree):
    for file in tree.cpp_files():
        wants_pragma = file.path.endswith(".h") and not file.is_fragment
        if wants_pragma and not re.search(r"^#pragma once$", file.text, re.MULTILINE):
            tree.error(file.path, 1, "pragma", "write #pragma once below the head")


def check_names(tree):
    for path in sorted(tree.folders | set(tree.files)):
        stem = pathlib.PurePosixPath(path).stem.lower().removeprefix("test_")
        if stem in VAGUE or re.split(r"[_-]", stem)[-1] in VAGUE_ENDINGS:
            tree.error(path, 1, "name", f"'{stem}' says nothing; name the idea, or put each part where it belongs")


def check_architectures(tree):
    """Only model/arch/ may know what an architecture is called (text/ has tokenisers of the same names; two
    files of plan/ tell the sizes of networks, most of which are not computed here)."""
    names = [path.stem.removeprefix("arch_") for path in tree.root.glob("src/model/arch/arch_*.cpp")]
    literal = re.compile(rf"(?:{'|'.join(map(re.escape, names))})(?:\.(?!cpp\b).*)?") if names else None
    branch = re.compile(r"\bswitch\s*\([^)]*\barch|\barchitecture(?:_name)?(?:\(\))?\s*[!=]=", re.IGNORECASE)
    for file in tree.sources():
        if file.path.startswith(("src/model/arch/", "src/text/", "src/plan/sketch_json.", "src/plan/families.")):
            continue
        for line, value in file.literals:
            if literal and literal.fullmatch(value):
                tree.error(file.path, line, "architecture", f'"{value}" belongs in model/arch/; ask the Architecture')
        for number, line in file.code_lines():
            if branch.search(line):
                tree.error(file.path, number, "architecture", "do not branch on it; let model/arch/ describe it")


def check_definitions(tree):
    """A registry file prefix_name.cpp defines the constant prefix_name, with its name, a summary and a source."""
    for room, folder, prefix, kind in tree.registries:
        for file in tree.sources():
            if not re.fullmatch(rf"src/{room}/{folder}/{prefix}_\w+\.cpp", file.path):
                continue
            if not re.search(rf"\bconst(?:init|expr)?\s+{kind}\s+{file.stem}\b\s*(?:=|\{{)", file.code):
                tree.error(file.path, 1, "definition", f"define the constant `const {kind} {file.stem}`")
            wanted = file.stem.removeprefix(prefix + "_")
            names = re.findall(r'\.name\s*=\s*"([^"]*)"', file.text)
            if wanted not in [name.replace("-", "_") for name in names]:
                tree.error(file.path, 1, "definition", f'write .name = "{wanted}", as the file is called')
            for field in ("summary", "source"):
                if not re.search(rf'\.{field}\s*=\s*"[^"]', file.text):
                    tree.error(file.path, 1, "definition", f'write a non-empty .{field} = "..."')


def tests_named(file):
    """Paths that the head says the file is tested by."""
    words = file.head().partition("Tested by")[2]
    return re.findall(r"tests/[\w/]*\w(?:\.\w+)?", words)


def check_named_paths(tree):
    """What a head says it is tested by is there."""
    for file in tree.sources():
        for path in tests_named(file):
            if path not in tree.files and path not in tree.folders:
                tree.error(file.path, 1, "mirror", f"says it is tested by {path}, which is not there")


def check_tests_mirror_sources(tree):
    """tests/room/test_x.cpp tests x of the room, or a whole registry folder x, or the sources that its head names."""
    tested = set()
    folders = {(room, folder) for room, folder, _, _ in tree.registries}
    subjects = folders | {(file.room, file.stem) for file in tree.sources()}
    for file in tree.cpp_files():
        match = re.fullmatch(r"tests/(\w+)/(?:\w+/)*test_(\w+)\.cpp", file.path)
        if not match or match.group(1) not in ROOMS:
            continue
        covers = re.findall(r"src/[\w/]+(?:\.\w+)?", file.head())
        if match.groups() not in subjects and not any(path in tree.files for path in covers):
            tree.error(file.path, 1, "mirror", f"src/{match.group(1)}/ has no {match.group(2)}.cpp or .h; "
                       "call the test after a source, or name in its head the src/... files that it covers")
        tested.add(match.groups())
    for file in tree.sources():
        if not file.path.endswith(".cpp") or len(file.lines) <= UNTESTED_LINES:
            continue
        folder = file.path.split("/")[-2]
        by_name = {(file.room, file.stem), *({(file.room, folder)} & folders)} & tested
        if not by_name and not tests_named(file) and not tests_named(tree.twin(file) or file):
            tree.error(file.path, 1, "mirror",
                       f"write tests/{file.room}/test_{file.stem}.cpp, or `Tested by tests/...` in the head")


def check_banned(tree):
    for file in tree.files.values():
        if file.room and file.is_cpp:
            for number, line in file.code_lines():
                for rule, pattern, applies, remedy in BANNED_CODE:
                    if applies(file) and pattern.search(line):
                        tree.error(file.path, number, rule, remedy)
        for number, line in enumerate(file.lines, 1):
            for rule, pattern, documents_too, remedy in BANNED_TEXT:
                if (file.is_code or documents_too) and pattern.search(line):
                    tree.error(file.path, number, rule, remedy)


def check_shape(tree):
    """Width, length, and a comment at the head (of the header, where a source has one; a test is named after its)."""
    for file in tree.files.values():
        if not file.is_code:
            continue
        for number, line in enumerate(file.lines, 1):
            if len(line) > MOST_COLUMNS:
                tree.error(file.path, number, "width", f"{len(line)} columns; at most {MOST_COLUMNS}")
        if len(file.lines) > MOST_LINES:
            tree.error(file.path, MOST_LINES, "length", f"{len(file.lines)} lines; split it, at most {MOST_LINES}")
        elif len(file.lines) > WARN_LINES:
            tree.error(file.path, WARN_LINES, "length (warning)", f"{len(file.lines)} lines; aim below {WARN_LINES}")
        lines = file.lines[1:] if file.lines and file.lines[0].startswith("#!") else file.lines
        starts = ("//",) if file.is_cpp else ("#", '"""')
        is_explained = tree.twin(file) or file.stem.startswith("test_")
        if not is_explained and (not lines or not lines[0].startswith(starts)):
            tree.error(file.path, 1, "head", "say at the top what the file is for")


CHECKS = [check_table, check_includes, check_own_header_first, check_headers, check_names, check_architectures,
          check_definitions, check_named_paths, check_tests_mirror_sources, check_banned, check_shape]


def findings(root):
    """All findings of the tree at `root`, sorted."""
    tree = Tree(root)
    for check in CHECKS:
        check(tree)
    return sorted(set(tree.findings))


def main(arguments):
    root = arguments[0] if arguments else pathlib.Path(__file__).resolve().parent.parent
    found = findings(root)
    for path, line, rule, remedy in found:
        print(f"{path}:{line}: {rule}: {remedy}")
    errors = sum("warning" not in rule for _, _, rule, _ in found)
    print(f"tidy: {errors} errors, {len(found) - errors} warnings")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
