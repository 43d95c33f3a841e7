// From IR to tape: keeps the newest value in the accumulator and the others in slots, picks for each instruction the
// micro-op whose operands are where they are, and fuses pairs. Linear in the size of the code; relies on ir.cpp for the
// check of the code and on schedule.cpp for the order.
#include <algorithm>

#include "backends/cpu/loop/kernel.hpp"
#include "base/status.hpp"

namespace mx::loop {
namespace {

constexpr uint16_t no_value = 0xffff;

// A step whose operands are still symbolic.
struct Ref {
  enum Place : uint8_t { none, slot, stream, index, accumulator };
  Place place = none;
  uint16_t number = 0;
};
struct MicroOp {
  MicroOp(StepFn f = nullptr, Ref at_p = {}) : fn(f), p(at_p) {}
  StepFn fn;
  Ref p, q;
  int32_t s = -1, t = -1;  // numbers of scalars
  uint8_t simple = n_simple;
};

class Compiler {
 public:
  Compiler(const MicroOps &micro_ops, const Code &code)
      : code_(code), steps_(micro_ops), out_(std::make_shared<Kernel>()) {
    out_->micro_ops = &micro_ops;
    out_->n_operands = static_cast<uint16_t>(code.operands.size());
    out_->n_scalars = code.n_scalars;
    remaining_.resize(code.ins.size());
    homes_.resize(code.ins.size());
    scalar_numbers_.resize(code.ins.size(), -1);
  }

  KernelRef compile() {
    check(code_);
    const std::vector<uint16_t> order = schedule(code_);
    out_->code = code_;
    tape_.reserve(code_.ins.size() + 16);
    out_->scalars.reserve(code_.n_scalars);
    out_->streams.reserve(code_.operands.size());
    for (uint16_t v : order) {
      if (is_wide(code_.ins[v].type)) out_->wide = true;
      const Ins &ins = code_.ins[v];
      const uint16_t used[3] = {ins.a, ins.b, ins.c};
      for (int k = 0; k < arity(ins.op); k++) remaining_[used[k]]++;
    }
    for (size_t i = 0; i < order.size(); i++)
      if (!(i + 1 < order.size() && lower_scaled(order[i], order[i + 1])))
        lower(order[i]);
      else
        i++;
    fuse_pairs();
    emit(steps_.find(micro_end, 0, 0), 0);
    note_streams();
    make_steps();
    find_range();
    return std::move(out_);
  }

 private:
  const Ins &ins(uint16_t v) const { return code_.ins[v]; }
  uint8_t width() const { return out_->wide ? kind_u64 : kind_u32; }
  uint8_t width_of(DType type) const { return is_wide(type) ? kind_u64 : kind_u32; }

  void emit(MicroOp op, float ns) {
    if (!op.fn) fail(MX_ERROR_INTERNAL, "loop kernel: no micro-op for this instruction");
    tape_.push_back(op);
    out_->block_ns += ns;
  }
  // Measured, of a block on one core of a Zen 4.
  static constexpr float simple_ns = 2, math_ns = 40, power_ns = 200;
  float lanes_ns() const { return 12.f * static_cast<float>(out_->block_elements()); }

  // ---- where values are

  uint16_t new_slot() {
    if (free_slots_.empty()) return out_->n_slots++;
    const uint16_t slot = free_slots_.back();
    free_slots_.pop_back();
    return slot;
  }
  uint16_t stream_for(uint16_t operand, uint8_t part, bool is_output) {
    const DType type = code_.operands[operand];
    const uint8_t log2_size = static_cast<uint8_t>(storage_log2(storage_of(type)));
    const uint8_t offset = static_cast<uint8_t>(part << log2_size);
    for (size_t i = 0; i < out_->streams.size(); i++) {
      const Stream &s = out_->streams[i];
      if (s.operand == operand && s.offset == offset && s.is_output == is_output) return static_cast<uint16_t>(i);
    }
    out_->streams.push_back({operand, log2_size, offset, is_output, UINT32_MAX, 0});
    return static_cast<uint16_t>(out_->streams.size() - 1);
  }
  int32_t scalar_for(uint16_t v) {
    if (scalar_numbers_[v] < 0) {
      scalar_numbers_[v] = static_cast<int32_t>(out_->scalars.size());
      out_->scalars.push_back({ins(v).arg, ins(v).type});
    }
    return scalar_numbers_[v];
  }
  bool is_scalar(uint16_t v) const { return ins(v).op == Op::scalar; }

