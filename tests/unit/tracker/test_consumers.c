/* Durable consumers over a real store, without a socket: what is on disk when what is sent, and
 * what is left of it when the tracker is killed in between. Rules 7 and 17 of GUARANTEES.md. */
#include "services/tracker/consumers/consumers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/clock.h"
#include "common/base/text.h"
#include "services/tracker/consumers/consumer.h"
#include "services/tracker/events.h"
#include "services/tracker/feed.h"
#include "services/tracker/reader/reader_inside.h"
#include "services/tracker/rest.h"
#include "services/tracker/vault/vault_consumers.h"
#include "tests/unit/tracker/stage.h"

#define TO_THE_END ((UINT64_C(1) << 53) - 1)

static struct stage *stage;
static char sent[1024]; /* answers: "rc seq seq", and what the disk has in hand then: "[2]" */
static bool away;       /* whoever asked is gone */
static zmsg_t *page;    /* that the reader has read */

static void disk_row(void *arg, const struct vault_consumer *row)
{
    size_t *pending = arg;
    const struct consumer_rules rules = {.max_deliver = 5, .ack_wait_ms = 1, .max_pending = 100};
    struct consumer core;
    consumer_init(&core, &rules, row->lane, row->handed);
    assert_int_equal(consumer_unpack(&core, row->flight), ALD_OK);
    *pending += core.pending;
    consumer_free(&core);
}

static size_t on_disk(void)
{
    size_t pending = 0;
    vault_each_consumer(&stage->tracker.vault, disk_row, &pending);
    return pending;
}

void __wrap_feed_send(feed_t *self, zmsg_t **msg_p);
void __wrap_feed_send(feed_t *self, zmsg_t **msg_p)
{
    (void)self;
    struct msg_events head;
    struct msg_answer word;
    struct msg_event event;
    size_t at = strlen(sent);
    (void)zmsg_first(*msg_p); /* who asked */
    struct ald_span bytes = ald_frame_span(zmsg_next(*msg_p));
    bool events = ald_wire_decode(&MSG_EVENTS, &head, bytes) == ALD_OK;
    assert_true(events || ald_wire_decode(&MSG_ANSWER, &word, bytes) == ALD_OK);
    at += (size_t)snprintf(sent + at, sizeof sent - at, "%s%s", at ? ", " : "",
                           events ? head.rc : word.rc);
    for (zframe_t *frame = zmsg_next(*msg_p); frame && events; frame = zmsg_next(*msg_p)) {
        assert_int_equal(ald_wire_decode(&MSG_EVENT, &event, ald_frame_span(frame)), ALD_OK);
        at += (size_t)snprintf(sent + at, sizeof sent - at, " %llu", (unsigned long long)event.seq);
    }
    if (events)
        (void)snprintf(sent + at, sizeof sent - at, " [%zu]", on_disk());
    zmsg_destroy(msg_p);
}

void __wrap_feed_send_then(feed_t *self, zmsg_t **msg_p, ald_sent_fn *then, void *arg);
void __wrap_feed_send_then(feed_t *self, zmsg_t **msg_p, ald_sent_fn *then, void *arg)
{
    __wrap_feed_send(self, msg_p);
    then(arg, !away);
}

/* The reader reads, and its page waits until the test lets it come. */
void __wrap_reader_ask_page(reader_t *self, const struct reader_pull *pull,
                            const struct reader_pick *picks);
void __wrap_reader_ask_page(reader_t *self, const struct reader_pull *pull,
                            const struct reader_pick *picks)
{
    (void)self;
    struct ald_buf question;
    struct reading reading = {.store = stage->tracker.vault.store, .answer = zmsg_new()};
    ald_buf_init(&question, 1 << 16);
    ald_buf_put(&question, pull, sizeof *pull);
    if (pull->picks > 0)
        ald_buf_put(&question, picks, pull->picks * sizeof *picks);
    assert_null(page);
    (void)zmsg_addmem(reading.answer, NULL, 0);
    reading_consumer(&reading, ald_buf_span(&question));
    page = reading.answer;
    ald_buf_free(&question);
}

/* No callback waits. */
void __wrap_events_drain(events_t *self);
void __wrap_events_drain(events_t *self)
{
    (void)self;
    vault_begin(&stage->tracker.vault);
    assert_true(tracker_commit(&stage->tracker));
}

