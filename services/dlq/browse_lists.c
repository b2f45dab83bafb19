/* Many letters: pages for people, and the walk of a bulk replay. */
#include <string.h>

#include "common/base/ident.h"
#include "common/base/text.h"
#include "services/dlq/browse_inside.h"

/* By what narrows most. ?1 the cursor, ?2 the limit, ?3 the value. */
static const char sql_list_live[] =
    BROWSE_ROW "WHERE live = 1 AND letter < ?1 ORDER BY letter DESC LIMIT ?2";
static const char sql_list_state[] =
    BROWSE_ROW "WHERE state = ?3 AND letter < ?1 ORDER BY letter DESC LIMIT ?2";
static const char sql_list_task[] =
    BROWSE_ROW "WHERE task > 0 AND task = ?3 AND letter < ?1 ORDER BY letter DESC LIMIT ?2";
/* Upwards, to ?4. */
static const char sql_walk_live[] =
    BROWSE_ROW "WHERE live = 1 AND letter > ?1 AND letter <= ?4 AND " ALD_STORE_IS_ID(
        "letter") " ORDER BY letter LIMIT ?2";
static const char sql_walk_task[] =
    BROWSE_ROW "WHERE task > 0 AND task = ?3 AND letter > ?1 AND letter <= ?4"
               " AND " ALD_STORE_IS_ID("letter") " ORDER BY letter LIMIT ?2";
static const char sql_message[] = "SELECT bytes FROM originals WHERE letter = ?1 AND revision = ?2";

/* What one step may look at: searching messages reads them. */
struct browse_budget {
    unsigned rows;
    uint64_t bytes;
};

static struct browse_budget browse_budget_of(const struct msg_letters *ask)
{
    if (ask->q[0] != '\0')
        return (struct browse_budget){.rows = BROWSE_FIND, .bytes = BROWSE_FIND_BYTES};
    return (struct browse_budget){.rows = BROWSE_SCAN, .bytes = UINT64_MAX};
}

static bool browse_holds(struct ald_span text, const char *q)
{
    return text.len > 0 && memmem(text.data, text.len, q, strlen(q)) != NULL;
}

/* Does the message as it is now hold q? Its bytes are used up. */
static enum ald_rc browse_message_holds(shelf_t *shelf, const struct shelf_row *row, const char *q,
                                        struct browse_budget *budget, bool *holds)
{
    ald_stmt_t *stmt;
    *holds = false;
    if (row->bytes == 0)
        return ALD_OK;
    enum ald_rc rc = browse_prepare(shelf, sql_message, &stmt);
    if (rc != ALD_OK)
        return rc;
    ald_stmt_bind_str(stmt, 1, row->id);
    ald_stmt_bind_i64(stmt, 2, (int64_t)row->letter.revision);
    rc = ald_stmt_step(stmt);
    if (rc == ALD_OK) {
        struct ald_span message = ald_stmt_blob(stmt, 0);
        *holds = browse_holds(message, q);
        budget->bytes -= message.len < budget->bytes ? message.len : budget->bytes;
    }
    ald_stmt_reset(stmt);
    return rc == ALD_NOTFOUND ? ALD_OK : rc;
}

static bool browse_word(const char *filter, const char *word)
{
    return filter[0] == '\0' || strcmp(filter, word) == 0;
}

/* All that the row alone can say. */
static bool browse_matches(const struct msg_letters *ask, const struct shelf_row *row)
{
    if (!browse_word(ask->reason, ald_reason_name(row->letter.reason)) ||
        !browse_word(ask->provider, row->provider) || !browse_word(ask->consumer, row->consumer) ||
        (ask->task != 0 && ask->task != row->task) ||
        (ask->since_ms != 0 && row->made_at_ms < ask->since_ms) ||
        (ask->until_ms != 0 && row->made_at_ms >= ask->until_ms))
        return false;
    if (ask->state[0] != '\0')
        return strcmp(ask->state, letter_state_name(row->letter.state)) == 0;
    return !letter_closed(row->letter.state);
}

static enum ald_rc browse_finds(shelf_t *shelf, const struct msg_letters *ask,
                                const struct shelf_row *row, struct browse_budget *budget,
                                bool *found)
{
    char task[ALD_TASK_ID_TEXT];
    *found = browse_matches(ask, row);
    if (!*found || ask->q[0] == '\0')
        return ALD_OK;
    ald_task_id_text(row->task, task);
    if (browse_holds(ald_span_str(row->cause), ask->q) ||
        browse_holds(ald_span_str(row->provider_id), ask->q) ||
        (row->task != 0 && browse_holds(ald_span_str(task), ask->q)))
        return ALD_OK;
    return browse_message_holds(shelf, row, ask->q, budget, found);
}

