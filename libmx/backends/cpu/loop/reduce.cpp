// Reductions. Every accumulator of a block is a lane of its own; leaves of 64 blocks (or 16 rows) are added up one
// after the other and then combined pairwise, as in a binary counter, so that the rounding error grows with the
// logarithm of the number of leaves: see N. J. Higham, "The accuracy of floating point summation", SIAM J. Sci. Comput.
// 14 (1993). The order is given by the shape and the block size alone: work is split at fixed places, in powers of two
// of leaves, and the parts are combined in the same way.
#include <algorithm>
#include <bit>
#include <cstring>

#include "backends/cpu/loop/run.hpp"
#include "backends/cpu/loop/worker.hpp"

namespace mx::loop {
namespace {

constexpr int64_t leaf_blocks = 64;
constexpr int64_t leaf_rows = 16;
constexpr int64_t chunk_rows = 32 * leaf_rows;
constexpr int64_t chunk_elements = 32768;
// So many results keep all threads busy without splitting their reductions.
constexpr int64_t enough_items = 64;

// The little tapes that work on accumulators. A node holds the accumulators of all reductions, `stride` bytes each.
class Combiner {
 public:
  Combiner(const Plan &plan, int64_t stride)
      : kernel_(plan.kernel), level_(*plan.kernel.micro_ops->level), stride_(stride) {}

  int64_t node_bytes() const noexcept { return stride_ * static_cast<int64_t>(kernel_.reductions.size()); }
  int64_t stride() const noexcept { return stride_; }

  // Sets the lanes [first, end) of a node to the neutral elements, all by default.
  void clear(char *node, int64_t first_lane = 0, int64_t end_lane = 0) const noexcept {
    const int64_t lane = kernel_.lane_bytes(), from = first_lane * lane, to = end_lane ? end_lane * lane : stride_;
    for (size_t k = 0; k < kernel_.reductions.size(); k++) {
      const uint64_t neutral = identity(kernel_.reductions[k].op, kernel_.reductions[k].type);
      level_.pack[kernel_.wide ? 3 : 2](node + static_cast<int64_t>(k) * stride_ + from,
                                        reinterpret_cast<const char *>(&neutral), 0, (to - from) / lane);
    }
  }
  void combine(char *into, const char *node) const noexcept {
    for (size_t k = 0; k < kernel_.reductions.size(); k++) {
      const Reduction &r = kernel_.reductions[k];
      const int64_t at = static_cast<int64_t>(k) * stride_;
      const Step tape[] = {get(node + at),
                           step(kernel_.micro_ops->find(r.op, kind_of(r.type), reduce_combine), into + at), end()};
      level_.run(tape, 0, stride_);
    }
  }
  // The lanes of accumulator k as dense elements of the result's type.
  void convert(size_t k, const char *node, char *dense, int64_t n_lanes) const noexcept {
    const Step tape[] = {get(node + static_cast<int64_t>(k) * stride_), store(k, dense), end()};
    level_.run(tape, 0, n_lanes * kernel_.lane_bytes());
  }
  // Folds all lanes of each of n blocks of accumulator k; the results are elements of `dense` a block apart.
  void fold(size_t k, const char *node, char *dense, int64_t n = 1) const noexcept {
    const Reduction &r = kernel_.reductions[k];
    const uint8_t form = kernel_.wide ? reduce_fold_wide : reduce_fold;
    const Step tape[] = {get(node + static_cast<int64_t>(k) * stride_),
                         step(kernel_.micro_ops->find(r.op, kind_of(r.type), form), nullptr), store(k, dense), end()};
    level_.run(tape, 0, n * kernel_.block_bytes());
  }

