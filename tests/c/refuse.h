/* Lets the system refuse something to libmx from here on; see refuse.c. */
#ifndef REFUSE_H
#define REFUSE_H
#include <stdint.h>

/* "threads" or "code"; 0 if it is neither. */
int refuse(const char *what);

/* Refuses the n-th malloc from now on, once; 0 turns it off. Returns how many there were since the last call. */
uint64_t refuse_malloc(uint64_t n);

/* How often something was refused. */
int refused(void);

#endif
