#include "text/jinja/marked_text.h"

#include <algorithm>
#include <utility>

namespace plm::jinja {

MarkedText::MarkedText(std::string text, Origin origin) : text_(std::move(text)) {
  if (!text_.empty()) runs_.push_back({0, text_.size(), origin});
}

std::size_t MarkedText::run_at(std::size_t at) const {
  if (runs_.size() == 1) return 0;
  const auto run = std::upper_bound(runs_.begin(), runs_.end(), at,
                                    [](std::size_t byte, const Run& candidate) { return byte < candidate.end; });
  return static_cast<std::size_t>(run - runs_.begin());
}

bool MarkedText::is_from_template(std::size_t begin, std::size_t end) const {
  if (begin >= end) return true;
  const Run& run = runs_[run_at(begin)];
  return run.origin == Origin::template_text && end <= run.end;
}

void MarkedText::append(std::string_view text, Origin origin) {
  if (text.empty()) return;
  const std::size_t begin = text_.size();
  text_ += text;
  if (!runs_.empty() && runs_.back().origin == origin) {
    runs_.back().end = text_.size();
  } else {
    runs_.push_back({begin, text_.size(), origin});
  }
}

void MarkedText::append(const MarkedText& other, std::size_t begin, std::size_t end) {
  if (begin >= end) return;
  for (std::size_t index = other.run_at(begin); index < other.runs_.size() && begin < end; ++index) {
    const Run& run = other.runs_[index];
    const std::size_t stop = std::min(run.end, end);
    append(std::string_view(other.text_).substr(begin, stop - begin), run.origin);
    begin = stop;
  }
}

MarkedText MarkedText::slice(std::size_t begin, std::size_t end) const {
  MarkedText part;
  part.append(*this, begin, end);
  return part;
}

}  // namespace plm::jinja
