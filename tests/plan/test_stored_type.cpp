#include "plan/stored_type.h"

#include "plan/parameter_counting.h"
#include "plan_cases.h"
#include "tensor/storage_type.h"

namespace plm {
namespace {

TEST(StoredType, EveryTypeOfTheCases) {
  PLM_NEEDS_PLAN_CASES();
  const auto cases = plan_cases("row_bytes");
  EXPECT_EQ(cases.size(), 38U);
  for (const Json& one : cases) {
    SCOPED_TRACE(one["id"]);
    const auto type = find_stored_type(one["type"].get<std::string>());
    ASSERT_TRUE(type.has_value()) << type.error().message;
    const auto bytes = stored_bytes(*type, one["elements"]);
    if (one["expect"].contains("error")) {
      EXPECT_FALSE(bytes.has_value());
      continue;
    }
    EXPECT_EQ(bytes.value(), one["expect"]["bytes"]);
    if (!one["expect"].contains("bits_per_weight")) continue;
    EXPECT_DOUBLE_EQ(type->bits(), one["expect"]["bits_per_weight"].get<double>());
  }
}

TEST(StoredType, MatricesAndWholeModelsOfTheCases) {
  PLM_NEEDS_PLAN_CASES();
  for (const Json& one : plan_cases("matrix_bytes")) {
    const StoredType type = find_stored_type(one["type"].get<std::string>()).value();
    EXPECT_EQ(stored_bytes(type, one["cols"]).value() * one["rows"].get<std::uint64_t>(), one["expect"]["bytes"])
        << one["id"];
  }
  for (const Json& one : plan_cases("weights_uniform")) {
    const StoredType type = find_stored_type(one["type"].get<std::string>()).value();
    EXPECT_EQ(stored_bytes(type, count_parameters(plan_model(one["model"]))->stored).value(), one["expect"]["bytes"])
        << one["id"];
  }
  for (const Json& one : plan_cases("weights_mixed")) {
    std::uint64_t numbers = 0, bytes = 0;
    for (const Json& tensor : one["tensors"]) {
      const StoredType type = find_stored_type(tensor["type"].get<std::string>()).value();
      const std::uint64_t rows = tensor["rows"], columns = tensor["cols"];
      numbers += rows * columns;
      bytes += rows * stored_bytes(type, columns).value();
    }
    EXPECT_EQ(numbers, one["expect"]["elements"]);
    EXPECT_EQ(bytes, one["expect"]["bytes"]);
  }
}

TEST(StoredType, HeadsThatDoNotFillBlocksAreRefused) {
  PLM_NEEDS_PLAN_CASES();
  for (const Json& one : plan_cases("kv_type_check")) {
    const StoredType type = find_stored_type(one["type"].get<std::string>()).value();
    EXPECT_EQ(stored_bytes(type, one["head_dim"]).has_value(), one["expect"].contains("ok")) << one["id"];
  }
}

TEST(StoredType, AgreesWithTheTypesThatCompute) {
  for (const StorageType* type : storage_types()) {
    const auto found = find_stored_type(type->name());
    ASSERT_TRUE(found.has_value()) << type->name();
    EXPECT_EQ(found->block_numbers, type->block_size) << type->name();
    EXPECT_EQ(found->block_bytes, type->block_bytes) << type->name();
  }
}

TEST(StoredType, NamesInUse) {
  EXPECT_EQ(find_stored_type("Q4_K")->name, "q4_k");
  EXPECT_EQ(find_stored_type("float16")->name, "f16");
  const auto none = find_stored_type("q9");
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().kind, ErrorKind::usage);
  EXPECT_NE(none.error().message.find("q4_k"), std::string::npos);
}

}  // namespace
}  // namespace plm
