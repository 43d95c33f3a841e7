// The op interface: what every op must say about itself. One table, filled from ops/ops.def.
#pragma once
#include <span>
#include <string>

#include "base/dtype.hpp"
#include "base/small_vector.hpp"
#include "core/attrs.hpp"

namespace mx {

enum class OpCode : uint16_t {
#define MX_OP(name, kind, schema) name,
#include "ops/ops.def"
#undef MX_OP
  count_
};

enum class OpKind : uint8_t {
  constant,     // no inputs, value known from attributes
  elementwise,  // one loop over the broadcast shape of the inputs; fuses
  reduce,       // fuses with its elementwise producers
  view,         // strides only where the input's layout allows it, else a copy
  library,      // a kernel of its own
  call          // a compiled entry
};

// What is known about an array before it has a value.
struct Spec {
  DType dtype = DType::float32;
  Dims shape;
  bool operator==(const Spec &) const noexcept = default;
};

// Where the elements of a value lie inside its buffer, in bytes.
struct Layout {
  Dims strides;
  int64_t offset = 0;
};

struct OpInfo {
  const char *name;
  OpKind kind;
  const char *schema;
  // Appends the specs of the outputs; throws Error (SHAPE, DTYPE, AXIS ...) that names the op and both shapes. Must
  // work for any input shapes: a shapeless trace is replayed through it.
  void (*infer)(const Attrs &, std::span<const Spec *const> in, SmallVector<Spec, 1> &out);
  // view ops: the layout of the output on the input's buffer; false if a copy is needed. nullptr for other ops.
  bool (*view)(const Attrs &, const Spec &in, const Layout &layout, const Spec &out, Layout &view);
};

const OpInfo &info(OpCode op) noexcept;

// Shape helpers shared by the rules.
int64_t element_count(std::span<const int64_t> shape);  // throws OVERFLOW
int64_t byte_count(const Spec &spec);                   // throws OVERFLOW
Dims row_major(std::span<const int64_t> shape, int64_t itemsize);
bool is_row_major(std::span<const int64_t> shape, std::span<const int64_t> strides, int64_t itemsize) noexcept;
Dims broadcast_shapes(std::span<const int64_t> a, std::span<const int64_t> b, const char *op);  // throws SHAPE
int normalize_axis(int64_t axis, size_t n_dims, const char *op);                                // throws AXIS
std::string to_string(std::span<const int64_t> shape);                                          // "(2, 3)"

}  // namespace mx
