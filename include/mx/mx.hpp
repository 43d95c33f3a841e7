/* mx/mx.hpp: the C ABI for C++20: handles that close themselves, failures as exceptions. Header only; what it does not
 * wrap is called through mx::call and mx::op, which take every function of the headers:
 *
 *     mx::Array x({1.f, 2.f, 3.f});
 *     mx::Array y = mx::op(mx_add, x, mx::op(mx_sum, x, mx::Dims{0}, true)); // the last argument, a stream, may be
 * left out std::vector<float> values = y.to_vector<float>();
 *
 * Objects are move-only; dup() makes a second owner. They may be used, moved between threads and destroyed as the
 * handles in them. Every function that can fail throws mx::Error, and std::bad_alloc where C++ itself is out of memory.
 */
#ifndef MX_MX_HPP
#define MX_MX_HPP
#include <complex>
#include <concepts>
#include <cstdint>
#include <exception>
#include <functional>
#include <initializer_list>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "mx/mx.h"

namespace mx {

/* A status that is not MX_OK; what() is the message that belongs to it. */
class Error : public std::runtime_error {
 public:
  explicit Error(mx_status status) : Error(status, mx_error_message()) {}
  Error(mx_status status, const char *message) : std::runtime_error(message), status_(status) {}
  mx_status status() const noexcept { return status_; }

 private:
  mx_status status_;
};

/* Throws unless MX_OK. Call it on the thread that got the status. */
inline void check(mx_status status) {
  if (status != MX_OK) throw Error(status);
}

/* The owner of one handle of the C ABI, or of none. */
template <class H, mx_status (*Free)(H)>
class Handle {
 public:
  Handle() noexcept = default;
  explicit Handle(H owned) noexcept : handle_(owned) {}
  Handle(Handle &&other) noexcept : handle_(other.release()) {}
  Handle &operator=(Handle &&other) noexcept {
    if (this != &other) {
      close();
      handle_ = other.release();
    }
    return *this;
  }
  ~Handle() { close(); }

  H get() const noexcept { return handle_; }
  explicit operator bool() const noexcept { return handle_ != nullptr; }

  /* Gives the handle away: the caller closes it. */
  H release() noexcept { return std::exchange(handle_, nullptr); }

  /* Where a C function puts a new handle; what was held before is closed. */
  H *out() noexcept {
    close();
    return &handle_;
  }

 private:
  void close() noexcept {
    if (handle_) static_cast<void>(Free(release()));
  }

  H handle_ = nullptr;
};

/* Sizes, axes, strides. */
using Dims = std::vector<int64_t>;

/* Stands for `const int64_t *axes, size_t n_axes` that means every axis. */
struct AllAxes {};
inline constexpr AllAxes all_axes;

/* What an object becomes among the arguments of a C function: handles of themselves, vectors and spans a pointer and a
 * count, anything else itself. */
template <class H, mx_status (*Free)(H)>
std::tuple<H> as_arguments(const Handle<H, Free> &x) noexcept {
  return {x.get()};
}
template <class T>
std::tuple<const T *, size_t> as_arguments(std::span<const T> xs) noexcept {
  static constexpr T none{};  // NULL would say that the list was left out, not that it is empty
  return {xs.empty() ? &none : xs.data(), xs.size()};
}
template <class T>
std::tuple<const T *, size_t> as_arguments(const std::vector<T> &xs) noexcept {
  return as_arguments(std::span<const T>(xs));
}
inline std::tuple<const char *> as_arguments(const std::string &text) noexcept { return {text.c_str()}; }
inline std::tuple<const int64_t *, size_t> as_arguments(AllAxes) noexcept { return {nullptr, 0}; }
template <class T>
  requires std::is_scalar_v<T> || std::same_as<T, mx_scalar>
std::tuple<T> as_arguments(T x) noexcept {
  return {x};
}

/* Calls any fallible function of the C ABI; a stream at the end that is left out is the thread's default stream. */
template <class... P, class... Args>
void call(mx_status (*f)(P...), const Args &...args) {
  std::apply(
      [&](auto... flat) {
        if constexpr (std::is_invocable_v<decltype(f), decltype(flat)...>)
          check(f(flat...));
        else
          check(f(flat..., mx_stream{nullptr}));
      },
      std::tuple_cat(as_arguments(args)...));
}

/* The dtype of a C++ type: mx::dtype<float> is MX_FLOAT32. float16 and bfloat16 have no type here. */
template <class T>
constexpr mx_dtype dtype_of() {
  if constexpr (std::same_as<T, bool>) {
    return MX_BOOL;
  } else if constexpr (std::same_as<T, std::complex<float>>) {
    return MX_COMPLEX64;
  } else if constexpr (std::floating_point<T>) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "no such dtype");
    return sizeof(T) == 4 ? MX_FLOAT32 : MX_FLOAT64;
  } else {
    static_assert(std::integral<T> && sizeof(T) <= 8, "no such dtype");
    constexpr mx_dtype u[] = {MX_UINT8, MX_UINT16, MX_UINT32, MX_UINT64}, i[] = {MX_INT8, MX_INT16, MX_INT32, MX_INT64};
    constexpr int log2 = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
    return std::is_signed_v<T> ? i[log2] : u[log2];
  }
}
template <class T>
inline constexpr mx_dtype dtype = dtype_of<T>();

