/* Sixteen threads, each of which does all there is, on the same arrays, functions, streams and clients: every value is
 * right, every message is that of its thread's own failure, and nothing is left. */
#include <pthread.h>
#include <stdlib.h>

#include "calls.h"

enum { N_THREADS = 16, N_SHARED = 8, ROUNDS = 120, N = 1000 };

static mx_array shared[N_SHARED]; /* constants; other threads put other ones there */
static mx_function function, shapeless;
static mx_stream stream;
static mx_client client;
static mx_notifier notifier;
static float seeded[4]; /* what a thread draws after it was seeded with 7 */
static int n_lent, n_returned;
static uint64_t n_queued, n_taken;

typedef struct {
  int number;
  uint64_t random;
} Hand;

static int draw(Hand *hand, int n) {
  hand->random = hand->random * 6364136223846793005u + 1442695040888963407u;
  return (int)((hand->random >> 33) % (uint64_t)n);
}

static mx_array filled(double value, int64_t n, mx_stream s) {
  mx_array x, one = number(MX_FLOAT32, value);
  CHECK(mx_broadcast_to(&x, one, L(n), s) == MX_OK);
  drop(one);
  return x;
}

/* The value of all elements; closes it. */
static double uniform_value(mx_array x) {
  float values[N];
  CHECK(mx_array_read(values, sizeof values, x) == MX_OK);
  for (int i = 1; i < N; i++) CHECK(values[i] == values[0]);
  drop(x);
  return values[0];
}

/* What one of the shared arrays is now: a handle made by mx_array_dup would follow its changes. */
static mx_array share(Hand *hand) {
  mx_array x, followed = NULL;
  const int i = draw(hand, N_SHARED);
  if (draw(hand, 2)) CHECK(mx_array_dup(&followed, shared[i]) == MX_OK);
  CHECK(mx_reshape(&x, followed ? followed : shared[i], L(N), NULL) == MX_OK);
  if (followed) drop(followed);
  return x;
}

static void use_arrays(Hand *hand) {
  mx_array x = share(hand), y, z;
  CHECK(mx_add(&y, x, x, NULL) == MX_OK);
  CHECK(mx_subtract(&z, y, x, draw(hand, 2) ? stream : NULL) == MX_OK);
  drop(y);
  if (draw(hand, 2)) CHECK(mx_async_eval(&z, 1) == MX_OK);
  const double value = uniform_value(x);
  CHECK(uniform_value(z) == value);
}

static void assign_arrays(Hand *hand) {
  mx_array x = filled(draw(hand, 100), N, NULL);
  if (draw(hand, 2)) CHECK(mx_eval(&x, 1) == MX_OK);
  CHECK(mx_array_assign(shared[draw(hand, N_SHARED)], x) == MX_OK);
  drop(x);
}

static void use_streams(Hand *hand) {
  mx_stream s, before;
  mx_array x = share(hand), y;
  CHECK(mx_stream_new(&s, MX_CPU, 0) == MX_OK);
  CHECK(mx_default_stream(&before, MX_CPU, 0) == MX_OK);
  CHECK(mx_set_default_stream(s) == MX_OK);
  CHECK(mx_negative(&y, x, NULL) == MX_OK);
  CHECK(mx_async_eval(&y, 1) == MX_OK);
  CHECK(mx_stream_free(s) == MX_OK);
  CHECK(mx_set_default_stream(before) == MX_OK);
  CHECK(mx_stream_free(before) == MX_OK);
  const double value = uniform_value(x);
  CHECK(uniform_value(y) == -value);
  CHECK(mx_synchronize(stream, 60000) == MX_OK);
}

static void use_functions(Hand *hand) {
  mx_function f = draw(hand, 2) ? function : shapeless;
  mx_array x = filled(hand->number, N, NULL);
  mx_call c = NULL;
  mx_call_state state;
  const char key = (char)('a' + draw(hand, 3));
  CHECK(mx_call_begin(&c, &state, f, &x, 1, &key, 1) == MX_OK);
  CHECK(state == MX_CALL_TRACE || state == MX_CALL_HIT);
  if (state == MX_CALL_TRACE && draw(hand, 8) == 0) {
    mx_call_end(c); /* nothing was learnt */
  } else {
    if (state == MX_CALL_TRACE) commit(c, doubled, 1);
    CHECK(uniform_value(finish(c, 1)) == 2 * hand->number);
  }
  drop(x);
}

