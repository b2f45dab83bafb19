#include "services/tracker/vault/vault.h"

#include <stdio.h>
#include <string.h>

#include "common/base/log.h"
#include "services/tracker/vault/vault_purge.h"
#include "services/tracker/vault/vault_sql.h"

enum { VAULT_APPLICATION = 0x616c6474 }; /* "aldt" */

/* Append-only tables first in each transaction's way; `finds` is the one index over all of them,
 * filled in sorted runs: kind 0 a result's seq, 1 an arrival's no, 2 a note's no. */
static const struct ald_store_step VAULT_STEPS[] = {
    {1, 1,
     "CREATE TABLE facts (name TEXT PRIMARY KEY, value BIGINT NOT NULL) WITHOUT ROWID;"
     "CREATE TABLE books (name TEXT PRIMARY KEY, value BIGINT NOT NULL) WITHOUT ROWID;"
     "CREATE TABLE tasks (id INTEGER PRIMARY KEY, provider TEXT NOT NULL,"
     " provider_id TEXT NOT NULL, task_key TEXT NOT NULL, meta TEXT NOT NULL,"
     " made_ms BIGINT NOT NULL, created_ms BIGINT NOT NULL, stale_after_ms BIGINT NOT NULL,"
     " give_up_after_ms BIGINT NOT NULL);"
     "CREATE TABLE refs (provider TEXT NOT NULL, provider_id TEXT NOT NULL, task BIGINT NOT NULL,"
     " PRIMARY KEY (provider, provider_id)) WITHOUT ROWID;"
     "CREATE TABLE keys (task_key TEXT PRIMARY KEY, task BIGINT NOT NULL, digest TEXT NOT NULL,"
     " at_ms BIGINT NOT NULL) WITHOUT ROWID;"
     "CREATE TABLE arrivals (no INTEGER PRIMARY KEY, sender BIGINT NOT NULL, num BIGINT NOT NULL,"
     " task BIGINT NOT NULL, disposition BIGINT NOT NULL, proof BIGINT NOT NULL,"
     " at_ms BIGINT NOT NULL, made_ms BIGINT NOT NULL, ref TEXT, letter TEXT, message BLOB);"
     "CREATE INDEX arrivals_parked ON arrivals (no) WHERE disposition = 3;"
     "CREATE TABLE results (seq INTEGER PRIMARY KEY, task BIGINT NOT NULL, provider TEXT NOT NULL,"
     " state BIGINT NOT NULL, source BIGINT NOT NULL, code TEXT, result_json BIGINT NOT NULL,"
     " digest TEXT NOT NULL, received_ms BIGINT NOT NULL, published_ms BIGINT NOT NULL,"
     " arrival BIGINT NOT NULL, trace TEXT, result BLOB);"
     "CREATE TABLE notes (no INTEGER PRIMARY KEY, task BIGINT NOT NULL, at_ms BIGINT NOT NULL,"
     " what TEXT NOT NULL, said TEXT);"
     "CREATE TABLE finds (task BIGINT NOT NULL, kind BIGINT NOT NULL, no BIGINT NOT NULL,"
     " PRIMARY KEY (task, kind, no)) WITHOUT ROWID;"
     "CREATE TABLE letters (letter TEXT PRIMARY KEY, reason BIGINT NOT NULL, state BIGINT NOT NULL,"
     " outcome BIGINT NOT NULL, task BIGINT NOT NULL, arrival BIGINT NOT NULL,"
     " made_at_ms BIGINT NOT NULL, digest TEXT NOT NULL, provider TEXT NOT NULL,"
     " proof BIGINT NOT NULL, size BIGINT NOT NULL) WITHOUT ROWID;"
     "CREATE INDEX letters_task ON letters (task) WHERE task <> 0;"
     "CREATE INDEX letters_open ON letters (letter) WHERE state = 0;"
     "CREATE TABLE outbox (num INTEGER PRIMARY KEY, letter TEXT NOT NULL, message BLOB NOT NULL);"
     "CREATE TABLE senders (no INTEGER PRIMARY KEY, sender TEXT NOT NULL UNIQUE,"
     " floor BIGINT NOT NULL, heard_ms BIGINT NOT NULL, marks BLOB);"
     "CREATE TABLE tombs (task INTEGER PRIMARY KEY, at_ms BIGINT NOT NULL, provider TEXT NOT NULL,"
     " provider_id TEXT NOT NULL);"
     "CREATE INDEX tombs_at ON tombs (at_ms);"
     "CREATE INDEX keys_at ON keys (at_ms);"},
    {2, 1, "CREATE INDEX outbox_letter ON outbox (letter);"},
    {3, 1,
     "CREATE TABLE ways (task INTEGER PRIMARY KEY, poll_url TEXT NOT NULL,"
     " result_url TEXT NOT NULL, params TEXT NOT NULL);"},
    {4, 1,
     "CREATE TABLE submits (task INTEGER PRIMARY KEY, stage BIGINT NOT NULL,"
     " attempt BIGINT NOT NULL, lease BIGINT NOT NULL, tries BIGINT NOT NULL,"
     " strange BIGINT NOT NULL, made_ms BIGINT NOT NULL, next_ms BIGINT NOT NULL,"
     " asked_ms BIGINT NOT NULL, within_ms BIGINT NOT NULL, letter TEXT NOT NULL,"
     " base TEXT NOT NULL, ticket TEXT NOT NULL, body BLOB);"
     "CREATE INDEX submits_open ON submits (task) WHERE stage < 3;"
     "CREATE INDEX submits_ticket ON submits (ticket) WHERE stage < 3 AND ticket <> '';"
     "ALTER TABLE outbox ADD COLUMN closes BIGINT NOT NULL DEFAULT 0;"},
    {5, 1,
     "CREATE TABLE pushes (task INTEGER PRIMARY KEY, url TEXT NOT NULL, json BIGINT NOT NULL,"
     " state BIGINT NOT NULL, tries BIGINT NOT NULL, next_ms BIGINT NOT NULL, body BLOB);"
     "CREATE INDEX pushes_due ON pushes (next_ms) WHERE state = 1;"
     "CREATE INDEX pushes_waiting ON pushes (task) WHERE state = 0;"},
    {6, 1,
     "CREATE TABLE jwks (provider TEXT PRIMARY KEY, url TEXT NOT NULL,"
     " fetched_at_ms BIGINT NOT NULL, keys BLOB NOT NULL) WITHOUT ROWID;"},
    {7, 1,
     "CREATE TABLE resubmits (task BIGINT NOT NULL, no BIGINT NOT NULL, attempt BIGINT NOT NULL,"
     " provider_id TEXT NOT NULL, failed BIGINT NOT NULL, code TEXT NOT NULL,"
     " made_ms BIGINT NOT NULL, asked_ms BIGINT NOT NULL, polls BIGINT NOT NULL,"
     " requests BIGINT NOT NULL, PRIMARY KEY (task, no)) WITHOUT ROWID;"
     "CREATE INDEX submits_kept ON submits (task) WHERE stage = 4;"},
    {8, 1,
     "CREATE TABLE consumers (no INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE,"
     " provider TEXT NOT NULL, state TEXT NOT NULL, ordered BIGINT NOT NULL,"
     " max_deliver BIGINT NOT NULL, ack_wait_ms BIGINT NOT NULL, max_ack_pending BIGINT NOT NULL,"
     " made_ms BIGINT NOT NULL, lane BIGINT NOT NULL, floor BIGINT NOT NULL,"
     " handed BIGINT NOT NULL, gap_before BIGINT NOT NULL, gap_why BIGINT NOT NULL,"
     " rejected BIGINT NOT NULL, flight BLOB);"
     "CREATE TABLE returns (letter TEXT PRIMARY KEY, consumer BIGINT NOT NULL,"
     " lane BIGINT NOT NULL, seq BIGINT NOT NULL, event BLOB NOT NULL);"
     "CREATE INDEX returns_consumer ON returns (consumer);"
     "CREATE TABLE sums (seq INTEGER PRIMARY KEY, bytes BIGINT NOT NULL);"},
    {9, 1,
     "ALTER TABLE submits ADD COLUMN spare BIGINT NOT NULL DEFAULT 0;"
     "CREATE INDEX submits_spare ON submits (task, spare) WHERE spare > 0;"
     "CREATE TABLE again (task INTEGER PRIMARY KEY, replaces BIGINT NOT NULL,"
     " letter TEXT NOT NULL);"
     "CREATE INDEX again_replaces ON again (replaces);"
     "ALTER TABLE results ADD COLUMN corrects BIGINT NOT NULL DEFAULT 0;"
     "CREATE INDEX results_corrects ON results (corrects) WHERE corrects > 0;"},
    {10, 1, "ALTER TABLE tasks ADD COLUMN trace TEXT NOT NULL DEFAULT '';"},
};

