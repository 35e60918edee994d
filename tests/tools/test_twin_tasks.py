"""The tasks of the twins (tools/train/twin_tasks.py): answers are right, and nothing examined is taught."""

import json
import pathlib
import random
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools" / "train"))

import twin_tasks

RIGHT = {
    "add": lambda prompt, answer: int(answer) == sum(map(int, prompt[1:-1].split("+"))) and len(answer) == 4,
    "sort": lambda prompt, answer: answer == "".join(sorted(prompt[1:-1])),
    "sudoku": lambda prompt, answer: all(a in (".", b) for a, b in zip(prompt[1:-1], answer, strict=True))
    and all(len({answer[cell] for cell in house}) == 4 for house in twin_tasks.houses()),
    "json": lambda prompt, answer: {key: str(value) for key, value in json.loads(answer).items()} == {
        key: {"y": "True", "n": "False"}[value] if key == "ok" else value
        for key, value in (field.split("=") for field in prompt[1:-1].split(";"))},
    "story": lambda prompt, answer: re.fullmatch(
        r"(Ann|Mia|Zoe|Emma) has a {0} {1}\. \1 \w+ her {1}\."
        r"|(Ben|Tom|Max|Luke) has a {0} {1}\. \2 \w+ his {1}\.".format(*prompt[1:-1].split()), answer) is not None,
    "chain": lambda prompt, answer: answer == ",".join(chain(prompt[1:-1])),
}


def chain(text):
    value, *steps = re.findall(r"[+*-]?\d", text)
    for step in steps:
        value = str(eval(value + step))  # pylint: disable=eval-used  # digits and signs of our own
        yield value


class TwinTasks(unittest.TestCase):
    def test_answers_are_right_and_prompts_of_a_batch_equally_long(self):
        dice = random.Random(5)
        for name, task in twin_tasks.TASKS.items():
            for _ in range(20):
                found = twin_tasks.pairs(task, 10, dice)
                self.assertEqual(len({len(prompt) for prompt, _ in found}), 1)
                for prompt, answer in found:
                    self.assertTrue(RIGHT[name](prompt, answer), (prompt, answer))
                    self.assertLess(len(answer), task.room)

    def test_what_is_examined_is_never_taught(self):
        folder = twin_tasks.ROOT / "models/tasks"
        for name in twin_tasks.TASKS:
            for file in (folder / f"{name}.jsonl", folder / "validation" / f"{name}.jsonl"):
                items = [json.loads(line) for line in file.read_text().splitlines()]
                for item in items:
                    taught = item["answer"] in twin_tasks.TAUGHT_GRIDS if name == "sudoku" else (
                        not twin_tasks.is_kept_out(item["prompt"]))
                    self.assertFalse(taught, item)

    def test_there_are_288_grids_and_puzzles_have_one_solution(self):
        self.assertEqual(len(set(twin_tasks.ALL_GRIDS)), 288)
        self.assertEqual(twin_tasks.solutions("." * 16), 288)


if __name__ == "__main__":
    unittest.main()
