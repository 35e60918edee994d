// Calls of tools in what a model wrote. Models write them in a few forms, which their chat templates teach them:
//   <tool_call>{"name": NAME, "arguments": OBJECT}</tool_call>   (Hermes, Qwen), several, with words before
//   {"name": NAME, "parameters": OBJECT}                         (Llama 3.1), nothing else, or an array of them
//   {"tool_calls": [{"name": NAME, "arguments": OBJECT}]}        (what text/chat/stand_ins.cpp asks for)
// Only names that the request offers count; anything else is ordinary text. Tested by tests/serve/test_tool_calls.cpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace plm {

struct ToolCall {
  std::string name;
  Json arguments;  ///< an object
};

struct CalledTools {
  std::string text;  ///< what stands before the calls
  std::vector<ToolCall> calls;
};

/// `tools` as a request has them: [{"type": "function", "function": {"name": ...}}].
[[nodiscard]] CalledTools find_tool_calls(std::string_view text, const Json& tools);

/// Lets a text through while it is written, but not what may be a call: that is held until the end.
class ToolCallFilter {
 public:
  /// What of the text so far can be shown.
  [[nodiscard]] std::string push(std::string_view text);
  /// What was held: to be looked at for calls.
  [[nodiscard]] std::string finish() { return std::move(held_); }

 private:
  std::string held_;
  bool has_begun_ = false;  // something else than a call
};

}  // namespace plm
