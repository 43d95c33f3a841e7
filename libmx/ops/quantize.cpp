// Packed matrices: builders and inference rules.
#include "ops/quantize.hpp"

#include <algorithm>

#include "ops/rules.hpp"
#include "ops/unary.hpp"

namespace mx::ops {
namespace {

struct ModeInfo {
  const char *name;
  int64_t group, bits;
};
constexpr ModeInfo modes[] = {{"affine", 64, 4}, {"mxfp4", 32, 4}, {"mxfp8", 32, 8}, {"nvfp4", 16, 4}};

bool is_narrow_floating(DType d) noexcept { return d == DType::float32 || d == DType::float16 || d == DType::bfloat16; }

constexpr char wanted[] = "float16, bfloat16 and float32";

void check_global_scale(const Value *scale, const Quantization &q, const char *op) {
  if (!scale) return;
  if (q.mode != QuantMode::nvfp4)
    fail(MX_ERROR_INVALID_ARGUMENT, "%s: a global_scale is for mode nvfp4, not for %s", op,
         modes[static_cast<size_t>(q.mode)].name);
  if (dtype_of(*scale) != DType::float32) bad_dtype(op, dtype_of(*scale), "float32 as a global_scale");
  if (element_count(shape_of(*scale)) != 1)
    fail(MX_ERROR_SHAPE, "%s: global_scale must have one element, but its shape is %s", op,
         to_string(shape_of(*scale)).c_str());
}

Attrs attrs_of(const Quantization &q, bool scaled) {
  Attrs attrs;
  attrs.put(static_cast<int64_t>(q.mode)).put(q.group).put(q.bits).put(scaled);
  return attrs;
}

// Biases of the scales' dtype; throws unless all operands are there that the mode has, and no others.
Value check_packed(const PackedMatrix &w, const Quantization &q, const char *op, const StreamRef &s) {
  const char *const mode = modes[static_cast<size_t>(q.mode)].name;
  check_global_scale(w.global_scale, q, op);
  if (dtype_of(w.codes) != DType::uint32) bad_dtype(op, dtype_of(w.codes), "uint32 as packed codes");
  const DType scales = dtype_of(w.scales);
  if (q.mode != QuantMode::affine) {
    if (w.biases) fail(MX_ERROR_INVALID_ARGUMENT, "%s: mode %s has no biases", op, mode);
    if (scales != DType::uint8)
      fail(MX_ERROR_DTYPE, "%s: scales of mode %s must be uint8, not %s", op, mode, name(scales));
    return {};
  }
  if (!w.biases) fail(MX_ERROR_INVALID_ARGUMENT, "%s: mode affine needs biases", op);
  for (const Value *v : {&w.scales, w.biases})
    if (!is_narrow_floating(dtype_of(*v)))
      fail(MX_ERROR_DTYPE, "%s: scales and biases must be floating, not %s", op, name(dtype_of(*v)));
  return dtype_of(*w.biases) == scales ? *w.biases : astype(*w.biases, promote(dtype_of(*w.biases), scales), s);
}

// The operands of a packed matrix, in the order of the op table.
void put_packed(ValueVector &inputs, const PackedMatrix &w, const Quantization &q, const char *op, const StreamRef &s) {
  const Value biases = check_packed(w, q, op, s);
  inputs.push_back(w.codes);
  inputs.push_back(biases.node ? astype(w.scales, dtype_of(biases), s) : w.scales);
  if (biases.node) inputs.push_back(biases);
  if (w.global_scale) inputs.push_back(*w.global_scale);
}

// The dtype of a product; throws if there is none.
DType product_dtype(const Value &x, const PackedMatrix &w, const Quantization &q, const char *op) {
  DType d = dtype_of(x);
  if (q.mode == QuantMode::affine) d = promote(promote(d, dtype_of(w.scales)), dtype_of(*w.biases));
  if (!is_narrow_floating(d)) bad_dtype(op, d, wanted);
  return d;
}

Value row(const Value &x, const StreamRef &s) { return rank_of(x) == 1 ? expand_dims(x, Dims{0}, s) : x; }

void check_pair(const QuantizedPair &p, const Quantization &q, const char *op) {
  if (q.mode == QuantMode::affine)
    fail(MX_ERROR_INVALID_ARGUMENT, "%s: the modes are mxfp4, mxfp8 and nvfp4, not affine", op);
  if (!is_narrow_floating(dtype_of(p.x))) bad_dtype(op, dtype_of(p.x), wanted);
  if (!p.global_x != !p.global_w)
    fail(MX_ERROR_INVALID_ARGUMENT, "%s: global_scale_x and global_scale_w must be given both, or none", op);
  check_global_scale(p.global_x, q, op);
  check_global_scale(p.global_w, q, op);
  const bool is_packed = dtype_of(p.w) == DType::uint32;
  if (is_packed && !p.scales) fail(MX_ERROR_INVALID_ARGUMENT, "%s: w is packed, but there are no scales", op);
  if (!is_packed && p.scales)
    fail(MX_ERROR_INVALID_ARGUMENT, "%s: scales are given, but w is %s, not packed", op, name(dtype_of(p.w)));
  if (!is_packed && !is_narrow_floating(dtype_of(p.w)))
    bad_dtype(op, dtype_of(p.w), "uint32, float16, bfloat16 and float32");
}

// x after it was quantized, in float32.
Value rounded(const Value &x, const Quantization &q, const Value *global_scale, const StreamRef &s) {
  const ValueList parts = quantize(x, q, global_scale, s);
  return dequantize({parts[0], parts[1], nullptr, global_scale}, q, DType::float32, s);
}

PackedMatrix packed_right(const QuantizedPair &p, const Quantization &q, const StreamRef &s) {
  if (p.scales) return {p.w, *p.scales, nullptr, p.global_w};
  const ValueList parts = quantize(p.w, q, p.global_w, s);
  return {parts[0], parts[1], nullptr, p.global_w};
}

}  // namespace

Quantization quantization(mx_quant_mode mode, int64_t group_size, int64_t bits, const char *op) {
  if (mode < MX_QUANT_AFFINE || mode > MX_QUANT_NVFP4)
    fail(MX_ERROR_INVALID_ARGUMENT, "%s: no quantization mode %d", op, static_cast<int>(mode));
  const ModeInfo &info = modes[mode];
  const Quantization q{static_cast<QuantMode>(mode), group_size == 0 ? info.group : group_size,
                       bits == 0 ? info.bits : bits};
  const auto is_one_of = [](int64_t x, std::initializer_list<int64_t> all) {
    return std::find(all.begin(), all.end(), x) != all.end();
  };
  const bool affine = q.mode == QuantMode::affine;
  if (affine ? !is_one_of(q.group, {32, 64, 128}) : q.group != info.group)
    fail(MX_ERROR_INVALID_ARGUMENT, "%s: group_size must be %s in mode %s, not %lld", op,
         affine                       ? "32, 64 or 128"
         : q.mode == QuantMode::nvfp4 ? "16"
                                      : "32",
         info.name, static_cast<long long>(q.group));
  if (affine ? !is_one_of(q.bits, {2, 3, 4, 5, 6, 8}) : q.bits != info.bits)
    fail(MX_ERROR_INVALID_ARGUMENT, "%s: bits must be %s in mode %s, not %lld", op,
         affine                       ? "2, 3, 4, 5, 6 or 8"
         : q.mode == QuantMode::mxfp8 ? "8"
                                      : "4",
         info.name, static_cast<long long>(q.bits));
  return q;
}

ValueList quantize(const Value &w, const Quantization &q, const Value *global_scale, const StreamRef &s) {
  check_global_scale(global_scale, q, "quantize");
  ValueVector inputs{w};
  if (global_scale) inputs.push_back(*global_scale);
  return outputs_of(make(OpCode::quantize, attrs_of(q, global_scale != nullptr), std::move(inputs), s));
}

Value dequantize(const PackedMatrix &w, const Quantization &q, DType dtype, const StreamRef &s) {
  ValueVector inputs;
  put_packed(inputs, w, q, "dequantize", s);
  return make(OpCode::dequantize, attrs_of(q, w.global_scale != nullptr).put(dtype), std::move(inputs), s);
}

Value quantized_matmul(const Value &x, const PackedMatrix &w, const Quantization &q, const StreamRef &s) {
  ValueVector packed;
  put_packed(packed, w, q, "quantized_matmul", s);
  ValueVector inputs{astype(row(x, s), product_dtype(x, w, q, "quantized_matmul"), s)};
  for (const Value &v : packed) inputs.push_back(v);
  Attrs attrs = attrs_of(q, w.global_scale != nullptr);
  const Value out = make(OpCode::quantized_matmul, std::move(attrs.put(w.transpose)), std::move(inputs), s);
  return rank_of(x) == 1 ? squeeze(out, List(Dims{-2}), s) : out;
}

Value gather_qmm(const Value &x, const PackedMatrix &w, const Quantization &q, const Picked &picked,
                 const StreamRef &s) {
  if (!picked.lhs && !picked.rhs) return quantized_matmul(x, w, q, s);
  ValueVector packed;
  put_packed(packed, w, q, "gather_qmm", s);
  ValueVector inputs{astype(x, product_dtype(x, w, q, "gather_qmm"), s)};
  for (const Value &v : packed) inputs.push_back(v);
  for (const Value *v : {picked.lhs, picked.rhs})
    if (v) inputs.push_back(*v);
  Attrs attrs = attrs_of(q, w.global_scale != nullptr);
  attrs.put(w.transpose).put(picked.lhs != nullptr).put(picked.rhs != nullptr);
  return make(OpCode::gather_qmm, std::move(attrs), std::move(inputs), s);
}

Value qqmm(const QuantizedPair &pair, const Quantization &q, const StreamRef &s) {
  check_pair(pair, q, "qqmm");
  const Value x = rounded(row(pair.x, s), q, pair.global_x, s);
  const Value out = astype(quantized_matmul(x, packed_right(pair, q, s), q, s), dtype_of(pair.x), s);
  return rank_of(pair.x) == 1 ? squeeze(out, List(Dims{-2}), s) : out;
}

Value gather_qqmm(const QuantizedPair &pair, const Quantization &q, const Picked &picked, const StreamRef &s) {
  if (!picked.lhs && !picked.rhs) return qqmm(pair, q, s);
  check_pair(pair, q, "gather_qqmm");
  const Value x = rounded(pair.x, q, pair.global_x, s);
  return astype(gather_qmm(x, packed_right(pair, q, s), q, picked, s), dtype_of(pair.x), s);
}

}  // namespace mx::ops

