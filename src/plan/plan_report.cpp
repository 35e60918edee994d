// The plan as JSON, and as the page that a person reads.
// Tested by tests/plan/test_model_plan.cpp.
#include "base/json.h"
#include "base/system_memory.h"
#include "base/utf8.h"
#include "plan/model_plan.h"

namespace plm {
namespace {

Json optional_number(const std::optional<std::uint64_t>& number) { return number.has_value() ? Json(*number) : Json(); }
Json limit_json(std::uint64_t limit) { return limit > 0 ? Json(limit) : Json(); }

Json memory_json(const EngineMemory& memory) {
  return {{"weights", memory.weights.allocated()},
          {"weights_in_file", memory.weights.in_file},
          {"page", memory.pages.page},
          {"pages_per_sequence", memory.pages.pages},
          {"recurrent_block", memory.pages.block},
          {"recurrent_blocks_per_sequence", memory.pages.blocks},
          {"sequences", memory.sequences},
          {"sequence_total", memory.sequence_bytes()},
          {"activations", memory.scratch.activations},
          {"logits", memory.scratch.logits},
          {"rounded_activations", memory.scratch.rounded},
          {"peak", memory.peak()}};
}

// Sizes of a token are small beside those of memories.
std::string token_size(std::uint64_t bytes) {
  if (bytes >= 1U << 20) return memory_size(bytes);
  return bytes >= 1024 ? fmt::format("{:.1f} KiB", static_cast<double>(bytes) / 1024) : fmt::format("{} bytes", bytes);
}

// 134515008 as "134.5 M".
std::string count_text(const std::optional<std::uint64_t>& count) {
  if (!count.has_value()) return "not told";
  const auto number = static_cast<double>(*count);
  if (number >= 1e9) return fmt::format("{:.2f} B", number / 1e9);
  return number >= 1e6 ? fmt::format("{:.1f} M", number / 1e6) : fmt::format("{}", *count);
}

std::string line(std::string_view name, std::string_view value, std::string_view remark = "") {
  return fmt::format("  {:<26}{:>14}{}{}\n", name, value, remark.empty() ? "" : "   ", remark);
}

std::string parameters_text(const PlanSubject& subject) {
  const CountedParameters counts = subject.counts.value_or(CountedParameters{});
  std::string text = "parameters\n";
  text += line("stored", count_text(subject.counts.has_value() ? std::optional(counts.stored) : std::nullopt));
  text += line("active", count_text(counts.active), "without the experts that a token does not meet");
  text += line("multiplied", count_text(counts.multiplied), "of these, without tables that are looked up");
  text += line("without embeddings", count_text(counts.without_embeddings));
  return text;
}

std::string weights_text(const PlanSubject& subject, const ModelPlan& plan) {
  std::string text = fmt::format("\nweights, {} as stored\n", memory_size(plan.weight_bytes));
  for (const TypeShare& share : plan.types) {
    text += line(share.type, memory_size(share.bytes),
                 fmt::format("{} tensor{}, {:.0f} %", share.tensors, share.tensors == 1 ? "" : "s",
                             100.0 * static_cast<double>(share.bytes) / static_cast<double>(plan.weight_bytes)));
  }
  if (subject.file == nullptr) text += line(subject.weights.name, memory_size(plan.weight_bytes), "assumed");
  const double all = static_cast<double>(std::max<std::uint64_t>(plan.weight_bytes, 1));
  const bool is_one = plan.head_bytes == 0 && subject.sketch.has_head;
  text += line(is_one ? "embedding and head, one" : "embedding", memory_size(plan.embedding_bytes),
               fmt::format("{:.0f} % of the weights", 100.0 * static_cast<double>(plan.embedding_bytes) / all));
  if (plan.head_bytes > 0) {
    text += line("head", memory_size(plan.head_bytes),
                 fmt::format("{:.0f} % of the weights", 100.0 * static_cast<double>(plan.head_bytes) / all));
  }
  return text;
}

std::string mixers_text(const ModelPlan& plan) {
  std::string text = fmt::format("\na sequence of {} tokens, keys and values {}, keeps at least\n", plan.sizes.context,
                                 plan.sizes.kv_types.name());
  for (const MixerShare& share : plan.mixers) {
    text +=
        fmt::format("  {:<26}{:>14}   {}, {}\n", fmt::format("{} layer{}", share.layers, share.layers == 1 ? "" : "s"),
                    memory_size(share.bytes.total()), printable(share.name, 60),
                    share.per_token > 0 ? token_size(share.per_token) + " a token" : "whatever its length");
  }
  if (plan.mixers.empty()) text += "  nothing: a text goes in whole, and its state is forgotten\n";
  return text + line("together", memory_size(plan.least.total()));
}

std::string memory_text(const ModelPlan& plan) {
  const EngineMemory& memory = plan.memory;
  std::string text = "\nthis program allocates\n";
  text += line("weights", memory_size(memory.weights.allocated()),
               fmt::format("and reads {} in the file", memory_size(memory.weights.in_file)));
  text += line(fmt::format("{} sequence{}", memory.sequences, memory.sequences == 1 ? "" : "s"),
               memory_size(memory.sequence_bytes()),
               fmt::format("{} pages of {} each{}", memory.pages.pages, memory_size(memory.pages.page),
                           memory.pages.blocks > 0 ? fmt::format(", {} recurrent blocks of {}", memory.pages.blocks,
                                                                 memory_size(memory.pages.block))
                                                   : ""));
  text += line("activations of a pass", memory_size(memory.scratch.activations + memory.scratch.rounded));
  text += line("logits", memory_size(memory.scratch.logits), "of the rows that are asked for");
  text += line("peak", memory_size(memory.peak()));
  text += line("1000 tokens more", memory_size(plan.next_thousand * memory.sequences));
  return text;
}

std::string limits_text(const ContextLimits& limits) {
  const auto tokens = [](std::uint64_t limit) { return limit > 0 ? fmt::format("{}", limit) : "not stated"; };
  std::string text = "\ncontext, tokens\n";
  text += line("configured", tokens(limits.configured));
  text += line("positional", tokens(limits.positional));
  text += line("trained", tokens(limits.trained));
  return text + line("effective", limits.effective.has_value() ? tokens(*limits.effective) : "not measured");
}

}  // namespace

Json plan_json(const PlanSubject& subject, const ModelPlan& plan) {
  const CountedParameters counts = subject.counts.value_or(CountedParameters{});
  Json types = Json::array(), layers = Json::array();
  for (const TypeShare& share : plan.types) {
    types.push_back(
        {{"type", share.type}, {"tensors", share.tensors}, {"parameters", share.parameters}, {"bytes", share.bytes}});
  }
  for (const MixerShare& share : plan.mixers) {
    layers.push_back({{"kind", share.name},
                      {"layers", share.layers},
                      {"bytes_per_token", share.per_token},
                      {"cells", share.bytes.cells},
                      {"recurrent", share.bytes.recurrent}});
  }
  return {{"model", subject.sketch.name},
          {"family", subject.sketch.family},
          {"layers", subject.sketch.layers.size()},
          {"parameters",
           {{"stored", subject.counts.has_value() ? Json(counts.stored) : Json()},
            {"active", optional_number(counts.active)},
            {"multiplied", optional_number(counts.multiplied)},
            {"without_embeddings", optional_number(counts.without_embeddings)}}},
          {"weights",
           {{"bytes", plan.weight_bytes},
            {"types", types},
            {"embedding", plan.embedding_bytes},
            {"head", plan.head_bytes}}},
          {"kv_dtype", plan.sizes.kv_types.name()},
          {"sequence", {{"kinds", layers}, {"cells", plan.least.cells}, {"recurrent", plan.least.recurrent}}},
          {"memory", memory_json(plan.memory)},
          {"next_thousand_tokens", plan.next_thousand},
          {"context",
           {{"configured", limit_json(plan.limits.configured)},
            {"positional", limit_json(plan.limits.positional)},
            {"trained", limit_json(plan.limits.trained)},
            {"effective", optional_number(plan.limits.effective)}}},
          {"warnings", plan.warnings}};
}

std::string plan_text(const PlanSubject& subject, const ModelPlan& plan) {
  const std::string head =
      fmt::format("{}{}{}: {} layers, {} tokens in the vocabulary\n\n", printable(subject.sketch.name, 60),
                  subject.sketch.family.empty() ? "" : ", ", printable(subject.sketch.family, 40),
                  subject.sketch.layers.size(), subject.sketch.vocabulary);
  return head + parameters_text(subject) + weights_text(subject, plan) + mixers_text(plan) + memory_text(plan) +
         limits_text(plan.limits);
}

}  // namespace plm
