/* The way from a worker to a disk and back: real courier, real spool, a tracker on the test's own
 * loop, and workers that are threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <pthread.h>

#include "common/base/clock.h"
#include "common/base/ident.h"
#include "common/base/text.h"
#include "services/gateway/post.h"
#include "tests/unit/store/folder.h"

enum { DEADLINE_MS = 20000, TICK_MS = 5, WORKERS = 8, ROUNDS = 50 };

struct world {
    struct folder folder;
    struct ald_settings settings;
    ald_profiles_t *profiles;
    ald_yaml_t *yaml;
    struct ald_errors errors;
    zloop_t *loop;
    ald_sock_t *tracker;
    const char *disposition; /* what the tracker says; NULL: nothing */
    unsigned batches;
    unsigned heard;   /* items, answered or not */
    unsigned spooled; /* items that were said to come out of the spool */
    uint64_t floor;   /* of the last batch */
    drain_t *drain;
    keyring_t *keyring;
    post_t *post;
    int64_t until_ms;
};

struct worker {
    struct world *world;
    pthread_t thread;
    unsigned rounds;
    bool forget;
    unsigned ends[ITEM_FORGOTTEN + 1];
};

static struct world w;
static _Atomic unsigned working;

/* ---- the tracker ---- */

static void tracker_put(zmsg_t *to, const struct ald_schema *schema, const void *msg)
{
    assert_int_equal(ald_frame_add(to, schema, msg), ALD_OK);
}

static void tracker_batch(struct world *self, zmsg_t *batch, zmsg_t *answer)
{
    struct msg_batch head;
    struct msg_callback item;
    assert_int_equal(ald_wire_decode(&MSG_BATCH, &head, ald_frame_span(zmsg_first(batch))), ALD_OK);
    struct msg_acks acks = {.batch = head.batch, .instance = "T1"};
    tracker_put(answer, &MSG_ACKS, &acks);
    self->batches++;
    self->floor = head.floor;
    if (!self->disposition)
        self->heard += (unsigned)zmsg_size(batch) - 1;
    for (zframe_t *f = zmsg_next(batch); f && self->disposition; f = zmsg_next(batch)) {
        assert_int_equal(ald_wire_decode(&MSG_CALLBACK, &item, ald_frame_span(f)), ALD_OK);
        assert_true(item.num >= head.floor);
        self->spooled += item.spooled;
        struct msg_ack ack = {.num = item.num};
        ald_text_cut(ack.disposition, sizeof ack.disposition, ald_span_str(self->disposition));
        tracker_put(answer, &MSG_ACK, &ack);
    }
}

static int tracker_read(zloop_t *loop, zsock_t *sock, void *arg)
{
    (void)loop;
    (void)sock;
    struct world *self = arg;
    zmsg_t *msg = ald_sock_recv(self->tracker);
    for (; msg; msg = ald_sock_recv(self->tracker)) {
        zframe_t *who = zmsg_pop(msg);
        zmsg_t *answer = zmsg_new();
        zmsg_append(answer, &who);
        const struct msg_welcome welcome = {.instance = "T1", .max_item = 1 << 20};
        if (ald_wire_is(&MSG_HELLO, ald_frame_span(zmsg_first(msg))))
            tracker_put(answer, &MSG_WELCOME, &welcome);
        else
            tracker_batch(self, msg, answer);
        assert_int_equal(ald_sock_send(self->tracker, &answer), ALD_OK);
        zmsg_destroy(&msg);
    }
    return 0;
}

static void tracker_open(void)
{
    const struct ald_sock_options options = {.type = ZMQ_ROUTER, .max_frame = 1 << 20};
    struct ald_err err = {0};
    char endpoint[512];
    assert_int_equal(ald_sock_endpoint(&w.settings, "events", endpoint, sizeof endpoint, &err),
                     ALD_OK);
    assert_int_equal(ald_sock_bind(&options, endpoint, &w.tracker, &err), ALD_OK);
    (void)zloop_reader(w.loop, ald_sock_z(w.tracker), tracker_read, &w);
}

/* ---- workers and the loop ---- */

static void *worker_run(void *arg)
{
    struct worker *self = arg;
    struct ald_buf bytes;
    ald_buf_init(&bytes, 1 << 16);
    for (unsigned i = 0; i < self->rounds; i++) {
        struct msg_callback callback = {.num = post_number(self->world->post),
                                        .provider = "p",
                                        .proof = "token",
                                        .method = "GET",
                                        .received_at_ms = 1};
        struct item item = {.num = callback.num,
                            .provider = ald_span_str("p"),
                            .proof = ald_span_str("token"),
                            .proven = true};
        ald_buf_reset(&bytes);
        if (!self->forget && ald_wire_encode(&MSG_CALLBACK, &callback, &bytes) == ALD_OK)
            item.bytes = ald_buf_span(&bytes);
        self->ends[post_deliver(self->world->post, &item)]++;
    }
    ald_buf_free(&bytes);
    (void)atomic_fetch_sub(&working, 1);
    return NULL;
}

