/* query.h - the channel of the API: commands are decided here, on the loop's thread, in one
 * transaction a turn and answered after its commit; questions go to the reader.
 */
#ifndef ALD_TRACKER_QUERY_H
#define ALD_TRACKER_QUERY_H

#include "services/tracker/tracker.h"

ALD_NODISCARD enum ald_rc query_new(struct tracker *tracker, query_t **out, struct ald_err *err);
void query_destroy(query_t **self_p);

/* An answer of the reader goes out. Takes the message. */
void query_send(query_t *self, zmsg_t **msg_p);
/* Ask the reader for a task, with what memory knows of it. who is taken. */
void query_ask_task(query_t *self, zframe_t **who_p, const struct msg_get *get);
/* The store is about to be closed: a backup of it ends. */
void query_forget(query_t *self);
/* Step a backup that is under way. */
void query_tick(query_t *self);
/* See rest.h. */
int64_t query_rest_ms(const query_t *self);

#endif
