// Large products: Goto's loops over packed panels, arranged so that threads do not wait for each other. One operand is
// held: packed once, block by block, by whoever needs a block first, and read by all threads. The other one is cut into
// groups of rows or columns; the thread that takes a group packs its part for itself and multiplies it by all that is
// held. What a group works on stays in the thread's second-level cache: its own part, and a block of the held operand
// and of the result, to which all of k is added before the next block's turn. So a block of the result is complete, in
// every sense, while it is in the cache.
#include <algorithm>
#include <atomic>
#include <vector>

#include "backends/cpu/matmul_driver.hpp"
#include "backends/cpu/matmul_slots.hpp"
#include "runtime/delay.hpp"
#include "runtime/pool.hpp"

namespace mx::cpu {
namespace {

// What is packed at once, and what a group takes. Found by measurement with 1 and 2 MB of second-level cache.
constexpr int64_t most_k = 1536, most_held = 2048;
constexpr int64_t block_lanes = 128;  // of the held operand
constexpr int64_t own_most = 1 << 20, own_lanes = 256;

// A packed operand: block after block of k, in each the panels of all lanes (rows of a, columns of b).
struct Panels {
  const char *data;
  int64_t padded, first_lane, first_k;
  const char *at(const MatmulKernels &kernels, int64_t lane, int64_t k, int64_t depth) const noexcept {
    const int64_t deep = round_up(depth, kernels.k_unit);
    return data + ((k - first_k) * padded + (lane - first_lane) * deep) * kernels.packed_item;
  }
};

// A part of a product whose packed form has bounded size: all of the dimension that is cut, `held` lanes of the other
// one, and [k, k + depth).
struct Slab {
  const Product &p;
  bool columns;         // are cut; else rows
  int64_t first, held;  // lanes of the held operand
  int64_t k, depth;
  char *sums;  // of all of the output, where they have to wait for the next slab; else nullptr
  int64_t cut() const noexcept { return columns ? p.n : p.m; }
  bool last() const noexcept { return k + depth == p.k; }
};

// Lanes of a block of the held operand.
int64_t held_block(const Slab &s) noexcept {
  const int64_t lanes = s.columns ? s.p.kernels->mr : s.p.kernels->nr, most = block_lanes / lanes * lanes;
  return round_up(ceil_div(s.held, ceil_div(s.held, most)), lanes);
}

// The lanes that are cut, in groups of whole panels which differ by one panel at most: as many for each thread, so that
// threads of the same speed end at the same time.
struct Groups {
  int64_t unit, units, count;
  Groups(const Slab &s, bool raw) noexcept : unit(s.columns ? s.p.kernels->nr : s.p.kernels->mr) {
    units = ceil_div(s.cut(), unit);
    const int64_t threads = std::max(1, num_threads());
    const int64_t widest = raw ? 64 : std::min(own_lanes, own_most / (s.depth * s.p.kernels->packed_item));
    const int64_t least = ceil_div(units, std::max<int64_t>(1, widest / unit));
    count = std::min(units, round_up(std::max(4 * threads, least), threads));
  }
  int64_t width() const noexcept { return ceil_div(units, count) * unit; }  // of the widest
  int64_t begin(int64_t group) const noexcept { return group * units / count * unit; }
};

// About how long a group takes.
double group_ns(const Slab &s, int64_t width) noexcept {
  const double lanes = static_cast<double>(width * s.depth);
  return lanes / 4 + lanes * static_cast<double>(s.held * s.p.kernels->item) / 240;
}

// Groups of a range. From some work on it pays to wake a thread; below, only one that is awake helps.
int64_t choose_grain(int64_t groups, double ns) noexcept {
  constexpr double pays_ns = 30e3, least_ns = 8e3;
  if (ns * static_cast<double>(groups) < pays_ns) return grain_for(groups, {ns});
  return std::max<int64_t>(1, static_cast<int64_t>(least_ns / ns));
}

void pack_lanes(const Product &p, bool b, char *to, int64_t lane, int64_t lanes, int64_t k, int64_t depth) {
  if (b && p.b_source)
    p.b_source->pack(p, to, k, depth, lane, lanes);
  else if (b)
    p.kernels->pack_b(to, part(p.b, k, lane), depth, lanes);
  else
    p.kernels->pack_a(to, part(p.a, lane, k), lanes, depth);
}

// `lanes` lanes and [k, k + depth) of one operand, by all threads.
void pack_panels(const Product &p, bool b, char *to, int64_t first, int64_t lanes, int64_t k, int64_t depth) {
  const MatmulKernels &kernels = *p.kernels;
  constexpr int64_t unit_elements = 1 << 14;
  const int64_t size = b ? kernels.nr : kernels.mr, padded = round_up(lanes, size), block = k_block(kernels, p.k);
  const int64_t chunk = round_up(std::max<int64_t>(1, unit_elements / block), size), chunks = ceil_div(lanes, chunk);
  const Panels panels{to, padded, first, k};
  parallel_for(ceil_div(depth, block) * chunks, 4, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) {
      const int64_t at = k + i / chunks * block, lane = first + i % chunks * chunk;
      const int64_t deep = std::min(block, k + depth - at);
      pack_lanes(p, b, const_cast<char *>(panels.at(kernels, lane, at, deep)), lane,
                 std::min(chunk, first + lanes - lane), at, deep);
    }
  });
}

