#include "ops/einsum_terms.hpp"

#include <algorithm>
#include <cctype>
#include <limits>
#include <optional>

namespace mx::ops::einsum_detail {
namespace {

[[noreturn]] void bad(const char *subscripts, const char *why) {
  fail(MX_ERROR_INVALID_ARGUMENT, "einsum: '%s' %s", subscripts, why);
}

// One side of a term: letters, and an ellipsis for `n_hidden` axes. Sets `dots` if there is one.
Labels read_term(const std::string &text, size_t n_hidden, bool &dots, const char *subscripts) {
  Labels labels;
  dots = false;
  for (size_t i = 0; i < text.size(); i++) {
    if (text.compare(i, 3, "...") == 0) {
      if (dots) bad(subscripts, "has two ellipses in a term");
      dots = true;
      for (size_t d = n_hidden; d > 0; d--) labels.push_back(static_cast<char>(behind_ellipsis - static_cast<int>(d)));
      i += 2;
    } else if (std::isalpha(static_cast<unsigned char>(text[i]))) {
      labels.push_back(text[i]);
    } else {
      bad(subscripts, "has a character that is neither a letter nor a comma, an arrow or an ellipsis");
    }
  }
  return labels;
}

std::vector<std::string> split_at_commas(const std::string &text) {
  std::vector<std::string> parts{""};
  for (char c : text) {
    if (c == ',')
      parts.emplace_back();
    else
      parts.back().push_back(c);
  }
  return parts;
}

// All labels that occur once, those behind ellipses first: the output if none is given.
Labels implied_output(const std::vector<Labels> &inputs) {
  Labels all, out;
  for (const Labels &labels : inputs) all += labels;
  std::sort(all.begin(), all.end());
  for (char label : unite(all, ""))
    if (label < behind_ellipsis || std::count(all.begin(), all.end(), label) == 1) out.push_back(label);
  return out;
}

void note_sizes(Terms &terms, Values xs, const char *subscripts) {
  for (size_t i = 0; i < xs.size(); i++) {
    const Labels &labels = terms.inputs[i];
    const Dims &shape = shape_of(xs[i]);
    if (labels.size() != shape.size())
      fail(MX_ERROR_SHAPE, "einsum: operand %zu has shape %s, but its term in '%s' has %zu axes", i,
           to_string(shape).c_str(), subscripts, labels.size());
    for (size_t axis = 0; axis < labels.size(); axis++) {
      int64_t &size = terms.size_of[static_cast<size_t>(labels[axis])];
      const bool seen = has(labels.substr(0, axis), labels[axis]) ||
                        std::any_of(terms.inputs.begin(), terms.inputs.begin() + static_cast<std::ptrdiff_t>(i),
                                    [&](const Labels &l) { return has(l, labels[axis]); });
      if (seen && size != shape[axis] && size != 1 && shape[axis] != 1)
        fail(MX_ERROR_SHAPE,
             "einsum: '%s' has an axis of size %lld in operand %zu of shape %s, and of size %lld before", subscripts,
             static_cast<long long>(shape[axis]), i, to_string(shape).c_str(), static_cast<long long>(size));
      if (!seen || size == 1) size = shape[axis];
    }
  }
}

}  // namespace

double Terms::size(const Labels &labels) const noexcept {
  double n = 1;
  for (char label : labels) n *= static_cast<double>(size_of[static_cast<size_t>(label)]);
  return n;
}

Labels unite(const Labels &a, const Labels &b) {
  Labels out;
  for (const Labels *labels : {&a, &b})
    for (char label : *labels)
      if (!has(out, label)) out.push_back(label);
  return out;
}

std::string written(const Labels &labels) {
  std::string out;
  for (char label : labels) out.push_back(label < behind_ellipsis ? '.' : label);
  return out;
}

Terms parse(const char *subscripts, Values xs) {
  std::string text = subscripts;
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  const size_t arrow = text.find("->");
  const std::vector<std::string> parts = split_at_commas(text.substr(0, arrow));
  if (parts.size() != xs.size())
    fail(MX_ERROR_INVALID_ARGUMENT, "einsum: '%s' has %zu terms for %zu operands", subscripts, parts.size(), xs.size());
  Terms terms;
  bool dots;
  size_t most_hidden = 0;
  for (size_t i = 0; i < xs.size(); i++) {
    const size_t n_letters = read_term(parts[i], 0, dots, subscripts).size(), rank = rank_of(xs[i]);
    const size_t hidden = dots && rank > n_letters ? rank - n_letters : 0;
    terms.inputs.push_back(read_term(parts[i], hidden, dots, subscripts));
    most_hidden = std::max(most_hidden, hidden);
  }
  note_sizes(terms, xs, subscripts);
  if (arrow == std::string::npos) {
    terms.output = implied_output(terms.inputs);
    return terms;
  }
  terms.output = read_term(text.substr(arrow + 2), most_hidden, dots, subscripts);
  for (char label : terms.output) {
    const auto &in = terms.inputs;
    if (std::count(terms.output.begin(), terms.output.end(), label) > 1)
      bad(subscripts, "has a label twice in the output");
    if (std::none_of(in.begin(), in.end(), [&](const Labels &l) { return has(l, label); }))
      bad(subscripts, "has a label in the output that no operand has");
  }
  return terms;
}

// ---- the order of contractions

namespace {

double operations(const Terms &terms, const Labels &labels, bool sums, size_t n_operands) noexcept {
  return terms.size(labels) * static_cast<double>(std::max<size_t>(1, n_operands - 1) + sums);
}

// A pair that could be contracted next.
struct Candidate {
  size_t a, b;  // a < b
  Labels result;
  double freed, cost;
  bool before(const Candidate &other) const noexcept {
    return freed != other.freed ? freed > other.freed : cost < other.cost;
  }
};

struct Limits {
  double size, cost;
};

std::optional<Candidate> contraction(const Terms &terms, const std::vector<Labels> &sets, size_t a, size_t b,
                                     double spent, const Limits &limits) {
  const Labels all = unite(sets[a], sets[b]);
  Labels kept = terms.output;
  for (size_t i = 0; i < sets.size(); i++)
    if (i != a && i != b) kept = unite(kept, sets[i]);
  Candidate found{a, b, {}, 0, 0};
  for (char label : all)
    if (has(kept, label)) found.result.push_back(label);
  const double size = terms.size(found.result);
  if (size > limits.size) return std::nullopt;
  found.freed = terms.size(sets[a]) + terms.size(sets[b]) - size;
  found.cost = operations(terms, all, found.result.size() < all.size(), 2);
  if (spent + found.cost > limits.cost) return std::nullopt;
  return found;
}

bool share_labels(const Labels &a, const Labels &b) noexcept {
  return std::any_of(a.begin(), a.end(), [&](char label) { return has(b, label); });
}

// After the contraction of a pair: candidates with one of the two go, the others' positions move.
void renumber(std::vector<Candidate> &candidates, const Candidate &done) {
  std::erase_if(candidates,
                [&](const Candidate &c) { return c.a == done.a || c.a == done.b || c.b == done.a || c.b == done.b; });
  const auto moved = [&](size_t i) { return i - (i > done.a) - (i > done.b); };
  for (Candidate &c : candidates) c.a = moved(c.a), c.b = moved(c.b);
}

}  // namespace

std::vector<std::vector<size_t>> greedy_path(const Terms &terms) {
  std::vector<Labels> sets;
  Labels all;
  size_t n_axes = 0;
  Limits limits{terms.size(terms.output), 0};
  for (const Labels &labels : terms.inputs) {
    sets.push_back(unite(labels, ""));
    all = unite(all, labels);
    n_axes += sets.back().size();
    limits.size = std::max(limits.size, terms.size(sets.back()));
  }
  limits.cost = operations(terms, all, n_axes > all.size(), sets.size());
  const auto everything = [&] {
    std::vector<size_t> positions(sets.size());
    for (size_t i = 0; i < positions.size(); i++) positions[i] = i;
    return positions;
  };
  if (sets.size() <= 2 || all.size() == terms.output.size()) return {everything()};
  std::vector<std::vector<size_t>> path;
  std::vector<Candidate> candidates;
  double spent = 0;
  const auto consider = [&](size_t a, size_t b, bool disjoint_too) {
    if (!disjoint_too && !share_labels(sets[a], sets[b])) return;
    if (auto found = contraction(terms, sets, a, b, spent, limits)) candidates.push_back(std::move(*found));
  };
  const auto consider_all = [&](bool disjoint_too) {
    for (size_t a = 0; a < sets.size(); a++)
      for (size_t b = a + 1; b < sets.size(); b++) consider(a, b, disjoint_too);
  };
  consider_all(false);
  while (sets.size() > 1) {
    if (candidates.empty()) consider_all(true);
    if (candidates.empty()) {
      path.push_back(everything());
      break;
    }
    const Candidate best = *std::min_element(candidates.begin(), candidates.end(),
                                             [](const Candidate &x, const Candidate &y) { return x.before(y); });
    renumber(candidates, best);
    sets.erase(sets.begin() + static_cast<std::ptrdiff_t>(best.b));
    sets.erase(sets.begin() + static_cast<std::ptrdiff_t>(best.a));
    sets.push_back(best.result);
    path.push_back({best.a, best.b});
    spent += best.cost;
    for (size_t a = 0; a + 1 < sets.size(); a++) consider(a, sets.size() - 1, false);
  }
  return path;
}

}  // namespace mx::ops::einsum_detail
