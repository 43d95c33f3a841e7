// mx/mx.hpp: what it wraps and what mx::call makes of every other function, who closes handles, and what is thrown.
#include <unistd.h>

#include <mx/mx.hpp>
#include <new>
#include <stdexcept>
#include <thread>

#include "check.h"

namespace {

using mx::Array;

template <class F>
mx_status status_of(F f) {
  try {
    f();
  } catch (const mx::Error &error) {
    CHECK(error.what()[0] != '\0');
    return error.status();
  }
  return MX_OK;
}

std::vector<Array> one(Array x) {
  std::vector<Array> xs;
  xs.push_back(std::move(x));
  return xs;
}

void arrays() {
  const Array x({1.f, 2.f, 3.f});
  CHECK(x.shape() == mx::Dims{3} && x.dtype() == MX_FLOAT32 && x.size() == 3 && x.ndim() == 1);
  const std::vector<int64_t> wide{1, 2, 3, 4};
  const Array matrix(wide, {2, 2});
  CHECK(matrix.dtype() == MX_INT64 && matrix.to_vector<int64_t>() == wide);
  CHECK(Array::of(true).item<bool>() && Array::of(2, MX_FLOAT64).item<double>() == 2);
  CHECK(Array::of(UINT64_MAX).item<uint64_t>() == UINT64_MAX);
  CHECK(status_of([&] { Array(wide, {3}); }) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(status_of([&] { x.to_vector<double>(); }) == MX_ERROR_DTYPE);
  CHECK(status_of([&] { matrix.item<int64_t>(); }) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(status_of([] { Array().eval(); }) == MX_ERROR_HANDLE);
}

void dtypes() {
  static_assert(mx::dtype<bool> == MX_BOOL && mx::dtype<std::complex<float>> == MX_COMPLEX64);
  static_assert(mx::dtype<uint8_t> == MX_UINT8 && mx::dtype<uint16_t> == MX_UINT16);
  static_assert(mx::dtype<uint32_t> == MX_UINT32 && mx::dtype<uint64_t> == MX_UINT64);
  static_assert(mx::dtype<int8_t> == MX_INT8 && mx::dtype<int16_t> == MX_INT16);
  static_assert(mx::dtype<int32_t> == MX_INT32 && mx::dtype<int64_t> == MX_INT64);
  static_assert(mx::dtype<float> == MX_FLOAT32 && mx::dtype<double> == MX_FLOAT64);
  static_assert(mx::scalar(true).kind == MX_SCALAR_BOOL && mx::scalar(1.5f).re == 1.5);
  static_assert(mx::scalar(-3).i == -3 && mx::scalar(3u).kind == MX_SCALAR_UINT);
}

void ops() {
  const Array x({1.f, 2.f, 3.f, 4.f});
  const mx::Stream stream(MX_CPU);
  CHECK(mx::op(mx_sum, x, mx::all_axes, false).item<float>() == 10);
  CHECK(mx::op(mx_sum, x, mx::Dims{0}, false, stream).item<float>() == 10);
  CHECK(mx::op(mx_sum, x, mx::Dims{}, false).shape() == mx::Dims{4});  // over no axis
  CHECK(((2 * x + 1.5f) / x - x).to_vector<float>()[1] == 0.75f);
  CHECK((-x).to_vector<float>()[3] == -4 && (x * 2).dtype() == MX_FLOAT32);
  const Array joined = mx::op(mx_concatenate, mx::handles(x, x), int64_t{0});
  CHECK(joined.shape() == mx::Dims{8});
  Array q, r;
  mx::call(mx_linalg_qr, q.out(), r.out(), mx::op(mx_reshape, x, mx::Dims{2, 2}));
  mx::eval(q, r);
  stream.synchronize();
  const std::vector<Array> parts = mx::list(mx_split, 4, x, mx::Dims{1}, int64_t{0});
  CHECK(parts.size() == 2 && parts[1].to_vector<float>() == (std::vector<float>{2, 3, 4}));
  CHECK(status_of([&] { x + parts[1]; }) == MX_ERROR_SHAPE);
}

void ownership() {
  const uint64_t before = mx_handle_count(MX_HANDLE_ANY);
  {
    Array a({1, 2}), b(std::move(a));
    CHECK(!a && b && mx_handle_count(MX_HANDLE_ANY) == before + 1);
    a = std::move(b);
    Array &same = a;
    a = std::move(same);
    CHECK(a && !b);
    Array c = a.dup();
    CHECK(mx_handle_count(MX_HANDLE_ANY) == before + 2);
    c = Array({3, 4});  // closes what it held
    CHECK(mx_handle_count(MX_HANDLE_ANY) == before + 2);
    const mx::View view = a.view();
    a.assign(c);
    CHECK(view.data<int32_t>()[1] == 2 && view->n_dims == 1 && a.to_vector<int32_t>()[1] == 4);
    const mx_array raw = c.release();
    CHECK(!c && mx_array_free(raw) == MX_OK);
  }
  CHECK(mx_handle_count(MX_HANDLE_ANY) == before);
}

void functions() {
  int runs = 0;
  mx::Function f("twice", 1, [&](std::span<const Array> in) { return runs++, one(in[0] + in[0]); });
  const Array x({1.f, 2.f});
  CHECK(f(x)[0].to_vector<float>()[1] == 4 && f(x)[0].to_vector<float>()[0] == 2);
  CHECK(runs == 1 && f.stats().hits == 1);
  const mx::Function same = f.dup();
  same.erase();
  CHECK(same(std::span(&x, 1)).size() == 1 && runs == 2);

  const mx::Function thrower("thrower", 1,
                             [](std::span<const Array>) -> std::vector<Array> { throw std::out_of_range("!"); });
  bool caught = false;
  try {
    thrower(x);
  } catch (const std::out_of_range &) {
    caught = true;
  }
  CHECK(caught && thrower.stats().entries == 0);
  const mx::Function outer("outer", 1, [&](std::span<const Array> in) {
    CHECK(status_of([&] {
            try {
              thrower(in[0]);
            } catch (const std::out_of_range &) {
            }
          }) == MX_OK);
    return one(in[0] + Array({1.f, 2.f, 3.f}));
  });
  CHECK(status_of([&] { outer(x); }) == MX_ERROR_SHAPE);
  const mx::Function few("few", 2, [](std::span<const Array> in) { return one(in[0].dup()); });
  CHECK(status_of([&] { few(x); }) == MX_ERROR_INVALID_ARGUMENT);
  CHECK(status_of([&] { f(Array()); }) == MX_ERROR_HANDLE);  // not what an earlier body threw
  std::thread([moved = std::move(f)] { CHECK(moved(Array({5.f}))[0].item<float>() == 10); }).join();
}

void files() {
  const std::string path = "/tmp/test_mx_hpp." + std::to_string(getpid()) + ".npz";
  const Array x({1.f, 2.f});
  const std::vector<const char *> names{"x"};
  mx::call(mx_save_npz, path, names, mx::handles(x), false);
  const mx::Archive archive(path);
  CHECK(archive.size() == 1 && archive.name(0) == "x");
  CHECK(archive["x"].to_vector<float>()[1] == 2 && archive[size_t{0}].size() == 2);
  CHECK(status_of([&] { archive["y"]; }) == MX_ERROR_INDEX);
  unlink(path.c_str());
}

// Whichever allocation of the library fails: OUT_OF_MEMORY is thrown and nothing stays open.
void failing_allocations() {
  for (uint64_t n = 1;; n++) {
    mx_test_fail_allocation(n);
    bool failed = false;
    try {
      const Array x({1.f, 2.f});
      const mx::Function f("f", 1, [](std::span<const Array> in) { return one(mx::op(mx_exp, in[0]) * 2); });
      f(x)[0].to_vector<float>();
    } catch (const mx::Error &error) {
      CHECK(error.status() == MX_ERROR_OUT_OF_MEMORY);
      failed = true;
    } catch (const std::bad_alloc &) {
      failed = true;
    }
    const uint64_t allocations = mx_test_fail_allocation(0);
    CHECK(mx_handle_count(MX_HANDLE_ANY) == 0);
    if (!failed && allocations < n) return;
  }
}

}  // namespace

int main() {
  arrays(), dtypes(), ops(), ownership(), functions(), files();
  failing_allocations();
  return mx_handle_count(MX_HANDLE_ANY) != 0;
}