static int loop_tick(zloop_t *loop, int timer, void *arg)
{
    (void)loop;
    (void)timer;
    bool (*over)(void) = *(bool (**)(void))arg;
    return over() || ald_clock_now().mono_ms > w.until_ms ? -1 : 0;
}

/* Turn the loop until something is so. */
static void loop_until(bool (*over)(void))
{
    w.until_ms = ald_clock_now().mono_ms + DEADLINE_MS;
    int timer = zloop_timer(w.loop, TICK_MS, 0, loop_tick, &over);
    (void)zloop_start(w.loop);
    (void)zloop_timer_end(w.loop, timer);
    assert_true(over());
}

static bool nobody_works(void)
{
    return atomic_load(&working) == 0;
}

static bool is_welcomed(void)
{
    return post_welcomed(w.post);
}

static bool spool_is_empty(void)
{
    struct ald_spool_stats stats;
    drain_stats(w.drain, &stats);
    return stats.items == 0 && post_idle(w.post);
}

/* Let `count` workers do their rounds; the sum of their ends. */
static void work(unsigned count, unsigned rounds, bool forget, unsigned ends[ITEM_FORGOTTEN + 1])
{
    struct worker workers[WORKERS] = {0};
    atomic_store(&working, count);
    for (unsigned i = 0; i < count; i++) {
        workers[i] = (struct worker){.world = &w, .rounds = rounds, .forget = forget};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, worker_run, &workers[i]), 0);
    }
    loop_until(nobody_works);
    memset(ends, 0, (ITEM_FORGOTTEN + 1) * sizeof ends[0]);
    for (unsigned i = 0; i < count; i++) {
        assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
        for (unsigned k = 0; k <= ITEM_FORGOTTEN; k++)
            ends[k] += workers[i].ends[k];
    }
}

/* wait: for the tracker, before an item goes to the spool. */
static int begin_with(const char *wait)
{
    char least[64];
    char most[64];
    char instance[ALD_ULID_SIZE];
    char keys[512];
    struct ald_err err = {0};
    static const char none[] = "{}\n";
    w = (struct world){.disposition = "applied"};
    folder_make(&w.folder);
    ald_errors_init(&w.errors);
    (void)snprintf(least, sizeof least, "gateway.ack_min=%s", wait);
    (void)snprintf(most, sizeof most, "gateway.ack_max=%s", wait);
    const char *const flags[] = {least, most, "gateway.resend_after=200ms",
                                 "gateway.intake_memory=4MiB"};
    FILE *file = fopen(folder_file(&w.folder, "a.yaml"), "w");
    if (!file || fputs(none, file) < 0 || fclose(file) != 0 ||
        ald_settings_load(folder_file(&w.folder, "a.yaml"), flags, ALD_COUNT(flags), &w.errors,
                          &w.settings) != ALD_OK ||
        ald_yaml_parse("p", ald_span_str(none), 0, &w.errors, &w.yaml) != ALD_OK ||
        ald_profiles_load(ald_yaml_root(w.yaml), 0, &w.errors, &w.profiles) != ALD_OK)
        return -1;
    (void)snprintf(w.settings.bus.run, sizeof w.settings.bus.run, "%s", w.folder.path);
    (void)snprintf(w.settings.gateway.spool, sizeof w.settings.gateway.spool, "%s",
                   folder_file(&w.folder, "spool"));
    ald_ulid_new(instance);
    w.loop = zloop_new();
    if (drain_new(&w.settings, w.profiles, &w.drain, &err) != ALD_OK)
        return -1;
    (void)snprintf(keys, sizeof keys, "%s", folder_file(&w.folder, "keys"));
    w.keyring = keyring_new(keys);
    const struct post_options options = {
        .settings = &w.settings, .instance = instance, .drain = w.drain, .keyring = w.keyring};
    return post_new(w.loop, &options, &w.post, &err) == ALD_OK ? 0 : -1;
}

static int begin(void **state)
{
    (void)state;
    return begin_with("50ms");
}

/* Where nothing may be late, however busy the machine is. */
static int begin_patient(void **state)
{
    (void)state;
    return begin_with("60s");
}

