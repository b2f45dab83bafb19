#include "common/store/spool_self.h"

#include <stdio.h>
#include <string.h>

#include "common/store/report.h"

enum { CHECK_PAGE_ROWS = 500, CHECK_SHOWN_MAX = 5 };

struct spool_check {
    ald_store_t *store;
    struct ald_report *report;
    int64_t after;
    int64_t items, bytes, spoilt;
};

static void check_fault(void *context, struct ald_span fault)
{
    const struct spool_check *self = context;
    ald_report_problem(self->report, "spool.db: %.*s", (int)fault.len, (const char *)fault.data);
}

static void check_row(struct spool_check *self, ald_stmt_t *stmt)
{
    struct ald_spool_item item;
    bool whole = spool_row_whole(stmt, &item);
    self->after = ald_stmt_i64(stmt, 0);
    self->items++;
    self->bytes += (int64_t)item.bytes.len;
    if (whole)
        return;
    if (self->spoilt++ < CHECK_SHOWN_MAX)
        ald_report_problem(self->report,
                           "spool.db: callback %lld is not as it was written; it will be moved to "
                           "the table `damaged`",
                           (long long)self->after);
}

/* A page in a transaction of its own, so that a gateway at work is not held up. ALD_NOTFOUND: all
 * were read. */
static enum ald_rc check_page(struct spool_check *self)
{
    ald_stmt_t *stmt = NULL;
    int rows = 0;
    enum ald_rc rc = ald_store_prepare(self->store,
                                       "SELECT num, at_ms, provider, proof, size, sum, bytes FROM "
                                       "spool WHERE num > ?1 ORDER BY num LIMIT ?2",
                                       &stmt);
    if (rc != ALD_OK)
        return rc;
    const int64_t before = self->after;
    ald_stmt_bind_i64(stmt, 1, before);
    ald_stmt_bind_i64(stmt, 2, CHECK_PAGE_ROWS);
    for (; (rc = ald_stmt_step(stmt)) == ALD_OK; rows++)
        check_row(self, stmt);
    ald_stmt_reset(stmt);
    /* In a damaged tree rows may come that are not beyond the last one: nothing would end then. */
    return rc == ALD_NOTFOUND && rows > 0 && self->after > before ? ALD_OK : rc;
}

static enum ald_rc check_damaged(struct spool_check *self)
{
    ald_stmt_t *stmt = NULL;
    enum ald_rc rc = ald_store_prepare(self->store, "SELECT count(*) FROM damaged", &stmt);
    if (rc == ALD_OK)
        rc = ald_stmt_step(stmt);
    int64_t damaged = rc == ALD_OK ? ald_stmt_i64(stmt, 0) : 0;
    if (stmt != NULL)
        ald_stmt_reset(stmt);
    ald_report_fact(self->report, "spool.damaged", damaged);
    if (damaged > 0)
        ald_report_note(
            self->report,
            "spool.db: %lld callbacks could not be read once, and are kept in the table "
            "`damaged`",
            (long long)damaged);
    return rc;
}

static enum ald_rc check_all(struct spool_check *self)
{
    enum ald_rc rc = ald_store_check(self->store, check_fault, self);
    if (rc == ALD_OK && !ald_store_summed(self->store))
        ald_report_note(self->report, "spool.db: its pages carry no sums yet, so not every flipped "
                                      "bit is found");
    while (rc == ALD_OK)
        rc = check_page(self);
    if (rc != ALD_NOTFOUND)
        return rc;
    ald_report_fact(self->report, "spool.items", self->items);
    ald_report_fact(self->report, "spool.bytes", self->bytes);
    if (self->spoilt > CHECK_SHOWN_MAX)
        ald_report_problem(self->report, "spool.db: %lld callbacks are not as they were written",
                           (long long)self->spoilt);
    return check_damaged(self);
}

enum ald_rc ald_spool_check(const char *dir, struct ald_report *report, struct ald_err *err)
{
    char path[ALD_STORE_PATH_MAX];
    struct spool_check self = {.report = report};
    enum ald_rc rc = ald_spool_find(dir, err);
    if (rc != ALD_OK)
        return rc;
    (void)snprintf(path, sizeof path, "%s/spool.db", dir);
    struct ald_store_options options = spool_store_options(path);
    options.read_only = true;
    options.older = true;
    options.still = !ald_store_has_log(path);
    rc = ald_store_open(&options, &self.store, err);
    if (rc != ALD_OK)
        return rc;
    rc = check_all(&self);
    if (rc != ALD_OK)
        rc = ald_err_set(err, rc, "%s can't be read to its end: %s.", path,
                         ald_store_message(self.store));
    ald_store_destroy(&self.store);
    return rc;
}
