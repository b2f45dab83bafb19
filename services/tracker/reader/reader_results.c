/* Which tasks have ended, as far as the index does not know yet: a list would have to look through
 * all results since the index for each of its tasks. */
#include "services/tracker/reader/reader_inside.h"

void reading_results_init(struct reading_results *self)
{
    *self = (struct reading_results){.tail = tail_new()};
}

void reading_results_free(struct reading_results *self)
{
    tail_destroy(&self->tail);
}

/* What the index knows by now is let go by generations. */
static void reading_results_forget(struct reading_results *self, int64_t indexed)
{
    if (self->seen < indexed)
        self->seen = indexed;
    if (indexed < self->turned)
        return;
    tail_drop(self->tail);
    tail_turn(self->tail);
    self->turned = self->seen;
}

void reading_results_more(struct reading *self)
{
    struct reading_results *results = self->results;
    reading_results_forget(results, reading_fact(self, "indexed_seq"));
    ald_stmt_t *stmt =
        reading_prepare(self, "SELECT seq, task FROM results WHERE seq > ?1 ORDER BY seq");
    if (!stmt)
        return;
    ald_stmt_bind_i64(stmt, 1, results->seen);
    while (reading_step(self, stmt)) {
        const struct tail_task task = {.task = (uint64_t)ald_stmt_i64(stmt, 1),
                                       .seq = (uint64_t)ald_stmt_i64(stmt, 0)};
        results->seen = (int64_t)task.seq;
        if (task.task != 0)
            tail_put(results->tail, &task);
    }
    ald_stmt_reset(stmt);
}