 private:
  static Step step(StepFn fn, const char *p) noexcept { return {fn, p, -1, nullptr, 0, 0, 0, nullptr}; }
  Step get(const char *p) const noexcept {
    return step(kernel_.micro_ops->find(micro_get, kernel_.wide ? kind_u64 : kind_u32, form_am), p);
  }
  Step store(size_t k, const char *p) const noexcept {
    const Storage storage = storage_of(kernel_.reductions[k].type);
    if (storage == (kernel_.wide ? in_b64 : in_b32)) return step(kernel_.micro_ops->find(micro_put, 0, 0), p);
    const Storage unsign = storage == in_i8 ? in_u8 : storage == in_i16 ? in_u16 : storage;
    return step(kernel_.micro_ops->find(micro_store, kernel_.wide ? kind_u64 : kind_u32, unsign), p);
  }
  Step end() const noexcept { return step(kernel_.micro_ops->find(micro_end, 0, 0), nullptr); }

  const Kernel &kernel_;
  const Level &level_;
  int64_t stride_;
};

// Combines any number of nodes pairwise, like the carries of a binary counter.
class Cascade {
 public:
  Cascade(const Combiner &combiner, int64_t max_nodes)
      : combiner_(combiner),
        levels_(static_cast<uint32_t>(std::bit_width(static_cast<uint64_t>(max_nodes))), nullptr),
        memory_((static_cast<int64_t>(levels_.size()) + 1) * combiner.node_bytes()) {
    char *at = memory_.data();
    node_ = at;
    for (char *&level : levels_) level = at += combiner.node_bytes();
  }
  // Where the next node is to be made.
  char *node() noexcept { return node_; }
  void push() noexcept {
    uint32_t level = 0;
    for (; count_ >> level & 1; level++) combiner_.combine(node_, levels_[level]);
    std::swap(node_, levels_[level]);
    count_++;
  }
  // The combination of all nodes, the neutral element if there is none. The cascade is empty again afterwards.
  char *finish() noexcept {
    if (count_ == 0) combiner_.clear(node_);
    bool is_first = true;
    for (uint32_t level = 0; level < levels_.size(); level++) {
      if (!(count_ >> level & 1)) continue;
      if (is_first)
        std::swap(node_, levels_[level]);
      else
        combiner_.combine(node_, levels_[level]);
      is_first = false;
    }
    count_ = 0;
    return node_;
  }

 private:
  const Combiner &combiner_;
  SmallVector<char *, 16> levels_;
  Buffer memory_;
  char *node_;
  uint64_t count_ = 0;
};

int64_t ceil_div(int64_t a, int64_t b) noexcept { return (a + b - 1) / b; }
uint32_t result_row(const Plan &plan, size_t k) noexcept {
  return static_cast<uint32_t>(plan.kernel.streams.size() + plan.kernel.indices.size() + k);
}

// ---- rows: a block lies along the reduced range

class RowReducer {
 public:
  explicit RowReducer(const Call &call)
      : plan_(call.plan),
        block_(plan_.kernel.block_elements()),
        worker_(call),
        combiner_(plan_, plan_.kernel.block_bytes()),
        leaves_(combiner_, chunk_elements / (leaf_blocks * block_) + 2),
        chunks_(combiner_, ceil_div(plan_.inner, chunk_elements) + 1) {}

  Worker &worker() noexcept { return worker_; }
  const Combiner &combiner() const noexcept { return combiner_; }

