// Planning: units become steps over storages; storages that no output lies in share one arena by liveness.
#include <map>

#include "base/status.hpp"
#include "lower/arena.hpp"
#include "lower/emit.hpp"
#include "lower/epilogue.hpp"
#include "lower/estimate.hpp"
#include "lower/fuse.hpp"
#include "lower/plan_rows.hpp"
#include "lower/program.hpp"
#include "lower/space.hpp"
#include "runtime/profile.hpp"

namespace mx::lower {
namespace {

constexpr uint32_t nowhere = UINT32_MAX;

class Planner {
 public:
  Planner(const Graph &graph, Backend &backend)
      : graph_(graph), backend_(backend), fusion_(fuse(graph)), place_of_(graph.nodes.size(), nowhere) {}

  Program run() {
    for (uint32_t i = 0; i < graph_.nodes.size(); i++)
      if (graph_.nodes[i].leaf) place_leaf(i);
    for (uint32_t unit = 0; unit < fusion_.units.size(); unit++) {
      const uint32_t first = step();
      add_unit(fusion_.units[unit]);
      for (uint32_t at = first; at < step(); at++) program_.steps[at].unit = unit;
    }
    for (Edge e : graph_.outputs) {
      program_.outputs.push_back(place(e));
      const uint32_t storage = place(e).storage;
      lives_[storage].is_output = true;
      if (program_.storages[storage].kind == Storage::Kind::temp)
        program_.storages[storage].kind = Storage::Kind::owned;
    }
    std::vector<uint32_t> epilogues;
    if (backend_.is_synchronous()) epilogues = find_epilogues(program_);
    for (uint32_t at : epilogues) keep_operands(at - 1);
    merge_temporaries();
    apply_merges();
    find_donors();
    plan_arena();
    release_leaves();
    note_writes();
    attach_epilogues(program_, epilogues);
    program_.backend = &backend_;
    return std::move(program_);
  }

 private:
  struct Life {
    uint32_t first = 0, last = 0;  // steps that write and read
    bool is_output = false;
  };

  const Place &place(Edge e) const { return places_[place_of_[e.node] + e.index]; }

  uint32_t new_storage(Storage::Kind kind, int64_t bytes) {
    Storage &storage = program_.storages.emplace_back();
    storage.kind = kind;
    storage.bytes = bytes;
    lives_.push_back({step(), step(), false});
    return static_cast<uint32_t>(program_.storages.size() - 1);
  }
  uint32_t step() const noexcept { return static_cast<uint32_t>(program_.steps.size()); }

  Place new_place(const Spec &spec) {
    const int64_t bytes = byte_count(spec);
    return {new_storage(Storage::Kind::temp, bytes), spec, {row_major(spec.shape, itemsize(spec.dtype)), 0}};
  }

  void put(uint32_t node, Place place) {
    place_of_[node] = static_cast<uint32_t>(places_.size());
    places_.push_back(std::move(place));
  }

  void place_leaf(uint32_t i) {
    const GraphNode &node = graph_.nodes[i];
    const uint32_t storage = new_storage(Storage::Kind::leaf, byte_count(node.specs[0]));
    program_.storages[storage].index = node.leaf_index;
    put(i, {storage, node.specs[0], {graph_.leaves[node.leaf_index].strides, 0}});
  }

  void add_unit(const Unit &unit) {
    switch (unit.kind) {
      case Unit::Kind::loop:
        return add_loop(unit);
      case Unit::Kind::view:
        return add_view(unit.nodes[0]);
      case Unit::Kind::library:
        return add_library(unit.nodes[0]);
      case Unit::Kind::rows:
        return add_rows(unit);
    }
  }

