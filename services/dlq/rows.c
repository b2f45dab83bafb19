#include "services/dlq/shelf.h"

#include <string.h>

#include "common/base/digest.h"
#include "common/base/text.h"
#include "services/dlq/piles.h"
#include "services/dlq/replays.h"
#include "services/dlq/shelf_inside.h"

static const char sql_insert[] =
    "INSERT INTO letters(letter, sender, num, reason, cause, provider, task, provider_id, proof,"
    " state, live, outcome, made, closed, due, attempts, revision, pinned, by_person, who, believe,"
    " bytes, sending, closing, stranger, consumer) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10,"
    " 1, '', ?11, 0, ?12, 0, ?13, 0, 0, '', 0, ?14, 0, 0, ?15, ?16) ON CONFLICT(letter) DO NOTHING";
static const char sql_turn[] = "UPDATE letters SET reason = ?2, cause = ?3, task = ?4,"
                               " stranger = ?5, pile = ?6 WHERE letter = ?1";
static const char sql_pile[] = "UPDATE letters SET pile = ?2 WHERE letter = ?1";
static const char sql_original[] = "INSERT INTO originals(letter, revision, bytes, sum, at, who)"
                                   " VALUES(?1, ?2, ?3, ?4, ?5, ?6)";
static const char sql_update[] =
    "UPDATE letters SET state = ?2, live = ?3, outcome = ?4, closed = ?5, due = ?6, attempts = ?7,"
    " pinned = ?8, by_person = ?9, who = ?10, believe = ?11, sending = ?12, closing = ?13,"
    " revision = ?14, pile = ?15, replay = ?16 WHERE letter = ?1";
static const char sql_strangers[] =
    "INSERT INTO strangers(provider, count, bytes) VALUES(?1, ?2, ?3)"
    " ON CONFLICT(provider) DO UPDATE SET count = strangers.count + ?2,"
    " bytes = strangers.bytes + ?3";
static const char sql_floor[] = "INSERT INTO senders(sender, floor) VALUES(?1, ?2)"
                                " ON CONFLICT(sender) DO UPDATE SET floor = ?2 WHERE floor < ?2";
static const char sql_attempt[] = "INSERT INTO attempts(letter, attempt, revision, at, who,"
                                  " outcome, detail, replay)"
                                  " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)";
static const char sql_attempt_end[] =
    "UPDATE attempts SET outcome = ?3, detail = ?4 WHERE letter = ?1 AND attempt = ?2";
static const char sql_purgeable[] =
    "SELECT l.letter FROM letters l JOIN senders s ON s.sender = l.sender"
    " WHERE l.closed > 0 AND l.closed < ?1 AND l.closing = 0 AND l.num < s.floor"
    " ORDER BY l.closed LIMIT ?2";
static const char sql_clamp[] = "UPDATE letters SET due = ?1 WHERE due > 0 AND due > ?1";
static const char sql_delete_letter[] = "DELETE FROM letters WHERE letter = ?1";
static const char sql_delete_original[] = "DELETE FROM originals WHERE letter = ?1";
static const char sql_delete_attempts[] = "DELETE FROM attempts WHERE letter = ?1";

/* Count an unproven letter in or out of its provider's quota. */
static enum ald_rc shelf_stranger(shelf_t *self, const struct shelf_row *row, int sign)
{
    ald_stmt_t *stmt;
    if (!row->stranger)
        return ALD_OK;
    enum ald_rc rc = ald_store_prepare(self->store, sql_strangers, &stmt);
    if (rc != ALD_OK)
        return rc;
    ald_stmt_bind_str(stmt, 1, row->provider);
    ald_stmt_bind_i64(stmt, 2, sign);
    ald_stmt_bind_i64(stmt, 3, sign * (int64_t)row->bytes);
    return ald_stmt_run(stmt);
}