  void spill_accumulator() {
    if (current_ == no_value || homes_[current_].place != Ref::none || is_scalar(current_)) return;
    homes_[current_] = {Ref::slot, new_slot()};
    emit({steps_.find(micro_put, 0, 0), homes_[current_]}, simple_ns / 2);
  }
  // The accumulator is about to change; its value is stored if it is still needed.
  void release_accumulator() {
    if (current_ != no_value && remaining_[current_] > 0) spill_accumulator();
    current_ = no_value;
  }
  // Brings a value into the accumulator.
  void need(uint16_t v) {
    if (current_ == v) return;
    release_accumulator();
    if (is_scalar(v)) {
      MicroOp op{steps_.find(micro_get, width_of(ins(v).type), form_as)};
      op.s = scalar_for(v);
      emit(op, 1);
    } else {
      MicroOp op{steps_.find(micro_get, width(), form_am), homes_[v]};
      op.simple = simple_get_m;
      emit(op, simple_ns / 2);
    }
    current_ = v;
  }
  // Where in memory a value is, putting it there if need be.
  Ref memory(uint16_t v) {
    if (is_scalar(v) && homes_[v].place == Ref::none) {
      homes_[v] = {Ref::slot, out_->n_slots++};
      out_->constants.push_back({homes_[v].number, static_cast<uint16_t>(scalar_for(v))});
    }
    if (homes_[v].place == Ref::none) spill_accumulator();
    return homes_[v];
  }
  // After the operands are placed: counts their uses, saves the accumulator if it has more, frees dead slots.
  void consume(const Ins &ins) {
    const uint16_t used[3] = {ins.a, ins.b, ins.c};
    for (int k = 0; k < arity(ins.op); k++) {
      const uint16_t v = used[k];
      if (--remaining_[v] == 0 && homes_[v].place == Ref::slot && !is_scalar(v)) dying_.push_back(homes_[v].number);
    }
    release_accumulator();
    free_slots_.insert(free_slots_.end(), dying_.begin(), dying_.end());
    dying_.clear();
  }

  // ---- instructions

  void lower(uint16_t v) {
    const Ins &ins = code_.ins[v];
    switch (ins.op) {
      case Op::scalar:
        return;
      case Op::load:
        return lower_load(v);
      case Op::iota:
        return lower_iota(v);
      case Op::store:
        return lower_store(ins);
      case Op::cast:
        lower_cast(ins);
        break;
      case Op::select:
        lower_select(ins);
        break;
      case Op::fma:
        lower_fma(ins);
        break;
      default:
        if (is_reduction(ins.op)) return lower_reduction(ins);
        arity(ins.op) == 1 ? lower_unary(ins) : lower_binary(ins);
        if (is_narrow(ins.type) && !is_closed(ins.op, ins.type)) normalise(ins.type);
    }
    current_ = v;
  }

