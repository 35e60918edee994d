// A vocabulary made of words, for samplers that look at texts. A text is encoded as the longest word that begins it,
// then the rest.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "sampling/token_texts.h"

namespace plm {

class WordList : public TokenTexts {
 public:
  explicit WordList(std::vector<std::string> words, std::vector<std::int32_t> ends = {})
      : words_(std::move(words)), ends_(std::move(ends)) {}

  std::size_t size() const override { return words_.size(); }
  std::string text(std::int32_t id) const override { return words_[static_cast<std::size_t>(id)]; }
  std::vector<std::int32_t> end_tokens() const override { return ends_; }
  std::optional<std::int32_t> end_of_text() const override {
    return ends_.empty() ? std::nullopt : std::optional(ends_.front());
  }
  std::vector<std::int32_t> encode(std::string_view text) const override {
    std::vector<std::int32_t> ids;
    while (!text.empty()) {
      std::size_t best = words_.size();
      for (std::size_t i = 0; i < words_.size(); ++i) {
        if (!words_[i].empty() && text.starts_with(words_[i]) &&
            (best == words_.size() || words_[i].size() > words_[best].size())) {
          best = i;
        }
      }
      if (best == words_.size()) break;
      ids.push_back(static_cast<std::int32_t>(best));
      text.remove_prefix(words_[best].size());
    }
    return ids;
  }

 private:
  std::vector<std::string> words_;
  std::vector<std::int32_t> ends_;
};

inline std::string bytes_of_hex(const std::string& hex) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

}  // namespace plm
