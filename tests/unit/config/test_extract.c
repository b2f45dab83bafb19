/* The JSON scanner, with jansson as its oracle where the two must agree. */
#include "common/config/extract.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

static void test_example(void **state)
{
    (void)state;
    struct ald_json reply;
    struct ald_span tail;
    struct ald_span text = ald_span_str("\xef\xbb\xbf {\"status\":1,\"request\":\"T\"} <!-- x -->");
    assert_int_equal(ald_json_scan(text, &reply, &tail), ALD_OK);
    assert_true(ald_span_eq_str(tail, "<!-- x -->"));
    assert_true(ald_json_is(ald_json_find(reply, "/status"), "1"));
    struct ald_buf request;
    ald_buf_init(&request, 100);
    assert_int_equal(ald_json_text(ald_json_find(reply, "/request"), &request), ALD_OK);
    assert_string_equal(ald_buf_str(&request), "T");
    assert_int_equal(ald_json_find(reply, "/nothing").kind, ALD_JSON_NONE);
    ald_buf_free(&request);
}

struct find_case {
    const char *in;
    const char *pointer;
    enum ald_json_kind kind;
    const char *raw;
};

static const struct find_case find_cases[] = {
    {"{\"a\":{\"b\":[10,20]}}", "/a/b/1", ALD_JSON_NUMBER, "20"},
    {"{\"a\":{\"b\":[10,20]}}", "/a/b/2", ALD_JSON_NONE, ""},
    {"{\"a\":{\"b\":[10,20]}}", "/a/b/01", ALD_JSON_NONE, ""},
    {"{\"a\":{\"b\":[10,20]}}", "/a/b/-", ALD_JSON_NONE, ""},
    {"{\"a\":{\"b\":[10,20]}}", "", ALD_JSON_OBJECT, "{\"a\":{\"b\":[10,20]}}"},
    {"{\"a\":{\"b\":[10,20]}}", "a", ALD_JSON_NONE, ""},
    {"{\"a\":1,\"a\":2}", "/a", ALD_JSON_NUMBER, "2"},
    {"{\"a/b\":1,\"m~n\":2}", "/a~1b", ALD_JSON_NUMBER, "1"},
    {"{\"a/b\":1,\"m~n\":2}", "/m~0n", ALD_JSON_NUMBER, "2"},
    {"{\"a/b\":1,\"m~n\":2}", "/m~2n", ALD_JSON_NONE, ""},
    {"{\"\\u0061\":1}", "/a", ALD_JSON_NUMBER, "1"},
    {"{\"\\ud83d\\ude00\":1}", "/\xf0\x9f\x98\x80", ALD_JSON_NUMBER, "1"},
    {"{\"\":1}", "/", ALD_JSON_NUMBER, "1"},
    {"{\"ab\":1}", "/a", ALD_JSON_NONE, ""},
    {"{\"a\":1}", "/ab", ALD_JSON_NONE, ""},
    {"{\"id\":20180814033130818988}", "/id", ALD_JSON_NUMBER, "20180814033130818988"},
    {"{\"p\":0.00085}", "/p", ALD_JSON_NUMBER, "0.00085"},
    {"{ \"a\" : [ 1 , { \"x\" : null } ] }", "/a/1/x", ALD_JSON_NULL, "null"},
    {"[true,false]", "/1", ALD_JSON_FALSE, "false"},
    {"\"text\"", "/a", ALD_JSON_NONE, ""},
};

static void test_find(void **state)
{
    (void)state;
    for (size_t i = 0; i < ALD_COUNT(find_cases); i++) {
        const struct find_case *c = &find_cases[i];
        struct ald_json value;
        assert_int_equal(ald_json_scan(ald_span_str(c->in), &value, NULL), ALD_OK);
        struct ald_json found = ald_json_find(value, c->pointer);
        if (found.kind != c->kind || !ald_span_eq_str(found.raw, c->raw))
            fail_msg("%s at %s is \"%.*s\"", c->in, c->pointer, (int)found.raw.len,
                     (const char *)found.raw.data);
    }
}

