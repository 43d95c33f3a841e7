// random_bits: the published test vectors of Threefry-2x32-20 (kat_vectors of Random123), the order of the words, and
// that elements do not depend on how the work is cut.
#include "backends/cpu/rows/rows.hpp"
#include "tests/kernels/kernel_test.hpp"

using namespace mx;
using namespace mx::cpu;

namespace {

void check_vector(uint32_t counter0, uint32_t counter1, uint32_t key0, uint32_t key1, uint32_t first, uint32_t second) {
  const uint32_t key[2] = {key0, key1};
  uint32_t a, b;
  rows::table().threefry(&a, &b, key, counter0, counter1, 1);
  CHECK(a == first && b == second);
}

void test_vectors() {
  check_vector(0, 0, 0, 0, 0x6b200159, 0x99ba4efe);
  check_vector(0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0x1cb996fc, 0xbb002be7);
  check_vector(0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xc4923a9c, 0x483df7a0);
}

// What MLX 0.32 draws: mx.random.split(key, n) is random bits of shape (n, 2).
void test_words() {
  const Attrs attrs = Attrs().put(std::span<const int64_t>()).put(4);
  const Array zero(DType::uint32, {2}, {0, 0}),
      large(DType::uint32, {2}, {1234567890123 >> 32, 1234567890123 & 0xffffffff});
  const Array eight(DType::uint32, {4, 2}), two(DType::uint32, {2}), six(DType::uint32, {3, 2});
  call(random_bits, attrs, {&zero}, eight);
  CHECK(same(eight.values(),
             {2285895361, 1501764800, 1518642379, 4090693311, 433833334, 4221794875, 839183663, 3740430601}));
  call(random_bits, attrs, {&zero}, two);
  CHECK(same(two.values(), {928981903, 3453687069}));
  call(random_bits, attrs, {&large}, six);
  CHECK(same(six.values(), {1182285254, 3721122650, 617334466, 43390110, 367160965, 1342410862}));
}

uint32_t word(const uint32_t *key, int64_t i, int64_t n) {
  const int64_t half = (n + 1) / 2;
  uint32_t a, b;
  const int64_t low = i < half ? i : i - half;
  const bool lone = n % 2 && low == half - 1;
  rows::table().threefry(&a, &b, key, static_cast<uint32_t>(low), lone ? 0 : static_cast<uint32_t>(low + half), 1);
  return i < half ? a : b;
}

template <class T>
void test_width(DType dtype, int64_t n, Arrangement arrangement) {
  const Values keys{3, 5, 7, 11, 13, 17};
  const Array key(DType::uint32, {3, 2}, keys, arrangement), out(dtype, {3, n});
  call(random_bits, Attrs(), {&key}, out);
  const int64_t words = (n * static_cast<int64_t>(sizeof(T)) + 3) / 4;
  for (int64_t k = 0; k < 3; k++) {
    const uint32_t pair[2] = {static_cast<uint32_t>(keys[2 * k]), static_cast<uint32_t>(keys[2 * k + 1])};
    const T *found = reinterpret_cast<const T *>(out.tensor.data) + k * n;
    for (int64_t i = 0; i < n; i++) {
      const int64_t per_word = 4 / static_cast<int64_t>(sizeof(T));
      const uint32_t expected = word(pair, i / per_word, words) >> (8 * sizeof(T) * static_cast<size_t>(i % per_word));
      CHECK(found[i] == static_cast<T>(expected));
    }
  }
}

}  // namespace

int main() {
  test_vectors();
  test_words();
  for (Arrangement arrangement : arrangements) {
    for (int64_t n : {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 31, 100, 513, 1027, 70001}) {
      test_width<uint8_t>(DType::uint8, n, arrangement);
      test_width<uint16_t>(DType::uint16, n, arrangement);
      test_width<uint32_t>(DType::uint32, n, arrangement);
    }
  }
}
