/* What a sink does with the events that it is handed out: leases, outcomes, and what it says of
 * them to its consumer, which the test plays. */
#include "services/tracker/consumers/sinks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/clock.h"
#include "services/tracker/consumers/consumers.h"
#include "services/tracker/rest.h"

static int64_t now_ms;
static struct ald_settings settings;
static ald_yaml_t *doc;
static struct tracker tracker;
static char said[512];        /* settlements since the last look: "ack 5, nack 6 400" */
static char owned[256];       /* "name own max_deliver" of the last consumers_own */
static struct msg_pull asked; /* the last */
static unsigned pulls;
static uint64_t leases;

struct ald_now __wrap_ald_clock_now(void);
bool __wrap_consumers_message(consumers_t *self, zframe_t **who_p, zmsg_t *msg);
bool __wrap_consumers_own(consumers_t *self, const struct msg_consumer_open *ask, bool own);

struct ald_now __wrap_ald_clock_now(void)
{
    return (struct ald_now){.wall_ms = now_ms, .mono_ms = now_ms};
}

bool __wrap_consumers_own(consumers_t *self, const struct msg_consumer_open *ask, bool own)
{
    (void)self;
    (void)snprintf(owned, sizeof owned, "%s %d %d", ask->consumer, own, (int)ask->max_deliver);
    return true;
}

bool __wrap_consumers_message(consumers_t *self, zframe_t **who_p, zmsg_t *msg)
{
    (void)self;
    struct msg_settle settle;
    assert_true(sinks_ask(*who_p));
    if (ald_wire_decode(&MSG_PULL, &asked, ald_frame_span(zmsg_first(msg))) == ALD_OK) {
        pulls++;
        return true;
    }
    for (zframe_t *frame = zmsg_next(msg); frame; frame = zmsg_next(msg)) {
        size_t at = strlen(said);
        assert_int_equal(ald_wire_decode(&MSG_SETTLE, &settle, ald_frame_span(frame)), ALD_OK);
        (void)snprintf(said + at, sizeof said - at, "%s%s %d%s", at ? ", " : "", settle.verb,
                       (int)settle.seq, settle.delay_ms >= 1000 ? " later" : "");
    }
    return true;
}

static void pass(int64_t ms)
{
    now_ms += ms;
    tracker.turned_ms = now_ms;
}

/* The settings are these now; without jitter worth naming, waits are 400 ms to 3 s. */
static void write_settings(const char *text)
{
    struct ald_errors errors;
    ald_sinks_destroy(&settings.sinks);
    ald_yaml_destroy(&doc);
    ald_errors_init(&errors);
    assert_int_equal(ald_yaml_parse("s", ald_span_str(text), 0, &errors, &doc), ALD_OK);
    assert_int_equal(ald_sinks_load(ald_yaml_root(doc), false, &errors, &settings.sinks), ALD_OK);
    ald_errors_free(&errors);
    sinks_renew(tracker.sinks);
}

#define ONE                                                                                        \
    "a: {url: 'http://h', secret: {env: X}, max_in_flight: 2, first_after: 400ms, max_after: 3s, " \
    "timeout: 1s, max_deliver: 7}"

static int begin(void **state)
{
    (void)state;
    now_ms = 1000000;
    said[0] = owned[0] = '\0';
    pulls = 0;
    leases = 100;
    tracker = (struct tracker){.settings = &settings, .open = true, .turned_ms = now_ms};
    tracker.sinks = sinks_new(&tracker);
    write_settings(ONE);
    return 0;
}

static int end(void **state)
{
    (void)state;
    sinks_destroy(&tracker.sinks);
    ald_sinks_destroy(&settings.sinks);
    ald_yaml_destroy(&doc);
    return 0;
}

/* What was said since the last time. */
static const char *says(void)
{
    static char last[sizeof said];
    memcpy(last, said, sizeof last);
    said[0] = '\0';
    return last;
}

