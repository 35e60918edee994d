// code: the program in the text passes the tests in a file. Both are run as one Python program, in a sandbox: the
// candidate's code, then the tests. Exit status 0 is right, and a last line "3/4" of what it prints is a score of 3/4.
// Tested by tests/search/test_verifiers.cpp.
#include <charconv>
#include <fstream>
#include <iterator>

#include "base/utf8.h"
#include "search/code_fence.h"
#include "search/sandbox.h"
#include "search/verifier.h"

namespace plm {
namespace {

constexpr std::size_t kMostTestBytes = 1U << 20;

// "3/4" as the last line.
std::optional<double> passed_share(std::string_view output) {
  while (!output.empty() && (output.back() == '\n' || output.back() == '\r')) output.remove_suffix(1);
  output.remove_prefix(output.rfind('\n') + 1);
  std::uint32_t passed = 0, all = 0;
  const char* end = output.data() + output.size();
  const auto [slash, error] = std::from_chars(output.data(), end, passed);
  if (error != std::errc() || slash == end || *slash != '/') return std::nullopt;
  const auto [last, second_error] = std::from_chars(slash + 1, end, all);
  if (second_error != std::errc() || last != end || all == 0 || passed > all) return std::nullopt;
  return static_cast<double>(passed) / static_cast<double>(all);
}

class Code : public Verifier {
 public:
  explicit Code(std::string tests) : tests_(std::move(tests)) {}
  Result<Verdict> judge(const SearchCandidate& candidate) const override {
    const SandboxLimits limits;
    const std::string program = std::string(code_of(candidate.text)) + "\n\n" + tests_;
    PLM_TRY_ASSIGN(const SandboxRun run,
                   run_in_sandbox({"python3", "-I", "program.py"}, {{"program.py", program}}, limits));
    const auto share = passed_share(run.output);
    const bool is_right = run.succeeded() && share.value_or(1) == 1;
    Verdict verdict = yes_or_no(is_right);
    if (run.end == SandboxRun::End::exited && share.has_value()) verdict.score = *share;
    if (!is_right) {
      const std::size_t last_line = run.output.rfind('\n', run.output.empty() ? 0 : run.output.size() - 2) + 1;
      verdict.note = fmt::format("{}: {}", run.described(limits), printable(run.output.substr(last_line), 200));
    }
    return verdict;
  }
  [[nodiscard]] std::optional<double> highest_score() const override { return 1.0; }

 private:
  std::string tests_;
};

}  // namespace

extern const VerifierDefinition verifier_code;
constinit const VerifierDefinition verifier_code = {
    .head = {.name = "code",
             .summary = "the Python program in the text passes the tests in a file, in a sandbox",
             .source = "datasheet 40, verifiers: running code"},
    .argument = "FILE.py",
    .create = [](std::string_view argument) -> Result<std::unique_ptr<Verifier>> {
      std::ifstream file(std::string(argument), std::ios::binary);
      std::string tests{std::istreambuf_iterator<char>(file), {}};
      if (!file.good() && tests.empty()) {
        return fail(ErrorKind::bad_input, "verifier code: {}: cannot be read, or is empty", printable(argument, 200));
      }
      if (tests.size() > kMostTestBytes) {
        return fail(ErrorKind::bad_input, "verifier code: {}: {} bytes, expected at most {}", printable(argument, 200),
                    tests.size(), kMostTestBytes);
      }
      return std::make_unique<Code>(std::move(tests));
    },
};

}  // namespace plm
