#include "services/tracker/keep_submits.h"

#include <stdlib.h>

#include "common/base/log.h"
#include "common/base/text.h"
#include "services/tracker/acts/acts_again.h"
#include "services/tracker/acts/acts_resubmit.h"
#include "services/tracker/acts/acts_submit.h"
#include "services/tracker/pending_again.h"
#include "services/tracker/pending_submit.h"
#include "services/tracker/vault/vault_again.h"
#include "services/tracker/vault/vault_resubmits.h"
#include "services/tracker/vault/vault_submits.h"

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
    struct submission facts = *row;
    bool doubtful = self->older && facts.stage == SUBMISSION_WAITING;
    if (!open && doubtful)
        keep_wait(waiting, task); /* its profile is away: doubtful when that is back */
    if (!open || (open->provider_id[0] != '\0' && !open->again))
        return;
    if (facts.stage == SUBMISSION_UNCERTAIN && facts.letter[0] == '\0') {
        facts.stage = SUBMISSION_WAITING; /* that is what was written while its profile was away */
        doubtful = true;
    }
    if (open->again) {
        facts.resubmit = open->again->count;
        facts.taken = open->again->attempt;
        facts.until_ms = open->give_up_at_ms;
    }
    facts.stale_after_ms = open->stale_at_ms - open->made_ms;
    facts.give_up_after_ms = open->give_up_at_ms - open->made_ms;
    pending_submit(self->pending, open, &facts, self->run_base_ms);
    if (doubtful)
        keep_wait(waiting, task);
}

/* What waited in an older copy may have been submitted since. */
static void keep_doubt(struct tracker *self, uint64_t task)
{
    struct pending_task *open = pending_find(self->pending, task);
    if (open)
        submit_doubt(self, open);
    else
        vault_submit_doubt(&self->vault, task);
}

/* Oldest first: the task's deadline counts from the attempt that the first one follows. */
static void keep_resubmit(void *arg, const struct vault_resubmit *row)
{
    struct tracker *self = arg;
    struct pending_task *open = pending_find(self->pending, row->task);
    char provider_id[ALD_PROVIDER_ID_MAX];
    if (!open)
        return;
    ald_text_cut(provider_id, sizeof provider_id, row->provider_id);
    int64_t give_up_after_ms = open->give_up_at_ms - open->made_ms;
    const struct pending_again_row again = {
        .no = row->no,
        .attempt = row->attempt,
        .provider_id = provider_id,
        .failed = row->failed,
        .lease = row->lease,
        .last = row->last,
        .polls = row->polls,
        .requests = row->requests,
        .give_up_at_ms = open->again ? open->give_up_at_ms : row->made_ms + give_up_after_ms};
    pending_again_back(self->pending, open, &again);
}

/* Late when the tracker was killed, and perhaps not submitted again yet. */
static void keep_kept(void *arg, uint64_t task)
{
    struct keep_waiting *kept = arg;
    struct tracker *self = kept->tracker;
    struct pending_task *open = pending_find(self->pending, task);
    if (self->older)
        keep_wait(kept, task); /* also one whose profile is away */
    if (!open || self->older)
        return;
    open->kept = true;
    if (open->alerted && resubmit_may(self, open, RESUBMISSION_LATE, false))
        pending_late_again(self->pending, open, self->run_base_ms, self->run_base_ms);
}

/* It is a person's to have it made anew, and nobody else's. */
static void keep_spare(struct tracker *self, uint64_t task)
{
    struct pending_task *open = pending_find(self->pending, task);
    if (open)
        again_settled(self, open);
    else /* its profile is away */
        (void)vault_spare_keep(&self->vault, task, again_share(self, false));
}

static void keep_spare_back(void *arg, uint64_t task)
{
    struct tracker *self = arg;
    struct pending_task *open = pending_find(self->pending, task);
    if (open)
        open->spare = true;
}

static void keep_replaced_back(void *arg, uint64_t task)
{
    struct tracker *self = arg;
    struct pending_task *open = pending_find(self->pending, task);
    if (open)
        open->replaced = true;
}

/* What was kept in a store that may be an older copy may have been submitted again since. */
static void keep_kept_back(struct tracker *self)
{
    struct keep_waiting kept = {.tracker = self};
    vault_each_kept(&self->vault, keep_kept, &kept);
    if (kept.count > 0) {
        ald_log(
            ALD_WARN, "resubmits.off",
            "count=%zu text=\"the store may be an older copy: what might be submitted again may "
            "have been since\"",
            kept.count);
        vault_begin(&self->vault);
        for (size_t i = 0; i < kept.count; i++)
            keep_spare(self, kept.ids[i]);
        (void)!vault_commit(&self->vault); /* the error is sticky, and seen by who reads back */
    }
    free(kept.ids);
}

void keep_submits_back(struct tracker *self)
{
    struct keep_waiting waiting = {.tracker = self};
    vault_each_spare(&self->vault, keep_spare_back, self);
    vault_each_replaced(&self->vault, keep_replaced_back, self);
    vault_each_resubmit(&self->vault, keep_resubmit, self);
    keep_kept_back(self);
    vault_each_submit(&self->vault, keep_submit, &waiting);
    if (waiting.count > 0) {
        ald_log(
            ALD_ERROR, "submits.uncertain",
            "count=%zu text=\"the store may be an older copy: what waited in it to be submitted "
            "may have been since\"",
            waiting.count);
        vault_begin(&self->vault);
        for (size_t i = 0; i < waiting.count; i++)
            keep_doubt(self, waiting.ids[i]);
        (void)!vault_commit(&self->vault); /* the error is sticky, and seen by who reads back */
    }
    free(waiting.ids);
}
