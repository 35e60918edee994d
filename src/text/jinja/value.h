// The values of the template language: Python's, as far as templates see them.
//
// A Value is small and cheap to copy; texts, lists and dictionaries are shared and do not change once they are built
// (the sandbox forbids it; only a namespace changes). So nothing shared can contain itself, and each container knows
// how deep it nests, which bounds everything that walks or destroys one. Tested by tests/text/jinja/test_value.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "text/jinja/marked_text.h"

namespace plm::jinja {

class Dictionary;
class Object;
class Value;
class Failure;
struct Sequence;

using TextPointer = std::shared_ptr<const MarkedText>;
using SequencePointer = std::shared_ptr<Sequence>;
using DictionaryPointer = std::shared_ptr<const Dictionary>;
using ObjectPointer = std::shared_ptr<Object>;

/// What a name or an attribute that is not there evaluates to: prints as nothing, and is an error when used otherwise.
struct Undefined {
  std::shared_ptr<const std::string> reason;  ///< "'tools' is undefined"; null: "undefined"
};
struct None {};

class Value {
 public:
  Value() = default;  ///< undefined
  Value(None) : data_(None{}) {}
  explicit Value(bool value) : data_(value) {}
  explicit Value(std::int64_t value) : data_(value) {}
  explicit Value(std::size_t value) : data_(static_cast<std::int64_t>(value)) {}
  explicit Value(double value) : data_(value) {}
  explicit Value(MarkedText text) : data_(std::make_shared<const MarkedText>(std::move(text))) {}
  explicit Value(TextPointer text) : data_(std::move(text)) {}
  explicit Value(SequencePointer sequence) : data_(std::move(sequence)) {}
  explicit Value(DictionaryPointer dictionary) : data_(std::move(dictionary)) {}
  explicit Value(ObjectPointer object) : data_(std::move(object)) {}

  /// Undefined, with the sentence that an error says when the value is used after all.
  static Value undefined(std::string reason);
  /// Text that the interpreter made up (digits, type names), which counts as input.
  static Value input(std::string text) { return Value(MarkedText(std::move(text), Origin::input)); }

  [[nodiscard]] bool is_undefined() const { return std::holds_alternative<Undefined>(data_); }
  [[nodiscard]] bool is_none() const { return std::holds_alternative<None>(data_); }
  [[nodiscard]] const bool* boolean() const { return std::get_if<bool>(&data_); }
  [[nodiscard]] const double* real() const { return std::get_if<double>(&data_); }
  /// An integer, or a boolean as one, as Python has it.
  [[nodiscard]] std::optional<std::int64_t> integer() const;
  /// Any number as a real one.
  [[nodiscard]] std::optional<double> number() const;
  [[nodiscard]] const MarkedText* text() const;
  [[nodiscard]] Sequence* sequence() const;
  [[nodiscard]] const Dictionary* dictionary() const;
  [[nodiscard]] Object* object() const;
  /// The object, if it is one of type T.
  template <typename T>
  [[nodiscard]] T* as() const {
    return dynamic_cast<T*>(object());
  }
  [[nodiscard]] const ObjectPointer& object_pointer() const { return std::get<ObjectPointer>(data_); }
  [[nodiscard]] const SequencePointer& sequence_pointer() const { return std::get<SequencePointer>(data_); }

  [[nodiscard]] bool is_true() const;
  /// Python's name of the type, as its errors and ours spell it: "str", "dict" ...
  [[nodiscard]] std::string_view type_name() const;
  /// Containers inside one another; 0 for a scalar.
  [[nodiscard]] std::size_t depth() const;
  /// Throws the Failure of a use of something undefined; returns if the value is defined.
  void check_defined() const;
  /// Whether both are the same scalar or the same shared thing.
  [[nodiscard]] bool is_same(const Value& other) const;

 private:
  std::variant<Undefined, None, bool, std::int64_t, double, TextPointer, SequencePointer, DictionaryPointer,
               ObjectPointer>
      data_;
};

/// An ordered collection and what Python would call it, which decides how it prints and what may be asked of it.
struct Sequence {
  enum class Kind { list, tuple, range, keys, values, items, generator };
  Kind kind = Kind::list;
  std::vector<Value> items;
  std::size_t depth = 1;
  std::string spelled;    ///< of a range: "range(0, 3)"
  bool is_group = false;  ///< what the filter groupby yields: its items are also called grouper and list
  /// What a generator came upon behind its items; who takes more than them is told.
  std::shared_ptr<const Failure> failure;

  /// Whether the items have numbers (list, tuple, range).
  [[nodiscard]] bool is_indexed() const { return kind == Kind::list || kind == Kind::tuple || kind == Kind::range; }
};

[[nodiscard]] Value make_sequence(Sequence::Kind kind, std::vector<Value> items);
[[nodiscard]] inline Value make_list(std::vector<Value> items) {
  return make_sequence(Sequence::Kind::list, std::move(items));
}
[[nodiscard]] inline Value make_tuple(std::vector<Value> items) {
  return make_sequence(Sequence::Kind::tuple, std::move(items));
}

/// Keys in the order they came, with their values.
class Dictionary {
 public:
  using Entry = std::pair<Value, Value>;
  /// Sets or replaces. Throws when the key cannot be one (a list, a dictionary) or the value nests too deep.
  void set(Value key, Value value);
  [[nodiscard]] const Value* find(const Value& key) const;
  [[nodiscard]] const Value* find(std::string_view key) const;
  /// `spelled`: of the key, by key_spelling.
  [[nodiscard]] const Value* find_spelled(const std::string& spelled) const;
  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }
  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  [[nodiscard]] std::size_t depth() const { return depth_; }

 private:
  struct Hash {
    std::size_t operator()(std::string_view text) const;
  };

  std::vector<Entry> entries_;
  std::unordered_map<std::string, std::size_t, Hash> index_;
  std::size_t depth_ = 1;
};

/// The key's identity as text, equal for equal keys (1, 1.0 and true are one); throws when it cannot be a key.
[[nodiscard]] std::string key_spelling(const Value& key);

/// Everything that is neither data nor text: functions, macros, loops, namespaces.
class Object {
 public:
  virtual ~Object() = default;
  Object() = default;
  Object(const Object&) = delete;
  Object& operator=(const Object&) = delete;
  [[nodiscard]] virtual std::string_view type_name() const = 0;
  /// An attribute by name, if there is one.
  [[nodiscard]] virtual std::optional<Value> attribute(std::string_view /*name*/) const { return std::nullopt; }
  [[nodiscard]] virtual bool is_callable() const { return false; }
  [[nodiscard]] virtual std::size_t depth() const { return 1; }
  /// Lets go of other values, at the end of the rendering.
  virtual void let_go() {}
};

/// Throws when a container that would nest `depth` deep is one too many.
void check_container_depth(std::size_t depth);

}  // namespace plm::jinja
