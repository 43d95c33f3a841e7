// A vector that holds its first N elements inside itself: shapes, strides and input lists rarely need the heap.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <new>
#include <span>
#include <utility>

namespace mx {

// Whether an object may be moved by copying its bytes and forgetting the original. Types say so by a specialisation.
template <class T>
inline constexpr bool is_relocatable = std::is_trivially_copyable_v<T>;

template <class T, uint32_t N>
class SmallVector {
 public:
  using value_type = T;
  SmallVector() noexcept {}
  explicit SmallVector(size_t n, const T &value = T()) { resize(n, value); }
  SmallVector(std::initializer_list<T> items) : SmallVector(items.begin(), items.end()) {}
  template <class It>
    requires(!std::is_integral_v<It>)
  SmallVector(It first, It last) {
    const size_t n = static_cast<size_t>(std::distance(first, last));
    reserve(n);
    std::uninitialized_copy(first, last, data_);
    size_ = static_cast<uint32_t>(n);
  }
  SmallVector(const SmallVector &other) {
    if constexpr (copies_whole) {
      if (other.size_ <= N) {
        std::memcpy(inline_, other.data_, sizeof inline_);
        size_ = other.size_;
        return;
      }
    }
    reserve(other.size_);
    std::uninitialized_copy(other.begin(), other.end(), data_);
    size_ = other.size_;
  }
  SmallVector(SmallVector &&other) noexcept { take(other); }
  SmallVector &operator=(const SmallVector &other) {
    if (this != &other) *this = SmallVector(other);
    return *this;
  }
  SmallVector &operator=(SmallVector &&other) noexcept {
    if (this != &other) {
      drop();
      take(other);
    }
    return *this;
  }
  ~SmallVector() { drop(); }

  size_t size() const noexcept { return size_; }
  size_t capacity() const noexcept { return capacity_; }
  bool empty() const noexcept { return size_ == 0; }
  T *data() noexcept { return data_; }
  const T *data() const noexcept { return data_; }
  T *begin() noexcept { return data_; }
  T *end() noexcept { return data_ + size_; }
  const T *begin() const noexcept { return data_; }
  const T *end() const noexcept { return data_ + size_; }
  T &operator[](size_t i) noexcept { return data_[i]; }
  const T &operator[](size_t i) const noexcept { return data_[i]; }
  T &front() noexcept { return data_[0]; }
  const T &front() const noexcept { return data_[0]; }
  T &back() noexcept { return data_[size_ - 1]; }
  const T &back() const noexcept { return data_[size_ - 1]; }
  operator std::span<const T>() const noexcept { return {data_, size_}; }

  void reserve(size_t n) {
    if (n > capacity_) grow(n);
  }
  template <class... Args>
  T &emplace_back(Args &&...args) {
    if (size_ == capacity_) {
      T value(std::forward<Args>(args)...);  // an argument may live inside this vector
      grow(size_t{capacity_} * 2);
      return *new (data_ + size_++) T(std::move(value));
    }
    return *new (data_ + size_++) T(std::forward<Args>(args)...);
  }
  void push_back(const T &value) { emplace_back(value); }
  void push_back(T &&value) { emplace_back(std::move(value)); }
  void pop_back() noexcept { std::destroy_at(data_ + --size_); }
  void clear() noexcept {
    std::destroy_n(data_, size_);
    size_ = 0;
  }
  void resize(size_t n, const T &value = T()) {
    reserve(n);
    if (n > size_) std::uninitialized_fill(data_ + size_, data_ + n, value);
    if (n < size_) std::destroy(data_ + n, data_ + size_);
    size_ = static_cast<uint32_t>(n);
  }
  void assign(std::span<const T> items) {
    clear();
    reserve(items.size());
    std::uninitialized_copy(items.begin(), items.end(), data_);
    size_ = static_cast<uint32_t>(items.size());
  }
  void append(const T *items, size_t n)
    requires std::is_trivially_copyable_v<T>
  {
    reserve(size_ + n);
    if (n) std::memcpy(data_ + size_, items, n * sizeof(T));
    size_ += static_cast<uint32_t>(n);
  }
  void insert(size_t at, const T &value) {
    push_back(value);
    std::rotate(begin() + at, end() - 1, end());
  }
  void erase(size_t at) {
    std::move(begin() + at + 1, end(), begin() + at);
    pop_back();
  }
  bool operator==(const SmallVector &other) const noexcept {
    if (size_ != other.size_) return false;
    for (uint32_t i = 0; i < size_; i++)  // a call of memcmp costs more for the few there are
      if (!(data_[i] == other.data_[i])) return false;
    return true;
  }

 private:
  // Up to so many bytes are copied by a few instructions, used or not, rather than by a call with a length.
  static constexpr size_t most_whole = 64;
  static constexpr bool copies_whole = std::is_trivially_copyable_v<T> && N * sizeof(T) <= most_whole;
  T *inside() noexcept { return reinterpret_cast<T *>(inline_); }
  void grow(size_t n) {
    n = std::max<size_t>(n, size_t{capacity_} * 2);
    T *bigger = static_cast<T *>(::operator new(n * sizeof(T)));
    relocate(data_, size_, bigger);
    if (data_ != inside()) ::operator delete(data_);
    data_ = bigger;
    capacity_ = static_cast<uint32_t>(n);
  }
  void drop() noexcept {
    std::destroy_n(data_, size_);
    if (data_ != inside()) ::operator delete(data_);
    data_ = inside();
    size_ = 0;
    capacity_ = N;
  }
  void take(SmallVector &other) noexcept {
    if (other.data_ != other.inside()) {
      data_ = std::exchange(other.data_, other.inside());
      size_ = std::exchange(other.size_, 0);
      capacity_ = std::exchange(other.capacity_, N);
    } else {
      if constexpr (is_relocatable<T> && sizeof inline_ <= most_whole)
        std::memcpy(inline_, other.inline_, sizeof inline_);
      else
        relocate(other.data_, other.size_, data_);
      size_ = std::exchange(other.size_, 0);
    }
  }
  static void relocate(T *from, size_t n, T *to) noexcept {
    if constexpr (is_relocatable<T>) {
      if (n) std::memcpy(static_cast<void *>(to), static_cast<const void *>(from), n * sizeof(T));
    } else {
      std::uninitialized_move_n(from, n, to);
      std::destroy_n(from, n);
    }
  }

  T *data_ = inside();
  uint32_t size_ = 0, capacity_ = N;
  alignas(T) std::byte inline_[N * sizeof(T)];
};

// Shapes, axes and strides. Strides are in bytes everywhere.
using Dims = SmallVector<int64_t, 4>;

}  // namespace mx
