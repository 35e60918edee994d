"""Tests of tools/fetch_hub.py: which files of a repository are taken, where they go, what a hub may not do."""

import signal
import unittest

from fetch_server import MODEL, TOKEN, FetchTest, fetch_hub, listing_path

FOLDER = {
    "config.json": b'{"model_type": "bert"}', "generation_config.json": b"{}", "tokenizer.json": b'{"a": 1}',
    "tokenizer_config.json": b'{"b": 1}', "special_tokens_map.json": b'{"c": 1}', "vocab.txt": b"word",
    "merges.txt": b"a b", "tokenizer.model": b"\x00", "chat_template.jinja": b"{{ x }}", "modules.json": b"[]",
    "sentence_bert_config.json": b'{"d": 1}', "config_sentence_transformers.json": b'{"e": 1}',
    "1_Pooling/config.json": b'{"f": 1}', "2_Dense/config.json": b'{"g": 1}', "2_Dense/model.safetensors": b"dense",
    "LICENSE": b"as you like", "model.safetensors.index.json": b'{"h": 1}',
    "model-00001-of-00002.safetensors": b"first", "model-00002-of-00002.safetensors": b"second"}
BESIDE = {
    "README.md": b"read me", ".gitattributes": b"x", "pytorch_model.bin": b"pickle", "onnx/model.onnx": b"onnx",
    "onnx/config.json": b"no", "consolidated.safetensors": b"again", "train_script.py": b"import os",
    "original/params.json": b"{}", "2_Dense/pytorch_model.bin": b"pickle", "model.safetensors.bak": b"old"}


