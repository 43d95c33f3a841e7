#include "eval/region.hpp"

#include <algorithm>

#include "base/settled.hpp"
#include "base/status.hpp"
#include "eval/callable.hpp"
#include "eval/program_cache.hpp"
#include "eval/region_graph.hpp"
#include "runtime/lock.hpp"

namespace mx::evaluation {
namespace {

// Larger graphs are lowered on the stream, not on the thread that asked.
constexpr size_t lower_now_nodes = 256;

// Leaves that a run gives back as soon as it can.
void take(lower::Leaves &leaves, std::span<const Value> values) {
  for (const Value &value : values) {
    const Output &output = value.node->output(value.index);
    leaves.push_back({output.buffer, output.layout.offset});
  }
}

// Leaves that stay where they are.
void borrow(lower::Leaves &leaves, std::span<const Value> values) {
  for (const Value &value : values) {
    const Output &output = value.node->output(value.index);
    leaves.push_back({*output.buffer, output.layout.offset});
  }
}

// A fused region.
class GraphTask final : public RegionTask {
 public:
  lower::Graph graph;

  void prepare() override {
    if (graph.nodes.size() > most_kept_nodes || !leaves_done()) return;
    lay_out();
    program_ = graph.nodes.size() <= lower_now_nodes ? program_for(std::move(graph), backend())
                                                     : find_program(graph, backend());
    if (!program_) return;
    estimate_ns = program_->estimate_ns;
    small = estimate_ns <= inline_ns && backend().is_synchronous();
  }

 private:
  void lay_out() {
    for (size_t i = 0; i < leaves.size(); i++) graph.leaves[i] = leaves[i].node->output(leaves[i].index).layout;
  }

  void begin(std::optional<lower::Run> &run) override {
    if (!program_) {
      lay_out();
      program_ = program_for(std::move(graph), backend());
    }
    lower::Leaves memory;
    take(memory, leaves);
    leaves.clear();  // a leaf that nobody else holds gives up its buffer
    run.emplace(*program_, std::move(memory));
  }

  ProgramRef program_;
};

// One compiled call.
class CallTask final : public RegionTask {
 public:
  explicit CallTask(const Node &call) : callable_(Ref<Callable>::share(static_cast<Callable *>(call.payload.get()))) {}

  void prepare() override {
    if (!leaves_done()) return;
    program_ = callable_->program_for(leaves, backend());
    estimate_ns = program_->estimate_ns;
    small = estimate_ns <= inline_ns && backend().is_synchronous();
  }

 private:
  void begin(std::optional<lower::Run> &run) override {
    if (!program_) program_ = callable_->program_for(leaves, backend());
    lower::Leaves memory;
    take(memory, std::span(leaves).first(callable_->n_arguments()));
    take(memory, callable_->constants());
    leaves.clear();
    run.emplace(*program_, std::move(memory));
  }

