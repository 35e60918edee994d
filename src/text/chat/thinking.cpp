#include "text/chat/thinking.h"

#include <algorithm>
#include <utility>

namespace plm {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

// Bytes at the end of `text` that may be the beginning of `tag`.
std::size_t begun_tag(std::string_view text, std::string_view tag) {
  std::size_t length = std::min(text.size(), tag.size() - 1);
  while (length > 0 && !tag.starts_with(text.substr(text.size() - length))) --length;
  return length;
}

}  // namespace

ThinkingSplitter::ThinkingSplitter(std::optional<ThinkingTags> tags, bool begins_thinking)
    : tags_(std::move(tags)),
      state_(!tags_.has_value() ? State::answering
             : begins_thinking  ? State::thinking
                                : State::before),
      drops_blanks_(begins_thinking) {}

ThinkingSplitter::Parts ThinkingSplitter::push(std::string_view text) {
  held_ += text;
  Parts parts;
  while (state_ == State::before     ? take_begin(parts)
         : state_ == State::thinking ? take_thinking(parts)
                                     : take_answer(parts)) {
  }
  return parts;
}

bool ThinkingSplitter::take_begin(Parts& /*parts*/) {
  const std::size_t first = std::min(held_.find_first_not_of(kBlanks), held_.size());
  const std::string_view text = std::string_view(held_).substr(first);
  if (text.starts_with(tags_->begin)) {
    held_.erase(0, first + tags_->begin.size());
    state_ = State::thinking;
    drops_blanks_ = true;
    return true;
  }
  if (std::string_view(tags_->begin).starts_with(text)) return false;  // more must come
  state_ = State::answering;
  return true;
}

bool ThinkingSplitter::take_thinking(Parts& parts) {
  if (std::exchange(drops_blanks_, false)) {
    held_.erase(0, std::min(held_.find_first_not_of(kBlanks), held_.size()));
    drops_blanks_ = held_.empty();
  }
  const std::size_t end = held_.find(tags_->end);
  const bool has_ended = end != std::string::npos;
  std::string_view text =
      std::string_view(held_).substr(0, has_ended ? end : held_.size() - begun_tag(held_, tags_->end));
  text = text.substr(0, text.find_last_not_of(kBlanks) + 1);  // blanks before the tag; others come with what follows
  parts.thinking += text;
  held_.erase(0, has_ended ? end + tags_->end.size() : text.size());
  if (!has_ended) return false;
  state_ = State::answering;
  drops_blanks_ = true;
  return true;
}

bool ThinkingSplitter::take_answer(Parts& parts) {
  if (drops_blanks_) held_.erase(0, std::min(held_.find_first_not_of(kBlanks), held_.size()));
  if (!held_.empty()) drops_blanks_ = false;
  parts.answer += std::exchange(held_, {});
  return false;
}

ThinkingSplitter::Parts ThinkingSplitter::finish() {
  Parts parts;
  (state_ == State::thinking ? parts.thinking : parts.answer) = std::exchange(held_, {});
  return parts;
}

}  // namespace plm