struct text_case {
    const char *in;
    enum ald_rc rc;
    const char *want;
};

static const struct text_case text_cases[] = {
    {"\"plain\"", ALD_OK, "plain"},
    {"\"\"", ALD_OK, ""},
    {"\"a\\\"\\\\\\/\\b\\f\\n\\r\\tz\"", ALD_OK, "a\"\\/\b\f\n\r\tz"},
    {"\"\\u00e9\\u20ac\\ud83d\\ude00\"", ALD_OK, "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80"},
    {"\"\\uD83D\\uDE00\"", ALD_OK, "\xf0\x9f\x98\x80"},
    {"\"\\u0000\"", ALD_MALFORMED, NULL},
    {"\"\\ud83d\"", ALD_MALFORMED, NULL},
    {"\"\\ude00\\ud83d\"", ALD_MALFORMED, NULL},
    {"\"\\ud83d\\u0041\"", ALD_MALFORMED, NULL},
    {"-0.0e+10", ALD_OK, "-0.0e+10"},
    {"true", ALD_OK, "true"},
    {"null", ALD_INVALID, NULL},
    {"[]", ALD_INVALID, NULL},
};

static void test_text(void **state)
{
    (void)state;
    for (size_t i = 0; i < ALD_COUNT(text_cases); i++) {
        const struct text_case *c = &text_cases[i];
        struct ald_json value;
        struct ald_buf out;
        ald_buf_init(&out, 100);
        assert_int_equal(ald_json_scan(ald_span_str(c->in), &value, NULL), ALD_OK);
        assert_int_equal(ald_json_text(value, &out), c->rc);
        if (c->want != NULL)
            assert_string_equal(ald_buf_str(&out), c->want);
        ald_buf_free(&out);
    }
}

static const char *const refused[] = {
    "",
    "   ",
    "x{\"a\":1}",
    "{",
    "[1,]",
    "{\"a\":1,}",
    "{a:1}",
    "[1 2]",
    "{\"a\" 1}",
    "\"a",
    "\"\\x\"",
    "\"\\u12g4\"",
    "\"\\u12",
    "\"a\nb\"",
    "tru",
    "nul",
    "+1",
    ".5",
    "1.",
    "1e",
    "1e+",
    "-",
    "'a'",
    "NaN",
    "<html>",
    "\"\xff\"",
    "\"\xc0\x80\"",
    "[1",
    "\"\xed\xa0\x80\"",
    "{\"a\":}",
    "OK|123",
    "\"\\",
    "}",
    "]",
};

