/* resubmission.h - a task that was submitted and taken, and is bought once more: may it be, and
 * which of its attempts is meant by what is said. The decisions, and nothing else.
 *
 *     taken ──late, nothing to poll──▶ counted, waiting ──▶ as in submission.h ──▶ taken
 *       └────failed by a code that says so────▲
 *
 * It is counted on disk in the transaction that decides it, before anybody may be told of it: so
 * whatever is killed, a task leaves at most 1 + max_resubmits times. What is uncertain is not
 * taken, and is never submitted again. What was decided and has not been started when its profile
 * no longer wants it, or its task's deadline is over, is not started.
 *
 * The task stays what it is: one id, one deadline, one result. Each provider's id that it has had
 * names it. An answer of any attempt is its answer, and the first one ends it; that an attempt
 * failed counts only while none follows it. Pure; one owner.
 */
#ifndef ALD_TRACKER_RESUBMISSION_H
#define ALD_TRACKER_RESUBMISSION_H

#include <stdbool.h>
#include <stdint.h>

enum resubmission_why {
    RESUBMISSION_LATE, /* no callback came in time, and there is nothing to poll */
    RESUBMISSION_CODE  /* the provider said that it failed, by a code with resubmit: true */
};

struct resubmission_facts {
    enum resubmission_why why;
    bool on_stale;          /* the profile wants it of late ones */
    uint32_t most;          /* the profile's max_resubmits */
    uint32_t had;           /* decided so far */
    bool kept;              /* what is to be sent is still there */
    bool under_way;         /* a submission is not settled */
    bool retired;           /* the profile has left the settings */
    bool replaced;          /* a person has had another task made in its place */
    bool set_aside;         /* a callback of its own came, and is an open letter */
    int64_t now_ms, end_ms; /* the task's deadline */
};

bool resubmission_may(const struct resubmission_facts *facts);

/* One that was decided is about to leave: is it still wanted? facts.had counts it. */
bool resubmission_wanted(const struct resubmission_facts *facts);

/* Is something about this attempt of a task about one that another follows? taken: the last one
 * that was taken. under_way: one that follows it is not settled. */
bool resubmission_followed(uint64_t attempt, uint64_t taken, bool under_way);

#endif