static enum ald_rc shelf_insert_row(shelf_t *self, const struct shelf_row *row, const char *sender,
                                    uint64_t num)
{
    ald_stmt_t *stmt;
    enum ald_rc rc = ald_store_prepare(self->store, sql_insert, &stmt);
    if (rc != ALD_OK)
        return rc;
    ald_stmt_bind_str(stmt, 1, row->id);
    ald_stmt_bind_str(stmt, 2, sender);
    ald_stmt_bind_i64(stmt, 3, (int64_t)num);
    ald_stmt_bind_str(stmt, 4, ald_reason_name(row->letter.reason));
    ald_stmt_bind_str(stmt, 5, row->cause);
    ald_stmt_bind_str(stmt, 6, row->provider);
    ald_stmt_bind_i64(stmt, 7, (int64_t)row->task);
    ald_stmt_bind_str(stmt, 8, row->provider_id);
    ald_stmt_bind_str(stmt, 9, row->proof);
    ald_stmt_bind_str(stmt, 10, letter_state_name(row->letter.state));
    ald_stmt_bind_i64(stmt, 11, row->made_at_ms);
    ald_stmt_bind_i64(stmt, 12, row->letter.due_at_ms);
    ald_stmt_bind_i64(stmt, 13, (int64_t)row->letter.revision);
    ald_stmt_bind_i64(stmt, 14, (int64_t)row->bytes);
    ald_stmt_bind_i64(stmt, 15, row->stranger);
    ald_stmt_bind_str(stmt, 16, row->consumer);
    rc = ald_stmt_run(stmt);
    return rc == ALD_OK && ald_store_changes(self->store) == 0 ? ALD_EXISTS : rc;
}

static enum ald_rc shelf_insert_pile(shelf_t *self, const struct shelf_row *row)
{
    ald_stmt_t *stmt;
    int64_t pile = 0;
    enum ald_rc rc = piles_join(self, row, &pile);
    if (rc == ALD_OK)
        rc = ald_store_prepare(self->store, sql_pile, &stmt);
    if (rc != ALD_OK)
        return rc;
    ald_stmt_bind_str(stmt, 1, row->id);
    ald_stmt_bind_i64(stmt, 2, pile);
    return ald_stmt_run(stmt);
}

static enum ald_rc shelf_insert_original(shelf_t *self, const char *id, uint64_t revision,
                                         const struct shelf_edit *edit)
{
    ald_stmt_t *stmt;
    uint8_t sum[32];
    struct ald_span original = edit->original;
    if (original.len == 0)
        return ALD_OK;
    enum ald_rc rc = ald_store_prepare(self->store, sql_original, &stmt);
    if (rc != ALD_OK)
        return rc;
    ald_sha256(original, sum);
    ald_stmt_bind_str(stmt, 1, id);
    ald_stmt_bind_i64(stmt, 2, (int64_t)revision);
    ald_stmt_bind_blob(stmt, 3, original);
    ald_stmt_bind_blob(stmt, 4, ald_span_of(sum, sizeof sum));
    ald_stmt_bind_i64(stmt, 5, edit->at_ms);
    ald_stmt_bind_str(stmt, 6, edit->by);
    return ald_stmt_run(stmt);
}

enum ald_rc shelf_insert(shelf_t *self, const struct shelf_row *row, const char *sender,
                         uint64_t num, struct ald_span original)
{
    enum ald_rc rc = shelf_insert_row(self, row, sender, num);
    if (rc == ALD_OK)
        rc = shelf_insert_original(
            self, row->id, row->letter.revision,
            &(struct shelf_edit){.original = original, .at_ms = row->made_at_ms, .by = ""});
    if (rc == ALD_OK)
        rc = shelf_insert_pile(self, row);
    if (rc == ALD_OK)
        rc = shelf_stranger(self, row, 1);
    if (rc == ALD_OK)
        tally_add(&self->now.tally, row->id, row->letter.reason, row->letter.state);
    return rc;
}

/* What a row's new state means for what is counted beside it. */
static enum ald_rc shelf_account(shelf_t *self, const struct shelf_row *row, bool waits)
{
    const struct letter *letter = &row->letter;
    enum ald_rc rc = ALD_OK;
    if (row->replay[0] != '\0' && !waits)
        rc = replays_answered(self, row->replay, letter->reason, row->outcome);
    if (rc == ALD_OK && letter_closed(letter->state))
        rc = piles_leave(self, row->pile);
    if (rc == ALD_OK && letter_closed(letter->state) && !letter_closed(row->stored))
        rc = shelf_stranger(self, row, -1);
    if (rc == ALD_OK)
        tally_move(&self->now.tally, row->id, letter->reason, row->stored, letter->state);
    return rc;
}

