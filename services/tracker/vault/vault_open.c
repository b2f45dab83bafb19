#include "services/tracker/vault/vault_open.h"

#include "services/tracker/vault/vault_sql.h"

/* Numbers of tasks, ascending, which are held against a walk of all tasks: each is stepped once,
 * where a look into an index for each task would cost as much as its row. */
struct vault_line {
    ald_stmt_t *stmt;
    uint64_t task;
    bool more;
};

static void line_step(struct vault *self, struct vault_line *line)
{
    line->more = vault_step(self, line->stmt);
    if (line->more)
        line->task = (uint64_t)ald_stmt_i64(line->stmt, 0);
}

static bool line_begin(struct vault *self, struct vault_line *line, const char *sql, int64_t from)
{
    line->stmt = vault_prepare(self, sql);
    if (!line->stmt)
        return false;
    ald_stmt_bind_i64(line->stmt, 1, from);
    line_step(self, line);
    return true;
}

/* Asked for tasks in ascending order. */
static bool line_has(struct vault *self, struct vault_line *line, uint64_t task)
{
    while (line->more && line->task < task)
        line_step(self, line);
    return line->more && line->task == task;
}

enum { LINE_ENDED, LINE_ENDED_LATELY, LINE_PLACED, LINES };

/* lowest_open is below every open task; results past indexed_seq may not be in finds yet. */
static bool open_lines(struct vault *self, struct vault_line lines[LINES], int64_t lowest)
{
    return line_begin(self, &lines[LINE_ENDED],
                      "SELECT task FROM finds WHERE task >= ?1 AND kind = 0 ORDER BY task",
                      lowest) &&
           line_begin(self, &lines[LINE_ENDED_LATELY],
                      "SELECT task FROM results WHERE seq > ?1 ORDER BY task", self->indexed_seq) &&
           line_begin(self, &lines[LINE_PLACED],
                      "SELECT task FROM ways WHERE task >= ?1 AND poll_url <> '' ORDER BY task",
                      lowest);
}

static void open_each(struct vault *self, ald_stmt_t *stmt, struct vault_line lines[LINES],
                      vault_open_fn *fn, void *context)
{
    while (self->rc == ALD_OK && vault_step(self, stmt)) {
        uint64_t id = (uint64_t)ald_stmt_i64(stmt, 0);
        if (line_has(self, &lines[LINE_ENDED], id) || line_has(self, &lines[LINE_ENDED_LATELY], id))
            continue;
        struct vault_open task = {.id = id,
                                  .provider = ald_stmt_text(stmt, 1),
                                  .provider_id = ald_stmt_text(stmt, 2),
                                  .made_ms = ald_stmt_i64(stmt, 3),
                                  .stale_after_ms = ald_stmt_i64(stmt, 4),
                                  .give_up_after_ms = ald_stmt_i64(stmt, 5),
                                  .placed = line_has(self, &lines[LINE_PLACED], id)};
        fn(context, &task);
    }
}

void vault_each_open(struct vault *self, vault_open_fn *fn, void *context)
{
    struct vault_line lines[LINES] = {0};
    int64_t lowest = vault_meta(self, "lowest_open");
    ald_stmt_t *stmt = vault_prepare(
        self, "SELECT id, provider, provider_id, made_ms, stale_after_ms, give_up_after_ms"
              " FROM tasks WHERE id >= ?1 ORDER BY id");
    if (!stmt)
        return;
    ald_stmt_bind_i64(stmt, 1, lowest);
    if (open_lines(self, lines, lowest))
        open_each(self, stmt, lines, fn, context);
    for (size_t i = 0; i < LINES; i++)
        if (lines[i].stmt)
            ald_stmt_reset(lines[i].stmt);
    ald_stmt_reset(stmt);
}
