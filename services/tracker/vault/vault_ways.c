#include "services/tracker/vault/vault_ways.h"

#include "services/tracker/vault/vault_sql.h"

void vault_way_set(struct vault *self, uint64_t task, const struct vault_way *way)
{
    ald_stmt_t *stmt = vault_prepare(
        self, "INSERT INTO ways (task, poll_url, result_url, params) VALUES (?1, ?2, ?3, ?4)"
              " ON CONFLICT (task) DO UPDATE SET"
              " poll_url = CASE ?2 WHEN '' THEN poll_url ELSE ?2 END,"
              " result_url = CASE ?3 WHEN '' THEN result_url ELSE ?3 END,"
              " params = CASE ?4 WHEN '' THEN params ELSE ?4 END");
    if (!stmt)
        return;
    ald_stmt_bind_i64(stmt, 1, (int64_t)task);
    ald_stmt_bind_text(stmt, 2, way->poll_url);
    ald_stmt_bind_text(stmt, 3, way->result_url);
    ald_stmt_bind_text(stmt, 4, way->params);
    vault_run(self, stmt);
}

bool vault_way_find(struct vault *self, uint64_t task, struct ald_buf *room, struct vault_way *out)
{
    size_t ends[3] = {0};
    *out = (struct vault_way){0};
    ald_buf_reset(room);
    ald_stmt_t *stmt =
        vault_prepare(self, "SELECT poll_url, result_url, params FROM ways WHERE task = ?1");
    if (!stmt)
        return false;
    ald_stmt_bind_i64(stmt, 1, (int64_t)task);
    bool found = vault_step(self, stmt);
    for (int i = 0; i < 3 && found; i++) {
        ald_buf_put_span(room, ald_stmt_text(stmt, i));
        ends[i] = room->len;
    }
    ald_stmt_reset(stmt);
    if (!found || !ald_buf_ok(room))
        return false;
    out->poll_url = ald_span_of(room->data, ends[0]);
    out->result_url = ald_span_of(room->data + ends[0], ends[1] - ends[0]);
    out->params = ald_span_of(room->data + ends[1], ends[2] - ends[1]);
    return true;
}
