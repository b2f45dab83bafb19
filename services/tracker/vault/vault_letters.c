#include "services/tracker/vault/vault_letters.h"

#include <stddef.h>

#include "common/base/digest.h"
#include "common/base/text.h"
#include "services/tracker/vault/vault_sql.h"

static void vault_outbox_add(struct vault *self, const struct msg_letter *letter)
{
    struct ald_buf bytes;
    ald_buf_init(&bytes, ALD_ITEM_MAX);
    if (ald_wire_encode(&MSG_LETTER, letter, &bytes) != ALD_OK)
        vault_fail(self, ALD_TOOBIG);
    ald_stmt_t *stmt =
        vault_prepare(self, "INSERT INTO outbox (num, letter, message) VALUES (?1, ?2, ?3)");
    if (stmt) {
        ald_stmt_bind_i64(stmt, 1, (int64_t)letter->num);
        ald_stmt_bind_str(stmt, 2, letter->letter);
        ald_stmt_bind_blob(stmt, 3, ald_buf_span(&bytes));
        vault_run(self, stmt);
        self->outbox++;
    }
    ald_buf_free(&bytes);
}

void vault_letter_add(struct vault *self, struct msg_letter *letter, int64_t arrival,
                      const char *digest)
{
    enum ald_reason reason = ALD_REASON_NONE;
    ALD_ASSERT(ald_reason_find(letter->reason, &reason));
    enum ald_proof proof = ALD_PROOF_NONE;
    (void)!ald_proof_find(letter->proof, &proof);
    ald_stmt_t *stmt = vault_prepare(
        self, "INSERT INTO letters (letter, reason, state, outcome, task, arrival, made_at_ms,"
              " digest, provider, proof, size)"
              " VALUES (?1, ?2, 0, 0, ?3, ?4, ?5, ?6, ?7, ?8, ?9)");
    if (!stmt)
        return;
    ald_stmt_bind_str(stmt, 1, letter->letter);
    ald_stmt_bind_i64(stmt, 2, reason);
    ald_stmt_bind_i64(stmt, 3, (int64_t)letter->task);
    ald_stmt_bind_i64(stmt, 4, arrival);
    ald_stmt_bind_i64(stmt, 5, letter->made_at_ms);
    ald_stmt_bind_str(stmt, 6, digest);
    ald_stmt_bind_str(stmt, 7, letter->provider);
    ald_stmt_bind_i64(stmt, 8, proof);
    ald_stmt_bind_i64(stmt, 9, (int64_t)letter->original.len);
    vault_run(self, stmt);
    letter->num = (uint64_t)++self->last_outbox;
    vault_outbox_add(self, letter);
    vault_meta_set(self, "last_outbox", self->last_outbox);
    books_add(&self->books, BOOK_LETTERS_MADE, 1);
}

void vault_letter_tell(struct vault *self, struct msg_closing *closing)
{
    struct ald_buf bytes;
    ald_buf_init(&bytes, 4096);
    closing->num = (uint64_t)++self->last_outbox;
    if (ald_wire_encode(&MSG_CLOSING, closing, &bytes) != ALD_OK)
        vault_fail(self, ALD_TOOBIG);
    ald_stmt_t *stmt = vault_prepare(
        self, "INSERT INTO outbox (num, letter, message, closes) VALUES (?1, ?2, ?3, 1)");
    if (stmt) {
        ald_stmt_bind_i64(stmt, 1, (int64_t)closing->num);
        ald_stmt_bind_str(stmt, 2, closing->letter);
        ald_stmt_bind_blob(stmt, 3, ald_buf_span(&bytes));
        vault_run(self, stmt);
        self->outbox++;
    }
    ald_buf_free(&bytes);
    vault_meta_set(self, "last_outbox", self->last_outbox);
}

bool vault_letter_find(struct vault *self, const char *letter, struct vault_letter *out)
{
    ald_stmt_t *stmt = vault_prepare(
        self,
        "SELECT reason, state, outcome, task, arrival, proof, size, provider, digest FROM letters"
        " WHERE letter = ?1");
    if (!stmt)
        return false;
    ald_stmt_bind_str(stmt, 1, letter);
    bool found = vault_step(self, stmt);
    if (found)
        *out = (struct vault_letter){
            .reason = (enum ald_reason)ald_stmt_index(stmt, 0, ALD_REASON_COUNT),
            .state = (enum vault_letter_state)ald_stmt_index(stmt, 1, VAULT_LETTER_DROPPED + 1),
            .outcome = (enum ald_disposition)ald_stmt_index(stmt, 2, ALD_DISP_ANSWERS),
            .task = (uint64_t)ald_stmt_i64(stmt, 3),
            .arrival = ald_stmt_i64(stmt, 4),
            .proof = (enum ald_proof)ald_stmt_index(stmt, 5, ALD_PROOF_COUNT),
            .size = (uint64_t)ald_stmt_i64(stmt, 6)};
    if (found)
        ald_text_cut(out->provider, sizeof out->provider, ald_stmt_text(stmt, 7));
    if (found)
        ald_text_cut(out->digest, sizeof out->digest, ald_stmt_text(stmt, 8));
    ald_stmt_reset(stmt);
    return found;
}

