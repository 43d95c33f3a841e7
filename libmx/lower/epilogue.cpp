#include "lower/epilogue.hpp"

namespace mx::lower {
namespace {

// Some dimensions of a loop as one: the stride of each operand along it.
struct Merged {
  int64_t size = 1;
  SmallVector<int64_t, 4> strides;
};

// Puts a dimension outside of those in `to`. False if an operand does not walk through both as through one.
bool extend(Merged &to, int64_t size, const SmallVector<int64_t, 4> &strides) {
  if (size == 1) return true;
  if (to.size == 1) {
    to = {size, strides};
    return true;
  }
  for (size_t k = 0; k < strides.size(); k++)
    if (strides[k] != to.strides[k] * to.size) return false;
  to.size *= size;
  return true;
}

// The loop's dimensions as rows of `n` columns, of which there are `rows`.
bool as_matrix(const loop::Geometry &g, int64_t rows, int64_t n, Merged &outer, Merged &inner) {
  inner.strides.resize(g.strides.size(), 0);
  outer.strides.resize(g.strides.size(), 0);
  for (size_t d = g.shape.size(); d-- > 0;) {
    SmallVector<int64_t, 4> strides;
    for (const Dims &of_operand : g.strides) strides.push_back(of_operand[d]);
    const int64_t missing = n / inner.size, size = g.shape[d], part = std::min(missing, size);
    if (part == 0 || missing % part != 0 || size % part != 0) return false;
    if (!extend(inner, part, strides)) return false;
    for (int64_t &stride : strides) stride *= part;
    if (!extend(outer, size / part, strides)) return false;
  }
  return inner.size == n && outer.size == rows;
}

int64_t columns_of(const Place &product) { return product.spec.shape.back(); }

// Whether the loop visits the elements of the product, and nothing else of its memory, one after the other.
bool walks_over(const Step &loop, const Place &product, const Merged &outer, const Merged &inner) {
  const int64_t item = itemsize(product.spec.dtype);
  bool reads = false;
  for (size_t k = 0; k < loop.operand_storage.size(); k++) {
    if (loop.operand_storage[k] != product.storage) continue;
    if (loop.operand_offset[k] != product.layout.offset || (inner.size > 1 && inner.strides[k] != item) ||
        (outer.size > 1 && outer.strides[k] != inner.size * item))
      return false;
    reads = true;
  }
  return reads;
}

bool is_product(const Step &s) noexcept {
  return s.kind == Step::Kind::library && (s.op == OpCode::matmul || s.op == OpCode::addmm);
}

bool fits(const Step &product, const Step &loop, Merged &outer, Merged &inner) {
  if (!is_product(product) || loop.kind != Step::Kind::loop || !loop.prepared) return false;
  if (loop.geometry.reduced_begin != loop.geometry.reduced_end || loop.uses_indices) return false;
  const Place &out = product.outputs[0];
  const int64_t count = byte_count(out.spec) / itemsize(out.spec.dtype);
  if (count == 0) return false;
  const int64_t n = columns_of(out);
  return as_matrix(loop.geometry, count / n, n, outer, inner) && walks_over(loop, out, outer, inner);
}

void attach(Step &product, Step &loop) {
  Merged outer, inner;
  fits(product, loop, outer, inner);
  auto matrix = std::make_shared<MatrixLoop>();
  matrix->rows = outer.size;
  matrix->columns = inner.size;
  matrix->row_strides = outer.strides;
  matrix->column_strides = inner.strides;
  product.epilogue = std::move(matrix);
  product.kernel = std::move(loop.kernel);
  product.prepared = std::move(loop.prepared);
  product.scalars = std::move(loop.scalars);
  product.operand_storage = std::move(loop.operand_storage);
  product.operand_offset = std::move(loop.operand_offset);
  for (uint32_t storage : loop.written) product.written.push_back(storage);
  for (uint32_t leaf : loop.releases) product.releases.push_back(leaf);
  product.label += "+" + loop.label;
  product.epilogue_unit = loop.unit;
}

}  // namespace

uint32_t constant_operand(const Program &program, const Step &step, uint32_t first_constant) {
  if (!is_product(step)) return UINT32_MAX;
  const Storage &b = program.storages[step.inputs[step.op == OpCode::matmul ? 1 : 2].storage];
  return b.kind == Storage::Kind::leaf && b.index >= first_constant ? b.index : UINT32_MAX;
}

std::vector<uint32_t> find_epilogues(const Program &program) {
  std::vector<uint32_t> found;
  for (uint32_t at = 1; at < program.steps.size(); at++) {
    Merged outer, inner;
    if (fits(program.steps[at - 1], program.steps[at], outer, inner)) found.push_back(at);
  }
  return found;
}

void attach_epilogues(Program &program, const std::vector<uint32_t> &loops) {
  if (loops.empty()) return;
  std::vector<Step> kept;
  kept.reserve(program.steps.size() - loops.size());
  size_t next = 0;
  for (uint32_t at = 0; at < program.steps.size(); at++) {
    if (next < loops.size() && loops[next] == at) {
      attach(kept.back(), program.steps[at]);
      next++;
    } else {
      kept.push_back(std::move(program.steps[at]));
    }
  }
  program.steps = std::move(kept);
}

MatrixLoop::~MatrixLoop() {
  for (const std::atomic<const Ready *> &slot : ready_) delete slot.load(std::memory_order_relaxed);
}

PreparedLoopRef MatrixLoop::prepared_for(Backend &backend, const Step &step, int64_t n_rows, int64_t n_columns) const {
  if (n_rows == rows && n_columns == columns) return step.prepared;
  for (const std::atomic<const Ready *> &slot : ready_) {
    const Ready *ready = slot.load(std::memory_order_acquire);
    if (!ready) break;
    if (ready->rows == n_rows && ready->columns == n_columns) return ready->prepared;
  }
  loop::Geometry block;
  block.shape = {n_rows, n_columns};
  for (size_t k = 0; k < row_strides.size(); k++) block.strides.push_back({row_strides[k], column_strides[k]});
  auto made = std::make_unique<const Ready>(Ready{n_rows, n_columns, backend.prepare(step.kernel, block)});
  const PreparedLoopRef prepared = made->prepared;
  for (std::atomic<const Ready *> &slot : ready_) {
    const Ready *empty = nullptr;
    if (!slot.compare_exchange_strong(empty, made.get(), std::memory_order_acq_rel)) continue;
    made.release();
    break;
  }
  return prepared;
}

void MatrixLoop::run(Backend &backend, const Step &step, std::span<char *const> operands, int64_t row, int64_t column,
                     int64_t n_rows, int64_t n_columns) const {
  const PreparedLoopRef prepared = prepared_for(backend, step, n_rows, n_columns);
  SmallVector<char *, 8> block;
  for (size_t k = 0; k < operands.size(); k++)
    block.push_back(operands[k] + row * row_strides[k] + column * column_strides[k]);
  backend.launch(*prepared, {block.data(), block.size()}, step.scalars);
}

}  // namespace mx::lower
