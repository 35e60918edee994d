#include "cli/write_model.h"

#include <algorithm>

#include "base/utf8.h"
#include "cli/interrupt.h"
#include "cli/model_store.h"
#include "model/checkpoint.h"
#include "model/gguf_export.h"
#include "model/storage_mixture.h"
#include "text/huggingface_vocabulary.h"
#include "text/sentencepiece_model.h"

namespace plm {
namespace {

// Keys that say how a file is split; what is written is one file.
constexpr std::string_view kSplitPrefix = "split.";
// The texts of a folder's tokeniser, which become the keys that every reader of GGUF knows.
constexpr std::string_view kFolderPrefixes[] = {"tokenizer.huggingface.", "tokenizer.sentencepiece."};

Result<GgufWriter> keys_to_write(const GgufFile& file, std::vector<std::string>& warnings) {
  GgufWriter keys;
  const bool has_texts = has_huggingface_tokenizer(file) || has_sentencepiece_tokenizer(file);
  for (const MetaEntry& entry : file.metadata()) {
    if (entry.key.starts_with(kSplitPrefix)) continue;
    if (has_texts && std::ranges::any_of(kFolderPrefixes, [&](auto text) { return entry.key.starts_with(text); })) {
      continue;
    }
    keys.add(entry.key, entry.value);
  }
  if (has_huggingface_tokenizer(file)) PLM_TRY(add_ggml_vocabulary(file, keys, warnings));
  if (has_sentencepiece_tokenizer(file)) PLM_TRY(add_sentencepiece_vocabulary(file, keys));
  return keys;
}

std::string summary_line(const std::string& path, const ExportSummary& summary) {
  std::string types;
  for (const auto& [name, count] : summary.tensors_by_type) {
    types += fmt::format("{}{} {}", types.empty() ? "" : ", ", count, name);
  }
  constexpr double kMiB = 1 << 20;
  return fmt::format("{}: {:.1f} MiB of weights (read: {:.1f} MiB); tensors: {}", printable(path),
                     static_cast<double>(summary.bytes_written) / kMiB, static_cast<double>(summary.bytes_read) / kMiB,
                     types);
}

}  // namespace

Result<int> write_model(Invocation& call, const std::string& model, const std::string& path, std::string_view type) {
  const Settings& settings = call.settings;
  Terminal& terminal = call.terminal;
  if (settings.boolean("quiet")) terminal.be_quiet();
  ExportOptions options{.pure = settings.boolean("pure")};
  if (!type.empty()) {
    options.type = find_mixture(type);
    if (options.type == nullptr) {
      return fail(ErrorKind::usage, "--type: \"{}\" is not known; choose one of {}", printable(type, 40),
                  mixture_names());
    }
  }
  PLM_TRY_ASSIGN(const std::string source, resolve_model(model));
  PLM_TRY_ASSIGN(const auto file, open_checkpoint(source));
  std::vector<std::string> warnings(file->warnings().begin(), file->warnings().end());
  PLM_TRY_ASSIGN(GgufWriter keys, keys_to_write(*file, warnings));
  for (const std::string& sentence : warnings) terminal.warning(sentence);

  stop_between_batches();
  options.interrupted = was_interrupted;
  options.on_progress = [&](double fraction) { terminal.progress("writing", fraction); };
  ThreadTeam team(settings.has("threads") ? static_cast<int>(settings.integer("threads")) : physical_core_count());
  const auto written = export_gguf(*file, std::move(keys), path, options, team);
  terminal.clear_progress();
  if (!written) return tl::unexpected(written.error());
  if (written->fallbacks > 0) {
    terminal.note(
        fmt::format("{} matrices have rows that do not fill the blocks of {}; they got a type of smaller "
                    "blocks and more bits",
                    written->fallbacks, options.type->name()));
  }
  terminal.line(summary_line(path, *written));
  return 0;
}

}  // namespace plm
