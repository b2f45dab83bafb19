/* What polls say and what clocks end: rules 1, 2, 3 and 15 of GUARANTEES.md, over a real store. */
#include "services/tracker/acts/acts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "services/tracker/vault/vault_letters.h"
#include "tests/unit/tracker/stage.h"

enum { STALE_MS = 45000, GIVE_UP_MS = 600000, GRACE_MS = 60000 };

#define ANSWERED .left = true, .answered = true, .http = 200

static const struct msg_outcome not_ready = {ANSWERED, .then = "code", .class_ = "pending",
                                             .scope = "task", .code = "CAPCHA_NOT_READY"};
static const struct msg_outcome lost = {ANSWERED,
                                        .then = "code",
                                        .class_ = "lost",
                                        .scope = "task",
                                        .code = "ERROR_WRONG_CAPTCHA_ID",
                                        .grace_ms = 120000};

static void test_example(void **state)
{
    struct stage *stage = *state;
    uint64_t task = stage_register(stage, "two", "77");
    const struct msg_outcome done = {ANSWERED, .then = "done", .result = {(const uint8_t *)"a", 1}};
    stage_tick(stage);
    assert_int_equal(stage_poll(stage, &done), 0); /* not due */
    stage_pass(STALE_MS);
    stage_tick(stage);
    assert_int_equal(stage_poll(stage, &done), task);
    assert_string_equal(stage_state(stage, task), "done poll");
    assert_int_equal(stage_book(stage, BOOK_POLLS), 1);
}

/* Each thing that a poll may say, of a task that is old enough. */
static void test_outcomes(void **state)
{
    struct stage *stage = *state;
    static const struct {
        const char *name;
        struct msg_outcome outcome;
        const char *want;
    } cases[] = {
        {"failed", {ANSWERED, .then = "failed"}, "failed poll"},
        {"failed code",
         {ANSWERED, .then = "code", .class_ = "failed", .scope = "task"},
         "failed poll"},
        {"permanent",
         {ANSWERED, .then = "code", .class_ = "permanent", .scope = "task"},
         "failed poll"},
        {"of the account",
         {ANSWERED, .then = "code", .class_ = "permanent", .scope = "account"},
         "open"},
        {"lost", {ANSWERED, .then = "lost"}, "lost poll"},
        {"lost code", {ANSWERED, .then = "code", .class_ = "lost", .scope = "task"}, "lost poll"},
        {"lost, in its grace",
         {ANSWERED, .then = "code", .class_ = "lost", .scope = "task", .grace_ms = 120000},
         "open"},
        {"pending", {ANSWERED, .then = "pending"}, "open"},
        {"unknown", {.left = true, .answered = true, .then = "unknown", .http = 521}, "open"},
        {"unknown code", {ANSWERED, .then = "code", .class_ = "unknown", .scope = "task"}, "open"},
        {"a word of tomorrow", {ANSWERED, .then = "enlightened"}, "open"},
        {"half an answer", {.left = true, .then = "done"}, "open"},
        {"never left", {.then = "unknown", .error = "no such host"}, "open"},
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        char id[8];
        (void)snprintf(id, sizeof id, "%zu", i);
        uint64_t task = stage_register(stage, "two", id);
        stage_pass(STALE_MS);
        stage_tick(stage);
        assert_int_equal(stage_poll(stage, &cases[i].outcome), task);
        const char *said = stage_state(stage, task);
        if (strcmp(said, cases[i].want) != 0)
            print_error("%s: %s\n", cases[i].name, said);
        assert_string_equal(said, cases[i].want);
        if (strcmp(said, "open") == 0)
            stage_cancel(stage, task);
    }
}

/* Rule 9: the provider may not know an id that it has just given out. */
static void test_lost_counts_after_its_grace(void **state)
{
    struct stage *stage = *state;
    uint64_t task = stage_register(stage, "two", "77");
    stage_pass(STALE_MS);
    stage_tick(stage);
    assert_int_equal(stage_poll(stage, &lost), task);
    assert_string_equal(stage_state(stage, task), "open");
    stage_pass(120000 - STALE_MS);
    stage_tick(stage);
    assert_int_equal(stage_poll(stage, &lost), task);
    assert_string_equal(stage_state(stage, task), "lost poll");
}