/* A number of C++ as the C ABI takes it. */
template <class T>
  requires std::is_arithmetic_v<T>
constexpr mx_scalar scalar(T value) {
  if constexpr (std::same_as<T, bool>) return {MX_SCALAR_BOOL, value, 0, 0};
  if constexpr (std::floating_point<T>) return {MX_SCALAR_FLOAT, 0, static_cast<double>(value), 0};
  return {std::is_signed_v<T> ? MX_SCALAR_INT : MX_SCALAR_UINT, static_cast<int64_t>(value), 0, 0};
}

/* An ordered queue of work; see mx/device.h. */
class Stream : public Handle<mx_stream, mx_stream_free> {
 public:
  using Handle::Handle;
  explicit Stream(mx_device_type type, int32_t index = 0) { call(mx_stream_new, out(), type, index); }

  Stream dup() const {
    Stream copy;
    call(mx_stream_dup, copy.out(), *this);
    return copy;
  }

  /* Waits for what was submitted before; TIMEOUT after timeout_ms. */
  void synchronize(uint32_t timeout_ms = UINT32_MAX) const { check(mx_synchronize(get(), timeout_ms)); }
};

class View;

/* A lazily evaluated n-dimensional array; see mx/array.h. */
class Array : public Handle<mx_array, mx_array_free> {
 public:
  using Handle::Handle;

  /* Copies row-major values. SHAPE or INVALID_ARGUMENT unless they are as many as `dims` say. */
  template <class T>
  Array(std::span<const T> values, const Dims &dims) {
    call(mx_array_new, out(), static_cast<const void *>(values.data()), values.size_bytes(), dims, mx::dtype<T>);
  }
  template <class T>
  Array(const std::vector<T> &values, const Dims &dims) : Array(std::span<const T>(values), dims) {}

  /* 1-d. */
  template <class T>
  explicit Array(std::initializer_list<T> values)
      : Array(std::span<const T>(values.begin(), values.size()), Dims{static_cast<int64_t>(values.size())}) {}

  /* 0-d. */
  template <class T>
    requires std::is_arithmetic_v<T>
  static Array of(T value, mx_dtype dtype = mx::dtype<T>) {
    Array x;
    call(mx_array_scalar, x.out(), mx::scalar(value), dtype);
    return x;
  }

  Array dup() const {
    Array copy;
    call(mx_array_dup, copy.out(), *this);
    return copy;
  }

  Dims shape() const {
    int64_t dims[MX_MAX_DIMS];
    size_t n = 0;
    check(mx_array_shape(dims, MX_MAX_DIMS, &n, get()));
    return Dims(dims, dims + n);
  }
  mx_dtype dtype() const {
    mx_dtype found;
    check(mx_array_dtype(&found, get()));
    return found;
  }
  size_t ndim() const {
    size_t n;
    check(mx_array_ndim(&n, get()));
    return n;
  }
  size_t size() const {
    size_t n;
    check(mx_array_size(&n, get()));
    return n;
  }