  // The node of the elements [first, first + n) of the current row.
  char *chunk(int64_t first, int64_t n) {
    const int64_t whole = n - n % block_;
    for (int64_t at = 0; at < whole; at += leaf_blocks * block_) {
      combiner_.clear(leaves_.node());
      worker_.accumulate_into(leaves_.node(), combiner_.stride(), false);
      const int64_t leaf = std::min(leaf_blocks * block_, whole - at);
      if (plan_.is_large && !plan_.kernel.range) worker_.prefetch(first + at + leaf, leaf, 0);
      worker_.run(first + at, leaf);
      leaves_.push();
    }
    if (n > whole) {
      // The lanes beyond the end of the range have accumulated padding.
      combiner_.clear(leaves_.node());
      worker_.accumulate_into(leaves_.node(), combiner_.stride(), false);
      worker_.run(first + whole, n - whole);
      combiner_.clear(leaves_.node(), n - whole);
      leaves_.push();
    }
    return leaves_.finish();
  }
  // The node of the whole current row.
  char *row() {
    if (plan_.inner <= chunk_elements) return chunk(0, plan_.inner);
    for (int64_t first = 0; first < plan_.inner; first += chunk_elements)
      add(chunk(first, std::min(chunk_elements, plan_.inner - first)));
    return total();
  }
  void add(const char *node) {
    std::memcpy(chunks_.node(), node, static_cast<size_t>(combiner_.node_bytes()));
    chunks_.push();
  }
  char *total() { return chunks_.finish(); }
  // Writes the results of the current row.
  void write(const char *node) {
    for (size_t k = 0; k < plan_.kernel.reductions.size(); k++) {
      const uint32_t row = result_row(plan_, k);
      combiner_.fold(k, node, worker_.staging(row));
      std::memcpy(reinterpret_cast<char *>(worker_.address(row)), worker_.staging(row),
                  size_t{1} << plan_.rows[row].log2_size);
    }
  }

 private:
  const Plan &plan_;
  int64_t block_;
  Worker worker_;
  Combiner combiner_;
  Cascade leaves_, chunks_;
};

// Rows that are one leaf each, and perhaps an incomplete block: several go together, so that their accumulators are
// cleared, combined and folded at once. In the order of RowReducer.
class ShortRows {
 public:
  explicit ShortRows(const Call &call)
      : plan_(call.plan),
        block_(plan_.kernel.block_elements()),
        whole_(plan_.inner - plan_.inner % block_),
        worker_(call),
        combiner_(plan_, batch * plan_.kernel.block_bytes()),
        memory_(2 * combiner_.node_bytes() + batch * plan_.kernel.block_bytes()),
        wholes_(memory_.data()),
        rests_(wholes_ + combiner_.node_bytes()),
        folded_(rests_ + combiner_.node_bytes()) {}

  static bool serves(const Plan &plan) noexcept { return plan.inner <= leaf_blocks * plan.kernel.block_elements(); }

  void run(int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; row += batch) {
      const int64_t n = std::min(batch, end - row), rest = plan_.inner - whole_;
      if (whole_ > 0 || rest == 0) part(wholes_, row, n, 0, whole_);
      if (rest > 0) {
        part(rests_, row, n, whole_, rest);
        for (int64_t i = 0; i < n; i++) combiner_.clear(rests_ + i * plan_.kernel.block_bytes(), rest, block_);
        if (whole_ > 0) combiner_.combine(rests_, wholes_);
      }
      write(rest > 0 ? rests_ : wholes_, row, n);
    }
  }

 private:
  static constexpr int64_t batch = 8;

  // The accumulators of a part of each row.
  void part(char *nodes, int64_t row, int64_t n, int64_t first, int64_t count) {
    combiner_.clear(nodes);
    if (count == 0) return;
    worker_.set_outer(row);
    for (int64_t i = 0; i < n; i++) {
      if (i > 0) worker_.next_outer();
      worker_.accumulate_into(nodes + i * plan_.kernel.block_bytes(), combiner_.stride(), false);
      if (plan_.is_large && !plan_.kernel.range) worker_.prefetch(first + plan_.inner, count, 0);
      worker_.run(first, count);
    }
  }
  void write(const char *nodes, int64_t row, int64_t n) {
    for (size_t k = 0; k < plan_.kernel.reductions.size(); k++) {
      const uint32_t result = result_row(plan_, k);
      const uint8_t log2_size = plan_.rows[result].log2_size;
      combiner_.fold(k, nodes, folded_, n);
      worker_.set_outer(row);
      for (int64_t i = 0; i < n; i++) {
        if (i > 0) worker_.next_outer();
        std::memcpy(reinterpret_cast<char *>(worker_.address(result)), folded_ + (i * block_ << log2_size),
                    size_t{1} << log2_size);
      }
    }
  }

