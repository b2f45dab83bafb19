/* Whose a hold is, and how long it lasts. */
#include "services/dlq/copy.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "tests/unit/dlq/fixture.h"

enum { DEADLINE_MS = 10000, LONG_MS = 600000, SHORT_MS = 50 };

struct table {
    zloop_t *loop;
    copy_t *copy;
    char folder[96];
    int64_t until_ms;
    bool done;
    enum ald_rc rc;
};

static int table_look(zloop_t *loop, int timer, void *arg)
{
    (void)loop;
    (void)timer;
    struct table *self = arg;
    return self->done || ald_clock_now().mono_ms > self->until_ms ? -1 : 0;
}

static void table_done(void *context, enum ald_rc rc, const struct ald_err *err)
{
    (void)err;
    struct table *self = context;
    self->done = true;
    self->rc = rc;
}

static struct table table_open(struct fixture *fixture)
{
    struct table self = {.loop = zloop_new()};
    self.copy = copy_new(self.loop, fixture->shelf);
    (void)snprintf(self.folder, sizeof self.folder, "%s/copy", fixture->dir);
    return self;
}

static void table_close(struct table *self)
{
    char path[128];
    copy_destroy(&self->copy);
    zloop_destroy(&self->loop);
    (void)snprintf(path, sizeof path, "%s/letters.db", self->folder);
    (void)unlink(path);
    (void)rmdir(self->folder);
}

static struct msg_backup table_ask(const struct table *self, const char *hold, int64_t hold_ms)
{
    struct msg_backup ask = {.hold_ms = hold_ms};
    (void)snprintf(ask.dir, sizeof ask.dir, "%s", self->folder);
    (void)snprintf(ask.hold, sizeof ask.hold, "%s", hold);
    return ask;
}

static enum ald_rc table_begin(struct table *self, const char *hold, int64_t hold_ms)
{
    struct msg_backup ask = table_ask(self, hold, hold_ms);
    struct ald_err err = {0};
    self->done = false;
    return copy_begin(self->copy, &ask, table_done, self, &err);
}

static enum ald_rc table_copy(struct table *self, const char *hold, int64_t hold_ms)
{
    enum ald_rc rc = table_begin(self, hold, hold_ms);
    if (rc != ALD_OK)
        return rc;
    self->until_ms = ald_clock_now().mono_ms + DEADLINE_MS;
    int timer = zloop_timer(self->loop, 1, 0, table_look, self);
    (void)zloop_start(self->loop);
    (void)zloop_timer_end(self->loop, timer);
    assert_true(self->done);
    return self->rc;
}

static enum ald_rc table_renew(struct table *self, const char *hold, int64_t hold_ms)
{
    struct msg_backup ask = table_ask(self, hold, hold_ms);
    struct ald_err err = {0};
    return copy_renew(self->copy, &ask, &err);
}

static enum ald_rc table_release(struct table *self, const char *hold)
{
    struct ald_err err = {0};
    return copy_release(self->copy, hold, &err);
}

static void table_until_free(struct table *self)
{
    self->until_ms = ald_clock_now().mono_ms + DEADLINE_MS;
    while (copy_holds(self->copy) && ald_clock_now().mono_ms < self->until_ms)
        continue;
    assert_false(copy_holds(self->copy));
}

static void test_example(void **state)
{
    struct table table = table_open(*state);
    assert_false(copy_holds(table.copy));
    assert_int_equal(table_copy(&table, ID_1, LONG_MS), ALD_OK);
    assert_true(copy_holds(table.copy));
    assert_int_equal(table_release(&table, ID_1), ALD_OK);
    assert_false(copy_holds(table.copy));
    assert_int_equal(table_release(&table, ID_1), ALD_NOTFOUND);
    table_close(&table);
}

/* Only who asked for it may renew or end it; and a hold without a name would be anybody's. */
static void test_a_hold_is_of_one_backup(void **state)
{
    struct table table = table_open(*state);
    assert_int_equal(table_copy(&table, "", LONG_MS), ALD_INVALID);
    assert_int_equal(table_release(&table, ""), ALD_NOTFOUND);
    assert_int_equal(table_renew(&table, ID_1, LONG_MS), ALD_NOTFOUND);
    assert_int_equal(table_copy(&table, ID_1, LONG_MS), ALD_OK);
    assert_int_equal(table_begin(&table, ID_2, LONG_MS), ALD_AGAIN);
    assert_int_equal(table_renew(&table, ID_2, LONG_MS), ALD_NOTFOUND);
    assert_int_equal(table_release(&table, ID_2), ALD_NOTFOUND);
    assert_int_equal(table_release(&table, ""), ALD_NOTFOUND);
    assert_true(copy_holds(table.copy));
    assert_int_equal(table_release(&table, ID_1), ALD_OK);
    table_close(&table);
}

static void test_a_hold_is_a_lease(void **state)
{
    struct table table = table_open(*state);
    assert_int_equal(table_copy(&table, ID_1, LONG_MS), ALD_OK);
    assert_int_equal(table_renew(&table, ID_1, SHORT_MS), ALD_OK);
    table_until_free(&table);
    assert_int_equal(table_renew(&table, ID_1, LONG_MS), ALD_NOTFOUND);
    assert_false(copy_holds(table.copy));
    assert_int_equal(table_release(&table, ID_1), ALD_NOTFOUND);
    table_close(&table);
}

/* Who asks again is told that it goes on, or how it ended. */
static void test_a_copy_under_way(void **state)
{
    struct table table = table_open(*state);
    assert_int_equal(table_begin(&table, ID_1, LONG_MS), ALD_OK);
    assert_int_equal(table_renew(&table, ID_1, LONG_MS), ALD_AGAIN);
    assert_int_equal(table_release(&table, ID_2), ALD_NOTFOUND);
    assert_false(table.done);
    copy_cancel(table.copy);
    assert_true(table.done);
    assert_int_equal(table_renew(&table, ID_1, LONG_MS), ALD_CLOSED);
    assert_int_equal(table_begin(&table, ID_2, LONG_MS), ALD_OK);
    assert_int_equal(table_release(&table, ID_2), ALD_NOTFOUND);
    assert_true(table.done && !copy_holds(table.copy));
    table_close(&table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SHELF_TEST(test_example),
        SHELF_TEST(test_a_hold_is_of_one_backup),
        SHELF_TEST(test_a_hold_is_a_lease),
        SHELF_TEST(test_a_copy_under_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
