#include "services/dlq/runner.h"

#include <inttypes.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/text.h"
#include "services/dlq/browse.h"

enum { RUNNER_TICK_MS = 50, RUNNER_STEP = 100, RUNNER_JUDGED = 16, RUNNER_AGAIN_MS = 1000 };

static const char runner_silent[] =
    "The tracker does not answer; the dry run goes on when it does.";

/* A letter of a dry run that the tracker was asked about. */
struct runner_slot {
    runner_t *runner;
    enum ald_reason reason;
    char result[ALD_WORD_MAX];
    char why[ALD_WORD_MAX];
};

/* A step of a dry run, until all its answers are there. */
struct runner_batch {
    struct replay before; /* as of the step's begin */
    struct replay after;
    size_t count;
    size_t waiting;
    bool failed;
    struct runner_slot slots[RUNNER_STEP];
};

struct runner {
    struct runner_options options;
    zloop_t *loop;
    int timer;                /* -1 = none */
    char paced[ALD_ULID_MAX]; /* the replay that pace is of */
    struct replay_pace pace;
    int64_t again_ms; /* mono; no dry step before */
    bool draining;
    const char *note;
    struct shelf_row rows[RUNNER_STEP];
    struct runner_batch batch;
};

/* ---- what both kinds share ---- */

static enum ald_rc runner_skipped(runner_t *self, const struct replay *replay,
                                  enum ald_reason reason, const char *why)
{
    struct msg_replay_count count = {.result = "skipped", .count = 1};
    ald_text_cut(count.reason, sizeof count.reason, ald_span_str(ald_reason_name(reason)));
    ald_text_cut(count.why, sizeof count.why, ald_span_str(why));
    return replays_count(self->options.shelf, replay->id, &count);
}

/* Save how far it has come and end the transaction. */
static enum ald_rc runner_end(runner_t *self, struct replay *replay, enum ald_rc rc)
{
    bool over = rc == ALD_OK && replay_over(replay, ald_clock_now().wall_ms);
    if (rc == ALD_OK)
        rc = replays_save(self->options.shelf, replay);
    if (rc == ALD_OK)
        rc = shelf_commit(self->options.shelf);
    else
        shelf_rollback(self->options.shelf);
    if (rc != ALD_OK)
        ald_log(ALD_ERROR, "replay.unsaved", "replay=%s rc=%s", replay->id, ald_rc_name(rc));
    else if (over)
        ald_log(ALD_INFO, "replay.done",
                "replay=%s seen=%" PRIu64 " replayed=%" PRIu64 " skipped=%" PRIu64, replay->id,
                replay->seen, replay->replayed, replay->skipped);
    return rc;
}

static uint64_t runner_room(runner_t *self, const struct replay *replay)
{
    if (strcmp(self->paced, replay->id) != 0) {
        memcpy(self->paced, replay->id, sizeof self->paced);
        self->pace = (struct replay_pace){0};
    }
    uint64_t room = replay_pace_room(&self->pace, replay->rate, ald_clock_now().mono_ms);
    uint64_t window = replay->dry_run ? RUNNER_JUDGED : replay_room(replay);
    room = room < window ? room : window;
    return room < RUNNER_STEP ? room : RUNNER_STEP;
}

/* Look at the next letters; those that match are in rows. */
static enum ald_rc runner_walk(runner_t *self, struct replay *replay, uint64_t room, size_t *count)
{
    struct browse_walk walk = {.filter = &replay->filter, .bound = replay->bound};
    memcpy(walk.cursor, replay->cursor, sizeof walk.cursor);
    enum ald_rc rc = browse_walk(self->options.shelf, &walk, self->rows, room);
    *count = walk.count;
    if (rc == ALD_OK)
        replay_looked(replay, walk.cursor, walk.scanned, walk.end);
    return rc;
}

/* ---- a step that asks for attempts ---- */

static enum ald_rc runner_take(runner_t *self, struct replay *replay, struct shelf_row *row,
                               int64_t now_ms)
{
    const char *why = replay_take(replay, &row->letter, now_ms);
    if (why[0] != '\0')
        return runner_skipped(self, replay, row->letter.reason, why);
    memcpy(row->replay, replay->id, sizeof row->replay);
    memcpy(row->by, replay->by, sizeof row->by);
    return shelf_update(self->options.shelf, row);
}

static void runner_step(runner_t *self, struct replay *replay)
{
    size_t count = 0;
    uint64_t before = replay->replayed;
    uint64_t room = runner_room(self, replay);
    bool through = replay_looked_through(replay);
    if (through ? replay->answered < replay->replayed : room == 0)
        return;
    if (shelf_begin(self->options.shelf) != ALD_OK)
        return;
    int64_t now_ms = ald_clock_now().wall_ms;
    enum ald_rc rc = through ? ALD_OK : runner_walk(self, replay, room, &count);
    for (size_t i = 0; i < count && rc == ALD_OK; i++)
        rc = runner_take(self, replay, &self->rows[i], now_ms);
    if (runner_end(self, replay, rc) != ALD_OK || replay->replayed == before)
        return;
    replay_pace_use(&self->pace, replay->replayed - before);
    self->options.on_work(self->options.context);
}

/* ---- a step of a dry run ---- */

static enum ald_rc runner_count_slot(runner_t *self, const struct runner_slot *slot)
{
    struct msg_replay_count count = {.count = 1};
    ald_text_cut(count.reason, sizeof count.reason, ald_span_str(ald_reason_name(slot->reason)));
    memcpy(count.result, slot->result, sizeof count.result);
    memcpy(count.why, slot->why, sizeof count.why);
    return replays_count(self->options.shelf, self->batch.after.id, &count);
}

