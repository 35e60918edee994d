// Every registered decoder ends whatever the network says: proposals that change from pass to pass, ends everywhere, no
// token but the mask token, no preference at all. And whatever it says, what is given stays, on canvases with any
// holes. No model: the logits are made up.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "decode/event_replay.h"
#include "decode/page_session.h"
#include "engine/engine.h"
#include "kernels/cpu_device.h"

namespace plm {
namespace {

constexpr TokenId kMask = 120, kEndToken = 121, kExpand = 122, kDelete = 123;
constexpr std::size_t kVocabulary = 128;
constexpr float kNever = -std::numeric_limits<float>::infinity();

/// Where logits are asked for.
struct Place {
  std::size_t pass, position;
};
using Adversary = std::vector<float> (*)(const Place& place);

std::vector<float> one(TokenId token, float lead, float other = 0) {
  std::vector<float> logits(kVocabulary, other);
  logits[static_cast<std::size_t>(token)] = other + lead;
  return logits;
}
std::size_t hash(const Place& place) { return (place.pass * 2654435761U) ^ (place.position * 40503U) ^ 12345U; }

struct NamedAdversary {
  const char* name;
  Adversary logits;
};
constexpr NamedAdversary kAdversaries[] = {
    {"oscillates", [](const Place& p) { return one(p.pass % 2 == 0 ? 'a' : 'b', 30); }},
    {"cycles", [](const Place& p) { return one(static_cast<TokenId>('a' + (p.pass + p.position) % 7), 30); }},
    {"oscillates_in_doubt", [](const Place& p) { return one(p.pass % 2 == 0 ? 'a' : 'b', 5); }},
    {"all_end", [](const Place&) { return one(kEndToken, 30); }},
    {"end_comes_and_goes", [](const Place& p) { return one(hash(p) % 2 == 0 ? kEndToken : 'a', 30); }},
    {"all_mask", [](const Place&) { return one(kMask, 30); }},
    {"only_mask",
     [](const Place&) {
       std::vector<float> logits(kVocabulary, kNever);
       logits[kMask] = 0;
       return logits;
     }},
    {"flat", [](const Place&) { return std::vector<float>(kVocabulary, 0.0F); }},
    {"random",
     [](const Place& p) { return one(static_cast<TokenId>(hash(p) % 119), static_cast<float>(hash(p) % 40)); }},
    {"not_a_number", [](const Place&) { return one('a', std::nanf("")); }},
    {"expands_and_deletes", [](const Place& p) { return one(hash(p) % 3 == 0 ? kDelete : kExpand, 30); }},
    {"all_expand", [](const Place&) { return one(kExpand, 30); }},
    {"all_delete", [](const Place&) { return one(kDelete, 30); }},
};

const Engine& twin() {
  static const auto engine = Engine::load(PLM_MODELS "/twin-mdm.gguf", make_cpu_device({.threads = 1})).value();
  return *engine;
}

/// What a text is made of, for one decoder.
struct Setting {
  const DecoderDefinition* decoder;
  DiffusionAttention attention = DiffusionAttention::full;
  std::vector<std::pair<std::string, std::string>> parameters = {};
  std::vector<TokenId> given = {'a', 'b', 'c'};
  std::vector<Hole> holes = {};
  std::size_t max_tokens = 20;
};

struct Ended {
  std::size_t passes = 0;
  bool has_ended = false;
  std::vector<Event> events;
  std::optional<Result<DecodeOutcome>> outcome;
  Canvas canvas;
};

bool is_uniform(const DecoderDefinition& decoder) { return decoder.head.name == "uniform"; }

Ended run(const Setting& setting, Adversary adversary) {
  DiffusionTraits traits{.attention = setting.attention,
                         .block_length = 4,
                         .edits = true,
                         .mask_token = kMask,
                         .expand_token = kExpand,
                         .delete_token = kDelete};
  if (is_uniform(*setting.decoder)) traits.noise = DiffusionNoise::uniform;
  Settings settings(parallel_parameters());
  for (const auto& [name, value] : setting.parameters) EXPECT_TRUE(settings.set_text(name, value).has_value()) << name;
  const ParallelPolicy policy = ParallelPolicy::create(settings, traits).value();
  Settings sampling(sampling_parameters());
  EXPECT_TRUE(sampling.set_text("temperature", "0").has_value());
  DecodeJob job{.chain = Chain::create(sampling).value(),
                .text = TextStream(twin().vocabulary()),
                .max_tokens = setting.holes.empty() ? setting.max_tokens : 0,
                .holes = setting.holes,
                .end_tokens = {kEndToken},
                .seed = 5,
                .parallel = setting.decoder->fills_masks ? &policy : nullptr};
  for (const TokenId token : setting.given) job.canvas.append_given(token);
  PageSession session([&](auto, std::size_t position) { return adversary({session.passes, position}); }, 4096);
  Ended ended;
  {
    auto task = setting.decoder->run(session, job);
    task.start();
    // Far above what any of them needs: 20 positions, edits, and what expansion may add.
    ended.has_ended = session.serve(1000);
    if (ended.has_ended) ended.outcome = task.take();
  }
  ended.passes = session.passes;
  ended.events = std::move(session.events);
  ended.canvas = job.canvas;
  return ended;
}

void check(const Setting& setting, const Ended& ended) {
  ASSERT_TRUE(ended.has_ended);
  EventReplay replayed(setting.given);
  for (const Event& event : ended.events) {
    replayed.apply(event);
    // One token after another is written what the network says, whatever it is.
    const bool may_be_mask = !setting.decoder->fills_masks || setting.decoder->head.name == "self_speculation";
    if (!may_be_mask && (event.kind == EventKind::committed || event.kind == EventKind::replaced)) {
      EXPECT_NE(event.token, kMask);
    }
  }
  EXPECT_EQ(replayed.canvas().tokens(), ended.canvas.tokens());
  // Given cells have the first ids.
  std::vector<TokenId> given;
  for (const Cell& cell : ended.canvas.cells()) {
    if (cell.status != CellStatus::given) continue;
    EXPECT_EQ(cell.id, given.size());
    given.push_back(cell.token);
  }
  EXPECT_EQ(given, setting.given);
  if (!ended.outcome->has_value()) {
    EXPECT_EQ(ended.outcome->error().kind, ErrorKind::failed) << ended.outcome->error().message;
    return;
  }
  EXPECT_NE((*ended.outcome)->reason, FinishReason::none);
  EXPECT_EQ((*ended.outcome)->holes.size(), setting.holes.size());
}

class AdverseLogits : public testing::TestWithParam<const DecoderDefinition*> {
 protected:
  static std::vector<DiffusionAttention> attentions() {
    const std::string_view name = GetParam()->head.name;
    if (name == "self_speculation" || name == "uniform") return {DiffusionAttention::causal_context};
    if (name == "wino" || !GetParam()->fills_masks) return {DiffusionAttention::full};
    return {DiffusionAttention::full, DiffusionAttention::causal_context, DiffusionAttention::block_causal};
  }
  static void check_all(const Setting& setting) {
    for (const NamedAdversary& adversary : kAdversaries) {
      SCOPED_TRACE(adversary.name);
      check(setting, run(setting, adversary.logits));
    }
  }
};

TEST_P(AdverseLogits, EndEveryText) {
  for (const DiffusionAttention attention : attentions()) {
    for (const std::size_t max_tokens : {0U, 1U, 20U}) {
      check_all({.decoder = GetParam(), .attention = attention, .max_tokens = max_tokens});
    }
  }
}

TEST_P(AdverseLogits, EndUnderEveryScheduleAndConfidence) {
  if (!GetParam()->fills_masks) GTEST_SKIP() << "has none";
  for (const ScheduleDefinition* schedule : schedules()) {
    SCOPED_TRACE(schedule->head.name);
    check_all({.decoder = GetParam(),
               .attention = attentions().front(),
               .parameters = {{"schedule", std::string(schedule->head.name)}},
               .max_tokens = 12});
  }
  for (const ConfidenceDefinition* confidence : confidences()) {
    check_all({.decoder = GetParam(),
               .attention = attentions().front(),
               .parameters = {{"confidence", std::string(confidence->head.name)},
                              {"page_temperature", GetParam()->head.name == "self_speculation" ? "0" : "0.7"}},
               .max_tokens = 12});
  }
}

// Random canvases: given tokens of any number around holes of any length.
TEST_P(AdverseLogits, LeaveWhatIsGiven) {
  if (!GetParam()->fills_masks || GetParam()->head.name == "self_speculation") GTEST_SKIP() << "writes behind a prompt";
  std::size_t number = 1;
  const auto next = [&](std::size_t below) {
    number = (number * 1103515245 + 12345) % 2147483648;
    return number / 65536 % below;
  };
  for (int round = 0; round < 12; ++round) {
    Setting setting{.decoder = GetParam(), .attention = attentions()[next(attentions().size())], .given = {}};
    const std::size_t holes = 1 + next(5);
    for (std::size_t i = 0; i < holes; ++i) {
      for (std::size_t k = next(6) + (i == 0 ? 1 : 0); k > 0; --k) {
        setting.given.push_back(next(8) == 0 ? kEndToken : static_cast<TokenId>('a' + next(26)));
      }
      setting.holes.push_back({setting.given.size(), 1 + next(7)});
    }
    for (std::size_t k = next(5); k > 0; --k) setting.given.push_back('z');
    if (setting.attention == DiffusionAttention::full) {
      setting.parameters = {{"block_length", std::to_string(next(10))}};
    }
    setting.parameters.emplace_back("passes", std::to_string(next(12)));
    check_all(setting);
  }
}

INSTANTIATE_TEST_SUITE_P(Decoders, AdverseLogits, testing::ValuesIn(decoders().begin(), decoders().end()),
                         [](const auto& decoder) { return std::string(decoder.param->head.name); });

}  // namespace
}  // namespace plm
