#include "services/tracker/vault/verify.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/regular.h"
#include "common/store/mark.h"
#include "services/tracker/keyfile.h"
#include "services/tracker/vault/recount.h"
#include "services/tracker/vault/vault.h"

struct verify {
    const char *path;
    ald_store_t *store;
    struct ald_report *report;
    enum ald_rc mark_rc;
    struct ald_mark_values mark;
};

static const char VERIFY_LANE[] = "SELECT value FROM facts WHERE name = 'lane'";
static const char VERIFY_SEQ[] = "SELECT max(coalesce((SELECT max(seq) FROM results), 0),"
                                 " coalesce((SELECT value FROM facts WHERE name = 'last_seq'), 0))";
static const char VERIFY_RECEIVED[] = "SELECT value FROM books WHERE name = 'arrivals.received'";
static const char VERIFY_CREATED[] = "SELECT value FROM books WHERE name = 'tasks.created'";

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
        rc = verify_number(self, VERIFY_LANE, &value);
    ald_report_fact(self->report, "feed.lane", value);
    return rc;
}

/* ---- the mark ---- */

/* Read before the store is: whoever is at work writes the store first. */
static void verify_mark_read(struct verify *self, const char *dir)
{
    char path[ALD_STORE_PATH_MAX + 16];
    bool torn = false;
    (void)snprintf(path, sizeof path, "%s/tracker.mark", dir);
    self->mark_rc = ald_mark_look(path, &self->mark, &torn);
    if (self->mark_rc == ALD_IO || self->mark_rc == ALD_CORRUPT)
        ald_report_problem(self->report, "tracker.mark can't be read: whether tracker.db is whole "
                                         "to its end can't be told");
    else if (torn && ald_store_has_log(self->path))
        ald_report_note(self->report, "tracker.mark: one of its two slots is not whole, as after a "
                                      "loss of power");
    else if (torn)
        ald_report_problem(self->report, "tracker.mark: one of its two slots is not as it was "
                                         "written");
}

static enum ald_rc verify_mark(struct verify *self)
{
    int64_t lane = 0;
    int64_t seq = 0;
    int64_t received = 0;
    int64_t created = 0;
    enum ald_rc rc = self->mark_rc == ALD_OK ? verify_number(self, VERIFY_LANE, &lane) : ALD_OK;
    if (rc != ALD_OK || self->mark_rc != ALD_OK)
        return rc;
    rc = verify_number(self, VERIFY_SEQ, &seq);
    if (rc == ALD_OK)
        rc = verify_number(self, VERIFY_RECEIVED, &received);
    if (rc == ALD_OK)
        rc = verify_number(self, VERIFY_CREATED, &created);
    const struct ald_mark_values *mark = &self->mark;
    bool results =
        mark->lane > (uint64_t)lane || (mark->lane == (uint64_t)lane && mark->seq > (uint64_t)seq);
    if (rc == ALD_OK &&
        (results || mark->received > (uint64_t)received || mark->created > (uint64_t)created))
        ald_report_problem(
            self->report,
            "tracker.db is behind tracker.mark, so its log was cut or rotted, or it is an older "
            "copy: %lld callbacks and %lld tasks are there of %llu and %llu that were "
            "acknowledged, and the last event is %lld:%lld instead of %llu:%llu",
            (long long)received, (long long)created, (unsigned long long)mark->received,
            (unsigned long long)mark->created, (long long)lane, (long long)seq,
            (unsigned long long)mark->lane, (unsigned long long)mark->seq);
    return rc;
}

static enum ald_rc verify_store(struct verify *self)
{
    const struct ald_store_options newest = vault_store_options("", true);
    int64_t ours = newest.steps[newest.step_count - 1].version;
    int64_t version = ald_store_version(self->store);
    ald_report_fact(self->report, "tracker.schema", version);
    enum ald_rc rc = ald_store_check(self->store, verify_fault, self);
    if (rc == ALD_OK && !ald_store_summed(self->store))
        ald_report_note(self->report, "tracker.db: its pages carry no sums yet, so not every "
                                      "flipped bit is found");
    if (rc == ALD_OK) /* of an older schema, too: a log may have lost what brought it further */
        rc = verify_mark(self);
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
    struct verify self = {.report = report, .path = path};
    if (snprintf(path, sizeof path, "%s/tracker.db", dir) >= (int)sizeof path)
        return ald_err_set(err, ALD_TOOBIG, "The path of the folder is too long.");
    struct ald_store_options options = vault_store_options(path, true);
    options.older = true;
    options.still = !ald_store_has_log(path);
    verify_mark_read(&self, dir);
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
