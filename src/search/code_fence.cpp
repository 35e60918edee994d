#include "search/code_fence.h"

#include <algorithm>

namespace plm {

std::string_view code_of(std::string_view text) {
  constexpr std::string_view kFence = "```";
  if (const std::size_t fence = text.find(kFence); fence != std::string_view::npos) {
    const std::size_t line = text.find('\n', fence);  // behind the language's name
    text.remove_prefix(line == std::string_view::npos ? fence + kFence.size() : line + 1);
    text = text.substr(0, text.find(kFence));
  }
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

}  // namespace plm
