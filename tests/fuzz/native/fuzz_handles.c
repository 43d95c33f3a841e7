/* Sequences of calls with any handles: live ones, closed ones, ones of another type, ones that never were. Whatever
 * comes, each call returns a status, and what is open in the end can be closed. */
#include <string.h>

#include "fuzz.h"

enum { N_SLOTS = 16, MOST_CALLS = 200 };

/* One type for all handles: a call may get one that is not its own. */
static void *slots[N_SLOTS];

static void *any(input *from) {
  const uint8_t which = take(from);
  uintptr_t handle = (uintptr_t)slots[which % N_SLOTS];
  if (which >= 0xF0) handle ^= (uintptr_t)1 << (take(from) & 63); /* a bit of slot, generation or type is wrong */
  return (void *)handle;
}

static void close_any(void *handle) {
  typedef mx_status close_fn(void *);
  close_fn *const all[] = {(close_fn *)mx_array_free,  (close_fn *)mx_pin_free,      (close_fn *)mx_stream_free,
                           (close_fn *)mx_call_free,   (close_fn *)mx_function_free, (close_fn *)mx_client_free,
                           (close_fn *)mx_archive_free};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) (void)all[i](handle);
}

/* Where the next new handle goes; what was there stays open unless some call closes it, so close it now. */
static void put(input *from, mx_status status, void *handle) {
  if (status) return;
  void **slot = &slots[take(from) % N_SLOTS];
  if (*slot) close_any(*slot);
  *slot = handle;
}

/* The handle is looked at after the call. */
#define PUT(from, call, handle)       \
  do {                                \
    const mx_status status_ = (call); \
    put(from, status_, handle);       \
  } while (0)

static mx_stream stream_or_none(input *from) { return take(from) & 1 ? (mx_stream)any(from) : NULL; }

static void make_array(input *from) {
  int64_t dims[3];
  mx_array x = NULL;
  const size_t n_dims = take(from) % 4;
  for (size_t i = 0; i < n_dims; i++) dims[i] = take(from) % 6;
  PUT(from, mx_ones(&x, dims, n_dims, (mx_dtype)(take(from) % 15), stream_or_none(from)), x);
}

static void build(input *from) {
  mx_array x = NULL, a = any(from), b = any(from);
  const int64_t axes[] = {(int8_t)take(from), (int8_t)take(from)};
  const mx_array both[] = {a, b};
  mx_status status = MX_OK;
  switch (take(from) % 10) {
    case 0:
      status = mx_add(&x, a, b, stream_or_none(from));
      break;
    case 1:
      status = mx_matmul(&x, a, b, NULL);
      break;
    case 2:
      status = mx_sum(&x, a, axes, take(from) % 3, take(from) & 1, NULL);
      break;
    case 3:
      status = mx_reshape(&x, a, axes, take(from) % 3, NULL);
      break;
    case 4:
      status = mx_take(&x, a, b, axes[0], NULL);
      break;
    case 5:
      status = mx_concatenate(&x, both, take(from) % 3 % 2 + 1, axes[0], NULL);
      break;
    case 6:
      status = mx_astype(&x, a, (mx_dtype)(take(from) % 15), NULL);
      break;
    case 7:
      status = mx_exp(&x, a, stream_or_none(from));
      break;
    case 8:
      status = mx_transpose(&x, a, axes, take(from) % 3, NULL);
      break;
    case 9:
      status = mx_softmax(&x, a, axes, 1, false, NULL);
      break;
  }
  put(from, status, x);
}

static void use_array(input *from) {
  mx_array x = any(from), other = any(from), copy = NULL;
  static uint8_t bytes[1 << 16];
  size_t n = 0;
  bool is_ready;
  mx_dtype dtype;
  mx_pin pin = NULL;
  mx_view view;
  mx_status status;
  switch (take(from) % 8) {
    case 0:
      (void)!mx_eval(&x, 1);
      break;
    case 1:
      (void)!mx_async_eval(&x, 1);
      break;
    case 2:
      (void)!mx_wait(x, take(from));
      break;
    case 3:
      PUT(from, mx_array_dup(&copy, x), copy);
      break;
    case 4:
      (void)!mx_array_assign(x, other);
      break;
    case 5:
      if (!mx_array_size(&n, x) && !mx_array_dtype(&dtype, x)) (void)!mx_array_read(bytes, n * mx_dtype_size(dtype), x);
      break;
    case 6:
      status = mx_array_pin(&pin, &view, x);
      put(from, status, pin);
      break;
    case 7:
      (void)!mx_array_is_ready(&is_ready, x);
      break;
  }
}

static void use_function(input *from) {
  mx_function f = any(from), made = NULL;
  mx_call c = any(from), begun = NULL;
  mx_call_state state;
  mx_function_info info;
  const mx_array inputs[] = {any(from), any(from)};
  mx_array outs[2] = {NULL, NULL};
  bool is_hit = false;
  uint64_t tag;
  size_t n = 0;
  mx_status status = MX_OK;
  switch (take(from) % 10) {
    case 0:
      PUT(from, mx_function_new(&made, "f", take(from) & 1), made);
      return;
    case 1:
      PUT(from, mx_function_dup(&made, f), made);
      return;
    case 2:
      PUT(from, mx_call_begin(&begun, &state, f, inputs, take(from) % 3, &state, take(from) % 2), begun);
      return;
    case 3:
      status = mx_call_inputs(outs, 2, &n, c);
      break;
    case 4:
      (void)!mx_call_commit(c, inputs, take(from) % 3, 7);
      return;
    case 5:
      status = mx_call_outputs(outs, 2, &n, c);
      break;
    case 6:
      status = mx_function_call(outs, 2, &n, &is_hit, &tag, f, inputs, take(from) % 3, "", 0);
      break;
    case 7:
      (void)!mx_function_erase(f);
      return;
    case 8:
      (void)!mx_function_stats(&info, f);
      return;
    case 9:
      mx_call_end(c);
      return;
  }
  for (size_t i = 0; i < n && !status; i++) put(from, MX_OK, outs[i]);
}

static void use_rest(input *from) {
  void *x = any(from);
  mx_stream stream = NULL;
  mx_client client = NULL;
  mx_device_type type;
  int32_t device;
  uint32_t index;
  switch (take(from) % 7) {
    case 0:
      PUT(from, mx_stream_new(&stream, MX_CPU, 0), stream);
      break;
    case 1:
      PUT(from, mx_default_stream(&stream, MX_CPU, 0), stream);
      break;
    case 2:
      (void)!mx_set_default_stream(x);
      break;
    case 3:
      (void)!mx_synchronize(x, 100);
      break;
    case 4:
      (void)!mx_stream_info(&type, &device, &index, x);
      break;
    case 5:
      close_any(x);
      break;
    case 6:
      PUT(from, mx_client_open(&client), client);
      break;
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static void (*const kinds[])(input *) = {make_array, build, build, use_array, use_function, use_function, use_rest};
  input from = {data, data + size};
  for (int i = 0; i < MOST_CALLS && more(&from); i++) kinds[take(&from) % (sizeof kinds / sizeof *kinds)](&from);
  for (int i = 0; i < N_SLOTS; i++) {
    if (slots[i]) close_any(slots[i]);
    slots[i] = NULL;
  }
  (void)!mx_synchronize(NULL, 10000);
  REQUIRE(mx_handle_count(MX_HANDLE_ANY) == 0);
  REQUIRE(mx_runtime_state() != MX_CLOSED || mx_reopen() == MX_OK);
  return 0;
}