/* 4 MiB: little to copy at once, and a log that begins anew often is written over, which a disk
 * syncs faster than a file that grows. */
enum { VAULT_LOG_PAGES = 1000 };

struct ald_store_options vault_store_options(const char *path, bool read_only)
{
    return (struct ald_store_options){.path = path,
                                      .application_id = VAULT_APPLICATION,
                                      .steps = VAULT_STEPS,
                                      .step_count = ALD_COUNT(VAULT_STEPS),
                                      .read_only = read_only,
                                      .wal_autocheckpoint = VAULT_LOG_PAGES,
                                      .checkpoint_beside = !read_only,
                                      .cache_bytes = read_only ? 0 : 64 << 20};
}

void vault_fail(struct vault *self, enum ald_rc rc)
{
    if (rc == ALD_OK || self->rc != ALD_OK)
        return;
    self->rc = rc;
    ald_log(ALD_ERROR, "vault.failed", "rc=%s text=%s", ald_rc_name(rc),
            ALD_Q(self->store ? ald_store_message(self->store) : ""));
}

ald_stmt_t *vault_prepare(struct vault *self, const char *sql)
{
    ald_stmt_t *stmt = NULL;
    if (self->rc != ALD_OK)
        return NULL;
    vault_fail(self, ald_store_prepare(self->store, sql, &stmt));
    return self->rc == ALD_OK ? stmt : NULL;
}

