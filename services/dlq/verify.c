#include "services/dlq/verify.h"

#include <stdio.h>
#include <string.h>

#include "common/base/digest.h"
#include "common/base/text.h"
#include "common/store/mark.h"
#include "proto/msg_limits.h"
#include "services/dlq/schema.h"

enum { VERIFY_PAGE_ROWS = 200, VERIFY_SHOWN_MAX = 5 };

struct verify {
    ald_store_t *store;
    struct ald_report *report;
    char letter[ALD_ULID_MAX]; /* the last one that was read */
    int64_t originals, spoilt;
    uint64_t mark; /* how far the numbers had come */
};

static void verify_fault(void *context, struct ald_span fault)
{
    const struct verify *self = context;
    ald_report_problem(self->report, "letters.db: %.*s", (int)fault.len, (const char *)fault.data);
}

/* ---- messages ---- */

static void verify_original(struct verify *self, ald_stmt_t *stmt)
{
    uint8_t sum[32];
    ald_text_cut(self->letter, sizeof self->letter, ald_stmt_text(stmt, 0));
    if (ald_stmt_is_null(stmt, 2))
        return; /* it had none, or the quota took it */
    ald_sha256(ald_stmt_blob(stmt, 1), sum);
    self->originals++;
    if (ald_span_eq(ald_stmt_blob(stmt, 2), ald_span_of(sum, sizeof sum)))
        return;
    if (self->spoilt++ < VERIFY_SHOWN_MAX)
        ald_report_problem(self->report, "letters.db: the message of %s is not as it came",
                           self->letter);
}

/* The messages of the next letters, in a transaction of its own. ALD_NOTFOUND: all were read. */
static enum ald_rc verify_page(struct verify *self)
{
    ald_stmt_t *stmt = NULL;
    int rows = 0;
    enum ald_rc rc = ald_store_prepare(
        self->store,
        "SELECT l.letter, o.bytes, o.sum FROM (SELECT letter FROM letters"
        " WHERE letter > ?1 AND " ALD_STORE_IS_ID(
            "letter") " ORDER BY letter LIMIT ?2) l"
                      " LEFT JOIN originals o ON o.letter = l.letter ORDER BY l.letter",
        &stmt);
    if (rc != ALD_OK)
        return rc;
    char before[sizeof self->letter];
    memcpy(before, self->letter, sizeof before);
    ald_stmt_bind_str(stmt, 1, before);
    ald_stmt_bind_i64(stmt, 2, VERIFY_PAGE_ROWS);
    for (; (rc = ald_stmt_step(stmt)) == ALD_OK; rows++)
        verify_original(self, stmt);
    ald_stmt_reset(stmt);
    /* In a damaged tree rows may come that are not beyond the last one: nothing would end then. */
    return rc == ALD_NOTFOUND && rows > 0 && strcmp(self->letter, before) > 0 ? ALD_OK : rc;
}

/* Letters that nobody can name; their messages are not looked at. */
static enum ald_rc verify_nameless(struct verify *self)
{
    ald_stmt_t *stmt = NULL;
    enum ald_rc rc = ald_store_prepare(
        self->store, "SELECT count(*) FROM letters WHERE NOT (" ALD_STORE_IS_ID("letter") ")",
        &stmt);
    if (rc == ALD_OK)
        rc = ald_stmt_step(stmt);
    int64_t count = rc == ALD_OK ? ald_stmt_i64(stmt, 0) : 0;
    if (stmt != NULL)
        ald_stmt_reset(stmt);
    if (count > 0)
        ald_report_problem(self->report, "letters.db: %lld letters have no id any more",
                           (long long)count);
    return rc;
}

static enum ald_rc verify_originals(struct verify *self)
{
    enum ald_rc rc = verify_nameless(self);
    while (rc == ALD_OK)
        rc = verify_page(self);
    ald_report_fact(self->report, "letters.messages", self->originals);
    if (self->spoilt > VERIFY_SHOWN_MAX)
        ald_report_problem(self->report, "letters.db: %lld messages are not as they came",
                           (long long)self->spoilt);
    return rc == ALD_NOTFOUND ? ALD_OK : rc;
}

/* ---- counters ---- */

/* Rows of one reason and state against their counter. Rows of closed letters are purged, and the
 * counter stays. */
static void verify_tally(struct verify *self, ald_stmt_t *stmt)
{
    char reason[ALD_WORD_MAX];
    char state[ALD_WORD_MAX];
    int64_t counted = ald_stmt_i64(stmt, 2);
    int64_t rows = ald_stmt_i64(stmt, 3);
    bool live = ald_stmt_i64(stmt, 4) != 0;
    ald_text_cut(reason, sizeof reason, ald_stmt_text(stmt, 0));
    ald_text_cut(state, sizeof state, ald_stmt_text(stmt, 1));
    if (rows > counted || (live && rows != counted))
        ald_report_problem(self->report,
                           "letters.db: %lld letters are counted as %s and %s, and there are %lld",
                           (long long)counted, reason, state, (long long)rows);
}

