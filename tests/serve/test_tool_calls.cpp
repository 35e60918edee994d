#include "serve/tool_calls.h"

#include <gtest/gtest.h>

namespace plm {
namespace {

const Json kTools = {{{"type", "function"}, {"function", {{"name", "weather"}}}},
                     {{"type", "function"}, {"function", {{"name", "time"}}}}};

TEST(ToolCalls, AreFoundInEachForm) {
  const struct {
    const char* text;
    const char* before;
    std::vector<std::string> names;
  } cases[] = {
      {R"(<tool_call>{"name": "weather", "arguments": {"city": "Ulm"}}</tool_call>)", "", {"weather"}},
      {"I look.\n<tool_call>\n{\"name\": \"weather\", \"arguments\": {}}\n</tool_call>\n<tool_call>{\"name\": \"time\"}"
       "</tool_call>",
       "I look.",
       {"weather", "time"}},
      {R"({"name": "time", "parameters": {"zone": "UTC"}})", "", {"time"}},
      {R"( [{"name": "time", "arguments": "{\"zone\": 1}"}] )", "", {"time"}},
      {R"({"tool_calls": [{"name": "time", "arguments": {}}, {"name": "weather", "arguments": {}}]})",
       "",
       {"time", "weather"}},
  };
  for (const auto& test_case : cases) {
    const CalledTools called = find_tool_calls(test_case.text, kTools);
    ASSERT_EQ(called.calls.size(), test_case.names.size()) << test_case.text;
    EXPECT_EQ(called.text, test_case.before);
    for (std::size_t i = 0; i < called.calls.size(); ++i) {
      EXPECT_EQ(called.calls[i].name, test_case.names[i]);
      EXPECT_TRUE(called.calls[i].arguments.is_object());
    }
  }
}

TEST(ToolCalls, OtherTextStaysText) {
  for (const char* text : {"", "The weather is fine.", R"({"name": "launch", "arguments": {}})", R"({"a": 1})",
                           "[1, 2]", "<tool_call>nonsense</tool_call>", "{\"name\": \"weather\", \"arguments\": 5}"}) {
    const CalledTools called = find_tool_calls(text, kTools);
    EXPECT_TRUE(called.calls.empty()) << text;
    EXPECT_EQ(called.text, text);
  }
}

// However a text is cut, what is let through and what is held are the text.
TEST(ToolCallFilter, HoldsOnlyWhatMayBeACall) {
  const std::string texts[] = {"Hello there", "a < b <tool", "  {\"x\": 1}", "see <tool_call>{\"name\": \"time\"}"};
  const std::string shown_at_once[] = {"Hello there", "a < b ", "", "see "};
  for (std::size_t t = 0; t < std::size(texts); ++t) {
    for (std::size_t step = 1; step <= texts[t].size(); ++step) {
      ToolCallFilter filter;
      std::string shown;
      for (std::size_t i = 0; i < texts[t].size(); i += step) shown += filter.push(texts[t].substr(i, step));
      EXPECT_EQ(shown, shown_at_once[t]) << step;
      EXPECT_EQ(shown + filter.finish(), texts[t]);
    }
  }
}

}  // namespace
}  // namespace plm