// [k, k + depth) of some lanes of one operand, block after block of k.
void pack_blocks(const Product &p, bool b, const Panels &to, int64_t lane, int64_t lanes, int64_t k, int64_t depth) {
  const int64_t block = k_block(*p.kernels, p.k);
  for (int64_t at = k; at < k + depth; at += block) {
    const int64_t deep = std::min(block, k + depth - at);
    pack_lanes(p, b, const_cast<char *>(to.at(*p.kernels, lane, at, deep)), lane, lanes, at, deep);
  }
}

// The blocks of the held operand. A thread that comes while another one packs the block it needs does not wait: it
// packs one for itself.
class Held {
 public:
  // `memory` for all blocks, `copies` times: 1, or one for each slot. nullptr if all of b is packed already.
  Held(const Slab &s, char *memory, int copies)
      : slab_(s),
        memory_(memory),
        block_(held_block(s)),
        blocks_(ceil_div(s.held, block_)),
        copies_(copies),
        states_(memory ? blocks_ * copies : 0) {}
  // `spare` has room for one.
  Panels block(int64_t index, int slot, char *spare) {
    const Product &p = slab_.p;
    if (!memory_) return {p.packed_b, round_up(p.n, p.kernels->nr), 0, 0};
    const int64_t first = slab_.first + index * block_, lanes = std::min(block_, slab_.first + slab_.held - first);
    Panels panels{spare, block_, first, slab_.k};
    std::atomic<State> *state = nullptr;
    bool mine = false;
    if (copies_ == 1 || slot >= 0) {
      const int64_t at = (copies_ == 1 ? 0 : slot) * blocks_ + index;
      char *const shared = memory_ + at * block_ * round_up(slab_.depth, p.kernels->k_unit) * p.kernels->packed_item;
      state = &states_[static_cast<size_t>(at)];
      State seen = state->load(std::memory_order_acquire);
      mine = seen == State::empty && state->compare_exchange_strong(seen, State::claimed, std::memory_order_acquire);
      if (mine || seen == State::packed) panels.data = shared;
      if (!mine && seen == State::packed) return panels;
    }
    delay_point();
    pack_blocks(p, !slab_.columns, panels, first, lanes, slab_.k, slab_.depth);
    if (mine) state->store(State::packed, std::memory_order_release);
    return panels;
  }

 private:
  enum class State : uint8_t { empty, claimed, packed };
  const Slab &slab_;
  char *const memory_;
  const int64_t block_, blocks_;
  const int copies_;
  std::vector<std::atomic<State>> states_;
};

// A copy for each thread costs time for packing, the less the longer the product goes on with it, and room in a shared
// cache. But then no thread has to fetch blocks from another one's cache, nor take them away when it packs.
int held_copies(const Slab &s, int64_t bytes, int threads) noexcept {
  constexpr int64_t least_cut = 64, most_bytes = 24 << 20;
  return s.cut() >= least_cut * threads && bytes * threads <= most_bytes ? threads : 1;
}

