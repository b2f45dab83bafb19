#include "common/config/budget.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/guard.h"

struct read {
    struct ald_errors errors;
    struct ald_budgets budgets;
    ald_yaml_t *yaml;
};

static void read_text(struct read *self, const char *text)
{
    ald_errors_init(&self->errors);
    assert_int_equal(ald_yaml_parse("p.yaml", ald_span_str(text), 0, &self->errors, &self->yaml),
                     ALD_OK);
    ald_budgets_read(ald_yaml_root(self->yaml), &self->errors, &self->budgets);
}

static void read_free(struct read *self)
{
    ald_yaml_destroy(&self->yaml);
    ald_errors_free(&self->errors);
}

static void test_example(void **state)
{
    (void)state;
    struct read read;
    read_text(&read, "submit: {request: {url: \"https://two.example/in.php\"}}\n"
                     "budgets:\n"
                     "  - { name: in.php, scope: account, requests: 60, per: 3s, min_gap: 100ms }\n"
                     "  - { name: res.php, scope: account, formula: \"R <= 20*C + 1200\",\n"
                     "      counts: [poll, balance, report] }\n"
                     "  - { name: getTaskResult, scope: task, requests: 120, min_gap: 2s }\n");
    assert_string_equal(ald_errors_text(&read.errors), "");
    assert_int_equal(read.budgets.count, 3);
    const struct ald_budget *in = &read.budgets.list[0];
    const struct ald_budget *res = &read.budgets.list[1];
    const struct ald_budget *get = &read.budgets.list[2];
    assert_int_equal(in->counts, ALD_COUNTS_SUBMIT);
    assert_int_equal(in->requests, 60);
    assert_int_equal(in->per_ms, 3000);
    assert_int_equal(in->min_gap_ms, 100);
    assert_int_equal(in->hint_share, 10);
    assert_true(res->formula);
    assert_int_equal(res->each, 20);
    assert_int_equal(res->base, 1200);
    assert_int_equal(res->counts, ALD_COUNTS_POLL | ALD_COUNTS_BALANCE | ALD_COUNTS_REPORT);
    assert_true(get->per_task);
    assert_int_equal(get->counts, ALD_COUNTS_POLL);
    read_free(&read);
}

static void test_formulas(void **state)
{
    (void)state;
    static const struct {
        const char *formula;
        int64_t each, base;
    } cases[] = {{"R <= 20*C + 1200", 20, 1200},
                 {"R<=1*C+0", 1, 0},
                 {"  R <=  0 * C  +  7 ", 0, 7},
                 {"R < 20*C + 1200", -1, 0},
                 {"R <= 20*C", -1, 0},
                 {"R <= C + 1200", -1, 0},
                 {"R <= 20*C + 1200 + 1", -1, 0},
                 {"R <= 99999999999*C + 1", -1, 0},
                 {"R <= -1*C + 1", -1, 0},
                 {"1200", -1, 0}};
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        struct read read;
        char text[160];
        (void)snprintf(text, sizeof text, "budgets: [{name: a, formula: \"%s\"}]",
                       cases[i].formula);
        read_text(&read, text);
        if ((read.errors.count == 0) != (cases[i].each >= 0))
            fail_msg("%s: %s", cases[i].formula, ald_errors_text(&read.errors));
        if (cases[i].each >= 0) {
            assert_int_equal(read.budgets.list[0].each, cases[i].each);
            assert_int_equal(read.budgets.list[0].base, cases[i].base);
        }
        read_free(&read);
    }
}

/* What is not said, and what is wide enough for a poll with the fetch of its result. */
static void test_fetches(void **state)
{
    (void)state;
    struct read read;
    read_text(&read, "fetch: {request: {}}\n"
                     "budgets:\n"
                     "  - { name: a, requests: 3, per: 1s }\n"
                     "  - { name: b, requests: 2, per: 1s, hint_share: 0% }\n"
                     "  - { name: c, requests: 1, per: 1s, counts: [poll] }\n"
                     "  - { name: d, min_gap: 1s }\n");
    assert_string_equal(ald_errors_text(&read.errors), "");
    for (unsigned i = 0; i < read.budgets.count; i++)
        assert_int_equal(read.budgets.list[i].counts,
                         i == 2 ? ALD_COUNTS_POLL : ALD_COUNTS_POLL | ALD_COUNTS_FETCH);
    read_free(&read);
}

