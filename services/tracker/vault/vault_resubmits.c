#include "services/tracker/vault/vault_resubmits.h"

#include "common/base/text.h"
#include "services/tracker/vault/vault_sql.h"

static void resubmits_of(struct vault *self, ald_stmt_t *stmt, uint64_t task)
{
    if (!stmt)
        return;
    ald_stmt_bind_i64(stmt, 1, (int64_t)task);
    vault_run(self, stmt);
}

void vault_submit_keep(struct vault *self, uint64_t task)
{
    resubmits_of(self,
                 vault_prepare(self, "UPDATE submits SET stage = 4, letter = '' WHERE task = ?1"),
                 task);
}

bool vault_kept_find(struct vault *self, uint64_t task, struct submission *out)
{
    ald_stmt_t *stmt = vault_prepare(self, "SELECT attempt, lease, made_ms, within_ms FROM submits"
                                           " WHERE task = ?1 AND stage = 4");
    *out = (struct submission){0};
    if (!stmt)
        return false;
    ald_stmt_bind_i64(stmt, 1, (int64_t)task);
    bool found = vault_step(self, stmt);
    if (found)
        *out = (struct submission){.stage = SUBMISSION_KEPT,
                                   .attempt = (uint64_t)ald_stmt_i64(stmt, 0),
                                   .lease = (uint64_t)ald_stmt_i64(stmt, 1),
                                   .made_ms = ald_stmt_i64(stmt, 2),
                                   .within_ms = ald_stmt_i64(stmt, 3)};
    ald_stmt_reset(stmt);
    return found;
}

void vault_each_kept(struct vault *self, vault_kept_fn *fn, void *context)
{
    ald_stmt_t *stmt =
        vault_prepare(self, "SELECT task FROM submits WHERE stage = 4 ORDER BY task");
    if (!stmt)
        return;
    while (vault_step(self, stmt))
        fn(context, (uint64_t)ald_stmt_i64(stmt, 0));
    ald_stmt_reset(stmt);
}

static void resubmits_insert(struct vault *self, const struct vault_resubmit *row)
{
    ald_stmt_t *stmt = vault_prepare(
        self, "INSERT INTO resubmits (task, no, attempt, provider_id, failed, code, made_ms,"
              " asked_ms, polls, requests) SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, asked_ms, ?8, ?9"
              " FROM submits WHERE task = ?1");
    if (!stmt)
        return;
    ald_stmt_bind_i64(stmt, 1, (int64_t)row->task);
    ald_stmt_bind_i64(stmt, 2, row->no);
    ald_stmt_bind_i64(stmt, 3, (int64_t)row->attempt);
    ald_stmt_bind_text(stmt, 4, row->provider_id);
    ald_stmt_bind_i64(stmt, 5, row->failed);
    ald_stmt_bind_text(stmt, 6, row->code);
    ald_stmt_bind_i64(stmt, 7, row->made_ms);
    ald_stmt_bind_i64(stmt, 8, row->polls);
    ald_stmt_bind_i64(stmt, 9, row->requests);
    vault_run(self, stmt);
}

void vault_resubmit_add(struct vault *self, const struct vault_resubmit *row)
{
    resubmits_insert(self, row);
    resubmits_of(self,
                 vault_prepare(self,
                               "UPDATE submits SET stage = 0, tries = 0, strange = 0, next_ms = 0,"
                               " asked_ms = 0, letter = '' WHERE task = ?1"),
                 row->task);
    resubmits_of(
        self, vault_prepare(self, "UPDATE ways SET poll_url = '', result_url = '' WHERE task = ?1"),
        row->task);
}

void vault_resubmit_failed(struct vault *self, uint64_t task, uint32_t no, const char *code)
{
    ald_stmt_t *stmt = vault_prepare(self, "UPDATE resubmits SET failed = 1, code = ?3"
                                           " WHERE task = ?1 AND no = ?2");
    if (!stmt)
        return;
    ald_stmt_bind_i64(stmt, 1, (int64_t)task);
    ald_stmt_bind_i64(stmt, 2, no);
    ald_stmt_bind_str(stmt, 3, code);
    vault_run(self, stmt);
}

void vault_resubmit_code(struct vault *self, uint64_t task, uint32_t no, char out[ALD_CODE_MAX])
{
    ald_stmt_t *stmt =
        vault_prepare(self, "SELECT code FROM resubmits WHERE task = ?1 AND no = ?2");
    out[0] = '\0';
    if (!stmt)
        return;
    ald_stmt_bind_i64(stmt, 1, (int64_t)task);
    ald_stmt_bind_i64(stmt, 2, no);
    if (vault_step(self, stmt))
        ald_text_cut(out, ALD_CODE_MAX, ald_stmt_text(stmt, 0));
    ald_stmt_reset(stmt);
}

bool vault_resubmit_followed(struct vault *self, uint64_t task, uint64_t attempt,
                             const char *provider_id)
{
    ald_stmt_t *stmt = vault_prepare(
        self, "SELECT 1 FROM resubmits WHERE task = ?1 AND CASE ?3 WHEN '' THEN attempt = ?2"
              " ELSE provider_id = ?3 END LIMIT 1");
    if (!stmt)
        return false;
    ald_stmt_bind_i64(stmt, 1, (int64_t)task);
    ald_stmt_bind_i64(stmt, 2, (int64_t)attempt);
    ald_stmt_bind_str(stmt, 3, provider_id);
    bool found = vault_step(self, stmt);
    ald_stmt_reset(stmt);
    return found;
}

static void resubmits_row(ald_stmt_t *stmt, struct vault_resubmit *out)
{
    int64_t stage = ald_stmt_i64(stmt, 11);
    bool taken = stage == SUBMISSION_SETTLED || stage == SUBMISSION_KEPT;
    *out = (struct vault_resubmit){.task = (uint64_t)ald_stmt_i64(stmt, 0),
                                   .no = (uint32_t)ald_stmt_i64(stmt, 1),
                                   .attempt = (uint64_t)ald_stmt_i64(stmt, 2),
                                   .provider_id = ald_stmt_text(stmt, 3),
                                   .failed = ald_stmt_i64(stmt, 4) != 0,
                                   .code = ald_stmt_text(stmt, 5),
                                   .made_ms = ald_stmt_i64(stmt, 6),
                                   .polls = (uint32_t)ald_stmt_i64(stmt, 7),
                                   .requests = (uint32_t)ald_stmt_i64(stmt, 8),
                                   .lease = taken ? (uint64_t)ald_stmt_i64(stmt, 9) : 0,
                                   .last = taken ? (uint64_t)ald_stmt_i64(stmt, 10) : 0};
}

void vault_each_resubmit(struct vault *self, vault_resubmit_fn *fn, void *context)
{
    ald_stmt_t *stmt = vault_prepare(
        self, "SELECT r.task, r.no, r.attempt, r.provider_id, r.failed, r.code, r.made_ms, r.polls,"
              " r.requests, s.lease, s.attempt, s.stage FROM resubmits r JOIN submits s"
              " ON s.task = r.task WHERE r.task >= ?1 ORDER BY r.task, r.no");
    if (!stmt)
        return;
    ald_stmt_bind_i64(stmt, 1, vault_meta(self, "lowest_open"));
    while (vault_step(self, stmt)) {
        struct vault_resubmit row;
        resubmits_row(stmt, &row);
        fn(context, &row);
    }
    ald_stmt_reset(stmt);
}
