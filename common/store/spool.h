/* spool.h - items that their receiver could not take in time, on disk until it can; and the numbers
 * of all items of this sender.
 *
 * A spool is a folder: spool.db, its log and lock, a reserve. It has an id, made once, which names
 * the sender's numbering wherever the folder goes. A number is never given twice, also not after a
 * crash: they are reserved on disk by the hundred thousand, and what was left of a reservation is
 * skipped. Items are whole messages; what they mean is the caller's.
 *
 * Every row carries its SHA-256. A row that does not match is moved aside (kept, counted) and the
 * rest is served.
 *
 * After ALD_FULL: say so to the sender, and try again with the next item. After ALD_IO or
 * ALD_CORRUPT: nothing is accepted until ald_spool_reopen succeeds.
 * Threads: one owner at a time.
 */
#ifndef ALD_STORE_SPOOL_H
#define ALD_STORE_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/guard.h"
#include "common/base/rc.h"
#include "common/base/span.h"
#include "common/store/disk.h"

enum { ALD_SPOOL_RANGE = 100000, ALD_SPOOL_WORD_MAX = 64 };

typedef struct ald_spool ald_spool_t;

struct ald_spool_options {
    const char *dir;
    uint64_t max_bytes;         /* of items; 0 = no limit */
    struct ald_disk_limit room; /* put refuses below it; usual: 10 % and 1 MiB */
    uint64_t reserve_bytes;     /* kept back so that a full disk can be drained; 0 = none */
    uint64_t wal_max_bytes;     /* 0 = the store's */
};

struct ald_spool_item {
    uint64_t num; /* below 2^63 */
    int64_t at_ms;
    struct ald_span provider; /* for counting; at most ALD_SPOOL_WORD_MAX bytes, may be empty */
    struct ald_span proof;    /* the same */
    struct ald_span bytes;
};

struct ald_spool_stats {
    uint64_t items;
    uint64_t bytes;
    int64_t oldest_at_ms; /* of the lowest number; 0 = empty */
    uint64_t lowest_num;  /* 0 = empty */
    uint64_t damaged;     /* rows moved aside, ever */
};

/* Is there a spool in this folder? Looks only: nothing is made, locked or recovered. ALD_OK;
 * ALD_NOTFOUND, ALD_VERSION: no, there is nothing, or another kind of file; ALD_IO: it can't be
 * read. err says so in one sentence. */
ALD_NODISCARD enum ald_rc ald_spool_find(const char *dir, struct ald_err *err);

/* Look at a spool without locking it: the file, the sum of each row, how many wait. What is found
 * goes to the report; what is wrong, too. ALD_OK: it was read, whole or not. Else as
 * ald_spool_find, or why it can't be read; err says so. */
struct ald_report;
ALD_NODISCARD enum ald_rc ald_spool_check(const char *dir, struct ald_report *report,
                                          struct ald_err *err);

/* Open or create; recover. Errors as ald_store_open; ALD_EXISTS: another process has the folder. */
ALD_NODISCARD enum ald_rc ald_spool_open(const struct ald_spool_options *options, ald_spool_t **out,
                                         struct ald_err *err);
void ald_spool_destroy(ald_spool_t **self_p);

/* Close and open again, with the start-up protocol; numbers go on in a new range. On failure the
 * spool stays closed: every call is ALD_IO, reopen may be tried again. */
ALD_NODISCARD enum ald_rc ald_spool_reopen(ald_spool_t *self, struct ald_err *err);
bool ald_spool_failed(const ald_spool_t *self);
/* What the disk or the engine said last, for the log. */
const char *ald_spool_message(const ald_spool_t *self);

/* ULID of this spool, 26 characters. */
const char *ald_spool_id(const ald_spool_t *self);

/* Take another id: somebody else numbers by the one it has, as after a copy or an older one was put
 * back. Numbers go on. The id is new in any case; ALD_OK: on disk, too. ALD_FULL, ALD_AGAIN,
 * ALD_IO, ALD_CORRUPT: the old one comes back with the next open. */
ALD_NODISCARD enum ald_rc ald_spool_renumber(ald_spool_t *self);

/* Take `count` numbers, *first and those after it. Touches the disk once in many calls.
 * Numbers in hand are given even while the disk fails: they are reserved.
 * ALD_OK; ALD_FULL, ALD_AGAIN, ALD_IO: none can be reserved now. */
ALD_NODISCARD enum ald_rc ald_spool_take_numbers(ald_spool_t *self, uint64_t count,
                                                 uint64_t *first);
/* The lowest number that was not given out yet. */
uint64_t ald_spool_next_number(const ald_spool_t *self);
/* The highest number of the items that lay here when it was opened last; 0: none did. */
uint64_t ald_spool_last_number(const ald_spool_t *self);

/* Store all of the items or none. ALD_OK: on disk. A number that is there already is left as it is,
 * so a put whose end was not seen may be repeated. ALD_FULL: over max_bytes, too little room, or
 * the disk is full; nothing was stored. ALD_AGAIN, ALD_IO, ALD_CORRUPT. */
ALD_NODISCARD enum ald_rc ald_spool_put(ald_spool_t *self, const struct ald_spool_item *items,
                                        size_t count);

/* Called with each item, in order of numbers; borrowed for the call. False: stop here. It may not
 * call the spool. */
typedef bool ald_spool_fn(void *context, const struct ald_spool_item *item);

/* Walk the items above after_num: at most `limit`, and at most max_bytes of them unless the first
 * alone is longer. In a damaged file they may come in another order; whoever goes on behind the
 * highest comes to an end. ALD_OK, also when there are none; ALD_IO, ALD_CORRUPT. */
ALD_NODISCARD enum ald_rc ald_spool_peek(ald_spool_t *self, uint64_t after_num, size_t limit,
                                         uint64_t max_bytes, ald_spool_fn *fn, void *context);

/* Forget items, in one commit; unknown numbers are passed over. ALD_OK, ALD_AGAIN, ALD_FULL,
 * ALD_IO, ALD_CORRUPT; but for ALD_OK nothing was forgotten. */
ALD_NODISCARD enum ald_rc ald_spool_remove(ald_spool_t *self, const uint64_t *nums, size_t count);

/* Move items to the damaged ones: whole as far as their sums go, but their owner can't read them.
 * They are kept, counted, and never handed out again. Returns as ald_spool_remove. */
ALD_NODISCARD enum ald_rc ald_spool_set_aside(ald_spool_t *self, const uint64_t *nums,
                                              size_t count);

/* Counted in memory: cheap. */
void ald_spool_stats(const ald_spool_t *self, struct ald_spool_stats *out);

/* How much lies here of each provider and proof: reads every row, once at start. False from fn
 * stops. */
typedef bool ald_spool_share_fn(void *context, struct ald_span provider, struct ald_span proof,
                                uint64_t items, uint64_t bytes);
ALD_NODISCARD enum ald_rc ald_spool_shares(ald_spool_t *self, ald_spool_share_fn *fn,
                                           void *context);

#endif
