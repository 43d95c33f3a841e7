/* Adds two arrays. cc add.c $(pkg-config --cflags --libs mx) */
#include <mx/mx.h>
#include <stdio.h>

int main(void) {
  const float data[] = {1, 2, 3};
  const int64_t dims[] = {3};
  float values[3];
  mx_array a = NULL, sum = NULL;
  mx_status status = mx_array_new(&a, data, sizeof data, dims, 1, MX_FLOAT32);
  if (!status) status = mx_add(&sum, a, a, NULL);                  /* lazy, on the default stream */
  if (!status) status = mx_array_read(values, sizeof values, sum); /* computes */
  if (status)
    fprintf(stderr, "%s\n", mx_error_message());
  else
    printf("%g %g %g\n", values[0], values[1], values[2]);
  mx_array_free(a);
  mx_array_free(sum);
  return status;
}
