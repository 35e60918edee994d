#include "decode/event_replay.h"

namespace plm {

std::string_view finish_reason_name(FinishReason reason) {
  switch (reason) {
    case FinishReason::none: return "none";
    case FinishReason::end_of_text: return "end_of_text";
    case FinishReason::stop: return "stop";
    case FinishReason::length: return "length";
    case FinishReason::context: return "context";
    case FinishReason::interrupted: return "interrupted";
  }
  return "none";
}

EventReplay::EventReplay(std::span<const TokenId> prompt) {
  for (const TokenId token : prompt) canvas_.append_given(token);
}

void EventReplay::apply(const Event& event) {
  switch (event.kind) {
    case EventKind::pass_ran:
    case EventKind::drifted:
    case EventKind::proposed:
    case EventKind::scored: break;
    case EventKind::inserted: canvas_.insert_open(event.position, event.token); break;
    case EventKind::committed: canvas_.commit(event.cell, event.token); break;
    case EventKind::replaced: canvas_.replace(event.cell, event.token); break;
    case EventKind::revoked: canvas_.revoke(event.cell, event.token); break;
    case EventKind::deleted: canvas_.erase(event.cell); break;
    case EventKind::stable_prefix: text_ += event.text; break;
    case EventKind::finished: reason_ = event.reason; break;
  }
}

}  // namespace plm
