/* senders.h - who sends callbacks (gateways), which of their numbers were taken and what became of
 * them, and what they say of their spools.
 *
 * A repeat is answered with its first disposition, without a limit in time, until the sender's
 * floor has passed it. As long as a gateway may still hold callbacks in its spool, no task may end
 * by our own verdict (rule 1 of GUARANTEES.md): senders_hold.
 *
 * Pure; one owner. Times are service times, ms.
 */
#ifndef ALD_TRACKER_SENDERS_H
#define ALD_TRACKER_SENDERS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/net/window.h"
#include "proto/messages.h"
#include "proto/words.h"

typedef struct senders senders_t;

struct sender {
    int64_t no; /* on disk */
    char id[ALD_ULID_MAX];
    char instance[ALD_ULID_MAX]; /* the latest of its runs; "": none has spoken since the start */
    struct ald_window window;    /* number -> disposition + 1 */
    bool emptied;                /* has told since this start that its spool is empty */
    int64_t heard_ms;
    int64_t heard_at_ms; /* wall */
    int64_t spool_oldest_ms;
    uint64_t spool_items;
    struct msg_batch ledger; /* the counters of its run, as last told */
};

senders_t *senders_new(int64_t recover_grace_ms, int64_t now_ms);
void senders_destroy(senders_t **self_p);

/* The sender of this id, made if there is none. Borrowed for ever. NULL: too many (1024). */
struct sender *senders_get(senders_t *self, const char *id);
/* Put back one that the store knows. */
void senders_restore(senders_t *self, int64_t no, const char *id, uint64_t floor,
                     struct ald_span marks, int64_t heard_at_ms);
struct sender *senders_at(senders_t *self, size_t index); /* NULL past the last */

void senders_told(senders_t *self, struct sender *sender, int64_t spool_oldest_ms,
                  uint64_t spool_items, int64_t now_ms);

/* A run of the sender's speaks. False: a later one has spoken before, so two live by one id (a
 * spool was copied), and their numbers can't be told apart. Ids of runs grow with time; where a
 * clock was put back, a new run may be taken for an old one, which does no harm. A run without
 * numbers of its own (MSG_NUMBERLESS) is beside them. */
ALD_NODISCARD bool sender_speaks(struct sender *sender, const char *instance);
/* A run that spoke by another id until now speaks by this one: what that said of its spool and
 * counters is said by this one from now on. */
void senders_moved(senders_t *self, const struct sender *sender, const char *instance);
/* The highest number that is known of it; 0: none is. */
uint64_t sender_highest(const struct sender *sender);

/* First disposition of a number. False: not seen yet. */
bool sender_seen(const struct sender *sender, uint64_t num, enum ald_disposition *out);
/* ALD_FULL: too far above the floor; the item is not taken. */
ALD_NODISCARD enum ald_rc sender_note(struct sender *sender, uint64_t num,
                                      enum ald_disposition disposition);

/* May a callback still lie in some gateway's spool? From the start until every gateway on record
 * has told that its is empty, at most the grace; later while one heard lately tells that it is not.
 */
bool senders_hold(const senders_t *self, int64_t now_ms);

#endif
