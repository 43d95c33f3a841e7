/* mx/notifier.h: waiting for arrays in an event loop: a file descriptor that says when some are ready. */
#ifndef MX_NOTIFIER_H
#define MX_NOTIFIER_H
#include "mx/array.h"

MX_EXTERN_C_BEGIN

/* A queue of tokens and a file descriptor that is readable while one is in it. Thread-safety: share freely. It belongs
 * to the process that made it: in a forked child it can be freed, all else is STALE. */
MX_HANDLE(mx_notifier);

/* Makes an empty one. IO when the process may open no more files. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_notifier_new(mx_notifier *out);

/* The descriptor, for poll, epoll and their like; never to be read, written or closed. It lives as long as the handle
 * and is closed by exec. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_notifier_fd(int32_t *fd_out, mx_notifier x);

/* Starts `array` if need be, and puts `token` into the queue once its work has ended, well or not: then mx_wait returns
 * at once and tells. *queued_out is false, and no token comes, when it has ended already. In a process that ends no
 * token comes. The array may be freed meanwhile. While the pool has no threads (mx_set_num_threads) work proceeds only
 * on threads that wait, if only for no time: mx_wait(array, 0). */
MX_API MX_CHECK mx_status mx_notifier_add(bool *queued_out, mx_notifier x, mx_array array, uint64_t token);

/* Moves up to `cap` tokens, oldest first, out of the queue. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_notifier_take(uint64_t *tokens, size_t cap, size_t *n_tokens_out, mx_notifier x);

/* Makes a second owner. */
MX_API MX_NOWAIT MX_CHECK mx_status mx_notifier_dup(mx_notifier *out, mx_notifier x);

/* Closes the handle, with the last one the descriptor; tokens that are still to come are dropped. */
MX_API MX_NOWAIT mx_status mx_notifier_free(mx_notifier x);

MX_EXTERN_C_END
#endif