static void forget_functions(Hand *hand) {
  mx_function own = function_of(0);
  mx_array x = filled(1, N, NULL);
  drop(trace(own, x, "", negated, 3));
  if (draw(hand, 2)) CHECK(mx_function_erase(draw(hand, 2) ? function : shapeless) == MX_OK);
  if (draw(hand, 4) == 0) mx_compile_clear();
  if (draw(hand, 4) == 0) mx_clear_cache();
  drop_function(own);
  drop(x);
}

static void use_random(Hand *hand) {
  mx_array low = number(MX_FLOAT32, 0), high = number(MX_FLOAT32, 1), x;
  float values[4];
  CHECK(mx_random_seed(7) == MX_OK);
  CHECK(mx_random_uniform(&x, low, high, L(4), MX_FLOAT32, NULL, draw(hand, 2) ? stream : NULL) == MX_OK);
  CHECK(mx_array_read(values, sizeof values, x) == MX_OK);
  CHECK(memcmp(values, seeded, sizeof values) == 0);
  drop(x);
  drop(low);
  drop(high);
}

static void fail_with_a_message(Hand *hand) {
  mx_array x = NULL;
  char own[32];
  snprintf(own, sizeof own, "%d", -100000 - hand->number);
  CHECK(mx_zeros(&x, L(-100000 - hand->number), MX_FLOAT32, NULL) != MX_OK);
  sched_yield();
  CHECK(strstr(mx_error_message(), own) != NULL);
  CHECK(x == NULL);
}

static void use_notifier(Hand *hand) {
  mx_array x = share(hand), y;
  bool queued = false;
  uint64_t tokens[4];
  size_t n = 0;
  CHECK(mx_multiply(&y, x, x, stream) == MX_OK);
  CHECK(mx_notifier_add(&queued, notifier, y, (uint64_t)hand->number) == MX_OK);
  if (queued) __atomic_add_fetch(&n_queued, 1, __ATOMIC_RELAXED);
  CHECK(mx_notifier_take(tokens, 4, &n, notifier) == MX_OK);
  for (size_t i = 0; i < n; i++) CHECK(tokens[i] < N_THREADS);
  __atomic_add_fetch(&n_taken, n, __ATOMIC_RELAXED);
  const double value = uniform_value(x);
  CHECK(uniform_value(y) == value * value);
}

static void use_files(Hand *hand) {
  static char bytes[N_THREADS][8 * N];
  mx_array x = share(hand), file, loaded;
  mx_archive archive;
  size_t n_bytes;
  CHECK(mx_encode_npy(&file, x) == MX_OK);
  CHECK(mx_array_size(&n_bytes, file) == MX_OK);
  CHECK(n_bytes <= 8 * N);
  CHECK(mx_array_read(bytes[hand->number], n_bytes, file) == MX_OK);
  CHECK(mx_load_memory(&archive, bytes[hand->number], n_bytes, MX_FORMAT_ANY) == MX_OK);
  CHECK(mx_archive_array(&loaded, archive, 0, stream) == MX_OK);
  CHECK(mx_archive_free(archive) == MX_OK);
  const double value = uniform_value(x);
  CHECK(uniform_value(loaded) == value);
  drop(file);
}

static void give_back(void *memory) {
  free(memory);
  __atomic_add_fetch(&n_returned, 1, __ATOMIC_RELAXED);
}

static void lend_memory(Hand *hand) {
  float *memory = malloc(N * sizeof(float));
  mx_array x, y;
  for (int i = 0; i < N; i++) memory[i] = (float)hand->number;
  __atomic_add_fetch(&n_lent, 1, __ATOMIC_RELAXED);
  CHECK(mx_array_borrow_with(&x, memory, L(N), (const int64_t[]){4}, 1, MX_FLOAT32, false, give_back, memory) == MX_OK);
  CHECK(mx_negative(&y, x, stream) == MX_OK);
  if (draw(hand, 2)) CHECK(mx_array_assign(shared[draw(hand, N_SHARED)], x) == MX_OK);
  drop(x);
  CHECK(uniform_value(y) == -hand->number);
}

