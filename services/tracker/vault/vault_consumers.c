#include "services/tracker/vault/vault_consumers.h"

#include <stdio.h>
#include <string.h>

#include "services/tracker/consumers/event_row.h"
#include "services/tracker/vault/vault_sql.h"

/* ---- rows ---- */

void vault_each_consumer(struct vault *self, vault_consumer_fn *fn, void *context)
{
    ald_stmt_t *stmt = vault_prepare(
        self, "SELECT no, name, provider, state, ordered, max_deliver, ack_wait_ms,"
              " max_ack_pending, made_ms, lane, floor, handed, gap_before, gap_why, rejected,"
              " flight FROM consumers ORDER BY no");
    if (!stmt)
        return;
    while (vault_step(self, stmt)) {
        const struct vault_consumer row = {.no = ald_stmt_i64(stmt, 0),
                                           .name = ald_stmt_text(stmt, 1),
                                           .provider = ald_stmt_text(stmt, 2),
                                           .state = ald_stmt_text(stmt, 3),
                                           .ordered = ald_stmt_i64(stmt, 4) != 0,
                                           .max_deliver = (uint64_t)ald_stmt_i64(stmt, 5),
                                           .ack_wait_ms = ald_stmt_i64(stmt, 6),
                                           .max_ack_pending = (uint64_t)ald_stmt_i64(stmt, 7),
                                           .made_ms = ald_stmt_i64(stmt, 8),
                                           .lane = (uint64_t)ald_stmt_i64(stmt, 9),
                                           .floor = (uint64_t)ald_stmt_i64(stmt, 10),
                                           .handed = (uint64_t)ald_stmt_i64(stmt, 11),
                                           .gap_before = (uint64_t)ald_stmt_i64(stmt, 12),
                                           .gap_why = ald_stmt_i64(stmt, 13),
                                           .rejected = (uint64_t)ald_stmt_i64(stmt, 14),
                                           .flight = ald_stmt_blob(stmt, 15)};
        fn(context, &row);
    }
    ald_stmt_reset(stmt);
}

void vault_consumer_add(struct vault *self, const struct vault_consumer *row)
{
    ald_stmt_t *stmt = vault_prepare(
        self, "INSERT INTO consumers (no, name, provider, state, ordered, max_deliver,"
              " ack_wait_ms, max_ack_pending, made_ms, lane, floor, handed, gap_before, gap_why,"
              " rejected) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 0, 0, 0, 0, 0, 0)");
    if (!stmt)
        return;
    ald_stmt_bind_i64(stmt, 1, row->no);
    ald_stmt_bind_text(stmt, 2, row->name);
    ald_stmt_bind_text(stmt, 3, row->provider);
    ald_stmt_bind_text(stmt, 4, row->state);
    ald_stmt_bind_i64(stmt, 5, row->ordered);
    ald_stmt_bind_i64(stmt, 6, (int64_t)row->max_deliver);
    ald_stmt_bind_i64(stmt, 7, row->ack_wait_ms);
    ald_stmt_bind_i64(stmt, 8, (int64_t)row->max_ack_pending);
    ald_stmt_bind_i64(stmt, 9, row->made_ms);
    vault_run(self, stmt);
    vault_consumer_write(self, row);
}

void vault_consumer_write(struct vault *self, const struct vault_consumer *row)
{
    ald_stmt_t *stmt = vault_prepare(
        self, "UPDATE consumers SET lane = ?2, floor = ?3, handed = ?4, gap_before = ?5,"
              " gap_why = ?6, rejected = ?7, flight = ?8 WHERE no = ?1");
    if (!stmt)
        return;
    ald_stmt_bind_i64(stmt, 1, row->no);
    ald_stmt_bind_i64(stmt, 2, (int64_t)row->lane);
    ald_stmt_bind_i64(stmt, 3, (int64_t)row->floor);
    ald_stmt_bind_i64(stmt, 4, (int64_t)row->handed);
    ald_stmt_bind_i64(stmt, 5, (int64_t)row->gap_before);
    ald_stmt_bind_i64(stmt, 6, row->gap_why);
    ald_stmt_bind_i64(stmt, 7, (int64_t)row->rejected);
    ald_stmt_bind_blob(stmt, 8, row->flight);
    vault_run(self, stmt);
}

void vault_consumer_delete(struct vault *self, int64_t no)
{
    static const char *const sqls[] = {"DELETE FROM returns WHERE consumer = ?1",
                                       "DELETE FROM consumers WHERE no = ?1"};
    for (size_t i = 0; i < ALD_COUNT(sqls); i++) {
        ald_stmt_t *stmt = vault_prepare(self, sqls[i]);
        if (!stmt)
            return;
        ald_stmt_bind_i64(stmt, 1, no);
        vault_run(self, stmt);
    }
}

/* ---- returns ---- */

void vault_each_return(struct vault *self, vault_return_fn *fn, void *context)
{
    ald_stmt_t *stmt =
        vault_prepare(self, "SELECT letter, consumer, lane, seq FROM returns ORDER BY letter");
    if (!stmt)
        return;
    while (vault_step(self, stmt)) {
        const struct vault_return row = {.letter = ald_stmt_text(stmt, 0),
                                         .consumer = ald_stmt_i64(stmt, 1),
                                         .lane = (uint64_t)ald_stmt_i64(stmt, 2),
                                         .seq = (uint64_t)ald_stmt_i64(stmt, 3)};
        fn(context, &row);
    }
    ald_stmt_reset(stmt);
}

