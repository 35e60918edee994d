// The tables of methods by the type of their object. Methods that would change their object are not among them: the
// sandbox forbids them. Tested by tests/text/jinja/test_conformance.cpp.
#pragma once

#include <span>

#include "text/jinja/builtin.h"

namespace plm::jinja {

[[nodiscard]] std::span<const Builtin> text_methods();

}  // namespace plm::jinja
