/* again.h - a shop (shop.h) that submits again, and small moves in it. One thread. */
#ifndef ALD_TESTS_TRACKER_AGAIN_H
#define ALD_TESTS_TRACKER_AGAIN_H

#include "services/tracker/pending_again.h"
#include "services/tracker/vault/vault_resubmits.h"
#include "tests/unit/tracker/shop.h"

#define AGAIN_PROFILE(ways)                                                                        \
    "two: {secrets: {key: {env: ALD_TEST_KEY}}, id: {pattern: \"^[0-9]+$\"}, codes: {_default: "   \
    "{class: unknown}, BAD: {class: failed, resubmit: true}, END: {class: failed}}, submit: "      \
    "{request: {method: POST, url: \"https://h.example/in\", encode: form}, callback_param: {in: " \
    "body, name: cb}, rules: []}, callback: {id: {value: id}, trust: token, auth: {url_token: "    \
    "path}, stale_after: 45s, rules: [{when: [{value: err, is: nonempty}], then: code, code: "     \
    "{value: err}}, {when: [{value: code, is: nonempty}], then: done, result: {value: code}}, "    \
    "{when: [], then: hint}]}, " ways "}\n"
#define AGAIN_POLL                                                                                 \
    "poll: {request: {method: GET, url: \"https://h.example/r\"}, schedule: {first_after: 10s, "   \
    "every: 5s, max_every: 60s, jitter: 0%, max_requests: 5, give_up_after: 600s}, rules: []}"

/* Nothing to poll: late tasks are submitted again, twice. */
ALD_UNUSED static const char MUTE[] =
    AGAIN_PROFILE("poll: none, recover: {on_stale: resubmit, max_resubmits: 2}");
ALD_UNUSED static const char MUTE_ALERT[] = AGAIN_PROFILE("poll: none, recover: {on_stale: alert}");
/* Failures by BAD are, twice. */
ALD_UNUSED static const char CODED[] = AGAIN_PROFILE(AGAIN_POLL ", recover: {max_resubmits: 2}");
ALD_UNUSED static const char CODED_OFF[] = AGAIN_PROFILE(AGAIN_POLL);

enum { STALE = 45000 };

ALD_UNUSED static int mute_setup(void **state)
{
    int rc = stage_setup(state);
    if (rc == 0)
        stage_restart(*state, MUTE);
    return rc;
}

ALD_UNUSED static int coded_setup(void **state)
{
    int rc = stage_setup(state);
    if (rc == 0)
        stage_restart(*state, CODED);
    return rc;
}

/* A kill right after the last commit, and a new start whose gateways have nothing in their spools.
 */
ALD_UNUSED static void again_restart(struct stage *stage, const char *yaml)
{
    stage_tick(stage);
    stage_stop(stage); /* so that service time goes on */
    stage_restart(stage, yaml);
    (void)stage_gateway(stage);
}

ALD_UNUSED static uint64_t buy(struct stage *stage)
{
    struct msg_register ask = {.req = 1,
                               .submission = ald_span_str("{\"params\":{\"a\":1}}"),
                               .base = "https://cb.example",
                               .stale_after_ms = STALE,
                               .give_up_after_ms = GIVE_UP};
    struct msg_task_view view = {0};
    ald_text_cut(ask.provider, sizeof ask.provider, ald_span_str("two"));
    answered = (struct msg_answer){0};
    (void)stage_gateway(stage);
    begin(stage);
    command_register(&stage->tracker, &ask, &answered, &view);
    commit(stage);
    assert_string_equal(answered.rc, "ok");
    return view.task;
}

/* The task is handed out, and this attempt of it is started. */
ALD_UNUSED static void begin_attempt(struct stage *stage, uint64_t task, uint64_t attempt)
{
    assert_int_equal(hand_out(stage), task);
    assert_string_equal(start(stage, task, attempt, leases), "applied");
}

ALD_UNUSED static const char *take_as(struct stage *stage, uint64_t task, uint64_t attempt,
                                      const char *id)
{
    struct msg_outcome outcome = accepted;
    ald_text_cut(outcome.provider_id, sizeof outcome.provider_id, ald_span_str(id));
    return report(stage, task, attempt, leases, &outcome);
}

/* Bought, and taken under this id. */
ALD_UNUSED static uint64_t bought_as(struct stage *stage, const char *id)
{
    uint64_t task = buy(stage);
    begin_attempt(stage, task, 1);
    assert_string_equal(take_as(stage, task, 1, id), "progress");
    assert_string_equal(id_of(stage, task), id);
    return task;
}

ALD_UNUSED static const char *call(struct stage *stage, uint64_t task, uint64_t attempt,
                                   const char *query)
{
    static struct msg_ack ack;
    const struct stage_callback callback = {.task = task, .attempt = attempt, .query = query};
    ack = stage_take(stage, &callback);
    return ack.disposition;
}

/* Rows that count resubmissions, of one task or (0) of all. */
ALD_UNUSED static int64_t resubmits(struct stage *stage, uint64_t task)
{
    ald_stmt_t *stmt = NULL;
    assert_int_equal(ald_store_prepare(stage->tracker.vault.store,
                                       "SELECT COUNT(*) FROM resubmits WHERE ?1 IN (0, task)",
                                       &stmt),
                     ALD_OK);
    ald_stmt_bind_i64(stmt, 1, (int64_t)task);
    assert_int_equal(ald_stmt_step(stmt), ALD_OK);
    int64_t count = ald_stmt_i64(stmt, 0);
    ald_stmt_reset(stmt);
    return count;
}

ALD_UNUSED static int64_t notes(struct stage *stage, uint64_t task, const char *what)
{
    ald_stmt_t *stmt = NULL;
    assert_int_equal(ald_store_prepare(stage->tracker.vault.store,
                                       "SELECT COUNT(*) FROM notes WHERE task = ?1 AND what = ?2",
                                       &stmt),
                     ALD_OK);
    ald_stmt_bind_i64(stmt, 1, (int64_t)task);
    ald_stmt_bind_str(stmt, 2, what);
    assert_int_equal(ald_stmt_step(stmt), ALD_OK);
    int64_t count = ald_stmt_i64(stmt, 0);
    ald_stmt_reset(stmt);
    return count;
}

#define WHEN_MUTE(test) cmocka_unit_test_setup_teardown(test, mute_setup, stage_teardown)
#define WHEN_CODED(test) cmocka_unit_test_setup_teardown(test, coded_setup, stage_teardown)

#endif