  void lower_load(uint16_t v) {
    const DType type = code_.ins[v].type;
    const Ref stream{Ref::stream, stream_for(code_.ins[v].arg, code_.ins[v].part, false)};
    // Memory that holds lanes as they are is an operand like a slot.
    if (storage_of(type) == (out_->wide ? in_b64 : in_b32)) {
      homes_[v] = stream;
      return;
    }
    release_accumulator();
    emit({steps_.find(micro_load, width(), storage_of(type)), stream}, simple_ns);
    current_ = v;
  }
  void lower_iota(uint16_t v) {
    const DType type = code_.ins[v].type;
    release_accumulator();
    size_t at = 0;
    while (at < out_->indices.size() && out_->indices[at] != code_.ins[v].arg) at++;
    if (at == out_->indices.size()) out_->indices.push_back(code_.ins[v].arg);
    emit({steps_.find(micro_index, width(), 0), {Ref::index, static_cast<uint16_t>(at)}}, simple_ns);
    if (width() != kind_of(type)) emit_cast(static_cast<Kind>(width()), kind_of(type));
    if (is_narrow(type)) normalise(type);
    current_ = v;
  }
  void lower_store(const Ins &ins) {
    const Storage held = storage_of(code_.operands[ins.arg]);
    need(ins.a);
    const Ref stream{Ref::stream, stream_for(ins.arg, ins.part, true)};
    const bool is_plain = held == (out_->wide ? in_b64 : in_b32);
    const Storage unsign = held == in_i8 ? in_u8 : held == in_i16 ? in_u16 : held;
    emit({is_plain ? steps_.find(micro_put, 0, 0) : steps_.find(micro_store, width(), unsign), stream}, simple_ns);
    finish_sink(ins.a);
  }
  void finish_sink(uint16_t a) {  // the accumulator keeps its value
    if (--remaining_[a] == 0 && homes_[a].place == Ref::slot && !is_scalar(a)) free_slots_.push_back(homes_[a].number);
  }
  void lower_reduction(const Ins &ins) {
    need(ins.a);
    const DType type = code_.ins[ins.a].type;
    emit({steps_.find(ins.op, kind_of(type), reduce_combine),
          {Ref::accumulator, static_cast<uint16_t>(out_->reductions.size())}},
         simple_ns);
    out_->reductions.push_back({ins.op, type, ins.arg});
    finish_sink(ins.a);
  }

  void normalise(DType type) { emit({steps_.find(micro_normalise, 0, storage_of(type))}, simple_ns); }
  void emit_cast(Kind from, Kind to) {
    const bool by_lane = from >= kind_f64 && to != from && !(from >= kind_i64 && to != kind_f32 && to != kind_f64);
    emit({steps_.find(Op::cast, from, to)}, by_lane ? lanes_ns() / 4 : simple_ns);
  }
  void lower_cast(const Ins &ins) {
    const DType from = code_.ins[ins.a].type, to = ins.type;
    need(ins.a);
    consume(ins);
    if (to == DType::bool_) {
      if (from != DType::bool_) emit({steps_.find(micro_to_bool, kind_of(from), 0)}, simple_ns);
      return;
    }
    if (from == DType::float64 && is_floating(to) && is_narrow(to))
      emit({steps_.find(micro_to_f32_odd, kind_f64, 0)}, simple_ns);
    else if (kind_of(from) != kind_of(to))
      emit_cast(kind_of(from), kind_of(to));
    if (is_narrow(to) && from != to && from != DType::bool_) normalise(to);
  }

  void lower_unary(const Ins &ins) {
    const Kind kind = kind_of(code_.ins[ins.a].type);
    need(ins.a);
    consume(ins);
    const bool is_math = ins.op >= Op::exp && ins.op <= Op::sigmoid;
    const bool by_lane = is_math && (kind == kind_f64 || ins.op == Op::tan || ins.op == Op::erfinv ||
                                     (ins.op >= Op::arcsin && ins.op <= Op::arctanh && ins.op != Op::tanh));
    emit({steps_.find(ins.op, kind, 0)}, by_lane ? lanes_ns() : is_math ? math_ns : simple_ns);
  }

