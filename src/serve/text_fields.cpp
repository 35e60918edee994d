#include "serve/text_fields.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>

#include "base/utf8.h"
#include "serve/prompt_fields.h"
#include "serve/sampling_fields.h"

namespace plm {
namespace {

constexpr double kMostSeed = 0x1p64;
constexpr std::int64_t kPageTokens = 256;  // of a model that fills masks, where nobody says how many

constexpr Field kTextFields[] = {
    {.name = "max_tokens",
     .aliases = "n_predict, num_predict, max_completion_tokens, max_new_tokens, max_length",
     .summary = "tokens to write at most; below 0: as many as the context holds",
     .type = FieldType::integer,
     .min = -2,
     .max = 0x1p53},
    {.name = "stop",
     .aliases = "stop_sequences, stop_sequence, stopping_strings",
     .summary = "texts before which the answer ends",
     .type = FieldType::texts},
    {.name = "seed",
     .aliases = "sampler_seed",
     .summary = "equal seeds give equal texts; below 0 or 4294967295: another one each time",
     .type = FieldType::integer,
     .min = -kMostSeed,
     .max = kMostSeed},
    {.name = "n",
     .aliases = "n_cmpl",
     .summary = "texts for each prompt, with the seeds that follow",
     .type = FieldType::integer,
     .min = 1,
     .max = 1024},
    {.name = "best_of",
     .summary = "write so many and give the n likeliest",
     .type = FieldType::integer,
     .min = 1,
     .max = 1024},
    {.name = "stream", .summary = "the answer comes while it is written", .type = FieldType::boolean},
    {.name = "logprobs",
     .summary = "log-probabilities of the answer's tokens: true, or how many of the likeliest beside each",
     .type = FieldType::any},
    {.name = "n_probs",
     .aliases = "top_logprobs",
     .summary = "how many of the likeliest tokens to name",
     .type = FieldType::integer,
     .min = 0,
     .max = 1000},
    {.name = "post_sampling_probs",
     .summary = "log-probabilities in what the samplers left, instead of in the model's own distribution",
     .type = FieldType::boolean},
    {.name = "banned_strings",
     .aliases = "banned_phrases, ban_phrase",
     .summary = "texts that must not appear, letters of ASCII in either case",
     .type = FieldType::texts},
    {.name = "negative_prompt", .summary = "a prompt behind which the text shall not fit; acts with guidance_scale"},
    {.name = "guidance_scale",
     .aliases = "cfg_scale",
     .summary = "how far the logits move from those behind the negative prompt; 1: not at all",
     .type = FieldType::real,
     .min = -1e6,
     .max = 1e6},
    {.name = "cache_prompt",
     .summary = "use again what earlier texts left; changes no bit",
     .type = FieldType::boolean},
    {.name = "add_bos_token",
     .aliases = "add_special_tokens, add_special",
     .summary = "whether what the model expects in front of a text is put there",
     .type = FieldType::boolean},
    {.name = "decoder", .summary = "how the text is written, one of plm describe"},
    {.name = "truncate",
     .summary = "what to do with a prompt that is too long: refuse, front (drop its beginning), middle",
     .type = FieldType::any},
    {.name = "grammar", .aliases = "grammar_string, guided_grammar", .type = FieldType::any},
    {.name = "json_schema", .aliases = "guided_json", .type = FieldType::any},
    {.name = "response_format", .type = FieldType::any},
    {.name = "format", .type = FieldType::any},
    {.name = "guided_regex", .aliases = "guided_choice, structured_outputs", .type = FieldType::any},
};

constexpr Field kReportFields[] = {
    {.name = "x_plm",
     .summary = "true: the answer says in x_plm what acted and what did not",
     .type = FieldType::boolean},
    {.name = "strict", .summary = "true: a field without effect is an error", .type = FieldType::boolean},
};

constexpr FieldUse kInert = FieldUse::is_inert, kIgnored = FieldUse::is_ignored;
constexpr std::string_view kOff = R"([0, false, "", [], {}, -1])";
constexpr Field kForeignFields[] = {
    {.name = "model", .use = kInert},
    {.name = "user", .use = kInert},
    {.name = "metadata", .use = kInert},
    {.name = "safety_identifier", .use = kInert},
    {.name = "prompt_cache_key", .use = kInert},
    {.name = "genkey", .use = kInert},
    {.name = "api_server", .use = kInert},
    {.name = "legacy_api", .use = kInert},
    {.name = "keep_alive", .summary = "the model stays loaded", .use = kInert},
    {.name = "quiet", .use = kInert},
    {.name = "store", .use = kIgnored, .neutral = kOff},
    {.name = "service_tier", .use = kIgnored, .neutral = R"(["auto", "default"])"},
    {.name = "parallel_tool_calls", .use = kIgnored, .neutral = "[true]"},
    {.name = "skew", .use = kIgnored, .neutral = kOff},
    {.name = "num_beams", .use = kIgnored, .neutral = "[1]"},
    {.name = "length_penalty", .use = kIgnored, .neutral = "[1]"},
    {.name = "early_stopping", .use = kIgnored, .neutral = "[false]"},
    {.name = "epsilon_cutoff", .use = kIgnored, .neutral = kOff},
    {.name = "eta_cutoff", .use = kIgnored, .neutral = kOff},
    {.name = "encoder_repetition_penalty", .use = kIgnored, .neutral = "[1, 0]"},
    {.name = "no_repeat_ngram_size", .use = kIgnored, .neutral = kOff},
    {.name = "penalty_alpha", .use = kIgnored, .neutral = kOff},
    {.name = "temperature_last", .use = kIgnored, .neutral = "[true]"},
    {.name = "skip_special_tokens", .use = kIgnored, .neutral = "[true]"},
    {.name = "spaces_between_special_tokens", .use = kIgnored, .neutral = "[true]"},
    {.name = "speculative_ngram", .use = kIgnored, .neutral = kOff},
    {.name = "repetition_decay", .use = kIgnored, .neutral = kOff},
    {.name = "max_tokens_second", .use = kIgnored, .neutral = kOff},
    {.name = "grammar_retain_state", .use = kIgnored, .neutral = kOff},
    {.name = "trim_stop", .use = kIgnored, .neutral = "[true]"},
    {.name = "use_story", .use = kIgnored, .neutral = kOff},
    {.name = "use_memory", .use = kIgnored, .neutral = kOff},
    {.name = "use_authors_note", .use = kIgnored, .neutral = kOff},
    {.name = "use_world_info", .use = kIgnored, .neutral = kOff},
    {.name = "singleline", .use = kIgnored, .neutral = kOff},
    {.name = "use_default_badwordsids", .use = kIgnored, .neutral = kOff},
    {.name = "id_slot", .use = kIgnored, .neutral = kOff},
    {.name = "n_keep", .use = kIgnored, .neutral = kOff},
    {.name = "n_discard", .use = kIgnored, .neutral = kOff},
    {.name = "n_indent", .use = kIgnored, .neutral = kOff},
    {.name = "t_max_predict_ms", .use = kIgnored, .neutral = kOff},
    {.name = "lora", .use = kIgnored, .neutral = kOff},
    {.name = "return_progress", .use = kIgnored, .neutral = kOff},
    {.name = "timings_per_token", .use = kIgnored, .neutral = kOff},
    {.name = "sse_ping_interval", .use = kIgnored, .neutral = kOff},
    {.name = "include_reasoning", .use = kIgnored, .neutral = "[true]"},
    {.name = "request_id", .use = kInert},
    {.name = "truncation_length",
     .aliases = "num_ctx, max_context_length",
     .summary = "the context that the client counts with; this server's is fixed when it starts",
     .use = kInert},
};

std::uint64_t another_seed() {
  // The clock, not a random device: a seed has to differ, not to be secret.
  return static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count()) / 1000 % 1'000'000'000;
}

std::uint64_t seed_of(const RequestFields& fields) {
  const auto seed = fields.integer("seed");
  constexpr std::int64_t kRandomSeed = 0xFFFFFFFF;  // llama.cpp's
  if (!seed.has_value() || *seed < 0 || *seed == kRandomSeed) return another_seed();
  return static_cast<std::uint64_t>(*seed);
}

// Constraints are not there yet: whoever asks for one must not get a text without it.
Result<void> refuse_constraints(const RequestFields& fields) {
  for (const char* name : {"grammar", "json_schema", "format", "guided_regex", "response_format"}) {
    const Json* value = fields.find(name);
    if (value == nullptr) continue;
    const bool is_empty = (value->is_structured() && value->empty()) || *value == "" || *value == false;
    const bool is_text = value->is_object() && value->value("type", Json()) == "text";
    if (is_empty || (is_text && std::string_view(name) == "response_format")) continue;
    return fail(ErrorKind::usage, "{}: constraints are not supported yet by this build; leave it out", name);
  }
  return {};
}

Result<void> read_log_probabilities(const RequestFields& fields, TextPlan& plan) {
  std::optional<std::size_t> top;
  if (const Json* logprobs = fields.find("logprobs"); logprobs != nullptr) {
    if (logprobs->is_boolean()) {
      if (logprobs->get<bool>()) top = 0;
    } else if (logprobs->is_number_integer() && *logprobs >= 0 && *logprobs <= kTextLimits.log_probabilities) {
      top = logprobs->get<std::size_t>();
    } else {
      return fail(ErrorKind::usage, "logprobs: found {}, expected true, false, or a whole number from 0 to {}",
                  printable(json_text(*logprobs), 40), kTextLimits.log_probabilities);
    }
  }
  const auto named = fields.integer("n_probs");
  if (named.has_value() && (*named > 0 || top.has_value())) top = static_cast<std::size_t>(*named);
  if (!top.has_value()) return {};
  const auto of = fields.boolean("post_sampling_probs") ? LogProbabilityWish::Of::chain : LogProbabilityWish::Of::model;
  plan.basis.log_probabilities = LogProbabilityWish{.of = of, .top = *top};
  return {};
}

Result<std::vector<std::string>> stops_of(const RequestFields& fields) {
  std::vector<std::string> stops = fields.texts("stop");
  std::erase(stops, std::string());  // no text at all ends nothing
  if (stops.size() > kTextLimits.stops) {
    return fail(ErrorKind::usage, "stop: {} texts, expected at most {}", stops.size(), kTextLimits.stops);
  }
  return stops;
}

Result<void> read_decoder(const RequestFields& fields, const ServedModel& model, TextPlan& plan) {
  PLM_TRY_ASSIGN(const DecoderDefinition* decoder, model.engine.choose_decoder(fields.text("decoder")));
  plan.basis.decoder = decoder->head.name;
  plan.fills_page = decoder->fills_masks;
  if (!plan.fills_page) return {};
  for (const auto& [name, is_given] :
       {std::pair<std::string_view, bool>{"logprobs", plan.basis.log_probabilities.has_value()},
        {"banned_strings", !plan.basis.banned_phrases.empty()},
        {"negative_prompt", !plan.basis.negative_prompt.empty()}}) {
    if (!is_given) continue;
    return fail(ErrorKind::usage, "{}: is for texts that are written one token after another; this model fills a page",
                name);
  }
  return {};
}

// What the sampling controls left over belongs to pages, or to nobody.
Result<void> read_rest(const RequestFields& fields, TextPlan& plan) {
  for (const auto& [name, value] : fields.undeclared()) {
    if (sampling_parameter_of(name) != nullptr) continue;
    if (plan.fills_page && plan.parallel.find(name) != nullptr) {
      PLM_TRY(plan.parallel.set_json(name, *value));
    } else {
      plan.report.ignored.push_back(printable(name, 80));
    }
  }
  return {};
}

}  // namespace

