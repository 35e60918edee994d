#include "decode/phrase_bans.h"

#include <algorithm>
#include <limits>

namespace plm {
namespace {

std::string lower_case(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

}  // namespace

PhraseBans::PhraseBans(StopMatcher matcher, const Vocabulary& vocabulary)
    : matcher_(std::move(matcher)), matcher_before_(matcher_), detokenizer_(vocabulary), before_(vocabulary) {}

Result<PhraseBans> PhraseBans::create(std::vector<std::string> phrases, const Vocabulary& vocabulary) {
  if (phrases.size() > kMostPhrases) {
    return fail(ErrorKind::usage, "banned phrases: {} of them, at most {} are possible", phrases.size(), kMostPhrases);
  }
  for (std::string& phrase : phrases) phrase = lower_case(std::move(phrase));
  auto matcher = StopMatcher::create(std::move(phrases));
  if (!matcher.has_value()) return tl::unexpected<Error>(matcher.error().within("banned phrases"));
  return PhraseBans(std::move(*matcher), vocabulary);
}

std::span<const float> PhraseBans::allowed(std::span<const float> logits, std::size_t position) {
  const auto found = forbidden_.find(position);
  if (found == forbidden_.end()) return logits;
  row_.assign(logits.begin(), logits.end());
  for (const TokenId token : found->second) {
    row_[static_cast<std::size_t>(token)] = -std::numeric_limits<float>::infinity();
  }
  return row_;
}

void PhraseBans::read(TokenId token) {
  const std::string text = lower_case(detokenizer_->push(token));
  length_ += text.size();
  cleared_ += matcher_.push(text).size();
}

void PhraseBans::push(TokenId token, std::size_t position, std::span<const float> logits) {
  read(token);
  held_.push_back({token, position, {logits.begin(), logits.end()}, length_});
}

std::size_t PhraseBans::release() {
  if (matcher_.matched().has_value()) return 0;
  std::size_t count = 0;
  while (!held_.empty() && held_.front().end <= cleared_) {
    const std::string text = lower_case(before_->push(held_.front().token));
    length_before_ += text.size();
    cleared_before_ += matcher_before_.push(text).size();
    forbidden_.erase(held_.front().position);
    held_.pop_front();
    ++count;
  }
  return count;
}

Result<std::optional<PhraseBans::Rewind>> PhraseBans::rewind() {
  if (!matcher_.matched().has_value()) return std::optional<Rewind>();
  if (++rewinds_ > kMostRewinds) {
    return fail(ErrorKind::unsatisfiable,
                "banned phrases: the text was taken back {} times and leads to \"{}\" again; ban fewer phrases",
                kMostRewinds, *matcher_.matched());
  }
  // The matcher lets through what comes before the phrase, so the phrase begins at `cleared_`.
  const auto first = std::find_if(held_.begin(), held_.end(), [&](const Held& held) { return held.end > cleared_; });
  PLM_CHECK(first != held_.end());
  Rewind rewind{first->position, std::move(first->logits)};
  forbidden_[rewind.position].push_back(first->token);
  forbidden_.erase(forbidden_.upper_bound(rewind.position), forbidden_.end());
  held_.erase(first, held_.end());
  read_held_anew();
  return std::optional<Rewind>(std::move(rewind));
}

void PhraseBans::read_held_anew() {
  matcher_ = matcher_before_;
  detokenizer_.emplace(*before_);
  length_ = length_before_;
  cleared_ = cleared_before_;
  for (const Held& held : held_) read(held.token);
}

}  // namespace plm
