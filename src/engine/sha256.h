// SHA-256 of bytes that come in pieces (OpenSSL's). Tested by tests/engine/test_model_hash.cpp.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

struct evp_md_ctx_st;

namespace plm {

class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void add(std::span<const std::byte> bytes);
  void add(std::string_view text) { add(std::as_bytes(std::span(text))); }
  /// In hexadecimal, of all that was added; the end of this object's use.
  [[nodiscard]] std::string finish();

 private:
  evp_md_ctx_st* context_;
};

}  // namespace plm
