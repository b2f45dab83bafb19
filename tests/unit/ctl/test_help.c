/* What is written about commands: for each of them, and true to the tables. */
#include "services/ctl/help.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "services/ctl/commands.h"
#include "services/ctl/manual.h"

enum { HELP_MAX = 1 << 16, HELP_WIDTH = 80 };

static void test_example(void **state)
{
    struct ald_buf out;
    (void)state;
    ald_buf_init(&out, HELP_MAX);
    help_one(args_command(COMMANDS, COMMANDS_COUNT, "reserve"), &out);
    assert_non_null(strstr(ald_buf_str(&out), "aldaba reserve PROVIDER"));
    assert_non_null(strstr(ald_buf_str(&out), "--meta TEXT"));
    assert_non_null(strstr(ald_buf_str(&out), "examples:\n  aldaba reserve"));
    assert_null(strstr(ald_buf_str(&out), "--from"));
    ald_buf_free(&out);
}

static void test_all_names_everything(void **state)
{
    struct ald_buf out;
    (void)state;
    ald_buf_init(&out, HELP_MAX);
    help_all(COMMANDS, COMMANDS_COUNT, &out);
    for (size_t i = 0; i < COMMANDS_COUNT; i++)
        assert_non_null(strstr(ald_buf_str(&out), COMMANDS[i].name));
    ald_buf_reset(&out);
    help_group(COMMANDS, COMMANDS_COUNT, "dlq", &out);
    assert_non_null(strstr(ald_buf_str(&out), "dlq replay"));
    assert_null(strstr(ald_buf_str(&out), "audit"));
    ald_buf_free(&out);
}

/* No line is wider than a terminal, and each begins as it should. */
static void lines_fit(const char *command, const char *text, const char *begin)
{
    while (*text != '\0') {
        size_t len = strcspn(text, "\n");
        if (len > HELP_WIDTH)
            fail_msg("%s: this line is too wide: %.*s", command, (int)len, text);
        if (begin != NULL && strncmp(text, begin, strlen(begin)) != 0)
            fail_msg("%s: this line does not begin with %s: %.*s", command, begin, (int)len, text);
        text += len + (text[len] == '\n');
    }
}

static void test_each_command_has_a_manual(void **state)
{
    (void)state;
    for (size_t i = 0; i < COMMANDS_COUNT; i++) {
        const struct manual *manual = manual_of(COMMANDS[i].name);
        if (manual == NULL)
            fail_msg("manual.c says nothing about '%s'", COMMANDS[i].name);
        lines_fit(manual->command, manual->about, NULL);
        lines_fit(manual->command, manual->examples, NULL);
        assert_non_null(strstr(manual->examples, COMMANDS[i].name));
        if (manual->exits != NULL)
            lines_fit(manual->command, manual->exits, NULL);
    }
}

static void test_each_manual_has_a_command(void **state)
{
    (void)state;
    for (size_t i = 0; i < MANUALS_COUNT; i++)
        if (args_command(COMMANDS, COMMANDS_COUNT, MANUALS[i].command) == NULL)
            fail_msg("manual.c tells about '%s', and there is no such command", MANUALS[i].command);
}

static void test_help_fits_a_terminal(void **state)
{
    struct ald_buf out;
    (void)state;
    ald_buf_init(&out, HELP_MAX);
    help_all(COMMANDS, COMMANDS_COUNT, &out);
    lines_fit("all", ald_buf_str(&out), NULL);
    for (size_t i = 0; i < COMMANDS_COUNT; i++) {
        ald_buf_reset(&out);
        help_one(&COMMANDS[i], &out);
        lines_fit(COMMANDS[i].name, ald_buf_str(&out), NULL);
    }
    ald_buf_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_all_names_everything),
        cmocka_unit_test(test_each_command_has_a_manual),
        cmocka_unit_test(test_each_manual_has_a_command),
        cmocka_unit_test(test_help_fits_a_terminal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
