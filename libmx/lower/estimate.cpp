#include "lower/estimate.hpp"

#include <bit>

namespace mx::lower {
namespace {

int64_t elements(const Place &place) noexcept {
  int64_t n = 1;
  for (int64_t d : place.spec.shape) n *= d;
  return n;
}

int64_t last(const Place &place, size_t from_end) noexcept {
  const Dims &shape = place.spec.shape;
  return shape.size() < from_end ? 1 : shape[shape.size() - from_end];
}

}  // namespace

int64_t estimate_ns(const Step &step) noexcept {
  int64_t touched = 0;
  for (const Place &place : step.inputs) touched += elements(place);
  for (const Place &place : step.outputs) touched += elements(place);
  const int64_t n = step.inputs.empty() ? 1 : std::max<int64_t>(1, last(step.inputs[0], 1));
  switch (step.op) {
    case OpCode::matmul:
    case OpCode::quantized_matmul:
    case OpCode::gather_qmm:
      return 300 + elements(step.outputs[0]) * n / 32;
    case OpCode::addmm:
      return 300 + elements(step.outputs[0]) * std::max<int64_t>(1, last(step.inputs[1], 1)) / 32;
    case OpCode::attention:
      return 1000 + elements(step.inputs[0]) * last(step.inputs[1], 2) / 4;
    case OpCode::cholesky:
    case OpCode::inverse:
    case OpCode::solve:
    case OpCode::lu:
    case OpCode::qr:
    case OpCode::svd:
    case OpCode::eigh:
    case OpCode::eig:
      return 5000 + 10 * touched * n;
    case OpCode::load:
      return 1'000'000 + touched;  // waits for a disk: never inline
    case OpCode::sort:
    case OpCode::argsort:
      return 300 + 6 * elements(step.outputs[0]);
    case OpCode::partition:
    case OpCode::argpartition:
      return 300 + 2 * elements(step.outputs[0]);
    case OpCode::searchsorted:
      return 200 + 4 * elements(step.outputs[0]) * std::bit_width(static_cast<uint64_t>(n));
    case OpCode::gather:
    case OpCode::gather_axis:
    case OpCode::dynamic_slice:  // what is taken counts, not what it is taken from
      return 200 + touched - elements(step.inputs[0]);
    default:
      return 200 + touched;
  }
}

}  // namespace mx::lower
