/* kept.h - what the store of a stage keeps of submissions. One thread. */
#ifndef ALD_TESTS_TRACKER_KEPT_H
#define ALD_TESTS_TRACKER_KEPT_H

#include "tests/unit/tracker/stage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

ALD_UNUSED static bool has_body(struct stage *stage, uint64_t task, const char *sql)
{
    ald_stmt_t *stmt = NULL;
    assert_int_equal(ald_store_prepare(stage->tracker.vault.store, sql, &stmt), ALD_OK);
    ald_stmt_bind_i64(stmt, 1, (int64_t)task);
    bool any = ald_stmt_step(stmt) == ALD_OK;
    ald_stmt_reset(stmt);
    return any;
}

/* Is what was submitted there to be sent by aldaba? */
ALD_UNUSED static bool kept(struct stage *stage, uint64_t task)
{
    return has_body(stage, task,
                    "SELECT 1 FROM submits WHERE task = ?1 AND body IS NOT NULL AND spare = 0");
}

/* ... or for a person alone, with its bytes counted? */
ALD_UNUSED static bool spare(struct stage *stage, uint64_t task)
{
    return has_body(stage, task,
                    "SELECT 1 FROM submits WHERE task = ?1 AND body IS NOT NULL AND stage = 3 AND"
                    " spare = LENGTH(body)");
}

#endif
