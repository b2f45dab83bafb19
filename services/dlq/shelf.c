#include "services/dlq/shelf.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/ident.h"
#include "common/base/log.h"
#include "common/base/text.h"
#include "services/dlq/piles.h"
#include "services/dlq/replays.h"
#include "services/dlq/schema.h"
#include "services/dlq/shelf_inside.h"

static const char sql_tallies[] = "SELECT reason, state, count FROM tallies";
static const char sql_fact[] = "SELECT value FROM facts WHERE name = ?1";
static const char sql_sender[] = "SELECT value FROM names WHERE name = 'sender'";
static const char sql_sender_make[] = "INSERT INTO names(name, value) VALUES('sender', ?1)"
                                      " ON CONFLICT(name) DO UPDATE SET value = ?1";
static const char sql_tally_set[] = "INSERT INTO tallies(reason, state, count) VALUES(?1, ?2, ?3)"
                                    " ON CONFLICT(reason, state) DO UPDATE SET count = ?3";
static const char sql_fact_set[] = "INSERT INTO facts(name, value) VALUES(?1, ?2)"
                                   " ON CONFLICT(name) DO UPDATE SET value = ?2";

static const char fact_xor[] = "open_xor";
static const char fact_purged[] = "purged";
static const char fact_next[] = "next_number";

shelf_t *shelf_new(const char *path)
{
    shelf_t *self = calloc(1, sizeof *self);
    ALD_ASSERT(self != NULL);
    ald_text_cut(self->path, sizeof self->path, ald_span_str(path));
    return self;
}

static void shelf_close(shelf_t *self)
{
    ald_mark_destroy(&self->mark);
    ald_store_destroy(&self->store);
}

void shelf_destroy(shelf_t **self_p)
{
    shelf_t *self = *self_p;
    if (self == NULL)
        return;
    shelf_close(self);
    free(self);
    *self_p = NULL;
}

/* ---- opening ---- */

static enum ald_rc shelf_load_tallies(shelf_t *self)
{
    ald_stmt_t *stmt;
    enum ald_rc rc = ald_store_prepare(self->store, sql_tallies, &stmt);
    if (rc != ALD_OK)
        return rc;
    while ((rc = ald_stmt_step(stmt)) == ALD_OK) {
        char word[ALD_WORD_MAX];
        enum ald_reason reason;
        enum letter_state state;
        ald_text_cut(word, sizeof word, ald_stmt_text(stmt, 0));
        bool known = ald_reason_find(word, &reason);
        ald_text_cut(word, sizeof word, ald_stmt_text(stmt, 1));
        known = known && letter_state_find(word, &state);
        if (known)
            self->now.tally.count[reason][state] = ald_stmt_i64(stmt, 2);
    }
    ald_stmt_reset(stmt);
    return rc == ALD_NOTFOUND ? ALD_OK : rc;
}

static enum ald_rc shelf_load_fact(shelf_t *self, const char *name, int64_t *out)
{
    ald_stmt_t *stmt;
    *out = 0;
    enum ald_rc rc = ald_store_prepare(self->store, sql_fact, &stmt);
    if (rc != ALD_OK)
        return rc;
    ald_stmt_bind_str(stmt, 1, name);
    rc = ald_stmt_step(stmt);
    if (rc == ALD_OK)
        *out = ald_stmt_i64(stmt, 0);
    ald_stmt_reset(stmt);
    return rc == ALD_NOTFOUND ? ALD_OK : rc;
}

/* True when the file may have forgotten numbers that were given out. fresh: it holds nothing yet,
 * which no file does that has a mark. A process that opens it again remembers them itself. */
static bool shelf_behind(const shelf_t *self, bool fresh)
{
    struct ald_mark_values values;
    if (self->run[0] != '\0')
        return false;
    enum ald_rc rc = ald_mark_read(self->mark, &values);
    if (rc == ALD_OK && (fresh || values.seq > self->now.next))
        ald_log(ALD_ERROR, "store.behind",
                "next=%" PRIu64 " mark_next=%" PRIu64
                " text=\"letters.db is an older copy or was lost: letters are missing, and the "
                "audit counts them\"",
                self->now.next, values.seq);
    else if (rc == ALD_CORRUPT)
        ald_log(ALD_WARN, "mark.gone",
                "text=\"letters.db.mark can't be read: whether letters.db is an older copy can't "
                "be told\"");
    return rc != ALD_OK || values.seq > self->now.next;
}

