#include "services/dlq/replays.h"

#include <string.h>

#include "common/base/text.h"
#include "services/dlq/browse_inside.h"

enum { REPLAYS_LIMIT = 200, REPLAYS_COUNTS_MAX = 1000 };

#define REPLAYS_ROW                                                                                \
    "SELECT replay, state, reason, provider, letter_state, task, since, until, q, consumer, rate," \
    " believe, dry_run, who, made, begun, ended, bound, cursor, total, scanned, seen, replayed,"   \
    " answered, skipped FROM replays "

static const char sql_add[] =
    "INSERT INTO replays(replay, state, live, reason, provider, letter_state, task, since, until,"
    " q, consumer, rate, believe, dry_run, who, made, begun, ended, bound, cursor, total, scanned,"
    " seen, replayed, answered, skipped) VALUES(?1, ?2, 1, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11,"
    " ?12, ?13, ?14, ?15, 0, 0, ?16, '', ?17, 0, 0, 0, 0, 0)";
static const char sql_save[] =
    "UPDATE replays SET state = ?2, live = ?3, begun = ?4, ended = ?5, cursor = ?6, scanned = ?7,"
    " seen = ?8, replayed = ?9, answered = ?10, skipped = ?11 WHERE replay = ?1";
static const char sql_find[] = REPLAYS_ROW "WHERE replay = ?1";
static const char sql_in_state[] =
    REPLAYS_ROW "WHERE live = 1 AND state = ?1 ORDER BY replay LIMIT 1";
static const char sql_unfinished[] = "SELECT count(*) FROM replays WHERE live = 1";
static const char sql_bound[] = "SELECT letter FROM letters ORDER BY letter DESC LIMIT 1";
static const char sql_count[] =
    "INSERT INTO replay_counts(replay, result, reason, why, count) VALUES(?1, ?2, ?3, ?4, ?5)"
    " ON CONFLICT(replay, result, reason, why) DO UPDATE SET count = replay_counts.count + ?5";
static const char sql_answered[] = "UPDATE replays SET answered = answered + 1 WHERE replay = ?1";
static const char sql_list[] = REPLAYS_ROW "WHERE replay < ?1 ORDER BY replay DESC LIMIT ?2";
static const char sql_counts[] = "SELECT result, reason, why, count FROM replay_counts"
                                 " WHERE replay = ?1 ORDER BY result, reason, why LIMIT ?2";
static const char sql_purgeable[] =
    "SELECT replay FROM replays WHERE live = 0 AND ended < ?1 ORDER BY replay LIMIT ?2";
static const char sql_purge[] = "DELETE FROM replays WHERE replay = ?1";
static const char sql_purge_counts[] = "DELETE FROM replay_counts WHERE replay = ?1";
static const char sql_unmended[] = "SELECT letter FROM letters WHERE replay <> ''"
                                   " AND (live = 0 OR by_person = 0) LIMIT ?1";

enum ald_rc replays_add(shelf_t *shelf, const struct replay *replay)
{
    ald_stmt_t *stmt;
    const struct msg_letters *filter = &replay->filter;
    enum ald_rc rc = browse_prepare(shelf, sql_add, &stmt);
    if (rc != ALD_OK)
        return rc;
    ald_stmt_bind_str(stmt, 1, replay->id);
    ald_stmt_bind_str(stmt, 2, replay_state_name(replay->state));
    ald_stmt_bind_str(stmt, 3, filter->reason);
    ald_stmt_bind_str(stmt, 4, filter->provider);
    ald_stmt_bind_str(stmt, 5, filter->state);
    ald_stmt_bind_i64(stmt, 6, (int64_t)filter->task);
    ald_stmt_bind_i64(stmt, 7, filter->since_ms);
    ald_stmt_bind_i64(stmt, 8, filter->until_ms);
    ald_stmt_bind_str(stmt, 9, filter->q);
    ald_stmt_bind_str(stmt, 10, filter->consumer);
    ald_stmt_bind_i64(stmt, 11, (int64_t)replay->rate);
    ald_stmt_bind_i64(stmt, 12, replay->word);
    ald_stmt_bind_i64(stmt, 13, replay->dry_run);
    ald_stmt_bind_str(stmt, 14, replay->by);
    ald_stmt_bind_i64(stmt, 15, replay->made_at_ms);
    ald_stmt_bind_str(stmt, 16, replay->bound);
    ald_stmt_bind_i64(stmt, 17, (int64_t)replay->total);
    return ald_stmt_run(stmt);
}

