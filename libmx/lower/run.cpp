#include "lower/run.hpp"

#include "base/status.hpp"
#include "lower/epilogue.hpp"
#include "lower/run_rows.hpp"
#include "runtime/memory.hpp"
#include "runtime/pool.hpp"
#include "runtime/profile.hpp"

namespace mx::lower {
namespace {

char *data(const Buffer &buffer) noexcept { return reinterpret_cast<char *>(buffer.data()); }

// Of the exception being handled.
bool cancelled() noexcept {
  try {
    throw;
  } catch (const Error &e) {
    return e.status() == MX_ERROR_CANCELLED;
  } catch (...) {
    return false;
  }
}

template <class F>
void each_storage(const Step &step, F f) {
  for (uint32_t storage : step.operand_storage) f(storage);
  for (const Place &place : step.inputs) f(place.storage);
  for (const Place &place : step.outputs) f(place.storage);
}

}  // namespace

Run::Run(const Program &program, Leaves leaves)
    : program_(program),
      backend_(*program.backend),
      leaves_(std::move(leaves)),
      bases_(program.storages.size()),
      owned_(program.storages.size()) {
  if (program.arena_bytes) arena_ = backend_.allocate(static_cast<size_t>(program.arena_bytes));
  for (size_t i = 0; i < bases_.size(); i++) {
    const Storage &storage = program.storages[i];
    if (storage.kind == Storage::Kind::leaf)
      bases_[i] = data(*leaves_[storage.index].buffer) + leaves_[storage.index].offset;
    if (storage.kind == Storage::Kind::temp && arena_) bases_[i] = data(*arena_) + storage.offset;
  }
}

// Nothing that a launch uses goes before it has ended.
Run::~Run() {
  try {
    backend_.finish();
  } catch (...) {  // what failed first is on its way already
  }
}

bool Run::step() {
  if (next_ == program_.steps.size()) return false;
  check_cancel();
  const Step &step = program_.steps[next_++];
  if (!failure_ || !reads_lost(step)) {
    try {
      run_step(step);
    } catch (...) {
      if (cancelled()) throw;
      if (!failure_) failure_ = std::current_exception();
      lose(step);
    }
  } else {
    lose(step);
  }
  if (backend_.is_synchronous())
    for (uint32_t leaf : step.releases) leaves_[leaf].owned = {};
  return next_ < program_.steps.size();
}

Results Run::finish(std::exception_ptr &failure) {
  wait_for_launches();
  Results results;
  results.reserve(program_.outputs.size());
  for (const Place &place : program_.outputs) {
    results.push_back({place.layout, {}});
    if (is_lost(place.storage)) continue;
    base(place.storage);  // an output of zero bytes may have been written by no step
    results.back().buffer = buffer(place.storage, &place == &program_.outputs.back());
    const Storage &storage = program_.storages[place.storage];
    if (storage.kind == Storage::Kind::leaf) results.back().layout.offset += leaves_[storage.index].offset;
  }
  failure = std::move(failure_);
  return results;
}

// What fails after its launch was reported as done takes all outputs with it.
void Run::wait_for_launches() {
  try {
    backend_.finish();
  } catch (...) {
    if (cancelled()) throw;
    if (!failure_) failure_ = std::current_exception();
    for (const Step &step : program_.steps) lose(step);
  }
}

void Run::run_step(const Step &step) {
  const profile::KernelSpan span(step.label);
  switch (step.kind) {
    case Step::Kind::loop:
      return run_loop(step);
    case Step::Kind::library:
      return run_library(step);
    case Step::Kind::rows:
      return run_passes(step);
  }
}

bool Run::reads_lost(const Step &step) const {
  bool lost = false;
  each_storage(step, [&](uint32_t storage) { lost |= is_lost(storage); });
  return lost;
}

void Run::lose(const Step &step) {
  lost_.resize(program_.storages.size(), false);
  for (uint32_t storage : step.written) lost_[storage] = true;
}

// `last`: nobody else will ask for it.
Ref<Buffer> Run::buffer(uint32_t storage, bool last) noexcept {
  const Storage &s = program_.storages[storage];
  if (s.kind == Storage::Kind::leaf) return Ref<Buffer>::share(leaves_[s.index].buffer);
  return last ? std::move(owned_[storage]) : owned_[storage];
}

// The memory of a storage; owned ones come into being at the first step that asks, because only then are the buffers
// that they may take over free.
char *Run::base(uint32_t storage) {
  if (bases_[storage]) return bases_[storage];
  const Storage &s = program_.storages[storage];
  if (s.kind != Storage::Kind::owned) return nullptr;
  for (uint32_t leaf : s.donors) {
    const Ref<Buffer> &donor = leaves_[leaf].owned;
    if (!donor || !can_become(*donor, leaves_[leaf].offset, s)) continue;
    owned_[storage] = donor;
    break;
  }
  if (!owned_[storage]) owned_[storage] = backend_.allocate(static_cast<size_t>(s.bytes));
  return bases_[storage] = data(*owned_[storage]);
}

SmallVector<char *, 8> Run::loop_operands(const Step &step) {
  SmallVector<char *, 8> operands;
  for (size_t k = 0; k < step.operand_storage.size(); k++)
    operands.push_back(base(step.operand_storage[k]) + step.operand_offset[k]);
  return operands;
}

void Run::run_loop(const Step &step) {
  const SmallVector<char *, 8> operands = loop_operands(step);
  backend_.launch(*step.prepared, {operands.data(), operands.size()}, step.scalars);
}

void Run::run_passes(const Step &step) {
  SmallVector<char *, 8> operands;
  for (const Step &pass : step.passes)
    for (size_t k = 0; k < pass.operand_storage.size(); k++) {
      const uint32_t storage = pass.operand_storage[k];
      operands.push_back(storage == scratch_storage ? nullptr : base(storage) + pass.operand_offset[k]);
    }
  run_rows(backend_, step, {operands.data(), operands.size()});
}

Tensor Run::tensor(const Place &place) {
  return {place.spec.dtype, place.spec.shape, place.layout.strides, base(place.storage) + place.layout.offset};
}

// Memory that somebody outside could change is read anew by every run.
bool Run::keeps_packed(const Step &step) const noexcept {
  if (step.constant_b == UINT32_MAX || !program_.packed) return false;
  Buffer *const buffer = leaves_[step.constant_b].buffer;
  return buffer && buffer->writable() && !buffer->pinned();
}

void Run::run_library(const Step &step) {
  SmallVector<Tensor, 4> inputs, outputs;
  for (const Place &place : step.inputs) inputs.push_back(tensor(place));
  for (const Place &place : step.outputs) outputs.push_back(tensor(place));
  if (step.copies_first && inputs[0].data != outputs[0].data) backend_.launch_copy(outputs[0], inputs[0]);
  PackedConstants *const packed = keeps_packed(step) ? program_.packed.get() : nullptr;
  if (!step.epilogue)
    return backend_.launch(step.function, {step.op, step.attrs, inputs, outputs, step.payload.get(), nullptr, packed});
  const SmallVector<char *, 8> operands = loop_operands(step);
  const RunEpilogue epilogue(backend_, step, {operands.data(), operands.size()});
  backend_.launch(step.function, {step.op, step.attrs, inputs, outputs, step.payload.get(), &epilogue, packed});
}

}  // namespace mx::lower
