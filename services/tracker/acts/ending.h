/* ending.h - the two things that decisions lead to: a task ends, or a message becomes a letter.
 * Both write to the vault within the caller's transaction.
 */
#ifndef ALD_TRACKER_ENDING_H
#define ALD_TRACKER_ENDING_H

#include "services/tracker/tracker.h"

struct ending {
    enum ald_state state;
    enum ald_source source;
    const char *code; /* "" = none */
    struct ald_span result;
    bool result_json;
    int64_t received_ms; /* wall */
    int64_t arrival;     /* 0 = none */
    const char *trace;
    const char *digest; /* NULL: made here */
};

/* End a task: its result with the next sequence number, its place in the feed; *task_p is NULL
 * after. */
void ending_apply(struct tracker *self, struct pending_task **task_p, const struct ending *ending);

/* Make a letter of a message and note it on its task. Returns its id in out. */
struct ending_letter {
    enum ald_reason reason;
    const char *cause;
    const char *provider;
    const char *provider_id;
    uint64_t task;
    enum ald_proof proof;
    const char *digest;       /* of a conflicting answer, or which event of whom, else "" */
    struct ald_span original; /* an encoded msg_callback, a consumer's msg_event, or empty */
    int64_t arrival;
    const char *consumer; /* who did not take it; NULL = nobody was to */
};

void ending_letter(struct tracker *self, const struct ending_letter *letter,
                   char out[ALD_ULID_MAX]);

/* Close a letter: its row, its share of the quota. */
void ending_close(struct tracker *self, const char *letter, bool dropped,
                  enum ald_disposition outcome);

/* An open letter is one for this reason now, and of this task (0 = none is known): its row, its
 * share of the quota, the task's timeline. The dlq learns it from the answer to its attempt. */
void ending_turn(struct tracker *self, const char *letter, enum ald_reason reason, uint64_t task,
                 const char *digest);

/* Close a letter that the dlq does not know to be closed, and tell it. */
void ending_answered(struct tracker *self, const char *letter, bool dropped);

#endif
