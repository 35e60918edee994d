#include "cli/text_record.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/utf8.h"
#include "engine/trace_line.h"

namespace plm {

Result<std::unique_ptr<TraceFile>> TraceFile::create(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) return fail(ErrorKind::failed, "{}: {}", printable(path), std::strerror(errno));
  return std::unique_ptr<TraceFile>(new TraceFile(path, file));
}

TraceFile::~TraceFile() {
  if (file_ != nullptr) std::fclose(file_);
}

void TraceFile::write(std::string_view line) { std::fwrite(line.data(), 1, line.size(), file_); }

Result<void> TraceFile::close() {
  const bool was_written = std::ferror(file_) == 0;
  if (std::fclose(std::exchange(file_, nullptr)) == 0 && was_written) return {};
  return fail(ErrorKind::failed, "{}: cannot be written: {}", printable(path_), std::strerror(errno));
}

void TextRecord::on_event(const Event& event) {
  if (auto line = trace_line(event, vocabulary_); line.has_value()) {
    *line += '\n';
    trace_hash_.add(*line);
    if (trace_ != nullptr) trace_->write(*line);
  }
  switch (event.kind) {
    case EventKind::committed: result_.ids.push_back(event.token); break;
    case EventKind::deleted: result_.ids.pop_back(); break;
    case EventKind::stable_prefix: result_.text += event.text; break;
    case EventKind::finished:
      result_.reason = event.reason;
      if (event.reason == FinishReason::end_of_text && !result_.ids.empty()) result_.ids.pop_back();
      break;
    default: break;
  }
}

RecipeResult TextRecord::finish() {
  result_.trace_sha256 = trace_hash_.finish();
  return std::move(result_);
}

}  // namespace plm
