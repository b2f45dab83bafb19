/* Which books balance. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "services/gateway/api/audit.h"

static struct audit books;

/* Books with one of everything, in balance. */
static void balanced(void)
{
    static const struct {
        const char *group;
        const char *name;
        int64_t value;
    } figures[] = {
        {"arrivals", "received", 7},
        {"arrivals", "applied", 3},
        {"arrivals", "progress", 1},
        {"arrivals", "duplicate", 1},
        {"arrivals", "parked", 1},
        {"arrivals", "dead", 1},
        {"arrivals", "dropped", 0},
        {"tasks", "created", 5},
        {"tasks", "open", 2},
        {"tasks", "done", 2},
        {"tasks", "expired", 1},
        {"results", "callback", 1},
        {"results", "late", 1},
        {"results", "manual", 1},
        {"corrections", "applied", 1},
        {"letters", "made", 4},
        {"letters", "open", 3},
        {"letters", "resolved", 1},
        {"letters", "open_xor", 7},
        {"letters", "outbox_open", 1},
        {"letters", "outbox_xor", 4},
        {"dlq", "open", 1},
        {"dlq", "held", 1},
        {"dlq", "open_xor", 3},
        {"gateway", "acknowledged", 5},
        {"gateway", "spooled", 1},
        {"gateway", "answered", 5},
        {"gateway", "unanswered", 1},
    };
    audit_clear(&books);
    for (size_t i = 0; i < ALD_COUNT(figures); i++)
        audit_add_value(&books, figures[i].group, figures[i].name, figures[i].value);
}

static void test_example(void **state)
{
    (void)state;
    balanced();
    audit_check(&books);
    assert_int_equal(books.problem_count, 0);
    assert_int_equal(audit_value(&books, "arrivals", "received"), 7);
    assert_int_equal(audit_value(&books, "arrivals", "nothing"), 0);
}

/* Consumers have figures, too: however many there are, none of the others is lost. */
static void test_many_figures(void **state)
{
    (void)state;
    balanced();
    for (int64_t i = 0; i < 100000; i++)
        audit_add_value(&books, "consumer", "one.lag", i);
    audit_add_value(&books, "dlq", "open", 0);
    audit_add_value(&books, "last", "one", 5);
    assert_int_equal(audit_value(&books, "last", "one"), 5);
    audit_check(&books);
    assert_int_equal(books.problem_count, 0);
    audit_free(&books);
    assert_int_equal(audit_value(&books, "last", "one"), 0);
}

static void test_every_figure_counts(void **state)
{
    (void)state;
    balanced();
    size_t count = books.count;
    for (size_t i = 0; i < count; i++) {
        balanced();
        books.figures[i].value++;
        audit_check(&books);
        if (books.problem_count == 0)
            fail_msg("%s.%s may be anything", books.figures[i].group, books.figures[i].name);
    }
}

static void test_states_in_place_of_open(void **state)
{
    (void)state;
    balanced();
    for (size_t i = 0; i < books.count; i++)
        if (strcmp(books.figures[i].name, "open") == 0 &&
            strcmp(books.figures[i].group, "tasks") == 0)
            memcpy(books.figures[i].name, "pending", sizeof "pending");
    audit_check(&books);
    assert_int_equal(books.problem_count, 0);
}

static void test_what_the_tracker_says(void **state)
{
    (void)state;
    balanced();
    const struct msg_figure told = {
        .group = "books", .name = "balanced", .value = 0, .text = "a sentence"};
    audit_add(&books, NULL, &told);
    audit_check(&books);
    assert_int_equal(books.problem_count, 1);
    assert_string_equal(books.problems[0], "books: a sentence");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_many_figures),
        cmocka_unit_test(test_every_figure_counts),
        cmocka_unit_test(test_states_in_place_of_open),
        cmocka_unit_test(test_what_the_tracker_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