static void begin(void)
{
    stage->tracker.consumers = consumers_new(&stage->tracker);
    consumers_back(stage->tracker.consumers);
    sent[0] = '\0';
}

static void end(void)
{
    zmsg_destroy(&page);
    consumers_destroy(&stage->tracker.consumers);
}

/* kill -9, whatever was under way, and a new start. */
static void kill_tracker(void)
{
    end();
    stage_restart(stage, NULL);
    begin();
}

static int setup(void **state)
{
    (void)stage_setup(state);
    stage = *state;
    away = false;
    begin();
    return 0;
}

static int teardown(void **state)
{
    end();
    return stage_teardown(state);
}

static void say(const struct ald_schema *schema, const void *message, const char *verb,
                uint64_t seq)
{
    zmsg_t *msg = zmsg_new();
    zframe_t *who = zframe_new("w", 1);
    struct msg_settle settle = {.lane = stage->tracker.vault.lane, .seq = seq};
    if (seq == TO_THE_END)
        settle.first = 1;
    ald_frame_put(msg, schema, message);
    (void)snprintf(settle.verb, sizeof settle.verb, "%s", verb);
    if (seq != 0)
        ald_frame_put(msg, &MSG_SETTLE, &settle);
    assert_true(consumers_message(stage->tracker.consumers, &who, msg));
    zframe_destroy(&who);
    zmsg_destroy(&msg);
}

static void open_one(uint64_t max_deliver)
{
    const struct msg_consumer_open ask = {
        .req = 1, .consumer = "one", .from = "all", .max_deliver = max_deliver};
    say(&MSG_CONSUMER_OPEN, &ask, "", 0);
    consumers_turn(stage->tracker.consumers);
}

static void pull(const char *verb, uint64_t seq)
{
    const struct msg_pull ask = {.req = 2, .consumer = "one", .instance = "a", .wait_ms = 100};
    say(&MSG_PULL, &ask, verb, seq);
}

static void settle(const char *verb, uint64_t seq)
{
    const struct msg_settles ask = {.req = 3, .consumer = "one", .instance = "a"};
    say(&MSG_SETTLES, &ask, verb, seq);
}

static void page_comes(void)
{
    zmsg_t *msg = page;
    page = NULL;
    assert_non_null(msg);
    consumers_page(stage->tracker.consumers, &msg);
}

static void turn(void)
{
    consumers_turn(stage->tracker.consumers);
}

static void results(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        char id[16];
        char query[64];
        (void)snprintf(id, sizeof id, "%u", 1000 + (unsigned)stage->tracker.vault.last_seq);
        (void)snprintf(query, sizeof query, "id=%s&code=abc", id);
        uint64_t task = stage_register(stage, "two", id);
        (void)stage_take(stage, &(struct stage_callback){.task = task, .query = query});
    }
}

#define SENT(want)                                                                                 \
    do {                                                                                           \
        assert_string_equal(sent, want);                                                           \
        sent[0] = '\0';                                                                            \
    } while (false)

static void test_example(void **state)
{
    (void)state;
    open_one(0);
    SENT("ok");
    results(2);
    pull("", 0);
    page_comes();
    SENT(""); /* nothing before the commit */
    turn();
    SENT("ok 1 2 [2]"); /* and then what is sent is on disk */
    settle("ack", 1);
    SENT("");
    turn();
    SENT("ok");
    assert_int_equal(on_disk(), 1);
}

/* A page that is read while an event is counted and not yet committed: it is not passed over. */
static void test_not_committed_yet(void **state)
{
    (void)state;
    open_one(0);
    SENT("ok");
    stage->tracker.vault.last_seq++;
    pull("", 0);
    stage->tracker.vault.last_seq--;
    results(1);
    page_comes(); /* nothing is in it, and it is read again */
    page_comes();
    turn();
    SENT("ok 1 [1]");
}

