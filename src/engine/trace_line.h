// A trace as lines of JSON: what one event says about one token, with the texts of tokens. docs/reference/trace.md says
// what the fields mean. Tested by tests/engine/test_trace_line.cpp.
#pragma once

#include <optional>
#include <string>

#include "base/json_forward.h"
#include "decode/event.h"
#include "text/vocabulary.h"

namespace plm {

/// The line for an event, without the line feed; none for events that a trace leaves out. A committed token is
/// described, a deleted one named by its position.
[[nodiscard]] std::optional<std::string> trace_line(const Event& event, const Vocabulary& vocabulary);

}  // namespace plm