/* ---- pages ---- */

static enum ald_rc browse_list_prepare(shelf_t *shelf, const struct msg_letters *ask, unsigned rows,
                                       ald_stmt_t **out)
{
    const char *sql = ask->state[0] != '\0' ? sql_list_state : sql_list_live;
    if (ask->task != 0)
        sql = sql_list_task;
    enum ald_rc rc = browse_prepare(shelf, sql, out);
    if (rc != ALD_OK)
        return rc;
    /* Above every ULID, which begins with a digit from 0 to 7. */
    ald_stmt_bind_str(*out, 1, ask->cursor[0] != '\0' ? ask->cursor : "~");
    ald_stmt_bind_i64(*out, 2, rows);
    if (ask->task != 0)
        ald_stmt_bind_i64(*out, 3, (int64_t)ask->task);
    else if (ask->state[0] != '\0')
        ald_stmt_bind_str(*out, 3, ask->state);
    return ALD_OK;
}

enum ald_rc browse_list(shelf_t *shelf, const struct msg_letters *ask, void *context,
                        void (*seen)(void *context, const struct shelf_row *row), char *cursor)
{
    ald_stmt_t *stmt;
    uint64_t limit = ask->limit > 0 && ask->limit < BROWSE_LIMIT ? ask->limit : BROWSE_LIMIT;
    struct browse_budget budget = browse_budget_of(ask);
    enum ald_rc rc = browse_list_prepare(shelf, ask, budget.rows, &stmt);
    if (rc != ALD_OK)
        return rc;
    struct shelf_row row = {0};
    uint64_t found = 0;
    unsigned scanned = 0;
    cursor[0] = '\0';
    while (found < limit && budget.bytes > 0 && (rc = ald_stmt_step(stmt)) == ALD_OK) {
        bool match;
        browse_row(stmt, &row);
        scanned++;
        rc = browse_finds(shelf, ask, &row, &budget, &match);
        if (rc != ALD_OK)
            break;
        if (!match)
            continue;
        found++;
        seen(context, &row);
    }
    ald_stmt_reset(stmt);
    if (rc != ALD_OK && rc != ALD_NOTFOUND)
        return rc;
    if (found == limit || scanned == budget.rows || budget.bytes == 0)
        memcpy(cursor, row.id, sizeof row.id);
    return ALD_OK;
}

/* ---- the walk ---- */

static enum ald_rc browse_walk_prepare(shelf_t *shelf, const struct browse_walk *walk,
                                       unsigned rows, ald_stmt_t **out)
{
    const struct msg_letters *ask = walk->filter;
    enum ald_rc rc = browse_prepare(shelf, ask->task != 0 ? sql_walk_task : sql_walk_live, out);
    if (rc != ALD_OK)
        return rc;
    ald_stmt_bind_str(*out, 1, walk->cursor);
    ald_stmt_bind_i64(*out, 2, rows);
    if (ask->task != 0)
        ald_stmt_bind_i64(*out, 3, (int64_t)ask->task);
    ald_stmt_bind_str(*out, 4, walk->bound);
    return ALD_OK;
}

enum ald_rc browse_walk(shelf_t *shelf, struct browse_walk *walk, struct shelf_row *rows,
                        size_t most)
{
    ald_stmt_t *stmt;
    struct browse_budget budget = browse_budget_of(walk->filter);
    unsigned limit = budget.rows < BROWSE_STEP ? budget.rows : BROWSE_STEP;
    walk->count = 0;
    walk->scanned = 0;
    enum ald_rc rc = browse_walk_prepare(shelf, walk, limit, &stmt);
    if (rc != ALD_OK)
        return rc;
    while (walk->count < most && budget.bytes > 0 && (rc = ald_stmt_step(stmt)) == ALD_OK) {
        bool match;
        struct shelf_row *row = &rows[walk->count];
        browse_row(stmt, row);
        walk->scanned++;
        memcpy(walk->cursor, row->id, sizeof walk->cursor);
        rc = browse_finds(shelf, walk->filter, row, &budget, &match);
        if (rc != ALD_OK)
            break;
        walk->count += match;
    }
    ald_stmt_reset(stmt);
    walk->end = rc == ALD_NOTFOUND && walk->scanned < limit;
    return rc == ALD_NOTFOUND ? ALD_OK : rc;
}
