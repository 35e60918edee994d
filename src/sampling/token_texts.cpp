#include "sampling/token_texts.h"

namespace plm {
namespace {

class UnknownTexts : public TokenTexts {
 public:
  std::size_t size() const override { return 0; }
  std::string text(std::int32_t /*id*/) const override { return {}; }
  std::vector<std::int32_t> end_tokens() const override { return {}; }
  std::optional<std::int32_t> end_of_text() const override { return std::nullopt; }
  std::vector<std::int32_t> encode(std::string_view /*text*/) const override { return {}; }
};

}  // namespace

const TokenTexts& unknown_texts() {
  static const UnknownTexts unknown;
  return unknown;
}

}  // namespace plm
