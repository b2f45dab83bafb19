/* rows.h - a vault in a folder of its own, and rows to put into it. One thread. */
#ifndef ALD_TESTS_TRACKER_ROWS_H
#define ALD_TESTS_TRACKER_ROWS_H

#include "services/tracker/vault/vault_letters.h"
#include "tests/unit/store/folder.h"

struct rows {
    struct folder folder;
    struct vault vault;
};

/* Set-up and tear-down of a test: *state is a struct rows. */
int rows_setup(void **state);
int rows_teardown(void **state);
/* As after a kill and a new start. */
void rows_reopen(struct rows *self);
/* An empty vault in its place. */
void rows_anew(struct rows *self);
void rows_commit(struct rows *self);
/* A whole run of the index; no task below lowest_open is open. */
void rows_index(struct rows *self, uint64_t lowest_open);

/* Rows, each within the caller's transaction. A task is made at wall 1000 + id. */
void rows_task(struct rows *self, uint64_t id, const char *provider_id);
/* Ends as done, published at id * 10; returns the result's number. */
uint64_t rows_end(struct rows *self, uint64_t id, const char *digest);
/* A correction of result `corrects` of this task, published at id * 10 + 5; returns its number. */
uint64_t rows_correct(struct rows *self, uint64_t id, uint64_t corrects);
/* Returns its number. Its ref is two/77. */
int64_t rows_arrival(struct rows *self, uint64_t task, enum ald_disposition disposition,
                     int64_t at_ms);
/* Of five bytes, with proof id, about arrival 9. */
void rows_letter(struct rows *self, const char *id, enum ald_reason reason, uint64_t task,
                 const char *digest);

/* The ids of open tasks: how many; out may hold 16. */
unsigned rows_open(struct rows *self, uint64_t *out);
/* The number that a query begins with. */
int64_t rows_number(struct rows *self, const char *sql);
void rows_balanced(struct rows *self, int64_t open);

#define WITH_ROWS(test) cmocka_unit_test_setup_teardown(test, rows_setup, rows_teardown)

#endif
