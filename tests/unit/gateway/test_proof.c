/* What follows when a proof is not there, and its key may be on its way. */
#include "services/gateway/proof.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/config/profile_of.h"

static const char SIGNATURE[] =
    "00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000"
    "000000000000000000000000000000000000";

/* What is done with a signature that none of the keys is good for: "then missed". */
static const char *found_by(const char *on_fail, const struct keychain_found *found,
                            const char *signature)
{
    static const char *const thens[] = {"store", "spoil", "reject", "later"};
    static char said[32];
    char yaml[512];
    struct ald_errors errors;
    (void)snprintf(yaml, sizeof yaml,
                   "p: {family: inphp, poll: none, callback: {trust: auth, auth: {on_fail: %s, "
                   "ed25519: {headers: {sig: S}, message: \"${body}\", keys: {jwks: "
                   "\"https://h/j\"}}}}}\n",
                   on_fail);
    ald_profiles_t *profiles = profiles_of(yaml, ALD_SECRETS_AUTH, &errors);
    assert_non_null(profiles);
    const struct ald_span body = ald_span_str("body");
    const struct http_header header = {"S", signature};
    const struct http_request request = {
        .method = "POST", .path = "/", .header_count = 1, .headers = &header};
    const struct proof_facts facts = {
        .profile = ald_profiles_at(profiles, 0), .peer_ok = true, .body = &body, .found = found};
    struct proof proof;
    proof_find(&facts, &request, &proof);
    assert_true(proof.looked);
    (void)snprintf(said, sizeof said, "%s%s", thens[proof.then], proof.missed ? " missed" : "");
    ald_profiles_destroy(&profiles);
    ald_errors_free(&errors);
    return said;
}

static void test_example(void **state)
{
    (void)state;
    const struct keychain_found none = {.hope = KEYCHAIN_AWAITED};
    assert_string_equal(found_by("quarantine", &none, SIGNATURE), "later missed");
}

static const struct {
    const char *on_fail;
    size_t keys;
    enum keychain_hope hope;
    const char *want;
} cases[] = {
    {"hint", 0, KEYCHAIN_AWAITED, "store missed"},
    {"hint", 1, KEYCHAIN_AWAITED, "store missed"},
    {"hint", 1, KEYCHAIN_FRESH, "store"},
    {"quarantine", 0, KEYCHAIN_AWAITED, "later missed"},
    {"quarantine", 1, KEYCHAIN_AWAITED, "later missed"},
    {"quarantine", 0, KEYCHAIN_OVERDUE, "spoil missed"},
    {"quarantine", 1, KEYCHAIN_OVERDUE, "spoil missed"},
    {"quarantine", 1, KEYCHAIN_FRESH, "spoil"},
    {"reject", 0, KEYCHAIN_AWAITED, "later missed"},
    {"reject", 0, KEYCHAIN_OVERDUE, "later missed"},
    {"reject", 1, KEYCHAIN_OVERDUE, "later missed"},
    {"reject", 1, KEYCHAIN_FRESH, "reject"},
};

static void test_missing_keys(void **state)
{
    (void)state;
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        const struct keychain_found found = {.keys = {.count = cases[i].keys, .at = {{0xd7, 0x5a}}},
                                             .hope = cases[i].hope};
        const char *said = found_by(cases[i].on_fail, &found, SIGNATURE);
        if (strcmp(said, cases[i].want) != 0)
            fail_msg("%s, %zu keys, hope %d: %s, not %s", cases[i].on_fail, cases[i].keys,
                     (int)cases[i].hope, said, cases[i].want);
    }
}

/* No key helps what can't be read. */
static void test_malformed(void **state)
{
    (void)state;
    const struct keychain_found found = {.keys = {.count = 1}, .hope = KEYCHAIN_AWAITED};
    assert_string_equal(found_by("reject", &found, "00"), "reject");
    assert_string_equal(found_by("quarantine", &found, ""), "spoil");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_example),
                                       cmocka_unit_test(test_missing_keys),
                                       cmocka_unit_test(test_malformed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
