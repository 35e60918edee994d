#include "format/foreign_file.h"

#include <cstdint>
#include <cstring>

namespace plm {
namespace {

struct Signature {
  std::string_view start;
  std::string_view kind;
};

constexpr std::string_view kHtml = "an HTML page; the download failed, fetch the file itself";
constexpr std::string_view kLegacy = "a model in one of ggml's formats before GGUF; convert the original model again";
constexpr std::string_view kZip = "a zip archive, maybe a PyTorch checkpoint; convert the model to GGUF";

constexpr Signature kSignatures[] = {
    {"<!DOCTYPE", kHtml},
    {"<!doctype", kHtml},
    {"<html", kHtml},
    {"<HTML", kHtml},
    {"version https://git-lfs", "a git-lfs pointer; fetch the file itself with git lfs pull"},
    {"tjgg", kLegacy},  // "ggjt" and its elders, as little-endian numbers
    {"lmgg", kLegacy},
    {"fmgg", kLegacy},
    {"algg", kLegacy},
    {"PK\x03\x04", kZip},
    {"\x80\x02", "a Python pickle, maybe a PyTorch checkpoint; convert the model to GGUF"},
    {"\x1f\x8b", "gzip data; unpack it first"},
    {"{", "JSON text; name the model file, or the folder of a Hugging Face model"},
};

// A header length and then its JSON.
bool is_safetensors(std::string_view text) {
  std::uint64_t header_bytes = 0;
  if (text.size() < sizeof(header_bytes) + 2) return false;
  std::memcpy(&header_bytes, text.data(), sizeof(header_bytes));
  return header_bytes <= text.size() - sizeof(header_bytes) && text.substr(sizeof(header_bytes), 2) == "{\"";
}

}  // namespace

std::optional<std::string_view> foreign_file_kind(std::span<const std::byte> bytes) {
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  for (const Signature& signature : kSignatures) {
    if (text.starts_with(signature.start)) return signature.kind;
  }
  if (is_safetensors(text)) return "a safetensors file; name the folder that holds it and its config.json";
  return std::nullopt;
}

}  // namespace plm