static void pin_memory(Hand *hand) {
  mx_array x = share(hand), y;
  mx_view view;
  mx_pin pin;
  CHECK(mx_add(&y, x, x, NULL) == MX_OK);
  CHECK(mx_array_pin(&pin, &view, y) == MX_OK);
  drop(y);
  drop(x);
  const float *values = view.data;
  for (int i = 1; i < N; i++) CHECK(values[i] == values[0]);
  CHECK(mx_pin_free(pin) == MX_OK);
}

static void look_around(Hand *hand) {
  char text[1 << 14];
  size_t needed = 0;
  mx_array x = share(hand), y;
  CHECK(mx_exp(&y, x, NULL) == MX_OK);
  CHECK(mx_explain(text, sizeof text, &needed, &y, 1) == MX_OK);
  CHECK(needed > 1);
  CHECK(mx_handle_count(MX_HANDLE_ARRAY) > 0);
  CHECK(stats(function).hits + 1 > 0);
  CHECK(mx_runtime_state() == MX_RUNNING);
  drop(y);
  drop(x);
}

static void change_the_runtime(Hand *hand) {
  mx_client own;
  CHECK(mx_client_open(&own) == MX_OK);
  CHECK(mx_set_num_threads(draw(hand, 4)) == MX_OK);
  CHECK(mx_client_close(own, MX_CANCEL, 100) == MX_OK); /* not the last one: the runtime goes on */
  CHECK(mx_client_free(own) == MX_OK);
}

static void *hammer(void *argument) {
  static void (*const kinds[])(Hand *) = {
      use_arrays,   assign_arrays, use_streams, use_functions, forget_functions, use_random,        fail_with_a_message,
      use_notifier, use_files,     lend_memory, pin_memory,    look_around,      change_the_runtime};
  enum { N_KINDS = sizeof kinds / sizeof *kinds };
  Hand *hand = argument;
  for (int i = 0; i < ROUNDS; i++) kinds[draw(hand, N_KINDS)](hand);
  return NULL;
}

static void set_up(void) {
  mx_array low = number(MX_FLOAT32, 0), high = number(MX_FLOAT32, 1), x;
  CHECK(mx_client_open(&client) == MX_OK);
  CHECK(mx_stream_new(&stream, MX_CPU, 0) == MX_OK);
  CHECK(mx_notifier_new(&notifier) == MX_OK);
  function = function_of(0);
  shapeless = function_of(MX_FUNCTION_SHAPELESS);
  for (int i = 0; i < N_SHARED; i++) shared[i] = filled(i, N, NULL);
  CHECK(mx_random_seed(7) == MX_OK);
  CHECK(mx_random_uniform(&x, low, high, L(4), MX_FLOAT32, NULL, NULL) == MX_OK);
  CHECK(mx_array_read(seeded, sizeof seeded, x) == MX_OK);
  drop(x);
  drop(low);
  drop(high);
}

static void tear_down(void) {
  uint64_t tokens[64];
  size_t n = 1;
  CHECK(mx_set_num_threads(2) == MX_OK);
  CHECK(mx_synchronize(NULL, 60000) == MX_OK);
  for (int i = 0; i < N_SHARED; i++) drop(shared[i]);
  drop_function(function);
  drop_function(shapeless);
  while (n > 0) {
    CHECK(mx_notifier_take(tokens, 64, &n, notifier) == MX_OK);
    n_taken += n;
  }
  CHECK(n_taken == n_queued);
  CHECK(mx_notifier_free(notifier) == MX_OK);
  CHECK(mx_stream_free(stream) == MX_OK);
  CHECK(mx_quiesce(60000) == MX_OK);
  CHECK(mx_client_close(client, MX_FINISH, 60000) == MX_OK);
  CHECK(mx_client_free(client) == MX_OK);
  CHECK(mx_handle_count(MX_HANDLE_ANY) == 0);
  CHECK(mx_active_memory() == 0);
  CHECK(n_returned == n_lent);
}

int main(void) {
  Hand hands[N_THREADS];
  pthread_t threads[N_THREADS];
  set_up();
  for (int i = 0; i < N_THREADS; i++) {
    hands[i] = (Hand){i, 0x9E3779B97F4A7C15u * (uint64_t)(i + 1)};
    CHECK(pthread_create(&threads[i], NULL, hammer, &hands[i]) == 0);
  }
  for (int i = 0; i < N_THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
  tear_down();
  return 0;
}
