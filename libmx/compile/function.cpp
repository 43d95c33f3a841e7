#include "compile/function.hpp"

#include <cstdlib>
#include <vector>

#include "base/status.hpp"
#include "eval/explain.hpp"
#include "runtime/lifecycle.hpp"
#include "runtime/lock.hpp"

namespace mx {
namespace {

std::atomic<uint64_t> last_id{0};

bool disabled_by_environment() noexcept {
  const char *value = std::getenv("MX_DISABLE_COMPILE");
  return value && *value && *value != '0';
}
std::atomic<int> enabled_state{-1};  // -1: not asked yet

bool any_tracer(std::span<const Value> values) noexcept {
  for (const Value &value : values)
    if (is_tracer(value)) return true;
  return false;
}

class Locked {
 public:
  explicit Locked(const void *object) noexcept : lock_(lock_for(LockRank::functions, object)) { lock_.lock(); }
  ~Locked() { lock_.unlock(); }
  Locked(const Locked &) = delete;

 private:
  Lock &lock_;
};

}  // namespace

// All live functions, so that all entries can be dropped. Weak: a function leaves the list before it dies.
struct FunctionList {
  static void add(Function &f) {
    Locked lock(&head);
    f.next_ = head;
    if (head) head->previous_ = &f;
    head = &f;
  }
  static void remove(Function &f) noexcept {
    Locked lock(&head);
    (f.previous_ ? f.previous_->next_ : head) = f.next_;
    if (f.next_) f.next_->previous_ = f.previous_;
  }
  // Takes up to `cap` references to functions with an id above `after`. A function whose last reference is just going
  // cannot be taken: its count is 0 already.
  static size_t take(Ref<Function> *out, size_t cap, uint64_t after) noexcept;
  static Function *head;
};
Function *FunctionList::head = nullptr;

size_t FunctionList::take(Ref<Function> *out, size_t cap, uint64_t after) noexcept {
  Locked lock(&head);
  size_t n = 0;
  Function *last = nullptr;
  for (Function *f = head; f; f = f->next_) last = f;
  for (Function *f = last; f && n < cap; f = f->previous_)
    if (f->id > after && f->try_retain()) out[n++] = Ref<Function>(f);
  return n;
}

Function::Function(std::string name, uint32_t flags, Body body)
    : name(std::move(name)),
      shapeless(flags & MX_FUNCTION_SHAPELESS),
      id(last_id.fetch_add(1, std::memory_order_relaxed) + 1),
      body(body) {
  FunctionList::add(*this);
}

Function::~Function() {
  FunctionList::remove(*this);
  if (body.destroy) body.destroy(body.payload);
}

// The lock is held.
Ref<Entry> Function::hit(Table::Row &row) noexcept {
  row.used = ++tick_;
  counters_.hits++;
  last_ = &row;
  return row.value;
}

Ref<Entry> Function::find(std::span<const Value> inputs, std::string_view host_key) {
  {
    Locked lock(this);
    if (last_ && last_->value->answers(inputs, host_key)) return hit(*last_);
    if (table_.size() == 0) return {};
  }
  const Key key(inputs, host_key, shapeless);
  const size_t hash = key_hash(key.bytes());
  Locked lock(this);
  Table::Row *row = table_.find(key.bytes(), hash);
  return row ? hit(*row) : Ref<Entry>();
}

Ref<Entry> Function::publish(const Key &key, Ref<Entry> entry, uint64_t generation) {
  // What is made and what goes is allocated and freed outside the lock.
  std::unique_ptr<Table::Row> fresh(new Table::Row{std::string(key.bytes()), entry});
  Table::Buckets room;
  Table::Dropped dropped;
  for (;;) {
    size_t wanted;
    {
      Locked lock(this);
      wanted = table_.wanted_buckets();
      if (room.size() >= wanted) {
        counters_.traces++;
        if (generation != generation_.load(std::memory_order_relaxed)) return entry;
        if (const Table::Row *first = table_.find(fresh->key, fresh->hash)) return first->value;
        last_ = table_.insert(std::move(fresh), room);
        last_->used = ++tick_;
        evict(dropped);
        return entry;
      }
    }
    room.resize(wanted);
  }
}

// The lock is held.
void Function::evict(Table::Dropped &dropped) noexcept {
  while (capacity_ && table_.size() > capacity_) {
    Table::Row *oldest = nullptr;
    table_.each([&](Table::Row &row) {
      if (!oldest || row.used < oldest->used) oldest = &row;
    });
    if (oldest == last_) last_ = nullptr;
    table_.drop(*oldest, dropped);
    counters_.evictions++;
  }
}

void Function::erase() {
  Table dropped;
  Locked lock(this);
  generation_.fetch_add(1, std::memory_order_acq_rel);
  last_ = nullptr;
  table_.swap(dropped);
}

void Function::set_capacity(uint64_t n_entries) {
  Table::Dropped dropped;
  Locked lock(this);
  capacity_ = n_entries;
  evict(dropped);
}

mx_function_info Function::stats() {
  Locked lock(this);
  mx_function_info info = counters_;
  info.entries = table_.size();
  info.bytes = 0;
  table_.each([&](const Table::Row &row) {
    info.bytes += static_cast<uint64_t>(row.value->constant_bytes()) + row.key.size();
  });
  return info;
}

Call::Call(Function &function, std::span<const Value> inputs, Key key)
    : function_(Ref<Function>::share(function)),
      inputs_(inputs.begin(), inputs.end()),
      key_(std::move(key)),
      thread_(thread_number()),
      generation_(function.generation()) {}

Ref<Call> Call::begin(Function &function, std::span<const Value> inputs, std::string_view host_key) {
  require_running();
  Ref<Call> call(new Call(function, inputs, Key(inputs, host_key, function.shapeless)));
  if (!compile_enabled()) {
    call->state_ = MX_CALL_DISABLED;
  } else if (any_tracer(inputs)) {
    call->state_ = MX_CALL_INLINE;
  } else if ((call->entry_ = function.find(inputs, host_key))) {
    call->state_ = MX_CALL_HIT;
  } else {
    call->trace_ = make_ref<Trace>();
    for (const Value &input : inputs) {
      SmallVector<Spec, 1> spec;
      spec.push_back(spec_of(input));
      Value placeholder{
          make_ref<Node>(OpCode::placeholder, Attrs(), ValueVector(), std::move(spec), Ref<Stream>(), Ref<Object>()),
          0};
      placeholder.node->trace = call->trace_;
      call->placeholders_.push_back(std::move(placeholder));
    }
    push_trace(*call->trace_);
  }
  return call;
}

std::span<const Value> Call::placeholders() const {
  if (state_ != MX_CALL_TRACE) fail(MX_ERROR_INVALID_ARGUMENT, "call_inputs: this call is not being traced");
  return placeholders_;
}

void Call::commit(std::span<const Value> outputs, uint64_t host_tag) {
  if (state_ != MX_CALL_TRACE || committed_)
    fail(MX_ERROR_INVALID_ARGUMENT, "call_commit: this call has nothing to commit");
  if (thread_ != thread_number())
    fail(MX_ERROR_WRONG_THREAD, "call_commit: the call of %s was begun on another thread", function_->name.c_str());
  if (!trace_->open()) fail(MX_ERROR_TRACE, "call_commit: the call of %s has ended", function_->name.c_str());
  require_running();
  TracedGraph traced;
  try {
    traced = copy_trace(placeholders_, inputs_, outputs);
    end();
  } catch (...) {
    end();
    throw;
  }
  if (traced.escapes) {
    for (Value &value : inline_trace(placeholders_, inputs_, outputs)) inlined_.push_back(std::move(value));
    inlined_tag_ = host_tag;
  } else {
    auto entry = make_ref<Entry>(std::move(traced), std::string(key_.host_key()), function_->shapeless, host_tag);
    entry->prepare(inputs_);
    entry_ = function_->publish(key_, std::move(entry), generation_);
  }
  placeholders_.clear();
  committed_ = true;
}

ValueVector Call::outputs() {
  if (entry_) return Entry::call(entry_, inputs_, {});
  if (!committed_) fail(MX_ERROR_INVALID_ARGUMENT, "call_outputs: neither a hit nor committed");
  return inlined_;
}

std::string Call::explain() const {
  if (entry_) return function_->name + "\n" + mx::explain(*entry_, inputs_);
  if (!committed_) fail(MX_ERROR_INVALID_ARGUMENT, "call_explain: neither a hit nor committed");
  return mx::explain(inlined_);
}

uint64_t Call::host_tag() const {
  if (entry_) return entry_->host_tag;
  if (!committed_) fail(MX_ERROR_INVALID_ARGUMENT, "call_tag: neither a hit nor committed");
  return inlined_tag_;
}

void Call::end() noexcept {
  if (trace_) pop_trace(*trace_);
}

bool call_if_compiled(Function &function, ValueVector &inputs, std::string_view host_key, ValueVector &outputs,
                      uint64_t &host_tag) {
  if (!compile_enabled() || any_tracer(inputs)) return false;
  Ref<Entry> entry = function.find(inputs, host_key);
  if (!entry) return false;
  host_tag = entry->host_tag;
  outputs = Entry::call(std::move(entry), std::move(inputs), {});
  return true;
}

void clear_all_functions() {
  Ref<Function> batch[64];
  uint64_t after = 0;
  while (const size_t n = FunctionList::take(batch, 64, after)) {
    for (size_t i = 0; i < n; i++) {
      batch[i]->erase();
      after = batch[i]->id;
      batch[i] = {};
    }
  }
}

void enable_compile(bool enabled) noexcept { enabled_state.store(enabled, std::memory_order_release); }

bool compile_enabled() noexcept {
  int state = enabled_state.load(std::memory_order_acquire);
  if (state < 0) {
    state = !disabled_by_environment();
    int unset = -1;
    if (!enabled_state.compare_exchange_strong(unset, state)) state = unset;
  }
  return state != 0;
}

}  // namespace mx
