/* The sender's side of delivery that matters: rules 4 and 5 of GUARANTEES.md, with a receiver
 * played by hand. */
#include "common/net/courier.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/clock.h"
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

static bool away(struct peer *self)
{
    return ald_courier_away(self->courier);
}

static void until(struct peer *self, peer_condition *condition, size_t count)
{
    wanted = count;
    peer_until(self, condition);
}

static void test_example(void **state)
{
    (void)state;
    struct peer peer;
    struct peer_batch batch;
    struct msg_hello hello;
    int tag = 0;
    peer_start(&peer, false, 0);
    assert_true(ald_courier_away(peer.courier));
    peer_hear_hello(&peer, &hello);
    assert_string_equal(hello.role, "gateway");
    assert_int_equal(hello.spool_items, 3);
    peer_meet(&peer, FIRST_RUN);
    assert_false(ald_courier_away(peer.courier));
    assert_string_equal(ald_courier_receiver(peer.courier), FIRST_RUN);
    peer.floor = 7;
    peer_add(&peer, 7, &tag);
    ald_courier_flush(peer.courier);
    peer_hear_batch(&peer, &batch);
    assert_int_equal(batch.count, 1);
    assert_int_equal(batch.head.floor, 7);
    assert_string_equal(batch.item[0], "n7");
    assert_true(ald_courier_holds(peer.courier, 7));
    peer_acks(&peer, batch.head.batch, (const uint64_t[]){7}, 1, "applied");
    until(&peer, settled, 1);
    assert_ptr_equal(peer.settled[0].tag, &tag);
    assert_string_equal(peer.settled[0].disposition, "applied");
    assert_int_equal(ald_courier_items(peer.courier), 0);
    assert_int_equal(ald_courier_bytes(peer.courier), 0);
    peer_stop(&peer);
}

static void test_busy_rides_again(void **state)
{
    (void)state;
    struct peer peer;
    struct peer_batch batch;
    peer_start(&peer, false, 0);
    peer_meet(&peer, FIRST_RUN);
    peer_add(&peer, 1, NULL);
    peer_add(&peer, 2, NULL);
    ald_courier_flush(peer.courier);
    peer_hear_batch(&peer, &batch);
    peer_acks(&peer, batch.head.batch, (const uint64_t[]){1, 2}, 2, "busy");
    peer_turns(&peer);
    assert_int_equal(peer.settled_count, 0);
    peer_wait(1000);
    peer_hear_batch(&peer, &batch);
    assert_int_equal(batch.count, 2);
    peer_stop(&peer);
}

/* An answer that does not name all of them: the rest ride again. */
static void test_items_that_the_answer_forgot(void **state)
{
    (void)state;
    struct peer peer;
    struct peer_batch batch;
    peer_start(&peer, false, 0);
    peer_meet(&peer, FIRST_RUN);
    peer_add(&peer, 1, NULL);
    peer_add(&peer, 2, NULL);
    ald_courier_flush(peer.courier);
    peer_hear_batch(&peer, &batch);
    peer_acks(&peer, batch.head.batch, (const uint64_t[]){2}, 1, "applied");
    peer_hear_batch(&peer, &batch);
    assert_int_equal(batch.count, 1);
    assert_string_equal(batch.item[0], "n1");
    peer_stop(&peer);
}

/* Rule 5: sent again to a new run of the receiver, but not to the one that has it. */
static void test_a_new_run_gets_it_again(void **state)
{
    (void)state;
    struct peer peer;
    struct peer_batch batch;
    peer_start(&peer, false, 0);
    peer_meet(&peer, FIRST_RUN);
    peer_add(&peer, 1, NULL);
    ald_courier_flush(peer.courier);
    peer_hear_batch(&peer, &batch);
    uint64_t first = batch.head.batch;
    peer_wait(600); /* silence: it asks whether we are there */
    peer_meet(&peer, FIRST_RUN);
    assert_false(peer_hears_batch(&peer));
    peer_wait(600);
    peer_meet(&peer, SECOND_RUN);
    assert_int_equal(peer.fresh, 2);
    peer_hear_batch(&peer, &batch);
    assert_int_equal(batch.count, 1);
    assert_true(batch.head.batch > first);
    /* Both runs answer: settled twice, the second time without its tag. */
    peer_acks(&peer, batch.head.batch, (const uint64_t[]){1}, 1, "applied");
    peer_acks(&peer, first, (const uint64_t[]){1}, 1, "duplicate");
    until(&peer, settled, 2);
    assert_false(peer_hears_batch(&peer));
    peer_stop(&peer);
}

