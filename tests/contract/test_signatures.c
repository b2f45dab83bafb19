/* The signature vectors, as a profile's auth block each. The same file is read by a verifier that
 * shares nothing with ours (test_signatures.py). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "common/config/auth.h"

enum { HEADERS_MAX = 16 };

static json_t *vectors(void)
{
    static const char path[] = "tests/contract/signature-vectors.json";
    json_error_t error;
    json_t *rows = json_load_file(path, 0, &error);
    if (rows == NULL)
        fail_msg("%s: %s", path, error.text);
    return rows;
}

static const char *text_of(const json_t *row, const char *key)
{
    const char *text = json_string_value(json_object_get(row, key));
    return text == NULL ? "" : text;
}

/* JSON is YAML. */
static ald_auth_t *auth_of(json_t *row)
{
    char *block = json_dumps(json_object_get(row, "auth"), 0);
    struct ald_buf yaml;
    struct ald_errors errors;
    ald_yaml_t *doc = NULL;
    ald_buf_init(&yaml, 65536);
    ald_errors_init(&errors);
    ald_buf_printf(&yaml, "{callback: {auth: %s}}", block);
    (void)setenv("ALD_TEST_SECRET", text_of(row, "secret"), 1);
    assert_int_equal(ald_yaml_parse("v", ald_buf_span(&yaml), 0, &errors, &doc), ALD_OK);
    ald_auth_t *auth = ald_auth_load(ald_yaml_root(doc), true, &errors);
    if (errors.count > 0)
        fail_msg("%s\n%s", ald_buf_str(&yaml), ald_errors_text(&errors));
    ald_errors_free(&errors);
    ald_yaml_destroy(&doc);
    ald_buf_free(&yaml);
    free(block);
    return auth;
}

static enum ald_auth_why why_of(const ald_auth_t *auth, json_t *row)
{
    struct ald_auth_header headers[HEADERS_MAX];
    size_t count = 0;
    const char *name;
    json_t *value;
    json_object_foreach(json_object_get(row, "headers"), name, value)
    {
        assert_true(count < HEADERS_MAX);
        headers[count++] = (struct ald_auth_header){name, json_string_value(value)};
    }
    const struct ald_auth_facts facts = {
        .headers = headers,
        .header_count = count,
        .body = ald_span_str(text_of(row, "body")),
        .now_s = json_integer_value(json_object_get(row, "now")),
        .address = true,
    };
    struct ald_auth_result result;
    ald_auth_check(auth, &facts, &result);
    return result.why;
}

static void test_vectors(void **state)
{
    (void)state;
    json_t *rows = vectors();
    json_t *row;
    size_t i;
    assert_true(json_array_size(rows) > 40);
    json_array_foreach(rows, i, row)
    {
        ald_auth_t *auth = auth_of(row);
        const char *why = ald_auth_why_name(why_of(auth, row));
        if (strcmp(why, text_of(row, "why")) != 0)
            fail_msg("%s, %s: %s, not %s", text_of(row, "scheme"), text_of(row, "name"), why,
                     text_of(row, "why"));
        assert_true(json_is_true(json_object_get(row, "ok")) == (strcmp(why, "ok") == 0));
        ald_auth_destroy(&auth);
    }
    json_decref(rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_vectors)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
