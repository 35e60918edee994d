// What a template may cost. A template is a program that came with a file or a request, and its variables are a
// stranger's words, so both parsing and rendering are bounded; exceeding a limit is an error that names it.
// Limits on work grow with the variables: honest templates look at each byte of a conversation a few times.
#pragma once

#include <cstddef>

namespace plm::jinja {

struct Limits {
  std::size_t source_bytes = 1U << 20;          ///< of the template
  std::size_t nesting = 100;                    ///< brackets, blocks and prefix operators inside one another
  std::size_t steps = 4'000'000;                ///< expressions evaluated and items touched
  std::size_t steps_per_input_byte = 32;        ///< in addition
  std::size_t text_bytes = 32U << 20;           ///< written by all operations together, the output among them
  std::size_t text_bytes_per_input_byte = 256;  ///< in addition
  std::size_t depth = 800;                      ///< expressions and blocks under evaluation, which is what macros nest
  std::size_t container_depth = 200;            ///< lists and dictionaries inside one another
};

}  // namespace plm::jinja
