#!/usr/bin/env python3
"""Compiles the kernels, and the rooms below them, for 64-bit ARM, whose baseline is NEON: neon.py BUILD [JOBS].

The flags are those of BUILD/compile_commands.json with another compiler in front; Debian's looks into /usr/include,
too, where the headers of the libraries lie that are the same for every machine. Objects go to build/neon and are
neither linked nor run, since the libraries of that machine are not here: what is checked is that everything compiles,
without a warning. `make neon` installs the compiler and calls this.
"""

import concurrent.futures
import json
import pathlib
import shlex
import shutil
import subprocess
import sys

COMPILER = "aarch64-linux-gnu-g++"
ROOMS = ("base", "tensor", "kernels")


def arm_command(entry, target):
    """The command of compile_commands.json, from its first flag on, for the other machine."""
    words = shlex.split(entry["command"])
    first_flag = next(i for i, word in enumerate(words) if word.startswith("-"))
    words[words.index("-o") + 1] = str(target)
    launcher = ["ccache"] if shutil.which("ccache") else []
    return [*launcher, COMPILER, *words[first_flag:]]


def main(arguments):
    if not 2 <= len(arguments) <= 3:
        print("usage: neon.py BUILD [JOBS]", file=sys.stderr)
        return 2
    if not shutil.which(COMPILER):
        print(f"neon: {COMPILER} is missing; install it with: tools/setup.sh neon", file=sys.stderr)
        return 1
    root = pathlib.Path(__file__).resolve().parent.parent
    folder = root / "build" / "neon"
    folder.mkdir(parents=True, exist_ok=True)
    commands = {}
    for entry in json.loads((pathlib.Path(arguments[1]) / "compile_commands.json").read_text()):
        place = pathlib.Path(entry["file"])
        if place.is_relative_to(root / "src") and place.relative_to(root / "src").parts[0] in ROOMS:
            name = str(place.relative_to(root / "src"))
            commands[name] = arm_command(entry, folder / (name.replace("/", "-") + ".o")), entry["directory"]

    def compile_one(name):
        command, directory = commands[name]
        done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
        return name, done.returncode, done.stderr

    failed = 0
    with concurrent.futures.ThreadPoolExecutor(int(arguments[2]) if len(arguments) == 3 else 1) as pool:
        for name, status, errors in pool.map(compile_one, commands):
            if status:
                failed += 1
                print(f"neon: src/{name} does not compile\n{errors}", file=sys.stderr)
    print(f"neon: {len(commands) - failed} of {len(commands)} files compile with {COMPILER}")
    return 1 if failed or not commands else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
