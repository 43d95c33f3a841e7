// Einstein summation as a sequence of contractions of two operands: matrix products where something is summed and the
// dtype has them, else products of broadcast operands, which fuse with the sum over them.
#include "ops/einsum.hpp"

#include <algorithm>

#include "ops/binary.hpp"
#include "ops/einsum_terms.hpp"
#include "ops/matmul.hpp"
#include "ops/reduce.hpp"
#include "ops/shape.hpp"

namespace mx::ops {
namespace {

using namespace einsum_detail;

struct Operand {
  Value x;
  Labels labels;  // each once
};

int64_t axis_of(const Labels &labels, char label) noexcept { return static_cast<int64_t>(labels.find(label)); }

// Repeated labels become diagonals; those of an axis of size 1 and a longer one broadcast.
Operand with_distinct_labels(Value x, Labels labels, const Terms &terms, const StreamRef &s) {
  for (size_t i = 0; i < labels.size();) {
    const size_t again = labels.find(labels[i], i + 1);
    if (again == Labels::npos) {
      i++;
      continue;
    }
    const char label = labels[i];
    const int64_t n = terms.size_of[static_cast<size_t>(label)];
    Dims shape(rank_of(x), -1);
    for (size_t axis : {i, again})
      if (shape_of(x)[axis] != n) shape[axis] = n;
    x = diagonal(broadcast_to(x, shape, s), 0, static_cast<int64_t>(i), static_cast<int64_t>(again), s);
    labels.erase(again, 1);
    labels.erase(i, 1);
    labels.push_back(label);
  }
  return {std::move(x), std::move(labels)};
}

// Summed over the labels that are not kept.
Operand summed(const Operand &a, const Labels &kept, const StreamRef &s) {
  Operand out;
  Dims axes;
  for (char label : a.labels) {
    if (has(kept, label))
      out.labels.push_back(label);
    else
      axes.push_back(axis_of(a.labels, label));
  }
  out.x = axes.empty() ? a.x : sum(a.x, List(axes), false, s);
  return out;
}

// With the axes in the order of `labels`, and axes of size 1 for those that it does not have.
Value aligned(const Operand &a, const Labels &labels, const StreamRef &s) {
  Dims order, missing;
  for (size_t i = 0; i < labels.size(); i++) {
    if (has(a.labels, labels[i]))
      order.push_back(axis_of(a.labels, labels[i]));
    else
      missing.push_back(static_cast<int64_t>(i));
  }
  return expand_dims(transpose(a.x, List(order), s), missing, s);
}

// The axes from `start` on, `count` of them, as one.
Value merged(const Value &x, size_t start, size_t count, const StreamRef &s) {
  const int64_t first = static_cast<int64_t>(start);
  if (count == 0) return expand_dims(x, Dims{first}, s);
  return flatten(x, first, first + static_cast<int64_t>(count) - 1, s);
}

// The axis `at` split into those of `labels` again; an axis that stands for none goes.
Value split_again(const Value &x, size_t at, const Labels &labels, const Operand &from, const StreamRef &s) {
  const int64_t axis = static_cast<int64_t>(at);
  if (labels.size() == 1) return x;
  if (labels.empty()) return squeeze(x, List(Dims{axis}), s);
  Dims sizes;
  for (char label : labels) sizes.push_back(shape_of(from.x)[from.labels.find(label)]);
  if (element_count(List(sizes).subspan(1)) != 0) sizes[0] = -1;
  return unflatten(x, axis, sizes, s);
}

// Both operands must have a label that is summed over in one size.
Operand widened(const Operand &a, const Labels &over, const Terms &terms, const StreamRef &s) {
  Dims shape(rank_of(a.x), -1);
  for (char label : over) {
    const size_t axis = a.labels.find(label);
    if (shape_of(a.x)[axis] != terms.size_of[static_cast<size_t>(label)])
      shape[axis] = terms.size_of[static_cast<size_t>(label)];
  }
  return {broadcast_to(a.x, shape, s), a.labels};
}

Operand product(const Operand &a, const Operand &b, const Labels &batch, const Labels &over, const Terms &terms,
                const StreamRef &s) {
  Labels rows, columns;
  for (char label : a.labels)
    if (!has(batch, label) && !has(over, label)) rows.push_back(label);
  for (char label : b.labels)
    if (!has(batch, label) && !has(over, label)) columns.push_back(label);
  const size_t n = batch.size();
  const Value left = aligned(widened(a, over, terms, s), batch + rows + over, s);
  const Value right = aligned(widened(b, over, terms, s), batch + over + columns, s);
  Value x = matmul(merged(merged(left, n + rows.size(), over.size(), s), n, rows.size(), s),
                   merged(merged(right, n + over.size(), columns.size(), s), n, over.size(), s), s);
  x = split_again(split_again(x, n + 1, columns, b, s), n, rows, a, s);
  return {std::move(x), batch + rows + columns};
}

Operand contracted(const Operand &first, const Operand &second, const Labels &kept, const Terms &terms,
                   const StreamRef &s) {
  const Operand a = summed(first, unite(kept, second.labels), s), b = summed(second, unite(kept, first.labels), s);
  Labels batch, over;
  for (char label : a.labels)
    if (has(b.labels, label)) (has(kept, label) ? batch : over).push_back(label);
  if (!over.empty() && is_inexact(promote(dtype_of(a.x), dtype_of(b.x)))) return product(a, b, batch, over, terms, s);
  const Labels all = unite(a.labels, b.labels);
  return summed({multiply(aligned(a, all, s), aligned(b, all, s), s), all}, kept, s);
}

}  // namespace

std::vector<Contraction> einsum_path(const char *subscripts, Values xs) { return greedy_path(parse(subscripts, xs)); }

Value einsum(const char *subscripts, Values xs, const StreamRef &s) {
  const Terms terms = parse(subscripts, xs);
  std::vector<Operand> left;
  for (size_t i = 0; i < xs.size(); i++) left.push_back(with_distinct_labels(xs[i], terms.inputs[i], terms, s));
  for (const Contraction &step : greedy_path(terms)) {
    std::vector<Operand> chosen;
    for (size_t i : step) chosen.push_back(left[i]);
    for (auto i = step.rbegin(); i != step.rend(); ++i) left.erase(left.begin() + static_cast<std::ptrdiff_t>(*i));
    Operand out = chosen[0];
    for (size_t i = 1; i < chosen.size(); i++) {
      Labels kept = terms.output;
      for (const Operand &other : left) kept = unite(kept, other.labels);
      for (size_t j = i + 1; j < chosen.size(); j++) kept = unite(kept, chosen[j].labels);
      out = contracted(out, chosen[i], kept, terms, s);
    }
    left.push_back(std::move(out));
  }
  return aligned(summed(left[0], terms.output, s), terms.output, s);
}

}  // namespace mx::ops
