/* What clocks ask for. */
#include "services/tracker/acts.h"
#include "services/tracker/acts_submit.h"
#include "services/tracker/ending.h"

static void due_expire(struct tracker *self, struct pending_task *task)
{
    char letter[ALD_ULID_MAX];
    const struct ending_letter expired = {
        .reason = ALD_REASON_EXPIRED,
        .cause = "No answer came before the task's deadline, neither by callback nor by poll.",
        .provider = task->account->profile->name,
        .provider_id = task->provider_id,
        .task = task->id,
        .proof = ALD_PROOF_AUTH, /* our own verdict: no stranger's share of anything */
        .digest = ""};
    ending_letter(self, &expired, letter);
    struct ending ending = {.state = ALD_STATE_EXPIRED,
                            .source = ALD_SOURCE_MANUAL,
                            .code = "",
                            .received_ms = tracker_now(self).wall_ms,
                            .trace = ""};
    ending_apply(self, &task, &ending);
}

void act_due(struct tracker *self, size_t limit)
{
    const int64_t now_ms = tracker_now(self).run_ms;
    bool hold = tracker_hold(self);
    for (size_t i = 0; i < limit; i++) {
        struct pending_task *task = NULL;
        enum pending_due_kind kind = pending_due(self->pending, now_ms, hold, &task);
        if (kind == PENDING_NOTHING)
            return;
        if (kind == PENDING_UNSURE)
            submit_unsure(self, task);
        else if (kind == PENDING_EXPIRE && task->submit)
            submit_expire(self, task);
        else if (kind == PENDING_EXPIRE)
            due_expire(self, task);
    }
}