  const Plan &plan_;
  int64_t block_, whole_;
  Worker worker_;
  Combiner combiner_;
  Buffer memory_;
  char *wholes_, *rests_, *folded_;
};

// Few long rows: their chunks are the items, and the nodes of all chunks are kept until the end.
void run_split_rows(const Call &call, int64_t n_chunks) {
  const Plan &plan = call.plan;
  const Combiner combiner(plan, plan.kernel.block_bytes());
  const int64_t bytes = combiner.node_bytes();
  Buffer nodes(plan.outer * n_chunks * bytes);
  const double ns = item_ns(plan, chunk_elements);
  for_items(plan.outer * n_chunks, ns, [&](int64_t begin, int64_t end) {
    RowReducer reducer(call);
    for (int64_t item = begin; item < end; item++) {
      if (item == begin || item % n_chunks == 0) reducer.worker().set_outer(item / n_chunks);
      const int64_t first = item % n_chunks * chunk_elements;
      const char *node = reducer.chunk(first, std::min(chunk_elements, plan.inner - first));
      std::memcpy(nodes.data() + item * bytes, node, static_cast<size_t>(bytes));
    }
  });
  RowReducer reducer(call);
  for (int64_t row = 0; row < plan.outer; row++) {
    reducer.worker().set_outer(row);
    for (int64_t i = 0; i < n_chunks; i++) reducer.add(nodes.data() + (row * n_chunks + i) * bytes);
    reducer.write(reducer.total());
  }
}

// ---- columns: a block lies along kept dimensions, and the reduced ones are taken row by row

// So many columns go together: their accumulators stay in the first level cache, their rows are read in long stretches.
int64_t column_width(const Plan &plan) noexcept { return 64 * plan.kernel.block_elements(); }
int64_t column_stride(const Plan &plan) noexcept {
  const int64_t block = plan.kernel.block_elements();
  return ceil_div(std::min(plan.inner, column_width(plan)), block) * plan.kernel.block_bytes();
}

class ColumnReducer {
 public:
  explicit ColumnReducer(const Call &call)
      : plan_(call.plan),
        worker_(call),
        combiner_(plan_, column_stride(plan_)),
        leaves_(combiner_, chunk_rows / leaf_rows + 1),
        chunks_(combiner_, ceil_div(plan_.middle, chunk_rows) + 1) {}

  Worker &worker() noexcept { return worker_; }
  const Combiner &combiner() const noexcept { return combiner_; }

  // The node of the reduced positions [first, first + n) for the columns [column, column + width).
  char *chunk(int64_t column, int64_t width, int64_t first, int64_t n) {
    if (n > 0) worker_.set_middle(first);
    for (int64_t at = 0; at < n; at += leaf_rows) {
      combiner_.clear(leaves_.node());
      worker_.accumulate_into(leaves_.node(), combiner_.stride(), true);
      for (int64_t i = at; i < std::min(at + leaf_rows, n); i++) {
        if (i > 0) worker_.next_middle();
        if (plan_.is_large && width < plan_.inner) worker_.prefetch(column, width, 1);
        worker_.run(column, width);
      }
      leaves_.push();
    }
    return leaves_.finish();
  }
  char *column(int64_t column, int64_t width) {
    if (plan_.middle <= chunk_rows) return chunk(column, width, 0, plan_.middle);
    for (int64_t first = 0; first < plan_.middle; first += chunk_rows)
      add(chunk(column, width, first, std::min(chunk_rows, plan_.middle - first)));
    return total();
  }
  void add(const char *node) {
    std::memcpy(chunks_.node(), node, static_cast<size_t>(combiner_.node_bytes()));
    chunks_.push();
  }
  char *total() { return chunks_.finish(); }
  void write(const char *node, int64_t column, int64_t width) {
    // The results do not move along the reduced dimensions.
    for (size_t k = 0; k < plan_.kernel.reductions.size(); k++) {
      const uint32_t row = result_row(plan_, k);
      const int64_t part = chunk_blocks * plan_.kernel.block_elements();
      for (int64_t at = 0; at < width; at += part) {
        const int64_t n = std::min(part, width - at);
        combiner_.convert(k, node + at * plan_.kernel.lane_bytes(), worker_.staging(row), n);
        worker_.unpack(row, column + at, n, worker_.staging(row));
      }
    }
  }

