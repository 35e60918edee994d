#include "constraint/json_schema_value.h"

#include <algorithm>
#include <numeric>

#include "base/json.h"
#include "base/utf8.h"
#include "constraint/decimal.h"

namespace plm {
namespace {

// Listens to nlohmann's parser and builds our tree, on a stack of the containers that are open.
class TreeBuilder : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return put({}); }
  bool boolean(bool value) override { return put({.kind = SchemaValue::Kind::boolean, .truth = value}); }
  bool number_integer(number_integer_t value) override { return number(std::to_string(value)); }
  bool number_unsigned(number_unsigned_t value) override { return number(std::to_string(value)); }
  bool number_float(number_float_t /*value*/, const string_t& written) override { return number(written); }
  bool string(string_t& value) override { return put({.kind = SchemaValue::Kind::string, .text = value}); }
  bool binary(binary_t& /*value*/) override { return false; }
  bool start_object(std::size_t /*size*/) override { return open(SchemaValue::Kind::object); }
  bool start_array(std::size_t /*size*/) override { return open(SchemaValue::Kind::array); }
  bool end_array() override { return close(); }
  bool key(string_t& value) override {
    open_.back().keys.push_back(value);
    return true;
  }
  bool end_object() override {
    std::vector<std::string_view> sorted(open_.back().keys.begin(), open_.back().keys.end());
    std::sort(sorted.begin(), sorted.end());
    if (const auto twice = std::adjacent_find(sorted.begin(), sorted.end()); twice != sorted.end()) {
      complaint_ = fmt::format("key \"{}\" given twice in one object", printable(*twice, 80));
      return false;
    }
    return close();
  }
  bool parse_error(std::size_t position, const std::string& /*token*/, const Json::exception& failure) override {
    const std::string reason = failure.what();
    const std::size_t code_end = reason.find("] ");
    complaint_ = fmt::format("not valid JSON at byte {}: {}", position,
                             printable(code_end == std::string::npos ? reason : reason.substr(code_end + 2)));
    return false;
  }

  [[nodiscard]] const std::string& complaint() const { return complaint_; }
  [[nodiscard]] SchemaValue take() { return std::move(root_); }

 private:
  bool number(std::string text) { return put({.kind = SchemaValue::Kind::number, .text = std::move(text)}); }
  bool open(SchemaValue::Kind kind) {
    open_.push_back({.kind = kind});
    return true;
  }
  bool close() {
    SchemaValue value = std::move(open_.back());
    open_.pop_back();
    return put(std::move(value));
  }
  bool put(SchemaValue value) {
    (open_.empty() ? root_ : open_.back().items.emplace_back()) = std::move(value);
    return true;
  }

  SchemaValue root_;
  std::vector<SchemaValue> open_;
  std::string complaint_;
};

// The members of an object in the order of their keys.
std::vector<std::size_t> by_key(const SchemaValue& object) {
  std::vector<std::size_t> order(object.keys.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return object.keys[a] < object.keys[b]; });
  return order;
}

bool same_number(const std::string& a, const std::string& b) {
  if (a == b) return true;
  const auto x = Decimal::parse(a), y = Decimal::parse(b);
  return x.has_value() && y.has_value() && *x == *y;
}

bool same_members(const SchemaValue& a, const SchemaValue& b) {
  if (a.keys.size() != b.keys.size()) return false;
  const auto x = by_key(a), y = by_key(b);
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (a.keys[x[i]] != b.keys[y[i]] || !same_value(a.items[x[i]], b.items[y[i]])) return false;
  }
  return true;
}

}  // namespace

const SchemaValue* SchemaValue::find(std::string_view key) const {
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (keys[i] == key) return &items[i];
  }
  return nullptr;
}

std::string_view kind_name(SchemaValue::Kind kind) {
  switch (kind) {
    case SchemaValue::Kind::null: return "null";
    case SchemaValue::Kind::boolean: return "a boolean";
    case SchemaValue::Kind::number: return "a number";
    case SchemaValue::Kind::string: return "a string";
    case SchemaValue::Kind::array: return "an array";
    case SchemaValue::Kind::object: return "an object";
  }
  return "";
}

bool same_value(const SchemaValue& a, const SchemaValue& b) {
  if (a.kind != b.kind) return false;
  switch (a.kind) {
    case SchemaValue::Kind::null: return true;
    case SchemaValue::Kind::boolean: return a.truth == b.truth;
    case SchemaValue::Kind::number: return same_number(a.text, b.text);
    case SchemaValue::Kind::string: return a.text == b.text;
    case SchemaValue::Kind::array:
      return std::equal(a.items.begin(), a.items.end(), b.items.begin(), b.items.end(), same_value);
    case SchemaValue::Kind::object: return same_members(a, b);
  }
  return false;
}

std::string json_quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    switch (c) {
      case '"': quoted += "\\\""; break;
      case '\\': quoted += "\\\\"; break;
      case '\b': quoted += "\\b"; break;
      case '\f': quoted += "\\f"; break;
      case '\n': quoted += "\\n"; break;
      case '\r': quoted += "\\r"; break;
      case '\t': quoted += "\\t"; break;
      default: quoted += byte < 0x20 ? fmt::format("\\u{:04x}", byte) : std::string(1, c);
    }
  }
  return quoted + '"';
}

Result<std::unique_ptr<SchemaValue>> read_schema_value(std::string_view text, std::string_view name, std::size_t bytes,
                                                       std::size_t depth) {
  if (text.size() > bytes) {
    return fail(ErrorKind::bad_input, "{}: {} bytes of JSON, at most {} are read", name, text.size(), bytes);
  }
  if (json_depth(text) > depth) {
    return fail(ErrorKind::bad_input, "{}: nested deeper than {} levels", name, depth);
  }
  TreeBuilder builder;
  const bool whole = Json::sax_parse(text, &builder);
  if (!builder.complaint().empty()) return fail(ErrorKind::bad_input, "{}: {}", name, builder.complaint());
  if (!whole) return fail(ErrorKind::bad_input, "{}: not valid JSON", name);
  return std::make_unique<SchemaValue>(builder.take());
}

}  // namespace plm