/* Killed at each step: what was sent was on disk, and what was not is offered as before. */
static void test_rule_17_killed_at_each_step(void **state)
{
    (void)state;
    open_one(2);
    results(1);
    for (unsigned i = 0; i < 5; i++) {
        pull("", 0); /* read, and no page */
        kill_tracker();
        pull("", 0);
        page_comes(); /* marked, and not committed */
        kill_tracker();
        SENT("");
        assert_int_equal(on_disk(), 0);
    }
    for (unsigned i = 0; i < 5; i++) { /* committed, and not sent, as far as anybody knows */
        pull("", 0);
        page_comes();
        turn();
        kill_tracker();
        assert_int_equal(on_disk(), 1);
    }
    pull("", 0);
    page_comes();
    turn();
    SENT("ok 1 [1]");
    settle("ack", 1); /* not committed */
    kill_tracker();
    assert_int_equal(on_disk(), 1);
    settle("ack", 1);
    turn();
    SENT("ok");
    kill_tracker();
    assert_int_equal(on_disk(), 0);
    assert_int_equal(stage_book(stage, BOOK_LETTERS_MADE), 0);
}

static void test_rule_17_a_letter_or_the_event(void **state)
{
    (void)state;
    struct msg_letter letter;
    struct msg_event event;
    open_one(0);
    results(2);
    pull("", 0);
    page_comes();
    turn();
    sent[0] = '\0';
    settle("reject", 1);
    kill_tracker(); /* neither letter nor settled */
    assert_int_equal(on_disk(), 2);
    assert_int_equal(stage_book(stage, BOOK_LETTERS_MADE), 0);
    settle("reject", 1);
    turn();
    SENT("ok");
    assert_int_equal(on_disk(), 1);
    assert_true(stage_letter(stage, &letter));
    assert_string_equal(letter.consumer, "one");
    assert_int_equal(ald_wire_decode(&MSG_EVENT, &event, letter.original), ALD_OK);
    assert_true(event.seq == 1 && ald_span_eq_str(event.result, "abc"));
    settle("reject", 1); /* said again: not a second letter */
    turn();
    assert_int_equal(stage_book(stage, BOOK_LETTERS_MADE), 1);
}

static void test_who_is_gone(void **state)
{
    (void)state;
    open_one(0);
    results(1);
    SENT("ok");
    away = true;
    pull("", 0);
    page_comes();
    turn();
    SENT("ok 1 [1]"); /* to nobody */
    away = false;
    pull("", 0); /* at once, and not counted again */
    page_comes();
    turn();
    SENT("ok 1 [1]");
}

static void test_rule_7_out_of_its_letter(void **state)
{
    (void)state;
    open_one(0);
    results(1);
    pull("", 0);
    page_comes();
    turn();
    settle("reject", 1);
    turn();
    assert_string_equal(stage_reinject(stage, &(struct stage_again){0}).disposition, "still");
    kill_tracker();
    pull("", 0);
    turn();
    SENT("ok 1 [0]");
    settle("nack", 1); /* left to its schedule */
    turn();
    SENT("ok");
    kill_tracker();
    pull("", 0);
    turn();
    SENT("");
    assert_string_equal(stage_reinject(stage, &(struct stage_again){0}).disposition, "still");
    turn();
    SENT("ok 1 [0]");
    settle("ack", 1);
    kill_tracker(); /* not committed: it is handed out again */
    pull("", 0);
    turn();
    SENT("ok 1 [0]");
    settle("ack", 1);
    turn();
    SENT("ok");
    assert_int_equal(stage_book(stage, BOOK_LETTERS_RESOLVED), 1);
    kill_tracker();
    pull("", 0);
    turn();
    SENT("");
}

/* Who ends and says what it has not seen: of that nothing is counted, and it need not go alone. */
static void test_rule_17_unseen_at_the_end(void **state)
{
    const struct msg_consumer_ref close = {.req = 4, .consumer = "one", .instance = "a"};
    (void)state;
    open_one(1); /* the second hand-out would be a letter */
    SENT("ok");
    results(3);
    for (unsigned i = 0; i < 3; i++) {
        pull("", 0);
        page_comes();
        turn();
        SENT("ok 1 2 3 [3]");
        say(&MSG_CONSUMER_CLOSE, &close, "release", TO_THE_END);
        turn();
        SENT("ok");
    }
    assert_int_equal(stage_book(stage, BOOK_LETTERS_MADE), 0);
    pull("", 0);
    page_comes();
    turn();
    SENT("ok 1 2 3 [3]");
    say(&MSG_CONSUMER_CLOSE, &close, "dance", 1);
    turn();
    SENT("invalid"); /* nothing of it was heeded */
    assert_int_equal(on_disk(), 3);
    say(&MSG_CONSUMER_CLOSE, &close, "", 0);
    turn();
    SENT("ok");
    assert_int_equal(stage_book(stage, BOOK_LETTERS_MADE), 3); /* any of them may have killed it */
}

