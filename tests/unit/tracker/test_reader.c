/* What the reader tells of the feed and of one task. */
#include "services/tracker/reader/reader_inside.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "services/tracker/vault/vault_purge.h"
#include "tests/unit/tracker/rows.h"

/* What the reader's thread keeps from question to question. */
static struct reading_results results;

static int setup(void **state)
{
    reading_results_init(&results);
    return rows_setup(state);
}

static int teardown(void **state)
{
    reading_results_free(&results);
    return rows_teardown(state);
}

#define WITH_READER(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

/* A reading of the store as it is now; the caller ends it. */
static void begin(struct rows *rows, struct reading *reading)
{
    char path[ALD_STORE_PATH_MAX];
    struct ald_err err = {0};
    *reading = (struct reading){.answer = zmsg_new(), .results = &results};
    (void)snprintf(path, sizeof path, "%s/tracker.db", rows->folder.path);
    const struct ald_store_options options = vault_store_options(path, true);
    assert_int_equal(ald_store_open(&options, &reading->store, &err), ALD_OK);
}

static void end(struct reading *reading)
{
    zmsg_destroy(&reading->answer);
    ald_store_destroy(&reading->store);
}

/* Fetch after a position; the answer as "rc position head gap: seqs", the detail in *detail. */
static const char *fetch(struct rows *rows, const char *after, char detail[ALD_TEXT_MAX])
{
    static char said[512];
    struct reading reading;
    struct msg_fetch ask = {.req = 9};
    struct msg_events head;
    struct msg_event event;
    (void)snprintf(ask.after, sizeof ask.after, "%s", after);
    begin(rows, &reading);
    reading_fetch(&reading, &ask);
    zframe_t *frame = zmsg_first(reading.answer);
    assert_int_equal(ald_wire_decode(&MSG_EVENTS, &head, ald_frame_span(frame)), ALD_OK);
    (void)snprintf(said, sizeof said, "%s %s %s %d:", head.rc, head.position, head.head, head.gap);
    memcpy(detail, head.detail, sizeof head.detail);
    while ((frame = zmsg_next(reading.answer))) {
        size_t used = strlen(said);
        assert_int_equal(ald_wire_decode(&MSG_EVENT, &event, ald_frame_span(frame)), ALD_OK);
        (void)snprintf(said + used, sizeof said - used, " %llu", (unsigned long long)event.seq);
    }
    end(&reading);
    return said;
}

static void fill(struct rows *rows)
{
    vault_begin(&rows->vault);
    for (uint64_t id = 1; id <= 3; id++) {
        rows_task(rows, id, "");
        (void)rows_end(rows, id, "");
    }
    rows_commit(rows);
}

static void test_example(void **state)
{
    char detail[ALD_TEXT_MAX];
    fill(*state);
    assert_string_equal(fetch(*state, "0:1", detail), "ok 0:3 0:3 0: 2 3");
}

static void test_positions(void **state)
{
    static const struct {
        const char *after;
        const char *want;
        const char *says; /* a part of the detail, "" = there is none */
    } cases[] = {
        {"", "ok 0:3 0:3 0: 1 2 3", ""},
        {"all", "ok 0:3 0:3 0: 1 2 3", ""},
        {"new", "ok 0:3 0:3 0:", ""},
        {"0:3", "ok 0:3 0:3 0:", ""},
        {"0:4", "invalid  0:3 0:", "beyond the head of the feed, 0:3"},
        {"0:18446744073709551615", "invalid  0:3 0:", "beyond the head of the feed, 0:3"},
        {"7:1", "ok 0:3 0:3 1: 1 2 3", ""}, /* another lane */
        {"3", "invalid  0:3 0:", "such as 0:3"},
        {"bad", "invalid  0:3 0:", "'bad' is no position: write all, new, or LANE:SEQ"},
    };
    char detail[ALD_TEXT_MAX];
    fill(*state);
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        assert_string_equal(fetch(*state, cases[i].after, detail), cases[i].want);
        assert_non_null(strstr(detail, cases[i].says));
        assert_int_equal(detail[0] == '\0', cases[i].says[0] == '\0');
    }
}

/* Purging takes several steps, and leaves holes meanwhile: the feed begins above all that goes. */
static void test_what_is_being_purged_is_not_shown(void **state)
{
    struct rows *self = *state;
    char detail[ALD_TEXT_MAX];
    const struct vault_bounds before = {.results_ms = 21}; /* the first two */
    fill(self);
    rows_index(self, 4);
    assert_true(vault_purge(&self->vault, &before, 1, 5)); /* gathered, hidden, one is buried */
    assert_true(vault_task_known(&self->vault, 2));
    assert_string_equal(fetch(self, "all", detail), "ok 0:3 0:3 0: 3");
    assert_string_equal(fetch(self, "0:1", detail), "ok 0:3 0:3 1: 3");
    assert_string_equal(fetch(self, "0:2", detail), "ok 0:3 0:3 0: 3");
    while (vault_purge(&self->vault, &before, 1, 5)) {
    }
    assert_false(vault_task_known(&self->vault, 2));
    assert_string_equal(fetch(self, "0:1", detail), "ok 0:3 0:3 1: 3");
    const struct vault_bounds all = {.results_ms = INT64_MAX};
    while (vault_purge(&self->vault, &all, 1, 5)) {
    }
    assert_string_equal(fetch(self, "0:1", detail), "ok 0:3 0:3 1:");
}

