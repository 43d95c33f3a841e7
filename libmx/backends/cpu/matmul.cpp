// matmul and addmm: checks, batches and element types around the products of matmul_driver.hpp. Integers, which no fast
// kernel serves, are multiplied here, modulo 2^bits; complex128 goes the same way. Batches broadcast by stride; nothing
// is copied.
#include "backends/cpu/matmul.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

#include "backends/cpu/matmul_complex128.hpp"
#include "backends/cpu/matmul_driver.hpp"
#include "backends/cpu/matmul_packs.hpp"
#include "base/status.hpp"
#include "runtime/pool.hpp"

namespace mx::cpu {
namespace {

struct BatchDim {
  int64_t size, a, b, c, out;  // bytes from one matrix to the next
  bool shared;                 // b has size 1 here, or no such dimension
};

// All products of a call: the first one, and how to step to the others.
struct Call {
  DType dtype;
  Product product;
  SmallVector<BatchDim, 4> batch;  // outermost first, none of size 1
  RowOffsets c_rows;
  int64_t count = 1;  // of products
  int64_t folded = 0;
};

// The stride of a tensor's dimension `d` of `n_batch` batch dimensions; 0 where it is broadcast.
int64_t batch_stride(const Tensor &x, size_t d, size_t n_batch) {
  const size_t own = x.shape.size() - 2;
  if (own + d < n_batch) return 0;
  const size_t at = own + d - n_batch;
  return x.shape[at] == 1 ? 0 : x.strides[at];
}

MatrixView matrix(const Tensor &x) {
  const size_t r = x.shape.size();
  return {x.data, x.strides[r - 2], x.strides[r - 1]};
}

// c broadcasts to the output: it may have fewer dimensions, and sizes of 1.
MatrixView broadcast_matrix(const Tensor &c) {
  const size_t r = c.shape.size();
  const auto stride = [&](size_t from_end) {
    return r < from_end || c.shape[r - from_end] == 1 ? 0 : c.strides[r - from_end];
  };
  return {c.data, stride(2), stride(1)};
}

int64_t broadcast_batch_stride(const Tensor &c, size_t d, size_t n_batch) {
  const size_t from_end = n_batch - d + 2, r = c.shape.size();
  return r < from_end || c.shape[r - from_end] == 1 ? 0 : c.strides[r - from_end];
}

// Divisions, because the product of three sizes may overflow.
bool is_at_most(int64_t m, int64_t n, int64_t k, int64_t work) {
  const int64_t depth = std::max<int64_t>(k, 1);
  return m <= work / depth && n <= work / depth / std::max<int64_t>(m, 1);
}

// The tile unit needs some rows and columns to use it for, the dot products next to none.
const MatmulKernels *bfloat16_kernels(const MatmulLevel &level, int64_t rows, int64_t n, int64_t k) {
  const bool fills_tiles = rows >= 16 && n >= 16 && k >= 32 && !is_at_most(rows, n, k, small_work);
  if (fills_tiles && level.bfloat16_amx.multiply && has_amx()) return &level.bfloat16_amx;
  if (rows >= 2 && n >= 2 && k >= 2 && level.bfloat16_dot.multiply && has_dot()) return &level.bfloat16_dot;
  return &level.bfloat16;
}

bool has_batch_dim(const Tensor &x, size_t d, size_t n_batch) {
  const size_t own = x.shape.size() - 2;
  return own + d >= n_batch && x.shape[own + d - n_batch] != 1;
}

// Innermost batch dimensions that b does not have become rows of a, as far as a's strides allow.
void fold_rows(Call &call) {
  Product &p = call.product;
  RowOffsets &rows = call.c_rows;
  rows.n_dims = 1;
  rows.dims[0] = p.m;
  rows.strides[0] = p.c.row;
  while (!call.batch.empty()) {
    const BatchDim dim = call.batch.back();
    if (!dim.shared || (p.m > 1 && dim.a != p.m * p.a.row)) break;
    if (p.m == 1) p.a.row = dim.a;
    std::copy_backward(rows.dims, rows.dims + rows.n_dims, rows.dims + rows.n_dims + 1);
    std::copy_backward(rows.strides, rows.strides + rows.n_dims, rows.strides + rows.n_dims + 1);
    rows.dims[0] = dim.size;
    rows.strides[0] = dim.c;
    rows.n_dims++;
    p.m *= dim.size;
    call.batch.pop_back();
    call.folded++;
  }
}

// Looks at tensors that the op's rule has checked: a (..., m, k), b (..., k, n), c broadcastable to the output.
void describe(Call &call, const Tensor &a, const Tensor &b, const Tensor *c, const Tensor &out, double alpha,
              double beta) {
  const size_t n_batch = out.shape.size() - 2;
  const int64_t m = a.shape[a.shape.size() - 2], k = a.shape.back(), n = b.shape.back();
  call.dtype = out.dtype;
  call.product = {nullptr,
                  m,
                  n,
                  k,
                  itemsize(out.dtype),
                  matrix(a),
                  matrix(b),
                  out.data,
                  c && beta != 0 ? broadcast_matrix(*c) : MatrixView{nullptr, 0, 0},
                  alpha,
                  beta,
                  nullptr,
                  false,
                  nullptr,
                  nullptr,
                  0};
  for (size_t d = 0; d < n_batch; d++)
    if (out.shape[d] != 1)
      call.batch.push_back({out.shape[d], batch_stride(a, d, n_batch), batch_stride(b, d, n_batch),
                            c ? broadcast_batch_stride(*c, d, n_batch) : 0, out.strides[d],
                            !has_batch_dim(b, d, n_batch)});
  // One vector per matrix; decided by shapes alone, because it decides the order of additions.
  const bool shared = std::any_of(call.batch.begin(), call.batch.end(), [](const BatchDim &dim) { return dim.shared; });
  call.product.vector = n == 1 || (m == 1 && !shared);
  int64_t rows = m;
  for (size_t d = call.batch.size(); d-- > 0 && call.batch[d].shared;) rows *= call.batch[d].size;
  call.product.kernels = matmul_kernels(out.dtype, rows, n, k);
  fold_rows(call);
  for (const BatchDim &dim : call.batch) call.count *= dim.size;
  if (call.folded > 0 && call.product.c.data) call.product.c_rows = &call.c_rows;
}

Product nth(const Call &call, int64_t index) {
  const int64_t whole = index;
  Product p = call.product;
  for (size_t d = call.batch.size(); d-- > 0; index /= call.batch[d].size) {
    const int64_t i = index % call.batch[d].size;
    p.a.data += i * call.batch[d].a;
    p.b.data += i * call.batch[d].b;
    if (p.c.data) p.c.data += i * call.batch[d].c;
    p.out += i * call.batch[d].out;
  }
  p.first_row = whole * p.m;
  return p;
}

// ---- integers

template <class T>
T read(const char *p) {
  T x;
  std::memcpy(&x, p, sizeof x);
  return x;
}

template <class T>
void multiply_integers(const Product &p) {
  using U = std::conditional_t<(sizeof(T) < 4), uint32_t, std::make_unsigned_t<T>>;  // wraps around, never overflows
  T *out = reinterpret_cast<T *>(p.out);
  const int64_t columns = 512;
  for (int64_t j = 0; j < p.n; j += columns) {
    const int64_t n = std::min(columns, p.n - j);
    for (int64_t i = 0; i < p.m; i++) {
      U sums[columns] = {};
      for (int64_t k = 0; k < p.k; k++) {
        const U x = static_cast<U>(read<T>(p.a.data + i * p.a.row + k * p.a.col));
        const char *b = p.b.data + k * p.b.row + j * p.b.col;
        if (p.b.col == sizeof(T))
          for (int64_t c = 0; c < n; c++)
            sums[c] += x * static_cast<U>(read<T>(b + c * static_cast<int64_t>(sizeof(T))));
        else
          for (int64_t c = 0; c < n; c++) sums[c] += x * static_cast<U>(read<T>(b + c * p.b.col));
      }
      for (int64_t c = 0; c < n; c++) {
        U sum = sums[c];
        if (p.alpha != 1) sum *= static_cast<U>(static_cast<int64_t>(p.alpha));
        if (p.c.data) {
          const int64_t row = p.c_rows ? (*p.c_rows)(i) : i * p.c.row;
          sum += static_cast<U>(static_cast<int64_t>(p.beta)) *
                 static_cast<U>(read<T>(p.c.data + row + (j + c) * p.c.col));
        }
        out[i * p.n + j + c] = static_cast<T>(sum);
      }
    }
  }
}

using IntegerProduct = void (*)(const Product &);
IntegerProduct integer_product(DType dtype) {
  switch (dtype) {
    case DType::uint8:
      return multiply_integers<uint8_t>;
    case DType::uint16:
      return multiply_integers<uint16_t>;
    case DType::uint32:
      return multiply_integers<uint32_t>;
    case DType::uint64:
      return multiply_integers<uint64_t>;
    case DType::int8:
      return multiply_integers<int8_t>;
    case DType::int16:
      return multiply_integers<int16_t>;
    case DType::int32:
      return multiply_integers<int32_t>;
    case DType::int64:
      return multiply_integers<int64_t>;
    case DType::complex128:
      return multiply_complex128;
    default:
      return nullptr;
  }
}

// Rows of one product over the pool.
void multiply_integer_rows(const Product &p, IntegerProduct multiply) {
  const int64_t grain = std::max<int64_t>(1, chunk_work / 16 / std::max<int64_t>(1, p.n * p.k));
  parallel_for(p.m, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) {
      Product row = p;
      row.m = 1;
      row.a.data += i * p.a.row;
      row.out += i * p.n * p.itemsize;
      if (p.c.data) row.c.data += p.c_rows ? (*p.c_rows)(i) : i * p.c.row;
      row.c_rows = nullptr;
      multiply(row);
    }
  });
}

