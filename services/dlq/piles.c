#include "services/dlq/piles.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/text.h"

enum { PILES_LIMIT = 200, PILES_SCAN = 2000 };

static const char sql_find[] =
    "SELECT pile FROM piles WHERE reason = ?1 AND cause = ?2 AND provider = ?3";
static const char sql_make[] =
    "INSERT INTO piles(pile, reason, cause, provider, count)"
    " VALUES((SELECT coalesce(max(pile), 0) + 1 FROM piles), ?1, ?2, ?3, 0) RETURNING pile";
static const char sql_add[] = "UPDATE piles SET count = count + ?2 WHERE pile = ?1";
static const char sql_clear[] = "DELETE FROM piles WHERE pile = ?1 AND count <= 0";
static const char sql_list[] = "SELECT pile, reason, cause, provider, count FROM piles"
                               " WHERE pile > ?1 ORDER BY pile LIMIT ?2";
static const char sql_oldest[] =
    "SELECT letter, made FROM letters WHERE pile > 0 AND pile = ?1 ORDER BY letter LIMIT 1";
static const char sql_newest[] =
    "SELECT letter, made FROM letters WHERE pile > 0 AND pile = ?1 ORDER BY letter DESC LIMIT 1";

/* Closed letters out, live ones in, counts again, and no empty rows. */
static const char sql_mend[] =
    "UPDATE letters SET pile = 0 WHERE pile > 0 AND live = 0;"
    "INSERT INTO piles(pile, reason, cause, provider, count)"
    " SELECT (SELECT coalesce(max(pile), 0) FROM piles) + row_number() OVER (), reason, cause,"
    " provider, 0 FROM letters WHERE live = 1 AND pile = 0 GROUP BY reason, cause, provider"
    " ON CONFLICT(reason, cause, provider) DO NOTHING;"
    "UPDATE letters SET pile = (SELECT p.pile FROM piles p WHERE p.reason = letters.reason"
    " AND p.cause = letters.cause AND p.provider = letters.provider) WHERE live = 1 AND pile = 0;"
    "UPDATE piles SET count = (SELECT count(*) FROM letters l WHERE l.pile > 0"
    " AND l.pile = piles.pile) WHERE count <> (SELECT count(*) FROM letters l WHERE l.pile > 0"
    " AND l.pile = piles.pile);"
    "DELETE FROM piles WHERE count = 0;";

static enum ald_rc piles_number(shelf_t *shelf, const char *sql, const struct shelf_row *row,
                                int64_t *pile)
{
    ald_stmt_t *stmt;
    enum ald_rc rc = ald_store_prepare(shelf_store(shelf), sql, &stmt);
    if (rc != ALD_OK)
        return rc;
    ald_stmt_bind_str(stmt, 1, ald_reason_name(row->letter.reason));
    ald_stmt_bind_str(stmt, 2, row->cause);
    ald_stmt_bind_str(stmt, 3, row->provider);
    rc = ald_stmt_step(stmt);
    if (rc == ALD_OK)
        *pile = ald_stmt_i64(stmt, 0);
    ald_stmt_reset(stmt);
    return rc;
}

static enum ald_rc piles_count(shelf_t *shelf, int64_t pile, int64_t sign)
{
    ald_stmt_t *stmt;
    enum ald_rc rc = ald_store_prepare(shelf_store(shelf), sql_add, &stmt);
    if (rc != ALD_OK)
        return rc;
    ald_stmt_bind_i64(stmt, 1, pile);
    ald_stmt_bind_i64(stmt, 2, sign);
    return ald_stmt_run(stmt);
}

enum ald_rc piles_join(shelf_t *shelf, const struct shelf_row *row, int64_t *pile)
{
    enum ald_rc rc = piles_number(shelf, sql_find, row, pile);
    if (rc == ALD_NOTFOUND)
        rc = piles_number(shelf, sql_make, row, pile);
    return rc == ALD_OK ? piles_count(shelf, *pile, 1) : rc;
}

