/* Each identity of rule 8 of GUARANTEES.md, broken on purpose, is named. */
#include "services/tracker/vault/books.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/guard.h"

/* Books that balance with two open tasks and one open letter. */
static struct books honest(void)
{
    struct books books = {0};
    books_add(&books, BOOK_RECEIVED, 10);
    books_add(&books, BOOK_DISPOSITION + ALD_DISP_APPLIED, 4);
    books_add(&books, BOOK_DISPOSITION + ALD_DISP_PROGRESS, 1);
    books_add(&books, BOOK_DISPOSITION + ALD_DISP_DUPLICATE, 2);
    books_add(&books, BOOK_DISPOSITION + ALD_DISP_PARKED, 1);
    books_add(&books, BOOK_DISPOSITION + ALD_DISP_DEAD, 1);
    books_add(&books, BOOK_DISPOSITION + ALD_DISP_DROPPED, 1);
    books_add(&books, BOOK_CREATED, 8);
    books_add(&books, BOOK_STATE + ALD_STATE_DONE, 4);
    books_add(&books, BOOK_STATE + ALD_STATE_EXPIRED, 1);
    books_add(&books, BOOK_STATE + ALD_STATE_LOST, 1);
    books_add(&books, BOOK_SOURCE + ALD_SOURCE_CALLBACK, 1);
    books_add(&books, BOOK_SOURCE + ALD_SOURCE_LATE, 1);
    books_add(&books, BOOK_SOURCE + ALD_SOURCE_REPLAY, 1);
    books_add(&books, BOOK_SOURCE + ALD_SOURCE_POLL, 2);
    books_add(&books, BOOK_SOURCE + ALD_SOURCE_MANUAL, 1);
    books_add(&books, BOOK_LETTERS_MADE, 3);
    books_add(&books, BOOK_LETTERS_RESOLVED, 1);
    books_add(&books, BOOK_LETTERS_DROPPED, 1);
    books_add(&books, BOOK_CORRECTIONS, 1);
    books_add(&books, BOOK_CORRECTIONS_APPLIED, 1);
    return books;
}

static void test_example(void **state)
{
    (void)state;
    const char *which = NULL;
    struct books books = honest();
    assert_true(books_balance(&books, 2, 1, &which));
    assert_string_equal(which, "");
    assert_true(books.dirty[BOOK_RECEIVED]);
    assert_false(books.dirty[BOOK_POLLS]);
}

static void test_each_break_is_named(void **state)
{
    (void)state;
    static const struct {
        unsigned book;
        int64_t open, letters;
        const char *names;
    } cases[] = {
        {BOOK_RECEIVED, 0, 0, "received"},
        {BOOK_DISPOSITION + ALD_DISP_PARKED, 0, 0, "received"},
        {BOOK_DISPOSITION + ALD_DISP_DROPPED, 0, 0, "received"},
        {BOOK_CREATED, 0, 0, "created"},
        {BOOK_COUNT, 1, 0, "created"},
        {BOOK_STATE + ALD_STATE_CANCELLED, 0, 0, "created"},
        {BOOK_SOURCE + ALD_SOURCE_POLL, 0, 0, "results written"},
        {BOOK_SOURCE + ALD_SOURCE_MANUAL, 0, 0, "results written"},
        {BOOK_CORRECTIONS_APPLIED, 0, 0, "applied"},
        {BOOK_LETTERS_MADE, 0, 0, "letters"},
        {BOOK_LETTERS_RESOLVED, 0, 0, "letters"},
        {BOOK_LETTERS_DROPPED, 0, 0, "letters"},
        {BOOK_COUNT, 0, 1, "letters"},
    };
    for (size_t i = 0; i < ALD_COUNT(cases); i++) {
        for (int64_t n = -1; n <= 1; n += 2) {
            struct books books = honest();
            const char *which = NULL;
            if (cases[i].book < BOOK_COUNT)
                books_add(&books, cases[i].book, n);
            assert_false(
                books_balance(&books, 2 + n * cases[i].open, 1 + n * cases[i].letters, &which));
            if (!strstr(which, cases[i].names))
                print_error("case %zu: %s\n", i, which);
            assert_non_null(strstr(which, cases[i].names));
        }
    }
}

/* An arrival that was applied without a result, and a result that no arrival brought. */
static void test_applied_without_a_result(void **state)
{
    (void)state;
    const char *which = NULL;
    struct books books = honest();
    books_add(&books, BOOK_DISPOSITION + ALD_DISP_APPLIED, 1);
    books_add(&books, BOOK_DISPOSITION + ALD_DISP_DUPLICATE, -1);
    assert_false(books_balance(&books, 2, 1, &which));
    assert_non_null(strstr(which, "applied"));
    books = honest();
    books_add(&books, BOOK_SOURCE + ALD_SOURCE_LATE, 1);
    books_add(&books, BOOK_SOURCE + ALD_SOURCE_POLL, -1);
    assert_false(books_balance(&books, 2, 1, &which));
    assert_non_null(strstr(which, "applied"));
}

/* Purging moves nothing: the totals still balance. */
static void test_purged_counts_are_apart(void **state)
{
    (void)state;
    const char *which = NULL;
    struct books books = honest();
    books_add(&books, BOOK_PURGED + ALD_DISP_APPLIED, 3);
    books_add(&books, BOOK_TASKS_PURGED, 6);
    assert_true(books_balance(&books, 2, 1, &which));
}

/* Names are rows on disk: each book has its own. */
static void test_names(void **state)
{
    (void)state;
    for (unsigned i = 0; i < BOOK_COUNT; i++) {
        assert_non_null(books_name(i));
        assert_non_null(strchr(books_name(i), '.'));
        for (unsigned j = 0; j < i; j++)
            assert_string_not_equal(books_name(i), books_name(j));
    }
    assert_string_equal(books_name(BOOK_DISPOSITION + ALD_DISP_DEAD), "arrivals.dead");
    assert_string_equal(books_name(BOOK_PURGED + ALD_DISP_DEAD), "purged.dead");
    assert_string_equal(books_name(BOOK_STATE + ALD_STATE_LOST), "tasks.lost");
    assert_string_equal(books_name(BOOK_SOURCE + ALD_SOURCE_LATE), "results.late");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_each_break_is_named),
        cmocka_unit_test(test_applied_without_a_result),
        cmocka_unit_test(test_purged_counts_are_apart),
        cmocka_unit_test(test_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
