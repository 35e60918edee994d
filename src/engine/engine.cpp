#include "engine/engine.h"

#include <algorithm>

#include "base/system_memory.h"
#include "constraint/constraint_matcher.h"
#include "model/checkpoint.h"
#include "model/layers/encoder_model.h"

namespace plm {

Generation::Generation(DecodeJob job, Parts parts, const DecoderDefinition& decoder)
    : warnings_(std::move(parts.warnings)),
      parallel_(std::move(parts.parallel)),
      job_(std::move(job)),
      session_(std::move(parts.session)),
      guide_(std::move(parts.guide)),
      reused_tokens_(session_->state_length()) {
  if (guide_.session != nullptr) {
    const GuidedSession::Guidance guidance{.prompt_length = job_.canvas.size(),
                                           .negative_prompt = guide_.negative_prompt,
                                           .scale = static_cast<float>(guide_.scale)};
    guided_.emplace(*session_, *guide_.session, guidance);
  }
  task_ = decoder.run(guided_.has_value() ? static_cast<Session&>(*guided_) : *session_, job_);
  task_.start();
}

Generation::~Generation() {
  if (leave_state_to_ == nullptr) return;
  std::vector<TokenId> tokens = job_.canvas.tokens();
  tokens.resize(session_->state().length());
  leave_state_to_->keep(std::move(tokens), session_->state());
}

namespace {

std::uint64_t tensor_bytes(const GgufFile& file) {
  std::uint64_t sum = 0;
  for (const TensorEntry& tensor : file.tensors()) sum += tensor.byte_count();
  return sum;
}

// Refuses before anything is allocated what the machine has no memory for.
Result<void> check_room(const std::string& path, std::string_view what, std::uint64_t needed, std::string_view remedy) {
  const std::uint64_t available = available_memory_bytes();
  if (needed <= available) return {};
  return fail(ErrorKind::no_room, "{}: {} need {} of memory, {} are available; use {}", path, what, memory_size(needed),
              memory_size(available), remedy);
}

Result<std::shared_ptr<const GgufFile>> with_overrides(const std::shared_ptr<const GgufFile>& file,
                                                       const EngineOptions& options) {
  std::vector<std::string> settings = options.overrides;
  PLM_TRY_ASSIGN(const std::string_view architecture, file->string_value("general.architecture"));
  for (const std::string& setting : options.model_settings)
    settings.push_back(fmt::format("{}.{}", architecture, setting));
  return GgufFile::overridden(file, settings);
}

// Refuses a model for what it was not made, and says which command fits.
Result<void> check_use(const ModelFile& file, ModelKind kind, ModelUse use) {
  const auto refuse = [&](std::string_view is, std::string_view remedy) {
    return fail(ErrorKind::usage, "{}: {} ({}); {}", file.path(), is, file.architecture(), remedy);
  };
  if (kind == ModelKind::encoder && use != ModelUse::embedding) {
    return refuse(use == ModelUse::writing ? "is an encoder, which gives vectors and writes no text"
                                           : "is an encoder without a head that scores",
                  "use plm embed");
  }
  if (kind == ModelKind::scorer && use != ModelUse::scoring) {
    return refuse(use == ModelUse::writing ? "gives scores and writes no text" : "gives scores and no vectors",
                  "use plm rerank for a reranker, plm reward for a reward model");
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<Engine>> Engine::load(const std::string& path, std::unique_ptr<Device> device,
                                             const EngineOptions& options) {
  std::unique_ptr<Engine> engine(new Engine());
  PLM_TRY_ASSIGN(engine->file_, open_checkpoint(path));
  PLM_TRY_ASSIGN(engine->file_, with_overrides(engine->file_, options));
  // The header is checked whole before the first weight is touched: a bad file costs nothing.
  PLM_TRY_ASSIGN(ModelFile model_file, ModelFile::open(engine->file_));
  PLM_TRY_ASSIGN(const Architecture* architecture, find_architecture(model_file));
  // An encoder may have kept the head that it was trained with: asked to write, it fills masks.
  const bool fills_masks = options.use == ModelUse::writing && model_file.has_tensor(kMaskHeadTensor);
  engine->kind_ = model_file.has_tensor(kScoreTensor)        ? ModelKind::scorer
                  : architecture->is_encoder && !fills_masks ? ModelKind::encoder
                                                             : ModelKind::writer;
  PLM_TRY(check_use(model_file, engine->kind_, options.use));
  PLM_TRY_ASSIGN(engine->tokenizer_, Tokenizer::load(engine->file_));
  engine->texts_ = std::make_unique<VocabularyTexts>(*engine->tokenizer_);
  engine->device_ = std::move(device);
  model_file.set_progress(options.on_load);
  PLM_TRY_ASSIGN(const std::size_t trained, model_file.integer("context_length", {1, std::size_t{1} << 30}));
  engine->choose_context(options, trained);
  model_file.set_configured_context(engine->context_length_);
  PLM_TRY(check_room(path, "weights", tensor_bytes(*engine->file_), "a smaller or more quantised model"));
  PLM_TRY_ASSIGN(engine->model_, load_model(model_file, *engine->device_));
  PLM_TRY(engine->read_diffusion(*architecture));
  PLM_TRY_ASSIGN(engine->sequence_head_, SequenceHead::load(model_file, *architecture, *engine->device_));
  const std::size_t most = engine->shape().most_positions;
  if (most > 0 && engine->context_length_ > most) {
    return fail(ErrorKind::usage, "context of {} tokens: {} has learned {} positions; lower --context",
                engine->context_length_, path, most);
  }
  if (engine->vocabulary().size() != engine->shape().vocab_size) {
    return fail(ErrorKind::bad_input, "{}: tokenizer.ggml.tokens: {} tokens, but token_embd.weight has {} rows", path,
                engine->vocabulary().size(), engine->shape().vocab_size);
  }
  engine->warnings_.insert(engine->warnings_.end(), model_file.warnings().begin(), model_file.warnings().end());
  const auto more = engine->tokenizer_->warnings();
  engine->warnings_.insert(engine->warnings_.end(), more.begin(), more.end());
  PLM_TRY(engine->choose_kv_types(options.kv_types));
  engine->most_sequences_ = options.most_sequences;
  engine->batch_rows_ = options.batch_rows;
  PLM_TRY(engine->make_pools(options));
  engine->scheduler_ = std::make_unique<Scheduler>(Scheduler::Parts{*engine->device_, *engine->model_, engine->layout_},
                                                   options.batch_rows);
  return engine;
}

Result<void> Engine::read_diffusion(const Architecture& architecture) {
  if (kind_ != ModelKind::writer) return {};
  std::shared_ptr<const GgufFile> file = file_;
  // A folder's settings may leave to its tokeniser which token is the mask.
  const auto mask = vocabulary().special(SpecialToken::mask);
  if (mask.has_value() && file_->find("tokenizer.ggml.mask_token_id") == nullptr) {
    const std::string setting = fmt::format("tokenizer.ggml.mask_token_id={}", *mask);
    PLM_TRY_ASSIGN(file, GgufFile::overridden(file_, std::span(&setting, 1)));
  }
  PLM_TRY_ASSIGN(diffusion_, read_diffusion_traits(*file, architecture.diffusion));
  if (!diffusion_.has_value()) return {};
  const std::vector<TokenId>& after = tokenizer_->surroundings().after;
  if (architecture.is_encoder && !after.empty()) diffusion_->closing_token = after.back();
  if (diffusion_->noise == DiffusionNoise::mask && !vocabulary().contains(diffusion_->mask_token)) {
    return fail(ErrorKind::bad_input, "{}: the mask token is {}, the vocabulary has {} tokens", file_->path(),
                diffusion_->mask_token, vocabulary().size());
  }
  for (const TokenId token : {diffusion_->expand_token, diffusion_->delete_token}) {
    if (token < 0 || vocabulary().contains(token)) continue;
    return fail(ErrorKind::bad_input, "{}: the token that expands or deletes is {}, the vocabulary has {} tokens",
                file_->path(), token, vocabulary().size());
  }
  return {};
}

Result<void> Engine::choose_kv_types(const KvTypes& types) {
  PLM_TRY_ASSIGN(layout_, model_->state_layout(types));
  kv_types_ = types;
  if (types.keys == &quant_q4_0 && !layout_.layers.empty()) {
    warnings_.emplace_back(
        "keys in q4_0: the next token's distribution moves by 0.05 (SmolLM2 135M) to 0.17 nat (Gemma 3 270M) on "
        "average, "
        "with q8_0/q4_0 by 0.006 to 0.007; plm score --kv-dtype measures it on a text of yours");
  }
  return {};
}

Result<std::unique_ptr<SideMemory>> Engine::side_memory(const KvTypes& types) {
  PLM_TRY_ASSIGN(StateLayout layout, model_->state_layout(types));
  const std::size_t pages = (context_length_ + kPageCells - 1) / kPageCells;
  PLM_TRY(check_room(file_->path(), fmt::format("keys and values of {} tokens in {}", context_length_, types.name()),
                     pages * layout.page_bytes, "a smaller --context"));
  const SideMemory::Limits limits{.context_length = context_length_, .batch_rows = batch_rows_};
  return std::make_unique<SideMemory>(*device_, *model_, std::move(layout), limits);
}

Result<void> Engine::make_pools(const EngineOptions& options) {
  const std::string& path = file_->path();
  const std::size_t pages_per_sequence = (context_length_ + kPageCells - 1) / kPageCells;
  const std::size_t block_bytes = RecurrentMemory::kMostBlocks * layout_.block_bytes;
  const std::string what = fmt::format("keys and values of {} tokens", context_length_);
  PLM_TRY(check_room(path, block_bytes == 0 ? what : fmt::format("{} and recurrent state", what),
                     pages_per_sequence * layout_.page_bytes + block_bytes, "a smaller --context or --kv-dtype"));
  pages_ = std::make_unique<PagePool>(*device_, layout_.page_bytes, pages_per_sequence * options.most_sequences);
  if (block_bytes > 0) {
    blocks_ = std::make_unique<PagePool>(*device_, layout_.block_bytes,
                                         RecurrentMemory::kMostBlocks * options.most_sequences);
  }
  prefixes_ = std::make_unique<PrefixCache>(pools());
  for (PagePool* pool : {pages_.get(), blocks_.get()}) {
    if (pool != nullptr) pool->set_reclaim([prefixes = prefixes_.get()] { return prefixes->forget_oldest(); });
  }
  return {};
}

Result<const DecoderDefinition*> Engine::choose_decoder(std::string_view name) const {
  const bool writes_on = !diffusion_.has_value() || diffusion_->is_causal_too;
  if (name.empty()) {
    const bool refines = diffusion_.has_value() && diffusion_->noise == DiffusionNoise::uniform;
    const bool edits = diffusion_.has_value() && diffusion_->edits;
    return find_decoder(writes_on ? "autoregressive" : refines ? "uniform" : edits ? "edit" : "diffusion");
  }
  const DecoderDefinition* decoder = find_decoder(name);
  std::string suited;
  for (const DecoderDefinition* known : decoders()) {
    const bool suits = known->fills_masks ? diffusion_.has_value() : writes_on;
    if (suits && decoder == known) return decoder;
    if (suits) suited += fmt::format("{}{}", suited.empty() ? "" : ", ", known->head.name);
  }
  if (decoder == nullptr) {
    return fail(ErrorKind::usage, "decoder: \"{}\" is not known; for this model there are {}", printable(name, 80),
                suited);
  }
  return fail(ErrorKind::usage, "decoder {}: this model {}; for it there are {}", decoder->head.name,
              writes_on ? "writes one token after another and was not trained to fill masks"
                        : "fills masks and was not trained to write one token after another",
              suited);
}

void Engine::choose_context(const EngineOptions& options, std::size_t trained) {
  context_length_ = options.context_length > 0 ? options.context_length : std::min(trained, kDefaultContext);
  if (context_length_ > trained) {
    warnings_.push_back(
        fmt::format("context of {} tokens, the model was trained with {}; room, or positions stretched to fit it, are "
                    "not training: text beyond that may be poor",
                    context_length_, trained));
  }
}

Result<void> Engine::check_prompt(std::span<const TokenId> prompt) const {
  if (prompt.empty()) {
    return fail(ErrorKind::usage, "prompt: empty, and this model adds no token in front; give some text");
  }
  if (prompt.size() > context_length_) {
    return fail(ErrorKind::usage,
                "prompt: {} tokens, the context holds {}; raise it with --context or shorten the prompt", prompt.size(),
                context_length_);
  }
  for (std::size_t i = 0; i < prompt.size(); ++i) {
    if (!vocabulary().contains(prompt[i])) {
      return fail(ErrorKind::usage, "prompt: token {} is {}, expected an id from 0 to {}", i, prompt[i],
                  vocabulary().size() - 1);
    }
  }
  return {};
}

std::unique_ptr<EngineSession> Engine::open_session(Listener listener) {
  return std::make_unique<EngineSession>(*scheduler_, SequenceState(pools()), std::span<const TokenId>(),
                                         context_length_, std::move(listener));
}

namespace {

// Whether every row of the prompt is asked for, so that none may be there before.
bool scores_prompt(const GenerationRequest& request) {
  return request.log_probabilities.has_value() && request.log_probabilities->prompt;
}

}  // namespace

Result<std::unique_ptr<Generation>> Engine::start(GenerationRequest request) {
  PLM_TRY(check_prompt(request.prompt));
  if (!request.reuse_prefix || scores_prompt(request)) return start_from(SequenceState(pools()), std::move(request));
  // All but the last token of the prompt, whose row is needed to draw from.
  SequenceState state = prefixes_->longest(std::span(request.prompt).first(request.prompt.size() - 1));
  PLM_TRY_ASSIGN(auto generation, start_from(std::move(state), std::move(request)));
  generation->leave_state_to_ = prefixes_.get();
  return generation;
}

Result<std::unique_ptr<Generation>> Engine::start_from(SequenceState state, GenerationRequest request) {
  PLM_TRY_ASSIGN(const DecoderDefinition* decoder, choose_decoder(request.decoder));
  if (!request.holes.empty() && !decoder->fills_masks) {
    return fail(ErrorKind::usage, "decoder {}: writes behind a prompt, not into holes", decoder->head.name);
  }
  Settings greedy(sampling_parameters());
  PLM_TRY(greedy.set_text("temperature", "0"));
  PLM_TRY_ASSIGN(Chain chain, Chain::create(request.sampling != nullptr ? *request.sampling : greedy, *texts_));
  PLM_TRY_ASSIGN(StopMatcher stops, StopMatcher::create(std::move(request.stops)));
  const bool is_guided = !request.negative_prompt.empty() && request.guidance_scale != 1;
  DecodeJob job{.chain = std::move(chain),
                .text = TextStream(vocabulary(), std::move(stops)),
                .max_tokens = request.max_tokens,
                .holes = std::move(request.holes),
                .seed = request.seed,
                .log_probabilities = request.log_probabilities,
                .trace_top = request.trace_top,
                .is_guided = is_guided};
  if (!request.banned_phrases.empty()) {
    PLM_TRY_ASSIGN(PhraseBans bans, PhraseBans::create(std::move(request.banned_phrases), vocabulary()));
    job.bans.emplace(std::move(bans));
  }
  Generation::Parts parts;
  const auto chain_warnings = job.chain.warnings();
  parts.warnings.assign(chain_warnings.begin(), chain_warnings.end());
  if (request.constraint.has_value()) {
    if (decoder->fills_masks) {
      return fail(ErrorKind::usage, "decoder {}: writes a page; a constraint is for texts written token after token",
                  decoder->head.name);
    }
    PLM_TRY(constrain(request, job, parts.warnings));
  }
  if (request.thinking.has_value()) {
    if (decoder->fills_masks || request.constraint.has_value() || job.bans.has_value() || is_guided) {
      return fail(ErrorKind::usage,
                  "thinking budget: is for texts written token after token, without a constraint, banned phrases or "
                  "guidance; leave one of them out");
    }
    PLM_TRY_ASSIGN(job.thinking, thinking_rules(*request.thinking, *tokenizer_,
                                                {.max_tokens = request.max_tokens, .prompt = request.prompt.size()}));
  }
  for (const TokenId token : request.prompt) job.canvas.append_given(token);
  if (!request.ignore_end) {
    const auto end_tokens = vocabulary().end_of_generation();
    job.end_tokens.assign(end_tokens.begin(), end_tokens.end());
  }
  if (decoder->fills_masks) {
    const Settings standard(parallel_parameters());
    PLM_TRY_ASSIGN(ParallelPolicy policy,
                   ParallelPolicy::create(request.parallel != nullptr ? *request.parallel : standard, *diffusion_));
    if (policy.cache.kind != PageCacheRule::Kind::exact && !shape().is_causal) {
      return fail(ErrorKind::usage, "page_cache: an encoder reads the whole text in every pass; leave it out");
    }
    parts.parallel = std::make_unique<const ParallelPolicy>(std::move(policy));
    job.parallel = parts.parallel.get();
  }
  if (is_guided) {
    PLM_TRY(check_prompt(request.negative_prompt).map_error([](const Error& error) {
      return error.within("negative prompt");
    }));
    parts.guide = {std::move(request.negative_prompt), request.guidance_scale, open_session()};
  }
  const auto past = std::span(request.prompt).first(state.length());
  parts.session = std::make_unique<EngineSession>(*scheduler_, std::move(state), past, context_length_,
                                                  std::move(request.listener));
  return std::unique_ptr<Generation>(new Generation(std::move(job), std::move(parts), *decoder));
}

Result<void> Engine::constrain(const GenerationRequest& request, DecodeJob& job, std::vector<std::string>& warnings) {
  if (constraints_ == nullptr) constraints_ = std::make_unique<ConstraintStore>(tokenizer_);
  PLM_TRY_ASSIGN(const ConstraintStore::Entry compiled, constraints_->compiled(request.constraint->source));
  warnings.insert(warnings.end(), compiled.warnings.begin(), compiled.warnings.end());
  auto matcher = std::make_shared<ConstraintMatcher>(compiled.constraint, request.constraint->closes);
  PLM_TRY(matcher->check_budget(std::min(request.max_tokens, context_length_ - request.prompt.size())));
  job.constraint = {
      .matcher = std::move(matcher), .spell = constraints_->speller(), .resamples = request.constraint->resamples};
  return {};
}

Result<std::vector<std::unique_ptr<Generation>>> Engine::start_many(
    const GenerationRequest& request, std::size_t count, const std::function<Listener(std::size_t)>& listeners,
    const std::function<bool()>& interrupted) {
  PLM_TRY(check_prompt(request.prompt));
  // All but the last token of the prompt, so that every continuation still has a row to draw from.
  const auto shared =
      std::span(request.prompt).first(count > 1 && !scores_prompt(request) ? request.prompt.size() - 1 : 0);
  PLM_TRY_ASSIGN(const SequenceState prefix, prefill(shared, interrupted));
  std::vector<std::unique_ptr<Generation>> generations;
  for (std::size_t i = 0; i < count; ++i) {
    GenerationRequest one = request;
    one.seed = request.seed + i;
    one.listener = listeners(i);
    PLM_TRY_ASSIGN(auto generation, start_from(prefix.fork(), std::move(one)));
    generations.push_back(std::move(generation));
  }
  return generations;
}

namespace {

Task<Result<void>> append_rows(Session& session, std::span<const TokenId> tokens) {
  const PassRequest request{.tokens = tokens};
  const Result<PassAnswer> answer = co_await session.pass(request);
  if (!answer.has_value()) co_return tl::unexpected<Error>(answer.error());
  co_return Result<void>{};
}

}  // namespace

Result<SequenceState> Engine::prefill(std::span<const TokenId> tokens, const std::function<bool()>& interrupted) {
  const auto session = open_session();
  if (tokens.empty()) return session->state().fork();
  Task<Result<void>> task = append_rows(*session, tokens);
  task.start();
  PLM_TRY(run(interrupted));
  if (!task.done()) return fail(ErrorKind::interrupted, "prompt: interrupted while it was being read");
  PLM_TRY(task.take());
  return session->state().fork();
}

Result<std::vector<Engine::HeadReading>> Engine::read_head(std::span<const float> hidden, std::size_t top) {
  const std::size_t width = shape().hidden_size, count = hidden.size() / width;
  PLM_CHECK(count > 0 && hidden.size() == count * width && top > 0);
  PLM_TRY_ASSIGN(const auto storage, device_->allocate(hidden.size_bytes()));
  const View view = dense_view(*storage, count, width);
  device_->upload(view, std::as_bytes(hidden));
  std::vector<Yield> yields;
  for (std::uint32_t row = 0; row < count; ++row) {
    yields.push_back({.row = row, .kind = YieldKind::top, .n = static_cast<std::uint32_t>(top)});
  }
  std::vector<RowStatistics> statistics(count);
  std::vector<YieldResult> results(count);
  PassRows rows{};
  rows.yields = yields;
  rows.statistics = statistics;
  rows.results = results;
  PLM_TRY(model_->enqueue_head(view, rows));
  PLM_TRY(device_->wait());
  std::vector<HeadReading> readings;
  for (std::size_t i = 0; i < count; ++i) readings.push_back({statistics[i], std::move(results[i].top)});
  return readings;
}

Result<void> Engine::run(const std::function<bool()>& interrupted) {
  while (!scheduler_->idle()) {
    if (interrupted && interrupted()) return {};
    PLM_TRY(scheduler_->step());
    PLM_TRY(file_->unchanged());  // a microsecond, beside the milliseconds of a batch
  }
  return {};
}

}  // namespace plm