  Ref<Callable> callable_;
  ProgramRef program_;
};

Ref<RegionTask> copy_region(const Walk &walk, std::span<const uint32_t> region) {
  const WalkNode &first = walk.nodes[region[0]];
  if (first.node->op == OpCode::compiled_call) {
    auto task = make_ref<CallTask>(*first.node);
    for (const Value &input : first.inputs) task->leaves.push_back(input);
    return task;
  }
  auto task = make_ref<GraphTask>();
  copy_graph(walk, region, task->graph, task->leaves);
  return task;
}

}  // namespace

// All or nothing, one thread at a time: so what a region waits for was always claimed before it, and regions of several
// threads cannot wait for each other in a circle. What it waits for was submitted before it, too (claim), so that
// nothing stands in a stream before what it waits for.
bool RegionTask::claim_targets() {
  SmallVector<SmallVector<Value, 2>, 2> dropped(targets_.size());  // the nodes' inputs; freed outside the lock
  Lock &lock = lock_for(LockRank::claims);
  lock.lock();
  bool all = true;
  for (const Ref<Node> &node : targets_) all &= node->state() == NodeState::lazy;
  if (all)
    for (size_t k = 0; k < targets_.size(); k++) targets_[k]->claim(event, dropped[k]);
  lock.unlock();
  if (!all) targets_.clear();
  return all;
}

Ref<RegionTask> RegionTask::copy(const Walk &walk, std::span<const uint32_t> region) {
  Ref<RegionTask> task = copy_region(walk, region);
  task->stream_ = Ref<Stream>::share(walk.nodes[region[0]].stream);
  task->judges_failures = true;
  return task;
}

bool RegionTask::claim(Walk &walk, std::span<const uint32_t> region) {
  for (uint32_t i : region)
    if (walk.nodes[i].needed) targets_.push_back(walk.nodes[i].node);
  add_leaf_events(walk, region);  // before the claim: it allocates
  // Nothing is claimed here now that was not submitted, so nobody waits in a circle.
  for (const Ref<Event> &leaf : dependencies) leaf->wait_until_submitted();
  if (!claim_targets()) return false;
  for (uint32_t i : region) {
    WalkNode &w = walk.nodes[i];
    for (uint32_t source : w.sources)
      if (--walk.nodes[source].uses == 0) walk.nodes[source].node = {};
    w.inputs.clear();
    w.event = event;  // what later regions wait for
    if (!w.needed) w.node = {};
  }
  return true;
}

namespace {

// An output of at most so many bytes is rather allocated than donated, unless one loop is all (run_plain).
constexpr int64_t small_output = 4096;

// Whether an input that only this node still needs could give its buffer to a large output: then a task is worth it.
bool could_donate(const lower::Program &program, std::span<const Value> inputs) noexcept {
  for (const lower::Storage &storage : program.storages) {
    if (storage.bytes <= small_output) continue;
    for (uint32_t leaf : storage.donors)
      if (leaf < inputs.size() && inputs[leaf].node->ref_count() == 1) return true;
  }
  return false;
}

bool all_done(std::span<const Value> values) noexcept {
  for (const Value &value : values)
    if (value.node->state() != NodeState::done) return false;
  return true;
}

void run(Node::Exclusive &here, const lower::Program &program, std::span<const Value> inputs,
         std::span<const Value> constants) {
  lower::Leaves leaves;
  borrow(leaves, inputs);
  borrow(leaves, constants);
  lower::Results results = program.run(std::move(leaves));
  here.finish(results);
}

// How inputs fail whose memory an evaluation on the spot took: only a child that was forked meanwhile can ask.
struct Lost {
  Ref<Event> event = make_ref<Event>();
  Lost() noexcept {
    event->fail(MX_ERROR_FORKED,
                "the work was lost in a fork: another thread was computing this and had overwritten an input");
  }
};

// The input that only this node still needs and whose memory an output may take, if there is one.
const Value *donor_of(const lower::Storage &storage, std::span<const Value> inputs) noexcept {
  for (uint32_t leaf : storage.donors) {
    if (leaf >= inputs.size() || inputs[leaf].node->ref_count() != 1) continue;
    const Output &output = inputs[leaf].node->output(inputs[leaf].index);
    if (output.buffer && lower::can_become(*output.buffer, output.layout.offset, storage)) return &inputs[leaf];
  }
  return nullptr;
}

void run_plain(Node::Exclusive &here, const lower::Program &program, std::span<const Value> inputs,
               std::span<const Value> constants) {
  SmallVector<char *, lower::most_plain_storages> leaves;
  for (std::span<const Value> values : {inputs, constants})
    for (const Value &value : values) {
      const Output &output = value.node->output(value.index);
      leaves.push_back(reinterpret_cast<char *>(output.buffer->data()) + output.layout.offset);
    }
  Result results[lower::most_plain_outputs];
  const Value *donors[lower::most_plain_outputs] = {};
  for (size_t k = 0; k < program.outputs.size(); k++) {
    const Value *donor = donor_of(program.storages[program.outputs[k].storage], inputs);
    if (!donor) continue;
    results[k].buffer = donor->node->give_up(donor->index, leaked<Lost>().event);
    donors[k] = donor;
  }
  try {
    program.run_plain({leaves.data(), leaves.size()}, results);
  } catch (...) {  // before the loop began: that can no more be refused anything, and is too short to be cancelled
    for (size_t k = 0; k < program.outputs.size(); k++)
      if (donors[k]) donors[k]->node->take_back(donors[k]->index, std::move(results[k].buffer));
    throw;
  }
  here.finish(results);
}

}  // namespace

bool run_here(Node &node, int64_t &estimate_ns) {
  estimate_ns = 0;
  if (node.op == OpCode::placeholder || node.op == OpCode::thread_key) return false;
  if ((node.stream ? node.stream->device() : default_device()).type != MX_CPU) return false;
  Backend &cpu = backend_for({});
  auto *callable = node.op == OpCode::compiled_call ? static_cast<Callable *>(node.payload.get()) : nullptr;
  for (ProgramRef program;;) {
    {
      Node::Exclusive here(node);
      if (!here.lazy() || !all_done(here.inputs())) return false;
      std::span<const Value> inputs = here.inputs();
      if (!program) program = callable ? callable->find_program(inputs, cpu) : find_program(node, inputs);
      if (program) {
        estimate_ns = program->estimate_ns;
        if (estimate_ns > here_ns || could_donate(*program, inputs)) return false;
        if (callable) inputs = inputs.first(callable->n_arguments());
        const auto constants = callable ? callable->constants() : std::span<const Value>();
        program->is_plain ? run_plain(here, *program, inputs, constants) : run(here, *program, inputs, constants);
        return true;
      }
    }
    // Lowering takes longer than the lock may be held.
    const Node::Snapshot snapshot = node.snapshot();
    if (snapshot.state != NodeState::lazy) return false;
    program = callable ? callable->program_for(snapshot.inputs, cpu) : program_for(node, snapshot.inputs);
  }
}

// What is being computed elsewhere; the region's own nodes have no event yet.
void RegionTask::add_leaf_events(const Walk &walk, std::span<const uint32_t> region) {
  for (uint32_t i : region)
    for (uint32_t source : walk.nodes[i].sources) {
      const Ref<Event> &other = walk.nodes[source].event;
      if (other && other->pending() && std::find(dependencies.begin(), dependencies.end(), other) == dependencies.end())
        dependencies.push_back(other);
    }
}

bool RegionTask::leaves_done() const noexcept { return all_done(leaves); }

// A region that was waited for may have failed in a part that this one does not read.
void RegionTask::check_leaves() const {
  for (const Value &leaf : leaves) {
    if (leaf.node->state() == NodeState::done) continue;
    const Node::Snapshot snapshot = leaf.node->snapshot();
    if (snapshot.event) {
      snapshot.event->wait(UINT32_MAX);
      snapshot.event->throw_if_failed();
    }
    fail(MX_ERROR_INTERNAL, "%s was not computed before its reader", info(leaf.node->op).name);
  }
}

void RegionTask::execute() {
  while (step()) continue;
}

bool RegionTask::step() {
  if (!run_) {
    check_leaves();
    begin(run_);
    return true;
  }
  if (run_->step()) return true;
  deliver();
  return false;
}

void RegionTask::deliver() {
  std::exception_ptr failure;
  lower::Results all = run_->finish(failure);
  run_.reset();  // whoever sees the outputs is the only one that holds them
  size_t at = 0;
  for (Ref<Node> &target : targets_) {
    const std::span<Result> results(all.data() + at, target->n_outputs);
    at += target->n_outputs;
    if (!std::all_of(results.begin(), results.end(), [](const Result &r) { return bool(r.buffer); })) continue;
    target->finish(results);
    target = {};
  }
  if (failure) std::rethrow_exception(failure);
}

void RegionTask::release_inputs() noexcept {
  run_.reset();
  leaves.clear();
  for (const Ref<Node> &target : targets_)
    if (target) target->abandon();
  targets_.clear();
}

}  // namespace mx::evaluation