  // A loop's code and the whole space that it runs over, with places for what it stores.
  LoopParts parts(const Unit &unit, const Tiling &tiling) {
    LoopParts loop;
    loop.emitted = emit(graph_, unit);
    loop.label = label(unit);
    for (uint32_t i : unit.stores) {
      const Spec &spec = graph_.nodes[i].specs[0];
      const bool is_scratch = tiling.n_tiles > 1 && !unit.is_row_loop && !fusion_.outside[i];
      put(i, is_scratch ? scratch_place(spec, tiling, scratch_bytes_) : new_place(spec));
    }
    for (uint32_t i : unit.reduces) put(i, new_place(graph_.nodes[i].specs[0]));
    loop.space.shape = unit.shape;
    loop.space.reduced.resize(unit.shape.size(), false);
    if (!unit.reduces.empty())
      for (int64_t axis : unit.space.axes) loop.space.reduced[static_cast<size_t>(axis)] = true;
    for (size_t k = 0; k < loop.emitted.operands.size(); k++) {
      const Place &operand = place(loop.emitted.operands[k]);
      loop.places.push_back(operand);
      loop.space.strides.push_back(strides(unit, loop.emitted, k, operand));
    }
    return loop;
  }

  // How an operand moves along the dimensions of the unit's space.
  Dims strides(const Unit &unit, const Emitted &emitted, size_t k, const Place &operand) const {
    const uint32_t node = emitted.operands[k].node;
    const Sets &sets = fusion_.sets;
    const bool is_result = std::binary_search(unit.reduces.begin(), unit.reduces.end(), node);
    if (!unit.is_row_loop && !is_result)
      return broadcast_strides(operand.spec.shape, operand.layout.strides, unit.shape.size());
    // Rows: what is of the set lies along its own dimensions, what comes from outside along those of its reader.
    const bool is_own = is_result || sets.together(node, unit.nodes[0]);
    const Dims &shape = is_own ? operand.spec.shape : graph_.nodes[emitted.readers[k]].specs[0].shape;
    return row_strides(unit.space, shape, broadcast_strides(operand.spec.shape, operand.layout.strides, shape.size()));
  }

  void add_loop(const Unit &unit) {
    append_loop(parts(unit, {}));
    place_views(unit);
  }

  void append_loop(LoopParts loop) {
    int64_t n = 1;
    for (int64_t size : loop.space.shape) n *= size;
    canonicalize(loop.space);
    Step s = loop_step(loop);
    for (const Place &operand : loop.places) touch(operand.storage);
    s.kernel = backend_.compile(loop.emitted.code);
    s.prepared = backend_.prepare(s.kernel, s.geometry);
    n_loads_.resize(step() + 1, 0);
    n_loads_[step()] = loop.emitted.n_loads;
    program_.estimate_ns += backend_.estimate_ns(*s.kernel, n);
    program_.steps.push_back(std::move(s));
  }

  void add_rows(const Unit &unit) {
    if (unit.tiling.n_tiles == 1 || !backend_.is_synchronous()) {
      for (uint32_t pass = 0; pass < unit.passes.size(); pass++) {
        add_loop(unit.passes[pass]);
        program_.steps.back().pass = pass;
        place_views(unit);
      }
      return;
    }
    Step s;
    s.kind = Step::Kind::rows;
    s.tiles = unit.tiling.counts;
    s.cut = unit.tiling.cut;
    scratch_bytes_ = 0;
    for (const Unit &pass : unit.passes) {
      const LoopParts loop = parts(pass, unit.tiling);
      for (size_t k = 0; k < loop.places.size(); k++) {
        const uint32_t storage = loop.places[k].storage;
        if (storage == scratch_storage) continue;
        touch(storage);
        if (k < loop.emitted.n_loads)
          s.operand_storage.push_back(storage);
        else
          s.written.push_back(storage);
      }
      s.passes.push_back(tiled_pass(backend_, loop, unit.tiling, s.tile_ns));
      s.label += (s.label.empty() ? "" : " / ") + loop.label;
      place_views(unit);
    }
    for (uint32_t storage : s.written) s.operand_storage.push_back(storage);
    s.scratch_bytes = scratch_bytes_;
    program_.estimate_ns += s.tile_ns * unit.tiling.n_tiles;
    n_loads_.resize(step() + 1, 0);
    program_.steps.push_back(std::move(s));
  }

  // The views of what rows have computed so far.
  void place_views(const Unit &unit) {
    for (uint32_t i : unit.views)
      if (place_of_[i] == nowhere && place_of_[graph_.nodes[i].inputs[0].node] != nowhere) add_view(i);
  }

  void touch(uint32_t storage) { lives_[storage].last = std::max(lives_[storage].last, step()); }

