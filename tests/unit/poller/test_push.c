/* Where a caller's pingback may lead, and what its answer means. */
#include "services/poller/push.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static bool may(const struct push_blocks *blocks, const char *text)
{
    struct sockaddr_in four = {.sin_family = AF_INET};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6};
    if (inet_pton(AF_INET, text, &four.sin_addr) == 1)
        return push_may(blocks, (const struct sockaddr *)(const void *)&four);
    assert_int_equal(inet_pton(AF_INET6, text, &six.sin6_addr), 1);
    return push_may(blocks, (const struct sockaddr *)(const void *)&six);
}

static void test_example(void **state)
{
    (void)state;
    const struct ald_texts texts = {.count = 2, .item = {"10.0.0.0/8", "2001:db8::/32"}};
    struct push_blocks blocks;
    push_blocks_load(&texts, &blocks);
    assert_true(may(&blocks, "10.1.2.3"));
    assert_true(may(&blocks, "2001:db8::1"));
    assert_true(may(&blocks, "::ffff:10.1.2.3"));
    assert_false(may(&blocks, "127.0.0.1"));
    assert_false(may(&blocks, "::1"));
    assert_false(may(&blocks, "169.254.169.254"));
}

/* Without any nothing may be called, and what is no address neither. */
static void test_nothing(void **state)
{
    (void)state;
    const struct push_blocks blocks = {0};
    const struct sockaddr_in odd = {.sin_family = AF_UNIX};
    assert_false(may(&blocks, "127.0.0.1"));
    assert_false(push_may(&blocks, (const struct sockaddr *)(const void *)&odd));
}

static void test_request(void **state)
{
    (void)state;
    struct push_blocks blocks = {0};
    struct fetch_request request;
    uint8_t json[] = "{}";
    char url[] = "http://h/x";
    char header[PUSH_HEADER_MAX];
    struct work_item item = {.poll_url = url, .body = json, .body_len = 2};
    push_request(&item, &blocks, header, &request);
    assert_string_equal(request.type, "application/json");
    assert_null(request.headers);
    assert_true(request.once); /* a connection that is there already was not asked about */
    json[0] = 'i';
    push_request(&item, &blocks, header, &request);
    assert_string_equal(request.type, "application/x-www-form-urlencoded");
    (void)snprintf(item.lease.trace, sizeof item.lease.trace, "%s",
                   "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01");
    push_request(&item, &blocks, header, &request);
    assert_string_equal(request.headers,
                        "traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_example),
                                       cmocka_unit_test(test_nothing),
                                       cmocka_unit_test(test_request)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