enum ald_rc piles_leave(shelf_t *shelf, int64_t pile)
{
    ald_stmt_t *stmt;
    if (pile == 0)
        return ALD_OK;
    enum ald_rc rc = piles_count(shelf, pile, -1);
    if (rc == ALD_OK)
        rc = ald_store_prepare(shelf_store(shelf), sql_clear, &stmt);
    if (rc != ALD_OK)
        return rc;
    ald_stmt_bind_i64(stmt, 1, pile);
    return ald_stmt_run(stmt);
}

/* ---- for people ---- */

/* The letter at one end of a pile. */
static enum ald_rc piles_end(shelf_t *shelf, const char *sql, int64_t pile, int64_t *made_at_ms,
                             char letter[ALD_ULID_MAX])
{
    ald_stmt_t *stmt;
    enum ald_rc rc = ald_store_prepare(shelf_store(shelf), sql, &stmt);
    if (rc != ALD_OK)
        return rc;
    ald_stmt_bind_i64(stmt, 1, pile);
    rc = ald_stmt_step(stmt);
    if (rc == ALD_OK) {
        ald_text_cut(letter, ALD_ULID_MAX, ald_stmt_text(stmt, 0));
        *made_at_ms = ald_stmt_i64(stmt, 1);
    }
    ald_stmt_reset(stmt);
    return rc == ALD_NOTFOUND ? ALD_OK : rc;
}

static bool piles_match(const struct msg_letter_groups *ask, const struct msg_letter_group *group)
{
    return (ask->reason[0] == '\0' || strcmp(ask->reason, group->reason) == 0) &&
           (ask->provider[0] == '\0' || strcmp(ask->provider, group->provider) == 0);
}

static int64_t piles_row(ald_stmt_t *stmt, struct msg_letter_group *out)
{
    *out = (struct msg_letter_group){.count = (uint64_t)ald_stmt_i64(stmt, 4)};
    ald_text_cut(out->reason, sizeof out->reason, ald_stmt_text(stmt, 1));
    ald_text_cut(out->cause, sizeof out->cause, ald_stmt_text(stmt, 2));
    ald_text_cut(out->provider, sizeof out->provider, ald_stmt_text(stmt, 3));
    return ald_stmt_i64(stmt, 0);
}

/* A cursor is the number of a pile; another one's is from the start. */
static int64_t piles_after(const char *cursor)
{
    uint64_t after = 0;
    return ald_text_u64(ald_span_str(cursor), &after) == ALD_OK && after < INT64_MAX
               ? (int64_t)after
               : 0;
}

enum ald_rc piles_list(shelf_t *shelf, const struct msg_letter_groups *ask, void *context,
                       void (*seen)(void *context, const struct msg_letter_group *group),
                       char *cursor)
{
    ald_stmt_t *stmt;
    struct msg_letter_group group;
    int64_t pile = 0;
    uint64_t found = 0;
    unsigned scanned = 0;
    uint64_t limit = ask->limit > 0 && ask->limit < PILES_LIMIT ? ask->limit : PILES_LIMIT;
    cursor[0] = '\0';
    enum ald_rc rc =
        shelf_ready(shelf) ? ald_store_prepare(shelf_store(shelf), sql_list, &stmt) : ALD_IO;
    if (rc != ALD_OK)
        return rc;
    ald_stmt_bind_i64(stmt, 1, piles_after(ask->cursor));
    ald_stmt_bind_i64(stmt, 2, PILES_SCAN);
    while (found < limit && (rc = ald_stmt_step(stmt)) == ALD_OK) {
        pile = piles_row(stmt, &group);
        scanned++;
        if (!piles_match(ask, &group))
            continue;
        found++;
        rc = piles_end(shelf, sql_oldest, pile, &group.oldest_at_ms, group.example);
        if (rc == ALD_OK)
            rc = piles_end(shelf, sql_newest, pile, &group.newest_at_ms, group.example);
        if (rc != ALD_OK)
            break;
        seen(context, &group);
    }
    ald_stmt_reset(stmt);
    if (rc != ALD_OK && rc != ALD_NOTFOUND)
        return rc;
    if (found == limit || scanned == PILES_SCAN)
        (void)snprintf(cursor, ALD_POSITION_MAX, "%" PRId64, pile);
    return ALD_OK;
}

enum ald_rc piles_mend(shelf_t *shelf)
{
    return ald_store_exec(shelf_store(shelf), sql_mend);
}
