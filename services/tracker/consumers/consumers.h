/* consumers.h - durable consumers on the channel `consume`: who asks for events and settles them,
 * and in which transaction that is written.
 *
 * What is said changes memory at once (consumer.h) and is written with whatever commits next; when
 * somebody waits for that, a transaction is made for it, together with the callbacks that have
 * gathered (events.h). Answers leave after the commit, so a hand-out is counted on disk before it
 * is sent, and a settlement is on disk when it is answered. Events are read by the reader's thread,
 * one page at a time for a consumer.
 *
 * One thread, the loop's. NULL is allowed where there are no channels: for consumers_act, _tell,
 * _turn, _forget, _owed, _purged, _again, _dropped and _back.
 */
#ifndef ALD_TRACKER_CONSUMERS_H
#define ALD_TRACKER_CONSUMERS_H

#include "services/tracker/tracker.h"

consumers_t *consumers_new(struct tracker *tracker);
void consumers_destroy(consumers_t **self_p);

/* Memory was thrown away: who waits is told to ask again. */
void consumers_forget(consumers_t *self);
/* Read them back. */
void consumers_back(consumers_t *self);

/* A message of `consume`, without its routing id. False: it is none of ours. */
bool consumers_message(consumers_t *self, zframe_t **who_p, zmsg_t *msg);
/* Make a consumer of the tracker's own, or find it, and give it these rules; own false: it is one
 * as all others from now on. Kept rules are those that it was made with, so say it at each start.
 * False: there are too many. */
ALD_NODISCARD bool consumers_own(consumers_t *self, const struct msg_consumer_open *ask, bool own);
/* The reader has read a page; taken. */
void consumers_page(consumers_t *self, zmsg_t **msg_p);

/* Does somebody wait for a commit? */
bool consumers_owe(const consumers_t *self);
/* Make it, if so. */
void consumers_turn(consumers_t *self);
/* Before each commit: write what has changed. */
void consumers_act(consumers_t *self);
/* After it: answer; and look who can be served now. */
void consumers_tell(consumers_t *self);

/* The first event that some consumer has not settled, as the disk knows. 0: there is no consumer.
 */
uint64_t consumers_owed(const consumers_t *self);
/* Results were purged: who had not settled them has a gap. A kill before that is written is made
 * good by consumers_back. */
void consumers_purged(consumers_t *self);

/* Within a transaction: the letter of an event that its consumer did not take is re-injected,
 * digest is the letter's. What the dlq is told: `still`, and when the consumer has acknowledged it
 * the letter is closed; or `dropped`, since there is no such consumer. */
enum ald_disposition consumers_again(consumers_t *self, const char *letter, const char *digest,
                                     struct ald_span original);
/* Within a transaction: the letter is dropped; it is not handed out any more. */
void consumers_dropped(consumers_t *self, const char *letter);

/* Leases and waits that are over. */
void consumers_tick(consumers_t *self);
/* See rest.h. */
int64_t consumers_rest_ms(const consumers_t *self);

/* For the books of `status`, and for metrics. */
struct consumers_sum {
    int64_t count;
    int64_t lag;       /* the most, of events */
    int64_t oldest_ms; /* the greatest age of an event that is not settled */
    int64_t pending;   /* the most */
};
typedef void consumers_fn(void *context, const struct msg_consumer *consumer);
/* Call fn (NULL: nobody) with each of them. */
struct consumers_sum consumers_each(consumers_t *self, consumers_fn *fn, void *context);

#endif