static int end(void **state)
{
    (void)state;
    post_destroy(&w.post);
    drain_destroy(&w.drain);
    keyring_destroy(&w.keyring);
    if (w.tracker)
        zloop_reader_end(w.loop, ald_sock_z(w.tracker));
    ald_sock_destroy(&w.tracker);
    zloop_destroy(&w.loop);
    ald_profiles_destroy(&w.profiles);
    ald_yaml_destroy(&w.yaml);
    ald_errors_free(&w.errors);
    ald_settings_free(&w.settings);
    folder_remove(&w.folder);
    return 0;
}

static void test_example(void **state)
{
    (void)state;
    unsigned ends[ITEM_FORGOTTEN + 1];
    tracker_open();
    loop_until(is_welcomed);
    work(WORKERS, ROUNDS, false, ends);
    assert_int_equal(ends[ITEM_ACKNOWLEDGED], WORKERS * ROUNDS);
    assert_in_range(w.batches, 1, WORKERS * ROUNDS);
    assert_true(post_idle(w.post));
}

static void test_refused(void **state)
{
    (void)state;
    unsigned ends[ITEM_FORGOTTEN + 1];
    tracker_open();
    w.disposition = "refused";
    loop_until(is_welcomed);
    work(2, 3, false, ends);
    assert_int_equal(ends[ITEM_REFUSED], 6);
    assert_true(spool_is_empty());
}

static void test_without_tracker_all_is_spooled_and_drained_later(void **state)
{
    (void)state;
    unsigned ends[ITEM_FORGOTTEN + 1];
    work(WORKERS, 5, false, ends);
    assert_int_equal(ends[ITEM_SPOOLED], WORKERS * 5);
    assert_false(spool_is_empty());
    tracker_open();
    loop_until(spool_is_empty);
    assert_int_equal(w.spooled, WORKERS * 5);
    work(1, 1, false, ends);
    assert_int_equal(ends[ITEM_ACKNOWLEDGED], 1);
}

/* An item that nobody can read is moved aside; it holds back neither the rest nor the floor. */
static void test_an_unreadable_item_is_set_aside(void **state)
{
    (void)state;
    unsigned ends[ITEM_FORGOTTEN + 1];
    struct ald_spool_stats stats;
    const struct ald_spool_item odd = {.num = post_number(w.post),
                                       .at_ms = 1,
                                       .provider = ald_span_str("p"),
                                       .proof = ald_span_str("none"),
                                       .bytes = ald_span_str("no message")};
    assert_int_equal(ald_spool_put(drain_spool(w.drain), &odd, 1), ALD_OK);
    work(2, 3, false, ends);
    assert_int_equal(ends[ITEM_SPOOLED], 6);
    tracker_open();
    loop_until(spool_is_empty);
    assert_int_equal(w.spooled, 6);
    drain_stats(w.drain, &stats);
    assert_int_equal(stats.damaged, 1);
    work(1, 1, false, ends);
    assert_int_equal(ends[ITEM_ACKNOWLEDGED], 1);
}

/* A tracker of another version takes less: such an item waits, is counted, and is in nobody's way.
 */
static bool oversized_is_told(void)
{
    struct ald_spool_stats stats;
    drain_stats(w.drain, &stats);
    return drain_oversized(w.drain) == 1 && stats.items == 1;
}

static void test_an_item_beyond_what_the_tracker_takes(void **state)
{
    (void)state;
    unsigned ends[ITEM_FORGOTTEN + 1];
    static char body[2 << 20];
    memset(body, 'x', sizeof body);
    const struct msg_callback callback = {.num = post_number(w.post),
                                          .provider = "p",
                                          .proof = "token",
                                          .method = "POST",
                                          .body = ald_span_of(body, sizeof body),
                                          .received_at_ms = 1};
    struct ald_buf bytes;
    ald_buf_init(&bytes, sizeof body + 4096);
    assert_int_equal(ald_wire_encode(&MSG_CALLBACK, &callback, &bytes), ALD_OK);
    const struct ald_spool_item large = {.num = callback.num,
                                         .at_ms = 1,
                                         .provider = ald_span_str("p"),
                                         .proof = ald_span_str("token"),
                                         .bytes = ald_buf_span(&bytes)};
    assert_int_equal(ald_spool_put(drain_spool(w.drain), &large, 1), ALD_OK);
    work(2, 3, false, ends);
    tracker_open();
    loop_until(oversized_is_told);
    assert_true(w.spooled >= 6); /* on a slow machine some come a second time */
    assert_int_equal(ald_spool_remove(drain_spool(w.drain), &callback.num, 1), ALD_OK);
    loop_until(spool_is_empty);
    assert_int_equal(drain_oversized(w.drain), 0);
    ald_buf_free(&bytes);
}

