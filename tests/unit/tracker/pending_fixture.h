/* pending_fixture.h - profiles, a clock and small moves for the tests of pending.h. */
#ifndef TEST_PENDING_FIXTURE_H
#define TEST_PENDING_FIXTURE_H

#include "services/tracker/pending.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
    STALE = 45000,
    GIVE_UP = 600000,
    GRACE = 60000,
    EVERY = 5000,
    LEASE = 30000,
    MAX_REQUESTS = 3
};

ALD_UNUSED static const struct ald_profile two = {
    .name = "two",
    .poll_url = "https://two.example/res.php",
    .schedule = {.every_ms = EVERY,
                 .backoff_percent = 150,
                 .max_every_ms = 60000,
                 .max_requests = MAX_REQUESTS,
                 .give_up_after_ms = GIVE_UP},
};
ALD_UNUSED static const struct ald_profile other = {
    .name = "other",
    .poll_url = "https://other.example/res.php",
    .schedule = {.every_ms = EVERY, .max_every_ms = 60000, .max_requests = MAX_REQUESTS},
};
ALD_UNUSED static const struct ald_profile mute = {.name = "mute", .schedule = {.every_ms = EVERY}};

ALD_UNUSED static pending_t *made(void)
{
    const struct pending_options options = {
        .lease_ms = LEASE, .last_poll_grace_ms = GRACE, .seed = 1};
    return pending_new(&options);
}

ALD_UNUSED static struct pending_task *add(pending_t *self, uint64_t id,
                                           const struct ald_profile *profile,
                                           const char *provider_id, int64_t made_ms)
{
    const struct pending_facts facts = {.id = id,
                                        .profile = profile,
                                        .provider_id = provider_id,
                                        .made_ms = made_ms,
                                        .stale_after_ms = STALE,
                                        .give_up_after_ms = GIVE_UP};
    assert_int_equal(pending_add(self, &facts), ALD_OK);
    return pending_find(self, id);
}

/* All that is due now; the number of tasks that would expire. Those end. */
ALD_UNUSED static unsigned due(pending_t *self, int64_t now_ms, bool hold)
{
    unsigned expired = 0;
    struct pending_task *task = NULL;
    enum pending_due_kind kind = pending_due(self, now_ms, hold, &task);
    for (unsigned turns = 0; kind != PENDING_NOTHING; turns++) {
        assert_true(turns < 1000);
        if (kind == PENDING_EXPIRE) {
            expired++;
            pending_end(self, &task, now_ms);
        }
        kind = pending_due(self, now_ms, hold, &task);
    }
    return expired;
}

ALD_UNUSED static const struct pending_poll not_ready = {
    .lease = 1, .left = true, .answered = true, .sense = true};
ALD_UNUSED static const struct pending_poll no_answer = {.lease = 1, .left = true};
ALD_UNUSED static const struct pending_poll never_left = {.lease = 1};

/* Bring a task into a phase; the lease is number 1 of poller 1, at STALE. */
ALD_UNUSED static struct pending_task *in_phase(pending_t *self, enum pending_phase phase)
{
    struct pending_task *task = add(self, 7, &two, "77", 0);
    if (phase != PENDING_IDLE)
        assert_int_equal(due(self, STALE, false), 0);
    if (phase == PENDING_LEASED)
        assert_ptr_equal(pending_lease(self, 1, 1, STALE), task);
    assert_int_equal(task->phase, phase);
    return task;
}

#endif
