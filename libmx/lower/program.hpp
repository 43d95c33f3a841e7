// What lowering makes: a flat list of steps over storages. Running one takes its outputs and one arena from the pool
// and builds no graph. A program is immutable and may run on several threads at once.
#pragma once
#include <exception>
#include <memory>
#include <vector>

#include "backends/backend.hpp"
#include "core/output.hpp"
#include "lower/graph.hpp"

namespace mx::lower {

// A buffer may become an output that is smaller by so many bytes: the abs of x[:-1] takes over x.
constexpr int64_t most_donated_in_vain = 16 << 10;

// Memory that values of a program lie in.
struct Storage {
  enum class Kind : uint8_t {
    leaf,   // the buffer of leaf `index`
    owned,  // a buffer of its own, because an output lies in it
    temp    // in the arena at `offset`
  };
  Kind kind = Kind::temp;
  uint32_t index = 0;
  int64_t bytes = 0;
  int64_t offset = 0;
  // owned: leaves whose buffer may become this one, when nobody else holds it at run time.
  SmallVector<uint32_t, 2> donors;
};

// Whether an owned storage may take over a buffer, whose elements begin at `offset` and which is read for the last
// time.
bool can_become(const Buffer &buffer, int64_t offset, const Storage &storage) noexcept;

// A value's place: a storage and where in it.
struct Place {
  uint32_t storage = 0;
  Spec spec;
  Layout layout;
};

struct Step {
  enum class Kind : uint8_t {
    loop,
    library,
    rows  // `passes`, which are loops: all of them over one tile of the space after the other
  };
  Kind kind = Kind::loop;
  OpCode op = OpCode::copy;
  // loop
  LoopKernelRef kernel;
  PreparedLoopRef prepared;
  loop::Geometry geometry;
  bool uses_indices = false;  // its values depend on where in the space they are
  SmallVector<uint64_t, 4> scalars;
  SmallVector<uint32_t, 4> operand_storage;  // per operand; of rows: what is read, then what is written
  SmallVector<int64_t, 4> operand_offset;
  // rows
  std::vector<Step> passes;
  Dims tiles;                 // how many along each dimension
  int64_t cut = -1;           // the dimension along which the last one is smaller, if there is one
  int64_t scratch_bytes = 0;  // that each thread needs for values that no other tile sees
  int64_t tile_ns = 0;        // estimated
  // a pass: `prepared` is for a whole tile
  PreparedLoopRef last;               // for a tile that is smaller
  SmallVector<Dims, 4> tile_strides;  // per operand: from tile to tile along each dimension, in bytes
  // library
  KernelFunction function = nullptr;
  bool copies_first = false;  // in place on another storage: inputs[0] is copied into outputs[0] first
  Attrs attrs;
  Ref<Object> payload;
  SmallVector<Place, 3> inputs;
  SmallVector<Place, 1> outputs;
  SmallVector<uint32_t, 2> written;   // storages that it makes or changes
  SmallVector<uint32_t, 2> releases;  // leaves that no later step reads
  std::string label;                  // for explain and traces
  uint32_t unit = 0;                  // of the fusion that it comes from
  uint32_t pass = 0;                  // and of its passes, if each is a step
  // library: the loop that follows a product block by block (epilogue.hpp). The loop's fields above are then in use.
  std::shared_ptr<const class MatrixLoop> epilogue;
  uint32_t epilogue_unit = UINT32_MAX;  // of the fusion
  uint32_t constant_b = UINT32_MAX;     // library: the constant leaf that a product's right operand is, if it is one
};

// In place of a storage: scratch memory of the thread.
constexpr uint32_t scratch_storage = UINT32_MAX;

// A leaf at run time: lowering assumed that its elements start at the beginning of the buffer.
struct Leaf {
  // The run gives the reference back as soon as it can; if it is the last one, the buffer may become an output.
  Leaf(Ref<Buffer> owned, int64_t offset) noexcept
      : owned(std::move(owned)), buffer(this->owned.get()), offset(offset) {}
  // The caller keeps the buffer during the run.
  Leaf(Buffer &borrowed, int64_t offset) noexcept : buffer(&borrowed), offset(offset) {}
  Ref<Buffer> owned;
  Buffer *buffer;
  int64_t offset;
};
using Leaves = SmallVector<Leaf, 4>;
using Results = SmallVector<Result, 1>;

// What a plain program has at most.
constexpr size_t most_plain_storages = 8, most_plain_outputs = 2;

class Program {
 public:
  std::vector<Storage> storages;
  std::vector<Step> steps;
  std::vector<Place> outputs;
  int64_t arena_bytes = 0;
  int64_t estimate_ns = 0;  // on one thread
  Backend *backend = nullptr;
  Ref<PackedConstants> packed;  // for constant operands of products; null if nobody keeps them

  // One loop, and nothing but leaves and outputs: most of what small evaluations run. Then run_plain does the same as
  // run, from the addresses of the leaves, which stay with the caller, to as many results as there are outputs; into
  // buffers that these have already.
  bool is_plain = false;
  void note_plain() noexcept;
  void run_plain(std::span<char *const> leaves, std::span<Result> results) const;

  // Computes the outputs from the leaves. Throws what kernels throw, bad_alloc, CANCELLED. With `failure`, the first
  // exception of a step goes there, and outputs that do not depend on it are there all the same; the others have no
  // buffer. CANCELLED is always thrown.
  Results run(Leaves leaves, std::exception_ptr *failure = nullptr) const;

  // The most memory that a run holds beyond its leaves and the scratch memory of threads, in bytes.
  int64_t peak_bytes() const noexcept;
};

// Lowers a graph whose leaves have layouts; their offsets are ignored, because they are arguments of a run. Pure and
// deterministic.
Program lower(Graph graph, Backend &backend = backend_for({}));

// As text, for tests and explain.
std::string print(const Program &program);

}  // namespace mx::lower
