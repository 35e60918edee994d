#include "cli/text_record.h"

#include <algorithm>
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
    case EventKind::committed:
    case EventKind::replaced: put(event.position, event.token); break;
    case EventKind::revoked: take(event.position); break;
    case EventKind::inserted: shift(event.position, false); break;
    case EventKind::deleted:
      take(event.position);
      shift(event.position + 1, true);
      break;
    case EventKind::stable_prefix: result_.text += event.text; break;
    case EventKind::finished:
      result_.reason = event.reason;
      if (event.reason == FinishReason::end_of_text) cut_at_end();
      break;
    default: break;
  }
}

// Mostly behind all others; on a page anywhere.
void TextRecord::put(std::size_t position, TokenId token) {
  const bool is_last = placed_.empty() || placed_.rbegin()->first < position;
  placed_[position] = token;
  if (is_last) {
    result_.ids.push_back(token);
  } else {
    order();
  }
}

void TextRecord::take(std::size_t position) {
  placed_.erase(position);
  order();
}

// Cells from a position on have moved by one.
void TextRecord::shift(std::size_t from, bool back) {
  std::map<std::size_t, TokenId> moved;
  const auto first = placed_.lower_bound(from);
  for (auto cell = first; cell != placed_.end(); ++cell)
    moved.emplace(back ? cell->first - 1 : cell->first + 1, cell->second);
  placed_.erase(first, placed_.end());
  placed_.merge(moved);
}

void TextRecord::order() {
  result_.ids.clear();
  for (const auto& [position, token] : placed_) result_.ids.push_back(token);
}

// An end token, and what a page has behind it, are no part of the text.
void TextRecord::cut_at_end() {
  const auto ends = vocabulary_.end_of_generation();
  const auto first = std::ranges::find_first_of(result_.ids, ends);
  result_.ids.erase(first, result_.ids.end());
}

RecipeResult TextRecord::finish() {
  result_.trace_sha256 = trace_hash_.finish();
  return std::move(result_);
}

}  // namespace plm
