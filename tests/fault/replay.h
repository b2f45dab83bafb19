/* replay.h - what the parts of the replayer share.
 *
 * replay.c: walks the record, chooses the cuts. replay_disk.c: what the disk has and what it may
 * have. replay_vfs.c: the engine's file system on top of that. replay_look.c: is all there?
 *
 * One thread.
 */
#ifndef ALD_FAULT_REPLAY_H
#define ALD_FAULT_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record.h"

enum { NAMES_MAX = 64, NAME_BYTES = 192, NOTHING = -1 };

/* ---- luck: one seed, the same cuts ---- */

uint64_t luck(void);
void luck_seed(uint64_t seed);
static inline bool luck_is(unsigned percent)
{
    return luck() % 100 < percent;
}

/* ---- the disk ---- */

/* How a cut treats what was not synced. */
enum cut {
    CUT_NONE,   /* nothing of it is there */
    CUT_ALL,    /* everything is */
    CUT_PREFIX, /* of each file the first changes */
    CUT_SUBSET, /* of each file any of its changes */
    CUT_TORN,   /* any of its pieces of 512 bytes or of a page */
    CUT_TAIL,   /* the first changes, the last of them torn */
    CUT_LATE,   /* nearly all */
    CUT_EARLY,  /* hardly any */
    CUT_COUNT
};

/* Is change number i of a file or a folder kept? prefix: how many of the first are. */
bool cut_keeps(enum cut cut, size_t i, size_t prefix);

/* Whose syncs are not believed. */
struct disk_lies {
    bool files;
    bool folders;
};

/* Take the next note of the record. */
void disk_note(const struct record_head *head, const char *name, const uint8_t *data,
               const struct disk_lies *lies);

/* Is anything not synced? */
bool disk_pending(void);

/* Build what a cut leaves, and take it back. Between the two: what a name holds. */
void disk_cut(enum cut cut);
void disk_mend(void);

/* The object of a name after the cut, or NOTHING. */
int disk_find(const char *name);
size_t disk_len(int object);
const uint8_t *disk_data(int object);
/* Changes that the engine makes itself; mended with the rest. */
void disk_write(int object, size_t at, const uint8_t *data, size_t len);
void disk_set_len(int object, size_t len);
int disk_create(const char *name);
void disk_remove(const char *name);
/* Content below this has not changed since the last call; and below *stays none of what is open can
 * change it. */
size_t disk_steady(int object, size_t *stays);
/* Says which contents a name has after the cut: equal numbers, equal contents. */
uint64_t disk_print(const char *name);
/* Call with each name that is there. */
void disk_each(void (*fn)(void *context, const char *name, int object), void *context);

/* ---- the engine's file system ---- */

#define REPLAY_VFS "replay"
void vfs_register(void);

/* ---- logs ---- */

/* Says how far a log goes: equal numbers, equal commits. 0: there is none. */
uint64_t wal_print(const char *name);

/* ---- looking ---- */

enum { TOKENS_MAX = 1 << 16, TOKEN_WORDS = TOKENS_MAX / 64, WHY_BYTES = 240 };

struct look {
    uint64_t seen[TOKEN_WORDS]; /* tokens that lie in it, a bit each */
    bool there;
    int64_t lane, seq, received, created;
    char why[WHY_BYTES]; /* what is wrong; empty: nothing */
};

enum store { STORE_TRACKER, STORE_LETTERS, STORE_SPOOL, STORES };

/* Open a store as its owner's recovery does and read what counts. whole: every page and index,
 * too. */
void look_at(enum store store, bool whole, struct look *out);
/* The mark of a store that was looked at, against it. */
void look_at_mark(enum store store, struct look *out);
/* The callback key, once a URL may be out in the world. */
void look_at_key(struct look *out);

/* Says which contents a store has: equal numbers, equal contents. */
uint64_t look_print(enum store store);

#endif
