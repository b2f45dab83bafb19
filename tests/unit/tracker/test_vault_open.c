/* What a start reads back is what has not ended, whatever is indexed and wherever it is polled. */
#include "services/tracker/vault/vault_open.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "services/tracker/vault/vault_ways.h"
#include "tests/unit/tracker/rows.h"

enum { TASKS = 400, STEPS = 12, STEP = TASKS / STEPS };

struct kept {
    bool open[TASKS];
    bool placed[TASKS];
};

struct seen {
    struct kept kept;
    uint64_t last;
};

static void see(void *context, const struct vault_open *task)
{
    struct seen *seen = context;
    assert_true(task->id > seen->last && task->id < TASKS);
    seen->last = task->id;
    seen->kept.open[task->id] = true;
    seen->kept.placed[task->id] = task->placed;
    assert_true(ald_span_eq_str(task->provider, "two"));
    assert_int_equal(task->stale_after_ms, 45);
    assert_int_equal(task->give_up_after_ms, 600);
}

static void demand(struct rows *self, const struct kept *kept)
{
    struct seen seen = {0};
    vault_each_open(&self->vault, see, &seen);
    assert_int_equal(self->vault.rc, ALD_OK);
    for (size_t i = 0; i < TASKS; i++) {
        assert_int_equal(seen.kept.open[i], kept->open[i]);
        if (kept->open[i])
            assert_int_equal(seen.kept.placed[i], kept->placed[i]);
    }
}

static uint64_t next_random(uint64_t *random)
{
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    return *random;
}

static uint64_t lowest(const struct kept *kept)
{
    for (uint64_t id = 1; id < TASKS; id++)
        if (kept->open[id])
            return id;
    return TASKS;
}

/* One of what may come to a task that is open. */
static void change(struct rows *self, struct kept *kept, uint64_t id, uint64_t random)
{
    const struct vault_way way = {.poll_url = ald_span_str("http://127.0.0.1/77"),
                                  .params = ald_span_str("{}")};
    const struct vault_way none = {.params = ald_span_str("{}")};
    if (random % 3 == 0) {
        (void)rows_end(self, id, "");
        kept->open[id] = false;
        if (random % 2 == 0)
            (void)rows_correct(self, id, self->vault.last_seq);
    } else if (random % 3 == 1) {
        vault_way_set(&self->vault, id, &way);
        kept->placed[id] = true;
    } else {
        vault_way_set(&self->vault, id, &none); /* a row, and no place */
    }
}

static void test_agrees_with_what_happened(void **state)
{
    struct rows *self = *state;
    static struct kept kept;
    uint64_t random = 20261201;
    memset(&kept, 0, sizeof kept);
    for (uint64_t step = 0; step < STEPS; step++) {
        vault_begin(&self->vault);
        for (uint64_t id = step * STEP + 1; id < (step + 1) * STEP; id++) {
            if (next_random(&random) % 4 == 0)
                continue; /* numbers have gaps */
            rows_task(self, id, "");
            kept.open[id] = true;
        }
        for (unsigned i = 0; i < STEP; i++) {
            uint64_t id = next_random(&random) % TASKS;
            if (kept.open[id])
                change(self, &kept, id, next_random(&random));
        }
        rows_commit(self);
        if (step % 3 == 1)
            rows_index(self, lowest(&kept));
        demand(self, &kept);
        rows_reopen(self);
        demand(self, &kept);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_ROWS(test_agrees_with_what_happened),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
