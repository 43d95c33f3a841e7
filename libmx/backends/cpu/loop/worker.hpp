// One thread's execution of a plan: a tape bound to its memory, the position in the space, and the staging of what is
// not dense.
#pragma once
#include <memory>

#include "backends/cpu/loop/plan.hpp"

namespace mx::loop {

// Memory aligned to the widest vector; small sizes are part of the object.
class Buffer {
 public:
  explicit Buffer(int64_t bytes);
  ~Buffer();
  Buffer(const Buffer &) = delete;
  Buffer &operator=(const Buffer &) = delete;
  char *data() noexcept { return data_; }

 private:
  char *data_;
  alignas(64) char inside_[16 * 1024];
};

// Walks a group of neighbouring dimensions in row-major order, keeping one address per row.
class Odometer {
 public:
  Odometer(const Plan &plan, uint32_t begin, uint32_t end);
  void set(int64_t linear) noexcept;
  void next() noexcept;
  int64_t offset(uint32_t row) const noexcept { return offsets_[row]; }

 private:
  const Plan &plan_;
  uint32_t begin_, end_;
  SmallVector<int64_t, 6> index_;
  SmallVector<int64_t, 8> offsets_;
};

// Copies the kernel's tape to the start of a worker's buffer and fills in its slots and scalars; the rows are left.
Step *bind(const Plan &plan, const uint64_t *scalars, char *buffer) noexcept;

class Worker {
 public:
  explicit Worker(const Call &call);

  // Chooses the row that the inner range belongs to; the inner position is given to run.
  void set_outer(int64_t linear) noexcept { outer_.set(linear), move(); }
  void next_outer() noexcept { outer_.next(), move(); }
  void set_middle(int64_t linear) noexcept { middle_.set(linear), move(); }
  void next_middle() noexcept { middle_.next(), move(); }

  // The accumulators of the reductions: `node` holds those of reduction k at k * stride. If they move, each element of
  // the range has its own, the first one's at the start of the node; else all blocks share the first.
  void accumulate_into(char *node, int64_t stride, bool moves) noexcept;
  // Executes the elements [first, first + n) of the inner range; the first one's accumulator is at `lanes`, in
  // elements.
  void run(int64_t first, int64_t n, int64_t lanes = 0);

  // The same for `rows` neighbours along the last outer dimension, from the current one on; ends at the last of them.
  void run_tile(int64_t first, int64_t n, int64_t rows);

  // Brings the elements [first, first + n) of the dense inputs towards the caches, `rows` middle positions ahead.
  void prefetch(int64_t first, int64_t n, int64_t rows) const noexcept;

  // Address of the current row's element in memory that the inner range does not move.
  int64_t address(uint32_t row) const noexcept { return current_[row]; }
  // Writes n dense elements to the inner positions [first, first + n) of a row.
  void unpack(uint32_t row, int64_t first, int64_t n, const char *dense);
  char *staging(uint32_t row) noexcept { return buffer_.data() + plan_.rows[row].staging; }

 private:
  void move() noexcept;
  void point(const Patch &patch, int64_t address, int64_t mask, bool is_packed) noexcept;
  bool is_staged(uint32_t row, bool stage_all) const noexcept;
  void bind_rows(bool stage_all);
  void point_rows(int64_t first, bool stage_all) noexcept;
  void fill_constants();
  void transpose(uint32_t row, int64_t first, int64_t n, int64_t rows);
  const char *staged(uint32_t row, int64_t first) noexcept;
  void span(int64_t first, int64_t n, bool stage_all, int64_t lanes);
  void run_tape(int64_t first, int64_t n, bool stage_all, int64_t lanes);
  void run_function(int64_t first, int64_t n, bool stage_all, int64_t lanes);
  void pack(uint32_t row, int64_t first, int64_t n);
  template <class Piece>
  void pieces(uint32_t row, int64_t first, int64_t n, Piece piece);

  const Call &call_;
  const Plan &plan_;
  const Kernel &kernel_;
  const Level &level_;
  Odometer outer_, middle_;
  Buffer buffer_;
  Step *tape_;                      // in the buffer
  SmallVector<int64_t, 24> frame_;  // what the machine code takes instead
  SmallVector<int64_t, 8> current_;
  SmallVector<int64_t, 8> filled_;  // the address whose element a constant row's block holds
  // How the tape is bound at present, and what of it changes from range to range: the addresses of dense rows, and rows
  // that need more than an address.
  enum { unbound, bound, bound_staged } binding_ = unbound;
  struct Moving {
    const char **address;
    uint32_t row;
    uint8_t log2_size;
  };
  SmallVector<Moving, 8> moving_;
  SmallVector<Patch, 2> others_;
  bool moved_ = true;
  int64_t tile_first_ = 0,
          tile_row_ = 0;  // what the staging memory of tiled rows holds, and which row of it is current
  char *node_ = nullptr;
  int64_t node_stride_ = 0;
  bool node_moves_ = false;
};

}  // namespace mx::loop