// The panels of a group's own part, unless all of b is packed already.
Panels own_panels(const Slab &s, int64_t lane, int64_t size, char *to) {
  const Product &p = s.p;
  if (s.columns && p.packed_b) return {p.packed_b, round_up(p.n, p.kernels->nr), 0, 0};
  const Panels own{to, round_up(size, s.columns ? p.kernels->nr : p.kernels->mr), lane, s.k};
  pack_blocks(p, s.columns, own, lane, size, s.k, s.depth);
  return own;
}

// Rows [i, i + m) and columns [j, j + n) of the output.
void multiply_block(const Slab &s, const Panels &a, const Panels &b, int64_t i, int64_t j, int64_t m, int64_t n,
                    char *buffer) {
  const Product &p = s.p;
  const MatmulKernels &kernels = *p.kernels;
  if (rounds_at_once(p)) {
    kernels.multiply_rounded(p.out + (i * p.n + j) * p.itemsize, p.n, a.at(kernels, i, 0, p.k),
                             b.at(kernels, j, 0, p.k), m, n, p.k);
    if (p.after) p.after->run(p.first_row + i, j, m, n);
    return;
  }
  const int64_t block = k_block(kernels, p.k);
  char *const whole = in_place(p) ? p.out : s.sums;
  char *const sums = whole ? whole + (i * p.n + j) * kernels.item : buffer;
  const int64_t ld = whole ? p.n : n;
  for (int64_t k = s.k; k < s.k + s.depth; k += block) {
    const int64_t depth = std::min(block, p.k - k);
    kernels.multiply(sums, ld, a.at(kernels, i, k, depth), b.at(kernels, j, k, depth), m, n, depth, k > 0);
  }
  if (s.last()) complete(p, sums, ld, 1, i, j, m, n);
}

// What a thread has for itself.
struct Own {
  int slot;
  char *panels, *spare, *sums;
};

// Slots begin at different blocks, so that threads that begin together do not all need the same one.
void multiply_group(const Slab &s, Held &held, int64_t lane, int64_t size, const Own &own) {
  const Panels mine = own_panels(s, lane, size, own.panels);
  const int64_t step = held_block(s), blocks = ceil_div(s.held, step), threads = std::max(1, num_threads());
  const int64_t first = std::max(own.slot, 0) % threads * blocks / threads;
  for (int64_t n = 0; n < blocks; n++) {
    const int64_t index = (first + n) % blocks, at = s.first + index * step;
    const int64_t lanes = std::min(step, s.first + s.held - at);
    const Panels block = held.block(index, own.slot, own.spare);
    if (s.columns)
      multiply_block(s, block, mine, at, lane, lanes, size, own.sums);
    else
      multiply_block(s, mine, block, lane, at, size, lanes, own.sums);
  }
}

// Whether a group reads the held operand as it lies. If that is a single tile wide, an element of the other one is used
// once, and packing neither pays. A few rows of a that fit the second-level cache are best left alone too: the threads
// need not wait until they are packed. Not if they lie pages apart, where they would push each other out of the first.
bool reads_in_place(const Slab &s) {
  const Product &p = s.p;
  const MatmulKernels &kernels = *p.kernels;
  if (!kernels.small || p.b_source) return false;
  if (!s.columns) return !p.packed_b && p.n <= kernels.nr && p.a.col == p.itemsize;
  if (p.m <= kernels.mr) return !p.packed_b;
  constexpr int64_t most_bytes = 256 << 10, page = 4096;
  return !kernels.rounds && p.a.col == kernels.item && p.a.row % page != 0 && s.first == 0 && s.held == p.m &&
         p.m * k_block(kernels, p.k) * kernels.item <= most_bytes;
}

