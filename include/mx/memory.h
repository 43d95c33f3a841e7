/* mx/memory.h: counters and limits. All figures are bytes and count what was asked for. */
#ifndef MX_MEMORY_H
#define MX_MEMORY_H
#include "mx/base.h"

MX_EXTERN_C_BEGIN

/* The memory of live arrays; borrowed memory does not count. */
MX_API MX_NOWAIT size_t mx_active_memory(void);

/* The most that was active since the start or the last mx_reset_peak_memory. */
MX_API MX_NOWAIT size_t mx_peak_memory(void);

/* Free memory that the pool keeps for reuse. */
MX_API MX_NOWAIT size_t mx_cache_memory(void);

/* Sets the peak to 0. */
MX_API MX_NOWAIT void mx_reset_peak_memory(void);

/* Sets what active memory may not exceed: beyond it is OUT_OF_MEMORY. Returns the limit before. */
MX_API MX_NOWAIT size_t mx_set_memory_limit(size_t n_bytes);

/* The limit that mx_set_memory_limit sets. */
MX_API MX_NOWAIT size_t mx_memory_limit(void);

/* Sets how much the pool may keep; 0 keeps nothing. Returns the limit before. */
MX_API MX_NOWAIT size_t mx_set_cache_limit(size_t n_bytes);

/* Gives what the pool keeps back to the system. */
MX_API MX_NOWAIT void mx_clear_cache(void);

MX_EXTERN_C_END
#endif