void vault_letter_close(struct vault *self, const char *letter, enum vault_letter_state state,
                        enum ald_disposition outcome)
{
    ald_stmt_t *stmt = vault_prepare(
        self, "UPDATE letters SET state = ?2, outcome = ?3 WHERE letter = ?1 AND state = 0");
    if (!stmt)
        return;
    ald_stmt_bind_str(stmt, 1, letter);
    ald_stmt_bind_i64(stmt, 2, state);
    ald_stmt_bind_i64(stmt, 3, outcome);
    vault_run(self, stmt);
    if (self->rc == ALD_OK && ald_store_changes(self->store) > 0)
        books_add(&self->books,
                  state == VAULT_LETTER_DROPPED ? BOOK_LETTERS_DROPPED : BOOK_LETTERS_RESOLVED, 1);
}

void vault_letter_turn(struct vault *self, const char *letter, enum ald_reason reason,
                       uint64_t task, const char *digest)
{
    ald_stmt_t *stmt = vault_prepare(self, "UPDATE letters SET reason = ?2, task = ?3, digest = ?4"
                                           " WHERE letter = ?1 AND state = 0");
    if (!stmt)
        return;
    ald_stmt_bind_str(stmt, 1, letter);
    ald_stmt_bind_i64(stmt, 2, reason);
    ald_stmt_bind_i64(stmt, 3, (int64_t)task);
    ald_stmt_bind_str(stmt, 4, digest);
    vault_run(self, stmt);
}

void vault_letters_of(struct vault *self, uint64_t task, const char *digest,
                      struct vault_letters_of *out)
{
    *out = (struct vault_letters_of){0};
    ald_stmt_t *stmt =
        vault_prepare(self, "SELECT reason, digest FROM letters WHERE task = ?1 AND task <> 0");
    if (!stmt)
        return;
    ald_stmt_bind_i64(stmt, 1, (int64_t)task);
    while (vault_step(self, stmt)) {
        bool conflict = ald_stmt_i64(stmt, 0) == ALD_REASON_CONFLICT;
        out->all++;
        out->conflicts += conflict;
        out->known = out->known || (conflict && ald_span_eq_str(ald_stmt_text(stmt, 1), digest));
    }
    ald_stmt_reset(stmt);
}

bool vault_letter_of(struct vault *self, uint64_t task, enum ald_reason reason,
                     char out[ALD_ULID_MAX])
{
    ald_stmt_t *stmt = vault_prepare(self, "SELECT letter FROM letters WHERE task = ?1 AND"
                                           " task <> 0 AND reason = ?2 AND state = 0"
                                           " AND (reason <> ?3 OR digest = '')");
    if (!stmt)
        return false;
    ald_stmt_bind_i64(stmt, 1, (int64_t)task);
    ald_stmt_bind_i64(stmt, 2, reason);
    ald_stmt_bind_i64(stmt, 3, ALD_REASON_CONSUMER_REJECTED); /* with a digest: a consumer's */
    bool found = vault_step(self, stmt);
    if (found)
        ald_text_cut(out, ALD_ULID_MAX, ald_stmt_text(stmt, 0));
    ald_stmt_reset(stmt);
    return found;
}

bool vault_letter_heard(struct vault *self, uint64_t task)
{
    ald_stmt_t *stmt =
        vault_prepare(self, "SELECT 1 FROM letters WHERE task = ?1 AND task <> 0 AND state = 0 AND"
                            " reason IN (?2, ?3, ?4) AND proof >= ?5 LIMIT 1");
    if (!stmt)
        return false;
    ald_stmt_bind_i64(stmt, 1, (int64_t)task);
    ald_stmt_bind_i64(stmt, 2, ALD_REASON_UNAUTHENTICATED);
    ald_stmt_bind_i64(stmt, 3, ALD_REASON_MALFORMED);
    ald_stmt_bind_i64(stmt, 4, ALD_REASON_UNMAPPED_STATUS);
    ald_stmt_bind_i64(stmt, 5, ALD_PROOF_TOKEN);
    bool found = vault_step(self, stmt);
    ald_stmt_reset(stmt);
    return found;
}

void vault_outbox_each(struct vault *self, uint64_t after, vault_outbox_fn *fn, void *context)
{
    ald_stmt_t *stmt =
        vault_prepare(self, "SELECT num, message FROM outbox WHERE num > ?1 ORDER BY num");
    if (!stmt)
        return;
    ald_stmt_bind_i64(stmt, 1, (int64_t)after);
    while (vault_step(self, stmt) &&
           fn(context, (uint64_t)ald_stmt_i64(stmt, 0), ald_stmt_blob(stmt, 1)))
        ;
    ald_stmt_reset(stmt);
}

