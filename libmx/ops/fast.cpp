// Norms, rotary embedding and attention: builders and inference rules.
#include "ops/fast.hpp"

#include "ops/binary.hpp"
#include "ops/kinds.hpp"
#include "ops/rules.hpp"
#include "ops/unary.hpp"

namespace mx::ops {

Value layer_norm(const Value &x, const Value *weight, const Value *bias, double eps, const StreamRef &s) {
  DType d = dtype_of(x);
  for (const Value *v : {weight, bias})
    if (v) d = promote(d, dtype_of(*v));
  SmallVector<Value, 2> inputs{astype(x, d, s)};
  for (const Value *v : {weight, bias})
    if (v) inputs.push_back(astype(*v, d, s));
  return make(OpCode::layer_norm, Attrs().put(eps).put(weight != nullptr).put(bias != nullptr), std::move(inputs), s);
}

Value rms_norm(const Value &x, const Value *weight, double eps, const StreamRef &s) {
  const DType d = weight ? promote(dtype_of(x), dtype_of(*weight)) : dtype_of(x);
  SmallVector<Value, 2> inputs{astype(x, d, s)};
  if (weight) inputs.push_back(astype(*weight, d, s));
  return make(OpCode::rms_norm, Attrs().put(eps).put(weight != nullptr), std::move(inputs), s);
}

Value rope(const Value &x, const Rope &options, const Value &offset, const Value *freqs, const StreamRef &s) {
  if (!is_integer(dtype_of(offset))) bad_dtype("rope", dtype_of(offset), "integers as an offset");
  SmallVector<Value, 2> inputs{x, astype(offset, DType::int32, s)};
  if (freqs) inputs.push_back(astype(*freqs, DType::float32, s));
  Attrs attrs;
  attrs.put(options.dims).put(options.traditional).put(freqs ? 1.0 : options.base).put(options.scale);
  return make(OpCode::rope, std::move(attrs.put(freqs != nullptr)), std::move(inputs), s);
}

Value attention(const Value &q, const Value &k, const Value &v, const AttentionOptions &options, const StreamRef &s) {
  if (options.mask && options.causal)
    fail(MX_ERROR_INVALID_ARGUMENT, "scaled_dot_product_attention: a mask array and a causal mask");
  const Value qkv[] = {q, k, v};
  const DType d = joint_dtype(qkv);
  SmallVector<Value, 2> inputs;
  for (const Value &x : qkv) inputs.push_back(astype(x, d, s));
  MaskKind kind = options.causal ? MaskKind::causal : MaskKind::none;
  if (options.mask) {
    kind = MaskKind::array;
    const DType mask = dtype_of(*options.mask);
    if (mask != DType::bool_ && promote(mask, d) != d)
      fail(MX_ERROR_DTYPE, "scaled_dot_product_attention: a mask of %s does not promote to %s", name(mask), name(d));
    inputs.push_back(mask == DType::bool_ ? *options.mask : astype(*options.mask, d, s));
  }
  if (options.sinks) inputs.push_back(astype(*options.sinks, d, s));
  Attrs attrs;
  attrs.put(options.scale).put(static_cast<int64_t>(kind)).put(options.sinks != nullptr);
  return make(OpCode::attention, std::move(attrs), std::move(inputs), s);
}

}  // namespace mx::ops

