#include "cli/terminal.h"

#include <gtest/gtest.h>

namespace plm {
namespace {

// The streams of a test are no terminals; tests/cli/test_on_terminal.py has one.
struct Printed {
  std::string out, err;
};
template <typename Work>
Printed printed(const Work& work) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Terminal terminal;
  work(terminal);
  std::string out = testing::internal::GetCapturedStdout();
  return {std::move(out), testing::internal::GetCapturedStderr()};
}

TEST(Terminal, HarmlessTextKeepsLinesTabsAndCharacters) {
  EXPECT_EQ(harmless(""), "");
  EXPECT_EQ(harmless("a\tb\n\nc\n"), "a\tb\n\nc\n");
  EXPECT_EQ(harmless("naïve 😀\n"), "naïve 😀\n");
}

TEST(Terminal, HarmlessTextSteersNothing) {
  EXPECT_EQ(harmless("\x1b[2J"), "\\x1b[2J");
  EXPECT_EQ(harmless("a\rb\x07\x7f"), "a\\rb\\x07\\x7f");
  EXPECT_EQ(harmless("\xc2\x9b"
                     "31m"),
            "\\u009b31m");
  EXPECT_EQ(harmless(std::string_view("\0\n\xff", 3)), "\\x00\n\\xff");
  EXPECT_EQ(harmless(std::string(5000, '\x01')).size(), 5000U * 4);  // nothing is cut short
}

TEST(Terminal, DataGoesToStdoutAsItIsAndAllElseToStderr) {
  const Printed all = printed([](Terminal& terminal) {
    terminal.data("\x1b[31m\n");
    terminal.note("a");
    terminal.warning("b");
    terminal.error({ErrorKind::failed, "c"});
    terminal.line("d");
    terminal.progress("e", 0.5);
    terminal.clear_progress();
  });
  EXPECT_EQ(all.out, "\x1b[31m\n");
  EXPECT_EQ(all.err, "note: a\nwarning: b\nerror: c\nd\n");
}

TEST(Terminal, QuietLeavesDataAndErrors) {
  const Printed rest = printed([](Terminal& terminal) {
    terminal.be_quiet();
    terminal.data("data\n");
    terminal.note("a");
    terminal.warning("b");
    terminal.line("c");
    terminal.error({ErrorKind::failed, "d"});
    EXPECT_FALSE(terminal.failure().has_value());
  });
  EXPECT_EQ(rest.out, "data\n");
  EXPECT_EQ(rest.err, "error: d\n");
}

}  // namespace
}  // namespace plm