  std::string label(const Unit &unit) const {
    std::string text;
    size_t n = 0;
    for (const std::vector<uint32_t> *nodes : {&unit.nodes, &unit.reduces})
      for (uint32_t i : *nodes)
        if (n++ < 8) text += std::string(text.empty() ? "" : "+") + info(graph_.nodes[i].op).name;
    return n > 8 ? text + "+" + std::to_string(n - 8) + " more" : text;
  }

  void add_view(uint32_t i) {
    const GraphNode &node = graph_.nodes[i];
    Place in = place(node.inputs[0]);
    Place out{in.storage, node.specs[0], {}};
    if (!info(node.op).view(node.attrs, in.spec, in.layout, out.spec, out.layout)) {
      in = copy(in);
      out = {in.storage, node.specs[0], {}};
      if (!info(node.op).view(node.attrs, in.spec, in.layout, out.spec, out.layout))
        fail(MX_ERROR_INTERNAL, "%s of a row-major array is no view", info(node.op).name);
    }
    put(i, std::move(out));
  }

  Place copy(const Place &from) {
    const Place to = new_place(from.spec);
    // Halves move as integers: through float32 a signalling NaN would become a quiet one.
    const bool half = from.spec.dtype == DType::float16 || from.spec.dtype == DType::bfloat16;
    const DType type = half ? DType::uint16 : from.spec.dtype;
    LoopParts loop;
    Emitted &emitted = loop.emitted;
    Emitter e(emitted);
    const LoopValue v = e.load({0, 0}, type);
    emitted.n_loads = 1;
    emitted.code.operands.push_back(type);
    emitted.offsets.push_back(0);
    e.append({loop::Op::store, type, 0, 1, v.re, 0, 0});
    if (v.complex) e.append({loop::Op::store, type, 1, 1, v.im, 0, 0});
    loop.space.shape = from.spec.shape;
    loop.space.reduced.resize(from.spec.shape.size(), false);
    loop.space.strides = {from.layout.strides, to.layout.strides};
    loop.places = {from, to};
    loop.label = "copy";
    append_loop(std::move(loop));
    return to;
  }

  void add_library(uint32_t i) {
    const GraphNode &node = graph_.nodes[i];
    const KernelInfo &kernel = backend_.kernel_for(node.op);
    if (!kernel.run) fail(MX_ERROR_UNSUPPORTED, "%s has no kernel on this device", info(node.op).name);
    Step s;
    s.kind = Step::Kind::library;
    s.op = node.op;
    s.function = kernel.run;
    s.attrs = node.attrs;
    s.payload = node.payload;
    s.label = info(node.op).name;
    s.copies_first = kernel.in_place;
    for (Edge e : node.inputs) {
      s.inputs.push_back(place(e));
      touch(place(e).storage);
    }
    s.constant_b = constant_operand(program_, s, graph_.first_constant);
    const uint32_t first = static_cast<uint32_t>(places_.size());
    for (const Spec &spec : node.specs) {
      places_.push_back(new_place(spec));
      s.outputs.push_back(places_.back());
    }
    place_of_[i] = first;
    program_.estimate_ns += estimate_ns(s);
    program_.steps.push_back(std::move(s));
  }

  // What a product reads is needed until the loop after it has ended, which is in the way of both.
  void keep_operands(uint32_t product) {
    for (const Place &place : program_.steps[product].inputs)
      lives_[place.storage].last = std::max(lives_[place.storage].last, product + 2);
  }

  // ---- buffers that outputs may take over

  // An output may take the memory of an input that ends here, if this step reads it only where it writes the output.
  bool may_share(const Step &s, uint32_t n_loads, uint32_t out, uint32_t storage) const {
    for (uint32_t d = s.geometry.reduced_begin; d < s.geometry.reduced_end; d++)
      if (s.geometry.strides[out][d] == 0) return false;  // the result of a reduction
    bool reads = false;
    for (uint32_t k = 0; k < n_loads; k++) {
      if (s.operand_storage[k] != storage) continue;
      if (s.operand_offset[k] != s.operand_offset[out] || !(s.geometry.strides[k] == s.geometry.strides[out]))
        return false;
      reads = true;
    }
    return reads;
  }