/* The consumer answers the question that is under way with these events. */
static void hand_out(uint64_t first, uint64_t last, size_t size, uint64_t deliveries)
{
    struct msg_events head = {.req = asked.req, .rc = "ok"};
    uint8_t *result = calloc(1, size + 1);
    zmsg_t *msg = zmsg_new();
    const uint8_t who[] = {0};
    assert_int_equal(zmsg_addmem(msg, who, sizeof who), 0);
    ald_frame_put(msg, &MSG_EVENTS, &head);
    for (uint64_t seq = first; seq <= last; seq++) {
        const struct msg_event event = {.seq = seq,
                                        .task = seq,
                                        .provider = "p",
                                        .state = "done",
                                        .source = "poll",
                                        .deliveries = deliveries,
                                        .result = ald_span_of(result, size)};
        ald_frame_put(msg, &MSG_EVENT, &event);
    }
    assert_true(sinks_answer(tracker.sinks, &msg));
    assert_null(msg);
    free(result);
}

static void begin_message(void *context, zmsg_t **msg)
{
    (void)context;
    if (!*msg)
        *msg = zmsg_new();
}

/* Lease to this poller; the numbers of the events: "5 6". */
static const char *lease(uint64_t poller)
{
    static char seqs[128];
    zmsg_t *msg = NULL;
    struct msg_lease got;
    size_t count = sinks_lease(tracker.sinks, poller, &leases, 10, &msg, begin_message, NULL);
    seqs[0] = '\0';
    for (zframe_t *frame = msg ? zmsg_first(msg) : NULL; frame; frame = zmsg_next(msg)) {
        size_t at = strlen(seqs);
        assert_int_equal(ald_wire_decode(&MSG_LEASE, &got, ald_frame_span(frame)), ALD_OK);
        assert_true(got.push);
        assert_string_equal(got.sink, "a");
        (void)snprintf(seqs + at, sizeof seqs - at, "%s%d", at ? " " : "", (int)got.seq);
        count--;
    }
    assert_int_equal(count, 0);
    zmsg_destroy(&msg);
    return seqs;
}

struct outcome_case {
    const char *name;
    uint64_t http;
    const char *class_;
    int64_t wait_ms;
    const char *want;  /* what is said of the event */
    const char *again; /* what is leased at once after it */
    const char *state; /* of the sink */
};

static const struct outcome_case OUTCOMES[] = {
    {"taken", 200, "transient", 0, "ack 5", "", "delivering"},
    {"taken, no content", 204, "transient", 0, "ack 5", "", "delivering"},
    {"elsewhere", 302, "transient", 0, "nack 5", "", "delivering"},
    {"not there", 404, "transient", 0, "nack 5", "", "delivering"},
    {"failed", 500, "transient", 0, "nack 5", "", "delivering"},
    {"failed, and says when", 503, "transient", 60000, "nack 5 later", "", "delivering"},
    {"no answer", 0, "transient", 0, "nack 5", "", "delivering"},
    {"gone", 410, "transient", 0, "", "", "paused"},
    {"too large", 0, "permanent", 0, "reject 5", "", "delivering"},
    {"not begun", 0, "none", 0, "", "", "delivering"},
};

static struct msg_outcome outcome_of(uint64_t seq, uint64_t lease_no, uint64_t http,
                                     const char *class_)
{
    struct msg_outcome out = {
        .lease = lease_no, .sink = "a", .seq = seq, .answered = http != 0, .http = http};
    (void)snprintf(out.class_, sizeof out.class_, "%s", class_);
    return out;
}

static void test_example(void **state)
{
    (void)state;
    assert_string_equal(owned, "a 1 7");
    sinks_tick(tracker.sinks);
    assert_int_equal(pulls, 1);
    assert_int_equal(asked.limit, 4); /* twice what may be under way */
    hand_out(5, 8, 1, 1);
    assert_string_equal(lease(1), "5 6"); /* max_in_flight */
    const struct msg_outcome outcome = outcome_of(5, leases - 1, 200, "transient");
    assert_string_equal(sinks_outcome(tracker.sinks, &outcome), "applied");
    assert_string_equal(says(), "ack 5");
    assert_string_equal(lease(1), "7");
}

