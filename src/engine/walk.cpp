#include "engine/walk.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace plm {
namespace {

double euclidean_norm(std::span<const float> numbers) {
  double sum = 0;
  for (const float number : numbers) sum += static_cast<double>(number) * number;
  return std::sqrt(sum);
}

bool sees(const RowSight& sight, std::uint32_t cell, std::span<const std::uint64_t> bits) {
  if (cell >= sight.begin && cell < sight.end) return true;
  if (cell < sight.own_begin || cell - sight.own_begin >= sight.own_count) return false;
  const std::uint32_t bit = cell - sight.own_begin;
  return ((bits[sight.own_bits_word + bit / 64] >> (bit % 64)) & 1) != 0;
}

struct Score {
  std::uint32_t cell;
  double value;
};

// Softmax over the scores, and the sink's beside them.
HeadGaze gaze(std::span<const Score> scores, std::optional<float> sink) {
  HeadGaze result;
  if (scores.empty()) return result;
  const Score best = *std::ranges::max_element(scores, {}, &Score::value);
  const double max = std::max(best.value, sink.has_value() ? static_cast<double>(*sink) : best.value);
  double total = sink.has_value() ? std::exp(*sink - max) : 0;
  for (const Score& score : scores) total += std::exp(score.value - max);
  const auto add = [&](double value) {
    const double weight = std::exp(value - max) / total;
    if (weight > 0) result.entropy -= weight * std::log(weight);
    return weight;
  };
  for (const Score& score : scores) add(score.value);
  if (sink.has_value()) result.sink = add(*sink);
  result.cell = best.cell;
  result.weight = std::exp(best.value - max) / total;
  return result;
}

}  // namespace

Result<Walk> Walker::walk(Engine& engine, GenerationRequest request, const std::function<bool()>& interrupted) {
  PLM_TRY_ASSIGN(const DecoderDefinition* decoder, engine.choose_decoder(request.decoder));
  request.max_tokens = 1;
  request.ignore_end = true;
  if (!decoder->fills_masks) request.trace_top = kLikeliest;
  request.listener = [this](const Event& event) { on_event(event); };
  engine.watch({.on_pass = [this](const PassRows& rows) { on_pass(rows); },
                .probe = [this](std::string_view name, const View& value) { on_value(name, value); }});
  is_watching_ = true;
  auto outcome = engine.start(std::move(request)).and_then([&](auto generation) -> Result<void> {
    PLM_TRY(engine.run(interrupted));
    if (!generation->done()) return fail(ErrorKind::interrupted, "walk: interrupted");
    return generation->take().map([](const DecodeOutcome&) {});
  });
  is_watching_ = false;
  engine.watch({});
  PLM_TRY(outcome);
  if (failure_.has_value()) return tl::unexpected<Error>(*failure_);
  PLM_TRY(read_layers(engine));
  return std::move(walk_);
}

Result<void> Walker::read_layers(Engine& engine) {
  PLM_TRY_ASSIGN(const auto readings, engine.read_head(hidden_, kLikeliest));
  PLM_CHECK(readings.size() == walk_.layers.size());
  for (std::size_t i = 0; i < readings.size(); ++i) {
    WalkReading& reading = walk_.layers[i].reading;
    reading.statistics = readings[i].statistics;
    for (const TokenScore& score : readings[i].top) {
      const double distance = static_cast<double>(score.logit) - readings[i].statistics.log_sum_exp;
      reading.likeliest.push_back({score.id, score.logit, std::exp(distance)});
    }
  }
  return {};
}

void Walker::on_event(const Event& event) {
  if (event.kind != EventKind::committed) return;
  walk_.token = event.token;
  walk_.choice_ms = since_operation_.elapsed_ms();
  if (event.trace != nullptr) walk_.trace = *event.trace;
  is_watching_ = false;
}

void Walker::on_pass(const PassRows& rows) {
  if (!is_watching_) return;
  walk_ = Walk{.rows = rows.tokens.size()};
  hidden_.clear();
  cost_ = {};
  row_ = rows.yields.empty() ? rows.tokens.size() - 1 : rows.yields.back().row;
}

void Walker::on_operation(Device& device, const WatchedOperation& operation) {
  if (!is_watching_) return;
  device_ = &device;
  // Behind the last norm nothing more is told by name.
  WalkCost& cost = walk_.final_norm == 0 ? cost_ : walk_.head;
  cost += {operation.ms, operation.weight_bytes, operation.state_bytes};
  since_operation_.restart();
}

