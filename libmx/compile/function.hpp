// Function records and open calls: the compile protocol of mx/function.h.
#pragma once
#include <string>

#include "compile/entry.hpp"
#include "compile/key.hpp"
#include "eval/keyed_table.hpp"
#include "mx/function.h"

namespace mx {

// Owns its entries. Identity is a number that is never used again; a body is carried for C hosts only.
class Function final : public Object {
 public:
  static constexpr Tag tag = Tag::function;
  struct Body {
    mx_trace_fn fn = nullptr;
    void *payload = nullptr;
    void (*destroy)(void *) = nullptr;
    size_t n_outputs = 0;
  };

  Function(std::string name, uint32_t flags) : Function(std::move(name), flags, Body()) {}
  Function(std::string name, uint32_t flags, Body body);
  const std::string name;
  const bool shapeless;
  const uint64_t id;
  const Body body;

  // The entry for a call; counts a hit. The entry that answered last is compared without making a key.
  Ref<Entry> find(std::span<const Value> inputs, std::string_view host_key);
  // Publishes the entry unless somebody did first (then that one is returned) or the function was erased since
  // `generation` (then nothing is published).
  Ref<Entry> publish(const Key &key, Ref<Entry> entry, uint64_t generation);
  uint64_t generation() const noexcept { return generation_.load(std::memory_order_acquire); }
  void erase();
  void set_capacity(uint64_t n_entries);
  mx_function_info stats();

 private:
  using Table = KeyedTable<Ref<Entry>>;
  ~Function() override;
  Ref<Entry> hit(Table::Row &row) noexcept;
  void evict(Table::Dropped &dropped) noexcept;

  Table table_;                 // guarded by LockRank::functions, as is all below
  Table::Row *last_ = nullptr;  // that answered the last call
  uint64_t capacity_ = 256, tick_ = 0;
  mx_function_info counters_ = {};
  std::atomic<uint64_t> generation_{0};
  Function *next_ = nullptr, *previous_ = nullptr;  // the list of all functions
  friend struct FunctionList;
};

// One call from begin to end. Holds its function and its entry.
class Call final : public Object {
 public:
  static constexpr Tag tag = Tag::call;
  static Ref<Call> begin(Function &function, std::span<const Value> inputs, std::string_view host_key);
  mx_call_state state() const noexcept { return state_; }
  std::span<const Value> placeholders() const;  // throws unless TRACE
  void commit(std::span<const Value> outputs, uint64_t host_tag);
  ValueVector outputs();  // throws unless HIT or committed
  uint64_t host_tag() const;
  std::string explain() const;  // as outputs
  // Ends the trace if it is still open. Any thread, idempotent.
  void end() noexcept;

 private:
  Call(Function &function, std::span<const Value> inputs, Key key);
  ~Call() override { end(); }
  const Ref<Function> function_;
  const ValueVector inputs_;
  const Key key_;
  const uint64_t thread_, generation_;
  mx_call_state state_ = MX_CALL_TRACE;
  ValueVector placeholders_;
  Ref<Trace> trace_;
  Ref<Entry> entry_;
  ValueVector inlined_;  // the results of a commit that could not become an entry
  uint64_t inlined_tag_ = 0;
  bool committed_ = false;
};

// A hit in one step; takes the inputs then. False if there is none, and nothing was done.
bool call_if_compiled(Function &function, ValueVector &inputs, std::string_view host_key, ValueVector &outputs,
                      uint64_t &host_tag);

void clear_all_functions();
void enable_compile(bool enabled) noexcept;
bool compile_enabled() noexcept;

}  // namespace mx
