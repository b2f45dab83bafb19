#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/base/guard.h"
#include "common/base/log.h"
#include "common/base/text.h"

/* What was logged since the last log_begin: stderr is a file for the time between. */
static char said[65536];
static int stderr_kept;
static int stderr_file;

static void log_begin(void)
{
    char path[] = "/tmp/aldaba-log-XXXXXX";
    stderr_file = mkstemp(path);
    assert_true(stderr_file >= 0);
    (void)unlink(path);
    stderr_kept = dup(STDERR_FILENO);
    (void)dup2(stderr_file, STDERR_FILENO);
}

static void log_end(void)
{
    (void)dup2(stderr_kept, STDERR_FILENO);
    (void)close(stderr_kept);
    ssize_t got = pread(stderr_file, said, sizeof said - 1, 0);
    (void)close(stderr_file);
    assert_true(got >= 0);
    said[got] = '\0';
}

static size_t said_lines(void)
{
    size_t lines = 0;
    for (const char *at = said; *at != '\0'; at++)
        lines += *at == '\n';
    return lines;
}

static int set_up(void **state)
{
    (void)state;
    (void)unsetenv("JOURNAL_STREAM");
    ald_log_init("test");
    ald_log_level_set(ALD_INFO);
    return 0;
}

static void test_example(void **state)
{
    (void)state;
    log_begin();
    ald_log(ALD_WARN, "spool.full", "provider=%s text=%s", "two", ALD_Q("no room"));
    log_end();
    assert_int_equal(strncmp(said, "ts=20", 5), 0);
    assert_non_null(
        strstr(said, "Z level=warn svc=test ev=spool.full provider=two text=\"no room\"\n"));
    assert_int_equal(said_lines(), 1);
}

static void test_levels(void **state)
{
    (void)state;
    log_begin();
    ald_log(ALD_DEBUG, "hidden", "%s", "");
    assert_false(ald_log_on(ALD_DEBUG));
    assert_int_equal(ald_log_level_word("debug"), ALD_OK);
    ald_log(ALD_DEBUG, "shown", "%s", "");
    assert_int_equal(ald_log_level_word("loud"), ALD_INVALID);
    ald_log(ALD_DEBUG, "shown.still", "%s", "");
    ald_log_level_set(ALD_ERROR);
    ald_log(ALD_WARN, "hidden", "%s", "");
    ald_log(ALD_ERROR, "error", "%s", "");
    log_end();
    assert_null(strstr(said, "hidden"));
    assert_int_equal(said_lines(), 3);
    assert_non_null(strstr(said, "ev=shown\n"));
}

static void test_priority_for_the_journal(void **state)
{
    (void)state;
    static const struct {
        enum ald_level level;
        const char *want;
    } cases[] = {
        {ALD_ERROR, "<3>ts="}, {ALD_WARN, "<4>ts="}, {ALD_INFO, "<6>ts="}, {ALD_DEBUG, "<7>ts="}};
    (void)setenv("JOURNAL_STREAM", "8:1234", 1);
    ald_log_init("test");
    ald_log_level_set(ALD_DEBUG);
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        log_begin();
        ald_log(cases[i].level, "x", "%s", "");
        log_end();
        assert_int_equal(strncmp(said, cases[i].want, 6), 0);
    }
}

/* Every byte and some sequences, quoted and raw: one line, nothing below a space. */
static void test_no_value_forges_a_line(void **state)
{
    (void)state;
    static const char *const hostile[] = {
        "x\nts=2026-01-01T00:00:00.000Z level=error svc=test ev=forged",
        "x\r\nev=forged",
        "\x1b]0;title\x07\x1b[2J",
        "\xc2\x9b"
        "31m",
        "\xe2\x80\xa8"
        "ev=forged",
        "\xe2\x80\xae"
        "txt",
        "a\" ev=forged b=\"",
        "a\\",
        "\\\" ev=forged",
        "\xff\xfe"};
    for (size_t i = 0; i < ALD_COUNT(hostile); i++) {
        log_begin();
        ald_log(ALD_INFO, "quoted", "a=%s z=1", ALD_Q(hostile[i]));
        ald_log(ALD_INFO, "raw", "a=%s z=1", hostile[i]);
        log_end();
        assert_int_equal(said_lines(), 2);
        assert_true(ald_text_utf8_ok(ald_span_str(said)));
        for (const char *at = said; *at != '\0'; at++)
            assert_true(*at == '\n' || (*at >= 0x20 && *at < 0x7f));
    }
}