  /* Makes this array stand for what `value` stands for. */
  void assign(const Array &value) { call(mx_array_assign, *this, value); }

  /* Computes it and waits. */
  void eval() const {
    const mx_array x = get();
    check(mx_eval(&x, 1));
  }

  /* The elements, row-major. DTYPE unless T is the array's type. Forces evaluation. */
  template <class T>
    requires(!std::same_as<T, bool>)  // std::vector<bool> holds bits; View reads bools
  std::vector<T> to_vector() const {
    require<T>();
    std::vector<T> values(size());
    check(mx_array_read(values.data(), values.size() * sizeof(T), get()));
    return values;
  }

  /* The only element. DTYPE unless T is the array's type. Forces evaluation. */
  template <class T>
  T item() const {
    require<T>();
    T value;
    check(mx_array_read(&value, sizeof value, get()));
    return value;
  }

  /* The memory of the array, without a copy. Forces evaluation. */
  View view() const;

 private:
  template <class T>
  void require() const {
    if (dtype() != mx::dtype<T>)
      throw Error(MX_ERROR_DTYPE, (std::string("the array is ") + mx_dtype_name(dtype())).c_str());
  }
};

/* Readable memory of an array, valid and unchanged as long as this lives. */
class View : public Handle<mx_pin, mx_pin_free> {
 public:
  explicit View(const Array &x) { call(mx_array_pin, out(), &view_, x); }
  const mx_view *operator->() const noexcept { return &view_; }
  template <class T>
  const T *data() const noexcept {
    return static_cast<const T *>(view_.data);
  }

 private:
  mx_view view_{};
};

inline View Array::view() const { return View(*this); }

/* The result of an op: any function of the C ABI whose first parameter is `mx_array *out`. */
template <class... P, class... Args>
Array op(mx_status (*f)(mx_array *, P...), const Args &...args) {
  Array result;
  call(f, result.out(), args...);
  return result;
}

/* The results of a function whose first parameters are `mx_array *outs, size_t cap, size_t *n_outs_out`. */
template <class... P, class... Args>
std::vector<Array> list(mx_status (*f)(mx_array *, size_t, size_t *, P...), size_t cap, const Args &...args) {
  std::vector<mx_array> handles(cap);
  std::vector<Array> results(cap);  // before there is anything to lose
  size_t n = 0;
  call(f, handles.data(), cap, &n, args...);
  for (size_t i = 0; i < n; i++) results[i] = Array(handles[i]);
  results.resize(n);
  return results;
}

/* The handles of several arrays, for functions that take `const mx_array *xs, size_t n_xs`. They stay with the arrays.
 */
inline std::vector<mx_array> handles(std::span<const Array> xs) {
  std::vector<mx_array> found;
  found.reserve(xs.size());
  for (const Array &x : xs) found.push_back(x.get());
  return found;
}
template <std::same_as<Array>... A>
std::vector<mx_array> handles(const A &...xs) {
  return {xs.get()...};
}

/* Computes several arrays together and waits. */
template <std::same_as<Array>... A>
void eval(const A &...xs) {
  call(mx_eval, handles(xs...));
}

/* A scalar beside an array takes the array's kind of dtype, as in Python. */
template <class T>
Array beside(const Array &x, T value) {
  return op(mx_array_scalar_weak, scalar(value), x.dtype());
}

#define MX_OPERATOR(symbol, function)                                                         \
  inline Array operator symbol(const Array &a, const Array &b) { return op(function, a, b); } \
  template <class T>                                                                          \
    requires std::is_arithmetic_v<T>                                                          \
  Array operator symbol(const Array &a, T b) {                                                \
    return op(function, a, beside(a, b));                                                     \
  }                                                                                           \
  template <class T>                                                                          \
    requires std::is_arithmetic_v<T>                                                          \
  Array operator symbol(T a, const Array &b) {                                                \
    return op(function, beside(b, a), b);                                                     \
  }
MX_OPERATOR(+, mx_add)
MX_OPERATOR(-, mx_subtract)
MX_OPERATOR(*, mx_multiply)
MX_OPERATOR(/, mx_divide)
#undef MX_OPERATOR
inline Array operator-(const Array &a) { return op(mx_negative, a); }

