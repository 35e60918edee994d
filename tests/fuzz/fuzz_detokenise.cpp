// Any vocabulary and any ids: every piece that the detokeniser hands out is valid UTF-8, and the pieces joined are what
// all ids at once give.
// Input: a byte that chooses the kind, a byte that counts the tokens, for each a byte of type and size and its text;
// what is left are ids.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.h"
#include "format/gguf_writer.h"
#include "text/detokenizer.h"
#include "text/huggingface_vocabulary.h"

namespace {

class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : rest_(reinterpret_cast<const char*>(data), size) {}

  std::string_view text(std::size_t count) {
    const std::string_view taken = rest_.substr(0, count);
    rest_.remove_prefix(taken.size());
    return taken;
  }
  std::size_t number() {
    const std::string_view taken = text(1);
    return taken.empty() ? 0 : static_cast<std::uint8_t>(taken[0]);
  }
  [[nodiscard]] bool empty() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input(data, size);
  constexpr std::string_view kKinds[] = {"gpt2", "llama", "t5", "bert", "rwkv"};
  const std::size_t choice = input.number();
  plm::GgufWriter writer;
  writer.add_string("tokenizer.ggml.model", kKinds[choice % 5]);
  writer.add_boolean("tokenizer.ggml.add_space_prefix", choice >= 128);
  std::vector<std::string_view> texts = {"<unk>"};
  std::vector<std::int32_t> types = {2};
  for (std::size_t left = input.number() % 32; left > 0; --left) {
    const std::size_t shape = input.number();
    types.push_back(static_cast<std::int32_t>(shape % 8));
    texts.push_back(input.text(shape / 8));
  }
  writer.add_strings("tokenizer.ggml.tokens", texts);
  writer.add_i32s("tokenizer.ggml.token_type", types);
  const auto vocabulary = plm::Vocabulary::load(plm::vocabulary_file(writer, "f").value());
  if (!vocabulary.has_value()) return 0;  // a byte token that names no byte

  std::vector<plm::TokenId> ids;
  while (!input.empty()) ids.push_back(static_cast<plm::TokenId>(input.number() % vocabulary->size()));
  for (const bool flag : {false, true}) {
    const plm::DetokenizeOptions options{.show_special = flag, .whole_text = flag};
    plm::Detokenizer stream(*vocabulary, options);
    std::string joined;
    for (const plm::TokenId id : ids) {
      const std::string piece = stream.push(id);
      PLM_CHECK(plm::utf8_is_valid(piece));
      joined += piece;
    }
    joined += stream.finish();
    PLM_CHECK(plm::utf8_is_valid(joined));
    PLM_CHECK(joined == plm::detokenize(*vocabulary, ids, options));
  }
  return 0;
}
