// Shared by the tests of the template language: one call to render, goldens as JSON.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "base/json.h"
#include "text/jinja/template.h"

namespace plm::jinja {

inline std::string file_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

inline Json golden(const std::string& name) {
  auto json = parse_json(file_text(std::string(PLM_GOLDEN) + "/text/" + name), name);
  EXPECT_TRUE(json.has_value()) << json.error().message;
  return json.value_or(Json::object());
}

/// The clock of the goldens: Friday, 26 July 2024, 15:04:05.
inline RenderOptions golden_options() {
  std::tm now{};
  now.tm_year = 124, now.tm_mon = 6, now.tm_mday = 26;
  now.tm_hour = 15, now.tm_min = 4, now.tm_sec = 5;
  now.tm_wday = 5, now.tm_yday = 207;
  return {.trusted = {"bos_token", "eos_token"}, .now = now};
}

inline Result<MarkedText> rendering(std::string_view source, const Json& variables = Json::object(),
                                    const Limits& limits = {}) {
  auto parsed = Template::parse(std::string(source), "test", limits);
  if (!parsed) return tl::unexpected(parsed.error());
  return parsed->render(variables, golden_options());
}

/// The text, or "error: " and the message.
inline std::string text_of(std::string_view source, const Json& variables = Json::object(), const Limits& limits = {}) {
  const auto result = rendering(source, variables, limits);
  return result ? result->text() : "error: " + result.error().message;
}

/// The text with its input between « and ».
inline std::string marked(const MarkedText& text) {
  std::string shown;
  for (const auto& run : text.runs()) {
    const std::string part = text.text().substr(run.begin, run.end - run.begin);
    shown += run.origin == Origin::input ? "«" + part + "»" : part;
  }
  return shown;
}

inline std::string marked(std::string_view source, const Json& variables = Json::object()) {
  const auto result = rendering(source, variables);
  return result ? marked(*result) : "error: " + result.error().message;
}

}  // namespace plm::jinja
