/* Descriptors that are let go, taken again, closed and opened anew, within a turn and between two.
 */
#include "services/poller/watch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cmocka.h>

enum { TAG = 7, TICK_MS = 1, TICKS_MAX = 10000, SOME = 5 };

/* One is the descriptor under test; the other is always ready, so that there are turns. */
struct stage {
    zloop_t *loop;
    watch_t *watch;
    int one, other;
    bool tells;   /* of openings and closings */
    unsigned tag; /* of the one; 0: the common one */
    unsigned told, others, turns, timers, ticks;
    void (*first)(struct stage *self); /* when the one is told for the first time */
    bool (*over)(const struct stage *self);
};

static int ready_fd(void)
{
    int fd = eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC);
    assert_true(fd >= 0);
    return fd;
}

static bool take(struct stage *self, int fd)
{
    return watch_fd(self->watch, fd, TAG, (struct watch_ready){.in = true});
}

static void on_fd(void *arg, int fd, unsigned tag, struct watch_ready ready)
{
    struct stage *self = arg;
    assert_int_equal(tag, fd == self->one && self->tag != 0 ? self->tag : TAG);
    assert_true(ready.in && !ready.out && !ready.broken);
    self->others += fd == self->other;
    if (fd == self->one && self->told++ == 0 && self->first)
        self->first(self);
}

static void on_timer(void *arg)
{
    ((struct stage *)arg)->timers++;
}

static void on_turn(void *arg)
{
    ((struct stage *)arg)->turns++;
}

static int on_tick(zloop_t *loop, int timer, void *arg)
{
    (void)loop, (void)timer;
    struct stage *self = arg;
    assert_true(self->ticks++ < TICKS_MAX);
    return self->over(self) ? -1 : 0;
}

static void stage_begin(struct stage *self)
{
    struct ald_err err;
    const struct watch_options options = {
        .self = self, .on_fd = on_fd, .on_timer = on_timer, .on_turn = on_turn};
    self->loop = zloop_new();
    assert_int_equal(watch_new(self->loop, &options, &self->watch, &err), ALD_OK);
    (void)zloop_timer(self->loop, TICK_MS, 0, on_tick, self);
    self->one = ready_fd();
    self->other = ready_fd();
    if (self->tells)
        watch_opened(self->watch, self->one);
}

static void stage_run(struct stage *self, bool (*over)(const struct stage *self))
{
    self->over = over;
    self->ticks = 0;
    (void)zloop_start(self->loop);
}

static void stage_end(struct stage *self)
{
    watch_destroy(&self->watch);
    assert_null(self->watch);
    zloop_destroy(&self->loop);
    close(self->one);
    close(self->other);
}

static bool told_twice(const struct stage *self)
{
    return self->told >= 2;
}

static bool others_went_on(const struct stage *self)
{
    return self->others >= self->told + SOME;
}

static bool turned(const struct stage *self)
{
    return self->turns > 0;
}

static void let_go_between_turns(bool tells)
{
    struct stage stage = {.tells = tells};
    stage_begin(&stage);
    assert_true(take(&stage, stage.one));
    stage_run(&stage, told_twice);
    assert_true(stage.turns >= 2);
    watch_forget(stage.watch, stage.one); /* no turn is under way */
    unsigned told = stage.told;
    assert_true(take(&stage, stage.other));
    stage_run(&stage, others_went_on);
    assert_int_equal(stage.told, told);
    assert_true(take(&stage, stage.one)); /* and again */
    stage.told = 0;
    stage_run(&stage, told_twice);
    stage_end(&stage);
}

static void test_example(void **state)
{
    (void)state;
    let_go_between_turns(false);
    let_go_between_turns(true);
}

static void let_go(struct stage *self)
{
    watch_forget(self->watch, self->one);
}

static void take_again(struct stage *self)
{
    let_go(self);
    assert_true(take(self, self->one));
}

