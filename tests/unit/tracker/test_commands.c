/* What the API may do to tasks: rules 16 and 22 of GUARANTEES.md. */
#include "services/tracker/commands.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "services/tracker/vault/vault_purge.h"
#include "tests/unit/tracker/stage.h"

static struct msg_answer answer;
static struct msg_task_view view;

static const char *ask(struct stage *stage, const struct msg_register *question)
{
    answer = (struct msg_answer){0};
    view = (struct msg_task_view){0};
    vault_begin(&stage->tracker.vault);
    command_register(&stage->tracker, question, &answer, &view);
    assert_true(tracker_commit(&stage->tracker));
    assert_int_equal(answer.req, question->req);
    return answer.rc;
}

static const struct msg_register with_key = {.req = 9,
                                             .provider = "two",
                                             .provider_id = "77",
                                             .key = "k1",
                                             .digest = "d1",
                                             .meta = "page 3"};

static void test_example(void **state)
{
    struct stage *stage = *state;
    assert_string_equal(ask(stage, &with_key), "ok");
    assert_string_equal(view.state, "pending");
    assert_string_equal(view.provider_id, "77");
    assert_string_equal(view.key, "k1");
    assert_string_equal(view.meta, "page 3");
    assert_int_equal(strlen(view.token), ALD_TOKEN_MAX - 1);
    assert_int_equal(view.give_up_at_ms - view.stale_at_ms, 600000 - 45000);
    uint64_t task = 0;
    unsigned attempt = 9;
    assert_int_equal(ald_token_verify(&stage->tracker.keys, "two", view.token, strlen(view.token),
                                      &task, &attempt),
                     ALD_OK);
    assert_int_equal(task, view.task);
}

/* Rule 22: the answer was lost and the question comes again: one task. */
static void test_the_same_key(void **state)
{
    struct stage *stage = *state;
    assert_string_equal(ask(stage, &with_key), "ok");
    uint64_t task = view.task;
    assert_string_equal(ask(stage, &with_key), "exists");
    assert_int_equal(view.task, task);
    assert_string_equal(view.key, "k1");
    assert_string_equal(view.meta, "page 3");
    stage_restart(stage, NULL);
    assert_string_equal(ask(stage, &with_key), "exists");
    assert_int_equal(view.task, task);
    struct msg_register other = with_key;
    (void)snprintf(other.digest, sizeof other.digest, "d2");
    assert_string_equal(ask(stage, &other), "conflict");
    assert_int_equal(view.task, 0);
    stage_cancel(stage, task);
    assert_string_equal(ask(stage, &with_key), "exists"); /* it has ended: still the same */
    assert_int_equal(view.task, task);
    assert_string_equal(view.state, "cancelled");
    assert_int_equal(stage_book(stage, BOOK_CREATED), 1);
}

/* Rule 22: nobody waits for it any more, as after a time in which we stood still. */
static void test_too_late(void **state)
{
    struct stage *stage = *state;
    struct msg_register late = with_key;
    int64_t now_ms = tracker_now(&stage->tracker).wall_ms;
    late.valid_until_ms = now_ms - 1;
    assert_string_equal(ask(stage, &late), "busy");
    assert_int_equal(view.task, 0);
    assert_int_equal(stage_book(stage, BOOK_CREATED), 0);
    late.valid_until_ms = now_ms + 60000;
    assert_string_equal(ask(stage, &late), "ok");
}

/* A key outlives its task: nobody buys again what was answered and forgotten. */
static void test_the_key_of_a_purged_task(void **state)
{
    struct stage *stage = *state;
    assert_string_equal(ask(stage, &with_key), "ok");
    uint64_t task = view.task;
    stage_cancel(stage, task);
    stage_index(stage);
    const struct vault_bounds before = {.results_ms = INT64_MAX};
    (void)vault_purge(&stage->tracker.vault, &before, 10, 5);
    assert_string_equal(ask(stage, &with_key), "gone");
    assert_int_equal(view.task, task);
}

/* A moment that no message could hold would be of a task that nobody sees. */
static void test_the_longest_time(void **state)
{
    struct stage *stage = *state;
    struct msg_register longest = {.req = 1,
                                   .provider = "two",
                                   .provider_id = "77",
                                   .give_up_after_ms = ALD_LONGEST_MS,
                                   .stale_after_ms = ALD_LONGEST_MS};
    assert_string_equal(ask(stage, &longest), "ok");
    assert_true(view.give_up_at_ms > ALD_LONGEST_MS);
    (void)snprintf(longest.provider_id, sizeof longest.provider_id, "78");
    longest.give_up_after_ms++;
    assert_string_equal(ask(stage, &longest), "invalid");
    assert_string_equal(answer.detail,
                        "stale_after, give_up_after and submit_within are at most 3650d.");
    longest.give_up_after_ms = (INT64_C(1) << 53) - 1;
    assert_string_equal(ask(stage, &longest), "invalid");
    assert_int_equal(stage_book(stage, BOOK_CREATED), 1);
}

