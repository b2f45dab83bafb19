/* `sinks:` of the settings, and how what goes to them is signed. */
#include "common/config/sinks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char SECRET[] = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
static const char OTHER[] = "whsec_QUJDREVGR0hJSktMTU5PUFFSU1RVVldY"; /* A to X */

struct reading {
    struct ald_errors errors;
    ald_yaml_t *doc;
    ald_sinks_t *sinks;
};

static enum ald_rc reading_begin(struct reading *self, const char *text, bool resolve)
{
    *self = (struct reading){0};
    ald_errors_init(&self->errors);
    assert_int_equal(ald_yaml_parse("s", ald_span_str(text), 0, &self->errors, &self->doc), ALD_OK);
    return ald_sinks_load(ald_node_find(ald_yaml_root(self->doc), "sinks"), resolve, &self->errors,
                          &self->sinks);
}

static void reading_end(struct reading *self)
{
    ald_sinks_destroy(&self->sinks);
    ald_yaml_destroy(&self->doc);
    ald_errors_free(&self->errors);
}

static void test_example(void **state)
{
    (void)state;
    struct reading r;
    assert_int_equal(reading_begin(&r,
                                   "sinks:\n"
                                   "  shop.orders:\n"
                                   "    url: https://h/x\n"
                                   "    state: done\n"
                                   "    timeout: 3s\n"
                                   "    secret: {env: ALD_TEST_SINK}\n",
                                   true),
                     ALD_OK);
    const struct ald_sink *sink = ald_sinks_find(r.sinks, "shop.orders");
    assert_non_null(sink);
    assert_string_equal(sink->url, "https://h/x");
    assert_string_equal(sink->from, "new");
    assert_int_equal(sink->timeout_ms, 3000);
    assert_int_equal(sink->max_in_flight, 16);
    assert_int_equal(sink->secrets.count, 1);
    assert_int_equal(sink->secrets.at[0].len, 24);
    assert_null(ald_sinks_find(r.sinks, "shop"));
    reading_end(&r);
}

/* The example that implementations of the standard share. */
static void test_signature(void **state)
{
    (void)state;
    struct ald_secret_list secrets = {0};
    struct ald_buf out;
    ald_buf_init(&out, 1 << 10);
    assert_int_equal(ald_webhook_secret(&secrets, SECRET), ALD_OK);
    ald_webhook_headers(&secrets, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330,
                        ald_span_str("{\"test\": 2432232314}"), &out);
    assert_string_equal(ald_buf_str(&out),
                        "webhook-id: msg_p5jXN8AQM9LWM0D4loKWxJek\n"
                        "webhook-timestamp: 1614265330\n"
                        "webhook-signature: v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=\n");
    ald_buf_reset(&out);
    assert_int_equal(ald_webhook_secret(&secrets, OTHER), ALD_OK);
    ald_webhook_headers(&secrets, "0:1", 5, ald_span_str(""), &out);
    const char *at = strstr(ald_buf_str(&out), "webhook-signature: v1,");
    assert_non_null(at);
    assert_non_null(strstr(at + 24, " v1,")); /* by the old one and by the new one */
    ald_buf_free(&out);
}

static void test_secrets(void **state)
{
    (void)state;
    struct ald_secret_list secrets = {0};
    assert_int_equal(ald_webhook_secret(&secrets, "whsec_"), ALD_MALFORMED);
    assert_int_equal(ald_webhook_secret(&secrets, "whsec_%"), ALD_MALFORMED);
    assert_int_equal(secrets.count, 0);
    for (int i = 0; i < ALD_SECRET_LIST_MAX; i++)
        assert_int_equal(ald_webhook_secret(&secrets, "QUJD"), ALD_OK);
    assert_int_equal(ald_webhook_secret(&secrets, "QUJD"), ALD_FULL);
}

/* Who need not sign need not have them; without the section there are none. */
static void test_not_resolved(void **state)
{
    (void)state;
    struct reading r;
    assert_int_equal(
        reading_begin(&r, "sinks: {a: {url: 'http://h', secret: {env: ALD_TEST_NOT_SET}}}", false),
        ALD_OK);
    assert_int_equal(ald_sinks_at(r.sinks, 0)->secrets.count, 0);
    reading_end(&r);
    assert_int_equal(reading_begin(&r, "sinks:\n", true), ALD_OK);
    assert_int_equal(ald_sinks_count(r.sinks), 0);
    reading_end(&r);
    assert_int_equal(ald_sinks_count(NULL), 0);
}

