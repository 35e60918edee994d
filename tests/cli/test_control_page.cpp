#include "cli/control_page.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "sampling/sampler.h"

namespace plm {
namespace {

// The page in the repository is the one that the program writes: build/release/plm describe --controls.
TEST(ControlPage, TheReferencePageIsCurrent) {
  std::ifstream stream(std::string(PLM_GOLDEN) + "/../../docs/reference/controls.md", std::ios::binary);
  const std::string page((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  EXPECT_EQ(page, control_page()) << "write it anew: plm describe --controls > docs/reference/controls.md";
}

TEST(ControlPage, LeavesNoControlOut) {
  const std::string page = control_page();
  for (const SamplerDefinition* sampler : samplers()) {
    EXPECT_NE(page.find("## " + std::string(sampler->head.name) + "\n"), std::string::npos);
    EXPECT_FALSE(sampler->rule.empty()) << sampler->head.name;
    ASSERT_EQ(sampler->notes.size(), sampler->head.parameters.size()) << sampler->head.name;
    for (std::size_t i = 0; i < sampler->notes.size(); ++i) {
      EXPECT_EQ(sampler->notes[i].parameter, sampler->head.parameters[i].name);
      EXPECT_FALSE(sampler->notes[i].effect.empty()) << sampler->notes[i].parameter;
      EXPECT_NE(page.find("### " + std::string(sampler->notes[i].parameter) + "\n"), std::string::npos);
    }
  }
}

TEST(ControlPage, TellsOfOneControlInATerminal) {
  const std::string one = control_text("top-p");
  for (const char* part :
       {"sampler top_p: ", "top_p: only the likeliest", "\n  default     0.95\n", "\n  range       0 to 1\n",
        "\n  tag         INF\n", "\n  raised      ", "\n  profiles    llamacpp: 0 to 1, clamped"}) {
    EXPECT_NE(one.find(part), std::string::npos) << part << one;
  }
  // A sampler with all of its controls; a control that several samplers have.
  for (const char* part : {"repeat_penalty: ", "repeat_slope: ", "penalty_prompt: "}) {
    EXPECT_NE(control_text("penalties").find(part), std::string::npos) << part;
  }
  EXPECT_NE(control_text("min_keep").find("sampler xtc"), std::string::npos);
  EXPECT_EQ(control_text("bogus"), "");
  for (std::size_t begin = 0; begin < one.size(); begin = one.find('\n', begin) + 1) {
    EXPECT_LE(one.find('\n', begin) - begin, 120U);
  }
}

}  // namespace
}  // namespace plm
