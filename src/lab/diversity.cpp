#include "lab/diversity.h"

#include <zlib.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "lab/distribution.h"

namespace plm {
namespace {

using Gram = std::vector<std::int32_t>;
using GramCounts = std::map<Gram, std::size_t>;

std::size_t gram_count(Tokens tokens, std::size_t n) { return tokens.size() < n ? 0 : tokens.size() - n + 1; }

GramCounts count_grams(Tokens tokens, std::size_t n) {
  GramCounts counts;
  for (std::size_t i = 0; i < gram_count(tokens, n); ++i) {
    const Tokens gram = tokens.subspan(i, n);
    ++counts[Gram(gram.begin(), gram.end())];
  }
  return counts;
}

double cosine(const std::vector<double>& a, const std::vector<double>& b) {
  double product = 0, left = 0, right = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) product += a[i] * b[i];
  for (const double x : a) left += x * x;
  for (const double x : b) right += x * x;
  return left == 0 || right == 0 ? 0 : product / (std::sqrt(left) * std::sqrt(right));
}

// Eigenvalues of a symmetric matrix by Jacobi's rotations.
class Jacobi {
 public:
  explicit Jacobi(std::vector<std::vector<double>> matrix) : a_(std::move(matrix)) {}

  std::vector<double> eigenvalues() {
    constexpr int kMostSweeps = 60;
    const std::size_t n = a_.size();
    for (int sweep = 0; sweep < kMostSweeps && off_diagonal() >= 1e-26; ++sweep) {
      for (std::size_t p = 0; p < n; ++p) {
        for (std::size_t q = p + 1; q < n; ++q) {
          if (std::abs(a_[p][q]) >= 1e-300) rotate(p, q);
        }
      }
    }
    std::vector<double> values;
    for (std::size_t i = 0; i < n; ++i) values.push_back(a_[i][i]);
    return values;
  }

 private:
  [[nodiscard]] double off_diagonal() const {
    double sum = 0;
    for (std::size_t i = 0; i < a_.size(); ++i) {
      for (std::size_t j = 0; j < a_.size(); ++j) sum += i == j ? 0 : a_[i][j] * a_[i][j];
    }
    return sum;
  }

  void rotate(std::size_t p, std::size_t q) {
    const double theta = (a_[q][q] - a_[p][p]) / (2 * a_[p][q]);
    const double t = (theta >= 0 ? 1 : -1) / (std::abs(theta) + std::sqrt(theta * theta + 1));
    const double c = 1 / std::sqrt(t * t + 1), s = t * c;
    for (auto& row : a_) {
      const double x = row[p], y = row[q];
      row[p] = c * x - s * y;
      row[q] = s * x + c * y;
    }
    for (std::size_t k = 0; k < a_.size(); ++k) {
      const double x = a_[p][k], y = a_[q][k];
      a_[p][k] = c * x - s * y;
      a_[q][k] = s * x + c * y;
    }
  }

  std::vector<std::vector<double>> a_;
};

// Length of the reference nearest to that of the text; of two, the shorter.
std::size_t nearest_length(std::size_t length, Texts references) {
  std::size_t nearest = references.front().size();
  const auto distance = [&](std::size_t other) { return other > length ? other - length : length - other; };
  for (const auto& reference : references) {
    const std::size_t other = reference.size();
    if (distance(other) < distance(nearest) || (distance(other) == distance(nearest) && other < nearest)) {
      nearest = other;
    }
  }
  return nearest;
}

}  // namespace

std::size_t unique_ngrams(Texts texts, std::size_t n) {
  std::set<Gram> seen;
  for (const auto& text : texts) {
    for (const auto& [gram, count] : count_grams(text, n)) seen.insert(gram);
  }
  return seen.size();
}

std::optional<double> distinct_ngrams(Texts texts, std::size_t n, DistinctOf of) {
  std::size_t all = 0;
  for (const auto& text : texts) all += of == DistinctOf::ngrams ? gram_count(text, n) : text.size();
  if (all == 0) return std::nullopt;
  return static_cast<double>(unique_ngrams(texts, n)) / static_cast<double>(all);
}

std::optional<double> expected_distinct(Texts texts, double vocabulary, std::size_t n) {
  double draws = 0;
  for (const auto& text : texts) draws += static_cast<double>(gram_count(text, n));
  if (draws == 0) return std::nullopt;
  const double expected = vocabulary * (1 - std::pow((vocabulary - 1) / vocabulary, draws));
  return static_cast<double>(unique_ngrams(texts, n)) / expected;
}

