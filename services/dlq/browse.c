#include "services/dlq/browse.h"

#include "common/base/digest.h"
#include "common/base/text.h"
#include "services/dlq/browse_inside.h"

static const char sql_find[] = BROWSE_ROW "WHERE letter = ?1";
static const char sql_sending_number[] = BROWSE_ROW "WHERE sending > 0 AND sending = ?1";
static const char sql_closing_number[] = BROWSE_ROW "WHERE closing > 0 AND closing = ?1";
static const char sql_original[] =
    "SELECT bytes, sum FROM originals WHERE letter = ?1 AND revision = ?2";
static const char sql_attempt_at[] = "SELECT at FROM attempts WHERE letter = ?1 AND attempt = ?2";
static const char sql_due[] =
    "SELECT letter FROM letters WHERE due > 0 AND due <= ?1 ORDER BY due LIMIT ?2";
static const char sql_sending[] =
    "SELECT letter FROM letters WHERE sending > 0 ORDER BY sending LIMIT ?1";
static const char sql_closing[] =
    "SELECT letter FROM letters WHERE closing > 0 ORDER BY closing LIMIT ?1";
static const char sql_over[] =
    "SELECT provider, count - ?1, bytes - ?2 FROM strangers WHERE count > ?1 OR bytes > ?2"
    " LIMIT 1";
static const char sql_strangers[] =
    "SELECT letter FROM letters WHERE live = 1 AND stranger = 1 AND provider = ?1"
    " AND pinned = 0 ORDER BY letter LIMIT ?2";
static const char sql_sending_floor[] = "SELECT min(sending) FROM letters WHERE sending > 0";
static const char sql_closing_floor[] = "SELECT min(closing) FROM letters WHERE closing > 0";
static const char sql_next_number[] = "SELECT value FROM facts WHERE name = 'next_number'";
static const char sql_oldest[] = "SELECT made FROM letters WHERE live = 1 ORDER BY letter LIMIT 1";
static const char sql_history[] =
    "SELECT attempt, revision, at, who, outcome, detail, replay FROM"
    " (SELECT attempt, revision, at, who, outcome, detail, replay FROM attempts WHERE letter = ?1"
    " UNION ALL SELECT 0, revision, at, who, '', '', '' FROM originals"
    " WHERE letter = ?1 AND revision > 1 ORDER BY at DESC, attempt DESC LIMIT ?2) AS newest"
    " ORDER BY at, attempt";

void browse_row(ald_stmt_t *stmt, struct shelf_row *out)
{
    char word[ALD_WORD_MAX];
    *out = (struct shelf_row){0};
    BROWSE_TEXT(out->id, 0);
    BROWSE_TEXT(word, 1);
    if (!ald_reason_find(word, &out->letter.reason))
        out->letter.reason = ALD_REASON_NONE;
    BROWSE_TEXT(out->cause, 2);
    BROWSE_TEXT(out->provider, 3);
    out->task = (uint64_t)ald_stmt_i64(stmt, 4);
    BROWSE_TEXT(out->provider_id, 5);
    BROWSE_TEXT(out->proof, 6);
    BROWSE_TEXT(word, 7);
    if (!letter_state_find(word, &out->letter.state))
        out->letter.state = LETTER_HELD;
    BROWSE_TEXT(out->outcome, 8);
    out->made_at_ms = ald_stmt_i64(stmt, 9);
    out->letter.closed_at_ms = ald_stmt_i64(stmt, 10);
    out->letter.due_at_ms = ald_stmt_i64(stmt, 11);
    out->letter.attempts = (uint64_t)ald_stmt_i64(stmt, 12);
    out->letter.revision = (uint64_t)ald_stmt_i64(stmt, 13);
    out->letter.pinned = (uint64_t)ald_stmt_i64(stmt, 14);
    out->letter.by_person = ald_stmt_i64(stmt, 15) != 0;
    BROWSE_TEXT(out->by, 16);
    out->letter.word = letter_word_kept(ald_stmt_i64(stmt, 17));
    out->bytes = (uint64_t)ald_stmt_i64(stmt, 18);
    out->letter.empty = out->bytes == 0;
    out->sending = (uint64_t)ald_stmt_i64(stmt, 19);
    out->closing = (uint64_t)ald_stmt_i64(stmt, 20);
    out->letter.closing = out->closing != 0;
    out->stranger = ald_stmt_i64(stmt, 21) != 0;
    BROWSE_TEXT(out->consumer, 22);
    out->pile = ald_stmt_i64(stmt, 23);
    BROWSE_TEXT(out->replay, 24);
    out->stored = out->letter.state;
}

