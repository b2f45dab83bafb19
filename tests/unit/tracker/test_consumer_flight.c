/* What a consumer has in flight, as bytes: what comes back is what went in, and nothing that lies
 * in a damaged row does harm. */
#include "services/tracker/consumers/consumer_inside.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/guard.h"

static const struct consumer_rules RULES = {
    .max_deliver = 5, .ack_wait_ms = 100, .max_pending = CONSUMER_PENDING_MAX};

static void hand(struct consumer *consumer, uint64_t from, uint64_t to)
{
    int who = consumer_instance(consumer, "a", 0);
    for (uint64_t seq = from; seq <= to; seq++)
        consumer_hand_fresh(consumer, who, &seq, 1, seq, 0);
}

static void test_example(void **state)
{
    (void)state;
    struct consumer consumer;
    struct consumer back;
    struct ald_buf bytes;
    consumer_init(&consumer, &RULES, 1, 0);
    consumer_init(&back, &RULES, 1, 1000);
    ald_buf_init(&bytes, CONSUMER_FLIGHT_MAX);
    hand(&consumer, 1, 1000);
    consumer_pack(&consumer, &bytes);
    assert_true(bytes.len < 14); /* one run, and who has it */
    assert_int_equal(consumer_unpack(&back, ald_buf_span(&bytes)), ALD_OK);
    assert_int_equal(back.waiting, 1000);
    assert_int_equal(consumer_floor(&back), 0);
    ald_buf_free(&bytes);
    consumer_free(&consumer);
    consumer_free(&back);
}

static void test_worst(void **state)
{
    (void)state;
    struct consumer consumer;
    struct consumer back;
    struct ald_buf bytes;
    const uint64_t far = UINT64_C(1) << 52;
    consumer_init(&consumer, &RULES, 1, far);
    consumer_init(&back, &RULES, 1, far + 2 * CONSUMER_PENDING_MAX);
    ald_buf_init(&bytes, CONSUMER_FLIGHT_MAX);
    for (uint64_t i = 0; i < CONSUMER_PENDING_MAX; i++) {
        const struct consumer_entry entry = {.seq = far + 2 * i,
                                             .due_ms = INT64_MAX - (int64_t)i,
                                             .count = UINT32_MAX,
                                             .state = CONSUMER_WAITING,
                                             .holder = CONSUMER_NOBODY,
                                             .suspect = i % 2 == 0,
                                             .free = i % 3 == 0};
        consumer_append(&consumer, &entry);
    }
    consumer_pack(&consumer, &bytes);
    assert_true(ald_buf_ok(&bytes));
    assert_int_equal(consumer_unpack(&back, ald_buf_span(&bytes)), ALD_OK);
    assert_int_equal(back.end, consumer.end);
    for (size_t i = 0; i < back.end; i++) {
        const struct consumer_entry *a = &consumer.flight[i];
        const struct consumer_entry *b = &back.flight[i];
        assert_true(a->seq == b->seq && a->due_ms == b->due_ms && a->count == b->count &&
                    a->suspect == b->suspect && a->free == b->free);
    }
    ald_buf_free(&bytes);
    consumer_free(&consumer);
    consumer_free(&back);
}

static void test_garbage(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *bytes;
        size_t len;
        enum ald_rc want;
    } cases[] = {
        {"empty", "", 0, ALD_OK},
        {"nothing in flight", "\1\0", 2, ALD_OK},
        {"one", "\1\0\0\1\6\0\0", 7, ALD_OK},
        {"one that an instance had", "\1\1\1a\0\1\6\0\1", 9, ALD_OK},
        {"that nobody of the table had", "\1\1\1a\0\1\6\0\2", 9, ALD_MALFORMED},
        {"another version", "\2\0\0\1\6\0\0", 7, ALD_MALFORMED},
        {"without names", "\1", 1, ALD_MALFORMED},
        {"a name that is cut", "\1\1\3ab", 5, ALD_MALFORMED},
        {"a name that is too long", "\1\1\x40", 3, ALD_MALFORMED},
        {"too many names", "\1\x41", 2, ALD_MALFORMED},
        {"cut", "\1\0\0\1\6", 5, ALD_MALFORMED},
        {"a number without an end", "\1\0\x80", 3, ALD_MALFORMED},
        {"no length", "\1\0\0\0\6\0\0", 7, ALD_MALFORMED},
        {"beyond what was handed out", "\1\0\x64\1\6\0\0", 7, ALD_MALFORMED},
        {"more than there may be", "\1\0\0\x91\x4e\6\0\0", 8, ALD_MALFORMED},
        {"a number of 65 bits", "\1\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\2\1\6\0\0", 16,
         ALD_MALFORMED},
        {"a number that wraps", "\1\0\0\1\6\0\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\1\1\6\0\0", 21,
         ALD_MALFORMED},
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        struct consumer consumer;
        consumer_init(&consumer, &RULES, 1, 100);
        enum ald_rc rc = consumer_unpack(&consumer, ald_span_of(cases[i].bytes, cases[i].len));
        if (rc != cases[i].want)
            fail_msg("%s: %s", cases[i].name, ald_rc_name(rc));
        if (rc != ALD_OK)
            assert_int_equal(consumer_floor(&consumer), 100);
        consumer_free(&consumer);
    }
}

/* Any bytes: refused, or a flight that holds together. */
static void test_any_bytes(void **state)
{
    (void)state;
    unsigned seed = 3;
    for (unsigned turn = 0; turn < 20000; turn++) {
        uint8_t bytes[24] = {1};
        size_t len = (size_t)(rand_r(&seed) % (int)sizeof bytes);
        for (size_t i = 1; i < len; i++)
            bytes[i] = (uint8_t)(rand_r(&seed) % (turn % 2 ? 256 : 8));
        struct consumer consumer;
        consumer_init(&consumer, &RULES, 1, 40);
        if (consumer_unpack(&consumer, ald_span_of(bytes, len)) != ALD_OK)
            assert_int_equal(consumer.pending, 0);
        for (size_t i = 1; i < consumer.end; i++)
            assert_true(consumer.flight[i - 1].seq < consumer.flight[i].seq);
        assert_true(consumer.end == 0 || consumer.flight[consumer.end - 1].seq <= 40);
        consumer_free(&consumer);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_worst),
        cmocka_unit_test(test_garbage),
        cmocka_unit_test(test_any_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
