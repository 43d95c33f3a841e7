// The safetensors format (github.com/huggingface/safetensors, README "Format"): the length of a JSON header as a
// little-endian uint64, the header, and the tensors without gaps. Relies on json.hpp, source.hpp and sink.hpp.
#pragma once
#include <span>
#include <string_view>

#include "io/archive.hpp"
#include "io/source.hpp"

namespace mx::io {

// Throws IO or OVERFLOW unless every byte of the file is accounted for once. F8_E4M3 is read as uint8, as in MLX.
Contents read_safetensors(const Ref<Storage> &storage);

struct SafetensorsLayout {
  std::string header;         // with its length in front
  std::vector<size_t> order;  // in which the tensors follow: the reference implementation's, large items first
};

// Names and keys must be distinct. Throws OVERFLOW.
SafetensorsLayout safetensors_layout(std::span<const std::string_view> names, std::span<const Spec> specs,
                                     std::span<const std::pair<std::string_view, std::string_view>> metadata);

}  // namespace mx::io
