/* Public keys in the tracker: asked for, kept on disk, told to gateways; what is none changes
 * nothing. */
#include "services/tracker/jwks.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "services/tracker/jwks_plan.h"
#include "services/tracker/rest.h"
#include "tests/unit/tracker/stage.h"

#define KEY_A "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"
#define KEY_B "A6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg"
#define OKP(key) "{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"" key "\"}"
#define SET(keys) "{\"keys\":[" keys "]}"
#define SIGNED(name, url)                                                                          \
    name ": {family: inphp, poll: none, callback: {trust: auth, auth: {ed25519: {headers: "        \
         "{sig: S}, message: \"${body}\", keys: {jwks: \"" url "\", cache: 1h}}}}}\n"

static const char ONE[] = SIGNED("one", "https://h.example/one");
static const char OTHER[] = SIGNED("one", "https://h.example/other");
static uint64_t leases;

static jwks_t *begin(struct stage *stage, const char *yaml)
{
    jwks_destroy(&stage->tracker.jwks);
    stage_restart(stage, yaml);
    stage->tracker.jwks = jwks_new(&stage->tracker);
    jwks_renew(stage->tracker.jwks);
    return stage->tracker.jwks;
}

static bool lease(jwks_t *jwks)
{
    struct msg_lease out;
    if (!jwks_lease(jwks, leases + 1, &out))
        return false;
    leases++;
    assert_true(out.jwks);
    assert_string_equal(out.provider, "one");
    assert_string_equal(out.provider_id, "");
    return true;
}

static const char *tell(struct stage *stage, unsigned http, const char *url, const char *body)
{
    struct msg_outcome outcome = {.lease = leases,
                                  .provider = "one",
                                  .jwks = true,
                                  .left = true,
                                  .answered = http != 0,
                                  .http = http,
                                  .poll_url = ald_span_str(url),
                                  .result = ald_span_str(body),
                                  .error = "no answer"};
    vault_begin(&stage->tracker.vault);
    const char *word = jwks_outcome(stage->tracker.jwks, &outcome);
    assert_true(tracker_commit(&stage->tracker));
    return word;
}

static const char *good(struct stage *stage, const char *body)
{
    return tell(stage, 200, "https://h.example/one", body);
}

/* How many keys a gateway is told, over all providers. */
static size_t told(const jwks_t *jwks)
{
    zmsg_t *msg = zmsg_new();
    size_t count = 0;
    jwks_tell(jwks, msg);
    for (zframe_t *frame = zmsg_first(msg); frame; frame = zmsg_next(msg)) {
        struct msg_jwks one;
        assert_int_equal(ald_wire_decode(&MSG_JWKS, &one, ald_frame_span(frame)), ALD_OK);
        assert_string_equal(one.provider, "one");
        count += one.keys.len / ALD_JWKS_KEY_BYTES;
    }
    zmsg_destroy(&msg);
    return count;
}

static struct msg_provider_view view(const jwks_t *jwks)
{
    struct msg_provider_view out = {.provider = "one"};
    jwks_view(jwks, &out);
    return out;
}

static void test_example(void **state)
{
    struct stage *stage = *state;
    jwks_t *jwks = begin(stage, ONE);
    assert_int_equal(jwks_number(jwks), JWKS_NONE);
    assert_true(lease(jwks));
    assert_false(lease(jwks)); /* one poller has it */
    assert_string_equal(good(stage, SET(OKP(KEY_A))), "applied");
    assert_int_equal(told(jwks), 1);
    assert_true(jwks_number(jwks) > JWKS_NONE);
    assert_true(jwks_number(jwks) < UINT64_C(1) << 53);
    assert_false(lease(jwks));
    stage_pass(STAGE_HOUR);
    assert_true(lease(jwks));
    assert_string_equal(good(stage, SET(OKP(KEY_A) "," OKP(KEY_B))), "applied");
    assert_int_equal(told(jwks), 2);
    assert_int_equal(view(jwks).keys, 2);
    jwks_destroy(&stage->tracker.jwks);
}

static const struct {
    unsigned http;
    const char *url, *body, *error;
} bad_cases[] = {
    {0, "https://h.example/one", "", "no answer"},
    {200, "https://h.example/one", "<html>", "the answer is no JWKS with an Ed25519 key"},
    {200, "https://h.example/one", SET(""), "the answer is no JWKS with an Ed25519 key"},
    {200, "https://h.example/one", "", "the answer is no JWKS with an Ed25519 key"},
    {404, "https://h.example/one", SET(OKP(KEY_B)), "the server said 404"},
    {302, "https://h.example/one", SET(OKP(KEY_B)), "the server said 302"},
    {200, "https://h.example/two", SET(OKP(KEY_B)), "the poller's settings name another address"},
};

/* The last good ones stay in force; and it is tried again, not at once. */
static void test_what_is_none_changes_nothing(void **state)
{
    struct stage *stage = *state;
    jwks_t *jwks = begin(stage, ONE);
    assert_true(lease(jwks));
    assert_string_equal(good(stage, SET(OKP(KEY_A))), "applied");
    const uint64_t number = jwks_number(jwks);
    for (size_t i = 0; i < ALD_COUNT(bad_cases); i++) {
        stage_pass(STAGE_HOUR);
        assert_true(lease(jwks));
        assert_string_equal(tell(stage, bad_cases[i].http, bad_cases[i].url, bad_cases[i].body),
                            "progress");
        assert_string_equal(view(jwks).keys_error, bad_cases[i].error);
        assert_int_equal(jwks_number(jwks), number);
        assert_int_equal(told(jwks), 1);
        assert_false(lease(jwks));
    }
    stage_pass(JWKS_BACKOFF_MAX_MS);
    assert_true(lease(jwks));
    assert_string_equal(good(stage, SET(OKP(KEY_A))), "applied");
    assert_string_equal(view(jwks).keys_error, "");
    jwks_destroy(&stage->tracker.jwks);
}

