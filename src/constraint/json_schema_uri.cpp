#include "constraint/json_schema_uri.h"

#include <algorithm>
#include <cctype>

namespace plm {
namespace {

// scheme ":" "//" authority path "?" query, each with its mark; empty where absent.
struct Pieces {
  std::string_view scheme, authority, path, query;
};

Pieces split(std::string_view uri) {
  Pieces pieces;
  const std::size_t colon = uri.find_first_of(":/?");
  if (colon != std::string_view::npos && colon > 0 && uri[colon] == ':') {
    pieces.scheme = uri.substr(0, colon + 1);
    uri.remove_prefix(colon + 1);
  }
  if (uri.starts_with("//")) {
    const std::size_t end = std::min(uri.find_first_of("/?", 2), uri.size());
    pieces.authority = uri.substr(0, end);
    uri.remove_prefix(end);
  }
  const std::size_t query = std::min(uri.find('?'), uri.size());
  pieces.path = uri.substr(0, query);
  pieces.query = uri.substr(query);
  return pieces;
}

std::string without_dots(std::string_view path) {
  std::string result;
  while (!path.empty()) {
    const std::size_t next = std::min(path.find('/', 1), path.size());
    const std::string_view segment = path.substr(0, next);
    path.remove_prefix(next);
    const std::string_view name = segment.starts_with('/') ? segment.substr(1) : segment;
    if (name != "." && name != "..") {
      result += segment;
      continue;
    }
    if (name == "..") result.resize(std::min(result.rfind('/'), result.size()));
    if (path.empty()) result += '/';
  }
  return result;
}

std::string merged_path(const Pieces& base, std::string_view path) {
  if (!base.authority.empty() && base.path.empty()) return "/" + std::string(path);
  const std::size_t slash = base.path.rfind('/');
  return std::string(base.path.substr(0, slash == std::string_view::npos ? 0 : slash + 1)) + std::string(path);
}

std::string join(const Pieces& pieces, const std::string& path, std::string_view query) {
  return std::string(pieces.scheme) + std::string(pieces.authority) + path + std::string(query);
}

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const bool here = text.substr(at).starts_with(from);
    result += here ? to : text.substr(at, 1);
    at += here ? from.size() : 1;
  }
  return result;
}

}  // namespace

UriParts join_uri(std::string_view base, std::string_view reference) {
  const std::size_t mark = std::min(reference.find('#'), reference.size());
  UriParts parts;
  if (mark < reference.size()) parts.fragment = percent_decoded(reference.substr(mark + 1));
  reference = reference.substr(0, mark);
  const Pieces from = split(base), to = split(reference);
  if (reference.empty()) {
    parts.absolute = base;
  } else if (!to.scheme.empty()) {
    parts.absolute = join(to, without_dots(to.path), to.query);
  } else if (!to.authority.empty()) {
    parts.absolute = std::string(from.scheme) + join(to, without_dots(to.path), to.query);
  } else if (to.path.empty()) {
    parts.absolute = join(from, std::string(from.path), to.query);
  } else {
    const std::string path = to.path.starts_with('/') ? std::string(to.path) : merged_path(from, to.path);
    parts.absolute = join(from, without_dots(path), to.query);
  }
  return parts;
}

std::string percent_decoded(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escape =
        text[i] == '%' && i + 2 < text.size() && hex_value(text[i + 1]) >= 0 && hex_value(text[i + 2]) >= 0;
    if (!escape) {
      result += text[i];
      continue;
    }
    result += static_cast<char>(hex_value(text[i + 1]) * 16 + hex_value(text[i + 2]));
    i += 2;
  }
  return result;
}

std::string pointer_escaped(std::string_view segment) { return replaced(replaced(segment, "~", "~0"), "/", "~1"); }

std::string pointer_unescaped(std::string_view segment) { return replaced(replaced(segment, "~1", "/"), "~0", "~"); }

}  // namespace plm
