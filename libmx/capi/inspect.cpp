// mx/inspect.h: explain, drawings and profiles.
#include <cstring>
#include <vector>

#include "capi.h"
#include "capi/convert.hpp"
#include "compile/function.hpp"
#include "eval/explain.hpp"
#include "io/sink.hpp"
#include "runtime/profile.hpp"

namespace mx::capi {
namespace {

constexpr size_t default_records = size_t{1} << 17;

void copy_text(char *buf, size_t cap, size_t *needed_out, const std::string &text) {
  count_allocation();
  if (cap > text.size()) std::memcpy(buf, text.c_str(), text.size() + 1);
  *needed_out = text.size() + 1;
}

}  // namespace

void explain(char *buf, size_t cap, size_t *needed_out, ValueVector arrays) {
  copy_text(buf, cap, needed_out, mx::explain(arrays));
}

void call_explain(char *buf, size_t cap, size_t *needed_out, Call &x) { copy_text(buf, cap, needed_out, x.explain()); }

void export_to_dot(char *buf, size_t cap, size_t *needed_out, ValueVector arrays, const char *const *names,
                   size_t n_names) {
  if (n_names != arrays.size())
    fail(MX_ERROR_INVALID_ARGUMENT, "export_to_dot: %zu names for %zu arrays", n_names, arrays.size());
  std::vector<std::string_view> views;
  for (size_t i = 0; i < n_names; i++) views.push_back(names[i] ? names[i] : "");
  copy_text(buf, cap, needed_out, draw(arrays, views));
}

void profile_start(size_t n_records) { profile::start(n_records ? n_records : default_records); }

void profile_stop(const char *path) {
  const std::string trace = profile::stop();
  if (!path) return;
  io::FileSink sink(path);
  sink.write(trace);
  sink.commit();
}

}  // namespace mx::capi
