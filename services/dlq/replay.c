#include "services/dlq/replay.h"

#include <string.h>

enum { PACE_BURST_PER_S = 5 };

static const char *const replay_state_names[REPLAY_STATES] = {
    [REPLAY_QUEUED] = "queued", [REPLAY_RUNNING] = "running",     [REPLAY_PAUSED] = "paused",
    [REPLAY_DONE] = "done",     [REPLAY_CANCELLED] = "cancelled",
};

bool replay_pause(struct replay *self)
{
    if (replay_ended(self->state))
        return false;
    self->state = REPLAY_PAUSED;
    return true;
}

bool replay_resume(struct replay *self)
{
    if (replay_ended(self->state))
        return false;
    if (self->state == REPLAY_PAUSED)
        self->state = REPLAY_QUEUED;
    return true;
}

bool replay_cancel(struct replay *self, int64_t now_ms)
{
    if (replay_ended(self->state))
        return false;
    self->state = REPLAY_CANCELLED;
    self->ended_at_ms = now_ms;
    return true;
}

void replay_begin(struct replay *self, int64_t now_ms)
{
    ALD_ASSERT(self->state == REPLAY_QUEUED);
    self->state = REPLAY_RUNNING;
    if (self->begun_at_ms == 0)
        self->begun_at_ms = now_ms;
}

const char *replay_take(struct replay *self, struct letter *letter, int64_t now_ms)
{
    const char *why = "asked"; /* by a person, or by another bulk replay */
    self->seen++;
    if (!letter_asked(letter))
        why = letter_verdict_name(letter_replay(letter, self->word, now_ms));
    if (why[0] == '\0')
        self->replayed++;
    else
        self->skipped++;
    return why;
}

void replay_looked(struct replay *self, const char *cursor, uint64_t scanned, bool end)
{
    const char *to = end ? self->bound : cursor;
    if (to[0] != '\0')
        memcpy(self->cursor, to, sizeof self->cursor);
    self->scanned += scanned;
}

bool replay_looked_through(const struct replay *self)
{
    return strcmp(self->cursor, self->bound) >= 0;
}

bool replay_over(struct replay *self, int64_t now_ms)
{
    if (self->state != REPLAY_RUNNING || !replay_looked_through(self) ||
        self->answered < self->replayed)
        return false;
    self->state = REPLAY_DONE;
    self->ended_at_ms = now_ms;
    return true;
}

uint64_t replay_room(const struct replay *self)
{
    uint64_t waiting = self->replayed > self->answered ? self->replayed - self->answered : 0;
    return waiting < REPLAY_WINDOW ? REPLAY_WINDOW - waiting : 0;
}

const char *replay_state_name(enum replay_state state)
{
    ALD_ASSERT(state < REPLAY_STATES);
    return replay_state_names[state];
}

bool replay_state_find(const char *word, enum replay_state *out)
{
    for (unsigned i = 0; i < REPLAY_STATES; i++) {
        if (strcmp(word, replay_state_names[i]) == 0) {
            *out = (enum replay_state)i;
            return true;
        }
    }
    return false;
}

uint64_t replay_pace_room(struct replay_pace *self, uint64_t rate, int64_t mono_ms)
{
    int64_t most = (int64_t)rate * 1000 / PACE_BURST_PER_S;
    if (most < 1000)
        most = 1000;
    if (self->at_ms != 0 && mono_ms > self->at_ms) {
        int64_t passed_ms = mono_ms - self->at_ms < 1000 ? mono_ms - self->at_ms : 1000;
        self->milli += passed_ms * (int64_t)rate;
    }
    if (self->milli > most)
        self->milli = most;
    self->at_ms = mono_ms;
    return (uint64_t)(self->milli / 1000);
}

void replay_pace_use(struct replay_pace *self, uint64_t letters)
{
    self->milli -= (int64_t)letters * 1000;
}