class RepositoryTest(FetchTest):
    def setUp(self):
        super().setUp()
        self.place = self.folder / "hub" / "maker" / "model"

    def fetched(self):
        """What was asked for beside the listing, in order."""
        return [path.partition("/resolve/main/")[2] for path, _ in self.server.requests if "/resolve/" in path]

    def test_the_one_gguf_file(self):
        self.put_repository({"tiny.gguf": MODEL, "README.md": b"words", "config.json": b"{}"})
        self.assertEqual(self.succeed("maker/model"), self.place / "tiny.gguf")
        self.assertEqual(self.files(), ["hub/maker/model/tiny.gguf"])
        self.assertEqual((self.place / "tiny.gguf").read_bytes(), MODEL)
        self.assertFalse((self.folder / ".partial").exists())
        self.succeed("maker/model")
        self.assertEqual(self.fetched(), ["tiny.gguf"])

    def test_a_choice_is_made_and_told(self):
        names = ["m-F16.gguf", "m-Q2_K.gguf", "m-Q4_0.gguf", "m-Q4_K_M.gguf", "m-Q8_0.gguf", "mmproj-Q4_K_M.gguf"]
        self.put_repository({name: MODEL + name.encode() for name in names})
        result = self.fetch("maker/model")
        self.assertEqual(result.stdout, f"{self.place / 'm-Q4_K_M.gguf'}\n")
        for name in names[:-1]:
            self.assertIn(name, result.stderr)
        self.assertNotIn("mmproj", result.stderr)
        for choice, name in (("Q8_0", "m-Q8_0.gguf"), ("q2_k", "m-Q2_K.gguf"), ("m-F16.gguf", "m-F16.gguf"),
                             ("mmproj-Q4_K_M.gguf", "mmproj-Q4_K_M.gguf")):
            result = self.fetch(f"maker/model:{choice}")
            self.assertEqual((result.stdout, result.stderr), (f"{self.place / name}\n", ""))
        for choice in ("Q9", "Q4_K", "4_0", "nothing.gguf", "../m-F16.gguf"):
            self.fail_with(3, f"maker/model:{choice}", says=["maker/model", choice, "m-F16.gguf, m-Q2_K.gguf"])

    def test_split_models_come_whole(self):
        names = [f"Q4_K_M/m-Q4_K_M-0000{number}-of-00003.gguf" for number in (1, 2, 3)]
        self.put_repository({name: MODEL + name.encode() for name in [*names, "Q8_0/m-Q8_0.gguf"]})
        for words in ("maker/model", "maker/model:Q4_K_M", f"maker/model:{names[1]}"):
            self.assertEqual(self.succeed(words), self.place / names[0])
        self.assertEqual(self.fetched(), names)
        self.put_repository({name: MODEL for name in (names[0], names[2])})
        self.fail_with(3, "maker/model", says=[names[1], "not at the hub"])

    def test_a_folder(self):
        self.put_repository({**FOLDER, **BESIDE})
        self.assertEqual(self.succeed("maker/model"), self.place)
        for path, content in FOLDER.items():
            self.assertEqual((self.place / path).read_bytes(), content, path)
        self.assertEqual(len(self.files()), len(FOLDER))

    def test_weights_of_any_name_where_there_are_no_usual_ones(self):
        self.put_repository({"config.json": b"{}", "weights.safetensors": b"w", "deep/w.safetensors": b"d"})
        self.succeed("maker/model")
        self.assertEqual(sorted(self.fetched()), ["config.json", "weights.safetensors"])

    def test_empty_files_are_left_out(self):
        self.put_repository({"config.json": b"{}", "model.safetensors": b"w", "merges.txt": b""})
        self.succeed("maker/model")
        self.assertEqual(len(self.files()), 2)
        self.fail_with(3, "maker/model:merges.txt", says=["merges.txt", "empty"])

    def test_one_file_of_a_folder(self):
        self.put_repository(FOLDER)
        self.assertEqual(self.succeed("maker/model:1_Pooling/config.json"), self.place / "1_Pooling" / "config.json")
        self.assertEqual(len(self.files()), 1)

    def test_what_is_no_model(self):
        for files in ({"pytorch_model.bin": b"x"}, {"config.json": b"{}"}, {"model.safetensors": b"x"}, {}):
            self.put_repository(files)
            self.fail_with(3, "maker/model", says=["maker/model", "no model", *list(files)])
        self.fail_with(3, "maker/model:Q4_K_M", says=["Q4_K_M"])

    def test_only_what_changed_comes_again(self):
        self.put_repository(FOLDER)
        self.succeed("maker/model")
        (self.place / "vocab.txt").write_bytes(b"torn")
        self.put_repository({**FOLDER, "config.json": b'{"model_type": "new!"}'})
        self.server.requests.clear()
        self.succeed("maker/model")
        self.assertEqual(sorted(self.fetched()), ["config.json", "vocab.txt"])
        self.assertEqual((self.place / "config.json").read_bytes(), b'{"model_type": "new!"}')

    def test_a_folder_appears_when_it_is_whole(self):
        files = {"config.json": b"{}", "model.safetensors": b"w" * 300_000, "vocab.txt": b"word"}
        self.put_repository(files)
        self.server.paths["/maker/model/resolve/main/model.safetensors"].endings = [("stall", 200_000)]
        code, words = self.interrupt(signal.SIGINT, "maker/model")
        self.assertEqual(code, 130)
        self.assertRegex(words, r"error: interrupted; 0\.\d MB of maker/model: model.safetensors are kept, the same ")
        self.assertFalse(self.place.exists())
        self.server.requests.clear()
        self.assertEqual(self.succeed("maker/model"), self.place)
        self.assertEqual(self.fetched(), ["model.safetensors", "vocab.txt"])
        self.assertIn("Range", self.server.requests[1][1])
        self.assertEqual((self.place / "model.safetensors").read_bytes(), files["model.safetensors"])
        self.assertFalse((self.folder / ".partial").exists())

    def test_pages_of_the_hub_are_understood(self):
        self.put_repository({"a-Q4_0.gguf": MODEL, "sub/b-Q8_0.gguf": MODEL})
        for page, path in (("", "a-Q4_0.gguf"), ("/", "a-Q4_0.gguf"), ("/tree/main", "a-Q4_0.gguf"),
                           (":Q8_0", "sub/b-Q8_0.gguf"),
                           ("/blob/main/sub/b-Q8_0.gguf", "sub/b-Q8_0.gguf"),
                           ("/resolve/main/sub/b-Q8_0.gguf?download=true", "sub/b-Q8_0.gguf")):
            self.assertEqual(self.succeed(f"{self.server.base}/maker/model{page}"), self.place / path)
        self.fail_with(2, f"{self.server.base}/maker/model", "--name", "x", says=["--name"])

    def test_the_files_may_lie_elsewhere(self):
        self.give_token()
        other = self.start_server()
        self.put_repository({"m.gguf": MODEL})
        path = "/maker/model/resolve/main/m.gguf"
        self.server.redirect(path, other.put("/store?signature=1", MODEL))
        self.succeed("maker/model")
        seen = [headers.get("Authorization") for _, headers in self.server.requests]
        self.assertEqual(seen, [f"Bearer {TOKEN}"] * 2)
        self.assertNotIn("Authorization", other.asked("/store?signature=1")[0])

    def test_listings_of_several_pages(self):
        self.put_repository({"m-Q8_0.gguf": MODEL})
        first = self.server.paths.pop(listing_path())
        self.server.paths["/page2"] = first
        self.put_listing([], headers={"Link": '</page2>; rel="next"'})
        self.assertEqual(self.succeed("maker/model"), self.place / "m-Q8_0.gguf")
        self.put_listing([], headers={"Link": f'<{listing_path()}>; rel="next"'})
        self.fail_with(3, "maker/model", says=["pages"])

    def test_refusals(self):
        token = self.root / ".cache" / "huggingface" / "token"
        for status in (401, 403):
            self.server.put(listing_path(), status=status)
            self.fail_with(5, "maker/model", says=[str(status), "licence", "no token was found", str(token),
                                                   "--token-file"])
        self.put_repository({"m.gguf": MODEL}, status=403)
        self.give_token()
        self.fail_with(5, "maker/model",
                       says=["maker/model: m.gguf", "403", "licence", f"the token in {token} was sent"])
        self.fail_with(3, "maker/other", says=["maker/other", "404", "spelling"])

    def test_a_busy_hub_is_asked_again(self):
        self.put_repository({"m.gguf": MODEL}, endings=[429, 500])
        self.server.paths[listing_path()].endings = [429, 503, ("cut", 10), ("cut", 0)]
        self.succeed("maker/model")

    def test_wrong_content(self):
        listing = self.put_repository({"config.json": b"{}", "model.safetensors": b"right"})
        self.server.put("/maker/model/resolve/main/model.safetensors", b"wrong")
        self.fail_with(3, "maker/model", says=["model.safetensors", "SHA-256", listing[1]["lfs"]["oid"]])
        self.put_repository({"config.json": b"{}", "model.safetensors": b"right"}, "maker/second")
        self.server.put("/maker/second/resolve/main/config.json", b"[]")
        self.fail_with(3, "maker/second", says=["config.json", "git SHA-1", listing[0]["oid"]])
        self.server.put("/maker/second/resolve/main/config.json", b"{} ")
        self.fail_with(3, "maker/second", says=["config.json", "3 bytes, expected 2"])
        self.assertFalse(self.place.exists())

    def test_paths_that_leave_their_folder(self):
        for path in ("../m.gguf", "/etc/m.gguf", "a/../../m.gguf", "a//m.gguf", "a\\m.gguf", "c:m.gguf", "m\n.gguf",
                     "m\x1b[2J.gguf", "./m.gguf", "m.gguf/", "", "x" * 250 + ".gguf", "a/" * 600 + "m.gguf"):
            self.put_listing([{"type": "file", "path": path, "size": 1, "oid": "0" * 40}])
            result = self.fail_with(3, "maker/model", says=["maker/model", "leave its folder"])
            self.assertNotIn("\x1b", result.stderr)
        self.assertEqual(sorted(path.name for path in self.root.iterdir()), [])

    def test_listings_that_are_none(self):
        for text in (b"<html>", b"\xff", b"[" * 100_000, b'"text"', b"3", b"null", b"{}", b'[{"type": "file"}]', b"[1]",
                     b'[{"type": "file", "path": "m.gguf", "size": "many"}]', b'{"error": "no"}',
                     b'[{"type": "file", "path": "m.gguf", "size": 1, "lfs": 3}]',
                     b'[{"type": "file", "path": "m.gguf", "size": null}]'):
            self.server.put(listing_path(), text)
            self.fail_with(3, "maker/model", says=[])
        self.assertEqual(self.files() if self.folder.exists() else [], [])

    def test_no_room_for_all_of_it(self):
        self.put_listing([{"type": "file", "path": "m.gguf", "size": 1 << 60, "oid": "", "lfs": {"oid": "0" * 64,
                                                                                               "size": 1 << 60}}])
        self.fail_with(4, "maker/model", says=["free", "needed", "PLM_CACHE"])
        self.assertEqual(self.fetched(), [])

    def test_names_that_are_none(self):
        for name in ("a/b/c", "/a", "a/", "a/..", "../a", "./a", "a b/c", "a/b\n", ".a/b", "a/b%2e"):
            self.fail_with(2, name, says=["owner/repo"])
        self.fail_with(2, "maker/model", "--sha256", "0" * 64, says=["--sha256"])
        for endpoint in ("hub", "ftp:" + "//hub", "http:" + "//"):
            self.fail_with(2, "maker/model", says=["address"], HF_ENDPOINT=endpoint)
        self.assertEqual(self.server.requests, [])