static enum ald_rc verify_tallies(struct verify *self)
{
    ald_stmt_t *stmt = NULL;
    enum ald_rc rc = ald_store_prepare(
        self->store,
        "SELECT reason, state, sum(counted), sum(found), max(live) FROM"
        " (SELECT reason, state, count AS counted, 0 AS found,"
        "  CASE WHEN state IN ('open', 'held') THEN 1 ELSE 0 END AS live FROM tallies"
        "  UNION ALL SELECT reason, state, 0, count(*), max(live) FROM letters"
        "  GROUP BY reason, state) GROUP BY reason, state",
        &stmt);
    if (rc != ALD_OK)
        return rc;
    while ((rc = ald_stmt_step(stmt)) == ALD_OK)
        verify_tally(self, stmt);
    ald_stmt_reset(stmt);
    return rc == ALD_NOTFOUND ? ALD_OK : rc;
}

/* ---- letters ---- */

static enum ald_rc verify_letters(struct verify *self)
{
    ald_stmt_t *stmt = NULL;
    int64_t live = 0;
    enum ald_rc rc = ald_store_prepare(self->store,
                                       "SELECT letter, live FROM letters WHERE live = 1 OR"
                                       " closing > 0 ORDER BY letter",
                                       &stmt);
    if (rc != ALD_OK)
        return rc;
    while ((rc = ald_stmt_step(stmt)) == ALD_OK) {
        bool open = ald_stmt_i64(stmt, 1) != 0;
        ald_report_letter(self->report, ald_stmt_text(stmt, 0), open ? "live" : "closing");
        live += open;
    }
    ald_stmt_reset(stmt);
    ald_report_fact(self->report, "letters.live", live);
    return rc == ALD_NOTFOUND ? ALD_OK : rc;
}

/* ---- the mark ---- */

/* Read before the store is: whoever is at work writes the store first. 0: it tells nothing. */
static uint64_t verify_mark(struct verify *self, const char *path)
{
    char mark[ALD_STORE_PATH_MAX + sizeof ".mark"];
    struct ald_mark_values values = {0};
    bool torn = false;
    (void)snprintf(mark, sizeof mark, "%s.mark", path);
    enum ald_rc rc = ald_mark_look(mark, &values, &torn);
    if (rc == ALD_IO || rc == ALD_CORRUPT)
        ald_report_problem(self->report, "letters.db.mark can't be read: whether letters.db is "
                                         "whole to its end can't be told");
    else if (torn && ald_store_has_log(path))
        ald_report_note(self->report, "letters.db.mark: one of its two slots is not whole, as "
                                      "after a loss of power");
    else if (torn)
        ald_report_problem(self->report, "letters.db.mark: one of its two slots is not as it was "
                                         "written");
    return rc == ALD_OK ? values.seq : 0;
}

static enum ald_rc verify_numbers(struct verify *self)
{
    ald_stmt_t *stmt = NULL;
    uint64_t next = 1;
    enum ald_rc rc =
        ald_store_prepare(self->store, "SELECT value FROM facts WHERE name = 'next_number'", &stmt);
    if (rc != ALD_OK)
        return rc;
    rc = ald_stmt_step(stmt);
    if (rc == ALD_OK && ald_stmt_i64(stmt, 0) > 1)
        next = (uint64_t)ald_stmt_i64(stmt, 0);
    ald_stmt_reset(stmt);
    if (self->mark > next)
        ald_report_problem(self->report,
                           "letters.db is behind letters.db.mark, so its log was cut or rotted, "
                           "or it is an older copy: its next number is %llu instead of %llu",
                           (unsigned long long)next, (unsigned long long)self->mark);
    return rc == ALD_NOTFOUND ? ALD_OK : rc;
}

static enum ald_rc verify_store(struct verify *self)
{
    int64_t version = ald_store_version(self->store);
    ald_report_fact(self->report, "letters.schema", version);
    enum ald_rc rc = ald_store_check(self->store, verify_fault, self);
    if (rc == ALD_OK && !ald_store_summed(self->store))
        ald_report_note(self->report, "letters.db: its pages carry no sums yet, so not every "
                                      "flipped bit is found");
    if (rc == ALD_OK && version < SCHEMA_STEPS) {
        ald_report_note(self->report,
                        "letters.db has schema %lld; a dlq of this version brings it to %d at its "
                        "start. Its rows were not looked at",
                        (long long)version, SCHEMA_STEPS);
        return rc;
    }
    if (rc == ALD_OK)
        rc = verify_originals(self);
    if (rc == ALD_OK)
        rc = verify_tallies(self);
    if (rc == ALD_OK)
        rc = verify_numbers(self);
    return rc == ALD_OK ? verify_letters(self) : rc;
}

enum ald_rc verify_look(const char *dir, struct ald_report *report, struct ald_err *err)
{
    char path[ALD_STORE_PATH_MAX];
    struct verify self = {.report = report};
    if (snprintf(path, sizeof path, "%s/letters.db", dir) >= (int)sizeof path)
        return ald_err_set(err, ALD_TOOBIG, "The path of the folder is too long.");
    const struct ald_store_options options = {.path = path,
                                              .application_id = SCHEMA_APPLICATION,
                                              .steps = schema_steps,
                                              .step_count = SCHEMA_STEPS,
                                              .read_only = true,
                                              .older = true,
                                              .still = !ald_store_has_log(path)};
    self.mark = verify_mark(&self, path);
    enum ald_rc rc = ald_store_open(&options, &self.store, err);
    if (rc != ALD_OK)
        return rc;
    rc = verify_store(&self);
    if (rc != ALD_OK)
        (void)ald_err_set(err, rc, "%s can't be read to its end: %s.", path,
                          ald_store_message(self.store));
    ald_store_destroy(&self.store);
    return rc;
}
