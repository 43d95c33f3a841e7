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
    reserve(static_cast<size_t>(std::distance(first, last)));
    for (; first != last; ++first) push_back(*first);
  }
  SmallVector(const SmallVector &other) : SmallVector(other.begin(), other.end()) {}
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
    while (size_ < n) push_back(value);
    while (size_ > n) pop_back();
  }
  void assign(std::span<const T> items) {
    clear();
    reserve(items.size());
    for (const T &item : items) push_back(item);
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
    return std::equal(begin(), end(), other.begin(), other.end());
  }

 private:
  T *inside() noexcept { return reinterpret_cast<T *>(inline_); }
  void grow(size_t n) {
    n = std::max<size_t>(n, size_t{capacity_} * 2);
    T *bigger = static_cast<T *>(::operator new(n * sizeof(T)));
    std::uninitialized_move_n(data_, size_, bigger);
    std::destroy_n(data_, size_);
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
      std::uninitialized_move_n(other.data_, other.size_, data_);
      size_ = other.size_;
      other.clear();
    }
  }

  T *data_ = inside();
  uint32_t size_ = 0, capacity_ = N;
  alignas(T) std::byte inline_[N * sizeof(T)];
};

// Shapes, axes and strides. Strides are in bytes everywhere.
using Dims = SmallVector<int64_t, 4>;

}  // namespace mx