/* Of a row that is damaged, no more is taken than anybody may ask for. */
static void test_rules_of_a_damaged_row(void **state)
{
    static const struct {
        const char *sql;
        struct msg_consumer_open want;
    } cases[] = {
        {"max_deliver = 4000000000000, ack_wait_ms = 4000000000000,"
         " max_ack_pending = 4000000000000",
         {.max_deliver = 1000000, .ack_wait_ms = 86400000, .max_ack_pending = 10000}},
        {"max_deliver = -1, ack_wait_ms = -1, max_ack_pending = -1",
         {.max_deliver = 1, .ack_wait_ms = 100, .max_ack_pending = 1}},
    };
    (void)state;
    open_one(0);
    SENT("ok");
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        char sql[256];
        struct msg_consumer_open ask = cases[i].want;
        (void)snprintf(sql, sizeof sql, "UPDATE consumers SET %s", cases[i].sql);
        assert_int_equal(ald_store_exec(stage->tracker.vault.store, sql), ALD_OK);
        kill_tracker();
        (void)snprintf(ask.consumer, sizeof ask.consumer, "one");
        say(&MSG_CONSUMER_OPEN, &ask, "", 0);
        turn();
        SENT("exists"); /* with what is asked for: else it is a conflict */
    }
}

#define WITH_CONSUMERS(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

/* The tick rests until who waits has waited enough, a lease is over, or a delay. */
static void test_rest(void **state)
{
    (void)state;
    consumers_t *consumers = stage->tracker.consumers;
    assert_int_equal(consumers_rest_ms(consumers), REST_NOTHING);
    open_one(0);
    SENT("ok");
    assert_int_equal(consumers_rest_ms(consumers), REST_NOTHING);
    pull("", 0);
    assert_int_equal(consumers_rest_ms(consumers), 100);
    stage_pass(99);
    consumers_tick(consumers);
    SENT("");
    stage_pass(consumers_rest_ms(consumers));
    consumers_tick(consumers);
    SENT("ok [0]"); /* no event */
    turn();
    assert_int_equal(consumers_rest_ms(consumers), REST_NOTHING);
    results(1);
    pull("", 0);
    page_comes();
    assert_int_equal(consumers_rest_ms(consumers), 0); /* to be written */
    turn();
    SENT("ok 1 [1]");
    int64_t rest = consumers_rest_ms(consumers);
    assert_true(rest > 1000 && rest != REST_NOTHING); /* its lease */
    settle("ack", 1);
    assert_int_equal(consumers_rest_ms(consumers), 0);
    turn();
    SENT("ok");
    results(1);
    pull("", 0);
    page_comes();
    turn();
    SENT("ok 2 [1]");
    stage_pass(consumers_rest_ms(consumers) - 1);
    stage->tracker.turned_ms = ald_clock_now().mono_ms;
    pull("", 0);
    assert_null(page); /* it is leased */
    stage_pass(1);
    stage->tracker.turned_ms = ald_clock_now().mono_ms;
    assert_int_equal(consumers_rest_ms(consumers), 0);
    consumers_tick(consumers);
    page_comes();
    turn();
    SENT("ok 2 [1]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_CONSUMERS(test_example),
        WITH_CONSUMERS(test_not_committed_yet),
        WITH_CONSUMERS(test_rule_17_killed_at_each_step),
        WITH_CONSUMERS(test_rule_17_a_letter_or_the_event),
        WITH_CONSUMERS(test_who_is_gone),
        WITH_CONSUMERS(test_rule_7_out_of_its_letter),
        WITH_CONSUMERS(test_rule_17_unseen_at_the_end),
        WITH_CONSUMERS(test_rules_of_a_damaged_row),
        cmocka_unit_test_setup_teardown(test_rest, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
