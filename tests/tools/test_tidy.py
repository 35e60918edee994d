"""Tests of tools/tidy.py on tiny invented trees: each rule finds its offence, and only there."""

import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import tidy  # noqa: E402

CMAKE = """# table
plm_room(base LIBRARIES fmt::fmt nlohmann_json::nlohmann_json)
plm_room(text ROOMS base LIBRARIES PkgConfig::PCRE2)
plm_room(tensor ROOMS base)
plm_registry(tensor FOLDER quant PREFIX quant TYPE StorageType HEADER "h" FUNCTION f)
plm_room(kernels ROOMS base tensor LIBRARIES hwy::hwy)
plm_room(state ROOMS base tensor)
plm_room(model ROOMS base tensor kernels state)
plm_registry(model FOLDER arch PREFIX arch TYPE Architecture HEADER "h" FUNCTION f)
plm_room(sampling ROOMS base)
plm_room(decode ROOMS base sampling)
plm_room(engine ROOMS base kernels decode)
plm_room(cli ROOMS base engine)
"""
DEFINITION = """// A storage type.
const StorageType quant_q4 = {.definition = {.name = "q4", .summary = "four bits", .source = "datasheet 3"}};
"""


def source(body=""):
    return f"// What it is for.\n{body}"


def header(body=""):
    return f"// What it is for.\n#pragma once\n{body}"


