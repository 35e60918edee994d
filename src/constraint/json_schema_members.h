// The members that an object may have, sorted by name, and the automaton for objects that must count or remember them.
// Tested by tests/constraint/test_json_schema_object.cpp.
#pragma once

#include <cstddef>
#include <vector>

#include "constraint/json_schema_writer.h"

namespace plm {

struct ObjectMembers {
  struct Member {
    Regular name = Regular::nothing;  ///< with quotation marks
    SchemaTerms terms;                ///< of the value
    std::vector<std::size_t> some;    ///< which of ObjectRule::some this may fulfil
    bool required = false;
    bool undeclared = false;  ///< required, but no `properties` gives it a place
  };
  std::vector<Member> named;   ///< each at most once, in this order
  std::vector<Member> others;  ///< classes of all other names
};

/// Name, colon and a value that fits `terms`.
Result<Part> write_member(SchemaWriter& writer, const ObjectMembers::Member& member, const SchemaTerms& terms);

/// An object as an automaton over members. Errors: no_room (too many states), after leniently dropping what counts.
Result<Part> write_counted_object(SchemaWriter& writer, const ObjectRule& rule, const ObjectMembers& members,
                                  SchemaId origin);

}  // namespace plm
