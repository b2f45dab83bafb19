/* shop.h - a stage (stage.h) whose provider `two` takes submissions, and small moves on it: who
 * orders, who gets the lease, what is started and reported. One thread.
 */
#ifndef ALD_TESTS_TRACKER_SHOP_H
#define ALD_TESTS_TRACKER_SHOP_H

#include "tests/unit/tracker/stage.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/text.h"
#include "services/tracker/acts/acts.h"
#include "services/tracker/acts/acts_submit.h"
#include "services/tracker/commands.h"
#include "services/tracker/pending_submit.h"
#include "services/tracker/vault/vault_letters.h"
#include "services/tracker/vault/vault_submits.h"
#include "tests/unit/tracker/kept.h"

static const char SHOP[] =
    "two: {secrets: {key: {env: ALD_TEST_KEY}}, id: {pattern: \"^[0-9]+$\"}, codes: {_default: "
    "{class: unknown}}, submit: {request: {method: POST, url: \"https://h.example/in\", encode: "
    "form}, callback_param: {in: body, name: cb}, rules: []}, poll: {request: {method: GET, url: "
    "\"https://h.example/r\"}, schedule: {first_after: 10s, every: 5s, max_every: 60s, jitter: 0%, "
    "give_up_after: 600s}, rules: []}, callback: {id: {value: id}, trust: token, auth: {url_token: "
    "path}, rules: [{when: [{value: code, is: nonempty}], then: done, result: {value: code}}, "
    "{when: [], then: hint}]}}\n";

enum { DAY = 24 * STAGE_HOUR, LEASE = 30000, GIVE_UP = 600000 };

ALD_UNUSED static int shop_setup(void **state)
{
    int rc = stage_setup(state);
    if (rc == 0)
        stage_restart(*state, SHOP);
    return rc;
}

ALD_UNUSED static void begin(struct stage *stage)
{
    stage_tick(stage); /* brings the clocks along */
    vault_begin(&stage->tracker.vault);
}

ALD_UNUSED static void commit(struct stage *stage)
{
    assert_true(tracker_commit(&stage->tracker));
}

ALD_UNUSED static struct msg_answer answered;

ALD_UNUSED static uint64_t order(struct stage *stage, const char *key, const char *ticket)
{
    struct msg_register ask = {.req = 1,
                               .submission = ald_span_str("{\"params\":{\"a\":1}}"),
                               .base = "https://cb.example"};
    struct msg_task_view view = {0};
    ald_text_cut(ask.provider, sizeof ask.provider, ald_span_str("two"));
    ald_text_cut(ask.key, sizeof ask.key, ald_span_str(key));
    ald_text_cut(ask.ticket, sizeof ask.ticket, ald_span_str(ticket));
    answered = (struct msg_answer){0};
    begin(stage);
    command_register(&stage->tracker, &ask, &answered, &view);
    commit(stage);
    return view.task;
}

ALD_UNUSED static uint64_t leases;

/* The task that is handed out, 0 = none. The lease is `leases`. */
ALD_UNUSED static uint64_t hand_out(struct stage *stage)
{
    stage_tick(stage);
    struct tracker *tracker = &stage->tracker;
    const struct pending_task *task =
        pending_lease(tracker->pending, 1, ++leases, tracker_now(tracker).run_ms);
    return task ? task->id : 0;
}

ALD_UNUSED static const char *start(struct stage *stage, uint64_t task, uint64_t attempt,
                                    uint64_t lease)
{
    static struct msg_ack ack;
    const struct msg_started started = {.num = 1, .task = task, .attempt = attempt, .lease = lease};
    ack = (struct msg_ack){0};
    begin(stage);
    act_started(&stage->tracker, &started, &ack);
    commit(stage);
    return ack.disposition;
}

ALD_UNUSED static const char *report(struct stage *stage, uint64_t task, uint64_t attempt,
                                     uint64_t lease, const struct msg_outcome *outcome)
{
    static struct msg_ack ack;
    struct msg_outcome told = *outcome;
    told.num = 2;
    told.task = task;
    told.attempt = attempt;
    told.lease = lease;
    ald_text_cut(told.provider, sizeof told.provider, ald_span_str("two"));
    ack = (struct msg_ack){0};
    begin(stage);
    act_outcome(&stage->tracker, &told, &ack);
    commit(stage);
    return ack.disposition;
}

ALD_UNUSED static const struct msg_outcome accepted = {
    .left = true, .answered = true, .then = "accepted", .provider_id = "77"};
ALD_UNUSED static const struct msg_outcome silence = {
    .left = true, .then = "unknown", .error = "cut"};
ALD_UNUSED static const struct msg_outcome unsent = {.then = "unknown", .error = "refused"};

ALD_UNUSED static enum ald_state state_of(struct stage *stage, uint64_t task)
{
    const struct pending_task *open = pending_find(stage->tracker.pending, task);
    assert_non_null(open);
    return pending_state(open);
}

ALD_UNUSED static const char *id_of(struct stage *stage, uint64_t task)
{
    static struct vault_end end;
    const struct pending_task *open = pending_find(stage->tracker.pending, task);
    if (open)
        return open->provider_id;
    assert_true(
        vault_end_find(&stage->tracker.vault, task, tracker_tail_seq(&stage->tracker, task), &end));
    return end.provider_id;
}

ALD_UNUSED static const char *code_of(struct stage *stage, uint64_t task)
{
    static char code[64];
    ald_stmt_t *stmt = NULL;
    assert_int_equal(ald_store_prepare(stage->tracker.vault.store,
                                       "SELECT code FROM results WHERE task = ?1", &stmt),
                     ALD_OK);
    ald_stmt_bind_i64(stmt, 1, (int64_t)task);
    assert_int_equal(ald_stmt_step(stmt), ALD_OK);
    ald_text_cut(code, sizeof code, ald_stmt_text(stmt, 0));
    ald_stmt_reset(stmt);
    return code;
}

/* The letters of a task, such as "submit_uncertain:open". */
ALD_UNUSED static const char *letters_of(struct stage *stage, uint64_t task)
{
    static char text[256];
    static const char *const states[] = {"open", "resolved", "dropped"};
    ald_stmt_t *stmt = NULL;
    text[0] = '\0';
    assert_int_equal(ald_store_prepare(stage->tracker.vault.store,
                                       "SELECT reason, state FROM letters WHERE task = ?1 AND "
                                       "task <> 0 ORDER BY letter",
                                       &stmt),
                     ALD_OK);
    ald_stmt_bind_i64(stmt, 1, (int64_t)task);
    while (ald_stmt_step(stmt) == ALD_OK) {
        size_t at = strlen(text);
        (void)snprintf(text + at, sizeof text - at, "%s%s:%s", at ? " " : "",
                       ald_reason_name((enum ald_reason)ald_stmt_i64(stmt, 0)),
                       states[ald_stmt_i64(stmt, 1)]);
    }
    ald_stmt_reset(stmt);
    return text;
}

/* Ordered, handed out, started as attempt 1 of the lease `leases`. */
ALD_UNUSED static uint64_t under_way(struct stage *stage)
{
    uint64_t task = order(stage, "", "");
    assert_int_equal(hand_out(stage), task);
    assert_string_equal(start(stage, task, 1, leases), "applied");
    return task;
}

#define IN_SHOP(test) cmocka_unit_test_setup_teardown(test, shop_setup, stage_teardown)

#endif
