#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "services/poller/reply.h"

static bool header(struct reply *reply, const char *line)
{
    return reply_take_header(reply, line, strlen(line));
}

static void test_example(void **state)
{
    (void)state;
    struct reply_budget budget = {.max_bytes = 100};
    struct reply reply;
    reply_init(&reply);
    reply_begin(&reply, 8);
    assert_true(header(&reply, "HTTP/1.1 200 OK\r\n") && header(&reply, "\r\n"));
    assert_true(reply_take_body(&reply, &budget, "OK|x", 4));
    assert_null(reply_fault(&reply));
    assert_true(ald_span_eq_str(ald_buf_span(&reply.body), "OK|x"));
    reply_end(&reply, &budget);
    assert_int_equal(budget.held_bytes, 0);
    reply_free(&reply);
}

static void test_headers_are_whole_at_the_empty_line(void **state)
{
    (void)state;
    static const struct {
        const char *lines[6];
        bool whole;
    } cases[] = {
        {{NULL}, false},
        {{"HTTP/1.1 200 OK\r\n", NULL}, false},
        {{"HTTP/1.1 200 OK\r\n", "Content-Le", NULL}, false},
        {{"HTTP/1.1 200 OK\r\n", "A: b\r\n", "\r\n", NULL}, true},
        {{"HTTP/1.1 200 OK\n", "\n", NULL}, true},
        {{"HTTP/1.1 100 Continue\r\n", "\r\n", "HTTP/1.1 200 OK\r\n", NULL}, false},
        {{"HTTP/1.1 100 Continue\r\n", "\r\n", "HTTP/1.1 200 OK\r\n", "\r\n", NULL}, true},
        {{"HTTP/1.1 200 OK\r\n", "\r\n", "Trailer: x\r\n", NULL}, true},
    };
    struct reply_budget budget = {.max_bytes = 100};
    struct reply reply;
    reply_init(&reply);
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        reply_begin(&reply, 8);
        for (size_t j = 0; cases[i].lines[j]; j++)
            assert_true(header(&reply, cases[i].lines[j]));
        assert_int_equal(reply_fault(&reply) == NULL, cases[i].whole);
        reply_end(&reply, &budget);
    }
    reply_free(&reply);
}

static void test_bounds(void **state)
{
    (void)state;
    struct reply_budget budget = {.max_bytes = 12};
    struct reply one, two;
    reply_init(&one);
    reply_init(&two);
    reply_begin(&one, 8);
    assert_true(reply_take_body(&one, &budget, "12345", 5));
    assert_false(reply_take_body(&one, &budget, "6789", 4));
    assert_string_equal(reply_fault(&one), "the answer is too big");
    assert_true(ald_span_eq_str(ald_buf_span(&one.body), "12345678"));

    reply_begin(&two, 8);
    assert_true(reply_take_body(&two, &budget, "1234", 4));
    assert_false(reply_take_body(&two, &budget, "5", 1));
    assert_string_equal(reply_fault(&two), "too many bytes of other answers are under way");
    reply_end(&one, &budget);
    assert_true(reply_take_body(&two, &budget, "5", 1));
    assert_int_equal(budget.held_bytes, 5);
    reply_end(&two, &budget);
    assert_int_equal(budget.held_bytes, 0);
    reply_free(&one);
    reply_free(&two);
}

static void test_headers_are_bounded(void **state)
{
    (void)state;
    struct reply reply;
    reply_init(&reply);
    reply_begin(&reply, 8);
    size_t taken = 0;
    while (taken <= REPLY_HEADER_MAX && header(&reply, "A: 0123456789\r\n"))
        taken += 15;
    assert_in_range(taken, REPLY_HEADER_MAX - 15, REPLY_HEADER_MAX);
    assert_string_equal(reply_fault(&reply), "the answer is too big");
    reply_free(&reply);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_headers_are_whole_at_the_empty_line),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_headers_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