static enum ald_rc shelf_load_sender(shelf_t *self)
{
    ald_stmt_t *stmt;
    enum ald_rc rc = ald_store_prepare(self->store, sql_sender, &stmt);
    if (rc != ALD_OK)
        return rc;
    rc = ald_stmt_step(stmt);
    if (rc == ALD_OK)
        ald_text_cut(self->sender, sizeof self->sender, ald_stmt_text(stmt, 0));
    ald_stmt_reset(stmt);
    bool behind = shelf_behind(self, rc == ALD_NOTFOUND);
    if (rc == ALD_OK && !behind)
        return ALD_OK;
    if (rc != ALD_OK && rc != ALD_NOTFOUND)
        return rc;
    ald_ulid_new(self->sender);
    rc = ald_store_prepare(self->store, sql_sender_make, &stmt);
    if (rc != ALD_OK)
        return rc;
    ald_stmt_bind_str(stmt, 1, self->sender);
    rc = ald_stmt_run(stmt);
    if (rc == ALD_OK)
        ald_log(ALD_INFO, "letters.sender", "sender=%s next=%" PRIu64, self->sender,
                self->now.next);
    return rc;
}

static enum ald_rc shelf_open_mark(shelf_t *self, struct ald_err *err)
{
    char path[ALD_STORE_PATH_MAX + sizeof ".mark"];
    (void)snprintf(path, sizeof path, "%s.mark", self->path);
    return ald_mark_open(path, &self->mark, err);
}

/* Note how far the numbers have come, after the commit that made it so. */
static enum ald_rc shelf_mark(shelf_t *self)
{
    if (self->mark == NULL)
        return ALD_IO;
    struct ald_mark_values values = {.seq = self->now.next, .wall_ms = ald_clock_now().wall_ms};
    return ald_mark_write(self->mark, &values);
}

void shelf_beat(shelf_t *self)
{
    struct ald_err err = {0};
    if (!shelf_ready(self))
        return;
    if (self->mark == NULL && shelf_open_mark(self, &err) == ALD_OK)
        (void)shelf_mark(self);
    if (self->mark != NULL && ald_mark_sync(self->mark) == ALD_OK)
        return;
    ald_log(ALD_WARN, "letters.mark", "text=\"the mark beside the letters can't be written\"");
    ald_mark_destroy(&self->mark); /* after an I/O error only a new opening brings it back */
}

static enum ald_rc shelf_load(shelf_t *self)
{
    int64_t open_xor = 0;
    int64_t next = 0;
    uint64_t used = self->now.next; /* by this process, before a failure: the file may be behind */
    self->now = (struct shelf_numbers){.next = used};
    enum ald_rc rc = shelf_load_tallies(self);
    if (rc == ALD_OK)
        rc = shelf_load_fact(self, fact_xor, &open_xor);
    if (rc == ALD_OK)
        rc = shelf_load_fact(self, fact_purged, &self->now.tally.purged);
    if (rc == ALD_OK)
        rc = shelf_load_fact(self, fact_next, &next);
    if ((uint64_t)next > used)
        self->now.next = (uint64_t)next;
    if (self->now.next == 0)
        self->now.next = 1;
    if (rc == ALD_OK)
        rc = shelf_load_sender(self);
    if (rc == ALD_OK)
        rc = shelf_mark(self);
    self->now.tally.open_xor = (uint64_t)open_xor;
    self->saved = self->now;
    return rc;
}

/* Put right what an older program has left. A full disk lets the letters be taken all the same. */
static enum ald_rc shelf_mend(shelf_t *self)
{
    enum ald_rc rc = shelf_begin(self);
    if (rc != ALD_OK)
        return rc;
    rc = piles_mend(self);
    if (rc == ALD_OK)
        rc = replays_mend(self);
    if (rc == ALD_OK)
        return shelf_commit(self);
    shelf_rollback(self);
    if (rc == ALD_FULL)
        ald_log(ALD_WARN, "letters.unmended",
                "text=\"the disk is full: groups of letters may be counted wrong\"");
    return rc == ALD_FULL ? ALD_OK : rc;
}

