// The op table, and shape arithmetic that every rule needs.
#include "core/op.hpp"

#include "base/status.hpp"
#include "ops/rules.hpp"

namespace mx {
namespace {

#define MX_RULE_view(name) &rules::view_##name
#undef MX_RULE_constant
#undef MX_RULE_elementwise
#undef MX_RULE_reduce
#undef MX_RULE_library
#undef MX_RULE_call
#define MX_RULE_constant(name) nullptr
#define MX_RULE_elementwise(name) nullptr
#define MX_RULE_reduce(name) nullptr
#define MX_RULE_library(name) nullptr
#define MX_RULE_call(name) nullptr

constexpr OpInfo table[] = {
#define MX_OP(name, kind, schema) {#name, OpKind::kind, schema, &rules::infer_##name, MX_RULE_##kind(name)},
#include "ops/ops.def"
#undef MX_OP
};

}  // namespace

const OpInfo &info(OpCode op) noexcept { return table[static_cast<size_t>(op)]; }

std::string to_string(std::span<const int64_t> shape) {
  std::string text = "(";
  for (size_t i = 0; i < shape.size(); i++) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + (shape.size() == 1 ? ",)" : ")");
}

int64_t element_count(std::span<const int64_t> shape) {
  int64_t n = 1;
  bool overflow = false;
  for (int64_t size : shape) {
    if (size == 0) return 0;
    overflow |= __builtin_mul_overflow(n, size, &n);
  }
  if (overflow) fail(MX_ERROR_OVERFLOW, "shape %s has too many elements", to_string(shape).c_str());
  return n;
}

int64_t byte_count(const Spec &spec) {
  int64_t bytes;
  if (__builtin_mul_overflow(element_count(spec.shape), itemsize(spec.dtype), &bytes))
    fail(MX_ERROR_OVERFLOW, "an array of shape %s and dtype %s has too many bytes", to_string(spec.shape).c_str(),
         name(spec.dtype));
  return bytes;
}

Dims row_major(std::span<const int64_t> shape, int64_t itemsize) {
  Dims strides(shape.size());
  int64_t stride = itemsize;
  for (size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= std::max<int64_t>(shape[i], 1);
  }
  return strides;
}

bool is_row_major(std::span<const int64_t> shape, std::span<const int64_t> strides, int64_t itemsize) noexcept {
  int64_t stride = itemsize;
  for (size_t i = shape.size(); i-- > 0;) {
    if (shape[i] == 0) return true;
    if (shape[i] != 1 && strides[i] != stride) return false;
    stride *= shape[i];
  }
  return true;
}

Dims broadcast_shapes(std::span<const int64_t> a, std::span<const int64_t> b, const char *op) {
  Dims out(std::max(a.size(), b.size()));
  for (size_t i = 1; i <= out.size(); i++) {
    const int64_t x = i <= a.size() ? a[a.size() - i] : 1, y = i <= b.size() ? b[b.size() - i] : 1;
    if (x != y && x != 1 && y != 1)
      fail(MX_ERROR_SHAPE, "%s: shapes %s and %s cannot be broadcast", op, to_string(a).c_str(), to_string(b).c_str());
    out[out.size() - i] = x == 1 ? y : x;
  }
  return out;
}

int normalize_axis(int64_t axis, size_t n_dims, const char *op) {
  const int64_t n = static_cast<int64_t>(n_dims);
  if (axis < -n || axis >= n)
    fail(MX_ERROR_AXIS, "%s: axis %lld is out of range for an array of %zu dimensions", op,
         static_cast<long long>(axis), n_dims);
  return static_cast<int>(axis < 0 ? axis + n : axis);
}

}  // namespace mx
