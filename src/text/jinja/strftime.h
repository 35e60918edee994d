// Dates as a template writes them, independent of the machine's language: English names, as models were trained with.
// Tested by tests/text/jinja/test_conformance.cpp.
#pragma once

#include <ctime>

#include "text/jinja/marked_text.h"

namespace plm::jinja {

/// `pattern` with its places (%d, %B ...) filled from `time`; what the C standard does not know stays as it is.
[[nodiscard]] MarkedText formatted_time(const MarkedText& pattern, const std::tm& time);

}  // namespace plm::jinja
