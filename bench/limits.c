/* What the machine can do at most: bytes per second copied or read from memory, and float32 operations per second.
 * Prints "memory X" and "float32 X". cc -O3 -march=native limits.c -lpthread; usage: limits [THREADS] */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { BYTES = 128 << 20, REPEATS = 12, STEPS = 2000000, ACCUMULATORS = 12 };

#if defined(__AVX512F__)
enum { LANES = 16 };
#elif defined(__AVX__)
enum { LANES = 8 };
#else
enum { LANES = 4 };
#endif
typedef float vector __attribute__((vector_size(4 * LANES)));

typedef struct share {
  char *from, *to;
  size_t n;
  float result;
} share;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + t.tv_nsec * 1e-9;
}

/* The C library's copy goes around the cache at this size. */
static void *copy(void *argument) {
  share *s = argument;
  memcpy(s->to, s->from, s->n);
  return NULL;
}

static void *read_all(void *argument) {
  share *s = argument;
  const vector *x = (const vector *)s->from;
  vector sum[4] = {{0}};
  for (size_t i = 0; i + 4 <= s->n / sizeof(vector); i += 4)
    for (int k = 0; k < 4; k++) sum[k] += x[i + k];
  vector total = sum[0] + sum[1] + sum[2] + sum[3];
  s->result = total[0];
  return NULL;
}

/* Independent chains, enough of them to fill the pipes; they stay near 1. */
#define EACH(F) F(0) F(1) F(2) F(3) F(4) F(5) F(6) F(7) F(8) F(9) F(10) F(11)
#define START(k) vector x##k = a * (float)k;
#define STEP(k) x##k = x##k * a + b;
#define ADD(k) total += x##k;

static void *multiply_add(void *argument) {
  share *s = argument;
  const float half = (float)s->from[0] + 0.5f; /* from[0] is 0, which the compiler does not know */
  vector zero = {0}, total = zero, a = zero + half, b = a;
  EACH(START)
  for (int i = 0; i < STEPS; i++) {
    EACH(STEP)
  }
  EACH(ADD)
  s->result = total[0];
  return NULL;
}

/* The best time of `work` on all threads at once. */
static double best(void *(*work)(void *), share *shares, int n_threads) {
  pthread_t threads[256];
  double least = 1e30;
  for (int r = 0; r < REPEATS; r++) {
    double start = now();
    for (int i = 1; i < n_threads; i++)
      if (pthread_create(&threads[i], NULL, work, &shares[i])) exit(1);
    work(&shares[0]);
    for (int i = 1; i < n_threads; i++) pthread_join(threads[i], NULL);
    double seconds = now() - start;
    if (seconds < least) least = seconds;
  }
  return least;
}

static char *memory(void) {
  char *p = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) exit(1);
  madvise(p, BYTES, MADV_HUGEPAGE);
  memset(p, 0, BYTES);
  return p;
}

int main(int argc, char **argv) {
  int n_threads = argc > 1 ? atoi(argv[1]) : 1;
  if (n_threads < 1 || n_threads > 256) return 2;
  static share shares[256];
  char *from = memory(), *to = memory();
  size_t part = BYTES / (size_t)n_threads / 4096 * 4096;
  for (int i = 0; i < n_threads; i++) shares[i] = (share){from + i * part, to + i * part, part, 0};
  double copied = 2.0 * BYTES / best(copy, shares, n_threads);
  double was_read = (double)BYTES / best(read_all, shares, n_threads);
  double flops = 2.0 * LANES * ACCUMULATORS * STEPS * n_threads / best(multiply_add, shares, n_threads);
  printf("memory %.6g\nfloat32 %.6g\n", copied > was_read ? copied : was_read, flops);
  return 0;
}