static void let_go_twice(struct stage *self)
{
    take_again(self);
    let_go(self);
}

/* A new descriptor gets the number of the old one. */
static void open_anew(struct stage *self)
{
    int fd = ready_fd();
    if (self->tells)
        watch_closing(self->watch, self->one);
    assert_int_equal(dup2(fd, self->one), self->one); /* closes what was there */
    close(fd);
    if (self->tells)
        watch_opened(self->watch, self->one);
    assert_true(take(self, self->one));
}

static void let_go_and_open_anew(struct stage *self)
{
    let_go(self);
    open_anew(self);
}

static void test_in_a_turn(void **state)
{
    (void)state;
    static const struct {
        void (*first)(struct stage *self);
        bool stays;
    } cases[] = {{let_go, false},
                 {let_go_twice, false},
                 {take_again, true},
                 {open_anew, true},
                 {let_go_and_open_anew, true}};
    for (size_t i = 0; i < 2 * (sizeof cases / sizeof *cases); i++) {
        struct stage stage = {.first = cases[i / 2].first, .tells = i % 2 == 1};
        stage_begin(&stage);
        assert_true(take(&stage, stage.one) && take(&stage, stage.other));
        stage_run(&stage, cases[i / 2].stays ? told_twice : others_went_on);
        if (!cases[i / 2].stays)
            assert_int_equal(stage.told, 1);
        stage_end(&stage);
    }
}

/* It says nothing while it is let go; taken again for something else, it is told for that. */
static void test_taken_for_something_else(void **state)
{
    (void)state;
    struct stage stage = {.tells = true};
    uint64_t count = 0;
    stage_begin(&stage);
    assert_int_equal(read(stage.one, &count, sizeof count), sizeof count); /* ready no more */
    assert_true(take(&stage, stage.one) && take(&stage, stage.other));
    watch_forget(stage.watch, stage.one);
    stage_run(&stage, others_went_on);
    assert_int_equal(stage.told, 0);
    assert_true(take(&stage, stage.one));
    assert_int_equal(write(stage.one, &(uint64_t){1}, sizeof count), sizeof count);
    stage_run(&stage, told_twice);
    watch_forget(stage.watch, stage.one);
    assert_true(watch_fd(stage.watch, stage.one, TAG + 1, (struct watch_ready){.in = true}));
    stage.tag = TAG + 1;
    stage.told = 0;
    watch_forget(stage.watch, stage.other);
    stage_run(&stage, told_twice);
    stage_end(&stage);
}

/* Between two turns a descriptor was closed, and nobody said so. */
static void test_closed_meanwhile(void **state)
{
    (void)state;
    struct stage stage = {0};
    stage_begin(&stage);
    assert_true(take(&stage, stage.one));
    stage_run(&stage, told_twice);
    stage.told = 0;
    open_anew(&stage);
    stage_run(&stage, told_twice);
    close(stage.one);
    assert_false(take(&stage, stage.one)); /* the system refuses */
    stage.one = ready_fd();
    stage_end(&stage);
}

static void ask_for_a_turn(struct stage *self)
{
    watch_turn(self->watch);
}

static void test_a_turn_that_is_asked_for(void **state)
{
    (void)state;
    struct stage stage = {.first = ask_for_a_turn};
    stage_begin(&stage);
    watch_turn(stage.watch); /* nothing is ready: it comes in the next one */
    stage_run(&stage, turned);
    assert_int_equal(stage.timers, 1);
    assert_true(take(&stage, stage.one));
    stage_run(&stage, told_twice);
    assert_int_equal(stage.timers, 1); /* and here at the end of the turn */
    stage_end(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_example),
        cmocka_unit_test(test_in_a_turn),
        cmocka_unit_test(test_taken_for_something_else),
        cmocka_unit_test(test_closed_meanwhile),
        cmocka_unit_test(test_a_turn_that_is_asked_for),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