/* All at once, each where it was written. */
static void test_errors(void **state)
{
    (void)state;
    struct read read;
    read_text(&read, "budgets:\n"
                     "  - {requests: 60, per: 3s}\n"
                     "  - {name: a, requests: 60}\n"
                     "  - {name: a, reqests: 60, per: 3}\n"
                     "  - {name: d}\n"
                     "  - {name: e, min_gap: 1s}\n");
    const char *text = ald_errors_text(&read.errors);
    static const char *const want[] = {
        "p.yaml:2:5: A budget needs a name.\n",
        "p.yaml:3:5: requests and per go together",
        "p.yaml:4:15: There is no setting reqests; did you mean requests?\n",
        "p.yaml:4:28: ",
        "p.yaml:4:5: There are two budgets called a.\n",
        "p.yaml:5:5: A budget needs requests, min_gap or formula.\n",
        "p.yaml:6:5: A profile has at most 4 budgets.\n",
    };
    for (size_t i = 0; i < ALD_COUNT(want); i++)
        if (!strstr(text, want[i]))
            fail_msg("not said: %s\n%s", want[i], text);
    assert_int_equal(read.errors.count, ALD_COUNT(want));
    read_free(&read);
}

static void test_more_errors(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *want;
    } cases[] = {
        {"budgets: 7", "p.yaml:1:1: budgets is a list of budgets.\n"},
        {"budgets: [7]", "p.yaml:1:11: A budget is a mapping"},
        {"budgets: [{name: a, formula: \"R <= 1*C + 1\", requests: 5, per: 1s}]", "goes without"},
        {"budgets: [{name: a, requests: 5, per: 1s, scope: task}]", "no per"},
        {"budgets: [{name: a, requests: 5, per: 1s, counts: [poll, lunch]}]", "not lunch"},
        {"budgets: [{name: a, requests: 5, per: 1s, scope: planet}]", "scope"},
        {"fetch: {request: {}}\nbudgets: [{name: a, requests: 1, per: 1s, hint_share: 0%}]",
         "p.yaml:2:11: a counts a poll and the fetch of its result"},
        {"fetch: {request: {}}\nbudgets: [{name: a, requests: 2, per: 1s}]", "room for two"},
        {"fetch: {request: {}}\nbudgets: [{name: a, formula: \"R <= 1*C + 0\"}]", "room for two"},
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        struct read read;
        read_text(&read, cases[i].text);
        if (!strstr(ald_errors_text(&read.errors), cases[i].want))
            fail_msg("%s: %s", cases[i].text, ald_errors_text(&read.errors));
        read_free(&read);
    }
}

/* What is printed is read again as the same. */
static void test_print(void **state)
{
    (void)state;
    struct read read;
    struct read again;
    struct ald_buf out;
    read_text(&read, "budgets: [{name: a, requests: 5, per: 1s, counts: [poll, report]},"
                     " {name: b, formula: \"R <= 2*C + 3\", min_gap: 5ms}]");
    ald_buf_init(&out, 4096);
    ald_budgets_print(&read.budgets, 0, &out);
    read_text(&again, ald_buf_str(&out));
    assert_string_equal(ald_errors_text(&again.errors), "");
    assert_memory_equal(&read.budgets, &again.budgets, sizeof read.budgets);
    ald_buf_free(&out);
    read_free(&again);
    read_free(&read);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),     cmocka_unit_test(test_formulas),
        cmocka_unit_test(test_fetches),     cmocka_unit_test(test_errors),
        cmocka_unit_test(test_more_errors), cmocka_unit_test(test_print),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