std::vector<float> Walker::read(Device& device, const View& view) {
  std::vector<float> numbers(view.rows * view.columns);
  device.download(view, std::as_writable_bytes(std::span(numbers)));
  Result<void> done = device.wait();
  if (!done.has_value() && !failure_.has_value()) failure_ = std::move(done.error());
  return numbers;
}

// A vector of the device as numbers: what a norm without epsilon makes of ones.
std::vector<float> Walker::read(Device& device, const Weight& vector) {
  const std::vector<float> ones(vector.inputs, 1.0F);
  auto storage = device.allocate(vector.inputs * sizeof(float));
  if (!storage.has_value()) {
    failure_ = std::move(storage.error());
    return ones;
  }
  const View view = dense_view(**storage, 1, vector.inputs);
  device.upload(view, std::as_bytes(std::span(ones)));
  device.rms_norm(view, vector, 0, view);
  return read(device, view);
}

WalkLayer& Walker::layer(std::size_t index) {
  if (walk_.layers.size() <= index) walk_.layers.resize(index + 1);
  return walk_.layers[index];
}

void Walker::on_value(std::string_view name, const View& value) {
  if (!is_watching_) return;
  if (name == "embed") {
    walk_.embedding_norm = euclidean_norm(last_row(value));
    walk_.embedding = take_cost();
    return;
  }
  if (name == "final_norm") {
    walk_.final_norm = euclidean_norm(last_row(value));
    walk_.head = take_cost();
    return;
  }
  constexpr std::string_view kLayer = "layer.";
  PLM_CHECK(name.starts_with(kLayer));
  name.remove_prefix(kLayer.size());
  std::size_t index = 0;
  const char* end = std::from_chars(name.data(), name.data() + name.size(), index).ptr;
  name.remove_prefix(static_cast<std::size_t>(end - name.data()));
  WalkLayer& layer = this->layer(index);
  const std::vector<float> row = last_row(value);
  if (name == ".routing") {
    const std::size_t used = row.size() / 2;
    for (std::size_t i = 0; i < used; ++i) layer.experts.push_back({static_cast<std::uint32_t>(row[i]), row[used + i]});
  } else if (!name.empty()) {
    layer.branches.push_back({std::string(name.substr(1)), euclidean_norm(row)});
    if (heads_.empty()) return;
    layer.heads = std::exchange(heads_, {});
    layer.cells_seen = cells_seen_;
  } else {
    layer.norm = euclidean_norm(row);
    layer.cost = take_cost();
    hidden_.insert(hidden_.end(), row.begin(), row.end());
  }
}

void Walker::on_keys(Device& device, const View& keys, const RowTable& table, const KvPlace& place) {
  if (!is_watching_) return;
  const std::vector<float> numbers = read(device, keys);
  std::vector<float>& all = keys_[place.offset];
  for (std::size_t row = 0; row < keys.rows; ++row) {
    const std::size_t at = table.rows[row].slot * keys.columns;
    if (all.size() < at + keys.columns) all.resize(at + keys.columns);
    std::copy_n(numbers.begin() + static_cast<std::ptrdiff_t>(row * keys.columns), keys.columns,
                all.begin() + static_cast<std::ptrdiff_t>(at));
  }
}

void Walker::on_queries(Device& device, const View& queries, const RowTable& table, const KvPlace& place,
                        const ScoreRule& rule) {
  if (!is_watching_) return;
  const std::vector<float> query = read(device, queries.row_range(row_, 1));
  const std::vector<float> sinks = rule.sinks != nullptr ? read(device, *rule.sinks) : std::vector<float>();
  const std::vector<float>& keys = keys_[place.offset];
  const std::size_t width = place.head_dim, key_columns = place.kv_heads * width, heads = query.size() / width;
  const RowSight& sight = table.rows[row_];
  heads_.clear();
  for (std::size_t head = 0; head < heads; ++head) {
    const std::size_t kv_head = head / (heads / place.kv_heads);
    std::vector<Score> scores;
    for (std::uint32_t cell = 0; cell < keys.size() / key_columns; ++cell) {
      if (!sees(sight, cell, table.own_bits)) continue;
      double dot = 0;
      for (std::size_t i = 0; i < width; ++i) {
        dot += static_cast<double>(query[head * width + i]) * keys[cell * key_columns + kv_head * width + i];
      }
      dot *= rule.scale;
      scores.push_back({cell, rule.soft_cap > 0 ? rule.soft_cap * std::tanh(dot / rule.soft_cap) : dot});
    }
    cells_seen_ = static_cast<std::uint32_t>(scores.size());
    heads_.push_back(gaze(scores, sinks.empty() ? std::nullopt : std::optional(sinks[head])));
  }
}

}  // namespace plm
