/* hints.h - tasks whose callback was turned away (503, 413), told to the tracker as soon as it
 * listens, so that their next poll comes forward: many providers do not call a second time.
 *
 * Only what a genuine token names is remembered, a task once, the newest 1,024, in memory: a hint
 * makes a poll early, it does not replace a callback. To the tracker it is a callback without a
 * body whose fault is `unstored`.
 *
 * Threads: hints_add may be called from any; the rest belongs to the loop.
 */
#ifndef ALD_GATEWAY_HINTS_H
#define ALD_GATEWAY_HINTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/guard.h"
#include "common/base/rc.h"
#include "proto/messages.h"

enum { HINTS_MAX = 1024, HINTS_UNDER_WAY = 16, HINTS_PAUSE_MS = 5000 };

typedef struct hints hints_t;

hints_t *hints_new(void);
void hints_destroy(hints_t **self_p);

/* A callback of this task was stored nowhere. */
void hints_add(hints_t *self, const char *provider, uint64_t task, unsigned attempt);

/* ---- the loop ---- */

/* May one be told now? */
bool hints_due(hints_t *self, int64_t now_mono_ms);
/* Take the oldest as a message of this number. *tag stands for it while it is under way. False:
 * there is none, or as many as may be are under way. */
ALD_NODISCARD bool hints_take(hints_t *self, uint64_t num, int64_t now_wall_ms,
                              struct msg_callback *out, void **tag);
/* Is a tag one of ours? */
bool hints_owns(const hints_t *self, const void *tag);
/* The tracker has it. */
void hints_told(hints_t *self, void *tag);
/* It has not, or not in time: remembered again, for later. */
void hints_untold(hints_t *self, void *tag, int64_t now_mono_ms);

size_t hints_count(hints_t *self);

#endif
