/* Batches of a courier: what they hold, when they leave, how they are answered (rule 4 of
 * GUARANTEES.md), with a receiver played by hand. */
#include "common/net/courier.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "proto/joined.h"
#include "tests/unit/net/peer.h"

#define FIRST_RUN "01RECEIVERRUNONE0000000000"
#define SECOND_RUN "01RECEIVERRUNTWO0000000000"

static size_t wanted; /* of what a condition counts */

static bool settled(struct peer *self)
{
    return self->settled_count >= wanted;
}

static bool late(struct peer *self)
{
    return self->late_count >= wanted;
}

static void until(struct peer *self, peer_condition *condition, size_t count)
{
    wanted = count;
    peer_until(self, condition);
}

/* What gathers while two batches are under way is the next batch. */
static void test_example(void **state)
{
    (void)state;
    struct peer peer;
    struct peer_batch batch;
    peer_start(&peer, false, 0);
    peer_meet(&peer, FIRST_RUN);
    peer_add(&peer, 1, NULL);
    assert_int_equal(ald_courier_lacks(peer.courier), 0);
    ald_courier_flush(peer.courier);
    assert_int_equal(ald_courier_lacks(peer.courier), 1);
    peer_add(&peer, 2, NULL);
    ald_courier_flush(peer.courier);
    assert_true(ald_courier_lacks(peer.courier) == SIZE_MAX);
    peer_add(&peer, 3, NULL);
    peer_add(&peer, 4, NULL);
    ald_courier_flush(peer.courier);
    peer_hear_batch(&peer, &batch);
    assert_int_equal(batch.count, 1);
    uint64_t first = batch.head.batch;
    peer_hear_batch(&peer, &batch);
    assert_int_equal(batch.count, 1);
    assert_string_equal(batch.item[0], "n2");
    uint64_t second = batch.head.batch;
    assert_false(peer_hears_batch(&peer));
    peer_acks(&peer, second, (const uint64_t[]){2}, 1, "applied");
    peer_hear_batch(&peer, &batch);
    assert_int_equal(batch.count, 2);
    assert_string_equal(batch.item[0], "n3");
    assert_string_equal(batch.item[1], "n4");
    assert_true(ald_courier_holds(peer.courier, 1));
    peer_acks(&peer, first, (const uint64_t[]){1}, 1, "applied");
    until(&peer, settled, 2);
    peer_stop(&peer);
}

/* A second batch leaves ahead of the answer only when it is as large as what is under way. */
static void test_a_small_batch_waits_for_the_answer(void **state)
{
    (void)state;
    struct peer peer;
    struct peer_batch batch;
    peer_start(&peer, false, 0);
    peer_meet(&peer, FIRST_RUN);
    for (uint64_t num = 1; num <= 3; num++)
        peer_add(&peer, num, NULL);
    ald_courier_flush(peer.courier);
    peer_hear_batch(&peer, &batch);
    peer_add(&peer, 4, NULL);
    peer_add(&peer, 5, NULL);
    ald_courier_flush(peer.courier);
    assert_int_equal(ald_courier_lacks(peer.courier), 1);
    assert_false(peer_hears_batch(&peer));
    peer_acks(&peer, batch.head.batch, (const uint64_t[]){1, 2, 3}, 3, "applied");
    peer_hear_batch(&peer, &batch);
    assert_int_equal(batch.count, 2);
    assert_string_equal(batch.item[0], "n4");
    peer_stop(&peer);
}

/* One ack may stand for several items; one that claims to stand for more than a batch is garbage.
 */
static void test_an_ack_for_several(void **state)
{
    (void)state;
    struct peer peer;
    struct peer_batch batch;
    peer_start(&peer, false, 0);
    peer_meet(&peer, FIRST_RUN);
    for (uint64_t num = 5; num <= 8; num++)
        peer_add(&peer, num, NULL);
    ald_courier_flush(peer.courier);
    peer_hear_batch(&peer, &batch);
    const struct msg_ack acks[] = {
        {.num = 1, .count = UINT64_C(1) << 50, .disposition = "applied"},
        {.num = 6, .count = 3, .disposition = "duplicate"},
    };
    peer_answers(&peer, batch.head.batch, acks, ALD_COUNT(acks));
    until(&peer, settled, 3);
    for (size_t i = 0; i < 3; i++)
        assert_string_equal(peer.settled[i].disposition, "duplicate");
    assert_int_equal(peer.settled[0].num, 6);
    assert_int_equal(peer.settled[2].num, 8);
    peer_hear_batch(&peer, &batch); /* the one that was not named */
    assert_int_equal(batch.count, 1);
    assert_string_equal(batch.item[0], "n5");
    peer_stop(&peer);
}

/* Items share a frame only for a receiver that says so; a run of it that does not say so gets them
 * one by one again. */