namespace mx::rules {
namespace {

// What the attributes say; throws for what no builder makes, as they may come from a file.
struct Packed {
  ops::Quantization q;
  bool scaled;
  size_t operands;  // of a packed matrix
  Packed(AttrReader &reader, const char *op)
      : q(ops::quantization(static_cast<mx_quant_mode>(reader.integer()), 0, 0, op)) {
    const int64_t group = reader.integer(), bits = reader.integer();
    if (group <= 0 || bits <= 0) fail(MX_ERROR_INVALID_ARGUMENT, "%s: no group_size or no bits", op);
    q = ops::quantization(static_cast<mx_quant_mode>(q.mode), group, bits, op);
    scaled = reader.boolean();
    operands = size_t{2} + (q.mode == QuantMode::affine) + scaled;
  }
};

void need_floating(DType d, const char *op) {
  need_dtype(d == DType::float32 || d == DType::float16 || d == DType::bfloat16, d, op,
             "float16, bfloat16 and float32");
}

bool same_but_last(const Dims &a, const Dims &b) noexcept {
  return a.size() == b.size() && std::equal(a.begin(), a.end() - 1, b.begin());
}

// The shape of the matrix behind the operands from `in` on; checks them.
Dims unpacked_shape(const Packed &p, Specs in, const char *op) {
  const Dims &codes = in[0]->shape, &scales = in[1]->shape;
  const bool affine = p.q.mode == QuantMode::affine;
  need_dtype(in[0]->dtype == DType::uint32, in[0]->dtype, op, "uint32 as packed codes");
  if (affine)
    need_floating(in[1]->dtype, op);
  else
    need_dtype(in[1]->dtype == DType::uint8, in[1]->dtype, op, "uint8 as scales");
  if (codes.size() < 2)
    fail(MX_ERROR_SHAPE, "%s: packed codes must have 2 dimensions or more, but their shape is %s", op,
         to_string(codes).c_str());
  if (affine && (in[2]->shape != scales || in[2]->dtype != in[1]->dtype))
    fail(MX_ERROR_SHAPE, "%s: scales of shape %s and biases of shape %s must be alike", op, to_string(scales).c_str(),
         to_string(in[2]->shape).c_str());
  if (!same_but_last(codes, scales) || codes.back() * 32 != scales.back() * p.q.group * p.q.bits)
    fail(MX_ERROR_SHAPE,
         "%s: packed codes of shape %s do not fit scales of shape %s with group_size %lld and %lld bits", op,
         to_string(codes).c_str(), to_string(scales).c_str(), static_cast<long long>(p.q.group),
         static_cast<long long>(p.q.bits));
  if (p.scaled) {
    const Spec &global = *in[p.operands - 1];
    need_dtype(global.dtype == DType::float32, global.dtype, op, "float32 as a global_scale");
    if (element_count(global.shape) != 1)
      fail(MX_ERROR_SHAPE, "%s: global_scale must have one element, but its shape is %s", op,
           to_string(global.shape).c_str());
  }
  Dims shape = codes;
  shape.back() = scales.back() * p.q.group;
  return shape;
}

// The last two axes of a product with a packed matrix, whose unpacked shape is `w`; checks x.
Dims product_matrix(const Spec &x, const Dims &w, bool transpose, const char *op) {
  need_floating(x.dtype, op);
  if (x.shape.size() < 2)
    fail(MX_ERROR_SHAPE, "%s: x must have 2 dimensions or more, but its shape is %s", op, to_string(x.shape).c_str());
  const int64_t rows = w[w.size() - 2], columns = w.back();
  if (x.shape.back() != (transpose ? columns : rows))
    fail(MX_ERROR_SHAPE, "%s: the last axis of x, of shape %s, must be %s of the matrix w, of shape %s unpacked", op,
         to_string(x.shape).c_str(), transpose ? "the columns" : "the rows", to_string(w).c_str());
  return {x.shape[x.shape.size() - 2], transpose ? rows : columns};
}

Dims batch_of(const Dims &shape) { return Dims(shape.begin(), shape.end() - 2); }

}  // namespace

void infer_quantize(const Attrs &attrs, Specs in, Outs &out) {
  AttrReader reader(attrs);
  const Packed p(reader, "quantize");
  need_inputs(in, 1 + p.scaled, 1 + p.scaled, "quantize");
  need_floating(in[0]->dtype, "quantize");
  const Dims &shape = in[0]->shape;
  if (shape.size() < 2)
    fail(MX_ERROR_SHAPE, "quantize: w must have 2 dimensions or more, but its shape is %s", to_string(shape).c_str());
  if (shape.back() % p.q.group != 0)
    fail(MX_ERROR_SHAPE, "quantize: the last axis of w, of shape %s, must be a multiple of group_size %lld",
         to_string(shape).c_str(), static_cast<long long>(p.q.group));
  if (p.scaled && (in[1]->dtype != DType::float32 || element_count(in[1]->shape) != 1))
    fail(MX_ERROR_SHAPE, "quantize: global_scale must be one float32");
  Dims codes = shape, scales = shape;
  codes.back() = shape.back() / 32 * p.q.bits + shape.back() % 32 * p.q.bits / 32;
  scales.back() = shape.back() / p.q.group;
  const bool affine = p.q.mode == QuantMode::affine;
  const DType scale_dtype = affine ? in[0]->dtype : DType::uint8;
  put_spec(out, DType::uint32, codes, "quantize");
  put_spec(out, scale_dtype, scales, "quantize");
  if (affine) put_spec(out, scale_dtype, scales, "quantize");
}

void infer_dequantize(const Attrs &attrs, Specs in, Outs &out) {
  AttrReader reader(attrs);
  const Packed p(reader, "dequantize");
  const DType dtype = reader.dtype();
  need_inputs(in, p.operands, p.operands, "dequantize");
  need_floating(dtype, "dequantize");
  put_spec(out, dtype, unpacked_shape(p, in, "dequantize"), "dequantize");
}

void infer_quantized_matmul(const Attrs &attrs, Specs in, Outs &out) {
  constexpr char op[] = "quantized_matmul";
  AttrReader reader(attrs);
  const Packed p(reader, op);
  const bool transpose = reader.boolean();
  need_inputs(in, 1 + p.operands, 1 + p.operands, op);
  const Dims w = unpacked_shape(p, in.subspan(1), op), matrix = product_matrix(*in[0], w, transpose, op);
  Dims shape = broadcast_shapes(batch_of(in[0]->shape), batch_of(w), op);
  for (int64_t size : matrix) shape.push_back(size);
  put_spec(out, in[0]->dtype, shape, op);
}

void infer_gather_qmm(const Attrs &attrs, Specs in, Outs &out) {
  constexpr char op[] = "gather_qmm";
  AttrReader reader(attrs);
  const Packed p(reader, op);
  const bool transpose = reader.boolean(), lhs = reader.boolean(), rhs = reader.boolean();
  const size_t first = 1 + p.operands;
  need_inputs(in, first + lhs + rhs, first + lhs + rhs, op);
  for (const Spec *index : in.subspan(first))
    need_dtype(is_integer(index->dtype), index->dtype, op, "integers as indices");
  const Dims w = unpacked_shape(p, in.subspan(1), op), matrix = product_matrix(*in[0], w, transpose, op);
  Dims shape =
      broadcast_shapes(lhs ? in[first]->shape : batch_of(in[0]->shape), rhs ? in[first + lhs]->shape : batch_of(w), op);
  for (int64_t size : matrix) shape.push_back(size);
  put_spec(out, in[0]->dtype, shape, op);
}

}  // namespace mx::rules
