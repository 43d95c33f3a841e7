// Machine instructions that convert, load and store; see assembler.hpp.
#include <cstring>

#include "backends/cpu/loop/jit/assembler.hpp"

namespace mx::loop::jit {

using namespace Xbyak::util;

namespace {

// The same register at another width.
Xbyak::Xmm xmm(const Xbyak::Xmm &r) { return Xbyak::Xmm(r.getIdx()); }
Xbyak::Ymm ymm(const Xbyak::Xmm &r) { return Xbyak::Ymm(r.getIdx()); }
Xbyak::Zmm zmm(const Xbyak::Xmm &r) { return Xbyak::Zmm(r.getIdx()); }

int element_bytes(const Instruction &ins, int lane_bytes) noexcept {
  return ins.op == V::accumulated || ins.op == V::accumulate ? lane_bytes : 1 << storage_log2(ins.storage);
}

}  // namespace

// ---- conversions

void Assembler::emit_conversion(const Instruction &ins) {
  const Register a = reg(ins.a);
  constexpr int to_nearest = 0;
  switch (ins.op) {
    case V::square_root: {
      const Register d = result();
      return ins.bits == 64 ? vsqrtpd(d, a) : vsqrtps(d, a);
    }
    case V::round: {
      const Register d = result();
      if (has_512_) return ins.bits == 64 ? vrndscalepd(d, a, ins.imm) : vrndscaleps(d, a, ins.imm);
      return ins.bits == 64 ? vroundpd(d, a, ins.imm) : vroundps(d, a, ins.imm);
    }
    case V::exponent:
      return vgetexpps(result(), a);
    case V::mantissa:
      return vgetmantps(result(), a, 0);
    case V::i32_to_f32:
      return vcvtdq2ps(result(), a);
    case V::u32_to_f32:
      return vcvtudq2ps(result(), a);
    case V::f32_to_i32:
      return vcvttps2dq(result(), a);
    case V::round_to_half: {
      const Register d = result();
      vcvtps2ph(half(d), a, to_nearest);
      return vcvtph2ps(d, half(d));
    }
    case V::low_doubled:
      return vpshufd(result(), a, 0xa0);
    case V::widen_low:
      return vcvtps2pd(result(), half(a));
    case V::widen_high: {
      const Register d = result();
      has_512_ ? vextractf64x4(ymm(d), zmm(a), 1) : vextractf128(xmm(d), ymm(a), 1);
      return vcvtps2pd(d, half(d));
    }
    case V::narrow: {
      const Register high = reg(ins.b), low = temp(), d = result();
      vcvtpd2ps(half(low), a);
      vcvtpd2ps(half(d), high);
      return has_512_ ? vinsertf64x4(zmm(d), zmm(low), ymm(d), 1) : vinsertf128(ymm(d), ymm(low), xmm(d), 1);
    }
    default:
      return emit_wide_conversion(ins, result(), a);
  }
}

// Among 64-bit lanes.
void Assembler::emit_wide_conversion(const Instruction &ins, const Register &d, const Register &a) {
  switch (ins.op) {
    case V::f32_to_f64:
      return vcvtps2pd(d, dense(a));
    case V::i32_to_f64:
      return vcvtdq2pd(d, dense(a));
    case V::u32_to_f64:
      return vcvtudq2pd(d, dense(a));
    case V::f32_to_i64:
      return vcvttps2qq(d, dense(a));
    case V::f64_to_f32:
      vcvtpd2ps(half(d), a);
      return vpmovzxdq(d, half(d));
    case V::i64_to_f32:
      vcvtqq2ps(half(d), a);
      return vpmovzxdq(d, half(d));
    case V::f64_to_i64:
      return vcvttpd2qq(d, a);
    case V::i64_to_f64:
      return vcvtqq2pd(d, a);
    case V::i32_to_i64: {
      if (has_512_) {
        vpsllq(d, a, 32);
        return vpsraq(d, d, 32);
      }
      const Register sign = temp();
      vpsrad(sign, a, 31);
      vpshufd(sign, sign, 0xa0);
      return vpblendd(d, a, sign, 0xaa);
    }
    default:
      throw Unsupported();
  }
}

Assembler::Register Assembler::dense(const Register &x) {
  const Register t = temp();
  if (has_512_) {
    vpmovqd(half(t), x);
  } else {
    vextractf128(xmm(t), ymm(x), 1);
    vshufps(half(t), half(x), half(t), 0x88);
  }
  return half(t);
}

// ---- memory

// Of the current vector. Uses the scratch register if the row has no other.
Assembler::Memory Assembler::address(const Instruction &ins) {
  const bool is_result = ins.op == V::accumulated || ins.op == V::accumulate;
  const int bytes = element_bytes(ins, code_.lane_bytes()), offset = copy_ * code_.lanes() * bytes;
  Xbyak::Reg64 base = rax;
  if (!ins.is_uniform && pointer_of_[ins.row] >= 0)
    base = pointers_[static_cast<size_t>(pointer_of_[ins.row])];
  else
    mov(rax, ptr[rdi + frame_offset(ins.row)]);
  if (ins.is_uniform) return ptr[base];
  return ptr[base + (is_result ? r11 : rdx) * bytes + offset];
}

void Assembler::emit_load(const Instruction &ins) {
  const Register d = take();
  const Memory from = address(ins);
  if (ins.op == V::accumulated) return vmovups(d, from);
  const bool is_wide = code_.is_wide;
  switch (ins.storage) {
    case in_u8:
      return is_wide ? vpmovzxbq(d, from) : vpmovzxbd(d, from);
    case in_i8:
      return is_wide ? vpmovsxbq(d, from) : vpmovsxbd(d, from);
    case in_u16:
      return is_wide ? vpmovzxwq(d, from) : vpmovzxwd(d, from);
    case in_i16:
      return is_wide ? vpmovsxwq(d, from) : vpmovsxwd(d, from);
    case in_b32:
      return is_wide ? vpmovzxdq(d, from) : vmovups(d, from);
    case in_f16:
      if (!is_wide) return vcvtph2ps(d, from);
      vcvtph2ps(half(d), from);
      return vpmovzxdq(d, half(d));
    default:
      return vmovups(d, from);
  }
}

void Assembler::emit_index(const Instruction &ins) {
  const Register d = take();
  const int lane = code_.lane_bytes();
  mov(rax, ptr[rdi + frame_offset(ins.row)]);
  if (!ins.is_uniform) lea(rax, ptr[rax + rdx + copy_ * code_.lanes()]);
  if (has_512_) {
    lane == 8 ? vpbroadcastq(d, rax) : vpbroadcastd(d, eax);
  } else {
    vmovq(xmm(d), rax);
    lane == 8 ? vpbroadcastq(d, xmm(d)) : vpbroadcastd(d, xmm(d));
  }
  if (ins.is_uniform) return;
  uint8_t numbers[64] = {};
  for (int i = 0; i < code_.lanes(); i++) numbers[i * lane] = static_cast<uint8_t>(i);
  const Memory lanes = vector_constant(numbers);
  lane == 8 ? vpaddq(d, d, lanes) : vpaddd(d, d, lanes);
}

void Assembler::emit_store(const Instruction &ins) {
  const Register x = reg(ins.a);
  const Memory to = address(ins);
  const bool is_plain = ins.op == V::accumulate || ins.storage == (code_.is_wide ? in_b64 : in_b32);
  if (is_plain) {
    const bool is_streamed = ins.op == V::store && code_.rows[ins.row] == Meeting::streamed;
    return is_streamed ? vmovntps(to, x) : vmovups(to, x);
  }
  code_.is_wide ? store_wide(to, ins.storage, x) : store_narrow(to, ins.storage, x);
}

// The low bytes of 32-bit lanes.
void Assembler::store_narrow(const Memory &to, Storage storage, const Register &x) {
  if (storage == in_f16) return vcvtps2ph(to, x, 0);
  if (has_512_) return storage == in_u8 ? vpmovdb(to, x) : vpmovdw(to, x);
  const Register t = temp();
  uint8_t order[64] = {};
  const int bytes = storage == in_u8 ? 1 : 2;
  for (int i = 0; i < 32; i++)
    order[i] = static_cast<uint8_t>(i % 16 < 4 * bytes ? i % 16 / bytes * 4 + i % bytes : 0x80);
  vpshufb(t, x, vector_constant(order));
  if (storage == in_u8) {
    const Xbyak::Xmm high = xmm(temp());
    vextracti128(high, ymm(t), 1);
    vpunpckldq(xmm(t), xmm(t), high);
    return vmovq(to, xmm(t));
  }
  vpermq(ymm(t), ymm(t), 0x08);
  vmovups(to, xmm(t));
}

void Assembler::store_wide(const Memory &to, Storage storage, const Register &x) {
  if (has_512_ && storage != in_f16)
    return storage == in_b32 ? vpmovqd(to, x) : storage == in_u8 ? vpmovqb(to, x) : vpmovqw(to, x);
  const Register t = dense(x);
  if (storage == in_f16) return vcvtps2ph(to, t, 0);
  if (storage == in_b32) return vmovups(to, t);
  uint8_t order[64] = {};
  const int bytes = storage == in_u8 ? 1 : 2;
  for (int i = 0; i < 32; i++)
    order[i] = static_cast<uint8_t>(i % 16 < 4 * bytes ? i % 16 / bytes * 4 + i % bytes : 0x80);
  const Memory shuffle = vector_constant(order);
  vpshufb(t, t, shuffle);
  storage == in_u8 ? vmovd(to, t) : vmovq(to, t);
}

// A vector in the pool behind the code.
Assembler::Memory Assembler::vector_constant(const uint8_t (&bytes)[64]) {
  for (const auto &v : vectors_)
    if (std::memcmp(v->bytes, bytes, sizeof bytes) == 0) return ptr[rip + v->label];
  vectors_.push_back(std::make_unique<Vector>());
  std::memcpy(vectors_.back()->bytes, bytes, sizeof bytes);
  return ptr[rip + vectors_.back()->label];
}

}  // namespace mx::loop::jit
