#include "format/safetensors_index.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/json.h"
#include "base/utf8.h"

namespace plm {
namespace {

using ShardByTensor = std::map<std::string, std::string, std::less<>>;

constexpr std::string_view kList = "weight_map";
constexpr std::size_t kMostBytes = 64U << 20;
constexpr std::size_t kMostDepth = 16;

bool is_shard_name(std::string_view name) {
  return name.ends_with(".safetensors") && name.find('/') == std::string_view::npos && name.front() != '.';
}

// nlohmann's events; false stops the parser, with the reason in `complaint`.
class IndexEvents {
 public:
  ShardByTensor shards;
  std::string complaint;
  bool has_list = false;

  bool null() { return no_text("null"); }
  bool boolean(bool /*value*/) { return no_text("a bool"); }
  bool number_integer(std::int64_t /*value*/) { return no_text("a number"); }
  bool number_unsigned(std::uint64_t /*value*/) { return no_text("a number"); }
  bool number_float(double /*value*/, const std::string& /*text*/) { return no_text("a number"); }
  bool binary(std::vector<std::uint8_t>& /*value*/) { return no_text("binary data"); }
  bool string(std::string& value) {
    if (!in_list()) return true;
    if (!is_shard_name(value)) {
      return refuse(fmt::format("{}: {} lies in \"{}\", expected the name of a .safetensors file beside the index",
                                kList, printable(tensor_, 80), printable(value, 80)));
    }
    if (shards.emplace(std::move(tensor_), std::move(value)).second) return true;
    return refuse(fmt::format("{}: a tensor stands twice", kList));
  }
  bool key(std::string& value) {
    if (in_list())
      tensor_ = std::move(value);
    else if (depth_ == 1)
      list_is_next_ = value == kList;
    return true;
  }
  bool start_object(std::size_t /*size*/) {
    if (depth_ == 1 && list_is_next_) {
      if (has_list) return refuse(fmt::format("{}: stands twice", kList));
      has_list = is_list_open_ = true;
    } else if (in_list()) {
      return no_text("an object");
    }
    return descend();
  }
  bool end_object() {
    if (--depth_ == 1) is_list_open_ = list_is_next_ = false;
    return true;
  }
  bool start_array(std::size_t /*size*/) { return in_list() ? no_text("a list") : descend(); }
  bool end_array() {
    --depth_;
    return true;
  }
  bool parse_error(std::size_t position, const std::string& /*token*/, const nlohmann::json::exception& /*failure*/) {
    return refuse(fmt::format("not valid JSON at byte {}", position));
  }

 private:
  [[nodiscard]] bool in_list() const { return is_list_open_ && depth_ == 2; }
  bool descend() { return ++depth_ <= kMostDepth || refuse("nested too deep"); }
  bool no_text(std::string_view found) {
    return !in_list() ||
           refuse(fmt::format("{}: {} lies in {}, expected a file name", kList, printable(tensor_, 80), found));
  }
  bool refuse(std::string reason) {
    complaint = std::move(reason);
    return false;
  }

  std::size_t depth_ = 0;
  bool list_is_next_ = false;
  bool is_list_open_ = false;
  std::string tensor_;
};

}  // namespace

Result<ShardByTensor> parse_safetensors_index(std::string_view text, std::string_view name) {
  if (text.size() > kMostBytes) {
    return fail(ErrorKind::bad_input, "{}: {} bytes, at most {} are read", name, text.size(), kMostBytes);
  }
  IndexEvents events;
  if (!nlohmann::json::sax_parse(text, &events)) return fail(ErrorKind::bad_input, "{}: {}", name, events.complaint);
  if (!events.has_list) {
    return fail(ErrorKind::bad_input, "{}: {} is missing, expected an object of tensors and shards", name, kList);
  }
  return std::move(events.shards);
}

}  // namespace plm
