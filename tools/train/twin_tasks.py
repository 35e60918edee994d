"""The six tasks of the twins: prompts whose answers are known exactly, drawn at random.

A prompt begins with the letter of its task and ends where the answer begins; prompts of one shape have equally many
bytes, so that a batch of them is a rectangle. What models/tasks/ examines is kept out: every prompt whose CRC-32 is a
multiple of 16, and the sudoku grids that are answers there. Standard library only.
"""

import dataclasses
import itertools
import json
import pathlib
import random
import typing
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
KEPT_OUT = 16  # one prompt in so many


@dataclasses.dataclass(frozen=True)
class Task:
    room: int  # tokens of the page that an answer is written on
    shape: typing.Callable[[random.Random], typing.Any]
    draw: typing.Callable[[random.Random, typing.Any], tuple[str, str]]


def is_kept_out(prompt):
    return zlib.crc32(prompt.encode()) % KEPT_OUT == 0


def pairs(task, count, dice):
    """`count` prompts of one shape with their answers."""
    shape, found = task.shape(dice), []
    while len(found) < count:
        prompt, answer = task.draw(dice, shape)
        if not is_kept_out(prompt):
            found.append((prompt, answer))
    return found


def draw_sum(dice, _):
    a, b = dice.randrange(1000), dice.randrange(1000)
    return f"A{a:03d}+{b:03d}=", f"{a + b:04d}"


def draw_digits(dice, length):
    digits = dice.choices("0123456789", k=length)
    return f"S{''.join(digits)}>", "".join(sorted(digits))


# Sudoku with four digits. A grid is a string of 16 digits, row by row.

def houses():
    """Cells that must differ, as sets: rows, columns, squares."""
    for i in range(4):
        yield {4 * i + k for k in range(4)}
        yield {i + 4 * k for k in range(4)}
        yield {8 * (i // 2) + 2 * (i % 2) + 4 * (k // 2) + k % 2 for k in range(4)}


NEIGHBOURS = [set().union(*(house for house in houses() if cell in house)) - {cell} for cell in range(16)]


def grids(begun=""):
    if len(begun) == 16:
        yield begun
        return
    taken = {begun[cell] for cell in NEIGHBOURS[len(begun)] if cell < len(begun)}
    for digit in "1234":
        if digit not in taken:
            yield from grids(begun + digit)


ALL_GRIDS = list(grids())
# For every cell and digit the grids that have it there, a bit each: puzzles are narrowed down by ANDs.
WITH_DIGIT = {(cell, digit): sum(1 << i for i, grid in enumerate(ALL_GRIDS) if grid[cell] == digit)
              for cell, digit in itertools.product(range(16), "1234")}


def examined_grids():
    lines = [line for name in ("sudoku.jsonl", "validation/sudoku.jsonl")
             for line in (ROOT / "models/tasks" / name).read_text().splitlines()]
    return {json.loads(line)["answer"] for line in lines}


TAUGHT_GRIDS = sorted(set(ALL_GRIDS) - examined_grids())


def solutions(puzzle):
    left = (1 << len(ALL_GRIDS)) - 1
    for cell, digit in enumerate(puzzle):
        if digit != ".":
            left &= WITH_DIGIT[cell, digit]
    return left.bit_count()


def draw_sudoku(dice, _):
    while True:
        grid = dice.choice(TAUGHT_GRIDS)
        empty = dice.sample(range(16), dice.randint(7, 11))
        puzzle = "".join("." if cell in empty else digit for cell, digit in enumerate(grid))
        if solutions(puzzle) == 1:
            return f"K{puzzle}:", grid


CONSONANTS, VOWELS = "bcdfghjklmnprstvwz", "aeiou"


def record_shape(dice):
    return {"letters": dice.randint(3, 6), "digits": dice.randint(1, 2), "age_first": dice.random() < 0.5,
            "has_ok": dice.random() < 0.5}


def draw_record(dice, shape):
    letters = (dice.choice(VOWELS if i % 2 else CONSONANTS) for i in range(shape["letters"]))
    name, age = "".join(letters).capitalize(), dice.randrange(10**(shape["digits"] - 1), 10**shape["digits"])
    fields, members = [f"name={name}", f"age={age}"], [f'"name":"{name}"', f'"age":{age}']
    if shape["age_first"]:
        fields.reverse()
    if shape["has_ok"]:
        ok = dice.random() < 0.5
        fields.append(f"ok={'y' if ok else 'n'}")
        members.append(f'"ok":{"true" if ok else "false"}')
    return f"J{';'.join(fields)}>", "{" + ",".join(members) + "}"


PEOPLE = {"her": ("Ann", "Mia", "Zoe", "Emma"), "his": ("Ben", "Tom", "Max", "Luke")}


def draw_story(dice, _):
    quality = dice.choice(("red", "big", "old", "new", "sad", "shy", "wet", "hot"))
    thing = dice.choice(CONSONANTS) + dice.choice(VOWELS) + dice.choice(CONSONANTS)
    whose = dice.choice(tuple(PEOPLE))
    who, did = dice.choice(PEOPLE[whose]), dice.choice(("fed", "saw", "hid", "got"))
    return f"T{quality} {thing}:", f"{who} has a {quality} {thing}. {who} {did} {whose} {thing}."


def draw_chain(dice, length):
    value = dice.randint(1, 9)
    prompt, values = f"C{value}", []
    while len(values) < length:
        sign = dice.choice("+-*")
        operand = dice.randint(2, 3) if sign == "*" else dice.randint(1, 9)
        following = {"+": value + operand, "-": value - operand, "*": value * operand}[sign]
        if 0 <= following <= 99:
            value = following
            prompt += f"{sign}{operand}"
            values.append(str(value))
    return prompt + ">", ",".join(values)


def any_shape(_):
    return None


TASKS = {
    "add": Task(8, any_shape, draw_sum),
    "sort": Task(16, lambda dice: dice.randint(5, 8), draw_digits),
    "sudoku": Task(24, any_shape, draw_sudoku),
    "json": Task(40, record_shape, draw_record),
    "story": Task(40, any_shape, draw_story),
    "chain": Task(16, lambda dice: dice.randint(2, 4), draw_chain),
}
