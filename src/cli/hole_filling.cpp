#include "cli/hole_filling.h"

#include "base/utf8.h"
#include "cli/engine_flags.h"
#include "cli/interrupt.h"
#include "cli/recipe_flags.h"

namespace plm {

std::string joined(const HoleyText& text, std::span<const FilledHole> holes) {
  std::string whole = text.texts.front();
  for (std::size_t i = 0; i < holes.size(); ++i) whole += holes[i].text + text.texts[i + 1];
  return whole;
}

EncodeOptions HoleFilling::encode_options() const {
  return {.add_special = !call_.settings.boolean("no_bos"), .parse_special = call_.settings.boolean("special")};
}

Result<void> HoleFilling::check_model() const {
  if (fills_masks() || fills_in_the_middle(engine_.vocabulary())) return {};
  return fail(
      ErrorKind::usage,
      "{}: writes one token after another and has no tokens to fill in the middle; use a model that fills masks, "
      "or one that has them (tokenizer.ggml.fim_pre_token_id, fim_suf_token_id, fim_mid_token_id)",
      printable(engine_.file().path()));
}

Result<GenerationRequest> HoleFilling::request() const {
  GenerationRequest request{.sampling = &call_.settings, .seed = chosen_seed(call_.settings)};
  if (call_.settings.has("decoder")) request.decoder = call_.settings.text("decoder");
  if (request.decoder.empty()) {
    const bool refines = fills_masks() && engine_.diffusion()->noise == DiffusionNoise::uniform;
    request.decoder = refines ? "uniform" : fills_masks() ? "diffusion" : "autoregressive";
  }
  PLM_TRY_ASSIGN(const DecoderDefinition* decoder, engine_.choose_decoder(request.decoder));
  request.decoder = decoder->head.name;
  if (decoder->fills_masks) request.parallel = &call_.settings;
  return request;
}

FilledHole HoleFilling::filled(std::vector<TokenId> ids, bool begins_text) const {
  FilledHole hole{.text = detokenize(engine_.vocabulary(), ids, {.whole_text = begins_text}), .ids = {}};
  hole.ids = std::move(ids);
  return hole;
}

Result<std::vector<FilledHole>> HoleFilling::fill(const HoleyText& text, std::span<const TokenId> ahead) {
  std::vector<FilledHole> holes;
  if (fills_masks()) {
    GivenAndHoles page;
    if (ahead.empty()) {
      PLM_TRY_ASSIGN(page, encode_holes(engine_.tokenizer(), text, encode_options()));
    } else {
      page.given.assign(ahead.begin(), ahead.end());
      for (std::size_t i = 0; i < text.texts.size(); ++i) {
        PLM_TRY_ASSIGN(const auto ids, encode_continuation(engine_.tokenizer(), text.texts[i], encode_options()));
        page.given.insert(page.given.end(), ids.begin(), ids.end());
        if (i < text.lengths.size()) page.holes.push_back({page.given.size(), text.lengths[i]});
      }
    }
    PLM_TRY_ASSIGN(holes, fill(page, ahead.size()));
    if (text.texts.front().empty() && ahead.empty()) holes.front() = filled(std::move(holes.front().ids), true);
    return holes;
  }
  // One after another, each seeing those before it.
  PLM_TRY_ASSIGN(const GenerationRequest first, request());
  HoleyText rest = text;
  for (std::size_t i = 0; i < text.lengths.size(); ++i) {
    std::string behind;
    for (std::size_t k = i + 1; k < text.texts.size(); ++k) behind += text.texts[k];
    HoleyText before{.texts = {text.texts.begin(), text.texts.begin() + static_cast<std::ptrdiff_t>(i) + 1},
                     .lengths = {}};
    PLM_TRY_ASSIGN(FilledHole hole, fill_in_the_middle(joined(before, holes), behind, text.lengths[i], first.seed + i));
    holes.push_back(std::move(hole));
  }
  return holes;
}

Result<FilledHole> HoleFilling::fill_in_the_middle(std::string_view before, std::string_view behind, std::size_t length,
                                                   std::uint64_t seed) {
  PLM_TRY_ASSIGN(GenerationRequest request, this->request());
  PLM_TRY_ASSIGN(request.prompt, fill_in_the_middle_prompt(engine_.tokenizer(), before, behind, encode_options()));
  request.max_tokens = length;
  request.seed = seed;
  const std::size_t context = engine_.context_length(), given = request.prompt.size();
  if (given > context || length > context - given) {
    return fail(ErrorKind::usage,
                "hole of {} tokens in a text of {}: the context holds {}; shorten it or raise --context", length, given,
                context);
  }
  PLM_TRY_ASSIGN(DecodeOutcome outcome, write(std::move(request), given));
  return filled(std::move(outcome.tokens), before.empty());
}

Result<std::vector<FilledHole>> HoleFilling::fill(const GivenAndHoles& page, std::size_t shown_from) {
  PLM_TRY_ASSIGN(GenerationRequest request, this->request());
  request.prompt = page.given;
  request.holes = page.holes;
  if (engine_.diffusion()->attention != DiffusionAttention::full) {
    call_.terminal.note("this model sees what stands before a block and in it; text further behind a hole is not seen");
  }
  PLM_TRY_ASSIGN(DecodeOutcome outcome, write(std::move(request), shown_from));
  std::vector<FilledHole> holes;
  for (std::vector<TokenId>& ids : outcome.holes) holes.push_back(filled(std::move(ids), false));
  return holes;
}

Result<DecodeOutcome> HoleFilling::write(GenerationRequest request, std::size_t shown_from) {
  std::unique_ptr<TrajectoryFile> trajectory;
  if (call_.settings.was_given("trajectory")) {
    PLM_TRY_ASSIGN(trajectory,
                   TrajectoryFile::create(call_.settings.text("trajectory"), engine_.vocabulary(), request));
  }
  std::unique_ptr<PageAnimation> animation;
  if (request.parallel != nullptr && !call_.settings.boolean("json")) {
    animation = PageAnimation::create(call_, engine_.vocabulary(), request.prompt, shown_from);
  }
  TextRecord record(engine_.vocabulary(), nullptr);
  request.listener = [&](const Event& event) {
    cost_.on_event(event);
    record.on_event(event);
    if (trajectory != nullptr) trajectory->on_event(event);
    if (animation != nullptr) animation->on_event(event);
  };
  stop_between_batches();
  PLM_TRY_ASSIGN(const auto generation, engine_.start(request));
  if (trajectory != nullptr) {
    PLM_TRY_ASSIGN(const RecipeFacts facts, recipe_facts(call_, engine_));
    trajectory->begin(make_recipe(engine_, request, *generation, facts, {}), request);
  }
  const Result<void> outcome = engine_.run([&] {
    if (animation != nullptr) animation->draw();
    return was_interrupted() || call_.terminal.failure().has_value();
  });
  if (animation != nullptr) animation->finish();
  PLM_TRY(outcome);
  if (!generation->done()) return fail(ErrorKind::interrupted, "interrupted; nothing was changed");
  auto result = generation->take();
  if (trajectory != nullptr) {
    if (result.has_value()) trajectory->end(record.finish());
    PLM_TRY(trajectory->close());
  }
  return result;
}

}  // namespace plm
