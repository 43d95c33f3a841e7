/* fork while other threads make handles stand for other arrays: in the child a handle stands for one of these, or says
 * that it was caught between two. */
#include "teardown.h"

enum { N_HANDLES = 2, N_FORKS = 400 };

/* Of one element, 1; and the third output of one op, of three elements, 3: what is torn is neither. */
static mx_array one, third;
static mx_array handles[N_HANDLES]; /* the second has an owner beside it */

static mx_array new_one(void) {
  const float value = 1;
  const int64_t n = 1;
  mx_array x;
  CHECK(mx_array_new(&x, &value, sizeof value, &n, 1, MX_FLOAT32) == MX_OK);
  return x;
}

static void make_arrays(void) {
  const float values[] = {1, 2, 2, 3, 3, 3};
  const int64_t n = 6, places[] = {1, 3};
  mx_array all, outputs[3], owner;
  size_t n_outputs;
  one = new_one();
  for (int i = 0; i < N_HANDLES; i++) handles[i] = new_one();
  CHECK(mx_array_dup(&owner, handles[1]) == MX_OK);
  CHECK(mx_array_new(&all, values, sizeof values, &n, 1, MX_FLOAT32) == MX_OK);
  CHECK(mx_split(outputs, 3, &n_outputs, all, places, 2, 0, NULL) == MX_OK && n_outputs == 3);
  CHECK(mx_eval(outputs, 3) == MX_OK);
  third = outputs[2];
}

static void *assign(void *handle) {
  const mx_array x = *(mx_array *)handle;
  while (mx_array_assign(x, third) == MX_OK && mx_array_assign(x, one) == MX_OK) continue;
  return park();
}

static int child(void) {
  for (int i = 0; i < N_HANDLES; i++) {
    int64_t n = 0;
    size_t ndim = 0;
    float values[3] = {0};
    mx_status status = mx_array_shape(&n, 1, &ndim, handles[i]);
    if (status == MX_ERROR_FORKED) continue;
    CHECK(status == MX_OK && ndim == 1 && (n == 1 || n == 3));
    CHECK(mx_array_read(values, (size_t)n * sizeof *values, handles[i]) == MX_OK);
    for (int64_t k = 0; k < n; k++) CHECK(values[k] == (float)n);
    CHECK(mx_array_free(handles[i]) == MX_OK);
  }
  return 0;
}

int main(void) {
  make_arrays();
  for (int i = 0; i < N_HANDLES; i++) start(assign, &handles[i]);
  for (int i = 0; i < N_FORKS; i++) expect_child(child);
  return leaving(0);
}