enum ald_rc shelf_update(shelf_t *self, const struct shelf_row *row)
{
    ald_stmt_t *stmt;
    const struct letter *letter = &row->letter;
    bool waits = letter_asked(letter);
    enum ald_rc rc = ald_store_prepare(self->store, sql_update, &stmt);
    if (rc != ALD_OK)
        return rc;
    ald_stmt_bind_str(stmt, 1, row->id);
    ald_stmt_bind_str(stmt, 2, letter_state_name(letter->state));
    ald_stmt_bind_i64(stmt, 3, !letter_closed(letter->state));
    ald_stmt_bind_str(stmt, 4, row->outcome);
    ald_stmt_bind_i64(stmt, 5, letter->closed_at_ms);
    ald_stmt_bind_i64(stmt, 6, letter->due_at_ms);
    ald_stmt_bind_i64(stmt, 7, (int64_t)letter->attempts);
    ald_stmt_bind_i64(stmt, 8, (int64_t)letter->pinned);
    ald_stmt_bind_i64(stmt, 9, letter->by_person);
    ald_stmt_bind_str(stmt, 10, row->by);
    ald_stmt_bind_i64(stmt, 11, letter->word);
    ald_stmt_bind_i64(stmt, 12, (int64_t)row->sending);
    ald_stmt_bind_i64(stmt, 13, (int64_t)row->closing);
    ald_stmt_bind_i64(stmt, 14, (int64_t)letter->revision);
    ald_stmt_bind_i64(stmt, 15, letter_closed(letter->state) ? 0 : row->pile);
    ald_stmt_bind_str(stmt, 16, waits ? row->replay : "");
    rc = ald_stmt_run(stmt);
    return rc == ALD_OK ? shelf_account(self, row, waits) : rc;
}

static enum ald_rc shelf_turn_row(shelf_t *self, const struct shelf_row *row)
{
    ald_stmt_t *stmt;
    enum ald_rc rc = ald_store_prepare(self->store, sql_turn, &stmt);
    if (rc != ALD_OK)
        return rc;
    ald_stmt_bind_str(stmt, 1, row->id);
    ald_stmt_bind_str(stmt, 2, ald_reason_name(row->letter.reason));
    ald_stmt_bind_str(stmt, 3, row->cause);
    ald_stmt_bind_i64(stmt, 4, (int64_t)row->task);
    ald_stmt_bind_i64(stmt, 5, row->stranger);
    ald_stmt_bind_i64(stmt, 6, row->pile);
    return ald_stmt_run(stmt);
}

enum ald_rc shelf_turn(shelf_t *self, struct shelf_row *row, const struct shelf_turn *turn)
{
    const enum ald_reason was = row->letter.reason;
    enum ald_proof proof = ALD_PROOF_NONE;
    if (letter_closed(row->stored) ||
        (turn->reason == was && turn->task == row->task && strcmp(turn->cause, row->cause) == 0))
        return ALD_OK;
    enum ald_rc rc = piles_leave(self, row->pile);
    if (rc == ALD_OK)
        rc = shelf_stranger(self, row, -1);
    if (rc != ALD_OK)
        return rc;
    (void)!ald_proof_find(row->proof, &proof);
    row->letter.reason = turn->reason;
    row->stranger = letter_unproven(turn->reason, proof);
    row->task = turn->task;
    ald_text_cut(row->cause, sizeof row->cause, ald_span_str(turn->cause));
    rc = piles_join(self, row, &row->pile);
    if (rc == ALD_OK)
        rc = shelf_stranger(self, row, 1);
    if (rc == ALD_OK)
        rc = shelf_turn_row(self, row);
    tally_turn(&self->now.tally, row->stored, was, turn->reason);
    return rc;
}

enum ald_rc shelf_edit(shelf_t *self, const struct shelf_row *row, const struct shelf_edit *edit)
{
    enum ald_rc rc = shelf_insert_original(self, row->id, row->letter.revision, edit);
    return rc == ALD_OK ? shelf_update(self, row) : rc;
}

enum ald_rc shelf_floor_note(shelf_t *self, const char *sender, uint64_t floor)
{
    ald_stmt_t *stmt;
    enum ald_rc rc = ald_store_prepare(self->store, sql_floor, &stmt);
    if (rc != ALD_OK)
        return rc;
    ald_stmt_bind_str(stmt, 1, sender);
    ald_stmt_bind_i64(stmt, 2, (int64_t)floor);
    return ald_stmt_run(stmt);
}

