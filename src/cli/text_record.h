// What is kept of a text while it is written: the text, its tokens, why it ended, its trace.
// Tested by tests/cli/test_text_record.cpp and tests/cli/test_sampling.py.
#pragma once

#include <cstdio>
#include <map>
#include <memory>
#include <string>

#include "base/error.h"
#include "engine/recipe.h"
#include "engine/sha256.h"

namespace plm {

/// A file of lines that is written while the text is. An error stays until `close` tells it.
class TraceFile {
 public:
  static Result<std::unique_ptr<TraceFile>> create(const std::string& path);
  ~TraceFile();
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;

  void write(std::string_view line);
  /// Error (failed) when anything was lost.
  Result<void> close();

 private:
  TraceFile(std::string path, std::FILE* file) : path_(std::move(path)), file_(file) {}

  std::string path_;
  std::FILE* file_;
};

class TextRecord {
 public:
  /// `trace` may be null. Both must outlive the record.
  TextRecord(const Vocabulary& vocabulary, TraceFile* trace) : vocabulary_(vocabulary), trace_(trace) {}

  void on_event(const Event& event);

  [[nodiscard]] const std::string& text() const { return result_.text; }
  /// The end token is not among them once the text has finished.
  [[nodiscard]] std::span<const TokenId> ids() const { return result_.ids; }
  [[nodiscard]] FinishReason reason() const { return result_.reason; }
  /// Everything, with the hash of the trace; to be taken once.
  [[nodiscard]] RecipeResult finish();

 private:
  void put(std::size_t position, TokenId token);
  void take(std::size_t position);
  void shift(std::size_t from, bool back);
  void order();
  void cut_at_end();

  const Vocabulary& vocabulary_;
  TraceFile* trace_;
  std::map<std::size_t, TokenId> placed_;                     // by position
  RecipeResult result_{.reason = FinishReason::interrupted};  // until it has finished
  Sha256 trace_hash_;
};

}  // namespace plm
