#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/guard.h"
#include "common/base/text.h"

static void test_example(void **state)
{
    (void)state;
    char name[8];
    int64_t wait_ms = 0;
    assert_int_equal(ald_text_copy(name, sizeof name, ald_span_str("two")), ALD_OK);
    assert_string_equal(name, "two");
    assert_int_equal(ald_text_duration_ms(ald_span_str("30s"), &wait_ms), ALD_OK);
    assert_int_equal(wait_ms, 30000);
}

static void test_copy_cuts_nothing(void **state)
{
    (void)state;
    char dst[4];
    assert_int_equal(ald_text_copy(dst, sizeof dst, ald_span_str("abc")), ALD_OK);
    assert_string_equal(dst, "abc");
    assert_int_equal(ald_text_copy(dst, sizeof dst, ald_span_str("abcd")), ALD_TOOBIG);
    assert_string_equal(dst, "");
    assert_int_equal(ald_text_copy(dst, sizeof dst, ald_span_of("a\0b", 3)), ALD_MALFORMED);
    assert_string_equal(dst, "");
    assert_int_equal(ald_text_copy(dst, sizeof dst, ald_span_of(NULL, 0)), ALD_OK);
    assert_string_equal(dst, "");
}

static void test_join_cuts_nothing(void **state)
{
    (void)state;
    static const struct {
        const char *parts[3];
        size_t cap;
        enum ald_rc rc;
        const char *want;
    } cases[] = {
        {{"ab", "/", "c"}, 5, ALD_OK, "ab/c"},
        {{"ab", "/", "c"}, 4, ALD_TOOBIG, ""},
        {{"abcd", "", ""}, 4, ALD_TOOBIG, ""},
        {{"", "", ""}, 1, ALD_OK, ""},
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        char dst[8] = "before";
        enum ald_rc rc = ald_text_join(dst, cases[i].cap, cases[i].parts, 3);
        if (rc != cases[i].rc || strcmp(dst, cases[i].want) != 0)
            fail_msg("case %zu: %s \"%s\"", i, ald_rc_name(rc), dst);
    }
    char none[8] = "before";
    assert_int_equal(ald_text_join(none, sizeof none, NULL, 0), ALD_OK);
    assert_string_equal(none, "");
}

static void test_cut_ends_at_a_character(void **state)
{
    (void)state;
    static const struct {
        const char *in;
        size_t cap;
        const char *want;
    } cases[] = {
        {"abc", 4, "abc"},
        {"abcd", 4, "abc"},
        {"abc", 1, ""},
        {"a\xc3\xa9", 3, "a"},
        {"a\xc3\xa9", 4, "a\xc3\xa9"},
        {"\xf0\x9f\x98\x80x", 4, ""},
        {"\xf0\x9f\x98\x80x", 5, "\xf0\x9f\x98\x80"},
        {"", 4, ""},
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        char dst[16];
        ald_text_cut(dst, cases[i].cap, ald_span_str(cases[i].in));
        if (strcmp(dst, cases[i].want) != 0)
            fail_msg("case %zu: \"%s\"", i, dst);
    }
    char dst[8];
    ald_text_cut(dst, sizeof dst, ald_span_of("ab\0cd", 5));
    assert_string_equal(dst, "ab");
    ald_text_cut(dst, sizeof dst, ald_span_of(NULL, 0));
    assert_string_equal(dst, "");
}

static void test_u64(void **state)
{
    (void)state;
    static const struct {
        const char *in;
        enum ald_rc rc;
        uint64_t want;
    } cases[] = {
        {"0", ALD_OK, 0},
        {"42", ALD_OK, 42},
        {"18446744073709551615", ALD_OK, UINT64_MAX},
        {"18446744073709551616", ALD_TOOBIG, 77},
        {"99999999999999999999999", ALD_TOOBIG, 77},
        {"", ALD_MALFORMED, 77},
        {"-1", ALD_MALFORMED, 77},
        {"+1", ALD_MALFORMED, 77},
        {" 1", ALD_MALFORMED, 77},
        {"1 ", ALD_MALFORMED, 77},
        {"0x10", ALD_MALFORMED, 77},
        {"1e3", ALD_MALFORMED, 77},
        {"\xd9\xa1", ALD_MALFORMED, 77},
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        uint64_t out = 77;
        enum ald_rc rc = ald_text_u64(ald_span_str(cases[i].in), &out);
        if (rc != cases[i].rc || out != cases[i].want)
            fail_msg("\"%s\": %s", cases[i].in, ald_rc_name(rc));
    }
    uint64_t out = 77;
    assert_int_equal(ald_text_u64(ald_span_of("1\0", 2), &out), ALD_MALFORMED);
    assert_int_equal(ald_text_u64(ald_span_of(NULL, 0), &out), ALD_MALFORMED);
}

