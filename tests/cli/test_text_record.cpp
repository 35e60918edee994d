#include "cli/text_record.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <iterator>
#include <utility>

#include "format/gguf.h"
#include "sampling/token_trace.h"

namespace plm {
namespace {

const Vocabulary& vocabulary() {
  static const auto file = GgufFile::open(std::string(PLM_MODELS) + "/twin-ar.gguf").value();
  static const Vocabulary loaded = Vocabulary::load(file).value();
  return loaded;
}

Event committed(TokenId token, std::size_t position, const TokenTrace* trace = nullptr) {
  return {.kind = EventKind::committed, .token = token, .position = position, .trace = trace};
}

TEST(TextRecord, KeepsWhatStayed) {
  TextRecord record(vocabulary(), nullptr);
  EXPECT_EQ(record.reason(), FinishReason::interrupted) << "until it has finished";
  record.on_event(committed(49, 8));
  record.on_event(committed(50, 9));
  record.on_event({.kind = EventKind::deleted, .position = 9});
  record.on_event(committed(51, 9));
  record.on_event({.kind = EventKind::stable_prefix, .text = "13"});
  record.on_event(committed(257, 10));
  record.on_event({.kind = EventKind::finished, .reason = FinishReason::end_of_text});
  const RecipeResult result = record.finish();
  EXPECT_EQ(result.text, "13");
  EXPECT_EQ(result.ids, (std::vector<TokenId>{49, 51})) << "without the end token";
  EXPECT_EQ(result.reason, FinishReason::end_of_text);
}

TEST(TextRecord, OfAPageIsInOrderOfPositions) {
  TextRecord record(vocabulary(), nullptr);
  for (const auto& [token, at] :
       std::initializer_list<std::pair<TokenId, std::size_t>>{{52, 7}, {49, 4}, {257, 6}, {50, 5}}) {
    record.on_event(committed(token, at));
  }
  record.on_event({.kind = EventKind::revoked, .position = 5});
  record.on_event(committed(51, 5));
  record.on_event({.kind = EventKind::replaced, .token = 48, .position = 4});
  record.on_event({.kind = EventKind::finished, .reason = FinishReason::end_of_text});
  EXPECT_EQ(record.finish().ids, (std::vector<TokenId>{48, 51})) << "nothing from the end token on";
}

TEST(TextRecord, FollowsCellsThatComeAndGoBetweenOthers) {
  TextRecord record(vocabulary(), nullptr);
  for (std::size_t at = 4; at < 8; ++at) record.on_event({.kind = EventKind::inserted, .position = at});
  record.on_event(committed(49, 4));
  record.on_event(committed(51, 6));
  record.on_event({.kind = EventKind::inserted, .position = 5});
  record.on_event(committed(50, 5));
  record.on_event({.kind = EventKind::deleted, .position = 6});
  record.on_event({.kind = EventKind::deleted, .position = 4});
  record.on_event(committed(52, 6));
  EXPECT_EQ(Json(record.ids()), Json({50, 51, 52}));
}

TEST(TextRecord, HashesTheLinesThatItWrites) {
  const std::string path = std::filesystem::path(testing::TempDir()) / "plm_trace.jsonl";
  const TokenTrace trace{.id = 49, .random = 0.25};
  std::string hash, other;
  {
    const auto file = TraceFile::create(path).value();
    TextRecord record(vocabulary(), file.get());
    record.on_event(committed(49, 3, &trace));
    record.on_event({.kind = EventKind::deleted, .position = 3});
    ASSERT_TRUE(file->close().has_value());
    hash = record.finish().trace_sha256;
    TextRecord shorter(vocabulary(), nullptr);
    shorter.on_event(committed(49, 3, &trace));
    other = shorter.finish().trace_sha256;
  }
  std::ifstream stream(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(stream)), std::istreambuf_iterator<char>());
  Sha256 expected;
  expected.add(text);
  EXPECT_EQ(hash, expected.finish());
  EXPECT_NE(hash, other);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
  std::filesystem::remove(path);
}

TEST(TraceFile, TellsWhatCannotBeWritten) {
  EXPECT_EQ(TraceFile::create("/no/such/folder/x").error().kind, ErrorKind::failed);
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP();
  const auto file = TraceFile::create("/dev/full").value();
  file->write(std::string(100'000, 'x'));
  EXPECT_EQ(file->close().error().kind, ErrorKind::failed);
}

}  // namespace
}  // namespace plm
