// One run of a program: which memory its storages got and how far it is. Between two steps it may be left and go on
// later, also on another thread.
#pragma once
#include "lower/program.hpp"

namespace mx::lower {

class Run {
 public:
  // The program outlives the run. Throws bad_alloc.
  Run(const Program &program, Leaves leaves);
  ~Run();
  Run(const Run &) = delete;
  Run &operator=(const Run &) = delete;

  // Runs the next step; false when none is left. What it throws is kept for finish, but CANCELLED, which leaves the run
  // useless. A step that fails loses what it would have written, and with it all that is computed from that; the rest
  // goes on.
  bool step();
  // After the last step, once: the outputs, those that a failure took along without a buffer; and the first failure.
  Results finish(std::exception_ptr &failure);

 private:
  void run_step(const Step &step);
  void run_loop(const Step &step);
  void run_passes(const Step &step);
  void run_library(const Step &step);
  void wait_for_launches();
  bool reads_lost(const Step &step) const;
  bool is_lost(uint32_t storage) const noexcept { return !lost_.empty() && lost_[storage]; }
  void lose(const Step &step);
  Ref<Buffer> buffer(uint32_t storage, bool last) noexcept;
  char *base(uint32_t storage);
  SmallVector<char *, 8> loop_operands(const Step &step);
  Tensor tensor(const Place &place);
  bool keeps_packed(const Step &step) const noexcept;

  const Program &program_;
  Backend &backend_;
  Leaves leaves_;
  SmallVector<char *, 8> bases_;
  SmallVector<Ref<Buffer>, 8> owned_;
  Ref<Buffer> arena_;
  std::vector<bool> lost_;  // per storage; empty until something fails
  std::exception_ptr failure_;
  size_t next_ = 0;
};

}  // namespace mx::lower
