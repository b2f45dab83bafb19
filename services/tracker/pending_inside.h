/* pending_inside.h - what the files of pending.h share, and renew.c. Nobody else includes it. */
#ifndef ALD_TRACKER_PENDING_INSIDE_H
#define ALD_TRACKER_PENDING_INSIDE_H

#include <czmq.h>

#include "services/tracker/pending_again.h"
#include "services/tracker/pending_submit.h"
#include "services/tracker/shards.h"

struct pending {
    struct pending_options options;
    shards_t *by_id;  /* tasks */
    shards_t *by_ref; /* those whose provider_id is known, by pending_task_ref */
    shards_t *by_old; /* struct pending_old, by ref: what else a task is found by */
    ald_heap_t *due;
    struct pending_account **accounts; /* each stays where it is */
    size_t account_count;
    size_t account_turn; /* where the next lease looks first */
    size_t phase_count[3];
    size_t leased_submits;
    size_t submitting; /* submissions that were started */
    size_t unattached;
    struct pending_task *oldest, *youngest; /* by id */
    uint64_t random;
};

uint64_t pending_random(pending_t *self);

/* The one with the lowest id, or NULL; `younger` is the way to the others. */
struct pending_task *pending_oldest(const pending_t *self);
/* A task may be polled as it could not before: it is due when it is stale. */
void pending_askable(pending_t *self, struct pending_task *task, int64_t now_ms);

/* The task is looked at then. */
void pending_due_at(pending_t *self, struct pending_task *task, int64_t at_ms);
/* The same for an idle one that may be polled then, and has a deadline. */
void pending_idle_until(pending_t *self, struct pending_task *task, int64_t at_ms, int64_t now_ms);

/* "provider/provider_id", the caller's; its task's from pending_ref_set to pending_ref_take. */
char *pending_ref(const char *provider, const char *provider_id);
void pending_ref_set(struct pending_task *task, char *ref);
char *pending_ref_take(struct pending_task *task); /* provider_id is NULL then */
/* The provider's id in a ref of this task. */
char *pending_ref_id(const struct pending_task *task, char *ref);

/* What it has of its looks, made if there is nothing. Its task's. */
struct pending_look *pending_look(struct pending_task *task);
void pending_look_free(struct pending_task *task);
/* A poll that was over then was told. */
void pending_told(struct pending_task *task, int64_t at_ms);
bool pending_has_lease(const struct pending_task *task, uint64_t lease);

/* A resubmission has got an id: ref, which is in no table any more, becomes one of those before. */
void pending_again_keep(pending_t *self, struct pending_task *task, uint64_t attempt, char *ref);
/* It has got one that the task had before. attempt: that the task's present id is of. */
void pending_again_swap(pending_t *self, struct pending_task *task, uint64_t attempt,
                        const char *provider_id);
/* self: NULL when its tables are gone. */
void pending_again_free(pending_t *self, struct pending_task *task);

void pending_phase_set(pending_t *self, struct pending_task *task, enum pending_phase phase);
void pending_enqueue(pending_t *self, struct pending_task *task, enum budget_use use,
                     int64_t now_ms);
void pending_dequeue(pending_t *self, struct pending_task *task);
/* A lease is over. left: its request may have reached the provider. */
void pending_unlease(pending_t *self, struct pending_task *task, bool left, int64_t now_ms);

/* A submission is due, and its task may not expire now: contract of pending_due. */
enum pending_due_kind pending_submit_due(pending_t *self, struct pending_task *task, int64_t now_ms,
                                         struct pending_task **out);

#endif
