// The library kernels by name, one per op of ops.def (those of linear algebra and files are declared by their own
// headers). What each computes is said in ops.def; layouts, aliasing and ownership in kernel.hpp.
#pragma once
#include "backends/cpu/kernel.hpp"

namespace mx::cpu {

void arange(const KernelCall &);
void softmax(const KernelCall &);
void logsumexp(const KernelCall &);
void scan(const KernelCall &);
void arg_reduce(const KernelCall &);
void sort(const KernelCall &);
void argsort(const KernelCall &);
void partition(const KernelCall &);
void argpartition(const KernelCall &);
void searchsorted(const KernelCall &);
void concatenate(const KernelCall &);
void roll(const KernelCall &);
void gather(const KernelCall &);
void gather_axis(const KernelCall &);
void scatter(const KernelCall &);
void scatter_axis(const KernelCall &);
void slice_update(const KernelCall &);
void masked_scatter(const KernelCall &);
void dynamic_slice(const KernelCall &);
void dynamic_slice_update(const KernelCall &);
void random_bits(const KernelCall &);
void thread_key(const KernelCall &);
void lu_permutation(const KernelCall &);
void layer_norm(const KernelCall &);
void rms_norm(const KernelCall &);
void rope(const KernelCall &);
void attention(const KernelCall &);
void quantize(const KernelCall &);
void dequantize(const KernelCall &);
void quantized_matmul(const KernelCall &);
void gather_qmm(const KernelCall &);

}  // namespace mx::cpu
