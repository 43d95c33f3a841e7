// MX_SHUFFLE(x, from), MX_SHUFFLE(x, y, from): lane i of the result is lane from[i] of x, or of x and y one after the
// other. clang has this only for numbers that are written into the program. Included only by the per-level sources.
#pragma once

#ifdef __clang__
namespace {

template <class V, class Numbers>
[[maybe_unused, gnu::always_inline]] inline V shuffle(V x, V y, Numbers from) {
  constexpr int lanes = static_cast<int>(sizeof(from) / sizeof(from[0]));
  V out{};
  for (int i = 0; i < lanes; i++) {
    const int number = static_cast<int>(from[i] & (2 * lanes - 1));
    out[i] = number < lanes ? x[number] : y[number - lanes];
  }
  return out;
}

template <class V, class Numbers>
[[maybe_unused, gnu::always_inline]] inline V shuffle(V x, Numbers from) {
  constexpr int lanes = static_cast<int>(sizeof(from) / sizeof(from[0]));
  return shuffle(x, x, from & (lanes - 1));
}

}  // namespace
#define MX_SHUFFLE shuffle
#else
#define MX_SHUFFLE __builtin_shuffle
#endif
