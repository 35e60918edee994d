#include "serve/access.h"

#include <algorithm>

namespace plm {
namespace {

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return result;
}

// "name:80", "[::1]:80" without the port.
std::string host_name(std::string_view host) {
  if (host.starts_with('[')) {
    const auto end = host.find(']');
    return end == std::string_view::npos ? std::string() : lower(host.substr(1, end - 1));
  }
  return lower(host.substr(0, host.find(':')));
}

// A literal address cannot be a name that was made to resolve here.
bool is_address(std::string_view name) {
  return !name.empty() && (name.find_first_not_of("0123456789.") == std::string_view::npos ||
                           (name.find(':') != std::string_view::npos &&
                            name.find_first_not_of("0123456789abcdef:.") == std::string_view::npos));
}

bool is_listed(const std::vector<std::string>& list, std::string_view name) {
  return std::ranges::any_of(list, [&](const std::string& one) { return one == "*" || lower(one) == name; });
}

// The page is this server's own: its origin is the host that was asked.
bool is_own_origin(std::string_view origin, std::string_view host) {
  const auto slashes = origin.find("://");
  return slashes != std::string_view::npos && lower(origin.substr(slashes + 3)) == lower(host);
}

std::string_view given_key(const HttpRequest& request) {
  const std::string_view authorization = request.header("authorization");
  constexpr std::string_view kBearer = "bearer ";
  if (lower(authorization.substr(0, kBearer.size())) == kBearer) return trimmed(authorization.substr(kBearer.size()));
  for (const char* name : {"x-api-key", "api-key", "x-admin-key"}) {
    if (!request.header(name).empty()) return trimmed(request.header(name));
  }
  return {};
}

bool has_key(const AccessRules& rules, const HttpRequest& request) {
  const std::string_view key = given_key(request);
  bool is_known = false;
  for (const std::string& known : rules.keys) is_known |= equal_in_constant_time(known, key);  // looks at all of them
  return is_known;
}

}  // namespace

bool equal_in_constant_time(std::string_view a, std::string_view b) {
  volatile unsigned difference = a.size() == b.size() ? 0U : 1U;
  for (std::size_t i = 0; i < b.size(); ++i) {
    const char other = a.empty() ? '\0' : a[i % a.size()];
    difference =
        difference | static_cast<unsigned>(static_cast<unsigned char>(other) ^ static_cast<unsigned char>(b[i]));
  }
  return difference == 0;
}

bool is_loopback(std::string_view address) {
  return address.starts_with("127.") || address == "::1" || address == "localhost";
}

std::vector<std::string> keys_of(std::string_view text) {
  std::vector<std::string> keys;
  while (!text.empty()) {
    const auto end = text.find('\n');
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (!line.empty() && !line.starts_with('#')) keys.emplace_back(line);
  }
  return keys;
}

std::optional<Failure> refusal(const AccessRules& rules, const HttpRequest& request, bool needs_key) {
  const std::string_view host = request.header("host");
  const std::string name = host_name(host);
  if (!host.empty() && !is_address(name) && name != "localhost" && !is_listed(rules.hosts, name)) {
    return Failure{.status = 403, .message = "host: this name is not served here; list it with --allow-host"};
  }
  const std::string_view origin = request.header("origin");
  if (!origin.empty() && !is_own_origin(origin, host) && !is_listed(rules.origins, lower(origin))) {
    return Failure{.status = 403, .message = "origin: scripts of this page may not ask; list it with --cors-origin"};
  }
  if (!origin.empty() && request.method == "POST" && !request.body.empty() &&
      !lower(request.header("content-type")).starts_with("application/json")) {
    return Failure{.status = 415, .message = "content-type: expected application/json"};
  }
  if (needs_key && !rules.keys.empty() && request.method != "OPTIONS" && !has_key(rules, request)) {
    return Failure{.status = 401, .message = "the API key is missing or wrong; send it as Authorization: Bearer KEY"};
  }
  return std::nullopt;
}

HttpHeaders cors_headers(const AccessRules& rules, const HttpRequest& request) {
  const std::string_view origin = request.header("origin");
  if (origin.empty() || !is_listed(rules.origins, lower(origin))) return {};
  HttpHeaders headers = {{"Access-Control-Allow-Origin", std::string(origin)}, {"Vary", "Origin"}};
  if (request.method == "OPTIONS") {
    headers.emplace_back("Access-Control-Allow-Methods", "GET, POST, OPTIONS");
    headers.emplace_back("Access-Control-Allow-Headers", "Authorization, Content-Type, X-Api-Key, X-Request-Id");
    headers.emplace_back("Access-Control-Max-Age", "600");
  }
  return headers;
}

}  // namespace plm