/* Rule 16: registered twice without a key: the same open task; a later key is its name too. */
static void test_the_same_id(void **state)
{
    struct stage *stage = *state;
    struct msg_register plain = {.req = 1, .provider = "two", .provider_id = "77"};
    assert_string_equal(ask(stage, &plain), "ok");
    uint64_t task = view.task;
    assert_string_equal(ask(stage, &plain), "exists");
    assert_int_equal(view.task, task);
    assert_string_equal(ask(stage, &with_key), "exists");
    plain.provider_id[0] = '\0';
    (void)snprintf(plain.key, sizeof plain.key, "k1");
    (void)snprintf(plain.digest, sizeof plain.digest, "d1");
    assert_string_equal(ask(stage, &plain), "exists");
    assert_int_equal(view.task, task);
    plain.key[0] = '\0'; /* reserved, without an id: each is another */
    assert_string_equal(ask(stage, &plain), "ok");
    assert_string_equal(view.state, "accepted");
    assert_int_not_equal(view.task, task);
    assert_string_equal(ask(stage, &plain), "ok");
}

/* It is not in the settings any more, or never was: who did not name it, as a client of the facade,
 * is not to blame. */
static void test_the_provider_is_gone(void **state)
{
    struct stage *stage = *state;
    struct msg_register plain = {.req = 1, .provider = "two"};
    stage_renew(stage, "other: {family: inphp, poll: none}\n");
    assert_string_equal(ask(stage, &plain), "notfound");
    assert_string_equal(answer.detail, "This provider is not in the settings any more.");
    (void)snprintf(plain.provider, sizeof plain.provider, "nobody");
    assert_string_equal(ask(stage, &plain), "notfound");
    assert_string_equal(answer.detail, "There is no provider nobody in the settings.");
    (void)snprintf(plain.provider, sizeof plain.provider, "othr");
    assert_string_equal(ask(stage, &plain), "notfound");
    assert_string_equal(answer.detail,
                        "There is no provider othr in the settings; did you mean other?");
    assert_int_equal(stage_book(stage, BOOK_CREATED), 0);
}

static void test_refused(void **state)
{
    struct stage *stage = *state;
    static const struct {
        struct msg_register question;
        const char *want;
    } cases[] = {
        {{.provider = "nobody", .provider_id = "77"}, "notfound"},
        {{.provider = "two", .provider_id = "7\n7"}, "invalid"},
        {{.provider = "two", .provider_id = "7\x7f"}, "invalid"},
        {{.provider = "two", .stale_after_ms = -1}, "invalid"},
        {{.provider = "two", .give_up_after_ms = -1}, "invalid"},
        {{.provider = "two", .stale_after_ms = 700000}, "invalid"},
        {{.provider = "two", .stale_after_ms = 10, .give_up_after_ms = 5}, "invalid"},
        {{.provider = "two", .give_up_after_ms = 5}, "ok"}, /* shorter than the usual first poll */
        {{.provider = "two", .provider_id = "\xc3\xa9"}, "ok"},
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++)
        assert_string_equal(ask(stage, &cases[i].question), cases[i].want);
    stage->settings.tracker.max_open = 2;
    assert_string_equal(ask(stage, &with_key), "full");
    stage->settings.tracker.max_open = 3;
    assert_string_equal(ask(stage, &with_key), "ok"); /* and its key was not used up */
}

static void test_attach(void **state)
{
    struct stage *stage = *state;
    uint64_t task = stage_register(stage, "two", "");
    uint64_t other = stage_register(stage, "two", "78");
    static const struct {
        const char *id;
        const char *want;
    } cases[] = {
        {"", "invalid"}, {"78", "conflict"}, {"77", "ok"}, {"77", "ok"}, {"79", "conflict"},
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++)
        assert_string_equal(stage_attach(stage, task, cases[i].id), cases[i].want);
    assert_string_equal(stage_attach(stage, 12345, "80"), "notfound");
    stage_cancel(stage, other);
    assert_string_equal(stage_attach(stage, other, "80"), "exists");
    stage_restart(stage, NULL);
    assert_non_null(pending_find_ref(stage->tracker.pending, "two", "77"));
}

static void test_cancel(void **state)
{
    struct stage *stage = *state;
    uint64_t task = stage_register(stage, "two", "77");
    stage_cancel(stage, task);
    const struct msg_cancel again = {.req = 3, .task = task};
    answer = (struct msg_answer){0};
    vault_begin(&stage->tracker.vault);
    command_cancel(&stage->tracker, &again, &answer, &view);
    assert_true(tracker_commit(&stage->tracker));
    assert_string_equal(answer.rc, "exists");
    assert_string_equal(view.state, "cancelled");
    assert_int_equal(stage_book(stage, BOOK_STATE + ALD_STATE_CANCELLED), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_STAGE(test_example),
        ON_STAGE(test_the_same_key),
        ON_STAGE(test_too_late),
        ON_STAGE(test_the_key_of_a_purged_task),
        ON_STAGE(test_the_longest_time),
        ON_STAGE(test_the_same_id),
        ON_STAGE(test_the_provider_is_gone),
        ON_STAGE(test_refused),
        ON_STAGE(test_attach),
        ON_STAGE(test_cancel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
