/* Who sent a request, behind proxies and before strangers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "services/gateway/peer.h"

struct peer_case {
    const char *peer;
    const char *forwarded[2]; /* headers, in order */
    const char *want;
};

static const struct ald_texts proxies = {.count = 2, .item = {"127.0.0.1", "10.0.0.0/8"}};

static void find(const struct ald_texts *texts, const struct peer_case *c, char out[ALD_PEER_MAX])
{
    struct peer_rules rules;
    struct ald_err err = {0};
    assert_int_equal(peer_rules_load(texts, &rules, &err), ALD_OK);
    struct http_header headers[3] = {{"Host", "x"}};
    size_t count = 1;
    for (size_t i = 0; i < 2 && c->forwarded[i]; i++)
        headers[count++] = (struct http_header){"x-forwarded-for", c->forwarded[i]};
    struct http_request request = {.peer = c->peer, .headers = headers, .header_count = count};
    peer_find(&rules, &request, out);
}

static void test_example(void **state)
{
    (void)state;
    char out[ALD_PEER_MAX];
    find(&proxies, &(struct peer_case){.peer = "127.0.0.1", .forwarded = {"203.0.113.9"}}, out);
    assert_string_equal(out, "203.0.113.9");
}

static const struct peer_case cases[] = {
    {"203.0.113.9", {NULL}, "203.0.113.9"},
    {"203.0.113.9", {"127.0.0.1"}, "203.0.113.9"}, /* nobody's proxy: a claim */
    {"127.0.0.1", {NULL}, "127.0.0.1"},
    {"127.0.0.1", {"127.0.0.1, 203.0.113.9"}, "203.0.113.9"}, /* the left ones are claims */
    {"127.0.0.1", {"203.0.113.9, 10.1.2.3"}, "203.0.113.9"},
    {"127.0.0.1", {"198.51.100.1", "203.0.113.9"}, "203.0.113.9"}, /* headers join in order */
    {"127.0.0.1", {"203.0.113.9", "10.1.2.3, 10.9.9.9"}, "203.0.113.9"},
    {"127.0.0.1", {"10.1.2.3"}, "10.1.2.3"},
    {"127.0.0.1", {"203.0.113.9:4711"}, "203.0.113.9"},
    {"127.0.0.1", {"[2001:db8::9]:4711"}, "2001:db8::9"},
    {"127.0.0.1", {"2001:DB8::9"}, "2001:db8::9"},
    {"127.0.0.1", {"::ffff:203.0.113.9"}, "203.0.113.9"},
    {"127.0.0.1", {"127.0.0.1, unknown"}, ""},
    {"127.0.0.1", {""}, ""},
    {"127.0.0.1", {"203.0.113.9,"}, ""},
    {"nonsense", {NULL}, ""},
};

static void test_cases(void **state)
{
    (void)state;
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        char out[ALD_PEER_MAX];
        find(&proxies, &cases[i], out);
        if (strcmp(out, cases[i].want) != 0)
            fail_msg("case %zu: %s, not %s", i, out, cases[i].want);
    }
}

static void test_nobody_is_trusted_by_default(void **state)
{
    (void)state;
    char out[ALD_PEER_MAX];
    struct ald_texts none = {0};
    find(&none, &(struct peer_case){.peer = "127.0.0.1", .forwarded = {"203.0.113.9"}}, out);
    assert_string_equal(out, "127.0.0.1");
}

static void test_rules_must_be_addresses(void **state)
{
    (void)state;
    struct peer_rules rules;
    struct ald_err err = {0};
    struct ald_texts bad = {.count = 1, .item = {"proxy.example"}};
    assert_int_equal(peer_rules_load(&bad, &rules, &err), ALD_INVALID);
    assert_non_null(strstr(err.text, "proxy.example"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_nobody_is_trusted_by_default),
        cmocka_unit_test(test_rules_must_be_addresses),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
