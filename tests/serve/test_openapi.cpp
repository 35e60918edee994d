#include "serve/openapi.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "serve/dialect.h"

namespace plm {
namespace {

TEST(Openapi, HasEveryRouteAndField) {
  const Json document = openapi_document("1.2");
  EXPECT_EQ(document["info"]["version"], "1.2");
  for (const Dialect* dialect : dialects()) {
    for (const Route& route : dialect->routes) {
      std::string path(route.path);
      if (path.ends_with("{}")) path.insert(path.size() - 1, "name");
      const std::string method = route.method == "GET" ? "get" : "post";
      ASSERT_TRUE(document["paths"].contains(path)) << path;
      ASSERT_TRUE(document["paths"][path].contains(method)) << path;
      if (route.fields.empty()) continue;
      const Json& properties =
          document["paths"][path][method]["requestBody"]["content"]["application/json"]["schema"]["properties"];
      for (const FieldTable table : route.fields) {
        for (const Field& field : table()) {
          EXPECT_EQ(properties.contains(std::string(field.name)), field.use != FieldUse::is_ignored) << field.name;
        }
      }
    }
  }
  const Json& completion = document["paths"]["/v1/completions"]["post"]["requestBody"]["content"]["application/json"];
  EXPECT_EQ(completion["schema"]["properties"]["min_p"]["maximum"], 1.0);
  EXPECT_TRUE(completion["schema"]["properties"].contains("n_predict")) << "aliases too";
}

}  // namespace
}  // namespace plm
