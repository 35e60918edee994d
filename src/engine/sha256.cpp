#include "engine/sha256.h"

#include <openssl/evp.h>

#include <array>

#include "base/error.h"

namespace plm {

Sha256::Sha256() : context_(EVP_MD_CTX_new()) {
  PLM_CHECK(context_ != nullptr && EVP_DigestInit_ex(context_, EVP_sha256(), nullptr) == 1);
}

Sha256::~Sha256() { EVP_MD_CTX_free(context_); }

void Sha256::add(std::span<const std::byte> bytes) {
  PLM_CHECK(EVP_DigestUpdate(context_, bytes.data(), bytes.size()) == 1);
}

std::string Sha256::finish() {
  std::array<unsigned char, 32> digest{};
  unsigned int size = 0;
  PLM_CHECK(EVP_DigestFinal_ex(context_, digest.data(), &size) == 1 && size == digest.size());
  std::string text;
  for (const unsigned char byte : digest) text += fmt::format("{:02x}", byte);
  return text;
}

}  // namespace plm
