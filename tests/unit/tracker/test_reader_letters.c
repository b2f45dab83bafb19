/* Letters that wait for the dlq, as those who list letters see them. rules.md 18. */
#include "services/tracker/reader/reader_inside.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/tracker/rows.h"

/* Ask; the answer as "rc cursor: ids". */
static const char *ask(struct rows *rows, const struct ald_schema *schema, void *question)
{
    static char said[512];
    char path[ALD_STORE_PATH_MAX];
    struct ald_err err = {0};
    struct reading reading = {.answer = zmsg_new()};
    struct msg_answer head;
    struct msg_letter_view view;
    (void)snprintf(path, sizeof path, "%s/tracker.db", rows->folder.path);
    const struct ald_store_options options = vault_store_options(path, true);
    assert_int_equal(ald_store_open(&options, &reading.store, &err), ALD_OK);
    if (schema == &MSG_LETTERS)
        reading_letters(&reading, question);
    else
        reading_letter(&reading, question);
    zframe_t *frame = zmsg_first(reading.answer);
    assert_int_equal(ald_wire_decode(&MSG_ANSWER, &head, ald_frame_span(frame)), ALD_OK);
    assert_int_equal(head.req, 9);
    assert_int_equal(head.more, head.cursor[0] != '\0');
    (void)snprintf(said, sizeof said, "%s %s:", head.rc, head.cursor);
    while ((frame = zmsg_next(reading.answer))) {
        size_t used = strlen(said);
        assert_int_equal(ald_wire_decode(&MSG_LETTER_VIEW, &view, ald_frame_span(frame)), ALD_OK);
        assert_string_equal(view.state, "open");
        assert_string_equal(view.outcome, "outbox");
        assert_string_equal(view.provider, "two");
        (void)snprintf(said + used, sizeof said - used, " %s%s", view.letter,
                       view.original.len > 0 ? "!" : "");
    }
    zmsg_destroy(&reading.answer);
    ald_store_destroy(&reading.store);
    return said;
}

/* L1 to L5 in the outbox; L3 is closed; L4 is about another reason and task. */
static void fill(struct rows *rows)
{
    vault_begin(&rows->vault);
    static const char *const ids[] = {"L2", "L1", "L3", "L4", "L5"};
    for (size_t i = 0; i < ALD_COUNT(ids); i++) {
        bool other = strcmp(ids[i], "L4") == 0;
        rows_letter(rows, ids[i], other ? ALD_REASON_CONFLICT : ALD_REASON_UNKNOWN_TASK,
                    other ? 7 : 0, "");
    }
    vault_letter_close(&rows->vault, "L3", VAULT_LETTER_DROPPED, ALD_DISP_DROPPED);
    rows_commit(rows);
}

static void test_example(void **state)
{
    struct msg_letters letters = {.req = 9};
    fill(*state);
    assert_string_equal(ask(*state, &MSG_LETTERS, &letters), "ok : L5 L4 L2 L1");
}

static void test_filters_and_pages(void **state)
{
    static struct {
        struct msg_letters ask;
        const char *want;
    } cases[] = {
        {{.req = 9, .state = "open"}, "ok : L5 L4 L2 L1"},
        {{.req = 9, .state = "held"}, "ok :"},
        {{.req = 9, .state = "nothing"}, "invalid :"},
        {{.req = 9, .reason = "conflict"}, "ok : L4"},
        {{.req = 9, .reason = "nothing"}, "invalid :"},
        {{.req = 9, .task = 7}, "ok : L4"},
        {{.req = 9, .provider = "three"}, "ok :"},
        {{.req = 9, .limit = 2}, "ok L4: L5 L4"},
        {{.req = 9, .limit = 2, .cursor = "L4"}, "ok L1: L2 L1"},
        {{.req = 9, .limit = 2, .cursor = "L1"}, "ok :"},
    };
    fill(*state);
    for (size_t i = 0; i < ALD_COUNT(cases); i++)
        assert_string_equal(ask(*state, &MSG_LETTERS, &cases[i].ask), cases[i].want);
}

static void test_one(void **state)
{
    struct msg_letter_ref one = {.req = 9, .letter = "L4"};
    struct msg_letter_ref closed = {.req = 9, .letter = "L3"};
    struct rows *rows = *state;
    fill(rows);
    assert_string_equal(ask(rows, &MSG_LETTER_SHOW, &one), "ok : L4!");
    assert_string_equal(ask(rows, &MSG_LETTER_SHOW, &closed), "notfound :");
    vault_begin(&rows->vault);
    vault_outbox_remove(&rows->vault, 4);
    rows_commit(rows);
    assert_string_equal(ask(rows, &MSG_LETTER_SHOW, &one), "notfound :");
}

int main(void)
{
    const struct CMUnitTest tests[] = {WITH_ROWS(test_example), WITH_ROWS(test_filters_and_pages),
                                       WITH_ROWS(test_one)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