namespace mx::rules {
namespace {

// The checks of a norm over the last axis; `n` operands follow x, each as long as that axis.
void norm(Specs in, Outs &out, size_t n, const char *op) {
  need_inputs(in, 1 + n, 1 + n, op);
  need_same_dtype(in, 0, op);
  need_dtype(is_floating(in[0]->dtype), in[0]->dtype, op, "floating dtypes");
  if (in[0]->shape.empty()) fail(MX_ERROR_SHAPE, "%s: a 0-d array has no last axis", op);
  for (const Spec *scale : in.subspan(1))
    if (scale->shape.size() != 1 || scale->shape[0] != in[0]->shape.back())
      fail(MX_ERROR_SHAPE, "%s: a weight or bias of shape %s for an array of shape %s", op,
           to_string(scale->shape).c_str(), to_string(in[0]->shape).c_str());
  out.push_back(*in[0]);
}

constexpr char attention_name[] = "scaled_dot_product_attention";

void need_attention_shapes(const Dims &q, const Dims &k, const Dims &v) {
  const bool ranks = q.size() == 4 && k.size() == 4 && v.size() == 4;
  const bool ok = ranks && q[0] == k[0] && q[0] == v[0] && k[1] == v[1] && k[2] == v[2] && q[3] == k[3] &&
                  (k[1] == 0 ? q[1] == 0 : q[1] % k[1] == 0);
  if (!ok)
    fail(MX_ERROR_SHAPE, "%s: shapes q %s, k %s, v %s do not fit", attention_name, to_string(q).c_str(),
         to_string(k).c_str(), to_string(v).c_str());
}

}  // namespace

void infer_layer_norm(const Attrs &attrs, Specs in, Outs &out) {
  AttrReader reader(attrs);
  reader.real();
  const size_t weight = reader.boolean(), bias = reader.boolean();
  norm(in, out, weight + bias, "layer_norm");
}

void infer_rms_norm(const Attrs &attrs, Specs in, Outs &out) {
  AttrReader reader(attrs);
  reader.real();
  norm(in, out, reader.boolean(), "rms_norm");
}

void infer_rope(const Attrs &attrs, Specs in, Outs &out) {
  AttrReader reader(attrs);
  const int64_t dims = reader.integer();
  reader.boolean(), reader.real(), reader.real();
  const bool freqs = reader.boolean();
  need_inputs(in, freqs ? 3 : 2, freqs ? 3 : 2, "rope");
  const Dims &shape = in[0]->shape, &offset = in[1]->shape;
  need_dtype(is_floating(in[0]->dtype), in[0]->dtype, "rope", "floating dtypes");
  need_dtype(is_integer(in[1]->dtype), in[1]->dtype, "rope", "integers as an offset");
  if (shape.size() < 3)
    fail(MX_ERROR_SHAPE, "rope: the array has shape %s, but it needs 3 dimensions", to_string(shape).c_str());
  if (dims <= 0 || dims % 2 != 0 || dims > shape.back())
    fail(MX_ERROR_INVALID_ARGUMENT, "rope: %lld dims of shape %s must be even, positive and fit the last axis",
         static_cast<long long>(dims), to_string(shape).c_str());
  if (!offset.empty() && !(offset.size() == 1 && (offset[0] == shape[0] || offset[0] == 1)))
    fail(MX_ERROR_SHAPE, "rope: an offset of shape %s for an array of shape %s", to_string(offset).c_str(),
         to_string(shape).c_str());
  if (freqs && in[2]->shape != Dims{dims / 2})
    fail(MX_ERROR_SHAPE, "rope: freqs of shape %s for %lld dims", to_string(in[2]->shape).c_str(),
         static_cast<long long>(dims));
  out.push_back(*in[0]);
}

void infer_attention(const Attrs &attrs, Specs in, Outs &out) {
  AttrReader reader(attrs);
  reader.real();
  const int64_t kind = reader.integer();
  const size_t sinks = reader.boolean(), mask = kind == static_cast<int64_t>(MaskKind::array);
  if (kind < 0 || kind > static_cast<int64_t>(MaskKind::causal))
    fail(MX_ERROR_INVALID_ARGUMENT, "%s: no mask kind %lld", attention_name, static_cast<long long>(kind));
  need_inputs(in, 3 + mask + sinks, 3 + mask + sinks, attention_name);
  need_same_dtype(in.first(3), 0, attention_name);
  need_dtype(is_floating(in[0]->dtype), in[0]->dtype, attention_name, "floating dtypes");
  const Dims &q = in[0]->shape, &k = in[1]->shape, &v = in[2]->shape;
  need_attention_shapes(q, k, v);
  if (mask) need_broadcastable(in[3]->shape, Dims{q[0], q[1], q[2], k[2]}, attention_name);
  if (sinks && in[3 + mask]->shape != Dims{q[1]})
    fail(MX_ERROR_SHAPE, "%s: sinks of shape %s for %lld heads", attention_name, to_string(in[3 + mask]->shape).c_str(),
         static_cast<long long>(q[1]));
  put_spec(out, in[0]->dtype, Dims{q[0], q[1], q[2], v[3]}, attention_name);
}

}  // namespace mx::rules
