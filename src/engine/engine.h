// The engine: one model, loaded once, serving any number of texts at a time.
//
// `load` opens the file, checks it and takes the weights to a device; `start` adds a text to be written; `run` works
// until all are finished. Everything else in the program (command line, server, laboratory) goes through here. Not
// thread-safe. Tested by tests/engine/test_engine.cpp.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json_forward.h"
#include "constraint/constraint_source.h"
#include "decode/decoder.h"
#include "decode/guided_session.h"
#include "engine/constraint_store.h"
#include "engine/engine_session.h"
#include "engine/prefix_cache.h"
#include "engine/side_memory.h"
#include "engine/thinking_limit.h"
#include "engine/vocabulary_texts.h"
#include "kernels/device.h"
#include "model/architecture.h"
#include "model/sequence_head.h"
#include "text/tokenizer.h"

namespace plm {

/// What a model is made for.
enum class ModelKind : std::uint8_t {
  writer,   ///< writes text, one token after another
  encoder,  ///< gives vectors
  scorer,   ///< gives scores: a reranker, a reward model
};

/// What a model is loaded for.
enum class ModelUse : std::uint8_t { writing, embedding, scoring };

struct EngineOptions {
  ModelUse use = ModelUse::writing;
  KvTypes kv_types = {};
  std::size_t context_length = 0;                     ///< cells a sequence may have; 0: min(trained, kDefaultContext)
  std::size_t most_sequences = 8;                     ///< at a time; bounds the memory for state
  std::vector<std::string> overrides = {};            ///< KEY=VALUE over the file's metadata
  std::vector<std::string> model_settings = {};       ///< the same, keys without the architecture's prefix
  std::size_t batch_rows = 256;                       ///< rows per pass at most; longer prompts are cut
  std::function<void(double fraction)> on_load = {};  ///< told how much of the weights is in
};

/// What a text must fit.
struct ConstraintRequest {
  ConstraintSource source;
  bool closes = true;      ///< the text is ended in time, so that a limit of tokens does not cut it
  bool resamples = false;  ///< as TextConstraint's
};

/// A text to be written.
struct GenerationRequest {
  std::vector<TokenId> prompt;
  std::size_t max_tokens = 0;
  const Settings* sampling = nullptr;  ///< of sampling_parameters(); null: greedy
  std::vector<std::string> stops;
  std::uint64_t seed = 0;
  bool ignore_end = false;             ///< go on after an end-of-text token
  std::string decoder = {};            ///< empty: as the model was made to write
  const Settings* parallel = nullptr;  ///< of parallel_parameters(), for decoders that fill masks; null: the defaults
  std::vector<Hole> holes = {};        ///< as DecodeJob's: `prompt` is then all that is given, before, between, behind
  std::optional<LogProbabilityWish> log_probabilities = {};
  std::optional<std::size_t> trace_top = {};         ///< as DecodeJob's
  std::vector<std::string> banned_phrases = {};      ///< texts that must not appear, letters of ASCII in either case
  std::optional<ConstraintRequest> constraint = {};  ///< for decoders that write one token after another
  std::optional<ThinkingLimit> thinking = {};        ///< likewise; not with a constraint, bans or guidance
  /// Behind what the text shall not be like it would be; empty: no guidance. Takes a second sequence.
  std::vector<TokenId> negative_prompt = {};
  double guidance_scale = 1;
  /// Begins with the state of an earlier text that began alike, and leaves its own to later ones; changes no bit.
  bool reuse_prefix = false;
  Listener listener;
};

class Engine;

/// A text being written. Destroying it cancels the work at whatever it waits for; not to be done by its own listener.
class Generation {
 public:
  ~Generation();
  [[nodiscard]] bool done() const { return task_.done(); }
  /// Cells whose state has been computed: how far a long prompt has come.
  [[nodiscard]] std::size_t state_length() const { return session_->state_length(); }
  /// The result of a finished generation; to be taken once.
  Result<DecodeOutcome> take() { return task_.take(); }
  /// The samplers that act, in order, each with its values.
  [[nodiscard]] const Json& chain() const { return job_.chain.describe(); }
  /// Sampling controls that do not act as asked, and what a lenient constraint leaves out, one sentence each.
  [[nodiscard]] std::span<const std::string> warnings() const { return warnings_; }
  /// Tokens of the prompt whose state was there before.
  [[nodiscard]] std::size_t reused_tokens() const { return reused_tokens_; }

 private:
  friend class Engine;
  // What a text with guidance has besides.
  struct Guide {
    std::vector<TokenId> negative_prompt;
    double scale = 1;
    std::unique_ptr<EngineSession> session;  // null: no guidance
  };
  struct Parts {
    std::unique_ptr<EngineSession> session;
    std::unique_ptr<const ParallelPolicy> parallel;  // null for decoders that do without
    Guide guide;
    std::vector<std::string> warnings = {};
  };
  Generation(DecodeJob job, Parts parts, const DecoderDefinition& decoder);

  std::vector<std::string> warnings_;
  std::unique_ptr<const ParallelPolicy> parallel_;  // null for decoders that do without
  DecodeJob job_;
  std::unique_ptr<EngineSession> session_;
  Guide guide_;
  std::optional<GuidedSession> guided_;
  std::size_t reused_tokens_;
  PrefixCache* leave_state_to_ = nullptr;
  Task<Result<DecodeOutcome>> task_;  // last, so that it goes first: its frame refers to the others
};

class Engine {
 public:
  static constexpr std::size_t kDefaultContext = 8192;