/* Rule 1: the answer may lie in a spool: then neither lost nor expired, and what comes counts. */
static void test_our_own_verdict_does_not_overtake_a_spool(void **state)
{
    struct stage *stage = *state;
    uint64_t poll = stage_register(stage, "two", "77");
    uint64_t expire = stage_register(stage, "mute", "78");
    (void)stage_gateway(stage);
    stage_restart(stage, NULL); /* a gateway on record has said nothing yet */
    stage_pass(500);
    stage_tick(stage);
    stage_pass(200000);
    stage->tracker.turned_ms += 200500; /* the loop was awake */
    stage_tick(stage);
    assert_int_equal(stage_poll(stage, &lost), poll);
    assert_string_equal(stage_state(stage, poll), "open");
    stage_pass(350000);
    stage->tracker.turned_ms += 350000;
    stage_tick(stage);
    struct sender *gateway = senders_at(stage->tracker.senders, 0);
    senders_told(stage->tracker.senders, gateway, 1000, 2, tracker_now(&stage->tracker).run_ms);
    stage_pass(60000);
    stage->tracker.turned_ms += 60000;
    senders_told(stage->tracker.senders, gateway, 1000, 2, tracker_now(&stage->tracker).run_ms);
    stage_tick(stage);
    assert_string_equal(stage_state(stage, expire), "open"); /* past its 600 s */
    const struct stage_callback spooled = {
        .provider = "mute", .task = expire, .query = "id=78&code=abc", .spooled = true};
    assert_string_equal(stage_take(stage, &spooled).disposition, "applied");
    assert_string_equal(stage_state(stage, expire), "done callback");
}

/* Rule 1: expired only after a poll that was answered past the deadline, with a letter. */
static void test_expired(void **state)
{
    struct stage *stage = *state;
    struct msg_letter letter;
    uint64_t task = stage_register(stage, "two", "77");
    (void)stage_gateway(stage);
    stage_pass(GIVE_UP_MS);
    stage_tick(stage);
    assert_string_equal(stage_state(stage, task), "open");
    assert_int_equal(stage_poll(stage, &not_ready), task);
    stage_tick(stage);
    assert_string_equal(stage_state(stage, task), "expired manual");
    assert_true(stage_letter(stage, &letter));
    assert_string_equal(letter.reason, "expired");
    assert_int_equal(letter.task, task);
    assert_int_equal(letter.original.len, 0);
    struct msg_ack ack = stage_reinject(stage, &(struct stage_again){.by_person = true});
    assert_string_equal(ack.disposition, "still"); /* there is nothing to judge, and it buys */
}

/* Guarantee 3: nobody polls, and it ends all the same. */
static void test_expired_without_a_poller(void **state)
{
    struct stage *stage = *state;
    uint64_t task = stage_register(stage, "two", "77");
    (void)stage_gateway(stage);
    stage_pass(GIVE_UP_MS + GRACE_MS - 1);
    stage_tick(stage);
    assert_string_equal(stage_state(stage, task), "open");
    stage_pass(1);
    stage_tick(stage);
    assert_string_equal(stage_state(stage, task), "expired manual");
}

/* A callback after polls had begun is late; one before is not. Also after a restart. */
static void test_late_answers(void **state)
{
    struct stage *stage = *state;
    uint64_t task = stage_register(stage, "two", "77");
    stage_pass(STALE_MS);
    stage_tick(stage);
    assert_int_equal(stage_poll(stage, &not_ready), task);
    stage_restart(stage, NULL);
    const struct stage_callback answer = {.task = task, .query = "id=77&code=abc"};
    assert_string_equal(stage_take(stage, &answer).disposition, "applied");
    assert_string_equal(stage_state(stage, task), "done late");
}

/* Rule 2: a report is a fact, also of a task that has ended, and told twice. */
static void test_reports_of_ended_tasks(void **state)
{
    struct stage *stage = *state;
    struct msg_ack ack = {0};
    uint64_t task = stage_register(stage, "two", "77");
    stage_cancel(stage, task);
    const struct msg_outcome done = {ANSWERED, .num = 4, .task = task, .then = "done"};
    vault_begin(&stage->tracker.vault);
    act_outcome(&stage->tracker, &done, &ack);
    assert_true(tracker_commit(&stage->tracker));
    assert_string_equal(ack.disposition, "duplicate");
    assert_int_equal(ack.num, 4);
    assert_string_equal(stage_state(stage, task), "cancelled manual");
}

