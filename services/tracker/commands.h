/* commands.h - what the API may do to tasks: register or reserve, attach, cancel. Each fills an
 * answer and, when there is one, the view of the task; within the caller's transaction.
 */
#ifndef ALD_TRACKER_COMMANDS_H
#define ALD_TRACKER_COMMANDS_H

#include "services/tracker/tracker.h"

/* rc: ok (made), exists (there was one: the same key or the same open task), conflict (the key was
 * used for another body), gone (the key's task is purged), invalid, full. */
void command_register(struct tracker *self, const struct msg_register *ask,
                      struct msg_answer *answer, struct msg_task_view *view);

/* rc: ok (also when it had this id), conflict (it has another, or another task has this one),
 * notfound, exists (the task has ended). */
/* Nobody waits for the answer to a registration: cancelled, unless it may have been submitted. */
void command_withdraw(struct tracker *self, const struct msg_withdraw *ask,
                      struct msg_answer *answer, struct msg_task_view *view);
void command_attach(struct tracker *self, const struct msg_attach *ask, struct msg_answer *answer,
                    struct msg_task_view *view);

/* Make a task of ours, without an answer: 0, and why (a word of PROTOCOL.md), if it can't be. */
uint64_t command_again(struct tracker *self, const struct msg_register *ask, const char **why);

/* That why, or NULL; nothing is made. */
const char *command_again_unfit(struct tracker *self, const struct msg_register *ask);

/* rc: ok, notfound, exists (the task has ended). */
void command_cancel(struct tracker *self, const struct msg_cancel *ask, struct msg_answer *answer,
                    struct msg_task_view *view);

#endif