/* A text is what it says, however its writer escaped it. */
static void test_is(void **state)
{
    (void)state;
    static const struct {
        const char *json;
        const char *text;
        bool want;
    } cases[] = {
        {"\"OKP\"", "OKP", true},
        {"\"OK\\u0050\"", "OKP", true},
        {"\"a\\/b\"", "a/b", true},
        {"\"\\u00e9\\ud83d\\ude00\"", "\xc3\xa9\xf0\x9f\x98\x80", true},
        {"\"\\u0050\"", "\\u0050", false},
        {"\"a\\u0000\"", "a", false},
        {"\"a\\ud83d\"", "a\xed\xa0\xbd", false},
        {"\"a\\tb\"", "a\t", false},
        {"\"a\\t\"", "a\tb", false},
        {"\"\"", "", true},
        {"7", "7", true},
        {"7.0", "7", false},
        {"true", "true", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct ald_json value;
        assert_int_equal(ald_json_scan(ald_span_str(cases[i].json), &value, NULL), ALD_OK);
        if (ald_json_is(value, cases[i].text) != cases[i].want)
            fail_msg("%s", cases[i].json);
    }
}

static void test_refusals(void **state)
{
    (void)state;
    for (size_t i = 0; i < ALD_COUNT(refused); i++) {
        struct ald_json value;
        if (ald_json_scan(ald_span_str(refused[i]), &value, NULL) != ALD_MALFORMED)
            fail_msg("%s is taken", refused[i]);
        assert_int_equal(value.kind, ALD_JSON_NONE);
    }
}

static void test_depth(void **state)
{
    (void)state;
    for (size_t depth = 63; depth <= 66; depth++) {
        char text[200] = {0};
        memset(text, '[', depth);
        memset(text + depth, ']', depth);
        struct ald_json value;
        assert_int_equal(ald_json_scan(ald_span_str(text), &value, NULL),
                         depth <= 64 ? ALD_OK : ALD_MALFORMED);
    }
}

struct canonical_case {
    const char *in;
    const char *want;
};

static const struct canonical_case canonical_cases[] = {
    {" { \"b\" : 1 , \"a\" : [ 1.0 , 1 ] } ", "{\"a\":[1.0,1],\"b\":1}"},
    {"{\"a\":{\"z\":1,\"y\":{\"d\":1,\"c\":2}}}", "{\"a\":{\"y\":{\"c\":2,\"d\":1},\"z\":1}}"},
    {"\"\\u0041\\/\\u00e9\\n\\\"\\\\\"", "\"A/\xc3\xa9\\u000a\\\"\\\\\""},
    {"\"\\uD800\\u0000\"", "\"\\ud800\\u0000\""},
    {"{\"a\":1,\"aa\":2,\"\":3}", "{\"\":3,\"a\":1,\"aa\":2}"},
    {"{\"a\":2,\"a\":1}", "{\"a\":2,\"a\":1}"},
    {"{\"\\u0061\":1,\"Z\":2}", "{\"Z\":2,\"a\":1}"},
    {"[]", "[]"},
    {"{}", "{}"},
    {"1610521604143693812123", "1610521604143693812123"},
};

static void canonical_of(const char *in, struct ald_buf *out)
{
    struct ald_json value;
    ald_buf_init(out, 4096);
    assert_int_equal(ald_json_scan(ald_span_str(in), &value, NULL), ALD_OK);
    assert_int_equal(ald_json_canonical(value, out), ALD_OK);
}

static void test_canonical(void **state)
{
    (void)state;
    for (size_t i = 0; i < ALD_COUNT(canonical_cases); i++) {
        struct ald_buf out;
        struct ald_buf again;
        canonical_of(canonical_cases[i].in, &out);
        assert_string_equal(ald_buf_str(&out), canonical_cases[i].want);
        canonical_of(ald_buf_str(&out), &again);
        assert_string_equal(ald_buf_str(&again), canonical_cases[i].want);
        ald_buf_free(&again);
        ald_buf_free(&out);
    }
    struct ald_json value;
    struct ald_buf small;
    ald_buf_init(&small, 4);
    assert_int_equal(ald_json_scan(ald_span_str("[1,2,3]"), &value, NULL), ALD_OK);
    assert_int_equal(ald_json_canonical(value, &small), ALD_TOOBIG);
    ald_buf_free(&small);
}

static const char *const seeds[] = {
    "{\"status\":1,\"request\":\"2122988149\",\"price\":0.00085}",
    "{\"id\":\"ufawqh\",\"urls\":{\"get\":\"https:\\/\\/h\\/x\"},\"output\":[\"u\",null,true]}",
    "[1,-2.5e3,\"\\u00e9\\n\",{},[],false,{\"a\":{\"b\":[[]]}}]",
    " \"caf\xc3\xa9 \xf0\x9f\x98\x80\" ",
    "{\"a\":\"\\ud83d\\ude00\",\"b\":[{\"c\":\"d\"},0,10,1e5]}",
};

static uint32_t next_random(uint32_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 17;
    *seed ^= *seed << 5;
    return *seed;
}

/* One to three bytes changed, dropped or doubled. */
static size_t mutate(char *text, size_t len, uint32_t *seed)
{
    static const char bytes[] = "{}[]\",:\\u0123456789eE.+-truefalsn \t\x01\x80\xc3\xff/";
    for (uint32_t times = 1 + next_random(seed) % 3; times > 0 && len > 1; times--) {
        size_t at = next_random(seed) % len;
        char byte = bytes[next_random(seed) % (sizeof bytes - 1)];
        switch (next_random(seed) % 3) {
        case 0:
            text[at] = byte;
            break;
        case 1:
            memmove(text + at, text + at + 1, len - at - 1);
            len--;
            break;
        default:
            memmove(text + at + 1, text + at, len - at);
            text[at] = byte;
            len++;
            break;
        }
    }
    return len;
}

/* What jansson must refuse and we need not: numbers that no double holds, half pairs. */
static bool oracle_differs(const json_error_t *error, const char *text, size_t len)
{
    return json_error_code(error) == json_error_numeric_overflow ||
           memmem(text, len, "\\ud", 3) != NULL || memmem(text, len, "\\uD", 3) != NULL;
}

static void oracle_agrees(const char *text, size_t len)
{
    struct ald_json value;
    struct ald_span tail;
    bool ours = ald_json_scan(ald_span_of(text, len), &value, &tail) == ALD_OK && tail.len == 0;
    json_error_t error;
    json_t *theirs =
        json_loadb(text, len, JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, &error);
    if (ours != (theirs != NULL) && !(ours && oracle_differs(&error, text, len)))
        fail_msg("jansson disagrees on %.*s: %s", (int)len, text, error.text);
    if (ours && theirs != NULL) {
        struct ald_buf canonical;
        ald_buf_init(&canonical, 4096);
        assert_int_equal(ald_json_canonical(value, &canonical), ALD_OK);
        json_t *again =
            json_loadb((const char *)canonical.data, canonical.len,
                       JSON_DECODE_ANY | JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL, &error);
        if (!json_equal(theirs, again))
            fail_msg("canonical form of %.*s is another value", (int)len, text);
        json_decref(again);
        ald_buf_free(&canonical);
    }
    json_decref(theirs);
}

static void test_oracle(void **state)
{
    (void)state;
    uint32_t seed = 20260108;
    for (size_t i = 0; i < ALD_COUNT(seeds); i++)
        oracle_agrees(seeds[i], strlen(seeds[i]));
    for (int round = 0; round < 30000; round++) {
        char text[256];
        const char *from = seeds[next_random(&seed) % ALD_COUNT(seeds)];
        size_t len = strlen(from);
        memcpy(text, from, len);
        len = mutate(text, len, &seed);
        oracle_agrees(text, len);
    }
}

/* Strings come out of a look-up as jansson decodes them. */
static void test_oracle_strings(void **state)
{
    (void)state;
    const char *text = "{\"a\":[{\"b\":\"x\\u00e9\\ud83d\\ude00\\t\\\"y\"}]}";
    struct ald_json value;
    struct ald_buf out;
    ald_buf_init(&out, 100);
    assert_int_equal(ald_json_scan(ald_span_str(text), &value, NULL), ALD_OK);
    assert_int_equal(ald_json_text(ald_json_find(value, "/a/0/b"), &out), ALD_OK);
    json_t *root = json_loads(text, 0, NULL);
    const char *want =
        json_string_value(json_object_get(json_array_get(json_object_get(root, "a"), 0), "b"));
    assert_string_equal(ald_buf_str(&out), want);
    json_decref(root);
    ald_buf_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),        cmocka_unit_test(test_find),
        cmocka_unit_test(test_text),           cmocka_unit_test(test_is),
        cmocka_unit_test(test_refusals),       cmocka_unit_test(test_depth),
        cmocka_unit_test(test_canonical),      cmocka_unit_test(test_oracle),
        cmocka_unit_test(test_oracle_strings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
