#include "services/tracker/verify.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/regular.h"
#include "services/tracker/keyfile.h"
#include "services/tracker/recount.h"
#include "services/tracker/vault.h"

struct verify {
    ald_store_t *store;
    struct ald_report *report;
};

static void verify_fault(void *context, struct ald_span fault)
{
    const struct verify *self = context;
    ald_report_problem(self->report, "tracker.db: %.*s", (int)fault.len, (const char *)fault.data);
}

static enum ald_rc verify_number(struct verify *self, const char *sql, int64_t *out)
{
    ald_stmt_t *stmt = NULL;
    enum ald_rc rc = ald_store_prepare(self->store, sql, &stmt);
    *out = 0;
    if (rc != ALD_OK)
        return rc;
    rc = ald_stmt_step(stmt);
    *out = rc == ALD_OK ? ald_stmt_i64(stmt, 0) : 0;
    ald_stmt_reset(stmt);
    return rc == ALD_NOTFOUND ? ALD_OK : rc;
}

static void verify_count(void *context, const char *name, int64_t value, const char *problem)
{
    const struct verify *self = context;
    ald_report_fact(self->report, name, value);
    if (problem[0] != '\0')
        ald_report_problem(self->report, "tracker.db: %s", problem);
}

/* Rows against the books, and the books against each other. */
static enum ald_rc verify_books(struct verify *self)
{
    struct recount count;
    const char *which = "";
    enum ald_rc rc = ALD_AGAIN;
    recount_begin(&count);
    while (rc == ALD_AGAIN)
        rc = recount_page(&count, self->store);
    if (rc == ALD_TIMEOUT) {
        ald_report_note(self->report, "tracker.db: what is counted never stood still, so the books "
                                      "were not held against the rows; look again");
        return ALD_OK;
    }
    if (rc != ALD_OK)
        return rc;
    recount_tell(&count, verify_count, self);
    const int64_t *closed = count.sums.counted;
    int64_t open =
        count.sums.letters - closed[BOOK_LETTERS_RESOLVED] - closed[BOOK_LETTERS_DROPPED];
    if (!books_balance(&count.now, recount_open(&count), open, &which))
        ald_report_problem(self->report, "tracker.db: %s", which);
    return ALD_OK;
}

static enum ald_rc verify_letters(struct verify *self, const char *sql, const char *word)
{
    ald_stmt_t *stmt = NULL;
    enum ald_rc rc = ald_store_prepare(self->store, sql, &stmt);
    if (rc != ALD_OK)
        return rc;
    while ((rc = ald_stmt_step(stmt)) == ALD_OK)
        ald_report_letter(self->report, ald_stmt_text(stmt, 0), word);
    ald_stmt_reset(stmt);
    return rc == ALD_NOTFOUND ? ALD_OK : rc;
}

static enum ald_rc verify_rows(struct verify *self)
{
    int64_t value = 0;
    enum ald_rc rc = verify_books(self);
    if (rc == ALD_OK)
        rc = verify_letters(self, "SELECT letter FROM letters WHERE state = 0 ORDER BY letter",
                            "open");
    if (rc == ALD_OK)
        rc = verify_letters(self, "SELECT letter FROM outbox WHERE closes = 0 ORDER BY letter",
                            "outbox");
    if (rc == ALD_OK)
        rc = verify_number(self, "SELECT max(seq) FROM results", &value);
    ald_report_fact(self->report, "feed.seq", value);
    if (rc == ALD_OK)
        rc = verify_number(self, "SELECT value FROM facts WHERE name = 'lane'", &value);
    ald_report_fact(self->report, "feed.lane", value);
    return rc;
}

static enum ald_rc verify_store(struct verify *self)
{
    const struct ald_store_options newest = vault_options("", true);
    int64_t ours = newest.steps[newest.step_count - 1].version;
    int64_t version = ald_store_version(self->store);
    ald_report_fact(self->report, "tracker.schema", version);
    enum ald_rc rc = ald_store_check(self->store, verify_fault, self);
    if (rc != ALD_OK || version >= ours)
        return rc == ALD_OK ? verify_rows(self) : rc;
    ald_report_note(
        self->report,
        "tracker.db has schema %lld; a tracker of this version brings it to %lld at its "
        "start. Its rows were not counted",
        (long long)version, (long long)ours);
    return ALD_OK;
}

/* ---- the key ---- */

/* A key that is elsewhere, by security.callback_keys, is for the asker to look for. */
static void verify_key(struct verify *self, const char *dir)
{
    char path[ALD_STORE_PATH_MAX + 16];
    struct ald_err err = {0};
    struct ald_keys keys = {0};
    (void)snprintf(path, sizeof path, "%s/callback.key", dir);
    if (access(path, F_OK) != 0 && errno == ENOENT) {
        ald_report_fact(self->report, "key.there", 0);
        return;
    }
    ald_report_fact(self->report, "key.there", 1);
    if (keyfile_verify(path, self->store, &keys, &err) != ALD_OK)
        ald_report_problem(self->report, "%s", err.text);
    explicit_bzero(&keys, sizeof keys);
}

enum ald_rc verify_look(const char *dir, struct ald_report *report, struct ald_err *err)
{
    char path[ALD_STORE_PATH_MAX];
    struct verify self = {.report = report};
    if (snprintf(path, sizeof path, "%s/tracker.db", dir) >= (int)sizeof path)
        return ald_err_set(err, ALD_TOOBIG, "The path of the folder is too long.");
    struct ald_store_options options = vault_options(path, true);
    options.older = true;
    options.still = !ald_store_has_log(path);
    enum ald_rc rc = ald_store_open(&options, &self.store, err);
    if (rc != ALD_OK)
        return rc;
    rc = verify_store(&self);
    if (rc == ALD_OK)
        verify_key(&self, dir);
    else
        (void)ald_err_set(err, rc, "%s can't be read to its end: %s.", path,
                          ald_store_message(self.store));
    ald_store_destroy(&self.store);
    return rc;
}
