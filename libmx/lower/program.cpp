#include "lower/program.hpp"

#include "base/status.hpp"
#include "lower/epilogue.hpp"
#include "lower/run_rows.hpp"
#include "runtime/memory.hpp"
#include "runtime/pool.hpp"
#include "runtime/profile.hpp"

namespace mx::lower {
namespace {

// One run of a program: which memory its storages got.
class Run {
 public:
  Run(const Program &program, Leaves &leaves)
      : program_(program),
        backend_(*program.backend),
        leaves_(leaves),
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
  ~Run() {
    try {
      backend_.finish();
    } catch (...) {  // what failed first is on its way already
    }
  }

  // A step that fails loses what it would have written, and with it all that is computed from that; the rest goes on.
  Results operator()(std::exception_ptr &failure) {
    for (const Step &step : program_.steps) {
      check_cancel();
      if (!failure || !reads_lost(step)) {
        try {
          run_step(step);
        } catch (...) {
          if (cancelled()) throw;
          if (!failure) failure = std::current_exception();
          lose(step);
        }
      } else {
        lose(step);
      }
      if (backend_.is_synchronous())
        for (uint32_t leaf : step.releases) leaves_[leaf].owned = {};
    }
    finish(failure);
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
    return results;
  }

 private:
  // What fails after its launch was reported as done takes all outputs with it.
  void finish(std::exception_ptr &failure) {
    try {
      backend_.finish();
    } catch (...) {
      if (cancelled()) throw;
      if (!failure) failure = std::current_exception();
      for (const Step &step : program_.steps) lose(step);
    }
  }

  static char *data(const Buffer &buffer) noexcept { return reinterpret_cast<char *>(buffer.data()); }

