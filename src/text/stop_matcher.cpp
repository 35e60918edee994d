#include "text/stop_matcher.h"

#include <algorithm>
#include <utility>

#include "base/utf8.h"

namespace plm {
namespace {

std::vector<std::size_t> fallbacks(std::string_view stop) {
  std::vector<std::size_t> fallback(stop.size(), 0);
  for (std::size_t at = 1; at < stop.size(); ++at) {
    std::size_t agreeing = fallback[at - 1];
    while (agreeing > 0 && stop[agreeing] != stop[at]) agreeing = fallback[agreeing - 1];
    fallback[at] = stop[agreeing] == stop[at] ? agreeing + 1 : 0;
  }
  return fallback;
}

}  // namespace

void StopMatcher::Automaton::advance(char byte) {
  while (agreeing > 0 && stop[agreeing] != byte) agreeing = fallback[agreeing - 1];
  if (stop[agreeing] == byte) ++agreeing;
}

Result<StopMatcher> StopMatcher::create(std::vector<std::string> stops) {
  StopMatcher matcher;
  for (std::string& stop : stops) {
    if (stop.empty()) return fail(ErrorKind::usage, "a stop string is empty, expected at least one character");
    if (!utf8_is_valid(stop)) {
      return fail(ErrorKind::usage, "stop string '{}' is not UTF-8, so no text can contain it", printable(stop));
    }
    auto fallback = fallbacks(stop);
    matcher.automata_.push_back({std::move(stop), std::move(fallback)});
  }
  return matcher;
}

// One byte more; the longest automaton that it completes, or nullptr.
const StopMatcher::Automaton* StopMatcher::advance_all(char byte) {
  const Automaton* complete = nullptr;
  for (Automaton& automaton : automata_) {
    automaton.advance(byte);
    if (automaton.agreeing < automaton.stop.size()) continue;
    if (complete == nullptr || automaton.stop.size() > complete->stop.size()) complete = &automaton;
  }
  return complete;
}

std::string StopMatcher::push(std::string_view text) {
  if (matched_) return {};
  for (std::size_t at = 0; at < text.size(); ++at) {
    held_.push_back(text[at]);
    if (const Automaton* complete = advance_all(text[at])) {
      matched_ = static_cast<std::size_t>(complete - automata_.data());
      held_.resize(held_.size() - complete->stop.size());
      behind_ = text.substr(at + 1);
      return std::exchange(held_, {});
    }
  }
  std::size_t waiting = 0;
  for (const Automaton& automaton : automata_) waiting = std::max(waiting, automaton.agreeing);
  std::string safe = held_.substr(0, held_.size() - waiting);
  held_.erase(0, safe.size());
  return safe;
}

std::optional<std::string_view> StopMatcher::matched() const {
  if (!matched_) return std::nullopt;
  return automata_[*matched_].stop;
}

std::string StopMatcher::dismiss() {
  if (!matched_) return {};
  const std::string shown = automata_[*matched_].stop;
  matched_.reset();
  for (Automaton& automaton : automata_) automaton.agreeing = 0;  // what is shown can be held back no more
  const std::string behind = std::exchange(behind_, {});
  return shown + push(behind);
}

std::string StopMatcher::finish() { return std::exchange(held_, {}); }

}  // namespace plm
