// A page while it fills, for a person: every decided token in its place, coloured by how sure the network was of it,
// every open position as a dim block. Built from events; drawn in place by Terminal::frame.
// Tested by tests/cli/test_page_view.cpp and tests/cli/test_on_terminal.py.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/terminal.h"
#include "decode/event.h"
#include "text/vocabulary.h"

namespace plm {

class PageView {
 public:
  /// `given`: the given tokens; those from the place `shown_from` on are shown. The vocabulary must outlive the view.
  PageView(const Vocabulary& vocabulary, std::span<const TokenId> given, std::size_t shown_from);

  void on_event(const Event& event);

  [[nodiscard]] std::size_t passes() const { return passes_; }
  /// The page on a screen of that size and below it a line of counts; where there is no room for all, the last lines.
  [[nodiscard]] std::vector<FrameLine> frame(const ScreenSize& screen, bool has_colours) const;

 private:
  enum class Status : std::uint8_t { given, open, revoked, decided };
  struct Cell {
    Status status = Status::open;
    TokenId token = kNoToken;
    double probability = 0;
    std::size_t changed_in = 0;  // number of a pass
  };
  [[nodiscard]] std::string_view style_of(const Cell& cell) const;

  const Vocabulary& vocabulary_;
  std::size_t shown_from_;
  std::vector<Cell> cells_;
  std::size_t passes_ = 0;
  std::size_t decided_ = 0;
};

}  // namespace plm