void vault_return_put(struct vault *self, const struct vault_return *row, struct ald_span event)
{
    ald_stmt_t *stmt = vault_prepare(
        self, "INSERT INTO returns (letter, consumer, lane, seq, event) VALUES (?1, ?2, ?3, ?4, ?5)"
              " ON CONFLICT (letter) DO UPDATE SET event = ?5");
    if (!stmt)
        return;
    ald_stmt_bind_text(stmt, 1, row->letter);
    ald_stmt_bind_i64(stmt, 2, row->consumer);
    ald_stmt_bind_i64(stmt, 3, (int64_t)row->lane);
    ald_stmt_bind_i64(stmt, 4, (int64_t)row->seq);
    ald_stmt_bind_blob(stmt, 5, event);
    vault_run(self, stmt);
}

void vault_return_delete(struct vault *self, const char *letter)
{
    ald_stmt_t *stmt = vault_prepare(self, "DELETE FROM returns WHERE letter = ?1");
    if (!stmt)
        return;
    ald_stmt_bind_str(stmt, 1, letter);
    vault_run(self, stmt);
}

bool vault_return_event(struct vault *self, const char *letter, struct ald_buf *out)
{
    ald_stmt_t *stmt = vault_prepare(self, "SELECT event FROM returns WHERE letter = ?1");
    if (!stmt)
        return false;
    ald_stmt_bind_str(stmt, 1, letter);
    bool found = vault_step(self, stmt);
    if (found)
        ald_buf_put_span(out, ald_stmt_blob(stmt, 0));
    ald_stmt_reset(stmt);
    return found && ald_buf_ok(out);
}

void vault_each_letter_of(struct vault *self, const char *consumer, vault_letter_id_fn *fn,
                          void *context)
{
    char digest[ALD_CONSUMER_MAX + 2];
    size_t len = strlen(consumer);
    ald_stmt_t *stmt = vault_prepare(
        self, "SELECT letter FROM letters WHERE state = 0 AND digest > ?1 AND digest < ?2");
    if (!stmt)
        return;
    (void)snprintf(digest, sizeof digest, "%s ", consumer); /* and then the event's number */
    ald_stmt_bind_text(stmt, 1, ald_span_of(digest, len + 1));
    char end[ALD_CONSUMER_MAX + 2];
    (void)snprintf(end, sizeof end, "%s!", consumer); /* the character after the space */
    ald_stmt_bind_text(stmt, 2, ald_span_of(end, len + 1));
    while (vault_step(self, stmt))
        fn(context, ald_stmt_text(stmt, 0));
    ald_stmt_reset(stmt);
}

/* ---- what they need of the feed ---- */

bool vault_event(struct vault *self, uint64_t seq, struct msg_event *out, struct ald_buf *bytes)
{
    ald_stmt_t *stmt = vault_prepare(self, "SELECT" EVENT_ROW " WHERE r.seq = ?1");
    if (!stmt)
        return false;
    ald_stmt_bind_i64(stmt, 1, (int64_t)seq);
    bool found = seq > self->hidden_seq && vault_step(self, stmt);
    if (found) {
        event_row_read(stmt, self->lane, out);
        ald_buf_reset(bytes);
        ald_buf_put_span(bytes, out->result);
        out->result = ald_buf_span(bytes);
    }
    ald_stmt_reset(stmt);
    return found && ald_buf_ok(bytes);
}

/* The first event at or above a number. False: there is none. */
static bool vault_first_from(struct vault *self, uint64_t from, uint64_t *seq, int64_t *at_ms)
{
    ald_stmt_t *stmt = vault_prepare(
        self, "SELECT seq, published_ms FROM results WHERE seq >= ?1 ORDER BY seq LIMIT 1");
    if (!stmt)
        return false;
    ald_stmt_bind_i64(stmt, 1, (int64_t)(from > self->hidden_seq ? from : self->hidden_seq + 1));
    bool found = vault_step(self, stmt);
    if (found) {
        *seq = (uint64_t)ald_stmt_i64(stmt, 0);
        *at_ms = ald_stmt_i64(stmt, 1);
    }
    ald_stmt_reset(stmt);
    return found;
}

int64_t vault_published_after(struct vault *self, uint64_t seq)
{
    int64_t at_ms = 0;
    return vault_first_from(self, seq + 1, &seq, &at_ms) ? at_ms : 0;
}

/* Times rise with the numbers, but for steps of the clock: near one of those, it may be one of
 * several places. */
uint64_t vault_seq_before(struct vault *self, int64_t at_ms)
{
    uint64_t low = vault_seq_kept(self);
    uint64_t high = self->last_seq;
    while (low < high) { /* all up to low are older, and those above high are not */
        uint64_t middle = low + (high - low + 1) / 2;
        uint64_t seq = 0;
        int64_t published_ms = 0;
        bool found = vault_first_from(self, middle, &seq, &published_ms);
        if (found && published_ms < at_ms)
            low = seq;
        else
            high = middle - 1;
    }
    return low;
}

uint64_t vault_seq_kept(struct vault *self)
{
    uint64_t seq = 0;
    int64_t at_ms = 0;
    return vault_first_from(self, 0, &seq, &at_ms) ? seq - 1 : self->last_seq;
}
