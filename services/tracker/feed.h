/* feed.h - results reach others: hints by PUB after the commit, and the waiters of `consume` and
 * `?wait=`.
 *
 * feed_add is called inside a transaction and only remembers; feed_tell, after the commit, speaks.
 * A hint may be lost; who misses one sees it by `prev` and by the head that is told each second,
 * and fetches. One thread, the loop's.
 */
#ifndef ALD_TRACKER_FEED_H
#define ALD_TRACKER_FEED_H

#include "services/tracker/tracker.h"

ALD_NODISCARD enum ald_rc feed_new(struct tracker *tracker, feed_t **out, struct ald_err *err);
void feed_destroy(feed_t **self_p);

/* A task ends with this result, or is corrected by it, if the transaction commits. */
void feed_add(feed_t *self, const char *provider_id, const struct vault_result *result);

/* The transaction committed: publish, and answer who waited. */
void feed_tell(feed_t *self);
/* It did not: forget. */
void feed_forget(feed_t *self);

/* Once a second: the head; and waiters whose time is up. */
void feed_tick(feed_t *self);

/* Answer this question (a `get`) when task has ended or after wait_ms. True: taken. False: too many
 * wait already. who is taken on success. */
bool feed_wait_task(feed_t *self, zframe_t **who_p, const struct msg_get *get);

size_t feed_waiters(const feed_t *self);

/* An answer to a `consume` question goes out; the message is taken. then: see sock.h; sent is false
 * when whoever asked is gone. */
void feed_send(feed_t *self, zmsg_t **msg_p);
void feed_send_then(feed_t *self, zmsg_t **msg_p, ald_sent_fn *then, void *arg);

#endif
