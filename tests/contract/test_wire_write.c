/* What the codec writes, and what it refuses to write. */
#include "proto/wire.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "tests/contract/sample.h"

enum { OUT_MAX = 1024 };

static const uint8_t noise[512] = {0x61};

static void test_example(void **state)
{
    (void)state;
    struct sample msg = {.num = 7, .name = "hi"};
    struct ald_buf out;
    ald_buf_init(&out, OUT_MAX);
    assert_int_equal(ald_wire_encode(&sample_schema, &msg, &out), ALD_OK);
    static const char want[] = "\x84\xa1k\xa6sample\xa1v\x02\xa3num\x07\xa4name\xa2hi";
    assert_int_equal(out.len, sizeof(want) - 1);
    assert_memory_equal(out.data, want, out.len);
    ald_buf_free(&out);
}

/* Required fields are written though they are zero, so that a reader can tell. */
static void test_zeros(void **state)
{
    (void)state;
    struct sample msg = {.num = 0};
    struct ald_buf out;
    ald_buf_init(&out, OUT_MAX);
    assert_int_equal(ald_wire_encode(&sample_schema, &msg, &out), ALD_OK);
    struct sample got = {.num = 1, .age = 1, .flag = true};
    assert_int_equal(ald_wire_decode(&sample_schema, &got, ald_buf_span(&out)), ALD_OK);
    assert_int_equal(got.num, 0);
    assert_string_equal(got.name, "");
    assert_int_equal(got.age, 0);
    assert_false(got.flag);
    ald_buf_free(&out);
}

static const struct sample kept[] = {
    {.num = (UINT64_C(1) << 53) - 1, .name = "1234567", .age = INT64_C(1) << 53, .flag = true},
    {.age = -(INT64_C(1) << 53), .id = UINT64_MAX, .data = {noise, 300}},
    {.age = -1, .id = 1, .data = {noise, 1}},
    {.age = -32, .id = 9},
    {.age = -33, .id = 10},
    {.age = -128, .num = 127},
    {.age = -129, .num = 128},
    {.age = -32768, .num = 255},
    {.age = -32769, .num = 256},
    {.age = INT32_MIN, .num = 65535},
    {.age = INT64_C(-2147483649), .num = 65536},
    {.age = 4294967295, .num = 4294967296, .name = "\xe2\x82\xac"},
};

static void test_values_come_back(void **state)
{
    (void)state;
    for (size_t i = 0; i < ALD_COUNT(kept); i++) {
        struct ald_buf out;
        ald_buf_init(&out, OUT_MAX);
        assert_int_equal(ald_wire_encode(&sample_schema, &kept[i], &out), ALD_OK);
        struct sample got;
        assert_int_equal(ald_wire_decode(&sample_schema, &got, ald_buf_span(&out)), ALD_OK);
        assert_int_equal(got.num, kept[i].num);
        assert_string_equal(got.name, kept[i].name);
        assert_int_equal(got.age, kept[i].age);
        assert_int_equal(got.flag, kept[i].flag);
        assert_int_equal(got.id, kept[i].id);
        assert_true(ald_span_eq(got.data, kept[i].data));
        ald_buf_free(&out);
    }
}

static const struct {
    const char *name;
    struct sample msg;
    enum ald_rc want;
} refused[] = {
    {"text without an end", {.name = {'1', '2', '3', '4', '5', '6', '7', '8'}}, ALD_TOOBIG},
    {"text that is not UTF-8", {.name = "a\xff"}, ALD_INVALID},
    {"a number of 2^53", {.num = UINT64_C(1) << 53}, ALD_TOOBIG},
    {"a number above 2^53", {.age = (INT64_C(1) << 53) + 1}, ALD_TOOBIG},
    {"the lowest of all numbers", {.age = INT64_MIN}, ALD_TOOBIG},
    {"bytes above the limit", {.data = {noise, 301}}, ALD_TOOBIG},
};

static void test_refused_values_leave_no_trace(void **state)
{
    (void)state;
    for (size_t i = 0; i < ALD_COUNT(refused); i++) {
        struct ald_buf out;
        ald_buf_init(&out, OUT_MAX);
        ald_buf_put_str(&out, "before");
        enum ald_rc rc = ald_wire_encode(&sample_schema, &refused[i].msg, &out);
        if (rc != refused[i].want)
            fail_msg("%s: %s", refused[i].name, ald_rc_name(rc));
        assert_true(ald_buf_ok(&out));
        assert_true(ald_span_eq_str(ald_buf_span(&out), "before"));
        ald_buf_free(&out);
    }
}

/* Every maximum below the message's size is too small, and the buffer stays usable. */
static void test_small_buffers(void **state)
{
    (void)state;
    struct sample msg = {.num = 7, .name = "hi", .data = {noise, 20}};
    struct ald_buf whole;
    ald_buf_init(&whole, OUT_MAX);
    assert_int_equal(ald_wire_encode(&sample_schema, &msg, &whole), ALD_OK);
    for (size_t max = 1; max < whole.len; max++) {
        struct ald_buf out;
        ald_buf_init(&out, max);
        assert_int_equal(ald_wire_encode(&sample_schema, &msg, &out), ALD_TOOBIG);
        assert_int_equal(out.len, 0);
        assert_true(ald_buf_ok(&out));
        ald_buf_free(&out);
    }
    ald_buf_free(&whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_zeros),
        cmocka_unit_test(test_values_come_back),
        cmocka_unit_test(test_refused_values_leave_no_trace),
        cmocka_unit_test(test_small_buffers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