  /// Errors: bad_input (file, key or tensor named), no_room.
  static Result<std::unique_ptr<Engine>> load(const std::string& path, std::unique_ptr<Device> device,
                                              const EngineOptions& options = {});

  /// Starts a text. Errors (usage): an empty prompt, a prompt that does not fit the context, an id out of range.
  Result<std::unique_ptr<Generation>> start(GenerationRequest request);
  /// Starts `count` continuations of one prompt with seeds seed, seed + 1, ...; the prompt is computed once.
  /// `interrupted` is asked between batches; error interrupted.
  Result<std::vector<std::unique_ptr<Generation>>> start_many(const GenerationRequest& request, std::size_t count,
                                                              const std::function<Listener(std::size_t)>& listeners,
                                                              const std::function<bool()>& interrupted = {});

  /// Works until nothing is waiting; `interrupted` is asked between batches. Errors: model_changed, the device's.
  Result<void> run(const std::function<bool()>& interrupted = {});

  /// A session for callers that run passes themselves (scoring). The engine must outlive it.
  [[nodiscard]] std::unique_ptr<EngineSession> open_session(Listener listener = {});

  /// Has every pass of every text looked at; an empty watch: none.
  void watch(PassWatch watch) { scheduler_->watch(std::move(watch)); }
  /// The `top` likeliest tokens of each of some hidden states, [rows, hidden_size] in one list, as if they had left the
  /// last layer; between runs. Error (usage): a network without a head.
  struct HeadReading {
    RowStatistics statistics;
    std::vector<TokenScore> top;
  };
  Result<std::vector<HeadReading>> read_head(std::span<const float> hidden, std::size_t top);
  /// Memory for one more sequence, with keys and values in `types`. The engine must outlive it.
  /// Errors: the model cannot have them so; no_room.
  [[nodiscard]] Result<std::unique_ptr<SideMemory>> side_memory(const KvTypes& types);

  [[nodiscard]] const GgufFile& file() const { return *file_; }
  [[nodiscard]] const Tokenizer& tokenizer() const { return *tokenizer_; }
  [[nodiscard]] const Vocabulary& vocabulary() const { return tokenizer_->vocabulary(); }
  [[nodiscard]] const ModelShape& shape() const { return model_->shape(); }
  [[nodiscard]] const StateLayout& state_layout() const { return layout_; }
  /// The types of its keys and values.
  [[nodiscard]] const KvTypes& kv_types() const { return kv_types_; }
  /// How the model fills masks; nothing for models that do not.
  [[nodiscard]] const std::optional<DiffusionTraits>& diffusion() const { return diffusion_; }
  /// The decoder of that name, or the one that suits the model. Errors (usage): unknown; not for this model.
  [[nodiscard]] Result<const DecoderDefinition*> choose_decoder(std::string_view name) const;
  [[nodiscard]] ModelKind kind() const { return kind_; }
  /// What is made of a whole text's hidden states.
  [[nodiscard]] const SequenceHead& sequence_head() const { return *sequence_head_; }
  /// SequenceHead::apply on the engine's device, between runs.
  [[nodiscard]] Result<std::vector<float>> apply_head(std::span<const float> rows) {
    return sequence_head_->apply(*device_, rows);
  }
  [[nodiscard]] std::size_t context_length() const { return context_length_; }
  /// Texts that may be in work at a time.
  [[nodiscard]] std::size_t most_sequences() const { return most_sequences_; }
  [[nodiscard]] const Device& device() const { return *device_; }
  [[nodiscard]] std::span<const std::string> warnings() const { return warnings_; }

  /// Checks ids against vocabulary and context; the message names both numbers and the flag that changes them.
  Result<void> check_prompt(std::span<const TokenId> prompt) const;

 private:
  Engine() = default;
  Result<void> read_diffusion(const Architecture& architecture);
  Result<void> choose_kv_types(const KvTypes& types);
  void choose_context(const EngineOptions& options, std::size_t trained);
  Result<void> make_pools(const EngineOptions& options);
  [[nodiscard]] StatePools pools() const { return {*pages_, blocks_.get()}; }
  Result<std::unique_ptr<Generation>> start_from(SequenceState state, GenerationRequest request);
  Result<void> constrain(const GenerationRequest& request, DecodeJob& job, std::vector<std::string>& warnings);
  Result<SequenceState> prefill(std::span<const TokenId> tokens, const std::function<bool()>& interrupted);

  // In this order: what comes later refers to what comes before.
  std::shared_ptr<const GgufFile> file_;
  std::shared_ptr<const Tokenizer> tokenizer_;
  std::unique_ptr<VocabularyTexts> texts_;
  std::unique_ptr<ConstraintStore> constraints_;
  std::unique_ptr<Device> device_;
  std::unique_ptr<Model> model_;
  std::optional<DiffusionTraits> diffusion_;
  std::optional<SequenceHead> sequence_head_;
  ModelKind kind_ = ModelKind::writer;
  KvTypes kv_types_;
  StateLayout layout_;
  std::unique_ptr<PagePool> pages_;
  std::unique_ptr<PagePool> blocks_;  // null: no layer is recurrent
  std::unique_ptr<PrefixCache> prefixes_;
  std::unique_ptr<Scheduler> scheduler_;
  std::size_t context_length_ = 0;
  std::size_t most_sequences_ = 0;
  std::size_t batch_rows_ = 0;
  std::vector<std::string> warnings_;
};

}  // namespace plm
