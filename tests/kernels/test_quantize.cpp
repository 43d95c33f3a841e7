// Products with packed matrices against sums in double: every format, width of a row, number of rows and dtype,
// whatever path they take. Codes are random bits; what they stand for is computed here from the definition of the
// formats.
#include "runtime/pool.hpp"
#include "tests/kernels/kernel_test.hpp"

using namespace mx;
using namespace mx::cpu;

namespace {

struct Format {
  QuantMode mode;
  int64_t group, bits;
};

Attrs attrs_of(const Format &f) {
  return Attrs().put(static_cast<int64_t>(f.mode)).put(f.group).put(f.bits).put(false);
}

double e2m1(int64_t code) {
  const int64_t exponent = code >> 1 & 3, mantissa = code & 1;
  const double size = exponent ? std::ldexp(1 + 0.5 * static_cast<double>(mantissa), static_cast<int>(exponent) - 1)
                               : 0.5 * static_cast<double>(mantissa);
  return code & 8 ? -size : size;
}

double e4m3(int64_t code) {
  const int64_t exponent = code >> 3 & 15, mantissa = code & 7;
  if ((code & 127) == 127) return not_a_number;
  const double size = exponent ? std::ldexp(8.0 + static_cast<double>(mantissa), static_cast<int>(exponent) - 10)
                               : std::ldexp(static_cast<double>(mantissa), -9);
  return code & 128 ? -size : size;
}

// A packed matrix (rows, columns) of random codes, and its numbers.
struct Packed {
  Array codes, scales, biases;
  Values numbers;

  Packed(const Format &f, int64_t rows, int64_t columns, DType dtype, Numbers &random)
      : codes(DType::uint32, {rows, columns * f.bits / 32}),
        scales(f.mode == QuantMode::affine ? dtype : DType::uint8, {rows, columns / f.group}),
        biases(dtype, {rows, columns / f.group}, random.eighths(rows * columns / f.group, -2, 2)),
        numbers(static_cast<size_t>(rows * columns)) {
    const bool affine = f.mode == QuantMode::affine, nvfp4 = f.mode == QuantMode::nvfp4;
    scales.set(affine ? random.eighths(rows * columns / f.group, -1, 1)
                      : random.integers(rows * columns / f.group, nvfp4 ? 0 : 120, nvfp4 ? 60 : 130));
    const Values s = scales.values(), b = biases.values();
    auto *words = reinterpret_cast<uint32_t *>(codes.tensor.data);
    for (int64_t i = 0; i < rows * columns; i++) {
      int64_t code = random.integer(0, int64_t{1} << f.bits);
      if (f.mode == QuantMode::mxfp8 && (code & 127) == 127) code = 0;  // NaN is tested elsewhere
      for (int64_t bit = 0; bit < f.bits; bit++) {
        const int64_t at = i * f.bits + bit;
        const uint32_t mask = 1u << (at % 32);
        words[at / 32] = code >> bit & 1 ? words[at / 32] | mask : words[at / 32] & ~mask;
      }
      const auto group = static_cast<size_t>(i / f.group);
      const double number = affine ? static_cast<double>(code) : f.bits == 8 ? e4m3(code) : e2m1(code);
      const double scale = affine ? s[group] : nvfp4 ? e4m3(static_cast<int64_t>(s[group])) : std::exp2(s[group] - 127);
      numbers[static_cast<size_t>(i)] = scale * number + (affine ? b[group] : 0);
    }
  }
  std::vector<const Array *> arrays(const Format &f) const {
    if (f.mode == QuantMode::affine) return {&codes, &scales, &biases};
    return {&codes, &scales};
  }
};

void run(KernelFunction kernel, const Attrs &attrs, const std::vector<const Array *> &inputs, const Array &out) {
  std::vector<Tensor> in;
  for (const Array *a : inputs) in.push_back(a->tensor);
  kernel({OpCode::count_, attrs, in, {&out.tensor, 1}});
  CHECK(out.guards_intact());
}

void check_product(const Format &f, DType dtype, int64_t m, int64_t rows, int64_t columns, bool transpose) {
  Numbers random(static_cast<uint64_t>(m * rows + columns));
  const Packed w(f, rows, columns, dtype, random);
  const int64_t k = transpose ? columns : rows, n = transpose ? rows : columns;
  const Values x = random.eighths(m * k, -2, 2);
  const Array a(dtype, {m, k}, x), out(dtype, {m, n});
  std::vector<const Array *> inputs = w.arrays(f);
  inputs.insert(inputs.begin(), &a);
  run(quantized_matmul, attrs_of(f).put(transpose), inputs, out);
  const Values found = out.values();
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++) {
      double sum = 0, size = 0;
      for (int64_t p = 0; p < k; p++) {
        const double y = x[static_cast<size_t>(i * k + p)] *
                         w.numbers[static_cast<size_t>(transpose ? j * columns + p : p * columns + j)];
        sum += y;
        size += std::abs(y);
      }
      // bfloat16 may round each element of the matrix too.
      const double relative = tolerance(dtype), absolute = size * (dtype == DType::bfloat16 ? 4e-3 : 1e-6);
      CHECK(close(found[static_cast<size_t>(i * n + j)], sum, relative, absolute));
    }
}

