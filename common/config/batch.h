/* batch.h - the answer to a poll that asked for several tasks at once, cut into one for each.
 *
 * Answers are joined by `|` and lie in the order of the ids. Which is whose is told by their number
 * alone, so an answer of another number of parts says nothing about anybody: one `|` inside of a
 * result would give each task after it its neighbour's. A part is believed as a result only where
 * the answer's own envelope says that there are results; in bare text a part is a code of the
 * protocol, or its task is asked for alone. Pure. Any thread.
 */
#ifndef ALD_CONFIG_BATCH_H
#define ALD_CONFIG_BATCH_H

#include "common/config/profile.h"

enum { ALD_BATCH_MAX = 64 };

/* What joins the ids of a request. */
#define ALD_BATCH_COMMA ','

enum ald_batch_said {
    ALD_BATCH_NOTHING, /* about no task, as if no answer had come */
    ALD_BATCH_UNCUT,   /* an answer that can't be told apart: ask for each alone */
    ALD_BATCH_WHOLE,   /* the same of all: the account is blocked, nothing is ready */
    ALD_BATCH_PARTS
};

/* An answer. Parts are borrowed from the buffer that was given for them. */
struct ald_batch_answer {
    enum ald_batch_said said;
    bool envelope;              /* the parts stand in one that says that there are results */
    struct ald_verdict verdict; /* of WHOLE; its result is empty */
    size_t parts;               /* found, also when they are too many or too few */
    struct ald_span part[ALD_BATCH_MAX];
};

/* May this id be asked for with others? Not one that holds what joins ids or answers. */
bool ald_batch_takes(const struct ald_profile *profile, const char *provider_id);

/* Read an answer for count tasks, 2 to ALD_BATCH_MAX. scratch as in ald_profile_judge; joined is
 * reset and holds the parts, and its maximum should be at least the body's length. */
void ald_batch_read(const struct ald_profile *profile, const struct ald_facts *facts, size_t count,
                    struct ald_buf *scratch, struct ald_buf *joined, struct ald_batch_answer *out);

/* What a part means for its task; the result is borrowed as the parts are, or from scratch. True:
 * it can't be told, ask for this task alone. */
bool ald_batch_judge(const struct ald_profile *profile, const struct ald_batch_answer *answer,
                     size_t index, struct ald_buf *scratch, struct ald_verdict *out);

#endif