static void test_outcomes(void **state)
{
    (void)state;
    for (size_t i = 0; i < ALD_COUNT(OUTCOMES); i++) {
        const struct outcome_case *one = &OUTCOMES[i];
        write_settings(ONE);
        sinks_forget(tracker.sinks);
        sinks_tick(tracker.sinks);
        hand_out(5, 5, 1, 1);
        assert_string_equal(lease(1), "5");
        struct msg_outcome outcome = outcome_of(5, leases, one->http, one->class_);
        outcome.wait_ms = one->wait_ms;
        (void)sinks_outcome(tracker.sinks, &outcome);
        const char *got = says();
        if (strcmp(got, one->want) != 0)
            fail_msg("%s: %s", one->name, got);
        assert_string_equal(lease(1), one->again);
        assert_string_equal(sinks_state(tracker.sinks, "a"), one->state);
    }
}

/* What a poller could not begin goes to another a little later, and a pause ends with the settings.
 */
static void test_what_is_kept_goes_again(void **state)
{
    (void)state;
    sinks_tick(tracker.sinks);
    hand_out(5, 5, 1, 1);
    (void)lease(1);
    struct msg_outcome outcome = outcome_of(5, leases, 0, "none");
    assert_string_equal(sinks_outcome(tracker.sinks, &outcome), "progress");
    pass(1000);
    assert_string_equal(lease(2), "5");
    outcome = outcome_of(5, leases, 410, "transient");
    (void)sinks_outcome(tracker.sinks, &outcome);
    pass(3600000);
    assert_string_equal(lease(2), "");
    write_settings(ONE);
    assert_string_equal(lease(2), "5");
    assert_string_equal(says(), "");
}

/* A fact settles the event, whoever has it by now; a failure counts only of who has it. */
static void test_late_outcomes(void **state)
{
    (void)state;
    sinks_tick(tracker.sinks);
    hand_out(5, 6, 1, 1);
    (void)lease(1);
    const uint64_t old = leases - 1;
    sinks_poller_gone(tracker.sinks, 1);
    sinks_tick(tracker.sinks);
    assert_string_equal(lease(2), "5 6");
    struct msg_outcome outcome = outcome_of(5, old, 500, "transient");
    assert_string_equal(sinks_outcome(tracker.sinks, &outcome), "duplicate");
    assert_string_equal(says(), "");
    outcome = outcome_of(5, old, 200, "transient");
    assert_string_equal(sinks_outcome(tracker.sinks, &outcome), "applied");
    assert_string_equal(says(), "ack 5");
    outcome = outcome_of(9, 1, 200, "transient"); /* of a run before */
    assert_string_equal(sinks_outcome(tracker.sinks, &outcome), "applied");
    assert_string_equal(says(), "ack 9");
}

/* Pollers that die with it are no try of the sink's; but one that kills them is not tried for ever.
 */
static void test_leases_that_end_without_a_word(void **state)
{
    (void)state;
    sinks_tick(tracker.sinks);
    hand_out(5, 5, 1, 1);
    for (int i = 0; i < 3; i++) {
        assert_string_equal(says(), "");
        assert_string_equal(lease(1), "5");
        pass(6001); /* timeout, and some */
        sinks_tick(tracker.sinks);
    }
    assert_string_equal(says(), "nack 5");
    assert_string_equal(lease(1), "");
}

static void test_down(void **state)
{
    (void)state;
    for (uint64_t seq = 1; seq <= 5; seq++) {
        assert_string_equal(sinks_state(tracker.sinks, "a"), "delivering");
        sinks_tick(tracker.sinks);
        hand_out(seq, seq, 1, 1);
        (void)lease(1);
        const struct msg_outcome outcome = outcome_of(seq, leases, 500, "transient");
        (void)sinks_outcome(tracker.sinks, &outcome);
    }
    assert_string_equal(sinks_state(tracker.sinks, "a"), "down");
    sinks_tick(tracker.sinks);
    hand_out(6, 9, 1, 1);
    assert_string_equal(lease(1), "");
    pass(500);
    assert_string_equal(lease(1), "6"); /* a probe, alone */
    assert_string_equal(lease(1), "");
    struct msg_outcome outcome = outcome_of(6, leases, 200, "transient");
    (void)sinks_outcome(tracker.sinks, &outcome);
    assert_string_equal(lease(1), "7 8");
}

