// Steps back, forks and rows that are thrown away, where layers are recurrent: a session gives the same bits as if the
// text had been read once from its start. The other kind of network is in tests/engine/test_scheduler.cpp.
#include "engine/engine_session.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "engine/engine_runs.h"
#include "engine/scheduled_model.h"

namespace plm {
namespace {

using Tokens = std::vector<TokenId>;

Tokens joined(Tokens a, const Tokens& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

class RecurrentSession : public testing::TestWithParam<const char*> {
 protected:
  Tokens text(std::size_t count, std::uint64_t seed) { return some_tokens(count, seed, model_.vocab_size()); }
  // What the rows from `first` on give to a sequence that is alone.
  Logits alone(const Tokens& tokens, std::size_t first) {
    const auto session = model_.open();
    Logits all = append(model_, *session, tokens);
    all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(first));
    return all;
  }

  ScheduledModel model_{fixture(GetParam()), {.batch_rows = 64}};
};

TEST_P(RecurrentSession, AStepBackToAnyLengthIsExact) {
  const Tokens kept = text(300, 1), more = text(5, 2);
  const auto session = model_.open();
  append(model_, *session, kept);
  std::size_t computed_again = 0;
  for (const std::size_t length : {300U, 299U, 297U, 256U, 255U, 250U, 120U, 1U, 0U}) {
    session->truncate_state(length);
    EXPECT_EQ(session->state_length(), length);
    computed_again += length - session->state().length();
    const Tokens past(kept.begin(), kept.begin() + static_cast<std::ptrdiff_t>(length));
    EXPECT_TRUE(equal_bits(append(model_, *session, more), alone(joined(past, more), length))) << length;
    EXPECT_EQ(session->state_length(), length + more.size());
    EXPECT_EQ(session->state().length(), length + more.size());
    session->truncate_state(length);
  }
  EXPECT_GT(computed_again, 0U) << "else nothing was tried";
}

TEST_P(RecurrentSession, SeveralStepsBackWithoutAPassBetweenThemAreOne) {
  const Tokens kept = text(90, 3), more = text(4, 4);
  const auto session = model_.open();
  append(model_, *session, kept);
  for (const std::size_t length : {80U, 70U, 33U}) session->truncate_state(length);
  EXPECT_EQ(session->state_length(), 33U);
  const Tokens past(kept.begin(), kept.begin() + 33);
  EXPECT_TRUE(equal_bits(append(model_, *session, more), alone(joined(past, more), 33)));
}

TEST_P(RecurrentSession, RowsThatAreThrownAwayLeaveNoTrace) {
  const Tokens prefix = text(70, 5), draft = text(9, 6), rest = text(6, 7);
  const auto session = model_.open();
  append(model_, *session, prefix);
  for (int i = 0; i < 2; ++i) {
    LogitsPass pass(*session, {.tokens = draft, .state = StateUse::scratch});
    model_.run();
    EXPECT_TRUE(equal_bits(pass.take(), alone(joined(prefix, draft), prefix.size())));
    EXPECT_EQ(session->state_length(), prefix.size());
  }
  session->truncate_state(40);
  LogitsPass behind(*session, {.tokens = draft, .state = StateUse::scratch});
  model_.run();
  const Tokens past(prefix.begin(), prefix.begin() + 40);
  EXPECT_TRUE(equal_bits(behind.take(), alone(joined(past, draft), 40)));
  EXPECT_TRUE(equal_bits(append(model_, *session, rest), alone(joined(past, rest), 40)));
}

TEST_P(RecurrentSession, ForksGoOnLikeTheirParentAndMayStepBack) {
  const Tokens prefix = text(270, 8);
  const auto parent = model_.open();
  append(model_, *parent, prefix);
  std::vector<std::unique_ptr<EngineSession>> forks;
  std::vector<std::unique_ptr<LogitsPass>> passes;
  std::vector<Tokens> tails;
  for (std::uint64_t i = 0; i < 4; ++i) {
    tails.push_back(text(3 + i, 20 + i));
    forks.push_back(model_.open(parent->state().fork(), prefix));
    if (i == 3) forks.back()->truncate_state(200);
    passes.push_back(std::make_unique<LogitsPass>(*forks.back(), tails.back()));
  }
  LogitsPass own(*parent, tails[0]);  // the parent writes in the same batch
  model_.run();
  for (std::size_t i = 0; i < forks.size(); ++i) {
    const std::size_t length = i == 3 ? 200 : prefix.size();
    const Tokens past(prefix.begin(), prefix.begin() + static_cast<std::ptrdiff_t>(length));
    EXPECT_TRUE(equal_bits(passes[i]->take(), alone(joined(past, tails[i]), length))) << i;
  }
  EXPECT_TRUE(equal_bits(own.take(), alone(joined(prefix, tails[0]), prefix.size())));
}

TEST_P(RecurrentSession, RowsThatSeeLaterOnesAreRefused) {
  const auto session = model_.open(), other = model_.open();
  LogitsPass canvas(*session, {.tokens = text(5, 9), .sight = Sight::bidirectional});
  LogitsPass single(*other, {.tokens = {7}, .sight = Sight::bidirectional});
  model_.run();
  const Error error = canvas.error();
  EXPECT_EQ(error.kind, ErrorKind::usage);
  EXPECT_NE(error.message.find("recurrent"), std::string::npos) << error.message;
  EXPECT_TRUE(equal_bits(single.take(), alone({7}, 0))) << "one row alone sees no other";
}

INSTANTIATE_TEST_SUITE_P(Families, RecurrentSession,
                         testing::Values("mamba2-bf16.gguf", "falcon_h1-f32.gguf", "qwen3_next-bf16.gguf"),
                         [](const auto& instance) {
                           const std::string name(instance.param);
                           return name.substr(0, name.find('-'));
                         });

// A conversation through the engine: a state that was left is taken up where it can be, and no bit changes.
TEST(RecurrentReuse, ChangesNoBit) {
  const auto engine = load_engine(fixture("falcon_h1-f32.gguf"), {.context_length = 400, .most_sequences = 2});
  const auto write_reusing = [&](GenerationRequest request, std::size_t& reused) {
    Written written;
    request.reuse_prefix = true;
    request.listener = written.listener();
    const auto generation = engine->start(std::move(request)).value();
    EXPECT_TRUE(engine->run().has_value());
    EXPECT_TRUE(generation->take().has_value());
    reused = generation->reused_tokens();
    return written;
  };
  GenerationRequest request{.prompt = some_tokens(290, 1, 320), .max_tokens = 20, .ignore_end = true};
  std::size_t reused = 0;
  const Written first = write_reusing(request, reused);
  EXPECT_EQ(reused, 0U);
  EXPECT_EQ(first, write(*engine, request));

  EXPECT_EQ(write_reusing(request, reused), first);
  EXPECT_EQ(reused, 289U) << "an answer is written anew from the end of its prompt";

  request.prompt.insert(request.prompt.end(), first.ids.begin(), first.ids.end());
  const Tokens next = some_tokens(30, 2, 320);
  request.prompt.insert(request.prompt.end(), next.begin(), next.end());
  const Written second = write_reusing(request, reused);
  EXPECT_EQ(reused, 290U + 19U) << "the last token was drawn, never read";
  EXPECT_EQ(second, write(*engine, request));

  request.prompt[270] = (request.prompt[270] + 1) % 320;
  const Written edited = write_reusing(request, reused);
  EXPECT_EQ(reused, 255U) << "the last checkpoint before the edit, where the first batch ended";
  EXPECT_EQ(edited, write(*engine, request));
}

TEST(RecurrentReuse, ManyContinuationsOfOnePromptEqualEachByItself) {
  const auto engine = load_engine(fixture("mamba2-bf16.gguf"), {.context_length = 200});
  GenerationRequest request{.prompt = some_tokens(50, 1, 320), .max_tokens = 12, .ignore_end = true};
  std::vector<Written> written(3);
  const auto listeners = [&](std::size_t i) { return written[i].listener(); };
  const auto generations = engine->start_many(request, written.size(), listeners).value();
  EXPECT_TRUE(engine->run().has_value());
  for (const Written& one : written) EXPECT_EQ(one, write(*engine, request));
}

}  // namespace
}  // namespace plm