enum ald_rc browse_prepare(shelf_t *shelf, const char *sql, ald_stmt_t **out)
{
    return shelf_ready(shelf) ? ald_store_prepare(shelf_store(shelf), sql, out) : ALD_IO;
}

enum ald_rc browse_find(shelf_t *shelf, const char *id, struct shelf_row *out)
{
    ald_stmt_t *stmt;
    enum ald_rc rc = browse_prepare(shelf, sql_find, &stmt);
    if (rc != ALD_OK)
        return rc;
    ald_stmt_bind_str(stmt, 1, id);
    rc = ald_stmt_step(stmt);
    if (rc == ALD_OK)
        browse_row(stmt, out);
    ald_stmt_reset(stmt);
    return rc;
}

static enum ald_rc browse_numbered(shelf_t *shelf, const char *sql, uint64_t num,
                                   struct shelf_row *out)
{
    ald_stmt_t *stmt;
    enum ald_rc rc = browse_prepare(shelf, sql, &stmt);
    if (rc != ALD_OK)
        return rc;
    ald_stmt_bind_i64(stmt, 1, (int64_t)num);
    rc = ald_stmt_step(stmt);
    if (rc == ALD_OK)
        browse_row(stmt, out);
    ald_stmt_reset(stmt);
    return rc;
}

enum ald_rc browse_find_number(shelf_t *shelf, uint64_t num, struct shelf_row *out)
{
    enum ald_rc rc = browse_numbered(shelf, sql_sending_number, num, out);
    return rc == ALD_NOTFOUND ? browse_numbered(shelf, sql_closing_number, num, out) : rc;
}

enum ald_rc browse_attempt_at(shelf_t *shelf, const char *id, uint64_t attempt, int64_t *at_ms)
{
    ald_stmt_t *stmt;
    enum ald_rc rc = browse_prepare(shelf, sql_attempt_at, &stmt);
    if (rc != ALD_OK)
        return rc;
    ald_stmt_bind_str(stmt, 1, id);
    ald_stmt_bind_i64(stmt, 2, (int64_t)attempt);
    rc = ald_stmt_step(stmt);
    if (rc == ALD_OK)
        *at_ms = ald_stmt_i64(stmt, 0);
    ald_stmt_reset(stmt);
    return rc;
}

enum ald_rc browse_original(shelf_t *shelf, const char *id, uint64_t revision, struct ald_buf *out)
{
    ald_stmt_t *stmt;
    uint8_t sum[32];
    enum ald_rc rc = browse_prepare(shelf, sql_original, &stmt);
    if (rc != ALD_OK)
        return rc;
    ald_stmt_bind_str(stmt, 1, id);
    ald_stmt_bind_i64(stmt, 2, (int64_t)revision);
    rc = ald_stmt_step(stmt);
    if (rc == ALD_OK) {
        struct ald_span bytes = ald_stmt_blob(stmt, 0);
        ald_sha256(bytes, sum);
        ald_buf_put(out, bytes.data, bytes.len);
        if (!ald_span_eq(ald_stmt_blob(stmt, 1), ald_span_of(sum, sizeof sum)))
            rc = ALD_CORRUPT;
    }
    ald_stmt_reset(stmt);
    return rc;
}

/* ---- work ---- */

static enum ald_rc browse_ids(ald_stmt_t *stmt, struct browse_ids *out)
{
    enum ald_rc rc = ALD_NOTFOUND;
    out->count = 0;
    while (out->count < BROWSE_IDS && (rc = ald_stmt_step(stmt)) == ALD_OK)
        ald_text_cut(out->id[out->count++], ALD_ULID_MAX, ald_stmt_text(stmt, 0));
    ald_stmt_reset(stmt);
    return rc == ALD_NOTFOUND ? ALD_OK : rc;
}

enum ald_rc browse_due(shelf_t *shelf, int64_t now_ms, size_t limit, struct browse_ids *out)
{
    ald_stmt_t *stmt;
    enum ald_rc rc = browse_prepare(shelf, sql_due, &stmt);
    if (rc != ALD_OK)
        return rc;
    ald_stmt_bind_i64(stmt, 1, now_ms);
    ald_stmt_bind_i64(stmt, 2, (int64_t)limit);
    return browse_ids(stmt, out);
}

enum ald_rc browse_sending(shelf_t *shelf, struct browse_ids *out)
{
    ald_stmt_t *stmt;
    enum ald_rc rc = browse_prepare(shelf, sql_sending, &stmt);
    if (rc != ALD_OK)
        return rc;
    ald_stmt_bind_i64(stmt, 1, BROWSE_IDS);
    return browse_ids(stmt, out);
}

