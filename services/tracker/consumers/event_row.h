/* event_row.h - an event as the store has it: which columns, and what they say. One place, for
 * every statement that reads events, on whichever thread. */
#ifndef ALD_TRACKER_EVENT_ROW_H
#define ALD_TRACKER_EVENT_ROW_H

#include "common/store/store.h"
#include "proto/messages.h"

/* After SELECT; a condition on r follows. Its trace is its caller's, else that of the callback. */
#define EVENT_ROW                                                                                  \
    " r.seq, r.task, r.provider, r.state, r.source, r.code, r.result_json, r.received_ms,"         \
    " r.published_ms, CASE WHEN t.trace <> '' THEN t.trace ELSE r.trace END, r.result,"            \
    " t.provider_id, t.task_key, t.meta, r.corrects"                                               \
    " FROM results r LEFT JOIN tasks t ON t.id = r.task"

uint64_t event_row_seq(ald_stmt_t *stmt);
/* Is it what these let through? "" lets all through. */
bool event_row_is(ald_stmt_t *stmt, const char *provider, const char *state);
/* The result is borrowed from the statement. */
void event_row_read(ald_stmt_t *stmt, uint64_t lane, struct msg_event *event);

#endif