/* Rule 15: a block is the account's, ends no task, and outlives a kill. */
static void test_a_block(void **state)
{
    struct stage *stage = *state;
    uint64_t task = stage_register(stage, "two", "77");
    (void)stage_register(stage, "two", "78");
    static const struct msg_outcome banned = {ANSWERED,         .then = "code", .class_ = "config",
                                              .scope = "ip",    .block = true,  .code = "IP_BANNED",
                                              .wait_ms = 300000};
    stage_pass(STALE_MS);
    stage_tick(stage);
    assert_int_equal(stage_poll(stage, &banned), task);
    assert_int_equal(stage_poll(stage, &banned), 0); /* the other one waits too */
    stage_stop(stage);
    stage_restart(stage, NULL);
    stage_pass(1000);
    stage_tick(stage);
    stage_pass(200000);
    stage->tracker.turned_ms += 201000;
    stage_tick(stage);
    assert_int_equal(stage_poll(stage, &not_ready), 0);
    stage_pass(100000);
    stage->tracker.turned_ms += 100000;
    stage_tick(stage);
    assert_int_not_equal(stage_poll(stage, &not_ready), 0);
    assert_string_equal(stage_state(stage, task), "open");
}

/* An account at fault without a wait of its own: its tasks are held, they do not fail. */
static void test_a_wrong_key(void **state)
{
    struct stage *stage = *state;
    uint64_t task = stage_register(stage, "two", "77");
    static const struct msg_outcome wrong = {ANSWERED, .then = "code", .class_ = "config",
                                             .scope = "account", .code = "ERROR_WRONG_USER_KEY"};
    stage_pass(STALE_MS);
    stage_tick(stage);
    assert_int_equal(stage_poll(stage, &wrong), task);
    assert_string_equal(stage_state(stage, task), "open");
    const struct pending_account *account = pending_account_at(stage->tracker.pending, 0);
    assert_true(account->budget.blocked_until_ms > tracker_now(&stage->tracker).run_ms + 59000);
}

/* Rule 3: hinted polls burn nothing of max_requests, also over a restart. */
static void test_hinted_polls(void **state)
{
    struct stage *stage = *state;
    uint64_t task = stage_register(stage, "two", "77");
    const struct stage_callback guess = {.proof = "none", .query = "id=77&code=ERROR:+1005"};
    for (int i = 0; i < 8; i++) {
        stage_pass(5000);
        assert_string_equal(stage_take(stage, &guess).disposition, "progress");
        assert_int_equal(stage_poll(stage, &not_ready), task);
        assert_int_equal(stage_poll(stage, &not_ready), 0);
    }
    stage_restart(stage, NULL);
    const struct pending_task *open = pending_find(stage->tracker.pending, task);
    assert_int_equal(pending_looked(open)->polls, 8);
    assert_int_equal(pending_looked(open)->requests, 0);
    assert_string_equal(stage_take(stage, &guess).disposition, "progress");
    assert_int_equal(stage_poll(stage, &not_ready), task);
    assert_int_equal(pending_looked(open)->requests, 0);
    stage_pass(100000);
    stage_tick(stage);
    assert_int_equal(stage_poll(stage, &not_ready), task);
    assert_int_equal(pending_looked(open)->requests, 1); /* nobody asked for this one */
}

static const char FETCHING[] =
    "two: {secrets: {key: {env: ALD_TEST_KEY}}, codes: {_default: {class: unknown}}, "
    "poll: {request: {method: GET, url: \"https://h.example/s\"}, schedule: {every: 5s, jitter: "
    "0%}, "
    "rules: [{when: [{http: 2xx}], then: fetch}]}, fetch: {request: {method: GET, url: "
    "\"https://h.example/r\"}, rules: []}, callback: none, "
    "budgets: [{name: all, requests: 10, per: 1h, hint_share: 0%}]}\n";