enum ald_rc browse_closing(shelf_t *shelf, struct browse_ids *out)
{
    ald_stmt_t *stmt;
    enum ald_rc rc = browse_prepare(shelf, sql_closing, &stmt);
    if (rc != ALD_OK)
        return rc;
    ald_stmt_bind_i64(stmt, 1, BROWSE_IDS);
    return browse_ids(stmt, out);
}

enum ald_rc browse_excess(shelf_t *shelf, int64_t count, int64_t bytes, struct browse_excess *out)
{
    ald_stmt_t *stmt;
    char provider[ALD_PROVIDER_MAX];
    *out = (struct browse_excess){0};
    enum ald_rc rc = browse_prepare(shelf, sql_over, &stmt);
    if (rc != ALD_OK)
        return rc;
    ald_stmt_bind_i64(stmt, 1, count);
    ald_stmt_bind_i64(stmt, 2, bytes);
    rc = ald_stmt_step(stmt);
    if (rc == ALD_OK) {
        BROWSE_TEXT(provider, 0);
        out->count = ald_stmt_i64(stmt, 1);
        out->bytes = ald_stmt_i64(stmt, 2);
    }
    ald_stmt_reset(stmt);
    if (rc == ALD_OK)
        rc = browse_prepare(shelf, sql_strangers, &stmt);
    if (rc != ALD_OK)
        return rc == ALD_NOTFOUND ? ALD_OK : rc;
    ald_stmt_bind_str(stmt, 1, provider);
    ald_stmt_bind_i64(stmt, 2, BROWSE_IDS);
    return browse_ids(stmt, &out->ids);
}

/* One number, 0 when there is no row or it is NULL. */
static enum ald_rc browse_number(shelf_t *shelf, const char *sql, int64_t *out)
{
    ald_stmt_t *stmt;
    *out = 0;
    enum ald_rc rc = browse_prepare(shelf, sql, &stmt);
    if (rc != ALD_OK)
        return rc;
    rc = ald_stmt_step(stmt);
    if (rc == ALD_OK)
        *out = ald_stmt_i64(stmt, 0);
    ald_stmt_reset(stmt);
    return rc == ALD_NOTFOUND ? ALD_OK : rc;
}

enum ald_rc browse_floor(shelf_t *shelf, uint64_t *floor)
{
    int64_t sending = 0;
    int64_t closing = 0;
    int64_t next = 0;
    enum ald_rc rc = browse_number(shelf, sql_sending_floor, &sending);
    if (rc == ALD_OK)
        rc = browse_number(shelf, sql_closing_floor, &closing);
    if (rc == ALD_OK)
        rc = browse_number(shelf, sql_next_number, &next);
    if (rc != ALD_OK)
        return rc;
    int64_t lowest = next > 0 ? next : 1;
    if (sending > 0 && sending < lowest)
        lowest = sending;
    if (closing > 0 && closing < lowest)
        lowest = closing;
    *floor = (uint64_t)lowest;
    return ALD_OK;
}

enum ald_rc browse_oldest(shelf_t *shelf, int64_t *made_at_ms)
{
    return browse_number(shelf, sql_oldest, made_at_ms);
}

/* ---- history ---- */

enum ald_rc browse_history(shelf_t *shelf, const char *id, void *context,
                           void (*seen)(void *context, const struct shelf_attempt *attempt))
{
    ald_stmt_t *stmt;
    char by[ALD_WORD_MAX];
    char outcome[ALD_WORD_MAX];
    char detail[ALD_TEXT_MAX];
    char replay[ALD_ULID_MAX];
    enum ald_rc rc = browse_prepare(shelf, sql_history, &stmt);
    if (rc != ALD_OK)
        return rc;
    ald_stmt_bind_str(stmt, 1, id);
    ald_stmt_bind_i64(stmt, 2, BROWSE_LIMIT);
    while ((rc = ald_stmt_step(stmt)) == ALD_OK) {
        struct shelf_attempt attempt = {.attempt = (uint64_t)ald_stmt_i64(stmt, 0),
                                        .revision = (uint64_t)ald_stmt_i64(stmt, 1),
                                        .at_ms = ald_stmt_i64(stmt, 2),
                                        .by = by,
                                        .outcome = outcome,
                                        .detail = detail,
                                        .replay = replay};
        BROWSE_TEXT(by, 3);
        BROWSE_TEXT(outcome, 4);
        BROWSE_TEXT(detail, 5);
        BROWSE_TEXT(replay, 6);
        seen(context, &attempt);
    }
    ald_stmt_reset(stmt);
    return rc == ALD_NOTFOUND ? ALD_OK : rc;
}
