// The npy format, versions 1.0 to 3.0 (NumPy Enhancement Proposal 1 and numpy.lib.format): a magic, a header that is
// the text of a Python dict, and the elements. Relies on source.hpp.
#pragma once
#include <string>

#include "core/op.hpp"
#include "io/source.hpp"

namespace mx::io {

// bfloat16 is written as NumPy writes ml_dtypes' bfloat16 and as MLX does: two raw bytes, '<V2'.
struct NpyHeader {
  Spec spec;
  bool fortran = false;      // elements lie in column-major order
  bool swap = false;         // bytes have the other order than this machine's
  uint64_t data_offset = 0;  // where the elements begin
  uint64_t data_bytes = 0;
};

// Reads and checks the header, and that the source is long enough for the elements. Throws IO or OVERFLOW.
NpyHeader read_npy_header(const Source &source);

// What goes before the row-major elements, byte for byte as NumPy writes it (version 1.0).
std::string npy_header(const Spec &spec);

// The bytes of an array of a file. `what` is its name for messages. Throws OVERFLOW when they, or the strides of an
// empty array, do not fit 63 bits.
uint64_t checked_bytes(const Source &source, const std::string &what, const Spec &spec);

}  // namespace mx::io
