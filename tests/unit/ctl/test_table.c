/* Columns, and what strangers put into them. */
#include "services/ctl/table.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "services/ctl/ctl.h"

static const char *const HEADS[] = {"name", ">count", "note"};

static void table_says(const table_t *table, bool color, const char *want)
{
    struct ald_buf out;
    ald_buf_init(&out, 1 << 16);
    table_write(table, color, &out);
    assert_string_equal(ald_buf_str(&out), want);
    ald_buf_free(&out);
}

static void test_example(void **state)
{
    (void)state;
    table_t *table = table_new(HEADS, ALD_COUNT(HEADS));
    table_put_str(table, "a", TONE_PLAIN);
    table_put_str(table, "7", TONE_PLAIN);
    table_put_str(table, "x", TONE_PLAIN);
    table_put_str(table, "longer", TONE_PLAIN);
    table_put_str(table, "123456", TONE_PLAIN);
    table_put_str(table, "", TONE_PLAIN);
    assert_int_equal(table_rows(table), 2);
    table_says(table, false, "name     count  note\na            7  x\nlonger  123456\n");
    table_destroy(&table);
    assert_null(table);
}

static void test_empty_cells_keep_their_place(void **state)
{
    (void)state;
    table_t *table = table_new(HEADS, ALD_COUNT(HEADS));
    table_put_str(table, "", TONE_PLAIN);
    table_put_str(table, "", TONE_PLAIN);
    table_put_str(table, "x", TONE_PLAIN);
    table_says(table, false, "name  count  note\n             x\n");
    table_destroy(&table);
}

static void test_characters_are_counted_not_bytes(void **state)
{
    static const char *const heads[] = {"a", "b"};
    (void)state;
    table_t *table = table_new(heads, ALD_COUNT(heads));
    table_put_str(table, "\xC3\xA9\xC3\xA9", TONE_PLAIN);
    table_put_str(table, "x", TONE_PLAIN);
    table_put_str(table, "ee", TONE_PLAIN);
    table_put_str(table, "y", TONE_PLAIN);
    table_says(table, false, "a   b\n\xC3\xA9\xC3\xA9  x\nee  y\n");
    table_destroy(&table);
}

static void test_nothing_moves_the_terminal(void **state)
{
    static const char *const heads[] = {"a"};
    static const char evil[] = "\033[2J\nx\r\b\x9b\xC2\x9b";
    (void)state;
    table_t *table = table_new(heads, ALD_COUNT(heads));
    struct ald_buf out;
    table_put(table, ald_span_of(evil, sizeof evil), TONE_PLAIN);
    ald_buf_init(&out, 1 << 16);
    table_write(table, false, &out);
    for (size_t i = 0; i < out.len; i++)
        assert_true(out.data[i] == '\n' || (out.data[i] >= 0x20 && out.data[i] < 0x7F));
    ald_buf_free(&out);
    table_destroy(&table);
}

static void test_long_cells_are_cut_between_characters(void **state)
{
    static const char *const heads[] = {"a"};
    char text[600];
    (void)state;
    for (size_t i = 0; i + 1 < sizeof text; i += 2)
        memcpy(text + i, "\xC3\xA9", 2);
    for (size_t len = 1; len < 300; len++) {
        struct ald_buf out;
        table_t *table = table_new(heads, ALD_COUNT(heads));
        table_put(table, ald_span_of(text, len), TONE_PLAIN);
        ald_buf_init(&out, 1 << 16);
        table_write(table, false, &out);
        assert_true(out.len < TABLE_CELL_MAX + 4);
        if (len > TABLE_CELL_MAX)
            assert_memory_equal(out.data + out.len - 4, "...\n", 4);
        ald_buf_free(&out);
        table_destroy(&table);
    }
}

static void test_colours(void **state)
{
    static const char *const heads[] = {"a"};
    (void)state;
    table_t *table = table_new(heads, ALD_COUNT(heads));
    table_put_str(table, "done", ctl_tone("done"));
    table_says(table, false, "a\ndone\n");
    table_says(table, true, "\033[2ma\033[0m\n\033[32mdone\033[0m\n");
    table_destroy(&table);
    assert_int_equal(ctl_tone("lost"), TONE_BAD);
    assert_int_equal(ctl_tone("something new"), TONE_PLAIN);
}

static void test_text_for_stderr_is_safe(void **state)
{
    char longer[2000];
    (void)state;
    assert_string_equal(CTL_SAFE("a\033[1mb\n"), "a\\x1b[1mb\\n");
    memset(longer, '\033', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    assert_true(strlen(CTL_SAFE(longer)) < 512);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_empty_cells_keep_their_place),
        cmocka_unit_test(test_characters_are_counted_not_bytes),
        cmocka_unit_test(test_nothing_moves_the_terminal),
        cmocka_unit_test(test_long_cells_are_cut_between_characters),
        cmocka_unit_test(test_colours),
        cmocka_unit_test(test_text_for_stderr_is_safe),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
