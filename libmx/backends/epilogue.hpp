// What is done to the elements of a matrix product as soon as they are there, while they are still in the caches.
#pragma once
#include <cstdint>

namespace mx {

// The output seen as one matrix: batches are rows. Called once for every block of it, in any order, on any thread.
class Epilogue {
 public:
  virtual void run(int64_t row, int64_t column, int64_t rows, int64_t columns) const = 0;

 protected:
  ~Epilogue() = default;
};

}  // namespace mx