static void test_an_empty_feed_has_a_head(void **state)
{
    char detail[ALD_TEXT_MAX];
    assert_string_equal(fetch(*state, "0:0", detail), "ok 0:0 0:0 0:");
    assert_string_equal(fetch(*state, "0:1", detail), "invalid  0:0 0:");
}

/* The task as "state polls: time what, ...". late: all is indexed after the question was put. */
static const char *get(struct rows *rows, uint64_t task, uint64_t seq, bool late)
{
    static char said[512];
    struct reading reading;
    const struct msg_get ask = {.req = 9, .task = task};
    struct reader_hint hint = {.seq = seq}; /* it is not indexed yet */
    hint.arrivals.count =
        gather_find(rows->vault.gather, task, GATHER_ARRIVAL, hint.arrivals.no, READER_NOTES_MAX);
    hint.notes.count =
        gather_find(rows->vault.gather, task, GATHER_NOTE, hint.notes.no, READER_NOTES_MAX);
    if (late)
        rows_index(rows, 0);
    struct msg_task_view view;
    struct msg_note note;
    begin(rows, &reading);
    reading_get(&reading, &ask, &hint);
    (void)zmsg_first(reading.answer);
    zframe_t *frame = zmsg_next(reading.answer);
    assert_int_equal(ald_wire_decode(&MSG_TASK_VIEW, &view, ald_frame_span(frame)), ALD_OK);
    (void)snprintf(said, sizeof said, "%s %llu:", view.state, (unsigned long long)view.polls);
    while ((frame = zmsg_next(reading.answer))) {
        size_t used = strlen(said);
        assert_int_equal(ald_wire_decode(&MSG_NOTE, &note, ald_frame_span(frame)), ALD_OK);
        (void)snprintf(said + used, sizeof said - used, " %lld %s", (long long)note.at_ms,
                       note.what);
    }
    end(&reading);
    return said;
}

/* rows.h: task 300 is made at 1300 and published at 3000. Some of its rows are indexed, some not.
 */
static void test_polls_and_timeline_of_an_ended_task(void **state)
{
    struct rows *rows = *state;
    vault_begin(&rows->vault);
    (void)rows_arrival(rows, 300, ALD_DISP_PARKED, 1200);
    rows_task(rows, 300, "77");
    vault_note(&rows->vault, 300, 2500, "poll.hinted", "pending");
    vault_note(&rows->vault, 300, 2000, "poll", "pending");
    rows_commit(rows);
    rows_index(rows, 0);
    vault_begin(&rows->vault);
    vault_note(&rows->vault, 300, 2600, "poll.unsent", "");
    vault_note(&rows->vault, 300, 2700, "poll", "done");
    vault_note(&rows->vault, 7, 2700, "poll", "of another task");
    uint64_t seq = rows_end(rows, 300, "");
    (void)rows_arrival(rows, 300, ALD_DISP_DUPLICATE, 3500);
    (void)rows_arrival(rows, 300, ALD_DISP_PROGRESS, 2100);
    rows_commit(rows);
    static const char want[] =
        "done 3: 1200 callback 1300 created 2000 poll 2100 callback"
        " 2500 poll.hinted 2600 poll.unsent 2700 poll 3000 result 3500 callback";
    assert_string_equal(get(rows, 300, seq, false), want);
    assert_string_equal(get(rows, 300, seq, true), want);
    assert_string_equal(get(rows, 300, 0, false), want);
}

static void test_lists_refuse_states_that_there_are_not(void **state)
{
    static const struct {
        struct msg_list ask;
        const char *rc;
    } cases[] = {{{.req = 9}, "ok"},
                 {{.req = 9, .state = "done"}, "ok"},
                 {{.req = 9, .state = "nosuch"}, "invalid"}};
    fill(*state);
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        struct reading reading;
        struct msg_answer head;
        begin(*state, &reading);
        reading_list(&reading, &cases[i].ask);
        zframe_t *frame = zmsg_first(reading.answer);
        assert_int_equal(ald_wire_decode(&MSG_ANSWER, &head, ald_frame_span(frame)), ALD_OK);
        assert_string_equal(head.rc, cases[i].rc);
        end(&reading);
    }
}

static void test_a_list_is_as_long_as_was_asked_for(void **state)
{
    static const struct {
        uint64_t limit;
        size_t want;
    } cases[] = {{0, 100}, {1, 1}, {999, 999}, {1000, 1000}, {5000, 1000}};
    struct rows *rows = *state;
    char id[16];
    vault_begin(&rows->vault);
    for (uint64_t task = 1; task <= 1001; task++) {
        (void)snprintf(id, sizeof id, "p%llu", (unsigned long long)task);
        rows_task(rows, task * 32, id);
    }
    rows_commit(rows);
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        const struct msg_list ask = {.req = 9, .limit = cases[i].limit};
        struct reading reading;
        begin(rows, &reading);
        reading_list(&reading, &ask);
        assert_int_equal(zmsg_size(reading.answer), 1 + cases[i].want);
        end(&reading);
    }
}

