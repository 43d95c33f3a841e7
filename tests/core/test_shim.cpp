// What the generated shims are made of: handles go out all or none, arguments are named, callbacks are destroyed once.
#include <cstring>

#include "../c/check.h"
#include "capi/shim.hpp"

namespace {

struct Thing : mx::Object {
  static constexpr mx::Tag tag = mx::Tag::pin;
  Thing() { alive++; }
  ~Thing() override { alive--; }
  static inline int alive = 0;
};
using Handle = struct Thing_ *;

uint64_t live() { return mx::live_handles(mx::Tag::none); }

template <class F>
mx_status status_of(F &&body, const char *expected) {
  const mx_status status = mx::guard(body);
  CHECK(std::strstr(mx::error_message(), expected));
  return status;
}

void test_opened() {
  {
    mx::Opened<Handle> dropped(mx::make_ref<Thing>());
    CHECK(live() == 1);
    mx::Opened<Handle> moved(std::move(dropped));
    CHECK(live() == 1);
  }
  CHECK(live() == 0 && Thing::alive == 0);
  CHECK(mx::Opened<Handle>(mx::Ref<Thing>()).take() == nullptr);
  const Handle handle = mx::Opened<Handle>(mx::make_ref<Thing>()).take();
  CHECK(live() == 1 && Thing::alive == 1);
  mx::close<Thing>(handle);
  CHECK(live() == 0 && Thing::alive == 0);
}

void test_opened_list() {
  Handle outs[6] = {};
  size_t n = 77;
  const auto call = [&](size_t cap) {
    mx::SmallVector<mx::Ref<Thing>, 4> result;
    for (int i = 0; i < 6; i++) result.push_back(mx::make_ref<Thing>());
    mx::OpenedList<Handle>(result, cap, "mx_split").store(outs, &n);
  };
  CHECK(status_of([&] { call(5); }, "mx_split: there are 6 outputs, but cap is 5") == MX_ERROR_INVALID_ARGUMENT);
  CHECK(live() == 0 && Thing::alive == 0 && n == 77 && !outs[0]);
  call(6);
  CHECK(live() == 6 && n == 6);
  for (Handle h : outs) mx::close<Thing>(h);
  CHECK(live() == 0 && Thing::alive == 0);
}

void test_pins() {
  const Handle handle = mx::Opened<Handle>(mx::make_ref<Thing>()).take();
  CHECK(mx::OptionalPin<Thing>(Handle{nullptr}, "mx_f: x").get() == nullptr);
  CHECK(mx::OptionalPin<Thing>(handle, "mx_f: x").get() != nullptr);
  {
    const Handle twice[] = {handle, handle};
    const mx::Pins<Thing> pins(twice, 2, "mx_f: xs");
    CHECK(pins.span().size() == 2 && pins.span()[0] == pins.span()[1]);
    mx::close<Thing>(handle);
    CHECK(live() == 0 && Thing::alive == 1);  // pinned until the call ends
  }
  CHECK(Thing::alive == 0);
  const Handle bad[] = {handle};
  CHECK(status_of([&] { mx::Pins<Thing>(bad, 1, "mx_f: xs"); }, "mx_f: xs: 0x") == MX_ERROR_HANDLE);
  CHECK(status_of([&] { mx::OptionalPin<Thing>(handle, "mx_f: x"); }, "mx_f: x: 0x") == MX_ERROR_HANDLE);
  CHECK(status_of([&] { mx::null_argument("mx_f: out"); }, "mx_f: out is NULL") == MX_ERROR_INVALID_ARGUMENT);
}

void test_callback_guard() {
  int destroyed = 0;
  const auto destroy = [](void *payload) { ++*static_cast<int *>(payload); };
  {
    mx::CallbackGuard guard(destroy, &destroyed);
  }
  CHECK(destroyed == 1);
  {
    mx::CallbackGuard guard(destroy, &destroyed);
    guard.disarm();
  }
  CHECK(destroyed == 1);
  {
    mx::CallbackGuard guard(nullptr, &destroyed);
  }
}

}  // namespace

int main() {
  test_opened();
  test_opened_list();
  test_pins();
  test_callback_guard();
  return 0;
}
