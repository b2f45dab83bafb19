/* acts_judge.h - what would a letter's re-injection do now? Decided as act_reinject decides, and
 * told; nothing is written, parked, or taken from a budget.
 */
#ifndef ALD_TRACKER_ACTS_JUDGE_H
#define ALD_TRACKER_ACTS_JUDGE_H

#include "services/tracker/tracker.h"

/* Answer `judge`: fills answer, and *to with the frames after it, the caller's. False: the question
 * is another. */
bool act_judge_ask(struct tracker *self, struct ald_span bytes, struct msg_answer *answer,
                   zmsg_t **to);

#endif