  void lower_binary(const Ins &ins) {
    const DType type = code_.ins[ins.a].type;
    const Kind kind = kind_of(type);
    uint8_t base = 0;
    if (ins.op == Op::nextafter && is_narrow(type)) base = type == DType::float16 ? nextafter_f16 : nextafter_bf16;
    const bool takes_scalars = steps_.find(ins.op, kind, form_as) != nullptr && base == 0 && ins.op != Op::nextafter;
    MicroOp op{};
    uint8_t form;
    if (takes_scalars && is_scalar(ins.b)) {
      need(ins.a);
      form = form_as;
      op.s = scalar_for(ins.b);
      note_bound(ins, op.s);
    } else if (takes_scalars && is_scalar(ins.a)) {
      need(ins.b);
      form = form_sa;
      op.s = scalar_for(ins.a);
      note_bound(ins, op.s);
    } else if (current_ == ins.b && current_ != ins.a) {
      form = form_ma;
      op.p = memory(ins.a);
    } else {
      need(ins.a);
      form = form_am;
      op.p = memory(ins.b);
    }
    consume(ins);
    op.fn = steps_.find(ins.op, kind, static_cast<uint8_t>(base + form));
    op.simple = kind == kind_f32 ? simple_for(ins.op, form) : uint8_t{n_simple};
    const bool by_lane = ins.op == Op::remainder || ins.op == Op::power || ins.op >= Op::arctan2 ||
                         (ins.op == Op::floor_divide && !is_floating(type));
    const float by_lane_ns = ins.op == Op::power && kind == kind_f32 ? power_ns : lanes_ns();
    emit(op, by_lane && ins.op < Op::equal && ins.op != Op::copysign ? by_lane_ns : simple_ns);
  }
  void note_bound(const Ins &ins, int32_t scalar) {
    if ((ins.op == Op::minimum || ins.op == Op::maximum) && is_floating(ins.type))
      out_->bounds.push_back(static_cast<uint16_t>(scalar));
  }
  // A product v of a scalar and a value in memory, followed by its only use u beside the accumulator: one step.
  bool lower_scaled(uint16_t v, uint16_t u) {
    const Ins &product = ins(v), &use = ins(u);
    if (product.op != Op::multiply || product.type != DType::float32 || use.type != DType::float32 ||
        (use.op != Op::add && use.op != Op::subtract && use.op != Op::multiply) || remaining_[v] != 1 ||
        (use.a != v && use.b != v))
      return false;
    const uint16_t memory = is_scalar(product.b) ? product.a : product.b;
    const uint16_t scalar = is_scalar(product.b) ? product.b : product.a;
    const uint16_t other = use.a == v ? use.b : use.a;
    if (!is_scalar(scalar) || is_scalar(memory) || homes_[memory].place == Ref::none || other == v || other != current_)
      return false;
    uint8_t form = scaled_add;
    if (use.op == Op::multiply) form = scaled_multiply;
    if (use.op == Op::subtract) form = use.a == v ? scaled_subtract_from : scaled_subtract;
    MicroOp op{steps_.find(micro_scaled, kind_f32, form), homes_[memory]};
    op.s = scalar_for(scalar);
    if (--remaining_[memory] == 0 && homes_[memory].place == Ref::slot) dying_.push_back(homes_[memory].number);
    consume(use);
    emit(op, simple_ns);
    current_ = u;
    return true;
  }
  static uint8_t simple_for(Op op, uint8_t form) noexcept {
    const bool from_scalar = form == form_as || form == form_sa, swapped = form == form_ma || form == form_sa;
    switch (op) {
      case Op::add:
        return from_scalar ? simple_add_s : simple_add_m;
      case Op::multiply:
        return from_scalar ? simple_mul_s : simple_mul_m;
      case Op::subtract:
        return swapped ? (from_scalar ? simple_rsub_s : simple_rsub_m) : (from_scalar ? simple_sub_s : simple_sub_m);
      case Op::maximum:
        return form == form_as ? simple_max_s : n_simple;
      case Op::minimum:
        return form == form_as ? simple_min_s : n_simple;
      default:
        return n_simple;
    }
  }

  void lower_select(const Ins &ins) {
    uint8_t form = select_condition;
    if (current_ == ins.b && current_ != ins.a && current_ != ins.c) form = select_first;
    if (current_ == ins.c && current_ != ins.a && current_ != ins.b) form = select_second;
    if (form == select_condition) need(ins.a);
    MicroOp op{steps_.find(Op::select, width_of(ins.type), form)};
    op.p = memory(form == select_condition ? ins.b : ins.a);
    op.q = memory(form == select_second ? ins.b : ins.c);
    consume(ins);
    emit(op, simple_ns);
  }
  void lower_fma(const Ins &ins) {
    const uint8_t form = current_ == ins.c && current_ != ins.a && current_ != ins.b ? fma_addend : fma_product;
    if (form == fma_product) need(ins.a);
    MicroOp op{steps_.find(Op::fma, kind_of(ins.type), form)};
    op.p = memory(form == fma_product ? ins.b : ins.a);
    op.q = memory(form == fma_product ? ins.c : ins.b);
    consume(ins);
    emit(op, simple_ns);
  }