/* All answers are there: they count together, if nothing came between. */
static void runner_dry_end(runner_t *self)
{
    struct replay now;
    struct runner_batch *batch = &self->batch;
    if (batch->failed) {
        self->again_ms = ald_clock_now().mono_ms + RUNNER_AGAIN_MS;
        self->note = runner_silent;
        return;
    }
    self->note = "";
    if (shelf_begin(self->options.shelf) != ALD_OK)
        return;
    enum ald_rc rc = replays_find(self->options.shelf, batch->before.id, &now);
    if (rc == ALD_OK &&
        (now.state != REPLAY_RUNNING || strcmp(now.cursor, batch->before.cursor) != 0))
        rc = ALD_AGAIN;
    for (size_t i = 0; i < batch->count && rc == ALD_OK; i++)
        rc = runner_count_slot(self, &batch->slots[i]);
    if (rc == ALD_AGAIN || rc == ALD_NOTFOUND)
        shelf_rollback(self->options.shelf);
    else if (runner_end(self, &batch->after, rc) == ALD_OK)
        replay_pace_use(&self->pace, batch->after.replayed - batch->before.replayed);
}

static void runner_judged(void *context, enum ald_rc rc, const struct msg_judged *judged)
{
    struct runner_slot *slot = context;
    runner_t *self = slot->runner;
    if (rc == ALD_OK) {
        memcpy(slot->result, judged->disposition, sizeof slot->result);
        memcpy(slot->why, judged->reason, sizeof slot->why);
    } else if (rc == ALD_TIMEOUT || rc == ALD_AGAIN || rc == ALD_FULL) {
        self->batch.failed = true;
    } else {
        ald_text_cut(slot->result, sizeof slot->result, ald_span_str("corrupt"));
    }
    if (--self->batch.waiting == 0)
        runner_dry_end(self);
}

static void runner_dry_ask(runner_t *self, const struct shelf_row *row, int64_t now_ms)
{
    struct runner_batch *batch = &self->batch;
    struct runner_slot *slot = &batch->slots[batch->count++];
    struct letter letter = row->letter;
    *slot = (struct runner_slot){.runner = self, .reason = letter.reason};
    const char *why = replay_take(&batch->after, &letter, now_ms);
    if (why[0] != '\0') {
        ald_text_cut(slot->result, sizeof slot->result, ald_span_str("skipped"));
        ald_text_cut(slot->why, sizeof slot->why, ald_span_str(why));
        return;
    }
    batch->after.answered++;
    batch->waiting++;
    if (judger_ask(self->options.judger, row, batch->after.word, runner_judged, slot) != ALD_OK)
        runner_judged(slot, ALD_FULL, NULL);
}

static void runner_dry_step(runner_t *self, const struct replay *replay)
{
    struct runner_batch *batch = &self->batch;
    size_t count = 0;
    uint64_t room = runner_room(self, replay);
    int64_t mono_ms = ald_clock_now().mono_ms;
    if (batch->waiting > 0 || mono_ms < self->again_ms ||
        (room == 0 && !replay_looked_through(replay)))
        return;
    batch->before = *replay;
    batch->after = *replay;
    batch->count = 0;
    batch->failed = false;
    if (!replay_looked_through(replay) && runner_walk(self, &batch->after, room, &count) != ALD_OK)
        return;
    batch->waiting = 1; /* ours, so that no answer ends the step before all are asked */
    int64_t now_ms = ald_clock_now().wall_ms;
    for (size_t i = 0; i < count; i++)
        runner_dry_ask(self, &self->rows[i], now_ms);
    if (--batch->waiting == 0)
        runner_dry_end(self);
}

/* ---- the timer ---- */

static void runner_begin(runner_t *self, struct replay *replay)
{
    if (shelf_begin(self->options.shelf) != ALD_OK)
        return;
    self->note = "";
    replay_begin(replay, ald_clock_now().wall_ms);
    if (runner_end(self, replay, ALD_OK) == ALD_OK)
        ald_log(ALD_INFO, "replay.begun", "replay=%s letters=%" PRIu64 " dry_run=%d by=%s",
                replay->id, replay->total, replay->dry_run, ALD_Q(replay->by));
}

/* False: there is nothing to do until somebody wakes us. */
static bool runner_turn(runner_t *self)
{
    struct replay replay;
    if (self->draining || !shelf_ready(self->options.shelf))
        return false;
    if (copy_holds(self->options.copy))
        return true;
    if (replays_current(self->options.shelf, &replay) != ALD_OK)
        return false;
    if (replay.state == REPLAY_QUEUED)
        runner_begin(self, &replay);
    else if (replay.dry_run)
        runner_dry_step(self, &replay);
    else
        runner_step(self, &replay);
    return true;
}

static int runner_tick(zloop_t *loop, int timer, void *arg)
{
    runner_t *self = arg;
    if (runner_turn(self))
        return 0;
    (void)zloop_timer_end(loop, timer);
    self->timer = -1;
    return 0;
}

void runner_wake(runner_t *self)
{
    if (self->timer < 0 && runner_turn(self))
        self->timer = zloop_timer(self->loop, RUNNER_TICK_MS, 0, runner_tick, self);
}

void runner_drain(runner_t *self)
{
    self->draining = true;
}

const char *runner_note(const runner_t *self)
{
    return self->note;
}

runner_t *runner_new(zloop_t *loop, const struct runner_options *options)
{
    runner_t *self = zmalloc(sizeof *self);
    self->options = *options;
    self->loop = loop;
    self->timer = -1;
    self->note = "";
    return self;
}

void runner_destroy(runner_t **self_p)
{
    runner_t *self = *self_p;
    if (self == NULL)
        return;
    if (self->timer >= 0)
        (void)zloop_timer_end(self->loop, self->timer);
    free(self);
    *self_p = NULL;
}
