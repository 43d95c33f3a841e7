// Writing arrays in the three formats to sinks. The arrays have their values: whoever calls this evaluates them.
#pragma once
#include <span>
#include <string_view>
#include <utility>

#include "core/node.hpp"
#include "io/sink.hpp"

namespace mx::io {

// Throw INVALID_ARGUMENT for names or keys that are not UTF-8, repeat, or whose number is not that
// of the arrays.
using Names = std::span<const std::string_view>;
using Metadata = std::span<const std::pair<std::string_view, std::string_view>>;
void write_npy(Sink &sink, const Value &x);
void write_npz(Sink &sink, Names names, std::span<const Value> xs, bool deflated);
void write_safetensors(Sink &sink, Names names, std::span<const Value> xs, Metadata metadata);

}  // namespace mx::io