enum ald_rc shelf_open(shelf_t *self, struct ald_err *err)
{
    shelf_close(self);
    struct ald_store_options options = {.path = self->path,
                                        .application_id = SCHEMA_APPLICATION,
                                        .steps = schema_steps,
                                        .step_count = SCHEMA_STEPS,
                                        .shrink = true};
    enum ald_rc rc = ald_store_open(&options, &self->store, err);
    if (rc != ALD_OK)
        return rc;
    rc = shelf_open_mark(self, err);
    if (rc == ALD_OK && ((rc = shelf_load(self)) != ALD_OK || (rc = shelf_mend(self)) != ALD_OK))
        (void)ald_err_set(err, rc, "%s: cannot read it: %s", self->path,
                          ald_store_message(self->store));
    if (rc != ALD_OK) {
        shelf_close(self);
        return rc;
    }
    ald_ulid_new(self->run);
    return ALD_OK;
}

bool shelf_ready(const shelf_t *self)
{
    return self->store != NULL && !ald_store_failed(self->store);
}

const char *shelf_run(const shelf_t *self)
{
    return self->run;
}

const char *shelf_sender(const shelf_t *self)
{
    return self->sender;
}

const struct tally *shelf_tally(const shelf_t *self)
{
    return &self->now.tally;
}

ald_store_t *shelf_store(shelf_t *self)
{
    return self->store;
}

/* ---- transactions ---- */

enum ald_rc shelf_begin(shelf_t *self)
{
    return shelf_ready(self) ? ald_store_begin(self->store) : ALD_IO;
}

void shelf_rollback(shelf_t *self)
{
    ald_store_rollback(self->store);
    self->now = self->saved;
}

static enum ald_rc shelf_save_fact(shelf_t *self, const char *name, int64_t value, int64_t saved)
{
    ald_stmt_t *stmt;
    if (value == saved)
        return ALD_OK;
    enum ald_rc rc = ald_store_prepare(self->store, sql_fact_set, &stmt);
    if (rc != ALD_OK)
        return rc;
    ald_stmt_bind_str(stmt, 1, name);
    ald_stmt_bind_i64(stmt, 2, value);
    return ald_stmt_run(stmt);
}

static enum ald_rc shelf_save_count(shelf_t *self, enum ald_reason reason, enum letter_state state)
{
    ald_stmt_t *stmt;
    int64_t count = self->now.tally.count[reason][state];
    if (count == self->saved.tally.count[reason][state])
        return ALD_OK;
    enum ald_rc rc = ald_store_prepare(self->store, sql_tally_set, &stmt);
    if (rc != ALD_OK)
        return rc;
    ald_stmt_bind_str(stmt, 1, ald_reason_name(reason));
    ald_stmt_bind_str(stmt, 2, letter_state_name(state));
    ald_stmt_bind_i64(stmt, 3, count);
    return ald_stmt_run(stmt);
}

static enum ald_rc shelf_save(shelf_t *self)
{
    enum ald_rc rc = ALD_OK;
    for (unsigned i = 0; i < ALD_REASON_COUNT * LETTER_STATES && rc == ALD_OK; i++)
        rc = shelf_save_count(self, (enum ald_reason)(i / LETTER_STATES),
                              (enum letter_state)(i % LETTER_STATES));
    const struct shelf_numbers *now = &self->now;
    const struct shelf_numbers *saved = &self->saved;
    if (rc == ALD_OK)
        rc = shelf_save_fact(self, fact_xor, (int64_t)now->tally.open_xor,
                             (int64_t)saved->tally.open_xor);
    if (rc == ALD_OK)
        rc = shelf_save_fact(self, fact_purged, now->tally.purged, saved->tally.purged);
    if (rc == ALD_OK)
        rc = shelf_save_fact(self, fact_next, (int64_t)now->next, (int64_t)saved->next);
    return rc;
}

enum ald_rc shelf_commit(shelf_t *self)
{
    enum ald_rc rc = shelf_save(self);
    if (rc != ALD_OK) {
        shelf_rollback(self);
        return rc;
    }
    rc = ald_store_commit(self->store);
    if (rc == ALD_AGAIN) {
        shelf_rollback(self);
        return rc;
    }
    if (rc != ALD_OK) {
        self->now = self->saved;
        return rc;
    }
    bool numbered = self->saved.next != self->now.next;
    self->saved = self->now;
    if (numbered)
        (void)shelf_mark(self); /* shelf_beat says when it can't */
    return ALD_OK;
}
