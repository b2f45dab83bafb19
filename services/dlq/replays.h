/* replays.h - bulk replays on disk: a row each, and counts of what came of their letters.
 *
 * Decisions are replay.h's. All writing is in a transaction of the caller's. Who changes a row has
 * read it in the same transaction: answers are counted in it, too.
 * Threads: the shelf's.
 */
#ifndef ALD_DLQ_REPLAYS_H
#define ALD_DLQ_REPLAYS_H

#include "services/dlq/replay.h"
#include "services/dlq/shelf.h"

ALD_NODISCARD enum ald_rc replays_add(shelf_t *shelf, const struct replay *replay);
ALD_NODISCARD enum ald_rc replays_save(shelf_t *shelf, const struct replay *replay);
/* ALD_OK; ALD_NOTFOUND. */
ALD_NODISCARD enum ald_rc replays_find(shelf_t *shelf, const char *id, struct replay *out);
/* The one that runs, else the one that has waited longest. ALD_NOTFOUND: none does. */
ALD_NODISCARD enum ald_rc replays_current(shelf_t *shelf, struct replay *out);
/* How many have not ended. */
ALD_NODISCARD enum ald_rc replays_unfinished(shelf_t *shelf, int64_t *count);
/* The newest letter of all, "" = there is none. */
ALD_NODISCARD enum ald_rc replays_bound(shelf_t *shelf, char bound[ALD_ULID_MAX]);

/* Add to what became of its letters. why: of skipped ones, else "". */
ALD_NODISCARD enum ald_rc replays_count(shelf_t *shelf, const char *id,
                                        const struct msg_replay_count *count);
/* A letter that it had asked for has an outcome. Nothing happens when its row is purged. */
ALD_NODISCARD enum ald_rc replays_answered(shelf_t *shelf, const char *id, enum ald_reason reason,
                                           const char *outcome);

/* Newest first, below the cursor; the new one is "" at the end. */
ALD_NODISCARD enum ald_rc replays_list(shelf_t *shelf, const struct msg_replay_list *ask,
                                       void *context,
                                       void (*seen)(void *context, const struct replay *replay),
                                       char cursor[ALD_ULID_MAX]);
ALD_NODISCARD enum ald_rc replays_counts(shelf_t *shelf, const char *id, void *context,
                                         void (*seen)(void *context,
                                                      const struct msg_replay_count *count));

/* Forget at most limit of those that ended before. */
ALD_NODISCARD enum ald_rc replays_purge(shelf_t *shelf, int64_t before_ms, unsigned limit);

/* Count what a program that knows no bulk replays has answered. */
ALD_NODISCARD enum ald_rc replays_mend(shelf_t *shelf);

#endif
