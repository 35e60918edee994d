// plm signature: one number for the behaviour of the whole program (DESIGN section 9).
//
// It hashes tokens and rounded logits of the small model that ships, through every decoder and every sampler, on the
// plain kernels, whose bits are the same on every machine. A commit that changes it says so and why. Tested by
// tests/cli/test_plm.py against the number in the golden folder.
#include <cmath>
#include <filesystem>

#include "base/utf8.h"
#include "cli/command.h"
#include "cli/engine_flags.h"
#include "decode/decoder.h"
#include "engine/score.h"
#include "kernels/cpu_device.h"

namespace plm {
namespace {

constexpr Parameter kFlags[] = {
    {.name = "models",
     .summary = "folder of the models that ship; not given: found beside the program",
     .type = ParameterType::text,
     .unit = "FOLDER",
     .tag = Tag::model},
    {.name = "verbose", .summary = "also one line per run", .type = ParameterType::boolean, .tag = Tag::pipe},
};
constexpr std::string_view kModelName = "twin-ar.gguf";
constexpr std::string_view kPrompts[] = {"A385+739=", "S84901>", "Jage=98;name=Wenaju>"};

// FNV-1a, 64 bits: enough to notice a change, which is all it is for.
class Fingerprint {
 public:
  void add(std::string_view bytes) {
    for (const char byte : bytes) value_ = (value_ ^ static_cast<std::uint8_t>(byte)) * 1099511628211ULL;
  }
  [[nodiscard]] std::string text() const { return fmt::format("{:016x}", value_); }

 private:
  std::uint64_t value_ = 14695981039346656037ULL;
};

Result<std::string> find_model(const Settings& settings) {
  std::vector<std::filesystem::path> folders;
  std::error_code none;
  if (settings.was_given("models")) {
    folders = {settings.text("models")};
  } else {
    const auto program = std::filesystem::read_symlink("/proc/self/exe", none).parent_path();
    folders = {"models", program / "models", program / "../../models", program / "../share/plm/models"};
  }
  for (const auto& folder : folders) {
    if (std::filesystem::exists(folder / kModelName, none)) return (folder / kModelName).string();
  }
  return fail(ErrorKind::bad_input, "{}: not found beside the program; name its folder with --models", kModelName);
}

// The order with which each sampler is tried, alone and all together; the parameters away from their neutral values.
std::vector<std::string> sampler_orders() {
  std::vector<std::string> orders;
  std::string together;
  for (const SamplerDefinition* sampler : samplers()) {
    orders.emplace_back(sampler->head.name);
    together += fmt::format("{}{}", together.empty() ? "" : ";", sampler->head.name);
  }
  orders.push_back(together);
  return orders;
}

struct SignatureRun {
  Engine& engine;
  Fingerprint& fingerprint;
  Terminal* verbose;

  Result<void> generate(const std::string& decoder, const std::string& order, std::string_view prompt) {
    Settings sampling(sampling_parameters());
    PLM_TRY(sampling.set_text("samplers", order));
    GenerationRequest request{.max_tokens = 24, .sampling = &sampling, .seed = 1, .decoder = decoder};
    PLM_TRY_ASSIGN(request.prompt, engine.tokenizer().encode(prompt, {}));
    PLM_TRY_ASSIGN(const auto generation, engine.start(std::move(request)));
    PLM_TRY(engine.run());
    PLM_TRY_ASSIGN(const DecodeOutcome outcome, generation->take());
    const std::string line = fmt::format("{} {} {} {} {}", decoder, order, prompt, fmt::join(outcome.tokens, ","),
                                         finish_reason_name(outcome.reason));
    fingerprint.add(line);
    if (verbose != nullptr) verbose->line(line);
    return {};
  }

  Result<void> hash_logits(std::string_view prompt) {
    PLM_TRY_ASSIGN(const auto ids, engine.tokenizer().encode(prompt, {}));
    const auto add = [this](const ScoredPosition& position) {
      for (const TokenLogProbability& token : position.top) {
        fingerprint.add(fmt::format("{}:{} ", token.id, std::llround(token.log_probability * 1e4)));
      }
    };
    PLM_TRY(score(engine, {.ids = ids, .top = 8}, add));
    return {};
  }
};

Result<int> run(Invocation& call) {
  PLM_TRY_ASSIGN(const std::string path, find_model(call.settings));
  PLM_TRY_ASSIGN(const auto engine,
                 Engine::load(path, make_cpu_device({.threads = 1, .kernels = KernelChoice::reference})));
  Fingerprint fingerprint;
  SignatureRun signature{*engine, fingerprint, call.settings.boolean("verbose") ? &call.terminal : nullptr};
  for (const std::string_view prompt : kPrompts) {
    PLM_TRY(signature.hash_logits(prompt));
    for (const DecoderDefinition* decoder : decoders()) {
      if (decoder->fills_masks) continue;  // this model writes one token after another
      for (const std::string& order : sampler_orders()) {
        PLM_TRY(signature.generate(std::string(decoder->head.name), order, prompt));
      }
    }
  }
  call.terminal.data(fingerprint.text() + "\n");
  return 0;
}

}  // namespace

extern constinit const Command command_signature = {
    .head = {.name = "signature",
             .summary = "prints one number for the program's whole behaviour",
             .source = "the shipped models on the plain kernels",
             .parameters = kFlags},
    .run = run,
};

}  // namespace plm
