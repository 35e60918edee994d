#include "cli/page_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"
#include "text/detokenizer.h"
#include "text/display_width.h"

namespace plm {
namespace {

constexpr std::string_view kOpen = "\xe2\x96\x91", kControl = "\xc2\xb7";  // a light shade, a middle dot
constexpr std::size_t kTabColumns = 4;

// Lines of a width, filled character by character.
class Layout {
 public:
  Layout(std::size_t width, bool has_colours) : width_(std::max<std::size_t>(width, 2)), has_colours_(has_colours) {}

  void add(std::string_view text, std::string_view style) {
    const std::string harmless_text = harmless(text);
    std::string_view rest = harmless_text;
    while (!rest.empty()) {
      const std::size_t length = std::max<std::size_t>(utf8_character_length(rest), 1);
      if (rest.front() == '\n') {
        end_line();
      } else if (rest.front() == '\t') {
        for (std::size_t i = 0; i < kTabColumns; ++i) put(" ", 1, style);
      } else {
        put(rest.substr(0, length), display_width(rest.substr(0, length)), style);
      }
      rest.remove_prefix(length);
    }
  }

  void end_line() {
    set_style("");
    lines_.emplace_back();
  }

  // The last `rows` of them.
  std::vector<FrameLine> take(std::size_t rows) {
    set_style("");
    if (lines_.size() > rows) lines_.erase(lines_.begin(), lines_.end() - static_cast<std::ptrdiff_t>(rows));
    return std::move(lines_);
  }

 private:
  void put(std::string_view character, std::size_t columns, std::string_view style) {
    if (lines_.back().columns + columns > width_) end_line();
    set_style(style);
    lines_.back().bytes += character;
    lines_.back().columns += columns;
  }

  void set_style(std::string_view style) {
    if (!has_colours_ || style == style_) return;
    if (!style_.empty()) lines_.back().bytes += "\x1b[0m";
    if (!style.empty()) lines_.back().bytes += fmt::format("\x1b[{}m", style);
    style_ = style;
  }

  std::size_t width_;
  bool has_colours_;
  std::string_view style_;
  std::vector<FrameLine> lines_ = std::vector<FrameLine>(1);
};

}  // namespace

PageView::PageView(const Vocabulary& vocabulary, std::span<const TokenId> given, std::size_t shown_from)
    : vocabulary_(vocabulary), shown_from_(shown_from) {
  for (const TokenId token : given) cells_.push_back({.status = Status::given, .token = token});
}

void PageView::on_event(const Event& event) {
  const auto place = cells_.begin() + static_cast<std::ptrdiff_t>(std::min(event.position, cells_.size()));
  const bool is_there = place != cells_.end();
  switch (event.kind) {
    case EventKind::pass_ran: ++passes_; break;
    case EventKind::inserted: cells_.insert(place, Cell{.changed_in = passes_}); break;
    case EventKind::committed:
    case EventKind::replaced:
      if (!is_there) break;
      if (place->status != Status::decided) ++decided_;
      *place = {Status::decided, event.token, event.probability, passes_};
      break;
    case EventKind::revoked:
      if (!is_there) break;
      if (place->status == Status::decided) --decided_;
      *place = {.status = Status::revoked, .changed_in = passes_};
      break;
    case EventKind::deleted:
      if (!is_there) break;
      if (place->status == Status::decided) --decided_;
      cells_.erase(place);
      break;
    default: break;
  }
}

// Green: sure, yellow: likely, red: doubtful; bold: decided in the last pass; magenta: taken back in the last pass.
std::string_view PageView::style_of(const Cell& cell) const {
  const bool is_new = cell.changed_in == passes_;
  switch (cell.status) {
    case Status::given: return "";
    case Status::open: return "2";
    case Status::revoked: return is_new ? "35" : "2";
    case Status::decided: break;
  }
  if (cell.probability >= 0.9) return is_new ? "1;32" : "32";
  if (cell.probability >= 0.5) return is_new ? "1;33" : "33";
  return is_new ? "1;31" : "31";
}

std::vector<FrameLine> PageView::frame(const ScreenSize& screen, bool has_colours) const {
  // A line that fills the last column may or may not take the next row with it.
  Layout layout(screen.columns - std::min<std::size_t>(screen.columns, 1), has_colours);
  Detokenizer detokenizer(vocabulary_);
  std::size_t given = 0;
  for (const Cell& cell : cells_) {
    if (cell.status == Status::given && given++ < shown_from_) continue;
    const std::string_view style = style_of(cell);
    const bool has_text = cell.status == Status::given || cell.status == Status::decided;
    if (has_text && vocabulary_.type(cell.token) != TokenType::control) {
      layout.add(detokenizer.push(cell.token), style);
      continue;
    }
    layout.add(detokenizer.finish(), style);  // half a character
    layout.add(has_text ? kControl : kOpen, has_text ? "2" : style);
  }
  layout.add(detokenizer.finish(), "");
  layout.end_line();
  const std::size_t written = cells_.size() - given;
  std::string counts = fmt::format("[pass {}: {} of {} decided", passes_, decided_, written);
  if (passes_ > 0) {
    counts += fmt::format(", {:.1f} a pass", static_cast<double>(decided_) / static_cast<double>(passes_));
  }
  layout.add((counts + "]").substr(0, screen.columns - std::min<std::size_t>(screen.columns, 1)), "2");
  return layout.take(std::max<std::size_t>(screen.rows, 2) - 1);
}

}  // namespace plm
