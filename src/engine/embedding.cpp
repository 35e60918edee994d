#include "engine/embedding.h"

#include <algorithm>
#include <cmath>

namespace plm {
namespace {

double dot(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return sum;
}

void normalize(std::vector<float>& values) {
  const double length = std::sqrt(dot(values, values));
  if (!(length > 0)) return;
  for (float& value : values) value = static_cast<float>(value / length);
}

Result<std::vector<FramedText>> frame(const Engine& engine, std::span<const std::string> texts,
                                      const EmbeddingOptions& options) {
  const std::size_t most =
      options.most_tokens > 0 ? std::min(options.most_tokens, engine.context_length()) : most_text_tokens(engine);
  const std::string prefix = options.prefix.value_or(engine.sequence_head().standard_prompt());
  std::vector<FramedText> framed;
  for (const std::string& text : texts) {
    auto one = frame_text(engine.tokenizer(), prefix + text, most);
    const std::string where = fmt::format("text {}", framed.size() + 1);
    if (!one.has_value()) return tl::unexpected<Error>(one.error().within(where));
    if (one->is_cut && !options.cuts) {
      return fail(ErrorKind::usage,
                  "{}: more than {} tokens, which is what the model reads; shorten it, or let it be cut", where, most);
    }
    framed.push_back(std::move(*one));
  }
  return framed;
}

}  // namespace

std::size_t most_text_tokens(const Engine& engine) {
  const std::size_t stated = engine.sequence_head().most_tokens();
  return stated > 0 ? std::min(stated, engine.context_length()) : engine.context_length();
}

Result<std::vector<Embedding>> embed(Engine& engine, std::span<const std::string> texts,
                                     const EmbeddingOptions& options, const ReadingHooks& hooks) {
  const SequenceHead& head = engine.sequence_head();
  if (options.dimensions > head.outputs()) {
    return fail(ErrorKind::usage, "dimensions: {}, this model gives {}", options.dimensions, head.outputs());
  }
  const Pooling pooling = options.pooling.value_or(head.pooling());
  PLM_TRY_ASSIGN(const auto framed, frame(engine, texts, options));
  std::vector<RowsWanted> wanted;
  for (const FramedText& text : framed) {
    wanted.push_back(
        {&text, text.tokens.empty() ? std::vector<std::uint32_t>() : rows_for(pooling, text.tokens.size())});
  }
  std::vector<Embedding> embeddings(texts.size());
  const auto take = [&](std::size_t index, std::vector<std::vector<float>> rows) -> Result<void> {
    PLM_TRY_ASSIGN(std::vector<float> values, engine.apply_head(pooled(rows)));
    const bool is_shortened = options.dimensions > 0 && options.dimensions < values.size();
    if (is_shortened) values.resize(options.dimensions);
    if (options.normalizes.value_or(head.normalizes())) normalize(values);
    embeddings[index] = {std::move(values), framed[index].tokens.size(), framed[index].is_cut};
    return {};
  };
  PLM_TRY(read_rows(engine, wanted, take, hooks));
  return embeddings;
}

double cosine(std::span<const float> a, std::span<const float> b) {
  PLM_CHECK(a.size() == b.size());
  const double lengths = std::sqrt(dot(a, a) * dot(b, b));
  return lengths > 0 ? dot(a, b) / lengths : 0;
}

}  // namespace plm
