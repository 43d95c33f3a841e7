// mx/function.h: the compile protocol, and the callback form on top of it.
#include "compile/function.hpp"

#include <string_view>

#include "capi.h"
#include "capi/convert.hpp"
#include "core/array.hpp"

namespace mx::capi {
namespace {

std::string_view bytes(const void *key, size_t n_key) { return {static_cast<const char *>(key), n_key}; }

// Handles that a body returned or is given: closed on every path.
class Handles {
 public:
  explicit Handles(size_t n) : handles_(n, nullptr) {}
  ~Handles() {
    for (mx_array handle : handles_) {
      try {
        close_array(reinterpret_cast<uint64_t>(handle));
      } catch (const Error &) {  // the body freed what was not its own: nothing is left to close
      }
    }
  }
  Handles(const Handles &) = delete;
  mx_array *data() noexcept { return handles_.data(); }
  size_t size() const noexcept { return handles_.size(); }

 private:
  SmallVector<mx_array, 8> handles_;
};

// Runs the body on `inputs`; its failure becomes an Error with its status and message.
ValueVector run_body(const Function::Body &body, std::span<const Value> inputs) {
  Handles in(inputs.size()), out(body.n_outputs);
  for (size_t i = 0; i < inputs.size(); i++) in.data()[i] = reinterpret_cast<mx_array>(open_array(inputs[i]));
  const mx_status status = body.fn(out.data(), out.size(), in.data(), in.size(), body.payload);
  if (status == MX_ERROR_CALLBACK) fail(status, "the traced function failed");
  if (status != MX_OK) fail(status, "%s", mx::error_message());
  ValueVector outputs;
  for (size_t i = 0; i < out.size(); i++) outputs.push_back(array_at(reinterpret_cast<uint64_t>(out.data()[i])));
  return outputs;
}

}  // namespace

Ref<Function> function_new(const char *name, uint32_t flags) {
  if (flags & ~static_cast<uint32_t>(MX_FUNCTION_SHAPELESS))
    fail(MX_ERROR_INVALID_ARGUMENT, "function_new: unknown flags 0x%x", flags);
  return make_ref<Function>(name ? name : "", flags);
}

void function_erase(Function &x) { x.erase(); }
void function_set_capacity(Function &x, uint64_t n_entries) { x.set_capacity(n_entries); }
void function_stats(mx_function_info *info_out, Function &x) { *info_out = x.stats(); }

Ref<Call> call_begin(mx_call_state *state_out, Function &f, ValueVector inputs, const void *key, size_t n_key) {
  Ref<Call> call = Call::begin(f, inputs, bytes(key, n_key));
  *state_out = call->state();
  return call;
}

ValueVector call_inputs(Call &x) {
  const auto placeholders = x.placeholders();
  return {placeholders.begin(), placeholders.end()};
}

void call_commit(Call &x, ValueVector outputs, uint64_t host_tag) { x.commit(outputs, host_tag); }

ValueVector call_outputs(Call &x) { return x.outputs(); }
void call_tag(uint64_t *host_tag_out, Call &x) { *host_tag_out = x.host_tag(); }

ValueVector function_call(bool *hit_out, uint64_t *host_tag_out, Function &f, ValueVector inputs, const void *key,
                          size_t n_key) {
  ValueVector outputs;
  *hit_out = call_if_compiled(f, inputs, bytes(key, n_key), outputs, *host_tag_out);
  return outputs;
}

void compile_clear() noexcept { clear_all_functions(); }
void compile_enable(bool enabled) noexcept { enable_compile(enabled); }
bool compile_enabled() noexcept { return mx::compile_enabled(); }

Ref<Function> compile(const char *name, size_t n_outputs, mx_trace_fn fn, void *payload, void (*destroy)(void *),
                      uint32_t flags) {
  try {
    if (!fn) fail(MX_ERROR_INVALID_ARGUMENT, "compile: fn is NULL");
    if (flags & ~static_cast<uint32_t>(MX_FUNCTION_SHAPELESS))
      fail(MX_ERROR_INVALID_ARGUMENT, "compile: unknown flags 0x%x", flags);
    return make_ref<Function>(name ? name : "", flags, Function::Body{fn, payload, destroy, n_outputs});
  } catch (...) {
    if (destroy) destroy(payload);
    throw;
  }
}

ValueVector compiled_call(Function &f, ValueVector inputs) {
  if (!f.body.fn) fail(MX_ERROR_INVALID_ARGUMENT, "compiled_call: %s was not made by mx_compile", f.name.c_str());
  ValueVector hit;
  uint64_t tag = 0;
  if (call_if_compiled(f, inputs, {}, hit, tag)) return hit;
  const Ref<Call> call = Call::begin(f, inputs, {});
  if (call->state() == MX_CALL_HIT) return call->outputs();
  if (call->state() != MX_CALL_TRACE) return run_body(f.body, inputs);
  try {
    call->commit(run_body(f.body, call->placeholders()), 0);
  } catch (...) {
    call->end();
    throw;
  }
  return call->outputs();
}

}  // namespace mx::capi