std::span<const Field> text_fields() { return kTextFields; }
std::span<const Field> report_fields() { return kReportFields; }
std::span<const Field> foreign_fields() { return kForeignFields; }

Result<void> read_text_fields(const RequestFields& fields, const TextStandards& standards, const ServedModel& model,
                              TextPlan& plan) {
  if (model.engine.kind() != ModelKind::writer) {
    return fail(ErrorKind::usage, "model: {} writes no text; ask it for embeddings or a ranking", model.name);
  }
  PLM_TRY(refuse_constraints(fields));
  plan.streams = fields.boolean("stream");
  plan.wants_report = fields.boolean("x_plm") || fields.boolean("strict");
  plan.count = static_cast<std::size_t>(fields.integer("n").value_or(1));
  plan.best_of = static_cast<std::size_t>(fields.integer("best_of").value_or(static_cast<std::int64_t>(plan.count)));
  if (plan.best_of < plan.count) return fail(ErrorKind::usage, "best_of: {} is below n, {}", plan.best_of, plan.count);
  PLM_TRY_ASSIGN(plan.basis.stops, stops_of(fields));
  plan.basis.seed = seed_of(fields);
  plan.basis.banned_phrases = fields.texts("banned_strings");
  std::erase(plan.basis.banned_phrases, std::string());
  plan.basis.guidance_scale = fields.real("guidance_scale").value_or(1);
  const std::string negative = fields.text("negative_prompt");
  if (plan.basis.guidance_scale != 1 && !negative.empty()) {
    PLM_TRY_ASSIGN(TextPrompt prompt, text_prompt(model, negative, fields.boolean("add_bos_token", true)));
    plan.basis.negative_prompt = std::move(prompt.tokens);
  } else if (plan.basis.guidance_scale != 1) {
    plan.report.ignored.emplace_back("guidance_scale");
    plan.report.notes.emplace_back("guidance_scale: moves away from a negative_prompt, which is missing");
  }
  plan.basis.reuse_prefix = model.reuses_prefixes && fields.boolean("cache_prompt", true);
  PLM_TRY(read_log_probabilities(fields, plan));
  PLM_TRY(read_decoder(fields, model, plan));
  PLM_TRY(read_sampling(fields, standards.profile, model, plan));
  PLM_TRY(read_rest(fields, plan));
  const std::int64_t standard = plan.fills_page && standards.max_tokens < 0 ? kPageTokens : standards.max_tokens;
  // -1 becomes the largest number.
  plan.basis.max_tokens = static_cast<std::size_t>(fields.integer("max_tokens").value_or(standard));
  if (fields.integer("max_tokens").value_or(standard) < 0) plan.basis.max_tokens = std::size_t(-1);
  plan.report.ignored.insert(plan.report.ignored.end(), fields.ignored().begin(), fields.ignored().end());
  return {};
}

