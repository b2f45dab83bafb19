#include "common/store/sqlite.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { CHECK_FAULTS_MAX = 100 };

struct check_pages {
    ald_store_fault_fn *fn;
    void *context;
    unsigned faults;
    int64_t last;
};

/* The engine may read a page again and again. */
static void check_page(void *context, int64_t page)
{
    struct check_pages *self = context;
    char text[96];
    if (page == self->last || self->faults++ >= CHECK_FAULTS_MAX)
        return;
    self->last = page;
    int len = snprintf(text, sizeof text, "page %lld is not as it was written", (long long)page);
    self->fn(self->context, ald_span_of(text, (size_t)len));
}

static enum ald_rc check_engine(ald_store_t *self, ald_store_fault_fn *fn, void *context);

bool ald_store_summed(ald_store_t *self)
{
    return store_pages_summed(self->db);
}

/* What nobody writes is read to the last page, also where it holds nothing. */
enum ald_rc ald_store_check(ald_store_t *self, ald_store_fault_fn *fn, void *context)
{
    struct check_pages pages = {.fn = fn, .context = context};
    store_pages_watch(self->db, check_page, &pages);
    enum ald_rc rc = self->still ? store_rc(self, store_pages_read_all(self->db)) : ALD_OK;
    if (rc == ALD_OK)
        rc = check_engine(self, fn, context);
    store_pages_watch(self->db, NULL, NULL);
    return rc;
}

/* The engine answers with one row, "ok", or with a row for each fault. */
static enum ald_rc check_engine(ald_store_t *self, ald_store_fault_fn *fn, void *context)
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
