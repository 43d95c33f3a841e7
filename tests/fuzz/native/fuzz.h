/* What the fuzzers share: bytes as numbers, and what must hold whatever they say. */
#ifndef FUZZ_H
#define FUZZ_H
#include <mx/mx.h>
#include <stdio.h>
#include <stdlib.h>

/* Ends the process, so that libFuzzer keeps the input. */
#define REQUIRE(condition) \
  ((condition) ? (void)0   \
               : (fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #condition, mx_error_message()), abort()))

typedef struct input {
  const uint8_t *next, *end;
} input;

static inline uint8_t take(input *from) { return from->next < from->end ? *from->next++ : 0; }

static inline int more(const input *from) { return from->next < from->end; }

#endif