namespace {

// Makes room in a prompt that is too long, if the request allows it.
Result<void> truncate(const RequestFields& fields, const ServedModel& model, TextPlan& plan) {
  const Json* how = fields.find("truncate");
  if (how == nullptr || *how == false || *how == "refuse" || *how == true) return {};
  if (*how != "front" && *how != "middle") {
    return fail(ErrorKind::usage, "truncate: found {}, expected refuse, front or middle",
                printable(json_text(*how), 40));
  }
  const std::size_t context = model.engine.context_length();
  const std::size_t wanted = std::min(plan.basis.max_tokens, context / 2);
  for (TextPrompt& prompt : plan.prompts) {
    std::vector<TokenId>& tokens = prompt.tokens;
    if (tokens.size() + wanted <= context) continue;
    const std::size_t kept = std::max<std::size_t>(1, context - wanted), dropped = tokens.size() - kept;
    const bool has_bos = tokens.front() == model.vocabulary().special(SpecialToken::bos);
    const std::size_t first = *how == "middle" ? kept / 2 : has_bos ? 1 : 0;
    const auto begin = tokens.begin() + static_cast<std::ptrdiff_t>(first);
    tokens.erase(begin, begin + static_cast<std::ptrdiff_t>(dropped));
    plan.report.clamped.emplace_back("prompt");
    plan.report.notes.push_back(fmt::format("prompt: {} tokens were cut out from token {} on", dropped, first));
  }
  return {};
}

}  // namespace

