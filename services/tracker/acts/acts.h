/* acts.h - what is done about each thing that comes in: facts are gathered from memory and vault, a
 * pure function decides (arrival.h, pending.h), and what it decided is written, within the caller's
 * transaction.
 */
#ifndef ALD_TRACKER_ACTS_H
#define ALD_TRACKER_ACTS_H

#include "services/tracker/tracker.h"

/* A callback from a gateway; bytes is its encoded message. Fills the acknowledgement. */
void act_callback(struct tracker *self, struct sender *sender, const struct msg_callback *message,
                  struct ald_span bytes, struct msg_ack *ack);

/* A letter's message is judged again. */
void act_reinject(struct tracker *self, const struct msg_reinject *reinject, struct msg_ack *ack);

/* A letter was closed without effect. */
void act_closing(struct tracker *self, const struct msg_closing *closing, struct msg_ack *ack);

/* What a poll or a submission said. */
void act_outcome(struct tracker *self, const struct msg_outcome *outcome, struct msg_ack *ack);

/* Callbacks that were parked for (provider, provider id) of a task that is open now: the oldest
 * that decides wins. */
void act_unpark(struct tracker *self, uint64_t task);

/* Parked callbacks whose time is up become letters; at most limit. */
void act_parked_due(struct tracker *self, size_t limit);

/* Tasks that are due: polls are queued, deadlines passed end them; at most limit. */
void act_due(struct tracker *self, size_t limit);
/* Show its metrics, from the start or the first use on. */
void act_due_meters(void);

#endif