/* kill -9: what was told is on disk. It is fetched again, but not by each of many starts. */
static void test_kept_over_a_kill(void **state)
{
    struct stage *stage = *state;
    jwks_t *jwks = begin(stage, ONE);
    assert_true(lease(jwks));
    assert_string_equal(good(stage, SET(OKP(KEY_A))), "applied");
    const uint64_t number = jwks_number(jwks);
    jwks = begin(stage, ONE);
    assert_int_equal(jwks_number(jwks), number); /* so no gateway is told again */
    assert_int_equal(told(jwks), 1);
    assert_false(lease(jwks));
    stage_pass(JWKS_GAP_MS);
    assert_true(lease(jwks));
    jwks = begin(stage, ONE);
    assert_string_equal(good(stage, SET(OKP(KEY_B))), "duplicate"); /* of the run before */
    assert_true(lease(jwks));
    jwks_destroy(&stage->tracker.jwks);
}

/* Keys are of their address: another one in the profile has none. */
static void test_another_address(void **state)
{
    struct stage *stage = *state;
    jwks_t *jwks = begin(stage, ONE);
    assert_true(lease(jwks));
    assert_string_equal(good(stage, SET(OKP(KEY_A))), "applied");
    jwks = begin(stage, OTHER);
    assert_int_equal(told(jwks), 0);
    assert_true(lease(jwks));
    assert_string_equal(good(stage, SET(OKP(KEY_A))), "progress");
    assert_int_equal(jwks_number(jwks), JWKS_NONE);
    jwks_destroy(&stage->tracker.jwks);
}

/* A reload leaves alone what has not changed, a fetch that is under way too. */
static void test_renewed(void **state)
{
    struct stage *stage = *state;
    jwks_t *jwks = begin(stage, ONE);
    assert_true(lease(jwks));
    jwks_renew(jwks);
    assert_false(lease(jwks));
    assert_string_equal(good(stage, SET(OKP(KEY_A))), "applied");
    jwks_renew(jwks);
    assert_int_equal(told(jwks), 1);
    assert_false(lease(jwks));
    jwks_forget(jwks);
    assert_int_equal(told(jwks), 0);
    jwks_renew(jwks);
    assert_int_equal(told(jwks), 1); /* from the disk */
    jwks_destroy(&stage->tracker.jwks);
}

static void test_missed_and_lost(void **state)
{
    struct stage *stage = *state;
    jwks_t *jwks = begin(stage, ONE);
    assert_true(lease(jwks));
    assert_string_equal(good(stage, SET(OKP(KEY_A))), "applied");
    jwks_missed(jwks, "nobody");
    jwks_missed(jwks, "");
    assert_false(lease(jwks));
    jwks_missed(jwks, "one");
    assert_true(lease(jwks));
    stage_pass(JWKS_LEASE_MS - 1);
    assert_false(lease(jwks));
    stage_pass(1); /* its poller is gone */
    assert_true(lease(jwks));
    assert_string_equal(view(jwks).keys_error, "no poller has brought an answer");
    jwks_destroy(&stage->tracker.jwks);
}

static void test_none(void **state)
{
    struct stage *stage = *state;
    struct msg_lease out;
    assert_false(jwks_lease(NULL, 1, &out));
    assert_int_equal(told(NULL), 0);
    assert_int_equal(jwks_number(NULL), JWKS_NONE);
    jwks_t *jwks = begin(stage, "two: {family: inphp, poll: none}\n");
    assert_false(jwks_lease(jwks, 1, &out));
    assert_false(view(jwks).jwks);
    jwks_destroy(&stage->tracker.jwks);
}

/* The clock is looked at when a fetch is due, and not a moment before. */
static void test_until_the_next_fetch(void **state)
{
    struct stage *stage = *state;
    assert_int_equal(jwks_rest_ms(NULL), REST_NOTHING);
    jwks_t *jwks = begin(stage, ONE);
    assert_int_equal(jwks_rest_ms(jwks), 0);
    assert_true(lease(jwks));
    assert_int_equal(jwks_rest_ms(jwks), JWKS_LEASE_MS);
    assert_string_equal(good(stage, SET(OKP(KEY_A))), "applied");
    int64_t rest = jwks_rest_ms(jwks);
    assert_true(rest > 1);
    stage_pass(rest - 1);
    assert_false(lease(jwks));
    stage_pass(1);
    assert_true(lease(jwks));
    jwks_destroy(&stage->tracker.jwks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {ON_STAGE(test_example),
                                       ON_STAGE(test_what_is_none_changes_nothing),
                                       ON_STAGE(test_kept_over_a_kill),
                                       ON_STAGE(test_another_address),
                                       ON_STAGE(test_renewed),
                                       ON_STAGE(test_missed_and_lost),
                                       ON_STAGE(test_none),
                                       ON_STAGE(test_until_the_next_fetch)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