static void test_quote(void **state)
{
    (void)state;
    static const struct {
        const char *in;
        const char *want;
    } cases[] = {
        {"plain-1.2_3:/@+,~", "plain-1.2_3:/@+,~"},
        {"", "\"\""},
        {NULL, "\"\""},
        {"two words", "\"two words\""},
        {"a=b", "\"a=b\""},
        {"say \"x\"", "\"say \\\"x\\\"\""},
        {"back\\slash", "\"back\\\\slash\""},
        {"%s%n", "\"%s%n\""},
        {"caf\xc3\xa9", "\"caf\xc3\xa9\""},
        {"l1\nl2", "\"l1\\nl2\""},
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        struct ald_quote room;
        if (strcmp(ald_q(&room, cases[i].in), cases[i].want) != 0)
            fail_msg("case %zu: %s", i, room.text);
    }
    assert_string_equal(ALD_Q_SPAN(ald_span_of("a\0b", 3)), "\"a\\x00b\"");
    assert_string_equal(ALD_Q_SPAN(ald_span_of(NULL, 0)), "\"\"");
}

/* Whatever the length and wherever the cut falls, the quotes are balanced. */
static void test_long_quote_is_cut_and_closed(void **state)
{
    (void)state;
    static const char *const units[] = {
        "a", "a ", "\\", "\"", "\n", "\xc3\xa9", "\xf0\x9f\x98\x80"};
    for (size_t unit = 0; unit < ALD_COUNT(units); unit++) {
        for (size_t count = 1; count < 700; count++) {
            struct ald_buf in;
            ald_buf_init(&in, 8000);
            for (size_t i = 0; i < count; i++)
                ald_buf_put_str(&in, units[unit]);
            struct ald_quote room;
            size_t len = strlen(ald_q_span(&room, ald_buf_span(&in)));
            ald_buf_free(&in);
            assert_true(len < sizeof room.text);
            if (room.text[0] != '"')
                continue;
            size_t end = 1;
            while (room.text[end] != '"' && room.text[end] != '\0')
                end += room.text[end] == '\\' ? 2 : 1;
            if (end != len - 1)
                fail_msg("unit %zu count %zu: %s", unit, count, room.text);
            assert_true(ald_text_utf8_ok(ald_span_str(room.text)) || unit >= 5);
        }
    }
}

static void test_long_line_is_cut_and_says_so(void **state)
{
    (void)state;
    static char big[5000];
    memset(big, 'a', sizeof big - 1);
    for (size_t len = 1900; len < 2200; len++) {
        log_begin();
        ald_log(ALD_INFO, "long", "text=\"%.*s\"", (int)len, big);
        log_end();
        assert_int_equal(said_lines(), 1);
        size_t all = strlen(said);
        assert_true(all <= ALD_LOG_LINE_MAX);
        bool cut = strstr(said, " cut=true\n") != NULL;
        assert_true(cut ? strstr(said, "a\" cut=true\n") != NULL : said[all - 2] == '"');
        assert_int_equal(cut, len > 1984);
    }
    memset(big, '\x01', sizeof big - 1);
    log_begin();
    ald_log(ALD_INFO, "long", "text=%s", big);
    log_end();
    assert_int_equal(said_lines(), 1);
    assert_non_null(strstr(said, " cut=true\n"));
}

static void test_errno_is_kept(void **state)
{
    (void)state;
    log_begin();
    errno = ENOSPC;
    ald_log(ALD_INFO, "x", "a=%d", 1);
    assert_int_equal(errno, ENOSPC);
    log_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_example, set_up),
        cmocka_unit_test_setup(test_levels, set_up),
        cmocka_unit_test_setup(test_priority_for_the_journal, set_up),
        cmocka_unit_test_setup(test_no_value_forges_a_line, set_up),
        cmocka_unit_test_setup(test_quote, set_up),
        cmocka_unit_test_setup(test_long_quote_is_cut_and_closed, set_up),
        cmocka_unit_test_setup(test_long_line_is_cut_and_says_so, set_up),
        cmocka_unit_test_setup(test_errno_is_kept, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