void vault_run(struct vault *self, ald_stmt_t *stmt)
{
    vault_fail(self, ald_stmt_run(stmt));
}

bool vault_step(struct vault *self, ald_stmt_t *stmt)
{
    enum ald_rc rc = ald_stmt_step(stmt);
    if (rc != ALD_NOTFOUND)
        vault_fail(self, rc);
    return rc == ALD_OK;
}

bool vault_of_task(struct vault *self, const char *sql, uint64_t task, int64_t *value)
{
    ald_stmt_t *stmt = vault_prepare(self, sql);
    if (!stmt)
        return false;
    ald_stmt_bind_i64(stmt, 1, (int64_t)task);
    bool found = vault_step(self, stmt);
    if (found)
        *value = ald_stmt_i64(stmt, 0);
    ald_stmt_reset(stmt);
    return found;
}

static int64_t vault_number(struct vault *self, const char *sql)
{
    int64_t value = 0;
    ald_stmt_t *stmt = vault_prepare(self, sql);
    if (!stmt)
        return 0;
    if (vault_step(self, stmt))
        value = ald_stmt_i64(stmt, 0);
    ald_stmt_reset(stmt);
    return value;
}

static void vault_read_books(struct vault *self)
{
    for (unsigned i = 0; i < BOOK_COUNT; i++) {
        ald_stmt_t *stmt = vault_prepare(self, "SELECT value FROM books WHERE name = ?1");
        if (!stmt)
            return;
        ald_stmt_bind_str(stmt, 1, books_name(i));
        if (vault_step(self, stmt))
            self->books.value[i] = ald_stmt_i64(stmt, 0);
        ald_stmt_reset(stmt);
    }
}