void vault_outbox_remove(struct vault *self, uint64_t num)
{
    ald_stmt_t *stmt = vault_prepare(self, "DELETE FROM outbox WHERE num = ?1");
    if (!stmt)
        return;
    ald_stmt_bind_i64(stmt, 1, (int64_t)num);
    vault_run(self, stmt);
    if (self->rc == ALD_OK)
        self->outbox -= ald_store_changes(self->store);
}

uint64_t vault_outbox_floor(struct vault *self)
{
    uint64_t floor = (uint64_t)self->last_outbox + 1;
    ald_stmt_t *stmt = vault_prepare(self, "SELECT num FROM outbox ORDER BY num LIMIT 1");
    if (!stmt)
        return 0;
    if (vault_step(self, stmt))
        floor = (uint64_t)ald_stmt_i64(stmt, 0);
    ald_stmt_reset(stmt);
    return floor;
}

static uint64_t vault_id_sum(struct ald_span letter)
{
    uint8_t sum[32];
    ald_sha256(letter, sum);
    uint64_t head = 0;
    for (size_t i = 0; i < 8; i++)
        head = head << 8 | sum[i];
    return head >> 11; /* fits the 53 bits that every language keeps */
}

static void vault_sum(struct vault *self, const char *sql, int64_t *count, uint64_t *sum)
{
    *count = 0;
    *sum = 0;
    ald_stmt_t *stmt = vault_prepare(self, sql);
    if (!stmt)
        return;
    while (vault_step(self, stmt)) {
        *count += 1;
        *sum ^= vault_id_sum(ald_stmt_text(stmt, 0));
    }
    ald_stmt_reset(stmt);
}

void vault_letter_sums(struct vault *self, int64_t *open, uint64_t *open_sum, int64_t *outbox,
                       uint64_t *outbox_sum)
{
    vault_sum(self, "SELECT letter FROM letters WHERE state = 0", open, open_sum);
    vault_sum(self,
              "SELECT o.letter FROM outbox o JOIN letters l ON l.letter = o.letter"
              " WHERE o.closes = 0 AND l.state = 0",
              outbox, outbox_sum);
    /* Closed here, and open at the dlq until it is told. */
    int64_t untold = 0;
    uint64_t untold_sum = 0;
    vault_sum(self,
              "SELECT o.letter FROM outbox o WHERE o.closes = 1 AND NOT EXISTS"
              " (SELECT 1 FROM outbox w WHERE w.letter = o.letter AND w.closes = 0)",
              &untold, &untold_sum);
    *outbox -= untold;
    *outbox_sum ^= untold_sum;
}

void vault_each_sender(struct vault *self, vault_sender_fn *fn, void *context)
{
    ald_stmt_t *stmt =
        vault_prepare(self, "SELECT no, sender, floor, marks, heard_ms FROM senders ORDER BY no");
    if (!stmt)
        return;
    while (vault_step(self, stmt)) {
        struct vault_sender sender = {.no = ald_stmt_i64(stmt, 0),
                                      .sender = ald_stmt_text(stmt, 1),
                                      .floor = (uint64_t)ald_stmt_i64(stmt, 2),
                                      .marks = ald_stmt_blob(stmt, 3),
                                      .heard_ms = ald_stmt_i64(stmt, 4)};
        fn(context, &sender);
    }
    ald_stmt_reset(stmt);
}

void vault_sender_put(struct vault *self, const struct vault_sender *sender)
{
    ald_stmt_t *stmt = vault_prepare(
        self, "INSERT INTO senders (no, sender, floor, marks, heard_ms) VALUES (?1, ?2, ?3, ?4, ?5)"
              " ON CONFLICT (no) DO UPDATE SET floor = ?3, marks = ?4, heard_ms = ?5");
    if (!stmt)
        return;
    ald_stmt_bind_i64(stmt, 1, sender->no);
    ald_stmt_bind_text(stmt, 2, sender->sender);
    ald_stmt_bind_i64(stmt, 3, (int64_t)sender->floor);
    ald_stmt_bind_blob(stmt, 4, sender->marks);
    ald_stmt_bind_i64(stmt, 5, sender->heard_ms);
    vault_run(self, stmt);
}

void vault_each_unproven(struct vault *self, vault_unproven_fn *fn, void *context)
{
    ald_stmt_t *stmt = vault_prepare(
        self, "SELECT provider, reason, proof, COUNT(*), SUM(size) FROM letters WHERE state = 0"
              " AND proof <= ?1 GROUP BY provider, reason, proof");
    if (!stmt)
        return;
    ald_stmt_bind_i64(stmt, 1, ALD_PROOF_ID);
    while (vault_step(self, stmt)) {
        struct vault_letter sum = {
            .reason = (enum ald_reason)ald_stmt_index(stmt, 1, ALD_REASON_COUNT),
            .proof = (enum ald_proof)ald_stmt_index(stmt, 2, ALD_PROOF_COUNT),
            .size = (uint64_t)ald_stmt_i64(stmt, 4)};
        ald_text_cut(sum.provider, sizeof sum.provider, ald_stmt_text(stmt, 0));
        fn(context, sum.provider, &sum, (uint64_t)ald_stmt_i64(stmt, 3));
    }
    ald_stmt_reset(stmt);
}
