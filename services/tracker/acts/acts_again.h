/* acts_again.h - what is done about tasks that a person may have made anew: again.h decides, and
 * what it decided is written, within the caller's transaction. And how long that stays possible:
 * what was submitted is kept while its task is open or has an open letter, as far as
 * store.keep_submitted goes. One owner.
 */
#ifndef ALD_TRACKER_ACTS_AGAIN_H
#define ALD_TRACKER_ACTS_AGAIN_H

#include "services/tracker/acts/again.h"
#include "services/tracker/tracker.h"
#include "services/tracker/vault/vault_letters.h"

/* A person replays an open letter about such a task. */
void act_buy(struct tracker *self, const struct msg_reinject *reinject,
             const struct vault_letter *letter, struct msg_ack *ack);

/* NULL: it would be done. Else the word for why not; nothing is done. */
const char *act_buy_unfit(struct tracker *self, const struct msg_reinject *reinject,
                          const struct vault_letter *letter);

/* Show its metrics, from the start or the first use on. */
void again_meters(void);

/* How much of what was submitted may be kept: by tasks that are open, or with those of letters. */
uint64_t again_share(const struct tracker *self, bool letters);

/* The provider has this task, and aldaba does not submit it again by itself. */
void again_settled(struct tracker *self, struct pending_task *task);

/* The task has ended, and its letter, if any, is made. */
void again_over(struct tracker *self, uint64_t task, const char *provider);

/* A letter of this task was closed. */
void again_closed(struct tracker *self, uint64_t task);

/* A task that had ended without an answer has one: its letters close. */
void again_answered(struct tracker *self, uint64_t task);

#endif
