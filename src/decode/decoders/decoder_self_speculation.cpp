// Self-speculation: the model drafts a block of masks in one pass and checks it in one causal pass of the same weights;
// what the causal pass would have written stands, so the text is that of one token after another, bit by bit. For
// models that do both (diffusion.attention = causal_context). Source: arXiv 2607.05722; datasheet part XIII.
//
// Between rounds all but the last known token, the seed, is remembered; the seed is the first row of both passes.
// It ends: every round writes one token at least. Tested by tests/engine/test_parallel.cpp against golden trajectories.
#include <algorithm>

#include "decode/page.h"

namespace plm {
namespace {

constexpr std::size_t kWordBits = 64;

// Row 0 sees itself, the other rows see all: the seed is read causally, the block both ways.
std::vector<std::uint64_t> draft_bits(std::size_t rows) {
  const std::size_t words = (rows + kWordBits - 1) / kWordBits;
  std::vector<std::uint64_t> bits(rows * words);
  const auto set = [&](std::size_t row, std::size_t other) {
    bits[row * words + other / kWordBits] |= std::uint64_t{1} << (other % kWordBits);
  };
  set(0, 0);
  for (std::size_t row = 1; row < rows; ++row) {
    for (std::size_t other = 0; other < rows; ++other) set(row, other);
  }
  return bits;
}

std::vector<Yield> yields_of(std::size_t first, std::size_t count, TokenId without) {
  std::vector<Yield> yields;
  for (std::size_t i = 0; i < count; ++i) {
    yields.push_back({.row = static_cast<std::uint32_t>(first + i), .kind = YieldKind::statistics, .without = without});
  }
  return yields;
}

Proposal likeliest(const RowStatistics& statistics, const ParallelPolicy& policy) {
  return propose(statistics, policy.rule, 0);
}

// Drafts the page's cells [from, from + count) and checks them. What the causal pass writes: one token at least, at
// most count + 1.
Task<Result<std::vector<Proposal>>> round_of(Session& session, DecodeJob& job, Page& page, PlannedBlock block) {
  const ParallelPolicy& policy = *job.parallel;
  std::vector<TokenId> rows;  // what is not remembered yet, the seed last, then the block
  for (std::size_t at = session.state_length(); at < block.start; ++at) rows.push_back(page.token_at(at));
  const std::size_t seed = rows.size() - 1;
  rows.resize(rows.size() + block.length, policy.traits.mask_token);
  if (block.length > 0) {
    PLM_CHECK(seed == 0);
    const std::vector<std::uint64_t> bits = draft_bits(rows.size());
    const std::vector<Yield> yields = yields_of(1, block.length, policy.traits.mask_token);
    const PassRequest draft{
        .tokens = rows, .state = StateUse::scratch, .sight = Sight::by_bits, .sight_bits = bits, .yields = yields};
    const Task<Result<PassAnswer>> drafting = page.pass(draft);
    const Result<PassAnswer> drafted = co_await drafting;
    if (!drafted.has_value()) co_return tl::unexpected<Error>(drafted.error());
    for (std::size_t i = 0; i < block.length; ++i) rows[i + 1] = drafted->statistics[i].argmax;
  }
  const std::vector<Yield> yields = yields_of(seed, block.length + 1, -1);
  const PassRequest check{.tokens = rows, .yields = yields};
  const Task<Result<PassAnswer>> checking = page.pass(check);
  const Result<PassAnswer> checked = co_await checking;
  if (!checked.has_value()) co_return tl::unexpected<Error>(checked.error());
  std::vector<Proposal> written;
  for (std::size_t i = 0; i <= block.length; ++i) {
    if (checked->statistics[i].bad != 0) {
      co_return fail(ErrorKind::failed, "position {}: the network gave NaN or infinite logits; check the model file",
                     block.start + i);
    }
    written.push_back(likeliest(checked->statistics[i], policy));
    const TokenId token = written.back().token;
    const bool is_end = std::ranges::find(job.end_tokens, token) != job.end_tokens.end();
    if (is_end || i == block.length || rows[seed + i + 1] != token) break;
  }
  // The rows of the seed and of the drafts that stand are remembered; the last token written is the next seed.
  session.truncate_state(block.start - 1 + written.size());
  co_return written;
}

Task<Result<DecodeOutcome>> run(Session& session, DecodeJob& job) {
  const ParallelPolicy& policy = *job.parallel;
  if (policy.traits.attention != DiffusionAttention::causal_context || policy.block_length == 0) {
    co_return fail(
        ErrorKind::usage,
        "decoder self_speculation: needs a model that writes token after token as well as by blocks; use the "
        "decoder diffusion");
  }
  if (!job.chain.is_greedy()) {
    co_return fail(ErrorKind::usage, "decoder self_speculation: writes the likeliest token; set --temperature 0");
  }
  if (!policy.rule.needs_only_statistics()) {
    co_return fail(ErrorKind::usage,
                   "decoder self_speculation: writes the likeliest token; leave --page-temperature and --page-guidance "
                   "out");
  }
  if (!job.holes.empty()) {
    co_return fail(ErrorKind::usage,
                   "decoder self_speculation: writes behind a prompt, not into holes; use the decoder diffusion");
  }
  Page page(session, job);
  if (const Result<void> opened = page.open(); !opened.has_value()) co_return tl::unexpected<Error>(opened.error());
  const std::size_t first = page.begin();
  if (first == page.end()) co_return page.finish();
  session.truncate_state(std::min(session.state_length(), first - 1));
  for (std::size_t at = first; at < page.end();) {
    // The first token comes from the prompt alone, without a draft.
    const std::size_t length = at == first ? 0 : std::min(policy.block_length, page.end() - at);
    const Task<Result<std::vector<Proposal>>> writing = round_of(session, job, page, {at, length, 1});
    const Result<std::vector<Proposal>> written = co_await writing;
    if (!written.has_value()) co_return tl::unexpected<Error>(written.error());
    for (const Proposal& proposal : *written) {
      if (at < page.end()) page.commit(at++, proposal, "self_speculation");
    }
    if (page.give_out(at)) break;
  }
  co_return page.finish();
}

}  // namespace

extern constinit const DecoderDefinition decoder_self_speculation = {
    .head = {.name = "self_speculation",
             .aliases = "self_spec",
             .summary =
                 "drafts a block of masks, checks it causally: the text of one token after another, in fewer passes",
             .source = "arXiv 2607.05722"},
    .fills_masks = true,
    .run = run,
};

}  // namespace plm