uint64_t shelf_number(shelf_t *self)
{
    return self->now.next++;
}

/* ---- attempts ---- */

enum ald_rc shelf_attempt_begin(shelf_t *self, const char *id, const struct shelf_attempt *attempt)
{
    ald_stmt_t *stmt;
    enum ald_rc rc = ald_store_prepare(self->store, sql_attempt, &stmt);
    if (rc != ALD_OK)
        return rc;
    ald_stmt_bind_str(stmt, 1, id);
    ald_stmt_bind_i64(stmt, 2, (int64_t)attempt->attempt);
    ald_stmt_bind_i64(stmt, 3, (int64_t)attempt->revision);
    ald_stmt_bind_i64(stmt, 4, attempt->at_ms);
    ald_stmt_bind_str(stmt, 5, attempt->by);
    ald_stmt_bind_str(stmt, 6, attempt->outcome);
    ald_stmt_bind_str(stmt, 7, attempt->detail);
    ald_stmt_bind_str(stmt, 8, attempt->replay ? attempt->replay : "");
    return ald_stmt_run(stmt);
}

enum ald_rc shelf_attempt_end(shelf_t *self, const char *id, const struct shelf_attempt *attempt)
{
    ald_stmt_t *stmt;
    enum ald_rc rc = ald_store_prepare(self->store, sql_attempt_end, &stmt);
    if (rc != ALD_OK)
        return rc;
    ald_stmt_bind_str(stmt, 1, id);
    ald_stmt_bind_i64(stmt, 2, (int64_t)attempt->attempt);
    ald_stmt_bind_str(stmt, 3, attempt->outcome);
    ald_stmt_bind_str(stmt, 4, attempt->detail);
    return ald_stmt_run(stmt);
}

/* ---- upkeep ---- */

static enum ald_rc shelf_delete(shelf_t *self, const char *sql, const char *id)
{
    ald_stmt_t *stmt;
    enum ald_rc rc = ald_store_prepare(self->store, sql, &stmt);
    if (rc != ALD_OK)
        return rc;
    ald_stmt_bind_str(stmt, 1, id);
    return ald_stmt_run(stmt);
}

enum ald_rc shelf_original_delete(shelf_t *self, const char *id)
{
    return shelf_delete(self, sql_delete_original, id);
}

static enum ald_rc shelf_purge_one(shelf_t *self, const char *id)
{
    enum ald_rc rc = shelf_delete(self, sql_delete_original, id);
    if (rc == ALD_OK)
        rc = shelf_delete(self, sql_delete_attempts, id);
    if (rc == ALD_OK)
        rc = shelf_delete(self, sql_delete_letter, id);
    if (rc == ALD_OK)
        self->now.tally.purged++;
    return rc;
}

enum ald_rc shelf_purge(shelf_t *self, int64_t before_ms, unsigned limit, unsigned *count)
{
    enum { SHELF_PURGE_MAX = 200 };
    char ids[SHELF_PURGE_MAX][ALD_ULID_MAX];
    ald_stmt_t *stmt;
    *count = 0;
    enum ald_rc rc = ald_store_prepare(self->store, sql_purgeable, &stmt);
    if (rc != ALD_OK)
        return rc;
    ald_stmt_bind_i64(stmt, 1, before_ms);
    ald_stmt_bind_i64(stmt, 2, limit < SHELF_PURGE_MAX ? limit : SHELF_PURGE_MAX);
    unsigned found = 0;
    while (found < SHELF_PURGE_MAX && (rc = ald_stmt_step(stmt)) == ALD_OK)
        ald_text_cut(ids[found++], ALD_ULID_MAX, ald_stmt_text(stmt, 0));
    ald_stmt_reset(stmt);
    if (rc != ALD_OK && rc != ALD_NOTFOUND)
        return rc;
    rc = ALD_OK;
    for (unsigned i = 0; i < found && rc == ALD_OK; i++)
        rc = shelf_purge_one(self, ids[i]);
    *count = found;
    return rc;
}

enum ald_rc shelf_due_clamp(shelf_t *self, int64_t latest_ms)
{
    ald_stmt_t *stmt;
    enum ald_rc rc = ald_store_prepare(self->store, sql_clamp, &stmt);
    if (rc != ALD_OK)
        return rc;
    ald_stmt_bind_i64(stmt, 1, latest_ms);
    return ald_stmt_run(stmt);
}
