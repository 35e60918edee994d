#include "decode/guided_session.h"

#include <algorithm>
#include <limits>

#include "sampling/candidates.h"

namespace plm {

void GuidedSession::truncate_state(std::size_t length) {
  main_.truncate_state(length);
  // The state of the guide begins with the first pass that reaches the end of the prompt.
  const std::size_t rest = length < guidance_.prompt_length ? 0 : guide_position(length);
  guide_.truncate_state(std::min(guide_.state_length(), rest));
}

std::size_t GuidedSession::context_length() const {
  const std::size_t most = guide_.context_length();
  const std::size_t negative = std::min(most, guidance_.negative_prompt.size());
  return std::min(main_.context_length(), most - negative + guidance_.prompt_length);
}

void GuidedSession::submit(const PassRequest& request, std::coroutine_handle<> waiter) {
  PLM_CHECK(request.sight == Sight::causal && request.positions.empty());
  const std::size_t first = main_.state_length();
  const std::size_t end = first + request.tokens.size();
  runs_guide_ = end >= guidance_.prompt_length;
  unguided_yields_ = request.yields.size();
  main_.submit(request, waiter);
  if (!runs_guide_) return;

  tokens_.clear();
  if (guide_.state_length() == 0) {
    tokens_.assign(guidance_.negative_prompt.begin(), guidance_.negative_prompt.end());
  }
  const std::size_t written = std::max(first, guidance_.prompt_length);  // position of the first row after the prompt
  tokens_.insert(tokens_.end(), request.tokens.begin() + static_cast<std::ptrdiff_t>(written - first),
                 request.tokens.end());
  yields_.clear();
  for (std::size_t i = 0; i < request.yields.size(); ++i) {
    const std::size_t position = first + request.yields[i].row;
    if (position + 1 < guidance_.prompt_length) continue;
    if (yields_.empty()) unguided_yields_ = i;
    Yield yield = request.yields[i];
    yield.row = static_cast<std::uint32_t>(guide_position(position) - guide_.state_length());
    yields_.push_back(yield);
  }
  request_ = {.tokens = tokens_, .state = request.state, .yields = yields_};
  guide_.submit(request_, waiter);
}

Result<PassAnswer> GuidedSession::take_answer() {
  PLM_TRY_ASSIGN(PassAnswer answer, main_.take_answer());
  if (!runs_guide_) return answer;
  const auto guide = guide_.take_answer();
  if (!guide.has_value()) return tl::unexpected<Error>(guide.error().within("negative prompt"));
  for (std::size_t i = 0; i < guide->results.size(); ++i) {
    const std::size_t main = unguided_yields_ + i;
    combine(guide->statistics[i], guide->results[i].values, answer.statistics[main], answer.results[main].values);
  }
  return answer;
}

void GuidedSession::combine(const RowStatistics& guide, std::span<const float> negative, RowStatistics& main,
                            std::span<float> values) const {
  main.bad = static_cast<decltype(main.bad)>(main.bad != 0 || guide.bad != 0 ? 1 : 0);
  PLM_CHECK(values.size() == negative.size());
  constexpr float kMasked = -std::numeric_limits<float>::infinity();
  const double scale = guidance_.scale;
  for (std::size_t id = 0; id < values.size(); ++id) {
    if (values[id] == kMasked || negative[id] == kMasked) continue;  // a mask stands; without a counterpart, as it is
    const auto against = static_cast<double>(negative[id]);
    values[id] = within_float(scale * (static_cast<double>(values[id]) - against) + against);
  }
}

}  // namespace plm