Result<void> check_plan(const RequestFields& fields, const ServedModel& model, TextPlan& plan) {
  if (plan.prompts.size() * plan.best_of > kTextLimits.texts) {
    return fail(ErrorKind::usage, "n: {} prompts with {} texts each, expected at most {} texts", plan.prompts.size(),
                plan.best_of, kTextLimits.texts);
  }
  if (plan.best_of > plan.count && plan.streams) {
    return fail(ErrorKind::usage, "best_of: the best is known at the end only; leave out best_of or stream");
  }
  PLM_TRY(truncate(fields, model, plan));
  bool is_clamped = false;
  for (const TextPrompt& prompt : plan.prompts) {
    PLM_TRY(model.engine.check_prompt(prompt.tokens));
    const std::size_t room = model.engine.context_length() - prompt.tokens.size();
    is_clamped |= plan.basis.max_tokens != std::size_t(-1) && plan.basis.max_tokens > room;
  }
  if (plan.fills_page && plan.basis.holes.empty()) {  // a page is as long as there is room
    const auto longest = std::ranges::max_element(plan.prompts, {}, [](const auto& p) { return p.tokens.size(); });
    plan.basis.max_tokens = std::min(plan.basis.max_tokens, model.engine.context_length() - longest->tokens.size());
  }
  if (is_clamped) {
    plan.report.clamped.emplace_back("max_tokens");
    plan.report.notes.push_back(
        fmt::format("max_tokens: {}, the context of {} tokens has room for fewer behind the "
                    "prompt",
                    plan.basis.max_tokens, model.engine.context_length()));
  }
  const auto& ignored = plan.report.ignored;
  if (fields.boolean("strict") && !ignored.empty()) {
    return fail(ErrorKind::usage, "{}: has no effect here, and the request is strict; ignored fields: {}",
                ignored.front(), fmt::join(ignored, ", "));
  }
  return {};
}

}  // namespace plm
