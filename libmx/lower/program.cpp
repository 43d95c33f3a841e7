#include "lower/program.hpp"

#include "lower/run.hpp"
#include "runtime/memory.hpp"
#include "runtime/pool.hpp"
#include "runtime/profile.hpp"

namespace mx::lower {

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
  Run run(*this, std::move(leaves));
  while (run.step()) continue;
  Results results = run.finish(first);
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
