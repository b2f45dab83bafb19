/* Command lines and what becomes of them. */
#include "services/ctl/args.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "services/ctl/commands.h"

enum { LINE_MAX_WORDS = 80 };

/* Parse a line of words separated by spaces. */
static enum ald_rc line_parse(const char *line, struct args *args, struct ald_err *err)
{
    static char copy[1024];
    static char *words[LINE_MAX_WORDS + 1];
    static char name[] = "aldaba";
    int count = 1;
    assert_true(strlen(line) < sizeof copy);
    memcpy(copy, line, strlen(line) + 1);
    words[0] = name;
    char *rest = copy;
    for (char *word = strsep(&rest, " "); word != NULL; word = strsep(&rest, " "))
        if (*word != '\0' && count < LINE_MAX_WORDS)
            words[count++] = word;
    words[count] = NULL;
    return args_parse(count, words, COMMANDS, COMMANDS_COUNT, args, err);
}

static void test_example(void **state)
{
    struct args args;
    struct ald_err err;
    (void)state;
    assert_int_equal(line_parse("register sandbox 4711 --key k1", &args, &err), ALD_OK);
    assert_string_equal(args.command->name, "register");
    assert_int_equal(args.words, 2);
    assert_string_equal(args.word[1], "4711");
    assert_string_equal(args.text[ARG_KEY], "k1");
    assert_false(args_has(&args, ARG_JSON));
}

static const struct {
    const char *line;
    const char *command;
    size_t words;
    enum arg given;
} good[] = {
    {"--json status", "status", 0, ARG_JSON},
    {"status --json", "status", 0, ARG_JSON},
    {"dlq ls", "dlq ls", 0, ARGS_COUNT},
    {"dlq --json ls", "dlq ls", 0, ARG_JSON},
    {"-q dlq drop all -y --reason conflict", "dlq drop", 1, ARG_YES},
    {"tail --from 0:123 --count=3", "tail", 0, ARG_COUNT},
    {"tail -n 3", "tail", 0, ARG_COUNT},
    {"keys new callback file", "keys new", 2, ARGS_COUNT},
    {"submit p a=b c=d --wait", "submit", 3, ARG_WAIT},
    {"task -- -5", "task", 1, ARGS_COUNT},
    {"--url http://127.0.0.1:1 audit --deep", "audit", 0, ARG_URL},
    {"task --help", "task", 0, ARG_HELP},
    {"restore dir --verify", "restore", 1, ARG_VERIFY},
    {"top -i 2s", "top", 0, ARG_EVERY},
    {"help dlq ls", "help", 2, ARGS_COUNT},
};

static void test_good(void **state)
{
    struct args args;
    struct ald_err err;
    (void)state;
    for (size_t i = 0; i < ALD_COUNT(good); i++) {
        if (line_parse(good[i].line, &args, &err) != ALD_OK)
            fail_msg("%s: %s", good[i].line, err.text);
        assert_string_equal(args.command->name, good[i].command);
        assert_int_equal(args.words, good[i].words);
        if (good[i].given != ARGS_COUNT)
            assert_true(args_has(&args, good[i].given));
    }
}

static const struct {
    const char *line;
    const char *says;
} bad[] = {
    {"", "Say what to do"},
    {"tsk 5", "did you mean 'task'"},
    {"dlq", "'dlq' needs a second word"},
    {"dlq lss", "There is no command 'dlq lss'; did you mean 'dlq ls'"},
    {"frobnicate", "see 'aldaba --help'"},
    {"task", "Use it so: aldaba task TASK"},
    {"task 1 2", "Use it so"},
    {"tail --key k", "'tail' does not take --key"},
    {"tail --count x", "whole number"},
    {"tail --count -1", "whole number"},
    {"tail --count 99999999999999999999999", "whole number"},
    {"keys new", "Use it so"},
    {"--bogus", "There is no option --bogus; see 'aldaba --help'"},
    {"tasks --sttae done", "There is no option --sttae; did you mean --state?"},
    {"--json tasks --zzzzzz=1", "There is no option --zzzzzz; see"},
    {"-z tasks", "There is no option -z; see"},
    {"tasks -qz", "There is no option -z; see"},
    {"status --url", "--url needs a value: --url URL."},
    {"status -c", "--config needs a value: --config FILE."},
    {"status --json=1", "--json takes no value."},
};

static void test_bad(void **state)
{
    struct args args;
    struct ald_err err;
    (void)state;
    for (size_t i = 0; i < ALD_COUNT(bad); i++) {
        assert_int_equal(line_parse(bad[i].line, &args, &err), ALD_INVALID);
        if (strstr(err.text, bad[i].says) == NULL)
            fail_msg("'%s' says: %s", bad[i].line, err.text);
    }
}

static void test_too_many_words(void **state)
{
    char line[ARGS_WORDS_MAX * 2 + 32] = "submit";
    struct args args;
    struct ald_err err;
    (void)state;
    for (int i = 0; i < ARGS_WORDS_MAX + 1; i++)
        memcpy(line + 6 + 2 * (size_t)i, " x", 3);
    assert_int_equal(line_parse(line, &args, &err), ALD_INVALID);
    assert_non_null(strstr(err.text, "too many words"));
}

static void test_groups_and_names(void **state)
{
    struct ald_err err;
    (void)state;
    assert_true(args_group(COMMANDS, COMMANDS_COUNT, "dlq") >= 4);
    assert_int_equal(args_group(COMMANDS, COMMANDS_COUNT, "task"), 0);
    assert_non_null(args_command(COMMANDS, COMMANDS_COUNT, "dlq ls"));
    assert_null(args_command(COMMANDS, COMMANDS_COUNT, "dlq"));
    assert_int_equal(args_no_command(COMMANDS, COMMANDS_COUNT, "dlq", "lss", &err), ALD_INVALID);
    assert_non_null(strstr(err.text, "did you mean 'dlq ls'?"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_good),
        cmocka_unit_test(test_bad),
        cmocka_unit_test(test_too_many_words),
        cmocka_unit_test(test_groups_and_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
