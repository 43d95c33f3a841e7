// Machine instructions of arithmetic, comparison and selection; see assembler.hpp. Operands are brought into registers
// before the last one's memory is named, since its address may need a scratch register.
#include "backends/cpu/loop/jit/assembler.hpp"
#include "backends/cpu/loop/math.hpp"

namespace mx::loop::jit {

using Xbyak::util::rsp;

void Assembler::emit(Id id) {
  current_id_ = id;
  current_ = &code_.ins[id];
  temps_ = 0;
  const Instruction &ins = *current_;
  switch (ins.op) {
    case V::constant:
    case V::scalar:
      if (layout_.pinned[id] >= 0 || uniform_slot_[id] >= 0) {
        const int16_t kept = uniform_slot_[id];
        uniform_slot_[id] = -1;
        fill(take(), id);
        uniform_slot_[id] = kept;
      }
      break;
    case V::load:
    case V::accumulated:
      if (!layout_.is_folded[id]) emit_load(ins);
      break;
    case V::index:
      emit_index(ins);
      break;
    case V::store:
    case V::accumulate:
      emit_store(ins);
      release_dying();
      break;
    case V::madd:
    case V::nmadd:
      emit_madd(ins);
      break;
    case V::with_sign:
      emit_with_sign(ins);
      break;
    case V::log_fix:
      emit_log_fix(ins);
      break;
    case V::shift_left:
    case V::shift_right:
    case V::shift_right_signed:
      emit_shift(ins);
      break;
    case V::choose:
      emit_choose(ins);
      break;
    case V::choose_if:
      emit_choose_if(ins);
      break;
    case V::rare:
      emit_rare(ins);
      break;
    default:
      ins.op >= V::i32_to_f32 || ins.op == V::square_root || ins.op == V::round || ins.op == V::exponent ||
              ins.op == V::mantissa
          ? emit_conversion(ins)
          : emit_arithmetic(ins);
  }
  if (ins.is_uniform && uniform_slot_[id] >= 0) vmovups(slot(uniform_slot_[id]), vec(0));
}

void Assembler::emit_arithmetic(const Instruction &ins) {
  Id a = ins.a, b = ins.b;
  if (is_commutative(ins.op) && !is_in_register(a) && is_in_register(b)) std::swap(a, b);
  const Register left = reg(a);
  const Source right = source(b);
  const bool is_mask =
      ins.op == V::compare || ins.op == V::int_equal || ins.op == V::int_greater || ins.op == V::uint_greater;
  const Register d = result();
  is_mask ? compare_to(d, ins, left, right) : binary(ins, d, left, right);
}

void Assembler::binary(const Instruction &ins, const Register &d, const Register &a, const Xbyak::Operand &b) {
  ins.bits == 64 ? binary64(ins.op, d, a, b) : binary32(ins.op, d, a, b);
}

void Assembler::binary32(V op, const Register &d, const Register &a, const Xbyak::Operand &b) {
  switch (op) {
    case V::add:
      return vaddps(d, a, b);
    case V::subtract:
      return vsubps(d, a, b);
    case V::multiply:
      return vmulps(d, a, b);
    case V::divide:
      return vdivps(d, a, b);
    case V::smaller:
      return vminps(d, a, b);
    case V::larger:
      return vmaxps(d, a, b);
    case V::scale:
      return vscalefps(d, a, b);
    case V::int_add:
      return vpaddd(d, a, b);
    case V::int_subtract:
      return vpsubd(d, a, b);
    case V::int_multiply:
      return vpmulld(d, a, b);
    case V::int_smaller:
      return vpminsd(d, a, b);
    case V::int_larger:
      return vpmaxsd(d, a, b);
    case V::uint_smaller:
      return vpminud(d, a, b);
    case V::uint_larger:
      return vpmaxud(d, a, b);
    case V::bit_and:
      return has_512_ ? vpandd(d, a, b) : vpand(d, a, b);
    case V::bit_or:
      return has_512_ ? vpord(d, a, b) : vpor(d, a, b);
    case V::bit_xor:
      return has_512_ ? vpxord(d, a, b) : vpxor(d, a, b);
    case V::shift_left_by:
      return vpsllvd(d, a, b);
    case V::shift_right_by:
      return vpsrlvd(d, a, b);
    case V::shift_right_signed_by:
      return vpsravd(d, a, b);
    default:
      throw Unsupported();
  }
}

void Assembler::binary64(V op, const Register &d, const Register &a, const Xbyak::Operand &b) {
  switch (op) {
    case V::add:
      return vaddpd(d, a, b);
    case V::subtract:
      return vsubpd(d, a, b);
    case V::multiply:
      return vmulpd(d, a, b);
    case V::divide:
      return vdivpd(d, a, b);
    case V::smaller:
      return vminpd(d, a, b);
    case V::larger:
      return vmaxpd(d, a, b);
    case V::int_add:
      return vpaddq(d, a, b);
    case V::int_subtract:
      return vpsubq(d, a, b);
    case V::int_multiply:
      return vpmullq(d, a, b);
    case V::int_smaller:
      return vpminsq(d, a, b);
    case V::int_larger:
      return vpmaxsq(d, a, b);
    case V::uint_smaller:
      return vpminuq(d, a, b);
    case V::uint_larger:
      return vpmaxuq(d, a, b);
    case V::bit_and:
      return has_512_ ? vpandq(d, a, b) : vpand(d, a, b);
    case V::bit_or:
      return has_512_ ? vporq(d, a, b) : vpor(d, a, b);
    case V::bit_xor:
      return has_512_ ? vpxorq(d, a, b) : vpxor(d, a, b);
    case V::shift_left_by:
      return vpsllvq(d, a, b);
    case V::shift_right_by:
      return vpsrlvq(d, a, b);
    case V::shift_right_signed_by:
      return vpsravq(d, a, b);
    default:
      throw Unsupported();
  }
}

void Assembler::emit_shift(const Instruction &ins) {
  const Register a = reg(ins.a), d = result();
  const bool is_wide = ins.bits == 64;
  if (ins.op == V::shift_left) return is_wide ? vpsllq(d, a, ins.imm) : vpslld(d, a, ins.imm);
  if (ins.op == V::shift_right) return is_wide ? vpsrlq(d, a, ins.imm) : vpsrld(d, a, ins.imm);
  is_wide ? vpsraq(d, a, ins.imm) : vpsrad(d, a, ins.imm);
}

// The machine's forms: 132: d = d * b + a, 213: d = a * d + b, 231: d = a * b + d; or the product's negative.
void Assembler::fused(int form, const Register &d, const Register &a, const Xbyak::Operand &b) {
  const bool is_wide = current_->bits == 64;
  if (current_->op == V::nmadd) {
    if (form == 132) return is_wide ? vfnmadd132pd(d, a, b) : vfnmadd132ps(d, a, b);
    if (form == 213) return is_wide ? vfnmadd213pd(d, a, b) : vfnmadd213ps(d, a, b);
    return is_wide ? vfnmadd231pd(d, a, b) : vfnmadd231ps(d, a, b);
  }
  if (form == 132) return is_wide ? vfmadd132pd(d, a, b) : vfmadd132ps(d, a, b);
  if (form == 213) return is_wide ? vfmadd213pd(d, a, b) : vfmadd213ps(d, a, b);
  is_wide ? vfmadd231pd(d, a, b) : vfmadd231ps(d, a, b);
}

// One operand becomes the result: one that ends here, else one that has to be read from memory anyway, else a copy.
void Assembler::emit_madd(const Instruction &ins) {
  const Id all[3] = {ins.c, ins.a, ins.b};
  Id target = none;
  for (Id id : all)
    if (target == none && is_in_register(id) && dies(id)) target = id;
  const bool is_taken = target != none;
  for (Id id : {ins.a, ins.b, ins.c})
    if (target == none && !is_in_register(id)) target = id;
  if (target == none) target = ins.a;
  Id first = target == ins.c ? ins.a : target == ins.a ? ins.b : ins.a;  // the remaining ones
  Id last = target == ins.c ? ins.b : ins.c;
  int form = target == ins.c ? 231 : 213;
  if (is_in_register(last) && !is_in_register(first)) {
    std::swap(first, last);
    if (form == 213) form = 132;
  }
  const Register a = reg(first);
  if (!is_taken) {
    const Register d = take();
    is_in_register(target) ? vmovaps(d, reg(target)) : refill(d, target);
    fused(form, d, a, source(last));
    return release_dying();
  }
  const Source b = source(last);
  const Register d = reg(target);
  release_dying();
  claim(d);
  fused(form, d, a, b);
}

// ---- masks

// From a comparison to a vector of all or no bits.
void Assembler::compare_to(const Register &mask, const Instruction &ins, const Register &a, const Xbyak::Operand &b) {
  const bool is_wide = ins.bits == 64;
  if (!has_512_) {
    if (ins.op == V::compare) return is_wide ? vcmppd(mask, a, b, ins.imm) : vcmpps(mask, a, b, ins.imm);
    if (ins.op == V::int_equal) return is_wide ? vpcmpeqq(mask, a, b) : vpcmpeqd(mask, a, b);
    return is_wide ? vpcmpgtq(mask, a, b) : vpcmpgtd(mask, a, b);
  }
  const Xbyak::Opmask k(1 + copy_ % 7);
  compared_[static_cast<size_t>(copy_)] = {};
  constexpr uint8_t equal = 0, greater = 6;
  if (ins.op == V::compare)
    is_wide ? vcmppd(k, a, b, ins.imm) : vcmpps(k, a, b, ins.imm);
  else if (ins.op == V::uint_greater)
    is_wide ? vpcmpuq(k, a, b, greater) : vpcmpud(k, a, b, greater);
  else
    is_wide ? vpcmpq(k, a, b, ins.op == V::int_equal ? equal : greater)
            : vpcmpd(k, a, b, ins.op == V::int_equal ? equal : greater);
  is_wide ? vpmovm2q(mask, k) : vpmovm2d(mask, k);
}

void Assembler::emit_choose(const Instruction &ins) {
  const Register mask = reg(ins.a);
  const bool is_wide = ins.bits == 64;
  if (!has_512_) {
    const Register no = reg(ins.c);
    const Source yes = source(ins.b);
    const Register d = result();
    return is_wide ? vblendvpd(d, no, yes, mask) : vblendvps(d, no, yes, mask);
  }
  // As a bitwise function of (no, mask, yes): the first one is overwritten.
  constexpr uint8_t mask_selects = 0xb8;
  const bool is_taken = is_in_register(ins.c) && dies(ins.c) && ins.c != ins.b;
  if (is_taken) {
    const Source yes = source(ins.b);
    const Register d = reg(ins.c);
    release_dying();
    claim(d);
    return is_wide ? vpternlogq(d, mask, yes, mask_selects) : vpternlogd(d, mask, yes, mask_selects);
  }
  const Register d = take();
  is_in_register(ins.c) ? vmovaps(d, reg(ins.c)) : refill(d, ins.c);
  const Source yes = source(ins.b);
  is_wide ? vpternlogq(d, mask, yes, mask_selects) : vpternlogd(d, mask, yes, mask_selects);
  release_dying();
}

// A bitwise function of (a, b, mask): the first one is overwritten.
void Assembler::emit_with_sign(const Instruction &ins) {
  constexpr uint8_t mask_selects = 0xe4;
  const bool is_wide = ins.bits == 64, is_taken = is_in_register(ins.a) && dies(ins.a) && ins.a != ins.b;
  const Register b = reg(ins.b);
  const Memory mask = constant(is_wide ? ~uint64_t{0} >> 1 : 0x7fffffff, ins.bits, true);
  const Register d = is_taken ? reg(ins.a) : take();
  if (!is_taken) is_in_register(ins.a) ? vmovaps(d, reg(ins.a)) : refill(d, ins.a);
  is_wide ? vpternlogq(d, b, mask, mask_selects) : vpternlogd(d, b, mask, mask_selects);
  release_dying();
  if (is_taken) claim(d);
}

void Assembler::emit_log_fix(const Instruction &ins) {
  const bool is_taken = is_in_register(ins.a) && dies(ins.a);
  const Register x = reg(ins.b);
  const Memory fixes = constant(::math::log_fixes, 32, true);
  const Register d = is_taken ? reg(ins.a) : take();
  if (!is_taken) is_in_register(ins.a) ? vmovaps(d, reg(ins.a)) : refill(d, ins.a);
  vfixupimmps(d, x, fixes, 0);
  release_dying();
  if (is_taken) claim(d);
}

void Assembler::emit_choose_if(const Instruction &ins) {
  const bool is_wide = ins.bits == 64;
  const Register a = reg(ins.a);
  if (has_512_) {
    const Xbyak::Opmask k(1 + copy_ % 7);
    Compared &last = compared_[static_cast<size_t>(copy_)];
    const Compared now{ins.a, ins.b, ins.imm};
    if (last != now) {
      const Source b = source(ins.b);
      is_wide ? vcmppd(k, a, b, ins.imm) : vcmpps(k, a, b, ins.imm);
    }
    last = now;
    const Register no = reg(ins.d);
    const Source yes = source(ins.c);
    const Register d = result();
    return is_wide ? vblendmpd(d | k, no, yes) : vblendmps(d | k, no, yes);
  }
  const Register mask = temps_ > 0 ? a : temp();  // a in a temporary is not needed any more
  const Source b = source(ins.b);
  is_wide ? vcmppd(mask, a, b, ins.imm) : vcmpps(mask, a, b, ins.imm);
  const Register no = reg(ins.d);
  const Source yes = source(ins.c);
  const Register d = result();
  is_wide ? vblendvpd(d, no, yes, mask) : vblendvps(d, no, yes, mask);
}

void Assembler::emit_rare(const Instruction &ins) {
  const int y = reg(ins.a).getIdx(), a = reg(ins.b).getIdx(), b = ins.c == none ? a : reg(ins.c).getIdx();
  const Register tested = reg(ins.d);
  const Source limit = source(ins.e);
  rare_.push_back(std::make_unique<RareCall>());
  RareCall &call = *rare_.back();
  if (has_512_) {
    const Xbyak::Opmask k(1 + copy_ % 7);
    compared_[static_cast<size_t>(copy_)] = {};
    vcmpps(k, tested, limit, ins.imm);
    kortestw(k, k);
  } else {
    const Register mask = temp();
    vcmpps(mask, tested, limit, ins.imm);
    vptest(mask, mask);
  }
  const bool is_taken = dies(ins.a);
  const Register d = is_taken ? vec(y) : take();
  if (!is_taken) vmovaps(d, vec(y));
  jnz(call.begin, T_NEAR);
  L(call.back);
  call.result = d.getIdx(), call.a = a, call.b = b;
  call.function = code_.level->rare[ins.row];
  release_dying();
  if (is_taken) claim(d);
}

}  // namespace mx::loop::jit
