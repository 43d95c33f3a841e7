// Epilogues: an elementwise loop over the elements of a matrix product runs block by block inside the product, while a
// block is still in the caches. It is the loop that it would have been alone, on the rounded elements, so its results
// are the same to the last bit.
#pragma once
#include "backends/epilogue.hpp"
#include "lower/program.hpp"

namespace mx::lower {

// The leaf that the right operand of a product is, if that is a constant; else UINT32_MAX.
uint32_t constant_operand(const Program &program, const Step &step, uint32_t first_constant);

// The loops among the steps that may become part of the product just before them. Expects that no two storages share
// memory yet. From then on nothing that the product reads may be overwritten or reused before the loop has ended.
std::vector<uint32_t> find_epilogues(const Program &program);

// Makes them part of the products.
void attach_epilogues(Program &program, const std::vector<uint32_t> &loops);

// A loop seen as one over a matrix, and kernels that are ready for blocks of it.
class MatrixLoop {
 public:
  int64_t rows = 0, columns = 0;
  SmallVector<int64_t, 4> row_strides, column_strides;  // per operand, in bytes

  MatrixLoop() = default;
  MatrixLoop(const MatrixLoop &) = delete;
  MatrixLoop &operator=(const MatrixLoop &) = delete;
  ~MatrixLoop();
  // Runs the loop of `step` on a block; `operands` are the addresses of the operands' first elements.
  void run(Backend &backend, const Step &step, std::span<char *const> operands, int64_t row, int64_t column,
           int64_t n_rows, int64_t n_columns) const;

 private:
  struct Ready {
    int64_t rows, columns;
    PreparedLoopRef prepared;
  };
  PreparedLoopRef prepared_for(Backend &backend, const Step &step, int64_t n_rows, int64_t n_columns) const;
  // Blocks come in few sizes. Threads fill the slots in any order; a full table only means more work.
  mutable std::atomic<const Ready *> ready_[8] = {};
};

// The epilogue of one run.
class RunEpilogue final : public Epilogue {
 public:
  RunEpilogue(Backend &backend, const Step &step, std::span<char *const> operands) noexcept
      : backend_(backend), step_(step), operands_(operands) {}
  void run(int64_t row, int64_t column, int64_t rows, int64_t columns) const override {
    step_.epilogue->run(backend_, step_, operands_, row, column, rows, columns);
  }

 private:
  Backend &backend_;
  const Step &step_;
  std::span<char *const> operands_;
};

}  // namespace mx::lower
