#include "common/store/sqlite.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { CHECK_FAULTS_MAX = 100 };

/* The engine answers with one row, "ok", or with a row for each fault. */
enum ald_rc ald_store_check(ald_store_t *self, ald_store_fault_fn *fn, void *context)
{
    ald_stmt_t *stmt = NULL;
    unsigned faults = 0;
    enum ald_rc rc = ald_store_prepare(self, "PRAGMA integrity_check(100)", &stmt);
    if (rc != ALD_OK)
        return rc;
    while ((rc = ald_stmt_step(stmt)) == ALD_OK && faults < CHECK_FAULTS_MAX) {
        struct ald_span said = ald_stmt_text(stmt, 0);
        if (ald_span_eq_str(said, "ok"))
            continue;
        fn(context, said);
        faults++;
    }
    ald_stmt_reset(stmt);
    return rc == ALD_NOTFOUND ? ALD_OK : rc;
}

bool ald_store_has_log(const char *path)
{
    char log[ALD_STORE_PATH_MAX + 8];
    struct stat facts;
    (void)snprintf(log, sizeof log, "%s-wal", path);
    return stat(log, &facts) == 0 && facts.st_size > 0;
}