/* Rule 15: the fetch of a result is debited with its poll, and given back when there was none. */
static void test_rule_15_a_fetch_counts(void **state)
{
    struct stage *stage = *state;
    static const struct {
        const char *name;
        struct msg_outcome outcome;
        int64_t used;
    } cases[] = {
        {"not ready", {ANSWERED, .then = "pending"}, 1},
        {"never left", {.then = "ignore"}, 0},
        {"fetched", {ANSWERED, .fetched = true, .then = "done"}, 2},
        {"ended by the poll", {ANSWERED, .then = "failed"}, 1},
        {"fetched in vain", {.left = true, .fetched = true, .then = "unknown"}, 2},
    };
    int64_t used = 0;
    stage_restart(stage, FETCHING);
    const struct ald_profile *profile = ald_profiles_find(stage->profiles, "two");
    struct pending_account *account = pending_account(stage->tracker.pending, profile);
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        uint64_t task = stage_register(stage, "two", cases[i].name);
        stage_pass(STALE_MS);
        stage_tick(stage);
        print_message("%s\n", cases[i].name);
        assert_int_equal(stage_poll(stage, &cases[i].outcome), task);
        used += cases[i].used;
        assert_int_equal(budget_used(&account->budget, 0, BUDGET_ORDINARY, 0), used);
        if (strcmp(stage_state(stage, task), "open") == 0)
            stage_cancel(stage, task);
    }
    uint64_t task = stage_register(stage, "two", "lost");
    stage_pass(STALE_MS);
    stage_tick(stage);
    const int64_t now_ms = tracker_now(&stage->tracker).run_ms;
    assert_non_null(pending_lease(stage->tracker.pending, 7, 99, now_ms));
    pending_poller_gone(stage->tracker.pending, 7, now_ms); /* nobody knows: both count */
    assert_int_equal(budget_used(&account->budget, 0, BUDGET_ORDINARY, now_ms), used + 2);
    stage_cancel(stage, task);
}

static void tell(struct stage *stage, uint64_t task, const struct msg_outcome *outcome,
                 uint64_t lease, int64_t at_ms)
{
    struct msg_outcome told = *outcome;
    struct msg_ack ack = {0};
    told.task = task;
    told.lease = lease;
    told.at_ms = at_ms;
    vault_begin(&stage->tracker.vault);
    act_outcome(&stage->tracker, &told, &ack);
    assert_true(tracker_commit(&stage->tracker));
    assert_string_equal(ack.disposition, "progress");
}

static void assert_polls(struct stage *stage, uint64_t task, uint32_t want)
{
    assert_int_equal(pending_looked(pending_find(stage->tracker.pending, task))->polls, want);
    assert_int_equal(stage_book(stage, BOOK_POLLS), want);
}

/* Whose acknowledgement was lost says it again, also after the next poller has said its own, and
 * after a kill. */
static void test_rule_15_a_poll_is_counted_once(void **state)
{
    struct stage *stage = *state;
    uint64_t task = stage_register(stage, "two", "77");
    stage_pass(STALE_MS);
    stage_tick(stage);
    pending_t *pending = stage->tracker.pending;
    const int64_t now_ms = tracker_now(&stage->tracker).run_ms;
    assert_non_null(pending_lease(pending, 7, 1001, now_ms));
    pending_poller_gone(pending, 7, now_ms);
    assert_non_null(pending_lease(pending, 8, 1002, now_ms));
    tell(stage, task, &not_ready, 1001, 5000); /* late, and of use */
    assert_polls(stage, task, 1);
    tell(stage, task, &not_ready, 1002, 5001);
    assert_polls(stage, task, 2);
    tell(stage, task, &not_ready, 1001, 5000);
    tell(stage, task, &not_ready, 1002, 5001);
    assert_polls(stage, task, 2);
    stage_restart(stage, NULL);
    tell(stage, task, &not_ready, 1002, 5001);
    assert_polls(stage, task, 2);
    tell(stage, task, &not_ready, 1003, 5002);
    assert_polls(stage, task, 3);
}

/* What was too early to believe is not believed for being said again. */
static void test_rule_9_an_old_answer_grows_no_truer(void **state)
{
    struct stage *stage = *state;
    uint64_t task = stage_register(stage, "two", "77");
    tell(stage, task, &lost, 1001, 5000);
    stage_pass(200000);
    tell(stage, task, &lost, 1001, 5000);
    assert_string_equal(stage_state(stage, task), "open");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_STAGE(test_example),
        ON_STAGE(test_outcomes),
        ON_STAGE(test_lost_counts_after_its_grace),
        ON_STAGE(test_our_own_verdict_does_not_overtake_a_spool),
        ON_STAGE(test_expired),
        ON_STAGE(test_expired_without_a_poller),
        ON_STAGE(test_late_answers),
        ON_STAGE(test_reports_of_ended_tasks),
        ON_STAGE(test_a_block),
        ON_STAGE(test_a_wrong_key),
        ON_STAGE(test_hinted_polls),
        ON_STAGE(test_rule_15_a_fetch_counts),
        ON_STAGE(test_rule_15_a_poll_is_counted_once),
        ON_STAGE(test_rule_9_an_old_answer_grows_no_truer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
