/* reader_inside.h - what the parts of the reader's thread share. Private to reader*.c. */
#ifndef ALD_TRACKER_READER_INSIDE_H
#define ALD_TRACKER_READER_INSIDE_H

#include "services/tracker/reader/reader.h"
#include "services/tracker/tail.h"
#include "services/tracker/vault/vault_purge.h"

enum { READER_ROWS = 100, READER_ROWS_MAX = 1000 };

/* One question under way: frames are added to answer; rc is sticky, as in the vault. */
struct reading {
    ald_store_t *store;
    zmsg_t *answer;
    struct reading_results *results; /* the thread's, from question to question; may be NULL */
    enum ald_rc rc;
};

/* Results that are not in the index yet, by task: each is read once. */
struct reading_results {
    tail_t *tail;
    int64_t seen;   /* up to here */
    int64_t turned; /* the older generation goes no further */
};

void reading_results_init(struct reading_results *self);
void reading_results_free(struct reading_results *self);
/* Read on. */
void reading_results_more(struct reading *self);

ald_stmt_t *reading_prepare(struct reading *self, const char *sql);
bool reading_step(struct reading *self, ald_stmt_t *stmt);
int64_t reading_fact(struct reading *self, const char *name);

void reading_get(struct reading *self, const struct msg_get *get, const struct reader_hint *hint);
void reading_list(struct reading *self, const struct msg_list *list);
void reading_letters(struct reading *self, const struct msg_letters *ask);
void reading_letter(struct reading *self, const struct msg_letter_ref *ask);
void reading_fetch(struct reading *self, const struct msg_fetch *fetch);
/* A page for a consumer: bytes are of reader_ask_page. */
void reading_consumer(struct reading *self, struct ald_span bytes);

/* Find the seq of a task's result. 0 = it has none. */
uint64_t reading_seq(struct reading *self, uint64_t task, uint64_t hint);

/* Add the notes of a task to the answer, in the order of time. last: number of its result or of the
 * last correction of it, 0 = none. */
void reading_timeline(struct reading *self, const struct msg_task_view *view, uint64_t last,
                      const struct reader_hint *hint);

/* How many polls of a task left for the provider, as its timeline knows. */
uint64_t reading_polls(struct reading *self, uint64_t task, const struct reader_rows *notes);

/* Fill the parts of a view that its result gives. */
void reading_result(struct reading *self, uint64_t seq, uint64_t lane, struct msg_task_view *view,
                    struct ald_buf *keep);

#endif
