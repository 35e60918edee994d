// Reads a JSON object of settings (config.json and its like) value by value: every value is checked for type and range
// when it is asked for, and every error names the file, the key, what was found and what was expected. A value of null
// is one that is not there, as Python writes it; Infinity, which it writes too and JSON does not have, is read as null.
// Tested by tests/format/test_config_reader.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/json_forward.h"

namespace plm {

class ConfigReader {
 public:
  /// Inclusive bounds of a number.
  struct IntegerRange {
    std::uint64_t min = 0;
    std::uint64_t max = std::uint64_t{1} << 32;
  };

  /// `text` is a JSON object; `path` names it in errors. Error bad_input.
  static Result<ConfigReader> parse(std::string_view text, std::string path);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] bool has(std::string_view key) const { return find(key) != nullptr; }

  // Errors (bad_input): missing, of another type, out of range.
  [[nodiscard]] Result<std::uint64_t> integer(std::string_view key, IntegerRange range) const;
  [[nodiscard]] Result<double> positive_real(std::string_view key, double highest) const;
  [[nodiscard]] Result<std::string> text(std::string_view key) const;

  // The same where the key may be missing.
  [[nodiscard]] Result<std::uint64_t> integer_or(std::string_view key, std::uint64_t otherwise,
                                                 IntegerRange range) const;
  [[nodiscard]] Result<double> positive_real_or(std::string_view key, double otherwise, double highest) const;
  [[nodiscard]] Result<std::string> text_or(std::string_view key, std::string_view otherwise) const;
  [[nodiscard]] Result<bool> boolean_or(std::string_view key, bool otherwise) const;
  /// One integer or a list of them; empty when missing.
  [[nodiscard]] Result<std::vector<std::uint64_t>> integers_or_none(std::string_view key, IntegerRange range) const;
  /// Numbers of a list; null among them is infinity. Empty when missing.
  [[nodiscard]] Result<std::vector<double>> reals_or_none(std::string_view key) const;
  /// Numbers of a list, above 0 and at most `highest`; error when missing.
  [[nodiscard]] Result<std::vector<double>> positive_reals(std::string_view key, double highest) const;
  /// Strings of a list; empty when missing.
  [[nodiscard]] Result<std::vector<std::string>> texts_or_none(std::string_view key) const;
  /// Names and texts of an object that holds nothing else; empty when missing.
  [[nodiscard]] Result<std::vector<std::pair<std::string, std::string>>> named_texts_or_none(
      std::string_view key) const;
  /// An object inside this one, whose keys are then called "key.name"; nullopt when missing.
  [[nodiscard]] Result<std::optional<ConfigReader>> section(std::string_view key) const;
  /// All objects of the file when it is a list of them; see `parse_list`.
  static Result<std::vector<ConfigReader>> parse_list(std::string_view text, const std::string& path);

  /// "PATH: key = VALUE: must be RULE", for rules that only the caller knows.
  [[nodiscard]] tl::unexpected<Error> error(std::string_view key, std::string_view rule) const;

 private:
  ConfigReader(std::shared_ptr<const Json> root, const Json& object, std::string path, std::string prefix)
      : root_(std::move(root)), object_(&object), path_(std::move(path)), prefix_(std::move(prefix)) {}
  [[nodiscard]] const Json* find(std::string_view key) const;

  std::shared_ptr<const Json> root_;
  const Json* object_;
  std::string path_;
  std::string prefix_;  // "rope_scaling." within a section
};

}  // namespace plm