static void test_too_large(void **state)
{
    (void)state;
    sinks_tick(tracker.sinks);
    hand_out(5, 5, ALD_PUSHED_MAX, 1);
    hand_out(5, 5, 1, 1); /* an answer to nothing */
    assert_string_equal(lease(1), "");
    assert_string_equal(says(), "reject 5");
}

/* Out of the settings: what it holds is given back, once no answer is under way. */
static void test_out_of_the_settings(void **state)
{
    (void)state;
    sinks_tick(tracker.sinks);
    hand_out(5, 6, 1, 1);
    (void)lease(1);
    sinks_tick(tracker.sinks); /* asks again */
    write_settings("{}");
    assert_null(sinks_state(tracker.sinks, "a"));
    assert_string_equal(lease(1), "");
    sinks_tick(tracker.sinks);
    assert_string_equal(says(), "");
    hand_out(7, 7, 1, 1);
    sinks_tick(tracker.sinks);
    assert_string_equal(says(), "release 5, release 6, release 7");
    assert_string_equal(owned, "a 0 7");
    const struct msg_outcome outcome = outcome_of(5, leases, 200, "transient");
    assert_string_equal(sinks_outcome(tracker.sinks, &outcome), "applied");
    assert_string_equal(says(), "ack 5"); /* it was posted all the same */
}

/* An answer to somebody else is not ours. */
static void test_answers_of_others(void **state)
{
    (void)state;
    zmsg_t *msg = zmsg_new();
    assert_int_equal(zmsg_addmem(msg, "\0abcd", 5), 0);
    assert_false(sinks_answer(tracker.sinks, &msg));
    assert_false(sinks_answer(NULL, &msg));
    zmsg_destroy(&msg);
}

#define HERE(test) cmocka_unit_test_setup_teardown(test, begin, end)

/* With an empty sink that waits for events the tick rests; with one that holds some it does not. */
static void test_rest(void **state)
{
    (void)state;
    assert_int_equal(sinks_rest_ms(tracker.sinks), 0); /* it has not asked yet */
    sinks_tick(tracker.sinks);
    assert_int_equal(pulls, 1);
    assert_int_equal(sinks_rest_ms(tracker.sinks), REST_NOTHING);
    hand_out(5, 5, 10, 1);
    assert_int_equal(sinks_rest_ms(tracker.sinks), 0);
    assert_string_equal(lease(1), "5");
    const struct msg_outcome taken = outcome_of(5, leases, 200, "transient");
    assert_string_equal(sinks_outcome(tracker.sinks, &taken), "applied");
    sinks_tick(tracker.sinks);
    assert_int_equal(sinks_rest_ms(tracker.sinks), REST_NOTHING);
    write_settings("{}");
    assert_int_equal(sinks_rest_ms(tracker.sinks), REST_NOTHING); /* it has no answer yet */
    hand_out(1, 0, 0, 0);
    assert_int_equal(sinks_rest_ms(tracker.sinks), 0); /* and is let go of now */
    sinks_tick(tracker.sinks);
    assert_int_equal(sinks_rest_ms(tracker.sinks), REST_NOTHING);
}

int main(void)
{
    const struct CMUnitTest tests[] = {HERE(test_example),
                                       HERE(test_outcomes),
                                       HERE(test_what_is_kept_goes_again),
                                       HERE(test_late_outcomes),
                                       HERE(test_leases_that_end_without_a_word),
                                       HERE(test_down),
                                       HERE(test_too_large),
                                       HERE(test_out_of_the_settings),
                                       HERE(test_answers_of_others),
                                       HERE(test_rest)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
