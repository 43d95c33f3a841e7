/* What one thread does must not fail what another does beside it. */
#define _GNU_SOURCE /* barriers */
#include <pthread.h>

#include "values.h"

static int done; /* atomic */

static void *ask_for_too_much(void *unused) {
  (void)unused;
  mx_array x;
  while (!__atomic_load_n(&done, __ATOMIC_SEQ_CST)) {
    CHECK(mx_ones(&x, L(1 << 20), MX_FLOAT64, NULL) == MX_OK);
    CHECK(mx_eval(&x, 1) == MX_ERROR_OUT_OF_MEMORY);
    drop(x);
  }
  return NULL;
}

/* What does not fit takes no room from what does, not even for a moment. */
static void test_memory_limit(void) {
  pthread_t threads[2];
  const size_t limit = mx_set_memory_limit(4 << 20);
  for (int i = 0; i < 2; i++) CHECK(pthread_create(&threads[i], NULL, ask_for_too_much, NULL) == 0);
  for (int i = 0; i < 20000; i++) expect(OP(mx_ones(&out, L(3), MX_FLOAT32, NULL)), MX_FLOAT32, D(3), V(1, 1, 1));
  __atomic_store_n(&done, 1, __ATOMIC_SEQ_CST);
  for (int i = 0; i < 2; i++) CHECK(pthread_join(threads[i], NULL) == 0);
  mx_set_memory_limit(limit);
}

static void *come_and_go(void *unused) {
  (void)unused;
  mx_client client;
  for (int i = 0; i < 30000; i++) {
    const mx_status status = mx_client_open(&client);
    CHECK(status == MX_OK || status == MX_ERROR_CLOSING);
    if (status != MX_OK) continue;
    CHECK(mx_runtime_state() == MX_RUNNING);
    CHECK(mx_client_close(client, MX_CANCEL, 100) == MX_OK);
    CHECK(mx_client_free(client) == MX_OK);
  }
  return NULL;
}

/* The runtime is there for whoever has opened a client, also while the last of the others closes. */
static void test_clients(void) {
  pthread_t threads[3];
  for (int i = 0; i < 3; i++) CHECK(pthread_create(&threads[i], NULL, come_and_go, NULL) == 0);
  for (int i = 0; i < 3; i++) CHECK(pthread_join(threads[i], NULL) == 0);
  CHECK(mx_reopen() == MX_OK);
}

enum { N_EVALUATORS = 3, N_LINKS = 12, N_CHAINS = 30 };

static mx_array links[N_LINKS]; /* each the product of the one before */
static mx_stream shared;
static pthread_barrier_t meeting;

static void *evaluate_links(void *number) {
  const int first = (int)(intptr_t)number;
  for (int chain = 0; chain < N_CHAINS; chain++) {
    pthread_barrier_wait(&meeting);
    for (int i = first; i < N_LINKS; i += N_EVALUATORS) CHECK(mx_eval_for(&links[i], 1, 20000) == MX_OK);
    pthread_barrier_wait(&meeting);
  }
  return NULL;
}

/* Several threads evaluate one graph on one stream: what depends on work that another thread has claimed, but not yet
 * submitted, must not get ahead of it there, where it would wait for ever. */
static void test_one_stream(void) {
  pthread_t threads[N_EVALUATORS];
  CHECK(mx_stream_new(&shared, MX_CPU, 0) == MX_OK);
  CHECK(pthread_barrier_init(&meeting, NULL, N_EVALUATORS + 1) == 0);
  for (intptr_t i = 0; i < N_EVALUATORS; i++) CHECK(pthread_create(&threads[i], NULL, evaluate_links, (void *)i) == 0);
  mx_test_delay(300);
  for (int chain = 0; chain < N_CHAINS; chain++) {
    mx_array value = array(MX_FLOAT32, D(1), V(1.0 / 128));
    CHECK(mx_full(&links[0], L(128, 128), value, MX_FLOAT32, shared) == MX_OK);
    drop(value);
    for (int i = 1; i < N_LINKS; i++) CHECK(mx_matmul(&links[i], links[i - 1], links[i - 1], shared) == MX_OK);
    pthread_barrier_wait(&meeting);
    pthread_barrier_wait(&meeting);
    expect(OP(mx_slice(&out, links[N_LINKS - 1], L(0, 0), L(1, 1), L(1, 1), NULL)), MX_FLOAT32, D(1, 1), V(1.0 / 128));
    for (int i = 0; i < N_LINKS; i++) drop(links[i]);
  }
  mx_test_delay(0);
  for (int i = 0; i < N_EVALUATORS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
  CHECK(pthread_barrier_destroy(&meeting) == 0);
  CHECK(mx_stream_free(shared) == MX_OK);
}

int main(void) {
  test_memory_limit();
  test_clients();
  test_one_stream();
  return 0;
}
