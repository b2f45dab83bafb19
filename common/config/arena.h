/* arena.h - memory that is given back all at once: what a profile is compiled into.
 *
 * Everything is wiped when it is given back, for secrets lie in it. Running out of memory aborts.
 * One owner while it grows; what was taken may then be read by any thread.
 */
#ifndef ALD_CONFIG_ARENA_H
#define ALD_CONFIG_ARENA_H

#include <stddef.h>

typedef struct ald_arena ald_arena_t;

ald_arena_t *ald_arena_new(void);
void ald_arena_destroy(ald_arena_t **self_p);

/* Zeroed memory, aligned for anything, until destroy. */
void *ald_arena_take(ald_arena_t *self, size_t bytes);

/* A copy of a text. */
const char *ald_arena_text(ald_arena_t *self, const char *text);

/* A copy that is the same for the same text, so that addresses can be compared. */
const char *ald_arena_intern(ald_arena_t *self, const char *text);

/* Call fn with what before the memory goes; the last one asked for is called first. */
void ald_arena_defer(ald_arena_t *self, void (*fn)(void *what), void *what);

#endif