/* The ids of the tasks that are found, newest first. */
static const char *found(struct rows *rows, const char *q, const char *provider)
{
    static char said[512];
    struct reading reading;
    struct msg_task_view view;
    struct msg_list ask = {.req = 9};
    (void)snprintf(ask.q, sizeof ask.q, "%s", q);
    (void)snprintf(ask.provider, sizeof ask.provider, "%s", provider);
    begin(rows, &reading);
    reading_list(&reading, &ask);
    said[0] = '\0';
    (void)zmsg_first(reading.answer);
    for (zframe_t *frame = NULL; (frame = zmsg_next(reading.answer));) {
        size_t used = strlen(said);
        assert_int_equal(ald_wire_decode(&MSG_TASK_VIEW, &view, ald_frame_span(frame)), ALD_OK);
        (void)snprintf(said + used, sizeof said - used, "%s%llu", used ? " " : "",
                       (unsigned long long)view.task);
    }
    end(&reading);
    return said;
}

/* Two providers may have one id; a profile need not be loaded for its tasks to be found. */
static void test_search(void **state)
{
    struct rows *rows = *state;
    vault_begin(&rows->vault);
    rows_task(rows, 32, "a");
    rows_task(rows, 64, "b");
    rows_task(rows, 96, "c");
    rows_commit(rows);
    assert_int_equal(ald_store_exec(rows->vault.store,
                                    "UPDATE tasks SET provider = 'other' WHERE id > 32;"
                                    "UPDATE refs SET provider = 'other' WHERE task > 32;"
                                    "UPDATE refs SET provider_id = 'a' WHERE task = 64"),
                     ALD_OK);
    assert_string_equal(found(rows, "a", ""), "64 32");
    assert_string_equal(found(rows, "a", "other"), "64");
    assert_string_equal(found(rows, "a", "two"), "32");
    assert_string_equal(found(rows, "c", ""), "96");
    assert_string_equal(found(rows, "96", ""), "96");
    assert_string_equal(found(rows, "nothing", ""), "");
}

/* The states of all tasks, newest first. */
static const char *states(struct rows *rows)
{
    static char said[512];
    struct reading reading;
    struct msg_task_view view;
    const struct msg_list ask = {.req = 9};
    begin(rows, &reading);
    reading_list(&reading, &ask);
    said[0] = '\0';
    (void)zmsg_first(reading.answer);
    for (zframe_t *frame = NULL; (frame = zmsg_next(reading.answer));) {
        size_t used = strlen(said);
        assert_int_equal(ald_wire_decode(&MSG_TASK_VIEW, &view, ald_frame_span(frame)), ALD_OK);
        (void)snprintf(said + used, sizeof said - used, "%s%s", used ? " " : "", view.state);
    }
    end(&reading);
    return said;
}

static void end_task(struct rows *rows, uint64_t task)
{
    vault_begin(&rows->vault);
    (void)rows_end(rows, task, "");
    rows_commit(rows);
}

/* Whether a task has ended is known before the index knows it, while it learns it, and then. What
 * is remembered for that has a bound. */
static void test_a_list_knows_what_the_index_does_not(void **state)
{
    struct rows *rows = *state;
    vault_begin(&rows->vault);
    for (uint64_t id = 32; id <= 128; id += 32)
        rows_task(rows, id, id == 32 ? "a" : id == 64 ? "b" : id == 96 ? "c" : "d");
    rows_commit(rows);
    end_task(rows, 64);
    assert_string_equal(states(rows), "pending pending done pending");
    end_task(rows, 32);
    assert_string_equal(states(rows), "pending pending done done");
    assert_int_equal(results.seen, 2);
    assert_int_equal(tail_count(results.tail), 2);
    rows_index(rows, 0);
    end_task(rows, 128);
    assert_string_equal(states(rows), "done pending done done");
    rows_index(rows, 0);
    assert_string_equal(states(rows), "done pending done done");
    rows_index(rows, 0);
    assert_string_equal(states(rows), "done pending done done");
    assert_int_equal(tail_count(results.tail), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {WITH_READER(test_example),
                                       WITH_READER(test_search),
                                       WITH_READER(test_a_list_knows_what_the_index_does_not),
                                       WITH_READER(test_positions),
                                       WITH_READER(test_an_empty_feed_has_a_head),
                                       WITH_READER(test_what_is_being_purged_is_not_shown),
                                       WITH_READER(test_polls_and_timeline_of_an_ended_task),
                                       WITH_READER(test_lists_refuse_states_that_there_are_not),
                                       WITH_READER(test_a_list_is_as_long_as_was_asked_for)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
