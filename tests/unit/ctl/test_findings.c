/* Lines of reports, and letters that lie nowhere. */
#include "services/ctl/findings.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void take(struct findings *self, const char *const *lines)
{
    findings_init(self);
    for (; *lines != NULL; lines++)
        findings_line(self, *lines);
}

static void test_example(void **state)
{
    struct findings self;
    const char *const lines[] = {"fact tasks.open 12", "note it is old", "problem it is broken",
                                 "letter A open",      "letter A live",  NULL};
    (void)state;
    take(&self, lines);
    assert_int_equal(findings_fact(&self, "tasks.open"), 12);
    assert_true(findings_has(&self, "tasks.open") && !findings_has(&self, "tasks"));
    assert_string_equal(ald_buf_str(&self.problems), "it is broken\n");
    assert_string_equal(ald_buf_str(&self.notes), "it is old\n");
    assert_int_equal(self.problem_count, 1);
    assert_int_equal(findings_lost(&self, NULL, NULL, NULL), 0);
    findings_free(&self);
}

static void test_lines_that_are_none(void **state)
{
    static const char *const bad[] = {"",
                                      "fact",
                                      "fact x",
                                      "fact x y",
                                      "fact  1",
                                      "letter A",
                                      "letter A lost",
                                      "letters 1",
                                      "letter 0123456789012345678901234567 open"};
    (void)state;
    for (size_t i = 0; i < ALD_COUNT(bad); i++) {
        const char *const lines[] = {bad[i], NULL};
        struct findings self;
        take(&self, lines);
        if (strcmp(bad[i], "fact  1") != 0 && self.problem_count != 1)
            fail_msg("'%s' is taken", bad[i]);
        findings_free(&self);
    }
}

static void test_where_a_letter_may_lie(void **state)
{
    static const struct {
        const char *name;
        const char *lines[4];
        size_t lost;
    } cases[] = {
        {"nowhere", {"letter A open"}, 1},
        {"in the outbox", {"letter A open", "letter A outbox"}, 0},
        {"at the dlq", {"letter A open", "letter A live"}, 0},
        {"in both, for a moment", {"letter A open", "letter A outbox", "letter A live"}, 0},
        {"closed there, not told yet", {"letter A open", "letter A closing"}, 0},
        {"closed here, open there", {"letter A live"}, 0},
        {"another one there", {"letter A open", "letter B live"}, 1},
        {"two, in any order", {"letter B open", "letter A open", "letter A live"}, 1},
    };
    (void)state;
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        const char *lines[5] = {NULL};
        struct findings self;
        memcpy(lines, cases[i].lines, sizeof cases[i].lines);
        take(&self, lines);
        if (findings_lost(&self, NULL, NULL, NULL) != cases[i].lost)
            fail_msg("%s", cases[i].name);
        findings_free(&self);
    }
}

/* What was on its way at one look is not missed; what is lost is lost at both. */
static void test_two_looks(void **state)
{
    const char *const first[] = {"letter A open", "letter B open", NULL};
    const char *const second[] = {"letter B open", "letter C open", "letter A open",
                                  "letter A live", NULL};
    struct findings before;
    struct findings now;
    (void)state;
    take(&before, first);
    take(&now, second);
    assert_int_equal(findings_lost(&before, NULL, NULL, NULL), 2);
    assert_int_equal(findings_lost(&now, &before, NULL, NULL), 1);
    findings_free(&before);
    findings_free(&now);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_lines_that_are_none),
        cmocka_unit_test(test_where_a_letter_may_lie),
        cmocka_unit_test(test_two_looks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