static bool something_was_heard(void)
{
    return w.heard > 0;
}

static void test_silent_tracker(void **state)
{
    (void)state;
    unsigned ends[ITEM_FORGOTTEN + 1];
    tracker_open();
    loop_until(is_welcomed);
    w.disposition = NULL;
    work(WORKERS, 1, false, ends);
    assert_int_equal(ends[ITEM_SPOOLED], WORKERS);
    loop_until(something_was_heard);
    w.disposition = "applied";
    loop_until(spool_is_empty);
    assert_true(w.spooled > 0); /* on a slow machine some come a second time */
}

/* What was spooled while the tracker stood still, and had not been sent to it, goes as soon as the
 * tracker answers again; what had been is answered without being sent twice. */
static void test_a_tracker_that_stood_still(void **state)
{
    (void)state;
    unsigned ends[ITEM_FORGOTTEN + 1];
    w.settings.gateway.resend_after_ms = 3600000;
    tracker_open();
    loop_until(is_welcomed);
    zloop_reader_end(w.loop, ald_sock_z(w.tracker));
    work(WORKERS, 3, false, ends);
    assert_int_equal(ends[ITEM_SPOOLED], WORKERS * 3);
    (void)zloop_reader(w.loop, ald_sock_z(w.tracker), tracker_read, &w);
    loop_until(spool_is_empty);
    assert_in_range(w.spooled, 1, WORKERS * 3);
}

static void test_numbers_given_up_do_not_hold_the_floor(void **state)
{
    (void)state;
    unsigned ends[ITEM_FORGOTTEN + 1];
    tracker_open();
    loop_until(is_welcomed);
    work(WORKERS, ROUNDS, true, ends);
    assert_int_equal(ends[ITEM_FORGOTTEN], WORKERS * ROUNDS);
    work(1, 1, false, ends);
    uint64_t last = post_number(w.post);
    assert_int_equal(w.floor, last - 1);
}

static void test_memory_is_bounded(void **state)
{
    (void)state;
    size_t max = (size_t)w.settings.gateway.intake_memory_bytes;
    assert_true(post_hold(w.post, max - 1));
    assert_false(post_hold(w.post, 2));
    assert_true(post_hold(w.post, 1));
    post_drop(w.post, max);
    assert_int_equal(post_held(w.post), 0);
}

static void test_closed(void **state)
{
    (void)state;
    unsigned ends[ITEM_FORGOTTEN + 1];
    post_close(w.post);
    assert_int_equal(post_number(w.post), 0);
    work(2, 2, false, ends);
    assert_int_equal(ends[ITEM_REFUSED], 4);
}

/* The drain has nothing to do while nothing lies here, so the loop may sleep. */
static void test_the_drain_rests(void **state)
{
    (void)state;
    unsigned ends[ITEM_FORGOTTEN + 1];
    assert_true(drain_next_ms(w.drain) == INT64_MAX);
    work(2, 1, false, ends);
    assert_int_equal(ends[ITEM_SPOOLED], 2);
    assert_true(drain_next_ms(w.drain) <= ald_clock_now().mono_ms);
    tracker_open();
    loop_until(spool_is_empty);
    assert_true(drain_next_ms(w.drain) == INT64_MAX);
    work(1, 1, false, ends);
    loop_until(spool_is_empty); /* on a slow machine it has come there, too */
    assert_true(drain_next_ms(w.drain) == INT64_MAX);
}

/* Nothing but the worker's word wakes the loop for it. */
static void test_a_hint_wakes(void **state)
{
    (void)state;
    w.disposition = NULL;
    tracker_open();
    loop_until(is_welcomed);
    assert_int_equal(w.heard, 0);
    post_hint(w.post, "p", 7, 1);
    loop_until(something_was_heard);
}

#define POST_TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
#define PATIENT_TEST(name) cmocka_unit_test_setup_teardown(name, begin_patient, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        PATIENT_TEST(test_example),
        POST_TEST(test_refused),
        POST_TEST(test_without_tracker_all_is_spooled_and_drained_later),
        POST_TEST(test_an_unreadable_item_is_set_aside),
        POST_TEST(test_an_item_beyond_what_the_tracker_takes),
        POST_TEST(test_silent_tracker),
        POST_TEST(test_a_tracker_that_stood_still),
        PATIENT_TEST(test_numbers_given_up_do_not_hold_the_floor),
        POST_TEST(test_memory_is_bounded),
        POST_TEST(test_closed),
        POST_TEST(test_the_drain_rests),
        POST_TEST(test_a_hint_wakes),
    };
    zsys_handler_set(NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