bool is_small(const Product &p) {
  return is_at_most(p.m, p.n, p.k, p.kernels->item == 8 ? small_work / 2 : small_work);
}

// Whole products over the pool.
void multiply_batch(const Call &call) {
  const Product &p = call.product;
  const bool small = is_small(p);
  const int64_t grain = std::max<int64_t>(1, chunk_work / 16 / (p.m * p.n * std::max<int64_t>(p.k, 1) + 64));
  parallel_for(call.count, grain, [&](int64_t begin, int64_t end) {
    const Scratch scratch = small ? Scratch(small_scratch(p)) : Scratch();
    Product product = nth(call, begin);
    for (int64_t i = begin; i < end; i++) {
      if (small) {
        const Product next = i + 1 < end ? nth(call, i + 1) : product;
        multiply_small(product, scratch.get(), i + 1 < end ? &next : nullptr);
        product = next;
      } else {
        check_cancel();
        multiply_large(nth(call, i));
      }
    }
  });
}

void run(Call &call, const KernelCall &of, const char *name) {
  Product &p = call.product;
  p.after = of.epilogue;
  if (p.m == 0 || p.n == 0 || call.count == 0) return;
  const IntegerProduct integers = integer_product(call.dtype);
  if (!p.kernels && !integers) fail(MX_ERROR_DTYPE, "%s: no matrix product for %s", name, mx::name(call.dtype));
  if (integers) {
    for (int64_t i = 0; i < call.count; i++) {
      multiply_integer_rows(nth(call, i), integers);
      if (p.after) p.after->run(i * p.m, 0, p.m, p.n);
    }
    return;
  }
  if (call.count == 1 && is_small(p)) return multiply_small(p, Scratch(small_scratch(p)).get());
  // A thread takes whole products if there are enough of them, and each keeps it busy for 2 ms at most.
  constexpr int64_t whole_work = int64_t{1} << 26;
  const bool whole =
      is_small(p) || (is_at_most(p.m, p.n, p.k, whole_work) && call.count >= 2 * std::max(1, num_threads()));
  if (whole) return multiply_batch(call);
  if (of.packed && call.count == 1 && !is_gemv(p) && p.k > 0)
    p.packed_b = static_cast<PackCache *>(of.packed)->packed(p);
  for (int64_t i = 0; i < call.count; i++) multiply_large(nth(call, i));
}

}  // namespace

const MatmulKernels *matmul_kernels(DType dtype, int64_t rows, int64_t n, int64_t k) {
  const MatmulLevel &level = matmul_level();
  switch (dtype) {
    case DType::float32:
      return &level.float32;
    case DType::float64:
      return &level.float64;
    case DType::complex64:
      return &level.complex64;
    case DType::float16:
      return &level.float16;
    case DType::bfloat16:
      return bfloat16_kernels(level, rows, n, k);
    default:
      return nullptr;
  }
}

void matmul(const KernelCall &call) {
  Call c;
  describe(c, call.inputs[0], call.inputs[1], nullptr, call.outputs[0], 1, 0);
  run(c, call, "matmul");
}

// beta = 0 ignores c, NaN included, as BLAS does.
void addmm(const KernelCall &call) {
  AttrReader attrs(call.attrs);
  const double alpha = attrs.real(), beta = attrs.real();
  Call c;
  describe(c, call.inputs[1], call.inputs[2], &call.inputs[0], call.outputs[0], alpha, beta);
  run(c, call, "addmm");
}

}  // namespace mx::cpu