class TidyTest(unittest.TestCase):
    def findings(self, files):
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for path, text in {"src/CMakeLists.txt": CMAKE, **files}.items():
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(text, encoding="utf-8")
            return [(path, line, rule) for path, line, rule, _ in tidy.findings(root)]

    def expect(self, files, *expected):
        self.assertEqual(self.findings(files), sorted(expected))

    def test_a_tidy_tree_has_no_findings(self):
        self.expect({
            "src/base/error.h": header('#include <fmt/format.h>\n#include "base/json.h"\n'),
            "src/base/json.h": header(),
            "src/text/words.h": header('#include "base/error.h"\n'),
            "src/text/words.cpp": '#include "text/words.h"\n\n#include <pcre2.h>\n' + "int x;\n" * 50,
            "tests/text/test_words.cpp": '#include "text/words.h"\n#include "golden_file.h"\n',
            "tests/golden_file.h": header(),
            "tests/text/strings.h": header(),
            "tests/text/test_strings.cpp": '// Covers src/text/words.h.\n#include "strings.h"\n',
            "src/tensor/quant/quant_q4.cpp": DEFINITION,
        })

    def test_includes_follow_the_table(self):
        files = {"src/base/error.h": header(), "src/decode/canvas.h": header()}
        upward = {**files, "src/base/x.h": header('#include "decode/canvas.h"\n')}
        self.expect(upward, ("src/base/x.h", 3, "rooms"))
        sideways = {**files, "src/sampling/x.h": header('#include "base/error.h"\n#include "decode/canvas.h"\n')}
        self.expect(sideways, ("src/sampling/x.h", 4, "rooms"))
        self.expect({**files, "src/decode/x.h": header('#include "decode/canvas.h"\n')})

    def test_engine_sees_the_device_only(self):
        files = {"src/kernels/device.h": header(), "src/kernels/linear.h": header()}
        self.expect({**files, "src/engine/x.h": header('#include "kernels/device.h"\n')})
        self.expect({**files, "src/engine/x.h": header('#include "kernels/linear.h"\n')},
                    ("src/engine/x.h", 3, "rooms"))

    def test_the_build_may_not_link_more_than_the_design(self):
        self.expect({"src/CMakeLists.txt": "# t\nplm_room(base)\nplm_room(sampling ROOMS base model)\n"},
                    ("src/CMakeLists.txt", 1, "rooms"))
        self.expect({"src/CMakeLists.txt": "# t\nplm_room(base)\nplm_room(attic ROOMS base)\n"},
                    ("src/CMakeLists.txt", 1, "rooms"))
        self.expect({"src/attic/x.h": header()}, ("src/attic/x.h", 1, "rooms"))

    def test_own_includes_are_relative_to_the_rooms(self):
        self.expect({"src/base/a.h": header(), "src/base/b.h": header('#include "a.h"\n')},
                    ("src/base/b.h", 3, "include"))
        self.expect({"src/base/b.h": header('#include "base/absent.h"\n')}, ("src/base/b.h", 3, "include"))

    def test_foreign_libraries_stay_where_they_are_linked(self):
        self.expect({"src/base/a.h": header("#include <nlohmann/json.hpp>\n")})
        self.expect({"src/text/a.h": header("#include <nlohmann/json.hpp>\n")}, ("src/text/a.h", 3, "library"))

    def test_a_source_includes_its_own_header_first(self):
        self.expect({"src/base/a.h": header(), "src/base/a.cpp": '#include <vector>\n#include "base/a.h"\n'},
                    ("src/base/a.cpp", 1, "include"))

    def test_headers_are_included_once(self):
        self.expect({"src/base/a.h": source()}, ("src/base/a.h", 1, "pragma"))
        self.expect({"src/base/a-inl.h": source(), "src/base/b_inl.h": source()})

    def test_vague_names(self):
        for path in ("src/base/utils.h", "src/base/string_util.h", "src/base/misc/a.h", "tests/base/common/a.h"):
            self.assertIn("name", {rule for _, _, rule in self.findings({path: header()})}, path)
        self.expect({"src/base/common_prefix.h": header(), "src/base/storage_types.h": header()})

    def test_architectures_are_named_in_their_folder_only(self):
        arch = '// A.\nconst Architecture arch_llama = {.name = "llama", .summary = "s", .source = "p"};\n'
        files = {"src/model/arch/arch_llama.cpp": arch}
        self.expect(files)
        self.expect({**files, "src/model/a.h": header('auto a = f("llama");\n')}, ("src/model/a.h", 3, "architecture"))
        self.expect({**files, "src/cli/a.h": header('auto a = f("llama.block_count");\n')},
                    ("src/cli/a.h", 3, "architecture"))
        self.expect({**files, "src/model/a.h": header("switch (config.architecture) {}\n")},
                    ("src/model/a.h", 3, "architecture"))
        self.expect({**files, "src/cli/a.h": header('auto a = f("llama.cpp calls it -ngl"); // "llama"\n'),
                     "src/text/a.h": header('auto a = f("llama");\n')})

    def test_definitions_are_complete(self):
        path = "src/tensor/quant/quant_q4.cpp"
        for broken in (DEFINITION.replace("quant_q4 ", "quant_q5 "), DEFINITION.replace('"q4"', '"q5"'),
                       DEFINITION.replace('"four bits"', '""'), DEFINITION.replace(', .source = "datasheet 3"', "")):
            self.expect({path: broken}, (path, 1, "definition"))
        dashed = DEFINITION.replace("quant_q4", "quant_q4_k").replace('"q4"', '"q4-k"')
        self.expect({"src/tensor/quant/quant_q4_k.cpp": dashed})

    def test_tests_mirror_sources(self):
        self.expect({"tests/base/test_a.cpp": source()}, ("tests/base/test_a.cpp", 1, "mirror"))
        self.expect({"src/base/a.h": header(), "tests/base/test_a.cpp": source()})
        self.expect({"src/base/a.h": header(), "tests/base/test_story.cpp": "// Covers src/base/a.h.\n"})
        self.expect({"tests/tensor/test_quant.cpp": source()})
        self.expect({"tests/contract/test_anything.cpp": source()})

    def test_sources_of_some_length_are_tested(self):
        body = "int x;\n" * 60
        self.expect({"src/base/a.cpp": source(body)}, ("src/base/a.cpp", 1, "mirror"))
        self.expect({"src/base/a.cpp": source("int x;\n" * 20)})
        self.expect({"src/base/b.h": header(), "tests/base/test_b.cpp": source(),
                     "src/base/a.cpp": "// Tested by tests/base/test_b.cpp.\n" + body})
        self.expect({"src/tensor/quant/quant_q4.cpp": DEFINITION + body, "tests/tensor/test_quant.cpp": source()})
        self.expect({"src/base/a.h": "// Tested by tests/base/test_absent.cpp\n#pragma once\n"},
                    ("src/base/a.h", 1, "mirror"))

    def test_the_c_library_computes_nothing_that_counts(self):
        for call in ("std::exp(x)", "expf(x)", "a = log2 (x)", "std::pow(2, x)", "::sin(x)"):
            self.expect({"src/kernels/a.h": header(f"float y = {call};\n")}, ("src/kernels/a.h", 3, "numerics"))
        for call in ("exp_f32(x)", "std::sqrt(x)", "std::fma(a, b, c)", "hn::Exp(x)", "table.exp(x)", "f(); // exp(x)",
                     'f("exp(x)")', "plm::log(x)"):
            self.expect({"src/kernels/a.h": header(f"float y = {call};\n")})
        self.expect({"src/engine/a.h": header("double s = std::log(x);\n")})

    def test_the_library_neither_prints_nor_exits(self):
        for call, rule in (("std::cout << 1;", "print"), ("printf(x);", "print"), ("std::fprintf(f, x);", "print"),
                           ("fmt::print(x);", "print"), ("exit(1);", "exit"), ("std::abort();", "exit"),
                           ("std::rand();", "randomness"), ("std::random_device d;", "randomness")):
            self.expect({"src/engine/a.h": header(call + "\n")}, ("src/engine/a.h", 3, rule))
        self.expect({"src/cli/a.h": header("std::cout << 1; exit(1);\n"),
                     "src/base/b.h": header("snprintf(b, n, f);\n")})

    def test_literals_and_comments_are_no_code(self):
        text = "const char* a = R\"(std::cout)\"; int n = 1'000; char c = '\"'; /* abort(\n); */ // exit(1)\nexit(1);\n"
        self.expect({"src/engine/a.h": header(text)}, ("src/engine/a.h", 5, "exit"))

    def test_text_that_must_not_stay(self):
        marker = "TO" "DO"
        self.expect({"src/base/a.h": header(f"// {marker}: later\n")}, ("src/base/a.h", 3, "marker"))
        self.expect({"README.md": f"{marker}\n"}, ("README.md", 1, "marker"))
        for place in ("work", "tmp", "root"):
            self.expect({"tests/a.h": header(f'"/{place}/x"\n')}, ("tests/a.h", 3, "machine-path"))
        self.expect({"README.md": "see frame/work/x and pypi" ".org\n"}, ("README.md", 1, "host"))
        self.expect({"src/base/a.h": header("// http" "s://x.example\n")}, ("src/base/a.h", 3, "host"))
        self.expect({"README.md": "http" "s://x.example\n"})
        self.expect({"src/base/a.h": header('f("version http' 's://git-lfs.git' 'hub.com/spec/v1");\n')})

    def test_shape(self):
        self.expect({"src/base/a.h": header("//" + "x" * 119 + "\n")}, ("src/base/a.h", 3, "width"))
        self.expect({"src/base/a.h": header("//" + "é" * 118 + "\n")})
        self.expect({"src/base/a.h": "#pragma once\n"}, ("src/base/a.h", 1, "head"))
        self.expect({"tools/a.sh": "#!/bin/sh\n# What for.\n", "tools/b.py": '#!/x\n"""What for."""\n'})
        self.expect({"tools/a.sh": "#!/bin/sh\necho\n"}, ("tools/a.sh", 1, "head"))
        self.expect({"src/base/a.h": header("int x;\n" * 460)}, ("src/base/a.h", 450, "length (warning)"))
        self.expect({"src/base/a.h": header("int x;\n" * 610)}, ("src/base/a.h", 600, "length"))

    def test_the_verdict_is_the_exit_code(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "src").mkdir()
            (pathlib.Path(folder) / "src" / "CMakeLists.txt").write_text(CMAKE)
            self.assertEqual(tidy.main([folder]), 0)
            (pathlib.Path(folder) / "src" / "Makefile").write_text("no head\n")
            self.assertEqual(tidy.main([folder]), 1)


if __name__ == "__main__":
    unittest.main()