class ChoiceTest(unittest.TestCase):
    def test_tags(self):
        for path, tag in (("m-Q4_K_M.gguf", "q4_k_m"), ("m.Q4_K_M.gguf", "Q4_K_M"), ("Q4_K_M.gguf", "Q4_K_M"),
                          ("m-UD-Q4_K_XL.gguf", "Q4_K_XL"), ("Q4_K_M/m-00001-of-00002.gguf", "Q4_K_M"),
                          ("m-q8_0-00001-of-00002.gguf", "Q8_0")):
            self.assertTrue(fetch_hub.has_tag(path, tag), path)
        for path, tag in (("m-Q4_K_M.gguf", "Q4_K"), ("m-IQ4_0.gguf", "Q4_0"), ("m-BF16.gguf", "F16"), ("m.gguf", "")):
            self.assertFalse(fetch_hub.has_tag(path, tag), path)

    def test_preference(self):
        def chosen(*models):
            return fetch_hub.choose_gguf(fetch_hub.Repository("o", "r"), sorted(models))
        self.assertEqual(chosen("m-F16.gguf", "m-IQ4_XS.gguf", "m-Q4_0.gguf"), "m-Q4_0.gguf")
        self.assertEqual(chosen("big-model-Q4_K_M.gguf", "m-Q4_K_M.gguf"), "m-Q4_K_M.gguf")
        self.assertEqual(chosen("b.gguf", "a.gguf"), "a.gguf")


if __name__ == "__main__":
    unittest.main()
