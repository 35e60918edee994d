// plm embed: a vector for each text. Tested by tests/cli/test_encoders.py.
#include "base/clock.h"
#include "base/json.h"
#include "cli/command.h"
#include "cli/model_store.h"
#include "cli/text_inputs.h"
#include "engine/embedding.h"

namespace plm {
namespace {

constexpr Parameter kFlags[] = {
    kTextFlag,
    kWholeFlag,
    {.name = "pooling",
     .summary = "how the vectors of a text's tokens become one; not given: as the model says",
     .type = ParameterType::choice,
     .choices = "mean, cls, last",
     .tag = Tag::model},
    {.name = "no_normalize",
     .summary = "vectors as they come, not brought to length 1",
     .type = ParameterType::boolean,
     .tag = Tag::pipe},
    {.name = "prefix",
     .summary = "words in front of every text, as the model was trained with: \"search_query: \"",
     .type = ParameterType::text,
     .tag = Tag::pipe},
    {.name = "prompt_name",
     .summary = "the same by a name that the model knows: query",
     .type = ParameterType::text,
     .unit = "NAME",
     .tag = Tag::pipe},
    {.name = "dimensions",
     .summary = "only the first so many numbers, for models trained for that",
     .type = ParameterType::integer,
     .min = 1,
     .max = 1 << 20,
     .tag = Tag::pipe},
    kMaxTokensFlag,
    kNoTruncateFlag,
    {.name = "similarity",
     .summary = "instead of vectors the cosine between each text and every other",
     .type = ParameterType::boolean,
     .tag = Tag::pipe},
    {.name = "json",
     .summary = "for each text a JSON object on a line of its own",
     .type = ParameterType::boolean,
     .tag = Tag::pipe},
};
constexpr Argument kArguments[] = {kModelArgument, kTextFileArgument};

Result<EmbeddingOptions> options_of(const Settings& settings, const SequenceHead& head) {
  EmbeddingOptions options;
  if (settings.has("pooling")) {
    const std::string name = settings.text("pooling");
    options.pooling = name == "mean" ? Pooling::mean : name == "cls" ? Pooling::cls : Pooling::last;
  }
  if (settings.boolean("no_normalize")) options.normalizes = false;
  if (settings.was_given("prefix") && settings.was_given("prompt_name")) {
    return fail(ErrorKind::usage, "two prefixes; give --prefix or --prompt-name, not both");
  }
  if (settings.was_given("prefix")) options.prefix = settings.text("prefix");
  if (settings.was_given("prompt_name")) {
    PLM_TRY_ASSIGN(options.prefix, head.prompt(settings.text("prompt_name")));
  }
  if (settings.has("dimensions")) options.dimensions = static_cast<std::size_t>(settings.integer("dimensions"));
  if (settings.has("max_tokens")) options.most_tokens = static_cast<std::size_t>(settings.integer("max_tokens"));
  options.cuts = !settings.boolean("no_truncate");
  return options;
}

std::string json_line(const Embedding& embedding, std::size_t index) {
  const Json object = {
      {"index", index}, {"tokens", embedding.tokens}, {"truncated", embedding.is_cut}, {"embedding", embedding.values}};
  return json_text(object) + "\n";
}

std::string numbers_line(const std::vector<float>& values) {
  std::string line;
  for (const float value : values) line += fmt::format("{}{}", line.empty() ? "" : "\t", value);
  return line + "\n";
}

std::string similarity_line(const std::vector<Embedding>& embeddings, std::size_t row, bool as_json) {
  std::vector<double> cosines;
  for (const Embedding& other : embeddings) cosines.push_back(cosine(embeddings[row].values, other.values));
  if (as_json) return json_text(Json{{"index", row}, {"similarity", cosines}}) + "\n";
  std::string line;
  for (const double value : cosines) line += fmt::format("{}{:.4f}", line.empty() ? "" : "\t", value);
  return line + "\n";
}

// "[load 20 ms, 256 texts of 7000 tokens in 800 ms: 320 texts/s]"
std::string timing_line(const std::vector<Embedding>& embeddings, double load_ms, double embed_ms) {
  std::size_t tokens = 0;
  for (const Embedding& embedding : embeddings) tokens += embedding.tokens;
  return fmt::format("[load {:.0f} ms, {} texts of {} tokens in {:.1f} ms: {:.0f} texts/s]", load_ms, embeddings.size(),
                     tokens, embed_ms, static_cast<double>(embeddings.size()) / embed_ms * 1000);
}

Result<int> run(Invocation& call) {
  const Stopwatch watch;
  PLM_TRY_ASSIGN(const std::string path, resolve_model(call.argument(0)));
  PLM_TRY_ASSIGN(const auto engine, load_engine(call, path, 64, ModelUse::embedding));
  const double load_ms = watch.elapsed_ms();
  PLM_TRY_ASSIGN(const EmbeddingOptions options, options_of(call.settings, engine->sequence_head()));
  PLM_TRY_ASSIGN(const std::vector<std::string> texts, read_texts(call));
  const Stopwatch embedding_watch;
  PLM_TRY_ASSIGN(const auto embeddings, embed(*engine, texts, options, reading_hooks(call.terminal, "embedding")));
  const double embed_ms = embedding_watch.elapsed_ms();
  call.terminal.clear_progress();
  const bool as_json = call.settings.boolean("json"), compares = call.settings.boolean("similarity");
  std::size_t cut = 0;
  for (std::size_t i = 0; i < embeddings.size(); ++i) {
    cut += embeddings[i].is_cut ? 1 : 0;
    call.terminal.data(compares  ? similarity_line(embeddings, i, as_json)
                       : as_json ? json_line(embeddings[i], i)
                                 : numbers_line(embeddings[i].values));
  }
  warn_of_cuts(call.terminal, cut, texts.size());
  call.terminal.line(timing_line(embeddings, load_ms, embed_ms));
  return 0;
}

}  // namespace

extern constinit const Command command_embed = {
    .head = {.name = "embed",
             .aliases = "embedding, embeddings",
             .summary = "gives each text a vector, for search and comparison",
             .source = "datasheet 55, encoders",
             .parameters = kFlags},
    .arguments = kArguments,
    .runs_model = true,
    .run = run,
};

}  // namespace plm
