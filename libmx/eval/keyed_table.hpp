// A hash table from byte strings to values whose operations never allocate, so that they may run under a lock: rows and
// bucket arrays are made by the caller beforehand and given back to be freed afterwards. Keys are compared byte for
// byte; a hash only finds candidates.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mx {

// MX_TEST_HASH_BITS=n keeps n bits, to force collisions in tests.
size_t key_hash(std::string_view key) noexcept;

template <class T>
class KeyedTable {
 public:
  struct Row {
    std::string key;
    T value;
    size_t hash = key_hash(key);
    uint64_t used = 0;  // tick of the last use
    Row *next = nullptr;
  };
  using Buckets = std::vector<Row *>;
  // Rows that were taken out, to be freed when the lock is open again.
  class Dropped {
   public:
    Dropped() = default;
    Dropped(const Dropped &) = delete;
    ~Dropped() {
      while (first_) delete std::exchange(first_, first_->next);
    }

   private:
    friend KeyedTable;
    Row *first_ = nullptr;
  };

  KeyedTable() = default;
  KeyedTable(const KeyedTable &) = delete;
  ~KeyedTable() {
    for (Row *row : buckets_)
      while (row) delete std::exchange(row, row->next);
  }
  size_t size() const noexcept { return size_; }
  // How long the array must be that insert is given next.
  size_t wanted_buckets() const noexcept { return size_ < buckets_.size() ? 0 : std::max<size_t>(8, 2 * size_); }

  Row *find(std::string_view key, size_t hash) noexcept {
    if (buckets_.empty()) return nullptr;
    for (Row *row = bucket(hash); row; row = row->next)
      if (row->hash == hash && row->key == key) return row;
    return nullptr;
  }

  // A row whose key is not there yet. Takes `room` for the table if it is longer than what it has; what is left in it
  // may be freed.
  Row *insert(std::unique_ptr<Row> row, Buckets &room) noexcept {
    if (room.size() > buckets_.size()) {
      buckets_.swap(room);
      for (Row *chain : room)
        while (chain) link(std::exchange(chain, chain->next));
    }
    link(row.get());
    size_++;
    return row.release();
  }

  void drop(Row &row, Dropped &dropped) noexcept {
    Row **at = &bucket(row.hash);
    while (*at != &row) at = &(*at)->next;
    *at = row.next;
    row.next = std::exchange(dropped.first_, &row);
    size_--;
  }

  // f may drop the row that it is given.
  template <class F>
  void each(F f) {
    for (Row *row : buckets_)
      while (row) f(*std::exchange(row, row->next));
  }

  void swap(KeyedTable &other) noexcept {
    buckets_.swap(other.buckets_);
    std::swap(size_, other.size_);
  }

 private:
  Row *&bucket(size_t hash) noexcept { return buckets_[hash % buckets_.size()]; }
  void link(Row *row) noexcept {
    Row *&head = bucket(row->hash);
    row->next = head;
    head = row;
  }
  Buckets buckets_;
  size_t size_ = 0;
};

}  // namespace mx
