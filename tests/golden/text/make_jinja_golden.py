#!/usr/bin/env python3
"""Writes what jinja2 makes of our templates: jinja_cases.json and jinja_rendered.json, beside this script.

The oracle is jinja2 (3.1.6) set up as the transformers library (5.24) does for chat templates: an
ImmutableSandboxedEnvironment with trim_blocks, lstrip_blocks, loopcontrols, `generation` blocks, its own tojson,
raise_exception and strftime_now (here with a fixed clock). Run it with a Python that has jinja2 installed.
"""

import datetime
import json
import pathlib

import jinja2
import jinja2.ext
import jinja2.sandbox

HERE = pathlib.Path(__file__).resolve().parent
NOW = datetime.datetime(2024, 7, 26, 15, 4, 5)


class Generation(jinja2.ext.Extension):
    """{% generation %}: its body, with names of its own."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_body"), [], [], body).set_lineno(line)

    def _body(self, caller):
        return caller()


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def environment():
    made = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])
    made.filters["tojson"] = tojson
    made.globals["raise_exception"] = raise_exception
    made.globals["strftime_now"] = NOW.strftime
    return made


ENVIRONMENT = environment()


def rendered(source, variables):
    """{"text": ...} or {"error": why}; the reason is Python's and for readers only."""
    try:
        return {"text": ENVIRONMENT.from_string(source).render(**variables)}
    except jinja2.exceptions.TemplateError as error:
        return {"error": str(error.message)}
    except Exception as error:  # whatever Python raises inside of a template
        return {"error": f"{type(error).__name__}: {error}"}


def case_sources():
    for line in (HERE / "jinja_cases.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            yield line.replace("⏎", "\n").replace("⇥", "\t")


VARIABLES = {
    "s": "some text", "n": 3, "l": [1, 2, 3], "d": {"k": "v", "n": 2, "list": [1, 2], "inner": {"x": "y"}},
    "tree": [{"n": "a", "c": [{"n": "b", "c": []}, {"n": "c", "c": [{"n": "d"}]}]}, {"n": "e"}],
    "people": [{"name": "Ann", "age": 30, "group": "x", "address": {"city": "Oslo"}},
               {"name": "Bob", "group": "y", "address": {"city": "Rome"}}, {"name": "Cid", "age": 0, "group": "x"}],
    "tools": [{"name": "f", "d": "a<b & 'c' \"q\" 你", "parameters": {"type": "object", "required": ["x"]}}],
    "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": " one "},
                 {"role": "assistant", "content": "two"}, {"role": "user", "content": "three"}],
    "bos_token": "<s>", "add_generation_prompt": True,
}


def write(name, value):
    text = json.dumps(value, ensure_ascii=False, indent=0).replace("\u2028", "\\u2028")
    (HERE / name).write_text(text + "\n", encoding="utf-8")


def main():
    cases = [{"template": source, **rendered(source, VARIABLES)} for source in case_sources()]
    write("jinja_cases.json", {"variables": VARIABLES, "cases": cases})
    conversations = json.loads((HERE / "jinja_conversations.json").read_text(encoding="utf-8"))
    tokens = conversations["tokens"]
    results = {}
    for path in sorted((HERE / "templates").glob("*.jinja")):
        source = path.read_text(encoding="utf-8")
        results[path.stem] = {name: rendered(source, {**tokens, **variables})
                              for name, variables in conversations["conversations"].items()}
    write("jinja_rendered.json", results)
    errors = sum("error" in case for case in cases)
    pairs = [result for template in results.values() for result in template.values()]
    print(f"{len(cases)} cases ({errors} errors), {len(results)} templates, {len(pairs)} renderings "
          f"({sum('error' in result for result in pairs)} errors)")


if __name__ == "__main__":
    main()