std::optional<double> type_token_ratio(Tokens tokens) {
  if (tokens.empty()) return std::nullopt;
  const std::set<std::int32_t> types(tokens.begin(), tokens.end());
  return static_cast<double>(types.size()) / static_cast<double>(tokens.size());
}

std::optional<double> moving_type_token_ratio(Tokens tokens, std::size_t window) {
  if (tokens.size() <= window) return type_token_ratio(tokens);
  if (window == 0) return std::nullopt;
  std::map<std::int32_t, std::size_t> inside;
  double sum = 0;
  for (std::size_t end = 0; end < tokens.size(); ++end) {
    ++inside[tokens[end]];
    if (end + 1 < window) continue;
    sum += static_cast<double>(inside.size()) / static_cast<double>(window);
    const auto oldest = inside.find(tokens[end + 1 - window]);
    if (--oldest->second == 0) inside.erase(oldest);
  }
  return sum / static_cast<double>(tokens.size() - window + 1);
}

double bleu(Tokens text, Texts references, const BleuRule& rule) {
  if (text.empty() || references.empty()) return 0;
  double logarithms = 0;
  for (std::size_t n = 1; n <= rule.most_n; ++n) {
    GramCounts most;
    for (const auto& reference : references) {
      for (const auto& [gram, count] : count_grams(reference, n)) {
        std::size_t& known = most[gram];
        known = std::max(known, count);
      }
    }
    std::size_t matched = 0;
    for (const auto& [gram, count] : count_grams(text, n)) {
      const auto known = most.find(gram);
      if (known != most.end()) matched += std::min(count, known->second);
    }
    if (n == 1 && matched == 0) return 0;
    const auto all = static_cast<double>(std::max<std::size_t>(1, gram_count(text, n)));
    const double share = matched > 0 ? static_cast<double>(matched) / all : rule.epsilon / all;
    logarithms += std::log(share) / static_cast<double>(rule.most_n);
  }
  const std::size_t length = nearest_length(text.size(), references);
  const double brevity =
      text.size() > length ? 1 : std::exp(1 - static_cast<double>(length) / static_cast<double>(text.size()));
  return brevity * std::exp(logarithms);
}

std::optional<double> self_bleu(Texts texts, const BleuRule& rule) {
  if (texts.size() < 2) return std::nullopt;
  double sum = 0;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    std::vector<std::vector<std::int32_t>> others(texts.begin(), texts.end());
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(i));
    sum += bleu(texts[i], others, rule);
  }
  return sum / static_cast<double>(texts.size());
}

std::optional<std::size_t> phrase_count(Tokens tokens) {
  const std::size_t n = tokens.size();
  if (n > kMostPhraseTokens) return std::nullopt;
  std::size_t phrases = 0;
  for (std::size_t i = 0; i < n;) {
    std::size_t longest = 0;  // what follows that stood before, and may run into itself
    for (std::size_t j = 0; j < i; ++j) {
      std::size_t length = 0;
      while (i + length < n && tokens[j + length] == tokens[i + length]) ++length;
      longest = std::max(longest, length);
    }
    ++phrases;
    i += longest + 1;
  }
  return phrases;
}

std::optional<double> compression_ratio(std::string_view bytes) {
  if (bytes.empty()) return std::nullopt;
  uLongf size = compressBound(static_cast<uLong>(bytes.size()));
  std::vector<Bytef> out(size);
  const auto* from = reinterpret_cast<const Bytef*>(bytes.data());
  if (compress2(out.data(), &size, from, static_cast<uLong>(bytes.size()), 9) != Z_OK) return std::nullopt;
  return static_cast<double>(bytes.size()) / static_cast<double>(size);
}

std::optional<double> vendi_score(Vectors vectors) {
  const std::size_t n = vectors.size();
  if (n == 0) return std::nullopt;
  std::vector<std::vector<double>> kernel(n, std::vector<double>(n));
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      kernel[i][j] = (i == j ? 1.0 : cosine(vectors[i], vectors[j])) / static_cast<double>(n);
    }
  }
  std::vector<double> values = Jacobi(std::move(kernel)).eigenvalues();
  for (double& value : values) value = std::max(value, 0.0);
  return std::exp(entropy(values));
}

std::optional<double> mean_pairwise_distance(Vectors vectors) {
  const std::size_t n = vectors.size();
  if (n < 2) return std::nullopt;
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = i + 1; j < n; ++j) sum += 1 - cosine(vectors[i], vectors[j]);
  }
  return sum / (static_cast<double>(n) * static_cast<double>(n - 1) / 2);
}

}  // namespace plm
