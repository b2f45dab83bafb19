#include "tests/unit/store/schema.h"

#include <stdio.h>

#include "common/base/guard.h"

/* The later steps would be seen to have run twice. */
static const struct ald_store_step schema_steps[SCHEMA_VERSIONS] = {
    {1, 1,
     "CREATE TABLE rows(n BIGINT PRIMARY KEY, body BLOB NOT NULL);"
     "CREATE TABLE steps(name TEXT NOT NULL)"},
    {2, 1,
     "ALTER TABLE rows ADD COLUMN note TEXT NOT NULL DEFAULT '';"
     "INSERT INTO steps VALUES('two'); UPDATE rows SET note = note || 'x'"},
    {3, 2,
     "CREATE TABLE more(n BIGINT PRIMARY KEY); INSERT INTO steps VALUES('three');"
     "INSERT INTO more SELECT n FROM rows; CREATE INDEX rows_note ON rows(note)"},
};

struct ald_store_options schema_options(const char *path, size_t versions)
{
    return (struct ald_store_options){.path = path,
                                      .application_id = SCHEMA_APPLICATION_ID,
                                      .steps = schema_steps,
                                      .step_count = versions,
                                      .busy_ms = 100};
}

ald_store_t *schema_open(const char *path, size_t versions)
{
    struct ald_store_options options = schema_options(path, versions);
    struct ald_err err = {0};
    ald_store_t *store = NULL;
    enum ald_rc rc = ald_store_open(&options, &store, &err);
    if (rc != ALD_OK)
        fprintf(stderr, "%s: %s\n", ald_rc_name(rc), err.text);
    ALD_ASSERT(rc == ALD_OK);
    return store;
}

enum ald_rc schema_insert(ald_store_t *store, int64_t n)
{
    static const uint8_t body[400] = {1, 2, 3};
    ald_stmt_t *stmt = NULL;
    enum ald_rc rc = ald_store_prepare(store, "INSERT INTO rows(n, body) VALUES(?, ?)", &stmt);
    if (rc != ALD_OK)
        return rc;
    ald_stmt_bind_i64(stmt, 1, n);
    ald_stmt_bind_blob(stmt, 2, ald_span_of(body, sizeof body));
    return ald_stmt_run(stmt);
}

enum ald_rc schema_commit(ald_store_t *store, int64_t first, int64_t count)
{
    enum ald_rc rc = ald_store_begin(store);
    if (rc != ALD_OK)
        return rc;
    for (int64_t n = first; n < first + count && rc == ALD_OK; n++)
        rc = schema_insert(store, n);
    if (rc == ALD_OK)
        return ald_store_commit(store);
    ald_store_rollback(store);
    return rc;
}

int64_t schema_get(ald_store_t *store, const char *sql)
{
    ald_stmt_t *stmt = NULL;
    if (ald_store_prepare(store, sql, &stmt) != ALD_OK)
        return -1;
    int64_t value = ald_stmt_step(stmt) == ALD_OK ? ald_stmt_i64(stmt, 0) : -1;
    ald_stmt_reset(stmt);
    return value;
}

int64_t schema_missing(ald_store_t *store, int64_t last)
{
    ald_stmt_t *stmt = NULL;
    if (ald_store_prepare(store, "SELECT count(*) FROM rows WHERE n BETWEEN 1 AND ?", &stmt) !=
        ALD_OK)
        return -1;
    ald_stmt_bind_i64(stmt, 1, last);
    int64_t found = ald_stmt_step(stmt) == ALD_OK ? ald_stmt_i64(stmt, 0) : -1;
    ald_stmt_reset(stmt);
    return found < 0 ? -1 : last - found;
}

static void schema_fault(void *context, struct ald_span fault)
{
    (void)fault;
    ++*(unsigned *)context;
}

unsigned schema_faults(const char *path, size_t versions, bool still)
{
    struct ald_store_options options = schema_options(path, versions);
    struct ald_err err = {0};
    ald_store_t *store = NULL;
    unsigned faults = 0;
    options.read_only = true;
    options.older = true;
    options.still = still;
    if (ald_store_open(&options, &store, &err) != ALD_OK ||
        ald_store_check(store, schema_fault, &faults) != ALD_OK)
        faults = SCHEMA_UNREADABLE;
    ald_store_destroy(&store);
    return faults;
}