void multiply_in_place(const Slab &s, int64_t lane, int64_t size, char *scratch, char *buffer) {
  const Product &p = s.p;
  const MatmulKernels &kernels = *p.kernels;
  const int64_t i = s.columns ? 0 : lane, j = s.columns ? lane : 0, m = s.columns ? p.m : size,
                n = s.columns ? size : p.n, block = k_block(kernels, p.k);
  char *const whole = in_place(p) ? p.out : s.sums;
  char *const sums = whole ? whole + (i * p.n + j) * kernels.item : buffer;
  const int64_t ld = whole ? p.n : n;
  for (int64_t k = s.k; k < s.k + s.depth; k += block) {
    const bool goes_down = k + block < s.k + s.depth, goes_right = s.columns && j + n < p.n;
    const Ahead ahead{{}, goes_down ? part(p.b, k + block, j).data : goes_right ? part(p.b, s.k, j + n).data : nullptr};
    kernels.small(sums, ld, part(p.a, i, k), part(p.b, k, j), m, n, std::min(block, p.k - k), k > 0, scratch, &ahead);
  }
  if (s.last()) complete(p, sums, ld, 1, i, j, m, n);
}

void multiply_slab(const Slab &s) {
  const Product &p = s.p;
  const MatmulKernels &kernels = *p.kernels;
  const bool raw = reads_in_place(s), is_packed = !s.columns && p.packed_b;
  const Groups groups(s, raw);
  const int64_t width = groups.width(), depth = round_up(s.depth, kernels.k_unit), step = held_block(s);
  const int threads = std::clamp(num_threads(), 1, Slots::most);
  const auto panel_bytes = [&](int64_t lanes, int64_t k) { return round_up(lanes * k * kernels.packed_item, 64); };
  const int64_t blocks = raw || is_packed ? 0 : ceil_div(s.held, step);
  const int64_t held_bytes = round_up(blocks * step * depth * kernels.packed_item, 64);
  const int64_t own_bytes =
      raw ? panel_bytes(round_up(s.columns ? p.m : width, kernels.mr) + kernels.nr, k_block(kernels, p.k))
          : panel_bytes(width, depth);
  const int64_t spare_bytes = blocks && threads > 1 ? panel_bytes(step, depth) : 0;
  const int64_t sum_bytes =
      in_place(p) || s.sums ? 0 : round_up(width * (raw ? s.held : std::min(s.held, step)) * kernels.item, 64);
  const int copies = held_copies(s, held_bytes, threads);
  const int64_t slot_bytes = own_bytes + spare_bytes + sum_bytes;
  const Scratch memory(held_bytes * copies + threads * slot_bytes);
  Held held(s, blocks ? memory.get() : nullptr, copies);
  Slots slots(memory.get() + held_bytes * copies, slot_bytes, threads, groups.count);
  parallel_for(groups.count, choose_grain(groups.count, group_ns(s, width)), [&](int64_t begin, int64_t end) {
    Slots::Slot slot(slots);
    char *const spare = slot.memory() + own_bytes;
    const Own own{slot.index(), slot.memory(), spare, spare + spare_bytes};
    for (int64_t i = begin; i < end; i++) {
      check_cancel();
      const int64_t group = slot.next_group(), lane = groups.begin(group);
      const int64_t size = std::min(groups.begin(group + 1), s.cut()) - lane;
      if (raw)
        multiply_in_place(s, lane, size, own.panels, own.sums);
      else
        multiply_group(s, held, lane, size, own);
    }
  });
}

}  // namespace

void multiply_grouped(const Product &p) {
  const MatmulKernels &kernels = *p.kernels;
  const bool columns = p.m <= p.n;
  const int64_t block = k_block(kernels, p.k), deep = round_up(ceil_div(p.k, ceil_div(p.k, most_k)), block);
  const int64_t held = columns ? p.m : p.n;
  const Scratch sums = in_place(p) || p.k <= deep ? Scratch() : Scratch(p.m * p.n * kernels.item);
  for (int64_t k = 0; k < p.k; k += deep)
    for (int64_t i = 0; i < held; i += most_held)
      multiply_slab({p, columns, i, std::min(most_held, held - i), k, std::min(deep, p.k - k), sums.get()});
}

int64_t packed_bytes(const Product &p) noexcept {
  return round_up(p.n, p.kernels->nr) * round_up(p.k, p.kernels->k_unit) * p.kernels->packed_item;
}

void pack_whole(const Product &p, char *to) { pack_panels(p, true, to, 0, p.n, 0, p.k); }

}  // namespace mx::cpu