  bool ends_at(uint32_t storage, uint32_t step) const {
    return lives_[storage].last == step && !lives_[storage].is_output;
  }

  // A temporary that ends where an output of its own begins is that output from the start. Backwards, so that chains of
  // them become one buffer.
  void merge_temporaries() {
    for (uint32_t at = step(); at-- > 0;) {
      Step &s = program_.steps[at];
      rename(s);
      if (s.kind == Step::Kind::library) {
        if (s.copies_first) merge_updated(s, at);
        continue;
      }
      if (s.kind == Step::Kind::rows) continue;
      const uint32_t n_loads = n_loads_[at];
      for (uint32_t out = n_loads; out < s.operand_storage.size(); out++)
        for (uint32_t k = 0; k < n_loads; k++) {
          const uint32_t from = s.operand_storage[k], to = s.operand_storage[out];
          if (from == to || program_.storages[to].kind != Storage::Kind::owned || lives_[to].first != at ||
              program_.storages[from].kind != Storage::Kind::temp || !can_become(s, at, n_loads, out, from, spare(to)))
            continue;
          merge(from, to);
          rename(s);
        }
    }
  }

  bool can_become(const Step &s, uint32_t at, uint32_t n_loads, uint32_t out, uint32_t from, int64_t spare) const {
    const int64_t more = program_.storages[from].bytes - program_.storages[s.operand_storage[out]].bytes;
    return more >= 0 && more <= spare && ends_at(from, at) && may_share(s, n_loads, out, from);
  }

  // An output may be that much larger than its elements: what a slice leaves out costs less than a second buffer.
  int64_t spare(uint32_t storage) const { return program_.storages[storage].bytes / 16; }

  void find_donors() {
    for (uint32_t at = 0; at < program_.steps.size(); at++) {
      const Step &s = program_.steps[at];
      if (s.kind == Step::Kind::library) {
        if (s.copies_first) find_updated_donor(s, at);
        continue;
      }
      if (s.kind == Step::Kind::rows) continue;
      const uint32_t n_loads = n_loads_[at];
      for (uint32_t out = n_loads; out < s.operand_storage.size(); out++) {
        const uint32_t to = s.operand_storage[out];
        if (lives_[to].first != at) continue;
        for (uint32_t k = 0; k < n_loads; k++) {
          const uint32_t from = s.operand_storage[k];
          const bool owned = program_.storages[to].kind == Storage::Kind::owned;
          if (from == to || !can_become(s, at, n_loads, out, from, owned ? spare(to) : 0)) continue;
          const Storage &donor = program_.storages[from];
          Storage &taker = program_.storages[to];
          if (owned && donor.kind == Storage::Kind::leaf) {
            taker.donors.push_back(donor.index);
            taker.bytes = donor.bytes;
          }
          if (taker.kind == Storage::Kind::temp && donor.kind == Storage::Kind::temp && !taken_.contains(from) &&
              shared_.emplace(to, from).second)
            taken_.emplace(from, true);
        }
      }
    }
  }

  static bool covers(const Place &place, const Storage &storage) {
    return place.layout.offset == 0 && byte_count(place.spec) == storage.bytes &&
           is_row_major(place.spec.shape, place.layout.strides, itemsize(place.spec.dtype));
  }

  // The storage that an update could write into instead of a copy of it.
  const Storage *updated(const Step &s, uint32_t at) const {
    const Place &in = s.inputs[0];
    for (size_t k = 1; k < s.inputs.size(); k++)
      if (s.inputs[k].storage == in.storage) return nullptr;
    const Storage &from = program_.storages[in.storage];
    return ends_at(in.storage, at) && covers(in, from) ? &from : nullptr;
  }

  void merge_updated(const Step &s, uint32_t at) {
    const Storage *from = updated(s, at);
    if (from && from->kind == Storage::Kind::temp) merge(s.inputs[0].storage, s.outputs[0].storage);
  }

  void find_updated_donor(const Step &s, uint32_t at) {
    const Storage *from = updated(s, at);
    if (!from || from->kind != Storage::Kind::leaf) return;
    Storage &to = program_.storages[s.outputs[0].storage];
    to.donors.push_back(from->index);
    to.kind = Storage::Kind::owned;  // the arena cannot take a buffer over
  }

