// What evaluating some values would do, as text and as a drawing. Nothing is computed or claimed.
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "core/node.hpp"
#include "eval/callable.hpp"

namespace mx {

// The program of each region below the values, in the order in which they would run. Throws TRACE as eval does.
std::string explain(std::span<const Value> values);

// The program that a callable would run on these inputs.
std::string explain(Callable &callable, std::span<const Value> inputs);

// The graph below the values in the DOT language: a box for each op, or for each unit of a compiled call, and the
// values between them. names[i] is the name of values[i]; "" and those of all other values are made up: A, B ... Z, AA.
std::string draw(std::span<const Value> values, std::span<const std::string_view> names);

}  // namespace mx