enum ald_rc replays_save(shelf_t *shelf, const struct replay *replay)
{
    ald_stmt_t *stmt;
    enum ald_rc rc = browse_prepare(shelf, sql_save, &stmt);
    if (rc != ALD_OK)
        return rc;
    ald_stmt_bind_str(stmt, 1, replay->id);
    ald_stmt_bind_str(stmt, 2, replay_state_name(replay->state));
    ald_stmt_bind_i64(stmt, 3, !replay_ended(replay->state));
    ald_stmt_bind_i64(stmt, 4, replay->begun_at_ms);
    ald_stmt_bind_i64(stmt, 5, replay->ended_at_ms);
    ald_stmt_bind_str(stmt, 6, replay->cursor);
    ald_stmt_bind_i64(stmt, 7, (int64_t)replay->scanned);
    ald_stmt_bind_i64(stmt, 8, (int64_t)replay->seen);
    ald_stmt_bind_i64(stmt, 9, (int64_t)replay->replayed);
    ald_stmt_bind_i64(stmt, 10, (int64_t)replay->answered);
    ald_stmt_bind_i64(stmt, 11, (int64_t)replay->skipped);
    return ald_stmt_run(stmt);
}

/* ---- reading ---- */

#define REPLAYS_TEXT(field, column)                                                                \
    ald_text_cut((field), sizeof(field), ald_stmt_text(stmt, (column)))

static void replays_row_filter(ald_stmt_t *stmt, struct msg_letters *out)
{
    REPLAYS_TEXT(out->reason, 2);
    REPLAYS_TEXT(out->provider, 3);
    REPLAYS_TEXT(out->state, 4);
    out->task = (uint64_t)ald_stmt_i64(stmt, 5);
    out->since_ms = ald_stmt_i64(stmt, 6);
    out->until_ms = ald_stmt_i64(stmt, 7);
    REPLAYS_TEXT(out->q, 8);
    REPLAYS_TEXT(out->consumer, 9);
}

static void replays_row(ald_stmt_t *stmt, struct replay *out)
{
    char word[ALD_WORD_MAX];
    *out = (struct replay){0};
    REPLAYS_TEXT(out->id, 0);
    REPLAYS_TEXT(word, 1);
    if (!replay_state_find(word, &out->state))
        out->state = REPLAY_PAUSED;
    replays_row_filter(stmt, &out->filter);
    out->rate = (uint64_t)ald_stmt_i64(stmt, 10);
    out->word = letter_word_kept(ald_stmt_i64(stmt, 11));
    out->dry_run = ald_stmt_i64(stmt, 12) != 0;
    REPLAYS_TEXT(out->by, 13);
    out->made_at_ms = ald_stmt_i64(stmt, 14);
    out->begun_at_ms = ald_stmt_i64(stmt, 15);
    out->ended_at_ms = ald_stmt_i64(stmt, 16);
    REPLAYS_TEXT(out->bound, 17);
    REPLAYS_TEXT(out->cursor, 18);
    out->total = (uint64_t)ald_stmt_i64(stmt, 19);
    out->scanned = (uint64_t)ald_stmt_i64(stmt, 20);
    out->seen = (uint64_t)ald_stmt_i64(stmt, 21);
    out->replayed = (uint64_t)ald_stmt_i64(stmt, 22);
    out->answered = (uint64_t)ald_stmt_i64(stmt, 23);
    out->skipped = (uint64_t)ald_stmt_i64(stmt, 24);
}

