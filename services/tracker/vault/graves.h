/* graves.h - old results that are about to go, brought into the order of their tasks.
 *
 * Results become old in the order in which they were published, and what hangs on them lies in the
 * order in which their tasks were made. Taken one by one, each changes pages of its own; taken in a
 * heap and sorted, those of one page follow each other, and it is written once for all of them.
 *
 * One heap at a time: it is filled in the order of results, then closed, and then its tasks are
 * handed out. Knows nothing of the store: after a kill it is filled again with what is still there.
 * Memory: 256 KiB. Pure; one owner.
 */
#ifndef ALD_TRACKER_GRAVES_H
#define ALD_TRACKER_GRAVES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GRAVES_MAX = 16384 };

struct grave {
    uint64_t task;
    uint64_t seq; /* of the result */
};

typedef struct graves graves_t;

graves_t *graves_new(void);
void graves_destroy(graves_t **self_p);

/* One more result; seqs rise. The heap may be neither closed nor full. */
void graves_add(graves_t *self, const struct grave *grave);
bool graves_full(const graves_t *self);
/* The highest seq that was added; 0: none was. */
uint64_t graves_last(const graves_t *self);

/* Close it. From now on next hands out at most `most` of it: tasks rise, and results of one task
 * follow each other. How many; 0: all were handed out. */
void graves_close(graves_t *self);
size_t graves_next(graves_t *self, struct grave *out, size_t most);
bool graves_closed(const graves_t *self);
bool graves_empty(const graves_t *self); /* nothing is left to be handed out */

/* Throw away what is there; a new heap begins. */
void graves_reset(graves_t *self);

#endif
