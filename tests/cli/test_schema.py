"""JSON Schema from the command line: plm schema."""

import json
import pathlib
import tempfile
import unittest

from program import ProgramTest, plm

PERSON = {"type": "object",
          "properties": {"name": {"type": "string", "pattern": "^[A-Z][a-z]+$"},
                         "age": {"type": "integer", "minimum": 0, "maximum": 99},
                         "ok": {"type": "boolean"}},
          "required": ["name", "age"], "additionalProperties": False}


class SchemaTest(ProgramTest):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def write(self, schema):
        path = pathlib.Path(self.folder.name) / "schema.json"
        path.write_text(json.dumps(schema), encoding="utf-8")
        return path

    def test_says_what_is_enforced_and_shows_an_example(self):
        found = self.succeed("schema", self.write(PERSON), "--json", "--seed", 3).json()
        self.assertIn({"pointer": "#/properties/age", "keyword": "maximum"}, found["enforced"])
        self.assertEqual(found["refused"], [])
        example = json.loads(found["example"])
        self.assertTrue(0 <= example["age"] <= 99)
        self.assertRegex(example["name"], "^[A-Z][a-z]+$")

    def test_says_what_is_refused_and_where(self):
        schema = {"items": {"type": "array", "uniqueItems": True}, "maxitems": 3}
        ended = plm("schema", self.write(schema))
        self.assertEqual(ended.code, 3, ended)
        self.assertIn("refused   #/items: uniqueItems: ", ended.out)
        self.assertIn("warning   #: maxitems: unknown keyword", ended.out)
        self.fail_with(6, "schema", self.write({"minimum": 2, "maximum": 1, "type": "number"}), says=["no value fits"])
        self.fail_with(3, "schema", self.write({"type": "int"}), says=["#: type: \"int\""])


if __name__ == "__main__":
    unittest.main()
