/* Answers to batches: items that fared alike share one, and nothing is said of an item that was
 * decided about another. */
#include "services/tracker/inbox.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/base/text.h"
#include "common/net/frame.h"

static void say(struct inbox *self, uint64_t num, const char *disposition, const char *reason,
                uint64_t task, const char *cause)
{
    struct msg_ack ack = {.num = num, .task = task};
    ald_text_cut(ack.disposition, sizeof ack.disposition, ald_span_str(disposition));
    ald_text_cut(ack.reason, sizeof ack.reason, ald_span_str(reason));
    ald_text_cut(ack.cause, sizeof ack.cause, ald_span_str(cause));
    inbox_ack(self, &ack);
}

static void begin(struct inbox *self)
{
    zframe_t *who = zframe_new("peer", 4);
    inbox_begin(self, &who, "T", 1);
}

/* What the first answer says, such as "5x3 applied, 9 still/conflict 42". */
static const char *said(struct inbox *self)
{
    static char text[512];
    begin(self); /* ends the run that is open */
    text[0] = '\0';
    zmsg_t *answer = self->answers[0];
    (void)zmsg_first(answer);
    (void)zmsg_next(answer); /* who, and the head */
    for (zframe_t *frame = zmsg_next(answer); frame; frame = zmsg_next(answer)) {
        struct msg_ack ack;
        size_t at = strlen(text);
        assert_int_equal(ald_wire_decode(&MSG_ACK, &ack, ald_frame_span(frame)), ALD_OK);
        int n = snprintf(text + at, sizeof text - at, "%s%d", at > 0 ? ", " : "", (int)ack.num);
        if (ack.count > 0)
            n += snprintf(text + at + n, sizeof text - at - (size_t)n, "x%d", (int)ack.count);
        n += snprintf(text + at + n, sizeof text - at - (size_t)n, " %s", ack.disposition);
        if (ack.reason[0] != '\0')
            n += snprintf(text + at + n, sizeof text - at - (size_t)n, "/%s", ack.reason);
        if (ack.task != 0)
            (void)snprintf(text + at + n, sizeof text - at - (size_t)n, " %d", (int)ack.task);
    }
    inbox_forget(self);
    return text;
}

static void test_example(void **state)
{
    (void)state;
    struct inbox self = {0};
    begin(&self);
    for (uint64_t num = 5; num < 8; num++)
        say(&self, num, "applied", "", 0, "");
    say(&self, 8, "dead", "malformed", 0, "");
    say(&self, 10, "applied", "", 0, "");
    assert_string_equal(said(&self), "5x3 applied, 8 dead/malformed, 10 applied");
}

/* Letters that turn out to be of different tasks are answered one by one. */
static void test_tasks_are_told_apart(void **state)
{
    (void)state;
    struct inbox self = {0};
    begin(&self);
    say(&self, 1, "still", "conflict", 41, "a");
    say(&self, 2, "still", "conflict", 42, "a");
    say(&self, 3, "still", "conflict", 42, "a");
    say(&self, 4, "still", "conflict", 42, "b");
    say(&self, 5, "still", "conflict", 0, "");
    assert_string_equal(said(&self), "1 still/conflict 41, 2x2 still/conflict 42, "
                                     "4 still/conflict 42, 5 still/conflict");
}

static void test_a_run_is_bounded(void **state)
{
    (void)state;
    struct inbox self = {0};
    begin(&self);
    for (uint64_t num = 1; num <= ALD_ACK_COUNT_MAX + 1; num++)
        say(&self, num, "applied", "", 0, "");
    assert_string_equal(said(&self), "1x512 applied, 513 applied");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_tasks_are_told_apart),
        cmocka_unit_test(test_a_run_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