/* A compiled function; see mx/function.h. The body runs when a call meets a new signature, on the thread that calls,
 * and not again for that signature. What it throws comes out of the call, and nothing is kept. */
class Function : public Handle<mx_function, mx_function_free> {
 public:
  using Body = std::function<std::vector<Array>(std::span<const Array>)>;

  Function() noexcept = default;

  /* The body returns n_outputs arrays. `flags` are mx_function_flags. */
  Function(const char *name, size_t n_outputs, Body body, uint32_t flags = MX_FUNCTION_DEFAULT)
      : n_outputs_(n_outputs) {
    auto payload = std::make_unique<Body>(std::move(body));
    check(mx_compile(out(), name, n_outputs, run, payload.release(), destroy, flags));
  }

  Function dup() const {
    Function copy;
    check(mx_function_dup(copy.out(), get()));
    copy.n_outputs_ = n_outputs_;
    return copy;
  }

  std::vector<Array> operator()(std::span<const Array> inputs) const { return run_compiled(handles(inputs)); }
  template <std::same_as<Array>... A>
  std::vector<Array> operator()(const A &...inputs) const {
    return run_compiled(handles(inputs...));
  }

  /* Drops what was compiled, on every thread. */
  void erase() const { check(mx_function_erase(get())); }

  mx_function_info stats() const {
    mx_function_info info;
    check(mx_function_stats(&info, get()));
    return info;
  }

 private:
  std::vector<Array> run_compiled(const std::vector<mx_array> &inputs) const {
    thrown() = nullptr;
    try {
      return list(mx_compiled_call, n_outputs_, get(), inputs);
    } catch (...) {
      if (std::exception_ptr from_body = std::exchange(thrown(), nullptr)) std::rethrow_exception(from_body);
      throw;
    }
  }

  /* What the body threw on its way through the C ABI, where no exception may pass. */
  static std::exception_ptr &thrown() noexcept {
    static thread_local std::exception_ptr exception;
    return exception;
  }

  static mx_status run(mx_array *outputs, size_t n_outputs, const mx_array *inputs, size_t n_inputs, void *payload) {
    try {
      std::vector<Array> arguments(n_inputs);
      for (size_t i = 0; i < n_inputs; i++) check(mx_array_dup(arguments[i].out(), inputs[i]));
      std::vector<Array> results = (*static_cast<Body *>(payload))(arguments);
      if (results.size() != n_outputs)
        throw Error(MX_ERROR_INVALID_ARGUMENT, "the function does not return as many arrays as was said");
      for (size_t i = 0; i < n_outputs; i++) outputs[i] = results[i].release();
      return MX_OK;
    } catch (const Error &error) {
      thrown() = std::current_exception();
      return error.status();
    } catch (...) {
      thrown() = std::current_exception();
      return MX_ERROR_CALLBACK;
    }
  }

  static void destroy(void *payload) { delete static_cast<Body *>(payload); }

  size_t n_outputs_ = 0;
};

/* The arrays of a file; see mx/io.h. To save: mx::call(mx_save_npy, path, x) and its like. */
class Archive : public Handle<mx_archive, mx_archive_free> {
 public:
  using Handle::Handle;
  explicit Archive(const std::string &path, mx_format format = MX_FORMAT_ANY, bool map = false) {
    call(mx_load, out(), path, format, map);
  }

  size_t size() const {
    size_t n;
    check(mx_archive_count(&n, get()));
    return n;
  }

  std::string name(size_t i) const {
    size_t needed = 0;
    check(mx_archive_name(nullptr, 0, &needed, get(), i));
    std::string text(needed, '\0');
    check(mx_archive_name(text.data(), needed, &needed, get(), i));
    text.pop_back();  // the NUL
    return text;
  }

  /* Read when it is evaluated. INDEX if there is no such array. */
  Array operator[](size_t i) const { return op(mx_archive_array, *this, i); }
  Array operator[](const char *name) const { return op(mx_archive_find, *this, name); }
};

}  // namespace mx
#endif
