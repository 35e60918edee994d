#include "serve/tool_calls.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace plm {
namespace {

constexpr std::string_view kBegin = "<tool_call>", kEnd = "</tool_call>", kBlanks = " \t\r\n";
constexpr JsonLimits kCallLimits{.bytes = 1U << 20, .depth = 64};

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

bool is_offered(const Json& tools, const std::string& name) {
  return std::ranges::any_of(tools, [&](const Json& tool) {
    const Json& function = tool.is_object() && tool.contains("function") ? tool["function"] : tool;
    return function.is_object() && function.value("name", Json()) == name;
  });
}

// {"name", "arguments" or "parameters"}
std::optional<ToolCall> call_of(const Json& json, const Json& tools) {
  if (!json.is_object() || !json.contains("name") || !json["name"].is_string()) return std::nullopt;
  ToolCall call{json["name"].get<std::string>(), Json::object()};
  for (const char* key : {"arguments", "parameters"}) {
    if (json.contains(key)) call.arguments = json[key];
  }
  if (call.arguments.is_string()) {
    auto parsed = parse_json(call.arguments.get<std::string>(), "arguments", kCallLimits);
    if (parsed.has_value()) call.arguments = *std::move(parsed);
  }
  if (!call.arguments.is_object() || !is_offered(tools, call.name)) return std::nullopt;
  return call;
}

// A JSON text that is a call, calls, or an object of calls; empty: none of these.
std::vector<ToolCall> calls_of(std::string_view text, const Json& tools) {
  const auto json = parse_json(trimmed(text), "call", kCallLimits);
  if (!json.has_value()) return {};
  const bool is_wrapped = json->is_object() && json->contains("tool_calls");
  const Json& inner = is_wrapped ? (*json)["tool_calls"] : *json;
  std::vector<ToolCall> calls;
  for (const Json& one : inner.is_array() ? inner : Json::array({inner})) {
    auto call = call_of(one, tools);
    if (!call.has_value()) return {};
    calls.push_back(*std::move(call));
  }
  return calls;
}

// How much of the end of `text` may be the beginning of the mark.
std::size_t overlap(std::string_view text, std::string_view mark) {
  for (std::size_t n = std::min(text.size(), mark.size() - 1); n > 0; --n) {
    if (mark.starts_with(text.substr(text.size() - n))) return n;
  }
  return 0;
}

}  // namespace

CalledTools find_tool_calls(std::string_view text, const Json& tools) {
  CalledTools called;
  const auto first = text.find(kBegin);
  if (first == std::string_view::npos) {
    called.calls = calls_of(text, tools);
    if (called.calls.empty()) called.text = std::string(text);
    return called;
  }
  for (std::string_view rest = text.substr(first); rest.starts_with(kBegin);) {
    rest.remove_prefix(kBegin.size());
    const auto end = rest.find(kEnd);
    for (ToolCall& call : calls_of(rest.substr(0, end), tools)) called.calls.push_back(std::move(call));
    rest = end == std::string_view::npos ? std::string_view() : trimmed(rest.substr(end + kEnd.size()));
  }
  called.text = std::string(called.calls.empty() ? text : trimmed(text.substr(0, first)));
  return called;
}

std::string ToolCallFilter::push(std::string_view text) {
  held_ += text;
  if (!has_begun_) {
    const auto first = held_.find_first_not_of(kBlanks);
    if (first == std::string::npos || held_[first] == '{' || held_[first] == '[') return {};
    has_begun_ = !std::string_view(held_).substr(first).starts_with(kBegin.substr(0, held_.size() - first));
    if (!has_begun_) return {};
  }
  const auto mark = held_.find(kBegin);
  const std::size_t shown = mark != std::string::npos ? mark : held_.size() - overlap(held_, kBegin);
  std::string out = held_.substr(0, shown);
  held_.erase(0, shown);
  return out;
}

}  // namespace plm
