/* Callback tokens: those that another program made, and those that nobody should believe. */
#include "proto/token.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "tests/contract/vector.h"

static const uint64_t task_id = 1234567890123456;

static struct ald_keys new_keys(void)
{
    struct ald_keys keys = {.count = 0};
    ald_keys_rotate(&keys);
    return keys;
}

/* Whether this text is believed, at its exact length. */
static bool believed(const struct ald_keys *keys, const char *provider, const char *text)
{
    uint64_t task = 0;
    unsigned attempt = 0;
    enum ald_rc rc = ald_token_verify(keys, provider, text, strlen(text), &task, &attempt);
    assert_true(rc == ALD_OK || rc == ALD_INVALID);
    return rc == ALD_OK;
}

static void test_example(void **state)
{
    (void)state;
    struct ald_keys keys = new_keys();
    char token[ALD_TOKEN_MAX];
    ald_token_make(&keys, "sandbox", task_id, 3, token);
    assert_int_equal(strlen(token), 34);

    uint64_t task;
    unsigned attempt;
    assert_int_equal(ald_token_verify(&keys, "sandbox", token, 34, &task, &attempt), ALD_OK);
    assert_true(task == task_id);
    assert_int_equal(attempt, 3);
}

static void expect_token(json_t *row)
{
    uint8_t blob[VECTOR_BYTES_MAX];
    blob[0] = (uint8_t)json_integer_value(json_object_get(row, "key_id"));
    struct ald_span key = vector_hex(json_string_value(json_object_get(row, "key")), blob + 1);
    struct ald_keys keys;
    assert_int_equal(ald_keys_load(&keys, ald_span_of(blob, key.len + 1)), ALD_OK);

    const char *provider = json_string_value(json_object_get(row, "provider"));
    const char *want = json_string_value(json_object_get(row, "token"));
    uint64_t task;
    unsigned attempt;
    assert_int_equal(ald_token_verify(&keys, provider, want, strlen(want), &task, &attempt),
                     ALD_OK);
    assert_int_equal(attempt, json_integer_value(json_object_get(row, "attempt")));
    char again[ALD_TOKEN_MAX];
    ald_token_make(&keys, provider, task, attempt, again);
    assert_string_equal(again, want);
}

static void test_vectors(void **state)
{
    (void)state;
    json_t *rows = vector_load("token.json");
    size_t i;
    json_t *row;
    assert_true(json_array_size(rows) >= 6);
    json_array_foreach(rows, i, row) expect_token(row);
    json_decref(rows);
}

