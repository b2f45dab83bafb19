/* browse.h - reading the shelf: one letter, lists for people, and the work that is due.
 *
 * Every read is bounded: by its limit, and lists besides by BROWSE_SCAN rows looked at, or, where a
 * text is looked for in messages, by BROWSE_FIND rows and BROWSE_FIND_BYTES of messages, so that
 * the loop's other work has its turn between two pages. Nothing here writes. Functions return what
 * they found; ALD_IO when the shelf is not ready or fails. Threads: the shelf's.
 */
#ifndef ALD_DLQ_BROWSE_H
#define ALD_DLQ_BROWSE_H

#include "services/dlq/shelf.h"

enum {
    BROWSE_LIMIT = 1000,
    BROWSE_SCAN = 5000,
    BROWSE_FIND = 1000,
    BROWSE_FIND_BYTES = 8 << 20,
    BROWSE_STEP = 1000, /* rows of one step of a walk */
    BROWSE_IDS = 100
};

/* Ids of letters that a sweep found, in the order in which they are to be worked on. */
struct browse_ids {
    size_t count;
    char id[BROWSE_IDS][ALD_ULID_MAX];
};

struct browse_excess {
    int64_t count;
    int64_t bytes;
    struct browse_ids ids;
};

/* ALD_OK; ALD_NOTFOUND. */
ALD_NODISCARD enum ald_rc browse_find(shelf_t *shelf, const char *id, struct shelf_row *out);
/* The letter that is being sent, or whose closing is, under this number. */
ALD_NODISCARD enum ald_rc browse_find_number(shelf_t *shelf, uint64_t num, struct shelf_row *out);

/* When an attempt of a letter began, wall time. ALD_NOTFOUND. */
ALD_NODISCARD enum ald_rc browse_attempt_at(shelf_t *shelf, const char *id, uint64_t attempt,
                                            int64_t *at_ms);

/* The original of a revision, appended to out. ALD_NOTFOUND; ALD_CORRUPT: its checksum is wrong,
 * which is no failure of the shelf. */
ALD_NODISCARD enum ald_rc browse_original(shelf_t *shelf, const char *id, uint64_t revision,
                                          struct ald_buf *out);

/* Letters due at now_ms, the longest overdue first. */
ALD_NODISCARD enum ald_rc browse_due(shelf_t *shelf, int64_t now_ms, size_t limit,
                                     struct browse_ids *out);
/* Letters whose attempt is under way, oldest number first. */
ALD_NODISCARD enum ald_rc browse_sending(shelf_t *shelf, struct browse_ids *out);
/* Letters whose closing has to be told, from this number on. */
ALD_NODISCARD enum ald_rc browse_closing(shelf_t *shelf, struct browse_ids *out);
/* A provider whose letters without proof pass this quota: by how much (0 or less: not by that), and
 * its oldest ones that no attempt judges just now. No ids: no provider is over. */
ALD_NODISCARD enum ald_rc browse_excess(shelf_t *shelf, int64_t count, int64_t bytes,
                                        struct browse_excess *out);

/* The lowest number that is not settled. */
ALD_NODISCARD enum ald_rc browse_floor(shelf_t *shelf, uint64_t *floor);
/* When the oldest open or held letter was made; 0 = there is none. */
ALD_NODISCARD enum ald_rc browse_oldest(shelf_t *shelf, int64_t *made_at_ms);

/* Letters that match ask, newest first, each handed to seen. cursor (ALD_ULID_MAX bytes) is where
 * to go on, "" when there are no more; a page may be short or empty and still not be the last. */
ALD_NODISCARD enum ald_rc browse_list(shelf_t *shelf, const struct msg_letters *ask, void *context,
                                      void (*seen)(void *context, const struct shelf_row *row),
                                      char *cursor);

/* The walk of a bulk replay: live letters from the oldest on. */
struct browse_walk {
    const struct msg_letters *filter; /* borrowed */
    const char *bound;                /* the last letter to look at; borrowed */
    char cursor[ALD_ULID_MAX];        /* in: begin after this one; out: the last one looked at */
    size_t count;                     /* letters that match */
    uint64_t scanned;                 /* letters looked at */
    bool end;                         /* there are no more up to bound */
};

/* One step of it: at most `most` letters that match, into rows. */
ALD_NODISCARD enum ald_rc browse_walk(shelf_t *shelf, struct browse_walk *walk,
                                      struct shelf_row *rows, size_t most);

/* The newest BROWSE_LIMIT attempts and edits of a letter, oldest of them first. The strings in it
 * are borrowed for the call. */
ALD_NODISCARD enum ald_rc browse_history(shelf_t *shelf, const char *id, void *context,
                                         void (*seen)(void *context,
                                                      const struct shelf_attempt *attempt));

#endif