static void test_joined_where_that_is_taken(void **state)
{
    (void)state;
    struct peer peer;
    struct peer_batch batch;
    peer_start(&peer, false, 0);
    peer.joins = true;
    peer_meet(&peer, FIRST_RUN);
    for (uint64_t num = 1; num <= 3; num++)
        peer_add(&peer, num, NULL);
    ald_courier_flush(peer.courier);
    peer_hear_batch(&peer, &batch);
    assert_int_equal(batch.count, 3);
    assert_int_equal(batch.frames, 1);
    assert_string_equal(batch.item[0], "n1");
    assert_string_equal(batch.item[2], "n3");

    peer.joins = false;
    peer_welcome(&peer, SECOND_RUN, 1 << 20);
    peer_hear_batch(&peer, &batch);
    assert_int_equal(batch.count, 3);
    assert_int_equal(batch.frames, 3);
    peer_acks(&peer, batch.head.batch, (const uint64_t[]){1, 2, 3}, 3, "applied");
    until(&peer, settled, 3);
    peer_stop(&peer);
}

/* A frame of joined items is bounded; what is longer goes by itself, in its place. */
static void test_joined_frames_are_bounded(void **state)
{
    (void)state;
    static char bytes[ALD_JOINED_MAX + 1];
    static const struct {
        size_t len[4];
        size_t frames;
    } cases[] = {
        {{10, 10, 10, 10}, 1},
        {{ALD_JOINED_MAX - ALD_JOINED_HEAD, 1, 1, 1}, 2},
        {{ALD_JOINED_MAX / 2, ALD_JOINED_MAX / 2, 1, 1}, 2},
        {{1, ALD_JOINED_MAX + 1, 1, 1}, 3},
        {{ALD_JOINED_MAX - ALD_JOINED_HEAD + 1, 1, 1, 1}, 2},
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        struct peer peer;
        struct peer_batch batch;
        peer_start(&peer, false, 0);
        peer.joins = true;
        peer_meet(&peer, FIRST_RUN);
        for (size_t k = 0; k < 4; k++) {
            memset(bytes, 'a' + (int)k, sizeof bytes);
            struct ald_span item = ald_span_of(bytes, cases[i].len[k]);
            assert_int_equal(ald_courier_add(peer.courier, k + 1, item, NULL), ALD_OK);
        }
        ald_courier_flush(peer.courier);
        peer_hear_batch(&peer, &batch);
        if (batch.count != 4 || batch.frames != cases[i].frames)
            fail_msg("case %zu: %zu items in %zu frames", i, batch.count, batch.frames);
        for (size_t k = 0; k < 4; k++)
            assert_int_equal(batch.item[k][0], 'a' + (int)k);
        peer_stop(&peer);
    }
}

static void test_a_batch_is_bounded(void **state)
{
    (void)state;
    struct peer peer;
    struct peer_batch batch;
    peer_start(&peer, false, 0);
    peer_meet(&peer, FIRST_RUN);
    for (uint64_t num = 1; num <= ALD_COURIER_ITEMS + 1; num++)
        peer_add(&peer, num, NULL);
    ald_courier_flush(peer.courier);
    peer_hear_batch(&peer, &batch);
    assert_int_equal(batch.count, ALD_COURIER_ITEMS);
    assert_false(peer_hears_batch(&peer));
    peer_acks(&peer, batch.head.batch, (const uint64_t[]){1}, 1, "applied");
    peer_hear_batch(&peer, &batch); /* the other 511 again, and the last */
    assert_int_equal(batch.count, ALD_COURIER_ITEMS);
    peer_stop(&peer);
}

/* Rule 4: what can't be delivered is not accepted, and a big one rides alone. */
static void test_big_items(void **state)
{
    (void)state;
    struct peer peer;
    struct peer_batch batch;
    static uint8_t big[(1 << 20) + 1];
    memset(big, 'B', sizeof big);
    peer_start(&peer, false, 0);
    peer_meet(&peer, FIRST_RUN);
    assert_int_equal(ald_courier_add(peer.courier, 1, ald_span_of(big, sizeof big), NULL),
                     ALD_TOOBIG);
    assert_int_equal(ald_courier_items(peer.courier), 0);
    peer_add(&peer, 2, NULL);
    assert_int_equal(ald_courier_add(peer.courier, 3, ald_span_of(big, sizeof big - 1), NULL),
                     ALD_OK);
    ald_courier_flush(peer.courier);
    peer_hear_batch(&peer, &batch);
    assert_int_equal(batch.count, 1);
    assert_string_equal(batch.item[0], "n2");
    peer_acks(&peer, batch.head.batch, (const uint64_t[]){2}, 1, "applied");
    peer_hear_batch(&peer, &batch);
    assert_int_equal(batch.count, 1);
    assert_string_equal(batch.item[0], "BBBBBBBBBBBBBBB");
    peer_stop(&peer);
}

/* Rule 4: a receiver that was met after the item came, or came back with less, has the item handed
 * back, not its connection cut for ever. */