  void run_step(const Step &step) {
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

  // Of the exception being handled.
  static bool cancelled() noexcept {
    try {
      throw;
    } catch (const Error &e) {
      return e.status() == MX_ERROR_CANCELLED;
    } catch (...) {
      return false;
    }
  }

  bool is_lost(uint32_t storage) const noexcept { return !lost_.empty() && lost_[storage]; }

  template <class F>
  static void each_storage(const Step &step, F f) {
    for (uint32_t storage : step.operand_storage) f(storage);
    for (const Place &place : step.inputs) f(place.storage);
    for (const Place &place : step.outputs) f(place.storage);
  }

  bool reads_lost(const Step &step) const {
    bool lost = false;
    each_storage(step, [&](uint32_t storage) { lost |= is_lost(storage); });
    return lost;
  }

  void lose(const Step &step) {
    lost_.resize(program_.storages.size(), false);
    for (uint32_t storage : step.written) lost_[storage] = true;
  }

  // `last`: nobody else will ask for it.
  Ref<Buffer> buffer(uint32_t storage, bool last) noexcept {
    const Storage &s = program_.storages[storage];
    if (s.kind == Storage::Kind::leaf) return Ref<Buffer>::share(leaves_[s.index].buffer);
    return last ? std::move(owned_[storage]) : owned_[storage];
  }

  // The memory of a storage; owned ones come into being at the first step that asks, because only then are the buffers
  // that they may take over free.
  char *base(uint32_t storage) {
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

  SmallVector<char *, 8> loop_operands(const Step &step) {
    SmallVector<char *, 8> operands;
    for (size_t k = 0; k < step.operand_storage.size(); k++)
      operands.push_back(base(step.operand_storage[k]) + step.operand_offset[k]);
    return operands;
  }

  void run_loop(const Step &step) {
    const SmallVector<char *, 8> operands = loop_operands(step);
    backend_.launch(*step.prepared, {operands.data(), operands.size()}, step.scalars);
  }

  void run_passes(const Step &step) {
    SmallVector<char *, 8> operands;
    for (const Step &pass : step.passes)
      for (size_t k = 0; k < pass.operand_storage.size(); k++) {
        const uint32_t storage = pass.operand_storage[k];
        operands.push_back(storage == scratch_storage ? nullptr : base(storage) + pass.operand_offset[k]);
      }
    run_rows(backend_, step, {operands.data(), operands.size()});
  }

  Tensor tensor(const Place &place) {
    return {place.spec.dtype, place.spec.shape, place.layout.strides, base(place.storage) + place.layout.offset};
  }

  // Memory that somebody outside could change is read anew by every run.
  bool keeps_packed(const Step &step) const noexcept {
    if (step.constant_b == UINT32_MAX || !program_.packed) return false;
    Buffer *const buffer = leaves_[step.constant_b].buffer;
    return buffer && buffer->writable() && !buffer->pinned();
  }

  void run_library(const Step &step) {
    SmallVector<Tensor, 4> inputs, outputs;
    for (const Place &place : step.inputs) inputs.push_back(tensor(place));
    for (const Place &place : step.outputs) outputs.push_back(tensor(place));
    if (step.copies_first && inputs[0].data != outputs[0].data) backend_.launch_copy(outputs[0], inputs[0]);
    PackedConstants *const packed = keeps_packed(step) ? program_.packed.get() : nullptr;
    if (!step.epilogue)
      return backend_.launch(step.function,
                             {step.op, step.attrs, inputs, outputs, step.payload.get(), nullptr, packed});
    const SmallVector<char *, 8> operands = loop_operands(step);
    const RunEpilogue epilogue(backend_, step, {operands.data(), operands.size()});
    backend_.launch(step.function, {step.op, step.attrs, inputs, outputs, step.payload.get(), &epilogue, packed});
  }

  const Program &program_;
  Backend &backend_;
  Leaves &leaves_;
  SmallVector<char *, 8> bases_;
  SmallVector<Ref<Buffer>, 8> owned_;
  Ref<Buffer> arena_;
  std::vector<bool> lost_;  // per storage; empty until something fails
};

}  // namespace

bool can_become(const Buffer &buffer, int64_t offset, const Storage &storage) noexcept {
  const size_t wanted = static_cast<size_t>(storage.bytes);
  return buffer.ref_count() == 1 && offset == 0 && buffer.writable() && !buffer.pinned() && buffer.size() >= wanted &&
         buffer.size() - wanted <= static_cast<size_t>(most_donated_in_vain);
}

void Program::note_plain() noexcept {
  is_plain = backend->is_synchronous() && steps.size() == 1 && steps[0].kind == Step::Kind::loop && arena_bytes == 0 &&
             storages.size() <= most_plain_storages && steps[0].operand_storage.size() <= most_plain_storages &&
             outputs.size() <= most_plain_outputs;
  size_t n_owned = 0;
  for (const Storage &storage : storages) {
    n_owned += storage.kind == Storage::Kind::owned;
    is_plain &= storage.kind != Storage::Kind::temp;
  }
  for (const Place &place : outputs)
    is_plain &= storages[place.storage].kind == Storage::Kind::owned &&
                (&place == &outputs[0] || place.storage != outputs[0].storage);
  is_plain &= n_owned == outputs.size();
}

void Program::run_plain(std::span<char *const> leaves, std::span<Result> results) const {
  char *bases[most_plain_storages];
  for (size_t i = 0; i < storages.size(); i++)
    if (storages[i].kind == Storage::Kind::leaf) bases[i] = leaves[storages[i].index];
  for (size_t k = 0; k < outputs.size(); k++) {
    const Place &place = outputs[k];
    results[k].layout = place.layout;
    if (!results[k].buffer) results[k].buffer = backend->allocate(static_cast<size_t>(storages[place.storage].bytes));
    bases[place.storage] = reinterpret_cast<char *>(results[k].buffer->data());
  }
  const Step &step = steps[0];
  char *operands[most_plain_storages];
  const size_t n = step.operand_storage.size();
  for (size_t k = 0; k < n; k++) operands[k] = bases[step.operand_storage[k]] + step.operand_offset[k];
  check_cancel();
  const profile::KernelSpan span(step.label);
  backend->launch(*step.prepared, {operands, n}, step.scalars);
}

Results Program::run(Leaves leaves, std::exception_ptr *failure) const {
  std::exception_ptr first;
  Results results = Run(*this, leaves)(first);
  if (failure)
    *failure = std::move(first);
  else if (first)
    std::rethrow_exception(first);
  return results;
}

int64_t Program::peak_bytes() const noexcept {
  int64_t bytes = arena_bytes;
  for (const Storage &storage : storages)
    if (storage.kind == Storage::Kind::owned) bytes += storage.bytes;
  return bytes;
}

std::string print(const Program &program) {
  static constexpr const char *kinds[] = {"leaf", "owned", "temp"};
  std::string text;
  const auto place = [&](uint32_t storage) {
    if (storage == scratch_storage) return std::string(" scratch");
    const Storage &s = program.storages[storage];
    const int64_t id = s.kind == Storage::Kind::leaf ? s.index : s.kind == Storage::Kind::temp ? s.offset : storage;
    return std::string(" ") + kinds[static_cast<int>(s.kind)] + std::to_string(id);
  };
  const auto loop = [&](const Step &step) {
    text += step.label + " " + to_string(step.geometry.shape) + ":";
    for (uint32_t storage : step.operand_storage) text += place(storage);
  };
  for (const Step &step : program.steps) {
    if (step.kind == Step::Kind::loop) {
      text += "loop ";
      loop(step);
    } else if (step.kind == Step::Kind::rows) {
      text += "rows in " + to_string(step.tiles) + " tiles";
      for (const Step &pass : step.passes) text += "\n  ", loop(pass);
    } else {
      text += "library " + step.label + ":";
      for (const Place &p : step.inputs) text += place(p.storage);
      text += " ->";
      for (const Place &p : step.outputs) text += place(p.storage);
      if (step.epilogue) text += " then";
      for (uint32_t storage : step.operand_storage) text += place(storage);
    }
    text += "\n";
  }
  return text + "arena " + std::to_string(program.arena_bytes) + "\n";
}

}  // namespace mx::lower