  // ---- the finished tape

  void fuse_pairs() {
    std::vector<MicroOp> fused;
    fused.reserve(tape_.size() + 1);
    for (size_t i = 0; i < tape_.size(); i++) {
      const MicroOp &first = tape_[i];
      if (first.simple < n_simple && i + 1 < tape_.size() && tape_[i + 1].simple < n_second) {
        const MicroOp &second = tape_[++i];
        MicroOp pair(steps_.level->pairs[first.simple][second.simple], first.p);
        pair.q = second.p;
        pair.s = first.s;
        pair.t = second.s;
        fused.push_back(pair);
      } else {
        fused.push_back(first);
      }
    }
    tape_ = std::move(fused);
  }
  void note_streams() {
    for (size_t i = 0; i < tape_.size(); i++)
      for (const Ref &ref : {tape_[i].p, tape_[i].q})
        if (ref.place == Ref::stream) {
          Stream &s = out_->streams[ref.number];
          s.first = std::min(s.first, static_cast<uint32_t>(i));
          s.last = static_cast<uint32_t>(i);
        }
    for (const Stream &in : out_->streams)
      for (const Stream &to : out_->streams)
        if (!in.is_output && to.is_output && in.last > to.first) out_->reads_after_writes = true;
  }

  void find_range() {
    if (tape_.size() != 3 || out_->reductions.size() != 1 || tape_[0].p.place != Ref::stream) return;
    const Reduction &r = out_->reductions[0];
    if (tape_[0].fn == steps_.find(micro_get, width(), form_am))
      out_->range = steps_.find(r.op, kind_of(r.type), reduce_range);
  }
  void make_steps() {
    const uint16_t n_streams = static_cast<uint16_t>(out_->streams.size());
    out_->tape.reserve(tape_.size());
    for (const MicroOp &op : tape_) {
      const uint16_t at = static_cast<uint16_t>(out_->tape.size());
      out_->tape.push_back({op.fn, nullptr, 0, nullptr, 0, 0, 0, nullptr});
      for (const bool is_q : {false, true}) {
        const Ref &ref = is_q ? op.q : op.p;
        const int32_t scalar = is_q ? op.t : op.s;
        if (scalar >= 0) out_->immediates.push_back({at, is_q, static_cast<uint16_t>(scalar)});
        if (ref.place == Ref::slot) out_->slots.push_back({at, is_q, ref.number});
        if (ref.place == Ref::accumulator) out_->accumulators.push_back({at, is_q, ref.number});
        if (ref.place == Ref::stream) out_->rows.push_back({at, is_q, ref.number});
        if (ref.place == Ref::index) out_->rows.push_back({at, is_q, static_cast<uint16_t>(n_streams + ref.number)});
      }
    }
  }

  const Code &code_;
  const MicroOps &steps_;
  std::shared_ptr<Kernel> out_;
  std::vector<MicroOp> tape_;
  std::vector<uint32_t> remaining_;
  std::vector<Ref> homes_;
  std::vector<int32_t> scalar_numbers_;
  std::vector<uint16_t> free_slots_, dying_;
  uint16_t current_ = no_value;
};

}  // namespace

KernelRef compile_for(const MicroOps &micro_ops, const Code &code) { return Compiler(micro_ops, code).compile(); }

int64_t estimate_ns(const Kernel &kernel, int64_t n_elements) noexcept {
  const double blocks = static_cast<double>(n_elements) / static_cast<double>(kernel.block_elements());
  double bytes = 0;
  for (const Stream &s : kernel.streams) bytes += static_cast<double>(1 << s.log2_size);
  // Bytes per nanosecond of one core: what fits its own caches, the last one, memory.
  const double traffic = bytes * static_cast<double>(n_elements);
  const double rate = traffic <= 2e6 ? 80 : traffic <= 32e6 ? 60 : 35;
  return 60 + static_cast<int64_t>(std::max(blocks * static_cast<double>(kernel.block_ns), traffic / rate));
}

}  // namespace mx::loop
