// Derivatives of an op through an equal composition of others.
#pragma once
#include "transforms/rule.hpp"

namespace mx {
// A value of its own that is another by what it holds: costs nothing when it is computed.
Value alias_of(const Value &value);
}  // namespace mx

namespace mx::transforms {

// Gives the inputs of a step with one output what they get through `compose`, which makes that output of aliases of
// them.
void through_composition(Step &t, Value (*compose)(const Step &t, Values inputs));

}  // namespace mx::transforms
