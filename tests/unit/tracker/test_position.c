#include "services/tracker/consumers/position.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/guard.h"

static void test_example(void **state)
{
    (void)state;
    char text[ALD_POSITION_MAX];
    uint64_t seq = 0;
    position_write(3, 123, text);
    assert_string_equal(text, "3:123");
    assert_int_equal(position_read(text, 3, &seq), POSITION_AFTER);
    assert_int_equal(seq, 123);
}

static void test_words(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum position_kind kind;
        uint64_t seq;
    } cases[] = {
        {"", POSITION_ALL, 0},
        {"all", POSITION_ALL, 0},
        {"new", POSITION_NEW, 0},
        {"3:0", POSITION_AFTER, 0},
        {"3:18446744073709551615", POSITION_AFTER, UINT64_MAX},
        {"2:5", POSITION_OTHER_LANE, 5},
        {"4:5", POSITION_OTHER_LANE, 5},
        {"5", POSITION_BAD, 0},
        {":5", POSITION_BAD, 0},
        {"3:", POSITION_BAD, 0},
        {"3:5x", POSITION_BAD, 0},
        {"3:-5", POSITION_BAD, 0},
        {"3:18446744073709551616", POSITION_BAD, 0},
        {"ALL", POSITION_BAD, 0},
        {" 3:5", POSITION_BAD, 0},
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        uint64_t seq = 0;
        enum position_kind kind = position_read(cases[i].text, 3, &seq);
        if (kind != cases[i].kind)
            print_error("%s\n", cases[i].text);
        assert_int_equal(kind, cases[i].kind);
        if (kind != POSITION_BAD)
            assert_int_equal(seq, cases[i].seq);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