/* Rule 5: a run that takes the next batch before it was met is asked who it is at once, so that
 * what the run before had is sent again. */
static void test_a_new_run_answers_unmet(void **state)
{
    (void)state;
    struct peer peer;
    struct peer_batch batch;
    struct msg_hello hello;
    peer_start(&peer, false, 0);
    peer_meet(&peer, FIRST_RUN);
    peer_add(&peer, 1, NULL);
    ald_courier_flush(peer.courier);
    peer_hear_batch(&peer, &batch);
    peer_wait(100);
    peer_add(&peer, 2, NULL);
    ald_courier_flush(peer.courier);
    peer_hear_batch(&peer, &batch);
    peer.instance = SECOND_RUN;
    peer_acks(&peer, batch.head.batch, (const uint64_t[]){2}, 1, "applied");
    peer_hear_hello(&peer, &hello);
    peer_welcome(&peer, SECOND_RUN, 1 << 20);
    peer_hear_batch(&peer, &batch);
    assert_int_equal(batch.count, 1);
    assert_string_equal(batch.item[0], "n1");
    peer_stop(&peer);
}

/* Rule 5: a lost answer on a live connection is waited for, then the batch is sent once more. */
static void test_a_lost_answer(void **state)
{
    (void)state;
    struct peer peer;
    struct peer_batch batch;
    peer_start(&peer, false, 5000);
    peer_meet(&peer, FIRST_RUN);
    peer_add(&peer, 1, NULL);
    ald_courier_flush(peer.courier);
    peer_hear_batch(&peer, &batch);
    peer_wait(4000);
    peer_meet(&peer, FIRST_RUN);
    assert_false(peer_hears_batch(&peer));
    peer_wait(1100);
    peer_meet(&peer, FIRST_RUN);
    peer_hear_batch(&peer, &batch);
    assert_int_equal(batch.count, 1);
    peer_acks(&peer, batch.head.batch, (const uint64_t[]){1}, 1, "applied");
    until(&peer, settled, 1);
    peer_stop(&peer);
}

/* The same when the owner can't wait for that. */
static void test_a_lost_answer_in_a_hurry(void **state)
{
    (void)state;
    struct peer peer;
    struct peer_batch batch;
    peer_start(&peer, false, 0);
    peer_meet(&peer, FIRST_RUN);
    ald_courier_hurry(peer.courier, 300); /* nothing is under way */
    peer_add(&peer, 1, NULL);
    ald_courier_flush(peer.courier);
    peer_hear_batch(&peer, &batch);
    peer_wait(200);
    ald_courier_hurry(peer.courier, 300);
    assert_false(peer_hears_batch(&peer));
    peer_wait(100);
    ald_courier_hurry(peer.courier, 300);
    peer_hear_batch(&peer, &batch);
    assert_int_equal(batch.count, 1);
    ald_courier_hurry(peer.courier, 300);
    assert_false(peer_hears_batch(&peer)); /* that is under way now */
    peer_acks(&peer, batch.head.batch, (const uint64_t[]){1}, 1, "duplicate");
    until(&peer, settled, 1);
    peer_stop(&peer);
}

/* Rule 5: a late item is the owner's again, is not sent again, and its answer may still come. */
static void test_a_late_answer(void **state)
{
    (void)state;
    struct peer peer;
    struct peer_batch batch;
    int tag = 0;
    peer_start(&peer, true, 0);
    peer_meet(&peer, FIRST_RUN);
    peer_add(&peer, 1, &tag);
    ald_courier_flush(peer.courier);
    peer_hear_batch(&peer, &batch);
    peer_turns(&peer);
    assert_int_equal(peer.late_count, 0);
    peer_wait(300);
    until(&peer, late, 1);
    assert_int_equal(peer.late[0], 1);
    assert_false(ald_courier_holds(peer.courier, 1));
    assert_false(peer_hears_batch(&peer));
    peer_acks(&peer, batch.head.batch, (const uint64_t[]){1}, 1, "applied");
    until(&peer, settled, 1);
    assert_int_equal(peer.settled[0].num, 1);
    assert_null(peer.settled[0].tag);
    peer_stop(&peer);
}