static const struct {
    const char *name, *text, *want;
} WRONG[] = {
    {"list", "sinks: [a]", "s:1:1: sinks must hold settings by their names.\n"},
    {"scalar", "sinks: {a: b}", "s:1:9: a must hold settings by their names.\n"},
    {"name", "sinks: {A: {url: 'http://h', secret: {env: ALD_TEST_SINK}}}",
     "s:1:9: The name of a sink has 1 to 64 characters of a-z, 0-9, '.', '_' and '-'.\n"},
    {"no url", "sinks: {a: {secret: {env: ALD_TEST_SINK}}}",
     "s:1:9: A sink needs a url of http:// or https://.\n"},
    {"url", "sinks: {a: {url: 'ftp://h', secret: {env: ALD_TEST_SINK}}}",
     "s:1:13: A sink needs a url of http:// or https://.\n"},
    {"unknown", "sinks: {a: {url: 'http://h', secret: {env: ALD_TEST_SINK}, timeuot: 3s}}",
     "s:1:60: There is no setting timeuot; did you mean timeout?\n"},
    {"state", "sinks: {a: {url: 'http://h', secret: {env: ALD_TEST_SINK}, state: pending}}",
     "s:1:60: state must be one of: done failed lost expired cancelled.\n"},
    {"waits", "sinks: {a: {url: 'http://h', secret: {env: ALD_TEST_SINK}, first_after: 11m}}",
     "s:1:60: first_after must not be longer than max_after.\n"},
    {"no secret", "sinks: {a: {url: 'http://h'}}", "s:1:9: a needs one of secret and secrets.\n"},
    {"written", "sinks: {a: {url: 'http://h', secret: whsec_QUJD}}",
     "s:1:30: A secret is written as {env: VAR} or {file: PATH}.\n"},
    {"not set", "sinks: {a: {url: 'http://h', secret: {env: ALD_TEST_NOT_SET}}}",
     "s:1:39: The environment variable ALD_TEST_NOT_SET is not set.\n"},
    {"short", "sinks: {a: {url: 'http://h', secret: {env: ALD_TEST_SHORT}}}",
     "s:1:30: The secret has fewer than 24 bytes; make one with: echo whsec_$(openssl rand -base64 "
     "32)\n"},
    {"both wrong", "sinks: {a: {url: 'http://h', secrets: []}, b: {url: x, secrets: [c]}}",
     "s:1:30: secrets must be a list of 1 to 4 secrets.\n"
     "s:1:48: A sink needs a url of http:// or https://.\n"
     "s:1:66: A secret is written as {env: VAR} or {file: PATH}.\n"},
};

static void test_wrong(void **state)
{
    (void)state;
    for (size_t i = 0; i < ALD_COUNT(WRONG); i++) {
        struct reading r;
        enum ald_rc rc = reading_begin(&r, WRONG[i].text, true);
        if (rc != ALD_INVALID || strcmp(ald_errors_text(&r.errors), WRONG[i].want) != 0)
            fail_msg("%s: %s", WRONG[i].name, ald_errors_text(&r.errors));
        assert_null(r.sinks);
        reading_end(&r);
    }
}

static void test_print(void **state)
{
    (void)state;
    struct reading r;
    struct ald_buf out;
    ald_buf_init(&out, 1 << 12);
    assert_int_equal(reading_begin(&r,
                                   "sinks: {a: {url: 'https://u:p@h/x?key=k', secrets: [{env: "
                                   "ALD_TEST_SINK}, {env: ALD_TEST_SINK}]}}",
                                   true),
                     ALD_OK);
    ald_sinks_print(ald_node_find(ald_yaml_root(r.doc), "sinks"), &out);
    const char *text = ald_buf_str(&out);
    assert_non_null(strstr(text, "sinks:\n  a:\n    url: \"https://***@h/x?key=***\"\n"));
    assert_non_null(strstr(text, "    timeout: 15s\n"));
    assert_non_null(strstr(text, "    secrets: [\"***\", \"***\"]\n"));
    assert_null(strstr(text, "MfKQ"));
    reading_end(&r);
    ald_buf_free(&out);
}

int main(void)
{
    (void)setenv("ALD_TEST_SINK", SECRET, 1);
    (void)setenv("ALD_TEST_SHORT", "whsec_QUJD", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example), cmocka_unit_test(test_signature),
        cmocka_unit_test(test_secrets), cmocka_unit_test(test_not_resolved),
        cmocka_unit_test(test_wrong),   cmocka_unit_test(test_print),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
