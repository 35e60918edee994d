// How a template's failure travels inside src/text/jinja: as an exception, because nearly every operation of an
// interpreter can fail, down to reading a character. None leaves the folder: Template::parse and Template::render catch
// it, add where in the template it happened, and return an Error.
#pragma once

#include <fmt/format.h>

#include <exception>
#include <string>
#include <utility>

#include "base/error.h"

namespace plm::jinja {

class Failure : public std::exception {
 public:
  Failure(ErrorKind kind, std::string reason) : kind_(kind), reason_(std::move(reason)) {}
  [[nodiscard]] const char* what() const noexcept override { return reason_.c_str(); }
  [[nodiscard]] ErrorKind kind() const { return kind_; }
  [[nodiscard]] const std::string& reason() const { return reason_; }

 private:
  ErrorKind kind_;
  std::string reason_;
};

/// Throws a Failure (bad_input) with this reason.
template <typename... Args>
[[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) {
  throw Failure(ErrorKind::bad_input, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace plm::jinja
