/* findings.h - what looks at stores found (common/store/report.h), put together: facts, notes,
 * problems, and where each dead letter lies. A letter that is open for the tracker must lie in its
 * outbox or at the dlq, which neither of the two can see alone.
 *
 * Pure. One owner.
 */
#ifndef ALD_CTL_FINDINGS_H
#define ALD_CTL_FINDINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/buf.h"

enum { FINDINGS_FACTS_MAX = 96, FINDINGS_NAME_MAX = 48, FINDINGS_LETTER_MAX = 27 };

enum findings_where {
    FINDINGS_OPEN = 1,   /* the tracker: it is open */
    FINDINGS_OUTBOX = 2, /* the tracker: it waits to be handed over */
    FINDINGS_LIVE = 4,   /* the dlq: it has it, open or held */
    FINDINGS_CLOSING = 8 /* the dlq: it closed it and has to tell */
};

struct findings_letter {
    char id[FINDINGS_LETTER_MAX];
    uint8_t where;
};

struct findings {
    struct {
        char name[FINDINGS_NAME_MAX];
        int64_t value;
    } facts[FINDINGS_FACTS_MAX];
    size_t fact_count;
    struct ald_buf problems; /* a line each */
    struct ald_buf notes;    /* the same */
    size_t problem_count;
    struct findings_letter *letters;
    size_t letter_count, letter_room;
};

void findings_init(struct findings *self);
void findings_free(struct findings *self);

/* Take one line of a report. A line that is none is a problem, too. */
void findings_line(struct findings *self, const char *line);
void findings_problem(struct findings *self, const char *format, ...) ALD_PRINTF(2, 3);

/* The value of a fact, or 0; and was it told at all? */
int64_t findings_fact(const struct findings *self, const char *name);
bool findings_has(const struct findings *self, const char *name);

/* Letters that are open and lie nowhere, and in `before`, when there is one, the same: what was on
 * its way while one look took place has arrived when the next does. fn is called with each. */
typedef void findings_letter_fn(void *context, const char *letter);
size_t findings_lost(struct findings *self, struct findings *before, findings_letter_fn *fn,
                     void *context);

#endif