static void test_a_receiver_that_takes_less(void **state)
{
    (void)state;
    struct peer peer;
    struct peer_batch batch;
    struct msg_hello hello;
    static uint8_t big[600];
    memset(big, 'B', sizeof big);
    peer_start(&peer, false, 0);
    assert_int_equal(ald_courier_add(peer.courier, 1, ald_span_of(big, 600), NULL), ALD_OK);
    assert_int_equal(ald_courier_add(peer.courier, 2, ald_span_of(big, 500), NULL), ALD_OK);
    peer_add(&peer, 3, NULL);
    peer_hear_hello(&peer, &hello);
    peer_welcome(&peer, FIRST_RUN, 599);
    peer_hear_batch(&peer, &batch);
    assert_int_equal(batch.count, 2);
    assert_int_equal(peer.oversized_count, 1);
    assert_int_equal(peer.oversized[0], 1);
    peer_welcome(&peer, SECOND_RUN, 499);
    peer_hear_batch(&peer, &batch);
    assert_int_equal(batch.count, 1);
    assert_string_equal(batch.item[0], "n3");
    assert_int_equal(peer.oversized_count, 2);
    assert_int_equal(peer.oversized[1], 2);
    assert_int_equal(ald_courier_items(peer.courier), 1);
    peer_stop(&peer);
}

/* The same for an owner that has a place for what is late. */
static void test_less_is_late(void **state)
{
    (void)state;
    struct peer peer;
    struct peer_batch batch;
    static uint8_t big[600];
    peer_start(&peer, true, 0);
    peer_meet(&peer, FIRST_RUN);
    assert_int_equal(ald_courier_add(peer.courier, 1, ald_span_of(big, 600), NULL), ALD_OK);
    ald_courier_flush(peer.courier);
    peer_hear_batch(&peer, &batch);
    peer_welcome(&peer, SECOND_RUN, 599);
    until(&peer, late, 1);
    assert_int_equal(peer.late[0], 1);
    assert_true(peer.late_sent[0]);
    assert_false(peer_hears_batch(&peer));
    peer_stop(&peer);
}

/* All that is under way is at most 1 MiB, in how many batches ever. */
static void test_bytes_under_way_are_bounded(void **state)
{
    (void)state;
    struct peer peer;
    struct peer_batch batch;
    static uint8_t big[600 * 1024];
    memset(big, 'B', sizeof big);
    peer_start(&peer, false, 0);
    peer_meet(&peer, FIRST_RUN);
    for (uint64_t num = 1; num <= 3; num++)
        assert_int_equal(ald_courier_add(peer.courier, num, ald_span_of(big, sizeof big), NULL),
                         ALD_OK);
    ald_courier_flush(peer.courier);
    peer_hear_batch(&peer, &batch);
    assert_int_equal(batch.count, 1);
    assert_false(peer_hears_batch(&peer));
    peer_acks(&peer, batch.head.batch, (const uint64_t[]){1}, 1, "applied");
    peer_hear_batch(&peer, &batch);
    assert_int_equal(batch.count, 1);
    peer_stop(&peer);
}

/* What was late is forgotten here; its receiver may hold it still, so it counts until the batch has
 * its answer. */
static void test_late_items_count_as_under_way(void **state)
{
    (void)state;
    struct peer peer;
    struct peer_batch batch;
    static uint8_t big[700 * 1024];
    memset(big, 'B', sizeof big);
    peer_start(&peer, true, 0);
    peer_meet(&peer, FIRST_RUN);
    assert_int_equal(ald_courier_add(peer.courier, 1, ald_span_of(big, sizeof big), NULL), ALD_OK);
    ald_courier_flush(peer.courier);
    peer_hear_batch(&peer, &batch);
    peer_wait(300);
    until(&peer, late, 1);
    assert_int_equal(ald_courier_bytes(peer.courier), 0);
    assert_int_equal(ald_courier_add(peer.courier, 2, ald_span_of(big, sizeof big), NULL), ALD_OK);
    ald_courier_flush(peer.courier);
    assert_false(peer_hears_batch(&peer));
    peer_acks(&peer, batch.head.batch, (const uint64_t[]){1}, 1, "applied");
    peer_hear_batch(&peer, &batch);
    assert_int_equal(batch.count, 1);
    peer_stop(&peer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_a_small_batch_waits_for_the_answer),
        cmocka_unit_test(test_an_ack_for_several),
        cmocka_unit_test(test_joined_where_that_is_taken),
        cmocka_unit_test(test_joined_frames_are_bounded),
        cmocka_unit_test(test_a_batch_is_bounded),
        cmocka_unit_test(test_big_items),
        cmocka_unit_test(test_a_receiver_that_takes_less),
        cmocka_unit_test(test_less_is_late),
        cmocka_unit_test(test_bytes_under_way_are_bounded),
        cmocka_unit_test(test_late_items_count_as_under_way),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
