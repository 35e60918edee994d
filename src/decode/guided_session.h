// Classifier-free guidance (Sanchez et al., "Stay on topic with classifier-free guidance", 2023): a session over two
// sequences, the text behind its prompt and the same text behind a negative prompt. Each pass runs on both, in one
// batch where there is room, and what comes back is z = scale * (z_prompt - z_negative) + z_negative.
//
// A decoder that asks for logits works on it as on any other session; the statistics of a row are those behind the
// prompt, with `bad` of either. Rows before the last one of the prompt have no counterpart and come back as they are.
// Tested by tests/decode/test_guided_session.cpp and, with a model, by tests/engine/test_guidance.cpp.
#pragma once

#include <span>
#include <vector>

#include "decode/session.h"

namespace plm {

class GuidedSession : public Session {
 public:
  struct Guidance {
    std::size_t prompt_length = 0;                  ///< of the text's own prompt
    std::span<const TokenId> negative_prompt = {};  ///< at least one token; must outlive the session
    float scale = 1;                                ///< 1: no guidance
  };

  /// `guide` has no state yet. Both must outlive this session.
  GuidedSession(Session& main, Session& guide, const Guidance& guidance)
      : main_(main), guide_(guide), guidance_(guidance) {}

  [[nodiscard]] std::size_t state_length() const override { return main_.state_length(); }
  void truncate_state(std::size_t length) override;
  [[nodiscard]] std::size_t context_length() const override;
  void emit(const Event& event) override { main_.emit(event); }

 protected:
  void submit(const PassRequest& request, std::coroutine_handle<> waiter) override;
  Result<PassAnswer> take_answer() override;

 private:
  // Where a position behind the prompt lies behind the negative prompt; `position` is at least prompt_length - 1.
  [[nodiscard]] std::size_t guide_position(std::size_t position) const {
    return position + guidance_.negative_prompt.size() - guidance_.prompt_length;
  }
  void combine(const RowStatistics& guide, std::span<const float> negative, RowStatistics& main,
               std::span<float> values) const;

  Session& main_;
  Session& guide_;
  Guidance guidance_;
  // The guide's part of the pass in progress.
  PassRequest request_;
  std::vector<TokenId> tokens_;
  std::vector<Yield> yields_;
  std::size_t unguided_yields_ = 0;  // of the main session's, the first ones
  bool runs_guide_ = false;
};

}  // namespace plm
