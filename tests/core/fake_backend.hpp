// A second device for tests: host memory, a thread of its own that runs what was launched later and one after the
// other, and delays that widen races.
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "backends/backend.hpp"

namespace mx::test {

class FakeBackend final : public Backend {
 public:
  std::atomic<int> launches{0}, delay_us{0};
  std::atomic<bool> fails{false};  // the next launch fails on the device

  bool is_synchronous() const noexcept override { return false; }
  Ref<Buffer> allocate(size_t bytes) override { return mx::allocate(bytes); }
  LoopKernelRef compile(const loop::Code &code) override { return host().compile(code); }
  PreparedLoopRef prepare(LoopKernelRef kernel, const loop::Geometry &geometry, const loop::Geometry *whole) override {
    return host().prepare(std::move(kernel), geometry, whole);
  }
  int64_t estimate_ns(const LoopKernel &kernel, int64_t n_elements) const noexcept override {
    return host().estimate_ns(kernel, n_elements);
  }
  const char *executor(const PreparedLoop &) const noexcept override { return "fake"; }
  const KernelInfo &kernel_for(OpCode op) const noexcept override { return host().kernel_for(op); }
  Ref<PackedConstants> new_packed_constants() override { return host().new_packed_constants(); }

  void launch(const PreparedLoop &loop, std::span<char *const> data, std::span<const uint64_t> scalars) override {
    push([&loop, data = std::vector<char *>(data.begin(), data.end()),
          scalars = std::vector<uint64_t>(scalars.begin(), scalars.end())] { host().launch(loop, data, scalars); });
  }
  void launch(KernelFunction kernel, const KernelCall &call) override {
    push([kernel, op = call.op, &attrs = call.attrs, inputs = copy(call.inputs), outputs = copy(call.outputs),
          payload = call.payload,
          packed = call.packed] { kernel({op, attrs, inputs, outputs, payload, nullptr, packed}); });
  }
  void launch_copy(const Tensor &dst, const Tensor &src) override {
    push([dst, src] { host().launch_copy(dst, src); });
  }
  void finish() override {
    std::unique_lock lock(mutex_);
    Lane &lane = lanes_[std::this_thread::get_id()];
    changed_.wait(lock, [&] { return lane.pending == 0; });
    if (std::exception_ptr failure = std::exchange(lane.failure, nullptr)) std::rethrow_exception(failure);
  }

 private:
  // What one thread launched.
  struct Lane {
    int pending = 0;
    std::exception_ptr failure;
  };
  struct Work {
    Lane *lane;
    std::function<void()> run;
  };

  static Backend &host() { return backend_for({}); }
  static std::vector<Tensor> copy(std::span<const Tensor> tensors) { return {tensors.begin(), tensors.end()}; }

  void push(std::function<void()> run) {
    launches++;
    const std::lock_guard lock(mutex_);
    Lane *const lane = &lanes_[std::this_thread::get_id()];  // a map's elements stay where they are
    lane->pending++;
    queue_.push_back({lane, std::move(run)});
    if (!started_) std::thread([this] { work(); }).detach();
    started_ = true;
    changed_.notify_all();
  }

  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return !queue_.empty(); });
      Work next = std::move(queue_.front());
      queue_.pop_front();
      std::exception_ptr failure;
      lock.unlock();
      std::this_thread::sleep_for(std::chrono::microseconds(delay_us.load()));
      try {
        if (fails.exchange(false)) fail(MX_ERROR_INTERNAL, "the device lost a launch");
        next.run();
      } catch (...) {
        failure = std::current_exception();
      }
      lock.lock();
      if (!next.lane->failure) next.lane->failure = failure;
      next.lane->pending--;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Work> queue_;
  std::map<std::thread::id, Lane> lanes_;
  bool started_ = false;
};

}  // namespace mx::test