static void test_i64(void **state)
{
    (void)state;
    static const struct {
        const char *in;
        enum ald_rc rc;
        int64_t want;
    } cases[] = {
        {"0", ALD_OK, 0},
        {"-42", ALD_OK, -42},
        {"9223372036854775807", ALD_OK, INT64_MAX},
        {"-9223372036854775808", ALD_OK, INT64_MIN},
        {"9223372036854775808", ALD_TOOBIG, 77},
        {"-9223372036854775809", ALD_TOOBIG, 77},
        {"-", ALD_MALFORMED, 77},
        {"--1", ALD_MALFORMED, 77},
        {"1-", ALD_MALFORMED, 77},
        {"", ALD_MALFORMED, 77},
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        int64_t out = 77;
        enum ald_rc rc = ald_text_i64(ald_span_str(cases[i].in), &out);
        if (rc != cases[i].rc || out != cases[i].want)
            fail_msg("\"%s\": %s", cases[i].in, ald_rc_name(rc));
    }
}

static void test_duration(void **state)
{
    (void)state;
    static const struct {
        const char *in;
        enum ald_rc rc;
        int64_t want;
    } cases[] = {
        {"250ms", ALD_OK, 250},
        {"30s", ALD_OK, 30000},
        {"5m", ALD_OK, 300000},
        {"24h", ALD_OK, 86400000},
        {"30d", ALD_OK, INT64_C(2592000000)},
        {"0", ALD_OK, 0},
        {"0s", ALD_OK, 0},
        {"9223372036854775807ms", ALD_OK, INT64_MAX},
        {"9223372036854775808ms", ALD_TOOBIG, 77},
        {"106751991167d", ALD_OK, INT64_C(9223372036828800000)},
        {"106751991168d", ALD_TOOBIG, 77},
        {"99999999999999999999s", ALD_TOOBIG, 77},
        {"30", ALD_MISSING, 77},
        {"00", ALD_MISSING, 77},
        {"", ALD_MALFORMED, 77},
        {"s", ALD_MALFORMED, 77},
        {"-5s", ALD_MALFORMED, 77},
        {"1.5s", ALD_MALFORMED, 77},
        {"5 s", ALD_MALFORMED, 77},
        {"5S", ALD_MALFORMED, 77},
        {"5sec", ALD_MALFORMED, 77},
        {"5s ", ALD_MALFORMED, 77},
        {"1h30m", ALD_MALFORMED, 77},
        {"30x", ALD_MALFORMED, 77},
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        int64_t out = 77;
        enum ald_rc rc = ald_text_duration_ms(ald_span_str(cases[i].in), &out);
        if (rc != cases[i].rc || out != cases[i].want)
            fail_msg("\"%s\": %s %lld", cases[i].in, ald_rc_name(rc), (long long)out);
    }
}

static void test_bytes(void **state)
{
    (void)state;
    static const struct {
        const char *in;
        enum ald_rc rc;
        uint64_t want;
    } cases[] = {
        {"512B", ALD_OK, 512},
        {"256KiB", ALD_OK, 262144},
        {"4MiB", ALD_OK, 4194304},
        {"10GiB", ALD_OK, UINT64_C(10737418240)},
        {"0", ALD_OK, 0},
        {"9223372036854775807B", ALD_OK, INT64_MAX},
        {"9223372036854775808B", ALD_TOOBIG, 77},
        {"8589934592GiB", ALD_TOOBIG, 77},
        {"512", ALD_MISSING, 77},
        {"256KB", ALD_MALFORMED, 77},
        {"256kib", ALD_MALFORMED, 77},
        {"KiB", ALD_MALFORMED, 77},
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        uint64_t out = 77;
        enum ald_rc rc = ald_text_bytes(ald_span_str(cases[i].in), &out);
        if (rc != cases[i].rc || out != cases[i].want)
            fail_msg("\"%s\": %s %llu", cases[i].in, ald_rc_name(rc), (unsigned long long)out);
    }
}

static void test_nearest(void **state)
{
    (void)state;
    static const char *const keys[] = {"listen", NULL, "backlog", "max_body", "log.level", "id"};
    static const struct {
        const char *word;
        const char *want;
    } cases[] = {
        {"listen", "listen"},
        {"lisen", "listen"},
        {"lisetn", "listen"},
        {"max_boddy", "max_body"},
        {"loglevel", "log.level"},
        {"entirely_else", NULL},
        {"", NULL},
        {"xy", NULL},
        {"abc", NULL},
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        const char *got = ald_text_nearest(cases[i].word, keys, ALD_COUNT(keys));
        bool same = got == NULL || cases[i].want == NULL ? got == cases[i].want
                                                         : strcmp(got, cases[i].want) == 0;
        if (!same)
            fail_msg("\"%s\": %s", cases[i].word, got == NULL ? "none" : got);
    }
    assert_null(ald_text_nearest("x", NULL, 0));
}

static void test_nearest_takes_long_words(void **state)
{
    (void)state;
    static char word[100000];
    memset(word, 'a', sizeof word - 1);
    const char *const list[] = {"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", word};
    assert_null(ald_text_nearest(word, list, 1));
    assert_null(ald_text_nearest("listen", list + 1, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_copy_cuts_nothing),
        cmocka_unit_test(test_join_cuts_nothing),
        cmocka_unit_test(test_cut_ends_at_a_character),
        cmocka_unit_test(test_u64),
        cmocka_unit_test(test_i64),
        cmocka_unit_test(test_duration),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_nearest),
        cmocka_unit_test(test_nearest_takes_long_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