/* A slow receiver is given more time before its items count as late, within the maximum. */
static void test_patience_follows_the_answers(void **state)
{
    (void)state;
    struct peer peer;
    struct peer_batch batch;
    peer_start(&peer, true, 0);
    peer_meet(&peer, FIRST_RUN);
    peer_add(&peer, 1, NULL);
    ald_courier_flush(peer.courier);
    peer_hear_batch(&peer, &batch);
    peer_wait(240);
    peer_acks(&peer, batch.head.batch, (const uint64_t[]){1}, 1, "applied");
    until(&peer, settled, 1);
    peer_add(&peer, 2, NULL);
    ald_courier_flush(peer.courier);
    peer_wait(500); /* twice the least, half of four times what it took */
    peer_turns(&peer);
    assert_int_equal(peer.late_count, 0);
    peer_wait(1100);
    until(&peer, late, 1);
    peer_stop(&peer);
}

static void test_while_the_receiver_is_away(void **state)
{
    (void)state;
    struct peer peer;
    peer_start(&peer, true, 0);
    peer_add(&peer, 1, NULL); /* before the first welcome */
    ald_courier_flush(peer.courier);
    assert_int_equal(peer.late_count, 1);
    peer_meet(&peer, FIRST_RUN);
    peer_add(&peer, 2, NULL);
    peer_wait(2000);
    peer_until(&peer, away);
    until(&peer, late, 2);
    peer_add(&peer, 3, NULL);
    ald_courier_flush(peer.courier);
    assert_int_equal(peer.late_count, 3);
    assert_int_equal(ald_courier_items(peer.courier), 0);
    peer_stop(&peer);
}

/* Without on_late an item waits for as long as it takes. */
static void test_items_wait_for_ever(void **state)
{
    (void)state;
    struct peer peer;
    struct peer_batch batch;
    peer_start(&peer, false, 0);
    peer_add(&peer, 1, NULL);
    ald_courier_flush(peer.courier);
    peer_wait(3600000);
    peer_turns(&peer);
    assert_int_equal(ald_courier_items(peer.courier), 1);
    peer_meet(&peer, FIRST_RUN);
    peer_hear_batch(&peer, &batch);
    assert_int_equal(batch.count, 1);
    peer_stop(&peer);
}

static void test_garbage_changes_nothing(void **state)
{
    (void)state;
    struct peer peer;
    struct peer_batch batch;
    peer_start(&peer, false, 0);
    peer_meet(&peer, FIRST_RUN);
    peer_add(&peer, 1, NULL);
    ald_courier_flush(peer.courier);
    peer_hear_batch(&peer, &batch);
    static const char cut[] = "\x82\xa1k\xa4"
                              "acks\xa1v\x01";
    static const char *const garbage[] = {"", "x", "\xdf\xff\xff\xff\xff", cut};
    for (size_t i = 0; i < ALD_COUNT(garbage); i++)
        peer_say(&peer, garbage[i], strlen(garbage[i]));
    peer_acks(&peer, batch.head.batch + 5, (const uint64_t[]){77}, 1, "applied");
    until(&peer, settled, 1); /* of a number it does not hold: the owner's to judge */
    assert_int_equal(peer.settled[0].num, 77);
    assert_true(ald_courier_holds(peer.courier, 1));
    assert_false(peer_hears_batch(&peer)); /* and its batch is still under way */
    peer_acks(&peer, batch.head.batch, (const uint64_t[]){1}, 1, "applied");
    until(&peer, settled, 2);
    peer_stop(&peer);
}

int main(void)
{
    zsys_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_busy_rides_again),
        cmocka_unit_test(test_items_that_the_answer_forgot),
        cmocka_unit_test(test_a_new_run_gets_it_again),
        cmocka_unit_test(test_a_new_run_answers_unmet),
        cmocka_unit_test(test_a_lost_answer),
        cmocka_unit_test(test_a_lost_answer_in_a_hurry),
        cmocka_unit_test(test_a_late_answer),
        cmocka_unit_test(test_patience_follows_the_answers),
        cmocka_unit_test(test_while_the_receiver_is_away),
        cmocka_unit_test(test_items_wait_for_ever),
        cmocka_unit_test(test_garbage_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