static enum ald_rc replays_one(shelf_t *shelf, const char *sql, const char *key, struct replay *out)
{
    ald_stmt_t *stmt;
    enum ald_rc rc = browse_prepare(shelf, sql, &stmt);
    if (rc != ALD_OK)
        return rc;
    ald_stmt_bind_str(stmt, 1, key);
    rc = ald_stmt_step(stmt);
    if (rc == ALD_OK)
        replays_row(stmt, out);
    ald_stmt_reset(stmt);
    return rc;
}

enum ald_rc replays_find(shelf_t *shelf, const char *id, struct replay *out)
{
    return replays_one(shelf, sql_find, id, out);
}

enum ald_rc replays_current(shelf_t *shelf, struct replay *out)
{
    enum ald_rc rc = replays_one(shelf, sql_in_state, replay_state_name(REPLAY_RUNNING), out);
    if (rc == ALD_NOTFOUND)
        rc = replays_one(shelf, sql_in_state, replay_state_name(REPLAY_QUEUED), out);
    return rc;
}

enum ald_rc replays_unfinished(shelf_t *shelf, int64_t *count)
{
    ald_stmt_t *stmt;
    enum ald_rc rc = browse_prepare(shelf, sql_unfinished, &stmt);
    if (rc != ALD_OK)
        return rc;
    rc = ald_stmt_step(stmt);
    *count = rc == ALD_OK ? ald_stmt_i64(stmt, 0) : 0;
    ald_stmt_reset(stmt);
    return rc;
}

enum ald_rc replays_bound(shelf_t *shelf, char bound[ALD_ULID_MAX])
{
    ald_stmt_t *stmt;
    bound[0] = '\0';
    enum ald_rc rc = browse_prepare(shelf, sql_bound, &stmt);
    if (rc != ALD_OK)
        return rc;
    rc = ald_stmt_step(stmt);
    if (rc == ALD_OK)
        ald_text_cut(bound, ALD_ULID_MAX, ald_stmt_text(stmt, 0));
    ald_stmt_reset(stmt);
    return rc == ALD_NOTFOUND ? ALD_OK : rc;
}

enum ald_rc replays_list(shelf_t *shelf, const struct msg_replay_list *ask, void *context,
                         void (*seen)(void *context, const struct replay *replay),
                         char cursor[ALD_ULID_MAX])
{
    ald_stmt_t *stmt;
    struct replay replay = {0};
    uint64_t limit = ask->limit > 0 && ask->limit < REPLAYS_LIMIT ? ask->limit : REPLAYS_LIMIT;
    uint64_t found = 0;
    cursor[0] = '\0';
    enum ald_rc rc = browse_prepare(shelf, sql_list, &stmt);
    if (rc != ALD_OK)
        return rc;
    ald_stmt_bind_str(stmt, 1, ask->cursor[0] != '\0' ? ask->cursor : "~"); /* above every ULID */
    ald_stmt_bind_i64(stmt, 2, (int64_t)limit);
    while ((rc = ald_stmt_step(stmt)) == ALD_OK) {
        replays_row(stmt, &replay);
        found++;
        seen(context, &replay);
    }
    ald_stmt_reset(stmt);
    if (found == limit)
        memcpy(cursor, replay.id, sizeof replay.id);
    return rc == ALD_NOTFOUND ? ALD_OK : rc;
}

enum ald_rc replays_counts(shelf_t *shelf, const char *id, void *context,
                           void (*seen)(void *context, const struct msg_replay_count *count))
{
    ald_stmt_t *stmt;
    struct msg_replay_count count = {0};
    enum ald_rc rc = browse_prepare(shelf, sql_counts, &stmt);
    if (rc != ALD_OK)
        return rc;
    ald_text_cut(count.replay, sizeof count.replay, ald_span_str(id));
    ald_stmt_bind_str(stmt, 1, id);
    ald_stmt_bind_i64(stmt, 2, REPLAYS_COUNTS_MAX);
    while ((rc = ald_stmt_step(stmt)) == ALD_OK) {
        REPLAYS_TEXT(count.result, 0);
        REPLAYS_TEXT(count.reason, 1);
        REPLAYS_TEXT(count.why, 2);
        count.count = (uint64_t)ald_stmt_i64(stmt, 3);
        seen(context, &count);
    }
    ald_stmt_reset(stmt);
    return rc == ALD_NOTFOUND ? ALD_OK : rc;
}