  // Makes `from` the same memory as `to`, whose life then begins where that of `from` begins. Steps go on naming `from`
  // until apply_merges.
  void merge(uint32_t from, uint32_t to) {
    merged_.resize(program_.storages.size(), nowhere);
    merged_[from] = to;
    lives_[to].first = lives_[from].first;
    program_.storages[to].bytes = std::max(program_.storages[to].bytes, program_.storages[from].bytes);
    lives_[from] = {0, 0, false};
    program_.storages[from].bytes = 0;
  }

  // The storage that stands for this one now. Chains are short: merging runs backwards, so they end in the output.
  uint32_t now(uint32_t storage) {
    while (storage < merged_.size() && merged_[storage] != nowhere) storage = merged_[storage];
    return storage;
  }

  void apply_merges() {
    if (merged_.empty()) return;
    for (Step &s : program_.steps) rename(s);
  }

  void rename(Step &s) {
    for (Step &pass : s.passes) rename(pass);
    for (uint32_t &storage : s.operand_storage) storage = now(storage);
    for (uint32_t &storage : s.written) storage = now(storage);
    for (Place &place : s.inputs) place.storage = now(place.storage);
    for (Place &place : s.outputs) place.storage = now(place.storage);
  }

  // ---- the arena

  // In the order of birth.
  void plan_arena() {
    std::vector<std::vector<uint32_t>> born(step() + 1), dies(step() + 1);
    for (uint32_t i = 0; i < program_.storages.size(); i++) {
      if (program_.storages[i].kind != Storage::Kind::temp || program_.storages[i].bytes == 0) continue;
      born[lives_[i].first].push_back(i);
    }
    Arena arena;
    for (uint32_t at = 0; at < step(); at++) {
      for (uint32_t i : born[at]) {
        const auto share = shared_.find(i);
        program_.storages[i].offset =
            share != shared_.end() ? program_.storages[share->second].offset : arena.take(program_.storages[i].bytes);
        dies[std::max(lives_[i].last, at)].push_back(i);
      }
      for (uint32_t i : dies[at])
        if (!taken_.contains(i)) arena.give(program_.storages[i].offset, program_.storages[i].bytes);
    }
    program_.arena_bytes = arena.bytes();
  }

  // A leaf's buffer is given up after the last step that reads it.
  void release_leaves() {
    for (uint32_t i = 0; i < program_.storages.size(); i++)
      if (program_.storages[i].kind == Storage::Kind::leaf && !lives_[i].is_output && lives_[i].last < step())
        program_.steps[lives_[i].last].releases.push_back(program_.storages[i].index);
  }

  void note_writes() {
    for (uint32_t at = 0; at < step(); at++) {
      Step &s = program_.steps[at];
      if (s.kind == Step::Kind::rows) continue;
      for (uint32_t k = n_loads(at); k < s.operand_storage.size(); k++) s.written.push_back(s.operand_storage[k]);
      for (const Place &place : s.outputs) s.written.push_back(place.storage);
    }
  }

  // The operands of a loop that it reads.
  uint32_t n_loads(uint32_t at) const noexcept { return at < n_loads_.size() ? n_loads_[at] : 0; }

  const Graph &graph_;
  Backend &backend_;
  Fusion fusion_;
  Program program_;
  std::vector<uint32_t> place_of_;  // node -> its first output in places_
  std::vector<Place> places_;
  std::vector<Life> lives_;              // per storage
  std::vector<uint32_t> n_loads_;        // per step
  int64_t scratch_bytes_ = 0;            // of the rows that are being planned
  std::vector<uint32_t> merged_;         // per storage: the one it was merged into, or nowhere
  std::map<uint32_t, uint32_t> shared_;  // temp -> the temp whose memory it takes over
  std::map<uint32_t, bool> taken_;
};

}  // namespace

Program lower(Graph graph, Backend &backend) {
  const profile::Span span(profile::Kind::compile, "lower");
  simplify(graph);
  expand(graph);
  Program program = Planner(graph, backend).run();
  program.note_plain();
  return program;
}

}  // namespace mx::lower
