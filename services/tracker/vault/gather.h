/* gather.h - rows that are not indexed yet, brought into the order of tasks a little at a time.
 *
 * Rows are added as they are written. A run takes all that have gathered until then and hands them
 * out one by one, sorted, while others gather for the next run. No call sorts, copies or frees more
 * than a chunk of them, however many there are. Knows nothing of the store: what is handed out and
 * not written before a kill is to be read back from there and added again.
 *
 * Memory: 16 bytes a row that was not handed out. Pure; one owner.
 */
#ifndef ALD_TRACKER_GATHER_H
#define ALD_TRACKER_GATHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* As finds.kind has them. */
enum gather_kind { GATHER_RESULT, GATHER_ARRIVAL, GATHER_NOTE, GATHER_KINDS };

struct gather_entry {
    uint64_t task;
    enum gather_kind kind;
    int64_t no; /* of its own table */
};

typedef struct gather gather_t;

gather_t *gather_new(void);
void gather_destroy(gather_t **self_p);

/* task is below 2^63, entry->no below 2^60. */
void gather_add(gather_t *self, const struct gather_entry *entry);

/* Call fn with every row that waits for the next run; in no order that means anything. */
typedef void gather_fn(void *context, const struct gather_entry *entry);
void gather_each(const gather_t *self, gather_fn *fn, void *context);

/* Numbers of a task's rows of this kind that were not handed out; at most `most`. How many.
 * Costs a search in each chunk: some 50 us with 400,000 rows. */
size_t gather_find(const gather_t *self, uint64_t task, enum gather_kind kind, int64_t *no,
                   size_t most);

/* Begin a run with all rows that have gathered; none may be under way. */
void gather_begin(gather_t *self);
/* The next row of the run: tasks rise, and rows of one task follow each other. False: that was all,
 * and the run is over. */
bool gather_next(gather_t *self, struct gather_entry *out);
/* Begun, and not found to be over yet? */
bool gather_running(const gather_t *self);

#endif