/* ---- what came of their letters ---- */

enum ald_rc replays_count(shelf_t *shelf, const char *id, const struct msg_replay_count *count)
{
    ald_stmt_t *stmt;
    enum ald_rc rc = browse_prepare(shelf, sql_count, &stmt);
    if (rc != ALD_OK)
        return rc;
    ald_stmt_bind_str(stmt, 1, id);
    ald_stmt_bind_str(stmt, 2, count->result);
    ald_stmt_bind_str(stmt, 3, count->reason);
    ald_stmt_bind_str(stmt, 4, count->why);
    ald_stmt_bind_i64(stmt, 5, (int64_t)count->count);
    return ald_stmt_run(stmt);
}

enum ald_rc replays_answered(shelf_t *shelf, const char *id, enum ald_reason reason,
                             const char *outcome)
{
    ald_stmt_t *stmt;
    struct msg_replay_count count = {.count = 1};
    enum ald_rc rc = browse_prepare(shelf, sql_answered, &stmt);
    if (rc != ALD_OK)
        return rc;
    ald_stmt_bind_str(stmt, 1, id);
    rc = ald_stmt_run(stmt);
    if (rc != ALD_OK || ald_store_changes(shelf_store(shelf)) == 0)
        return rc;
    ald_text_cut(count.result, sizeof count.result, ald_span_str(outcome));
    ald_text_cut(count.reason, sizeof count.reason, ald_span_str(ald_reason_name(reason)));
    return replays_count(shelf, id, &count);
}

/* ---- upkeep ---- */

static enum ald_rc replays_delete(shelf_t *shelf, const char *sql, const char *id)
{
    ald_stmt_t *stmt;
    enum ald_rc rc = browse_prepare(shelf, sql, &stmt);
    if (rc != ALD_OK)
        return rc;
    ald_stmt_bind_str(stmt, 1, id);
    return ald_stmt_run(stmt);
}

static enum ald_rc replays_ids(ald_stmt_t *stmt, struct browse_ids *out)
{
    enum ald_rc rc = ALD_NOTFOUND;
    out->count = 0;
    while (out->count < BROWSE_IDS && (rc = ald_stmt_step(stmt)) == ALD_OK)
        ald_text_cut(out->id[out->count++], ALD_ULID_MAX, ald_stmt_text(stmt, 0));
    ald_stmt_reset(stmt);
    return rc == ALD_NOTFOUND ? ALD_OK : rc;
}

enum ald_rc replays_purge(shelf_t *shelf, int64_t before_ms, unsigned limit)
{
    ald_stmt_t *stmt;
    struct browse_ids ids;
    enum ald_rc rc = browse_prepare(shelf, sql_purgeable, &stmt);
    if (rc != ALD_OK)
        return rc;
    ald_stmt_bind_i64(stmt, 1, before_ms);
    ald_stmt_bind_i64(stmt, 2, limit);
    rc = replays_ids(stmt, &ids);
    for (size_t i = 0; i < ids.count && rc == ALD_OK; i++) {
        rc = replays_delete(shelf, sql_purge_counts, ids.id[i]);
        if (rc == ALD_OK)
            rc = replays_delete(shelf, sql_purge, ids.id[i]);
    }
    return rc;
}

enum ald_rc replays_mend(shelf_t *shelf)
{
    struct browse_ids ids;
    enum ald_rc rc = ALD_OK;
    do {
        ald_stmt_t *stmt;
        rc = browse_prepare(shelf, sql_unmended, &stmt);
        if (rc != ALD_OK)
            return rc;
        ald_stmt_bind_i64(stmt, 1, BROWSE_IDS);
        rc = replays_ids(stmt, &ids);
        for (size_t i = 0; i < ids.count && rc == ALD_OK; i++) {
            struct shelf_row row;
            rc = browse_find(shelf, ids.id[i], &row);
            if (rc == ALD_OK)
                rc = shelf_update(shelf, &row);
        }
    } while (rc == ALD_OK && ids.count == BROWSE_IDS);
    return rc;
}