void check_unpacking(const Format &f, DType dtype) {
  Numbers random(7);
  const Packed w(f, 5, 3 * f.group, dtype, random);
  const Array out(dtype, {5, 3 * f.group});
  run(dequantize, attrs_of(f).put(dtype), w.arrays(f), out);
  const Values found = out.values();
  for (size_t i = 0; i < found.size(); i++) CHECK(close(found[i], w.numbers[i], tolerance(dtype), 1e-6));
}

std::vector<Format> formats() {
  std::vector<Format> all = {{QuantMode::mxfp4, 32, 4}, {QuantMode::mxfp8, 32, 8}, {QuantMode::nvfp4, 16, 4}};
  for (int64_t group : {32, 64, 128})
    for (int64_t bits : {2, 3, 4, 5, 6, 8}) all.push_back({QuantMode::affine, group, bits});
  return all;
}

// A row whose last code ends where the process may not read on.
void check_the_end_of_memory(const Format &f) {
  Numbers random(3);
  const Packed w(f, 3, f.group, DType::float32, random);
  const size_t bytes = static_cast<size_t>(3 * f.group * f.bits / 8);
  const std::vector<char> exact(w.codes.tensor.data, w.codes.tensor.data + bytes);  // the sanitizer looks at its end
  Tensor codes = w.codes.tensor;
  codes.data = const_cast<char *>(exact.data());
  const Array x(DType::float32, {1, f.group}, random.eighths(f.group, -2, 2)), out(DType::float32, {1, 3}),
      same(DType::float32, {1, 3});
  std::vector<Tensor> in{x.tensor, codes, w.scales.tensor};
  if (f.mode == QuantMode::affine) in.push_back(w.biases.tensor);
  const Attrs attrs = attrs_of(f).put(true);
  quantized_matmul({OpCode::count_, attrs, in, {&out.tensor, 1}});
  in[1] = w.codes.tensor;
  quantized_matmul({OpCode::count_, attrs, in, {&same.tensor, 1}});
  CHECK(out.values() == same.values());
}

}  // namespace

int main() {
  for (const Format &f : formats()) {
    for (DType dtype : {DType::float32, DType::float16, DType::bfloat16}) {
      check_unpacking(f, dtype);
      for (int64_t m : {1, 2, 3, 4, 5, 8, 9, 33})
        for (bool transpose : {true, false}) check_product(f, dtype, m, 37, 3 * f.group, transpose);
    }
    check_product(f, DType::float32, 1, 70, 9 * f.group, true);
    check_the_end_of_memory(f);
  }
  for (DType dtype : {DType::float32, DType::bfloat16})
    for (bool transpose : {true, false}) check_product({QuantMode::affine, 64, 4}, dtype, 40, 600, 640, transpose);
}
