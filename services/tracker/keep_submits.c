#include "services/tracker/keep_submits.h"

#include <stdlib.h>

#include "common/base/log.h"
#include "services/tracker/acts_submit.h"
#include "services/tracker/pending_submit.h"
#include "services/tracker/vault_submits.h"

/* Tasks that were read back as waiting. */
struct keep_waiting {
    struct tracker *tracker;
    uint64_t *ids;
    size_t count, cap;
};

static void keep_wait(struct keep_waiting *self, uint64_t task)
{
    if (self->count == self->cap) {
        self->cap = self->cap ? self->cap * 2 : 64;
        self->ids = realloc(self->ids, self->cap * sizeof *self->ids);
        ALD_ASSERT(self->ids);
    }
    self->ids[self->count++] = task;
}

static void keep_submit(void *arg, uint64_t task, const struct submission *row)
{
    struct keep_waiting *waiting = arg;
    struct tracker *self = waiting->tracker;
    struct pending_task *open = pending_find(self->pending, task);
    if (!open || open->provider_id[0] != '\0')
        return;
    struct submission facts = *row;
    facts.stale_after_ms = open->stale_at_ms - open->made_ms;
    facts.give_up_after_ms = open->give_up_at_ms - open->made_ms;
    pending_submit(self->pending, open, &facts, self->run_base_ms);
    if (self->older && facts.stage == SUBMISSION_WAITING)
        keep_wait(waiting, task);
}

void keep_submits_back(struct tracker *self)
{
    struct keep_waiting waiting = {.tracker = self};
    vault_each_submit(&self->vault, keep_submit, &waiting);
    if (waiting.count > 0) {
        ald_log(
            ALD_ERROR, "submits.uncertain",
            "count=%zu text=\"the store may be an older copy: what waited in it to be submitted "
            "may have been since\"",
            waiting.count);
        vault_begin(&self->vault);
        for (size_t i = 0; i < waiting.count; i++)
            submit_doubt(self, pending_find(self->pending, waiting.ids[i]));
        (void)!vault_commit(&self->vault); /* the error is sticky, and seen by who reads back */
    }
    free(waiting.ids);
}
