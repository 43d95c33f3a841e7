/* What one thread does must not fail what another does beside it. */
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

int main(void) {
  test_memory_limit();
  test_clients();
  return 0;
}
