// Order-preserving integer keys: a < b exactly where key(a) < key(b) as unsigned integers, with NaN last. Everything
// that compares for sorting and searching does it on these.
#pragma once
#include "backends/cpu/element.hpp"

namespace mx::cpu {

__extension__ typedef unsigned __int128 WideKey;  // of complex128

template <size_t bytes>
using UnsignedOf = std::conditional_t<
    bytes == 1, uint8_t,
    std::conditional_t<bytes == 2, uint16_t,
                       std::conditional_t<bytes == 4, uint32_t, std::conditional_t<bytes == 8, uint64_t, WideKey>>>>;
template <class T>
using KeyOf = UnsignedOf<sizeof(T)>;

template <class T>
inline constexpr bool is_float_like =
    std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16> || std::is_floating_point_v<T>;

// -0 before +0: what a sort of values wants, because it rebuilds the values from the keys.
template <class T>
KeyOf<T> value_key(T x) noexcept {
  using Key = KeyOf<T>;
  constexpr Key sign = static_cast<Key>(Key{1} << (8 * sizeof(Key) - 1));
  const Key bits = std::bit_cast<Key>(x);
  if constexpr (is_float_like<T>) {
    using Signed = std::make_signed_t<Key>;
    // All bits of a negative number turn over, of others the sign. No branches: this is a loop's whole body.
    const Key turned = static_cast<Key>(static_cast<Signed>(bits) >> (8 * sizeof(Key) - 1)) | sign;
    const Key nan = static_cast<Key>(-static_cast<Key>(is_nan(widen_element(x))));
    return static_cast<Key>((bits ^ turned) | nan);
  } else if constexpr (std::is_signed_v<T>) {
    return static_cast<Key>(bits ^ sign);
  } else {
    return bits;
  }
}

template <class T>
T from_value_key(KeyOf<T> key) noexcept {
  using Key = KeyOf<T>;
  constexpr Key sign = static_cast<Key>(Key{1} << (8 * sizeof(Key) - 1));
  if constexpr (is_float_like<T>) {
    using Signed = std::make_signed_t<Key>;
    const Key turned = static_cast<Key>(~(static_cast<Signed>(key) >> (8 * sizeof(Key) - 1))) | sign;
    return std::bit_cast<T>(static_cast<Key>(key ^ turned));
  } else if constexpr (std::is_signed_v<T>) {
    return std::bit_cast<T>(static_cast<Key>(key ^ sign));
  } else {
    return std::bit_cast<T>(key);
  }
}

// -0 equals +0; complex numbers by (re, im).
template <class T>
KeyOf<T> order_key(T x) noexcept {
  if constexpr (is_complex_number<T>) {
    return KeyOf<T>{order_key(x.re)} << (4 * sizeof(T)) | order_key(x.im);
  } else if constexpr (is_float_like<T>) {
    using Key = KeyOf<T>;
    constexpr Key sign = static_cast<Key>(Key{1} << (8 * sizeof(Key) - 1));
    return std::bit_cast<Key>(x) == sign ? sign : value_key(x);
  } else {
    return value_key(x);
  }
}

}  // namespace mx::cpu