static void test_every_altered_character(void **state)
{
    (void)state;
    static const char alphabet[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_=+/.% \n\xff";
    struct ald_keys keys = new_keys();
    char token[ALD_TOKEN_MAX];
    ald_token_make(&keys, "sandbox", task_id, 0, token);
    for (size_t at = 0; at < 34; at++) {
        char right = token[at];
        for (const char *other = alphabet; *other != '\0'; other++) {
            token[at] = *other;
            assert_int_equal(believed(&keys, "sandbox", token), *other == right);
        }
        token[at] = right;
    }
}

static void test_lengths(void **state)
{
    (void)state;
    struct ald_keys keys = new_keys();
    char token[ALD_TOKEN_MAX + 1] = "";
    ald_token_make(&keys, "sandbox", task_id, 0, token);
    uint64_t task;
    unsigned attempt;
    for (size_t len = 0; len < 34; len++)
        assert_int_equal(ald_token_verify(&keys, "sandbox", token, len, &task, &attempt),
                         ALD_INVALID);
    token[34] = 'A';
    assert_false(believed(&keys, "sandbox", token));
}

static void test_other_providers(void **state)
{
    (void)state;
    struct ald_keys keys = new_keys();
    char token[ALD_TOKEN_MAX];
    ald_token_make(&keys, "sandbox", task_id, 0, token);
    struct ald_keys others = keys;
    others.record[0][0]++;
    assert_true(ald_token_of_keys(&keys, token));
    assert_false(ald_token_of_keys(&others, token));
    assert_true(ald_token_of_keys(&others, "no token"));
    assert_true(believed(&keys, "sandbox", token));
    assert_false(believed(&keys, "sandbox2", token));
    assert_false(believed(&keys, "sandbo", token));
    assert_false(believed(&keys, "", token));
    assert_false(believed(&keys, "a-name-of-a-provider-that-is-longer-than-any", token));
}

static void test_rotation(void **state)
{
    (void)state;
    struct ald_keys keys = new_keys();
    char first[ALD_TOKEN_MAX];
    ald_token_make(&keys, "sandbox", task_id, 0, first);
    for (unsigned i = 1; i < ALD_KEYS_MAX; i++) {
        ald_keys_rotate(&keys);
        assert_int_equal(keys.count, i + 1);
        char now[ALD_TOKEN_MAX];
        ald_token_make(&keys, "sandbox", task_id, 0, now);
        assert_string_not_equal(now, first);
        assert_true(believed(&keys, "sandbox", now));
        assert_true(believed(&keys, "sandbox", first));
    }
    ald_keys_rotate(&keys); /* full: the first key falls out */
    assert_int_equal(keys.count, ALD_KEYS_MAX);
    assert_false(believed(&keys, "sandbox", first));
}

static void test_key_ids_stay_unique(void **state)
{
    (void)state;
    struct ald_keys keys = new_keys();
    for (unsigned i = 0; i < 600; i++) {
        ald_keys_rotate(&keys);
        struct ald_keys again;
        struct ald_span blob = ald_span_of(keys.record, keys.count * ALD_KEY_RECORD);
        assert_int_equal(ald_keys_load(&again, blob), ALD_OK);
        assert_memory_equal(&again, &keys, sizeof(keys));
    }
}

/* Keys that were changed by hand may have any order of ids. */
static void test_a_new_key_takes_a_free_id(void **state)
{
    (void)state;
    uint8_t blob[3 * ALD_KEY_RECORD];
    memset(blob, 'k', sizeof(blob));
    blob[0] = 255;
    blob[ALD_KEY_RECORD] = 0;
    blob[2 * ALD_KEY_RECORD] = 1;
    struct ald_keys keys;
    assert_int_equal(ald_keys_load(&keys, ald_span_of(blob, sizeof(blob))), ALD_OK);
    ald_keys_rotate(&keys);
    assert_int_equal(keys.record[0][0], 2);
}

static void test_blobs(void **state)
{
    (void)state;
    uint8_t blob[5 * ALD_KEY_RECORD];
    memset(blob, 'k', sizeof(blob));
    for (size_t i = 0; i < 5; i++)
        blob[i * ALD_KEY_RECORD] = (uint8_t)i;
    for (size_t len = 0; len <= sizeof(blob); len++) {
        struct ald_keys keys;
        bool whole = len > 0 && len <= ALD_KEYS_MAX * ALD_KEY_RECORD && len % ALD_KEY_RECORD == 0;
        assert_int_equal(ald_keys_load(&keys, ald_span_of(blob, len)),
                         whole ? ALD_OK : ALD_INVALID);
    }
    blob[ALD_KEY_RECORD] = blob[0];
    struct ald_keys keys;
    assert_int_equal(ald_keys_load(&keys, ald_span_of(blob, 2 * ALD_KEY_RECORD)), ALD_EXISTS);
    assert_int_equal(keys.count, 0);
    blob[ALD_KEY_RECORD] = 1;
    memset(blob + ALD_KEY_RECORD + 1, 0, ALD_KEY_RECORD - 1); /* never reached the disk */
    assert_int_equal(ald_keys_load(&keys, ald_span_of(blob, 2 * ALD_KEY_RECORD)), ALD_INVALID);
    assert_false(believed(&keys, "sandbox", "AQAEYxF3-OugAf__________________AA"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_vectors),
        cmocka_unit_test(test_every_altered_character),
        cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_other_providers),
        cmocka_unit_test(test_rotation),
        cmocka_unit_test(test_key_ids_stay_unique),
        cmocka_unit_test(test_a_new_key_takes_a_free_id),
        cmocka_unit_test(test_blobs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
