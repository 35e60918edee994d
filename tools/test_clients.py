#!/usr/bin/env python3
"""Drives the published clients of other servers against `plm serve`: test_clients.py [CLIENT...].

Clients come from the package index into a throw-away folder (--keep FOLDER to have them again). Each conversation
checks what its users rely on: streams joined are the whole, seeds repeat, errors are raised. Without a client's package
its test is skipped and said; a failure ends with exit code 1. `make test-clients` runs all.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap
import venv

ROOT = pathlib.Path(__file__).resolve().parents[1]
PLM = os.environ.get("PLM_BINARY", str(ROOT / "build/release/plm"))
TWIN = str(ROOT / "models/twin-ar.gguf")
SUM = "A385+739="

OPENAI = """
from openai import OpenAI, BadRequestError
client = OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)
assert client.models.list().data[0].id == "twin-ar"
assert client.models.retrieve("twin-ar").id == "twin-ar"
greedy = dict(model="twin-ar", prompt=SUM, temperature=0)
whole = client.completions.create(**greedy, logprobs=2)
assert whole.choices[0].text == "1124", whole
assert whole.choices[0].finish_reason == "stop"
assert len(whole.choices[0].logprobs.tokens) == 4
assert "".join(c.choices[0].text for c in client.completions.create(**greedy, stream=True)) == "1124"
echoed = client.completions.create(**greedy, echo=True, logprobs=1, max_tokens=1)
assert echoed.choices[0].logprobs.token_logprobs[0] is None
messages = [{"role": "system", "content": "Sum."}, {"role": "user", "content": SUM}]
chat = dict(model="twin-ar", messages=messages, seed=5, max_tokens=12)
said = client.chat.completions.create(**chat, logprobs=True, top_logprobs=2, extra_body={"x_plm": True})
assert said.x_plm["ignored"] == [], said.x_plm
stream = list(client.chat.completions.create(**chat, stream=True, stream_options={"include_usage": True}))
text = "".join(c.choices[0].delta.content or "" for c in stream if c.choices)
assert text == said.choices[0].message.content, (text, said)
assert stream[-1].usage.completion_tokens == said.usage.completion_tokens
tools = [{"type": "function", "function": {"name": "clock", "parameters": {"type": "object", "properties": {}}}}]
client.chat.completions.create(**chat, tools=tools)
assert len(client.embeddings.create(model="twin-ar", input=["a", "b"]).data) == 2
for bad in ({"temperature": "hot"}, {"response_format": {"type": "json_object"}}):
    try:
        client.chat.completions.create(**chat, extra_body=bad)
        raise SystemExit(f"{bad} was accepted")
    except BadRequestError as told:
        assert told.body["param"] in bad, told.body
"""

OLLAMA = """
from ollama import Client, ResponseError
client = Client(host=url)
assert client.list().models[0].model == "twin-ar"
assert client.show("twin-ar").modelinfo["general.architecture"] == "llama"
assert client.ps().models[0].model == "twin-ar"
options = {"temperature": 0, "num_predict": 20}
ask = dict(model="twin-ar", prompt=SUM, raw=True, options=options)
assert client.generate(**ask).response == "1124"
pieces = list(client.generate(**ask, stream=True))
assert "".join(piece.response for piece in pieces) == "1124"
assert pieces[-1].done and pieces[-1].eval_count == 4
messages = [{"role": "user", "content": SUM}]
whole = client.chat(model="twin-ar", messages=messages, options=options).message.content
streamed = client.chat(model="twin-ar", messages=messages, options=options, stream=True)
assert "".join(piece.message.content for piece in streamed) == whole
assert len(client.embed(model="twin-ar", input=["a", "b"]).embeddings) == 2
try:
    client.generate(**ask, format="json")
    raise SystemExit("a constraint was dropped")
except ResponseError as told:
    assert told.status_code == 400
"""

ANTHROPIC = """
from anthropic import Anthropic, BadRequestError
client = Anthropic(base_url=url, api_key="none", max_retries=0)
ask = dict(model="twin-ar", max_tokens=12, messages=[{"role": "user", "content": SUM}],
           extra_body={"temperature": 0})
whole = client.messages.create(**ask)
assert whole.role == "assistant" and whole.content[0].type == "text"
with client.messages.stream(**ask) as stream:
    assert "".join(stream.text_stream) == whole.content[0].text
    assert stream.get_final_message().usage.output_tokens == whole.usage.output_tokens
assert client.messages.count_tokens(model="twin-ar", messages=ask["messages"]).input_tokens > 5
tools = [{"name": "clock", "description": "the time", "input_schema": {"type": "object", "properties": {}}}]
client.messages.create(**ask, tools=tools)
try:
    client.messages.create(**{**ask, "extra_body": {"top_p": 9.0}})
    raise SystemExit("a bad value was accepted")