enum ald_rc vault_open(struct vault *self, const struct vault_options *options, struct ald_err *err)
{
    *self = (struct vault){0};
    char path[ALD_STORE_PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/tracker.db", options->data);
    if (n < 0 || (size_t)n >= sizeof path)
        return ald_err_set(err, ALD_TOOBIG, "store.data: the path is too long: %s", options->data);
    struct ald_store_options store = vault_store_options(path, false);
    store.wal_max_bytes = options->wal_max_bytes;
    store.sync_beside = options->sync_beside;
    enum ald_rc rc = ald_store_open(&store, &self->store, err);
    if (rc != ALD_OK)
        return rc;
    vault_read_books(self);
    self->lane = (uint64_t)vault_meta(self, "lane");
    self->run_ms = vault_meta(self, "run_ms");
    self->indexed_seq = vault_meta(self, "indexed_seq");
    self->indexed_arrival = vault_meta(self, "indexed_arrival");
    self->indexed_note = vault_meta(self, "indexed_note");
    int64_t seq = vault_number(self, "SELECT MAX(seq) FROM results");
    int64_t told_seq = vault_meta(self, "last_seq"); /* purging may have emptied the table */
    self->last_seq = (uint64_t)(seq > told_seq ? seq : told_seq);
    int64_t arrival = vault_number(self, "SELECT MAX(no) FROM arrivals");
    self->last_arrival = arrival > self->indexed_arrival ? arrival : self->indexed_arrival;
    int64_t note = vault_number(self, "SELECT MAX(no) FROM notes");
    self->last_note = note > self->indexed_note ? note : self->indexed_note;
    int64_t task = vault_number(self, "SELECT MAX(id) FROM tasks");
    int64_t tomb = vault_number(self, "SELECT MAX(task) FROM tombs");
    self->last_task = (uint64_t)(task > tomb ? task : tomb);
    int64_t outbox = vault_number(self, "SELECT MAX(num) FROM outbox");
    int64_t told_outbox = vault_meta(self, "last_outbox");
    self->last_outbox = outbox > told_outbox ? outbox : told_outbox;
    self->outbox = vault_number(self, "SELECT COUNT(*) FROM outbox");
    vault_sums_read(self);
    self->hidden_seq = (uint64_t)vault_meta(self, VAULT_HIDDEN);
    self->graves = graves_new();
    self->graves_owed = UINT64_MAX;
    self->spare_bytes = vault_number(self, "SELECT SUM(spare) FROM submits WHERE spare > 0");
    vault_gather(self);
    if (self->rc != ALD_OK) {
        (void)ald_err_set(err, self->rc, "%s: cannot be read: %s", path,
                          ald_store_message(self->store));
        rc = self->rc;
        vault_close(self);
    }
    return rc;
}

void vault_close(struct vault *self)
{
    gather_destroy(&self->gather);
    graves_destroy(&self->graves);
    ald_store_destroy(&self->store);
}

void vault_begin(struct vault *self)
{
    if (self->rc == ALD_OK)
        vault_fail(self, ald_store_begin(self->store));
}

static void vault_write_books(struct vault *self)
{
    for (unsigned i = 0; i < BOOK_COUNT && self->rc == ALD_OK; i++) {
        if (!self->books.dirty[i])
            continue;
        ald_stmt_t *stmt = vault_prepare(self, "INSERT INTO books (name, value) VALUES (?1, ?2)"
                                               " ON CONFLICT (name) DO UPDATE SET value = ?2");
        if (!stmt)
            return;
        ald_stmt_bind_str(stmt, 1, books_name(i));
        ald_stmt_bind_i64(stmt, 2, self->books.value[i]);
        vault_run(self, stmt);
        self->books.dirty[i] = false;
    }
}

enum ald_rc vault_commit(struct vault *self)
{
    vault_write_books(self);
    if (self->rc == ALD_OK)
        vault_fail(self, ald_store_commit(self->store));
    return self->rc;
}

bool vault_settled(const struct vault *self)
{
    return ald_store_settled(self->store) == ald_store_written(self->store) ||
           ald_store_failed(self->store);
}

enum ald_rc vault_settle(struct vault *self)
{
    vault_fail(self, ald_store_settle(self->store));
    return self->rc;
}

int64_t vault_meta(struct vault *self, const char *name)
{
    int64_t value = 0;
    ald_stmt_t *stmt = vault_prepare(self, "SELECT value FROM facts WHERE name = ?1");
    if (!stmt)
        return 0;
    ald_stmt_bind_str(stmt, 1, name);
    if (vault_step(self, stmt))
        value = ald_stmt_i64(stmt, 0);
    ald_stmt_reset(stmt);
    return value;
}

void vault_meta_set(struct vault *self, const char *name, int64_t value)
{
    ald_stmt_t *stmt = vault_prepare(self, "INSERT INTO facts (name, value) VALUES (?1, ?2)"
                                           " ON CONFLICT (name) DO UPDATE SET value = ?2");
    if (!stmt)
        return;
    ald_stmt_bind_str(stmt, 1, name);
    ald_stmt_bind_i64(stmt, 2, value);
    vault_run(self, stmt);
}

enum { VAULT_BLOCK_NAME = ALD_PROVIDER_MAX + 8 };

int64_t vault_block(struct vault *self, const char *provider)
{
    char name[VAULT_BLOCK_NAME];
    (void)snprintf(name, sizeof name, "block.%s", provider);
    return vault_meta(self, name);
}

void vault_block_set(struct vault *self, const char *provider, int64_t until_ms)
{
    char name[VAULT_BLOCK_NAME];
    (void)snprintf(name, sizeof name, "block.%s", provider);
    vault_meta_set(self, name, until_ms);
}