 private:
  const Plan &plan_;
  Worker worker_;
  Combiner combiner_;
  Cascade leaves_, chunks_;
};

void run_split_columns(const Call &call, int64_t width, int64_t n_widths) {
  const Plan &plan = call.plan;
  const int64_t n_chunks = ceil_div(plan.middle, chunk_rows);
  const Combiner combiner(plan, column_stride(plan));
  const int64_t bytes = combiner.node_bytes();
  Buffer nodes(plan.outer * n_widths * n_chunks * bytes);
  const double ns = item_ns(plan, chunk_rows * std::min(width, plan.inner));
  const auto columns = [&](int64_t i) { return std::min(width, plan.inner - i % n_widths * width); };
  // Items are (outer, columns, chunk).
  for_items(plan.outer * n_widths * n_chunks, ns, [&](int64_t begin, int64_t end) {
    ColumnReducer reducer(call);
    for (int64_t item = begin; item < end; item++) {
      const int64_t i = item / n_chunks, first = item % n_chunks * chunk_rows;
      reducer.worker().set_outer(i / n_widths);
      const char *node =
          reducer.chunk(i % n_widths * width, columns(i), first, std::min(chunk_rows, plan.middle - first));
      std::memcpy(nodes.data() + item * bytes, node, static_cast<size_t>(bytes));
    }
  });
  ColumnReducer reducer(call);
  for (int64_t i = 0; i < plan.outer * n_widths; i++) {
    reducer.worker().set_outer(i / n_widths);
    for (int64_t c = 0; c < n_chunks; c++) reducer.add(nodes.data() + (i * n_chunks + c) * bytes);
    reducer.write(reducer.total(), i % n_widths * width, columns(i));
  }
}

}  // namespace

void run_rows(const Call &call) {
  const Plan &plan = call.plan;
  if (plan.outer == 0) return;
  const int64_t n_chunks = ceil_div(plan.inner, chunk_elements);
  if (plan.outer < enough_items && n_chunks > 1) return run_split_rows(call, n_chunks);
  for_items(plan.outer, item_ns(plan, plan.inner), [&](int64_t begin, int64_t end) {
    if (ShortRows::serves(plan)) return ShortRows(call).run(begin, end);
    RowReducer reducer(call);
    for (int64_t row = begin; row < end; row++) {
      row == begin ? reducer.worker().set_outer(row) : reducer.worker().next_outer();
      reducer.write(reducer.row());
    }
  });
}

void run_columns(const Call &call) {
  const Plan &plan = call.plan;
  if (plan.outer == 0 || plan.inner == 0) return;
  const int64_t width = column_width(plan);
  const int64_t n_widths = ceil_div(plan.inner, width);
  if (plan.outer * n_widths < enough_items && plan.middle > chunk_rows) return run_split_columns(call, width, n_widths);
  const double ns = item_ns(plan, plan.middle * std::min(width, plan.inner));
  for_items(plan.outer * n_widths, ns, [&](int64_t begin, int64_t end) {
    ColumnReducer reducer(call);
    for (int64_t i = begin; i < end; i++) {
      const int64_t column = i % n_widths * width, count = std::min(width, plan.inner - column);
      reducer.worker().set_outer(i / n_widths);
      reducer.write(reducer.column(column, count), column, count);
    }
  });
}

}  // namespace mx::loop
