/* shelf.h - the letters on disk: rows, untouched originals, attempts, and the numbers about them.
 *
 * One file, written by this process alone. Rows of closed letters stay as tombstones, so that a
 * letter that its sender sends again is known; shelf_purge deletes them when the time to keep them
 * is over and the sender has settled them. Decisions are letters.h's; this file only keeps them.
 *
 * All writing is between shelf_begin and shelf_commit. A write error other than a full disk is for
 * good: shelf_ready turns false and every call returns ALD_IO until shelf_open has run the store's
 * start-up protocol again.
 * Threads: one owner.
 */
#ifndef ALD_DLQ_SHELF_H
#define ALD_DLQ_SHELF_H

#include "common/base/buf.h"
#include "common/base/rc.h"
#include "common/store/store.h"
#include "proto/messages.h"
#include "services/dlq/tally.h"

typedef struct shelf shelf_t;

/* A letter without its original. */
struct shelf_row {
    char id[ALD_ULID_MAX];
    struct letter letter;
    char cause[ALD_TEXT_MAX];
    char provider[ALD_PROVIDER_MAX];
    uint64_t task;
    char provider_id[ALD_PROVIDER_ID_MAX];
    char proof[ALD_WORD_MAX];
    char outcome[ALD_WORD_MAX]; /* of the last attempt or of the closing */
    char by[ALD_WORD_MAX];      /* who asked for the planned or running attempt, or closed it */
    char consumer[ALD_CONSUMER_MAX];
    char replay[ALD_ULID_MAX]; /* the bulk replay that asked; it counts what comes of it */
    int64_t pile;              /* piles.h; 0 = closed */
    int64_t made_at_ms;
    bool stranger;            /* counts in its provider's quota */
    uint64_t bytes;           /* of the original */
    uint64_t sending;         /* number of the re-injection under way, 0 = none */
    uint64_t closing;         /* number of the closing to be told, 0 = none */
    enum letter_state stored; /* state on disk; set by reading, the shelf's own */
};

/* An attempt as it is begun, or its end; read back, a line of the history. */
struct shelf_attempt {
    uint64_t attempt; /* 0: no attempt, an edit */
    uint64_t revision;
    int64_t at_ms;
    const char *by;
    const char *outcome;
    const char *detail;
    const char *replay; /* "" = no bulk replay asked for it */
};

/* Another message in the place of a letter's, under row's revision. */
struct shelf_edit {
    struct ald_span original;
    int64_t at_ms;
    const char *by;
};

shelf_t *shelf_new(const char *path);
void shelf_destroy(shelf_t **self_p);

/* Open, or open again after a failure. ALD_OK: ready. Else as ald_store_open. */
ALD_NODISCARD enum ald_rc shelf_open(shelf_t *self, struct ald_err *err);
bool shelf_ready(const shelf_t *self);
/* ULID of this opening: a new one tells senders that unanswered letters must come again. */
const char *shelf_run(const shelf_t *self);
/* ULID of the numbers that shelf_number gives out; the same for as long as the process runs. A file
 * that has fallen behind the mark beside it (a restored copy, a damaged log) has forgotten which
 * numbers it used, and gets another one when the process starts. */
const char *shelf_sender(const shelf_t *self);
/* Make the mark durable; about once a second. */
void shelf_beat(shelf_t *self);
const struct tally *shelf_tally(const shelf_t *self);
/* For browse.h and backups; borrowed. */
ald_store_t *shelf_store(shelf_t *self);

/* What a letter is found to be when its message is judged again. */
struct shelf_turn {
    enum ald_reason reason;
    const char *cause;
    uint64_t task; /* 0 = none is known */
};

/* A transaction. After anything but ALD_OK from a call within it: shelf_rollback. A commit that
 * failed has rolled back. ALD_FULL: try again when there is room. ALD_IO: no longer ready. */
ALD_NODISCARD enum ald_rc shelf_begin(shelf_t *self);
ALD_NODISCARD enum ald_rc shelf_commit(shelf_t *self);
void shelf_rollback(shelf_t *self);

/* Keep a new letter. ALD_EXISTS: known, also when closed; nothing changed. */
ALD_NODISCARD enum ald_rc shelf_insert(shelf_t *self, const struct shelf_row *row,
                                       const char *sender, uint64_t num, struct ald_span original);
/* Write what may change of a row that was read. A letter that no longer waits for what its bulk
 * replay asked for is counted there, by row's outcome. */
ALD_NODISCARD enum ald_rc shelf_update(shelf_t *self, const struct shelf_row *row);
/* A live letter is one for another reason, cause or task now: row says so too, and is counted so
 * wherever letters are counted. Writes nothing when it was before. */
ALD_NODISCARD enum ald_rc shelf_turn(shelf_t *self, struct shelf_row *row,
                                     const struct shelf_turn *turn);
/* Keep row's new revision beside those before, and write the row. */
ALD_NODISCARD enum ald_rc shelf_edit(shelf_t *self, const struct shelf_row *row,
                                     const struct shelf_edit *edit);
/* All numbers of this sender below floor are settled at the sender. */
ALD_NODISCARD enum ald_rc shelf_floor_note(shelf_t *self, const char *sender, uint64_t floor);
/* The next number to send under; never given out twice once committed. */
uint64_t shelf_number(shelf_t *self);

ALD_NODISCARD enum ald_rc shelf_attempt_begin(shelf_t *self, const char *id,
                                              const struct shelf_attempt *attempt);
ALD_NODISCARD enum ald_rc shelf_attempt_end(shelf_t *self, const char *id,
                                            const struct shelf_attempt *attempt);

/* Delete at most limit rows of letters closed before before_ms whose sender has settled them.
 * *count: how many. */
ALD_NODISCARD enum ald_rc shelf_purge(shelf_t *self, int64_t before_ms, unsigned limit,
                                      unsigned *count);
/* Forget an original whose letter the quota closed. */
ALD_NODISCARD enum ald_rc shelf_original_delete(shelf_t *self, const char *id);
/* Bring due times beyond latest_ms back to it: the clock was set back. */
ALD_NODISCARD enum ald_rc shelf_due_clamp(shelf_t *self, int64_t latest_ms);

#endif