except BadRequestError as told:
    assert told.body["error"]["type"] == "invalid_request_error", told.body
"""

LANGCHAIN = """
from langchain_openai import ChatOpenAI, OpenAI, OpenAIEmbeddings
chat = ChatOpenAI(base_url=f"{url}/v1", api_key="none", model="twin-ar", temperature=0, max_tokens=12, seed=1)
whole = chat.invoke(SUM).content
assert "".join(piece.content for piece in chat.stream(SUM)) == whole
assert OpenAI(base_url=f"{url}/v1", api_key="none", model="twin-ar", temperature=0).invoke(SUM) == "1124"
embeddings = OpenAIEmbeddings(base_url=f"{url}/v1", api_key="none", model="twin-ar", check_embedding_ctx_length=False)
assert len(embeddings.embed_documents(["a", "b"])) == 2
"""

# The log-likelihoods that lm-eval computes of continuations, beside those of plm score.
LM_EVAL = """
import math, subprocess
from lm_eval.api.instance import Instance
from lm_eval.models.openai_completions import LocalCompletionsAPI
model = LocalCompletionsAPI(base_url=f"{url}/v1/completions", model="twin-ar", tokenizer_backend="remote", batch_size=4,
                            num_concurrent=1, max_retries=1)
pairs = [(SUM, "1124"), (SUM, "1125"), ("A10+20=", "30")]
found = model.loglikelihood([Instance("loglikelihood", {}, pair, i) for i, pair in enumerate(pairs)])
for (context, continuation), (likelihood, is_greedy) in zip(pairs, found):
    scored = json.loads(subprocess.run([PLM, "score", TWIN, "--json"], input=context + continuation,
                                       capture_output=True, text=True, check=True).stdout)
    expected = sum(token["logprob"] for token in scored["positions"][-len(continuation):])
    assert math.isclose(likelihood, expected, abs_tol=1e-4), (context, continuation, likelihood, expected)
assert found[0][1] and not found[1][1], found
text = model.generate_until([Instance("generate_until", {}, (SUM, {"until": ["\\n"], "max_gen_toks": 8}), 0)])
assert text == ["1124"], text
"""

CLIENTS = {
    "openai": (["openai"], OPENAI),
    "ollama": (["ollama"], OLLAMA),
    "anthropic": (["anthropic"], ANTHROPIC),
    "langchain": (["langchain-openai"], LANGCHAIN),
    "lm_eval": (["lm-eval[api]"], LM_EVAL),
}


def serve():
    """A server on a free port: the process and its address."""
    process = subprocess.Popen([PLM, "serve", TWIN, "--port", "0", "--context", "4096", "--threads", "1"],
                               stderr=subprocess.PIPE, text=True)
    for line in process.stderr:
        if "serving " in line:
            return process, line.rsplit(" ", 1)[1].strip()
    raise SystemExit("test_clients: the server did not start")


def python_with(folder, packages):
    """A Python that has the packages; None: the index does not give them."""
    if not (folder / "bin/python").exists():
        venv.create(folder, with_pip=True)
    done = subprocess.run([folder / "bin/pip", "install", "--quiet", *packages], capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        print(done.stderr[-400:], file=sys.stderr)
    return str(folder / "bin/python") if done.returncode == 0 else None


def run(name, url, folder):
    """Whether the client's conversation went well; None: skipped."""
    packages, script = CLIENTS[name]
    python = python_with(folder / name, packages)
    if python is None:
        print(f"test_clients: {name}: skipped, the index does not give {' '.join(packages)}")
        return None
    head = f"import json\nurl, SUM, PLM, TWIN = {url!r}, {SUM!r}, {PLM!r}, {TWIN!r}\n"
    done = subprocess.run([python, "-c", head + textwrap.dedent(script)], check=False)
    print(f"test_clients: {name}: {'ok' if done.returncode == 0 else 'FAILED'}", flush=True)
    return done.returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("clients", nargs="*", metavar="CLIENT", help=", ".join(CLIENTS))
    parser.add_argument("--keep", type=pathlib.Path, help="folder for the clients' packages")
    words = parser.parse_args()
    if unknown := set(words.clients) - set(CLIENTS):
        parser.error(f"unknown: {', '.join(sorted(unknown))}")
    server, url = serve()
    drained = subprocess.Popen(["cat"], stdin=server.stderr, stdout=subprocess.DEVNULL)
    with tempfile.TemporaryDirectory() as throw_away:
        folder = words.keep or pathlib.Path(throw_away)
        results = [run(name, url, folder) for name in words.clients or CLIENTS]
    server.terminate()
    server.wait(60)
    drained.wait(60)
    return 1 if False in results else 0


if __name__ == "__main__":
    sys.exit(main())
