/* fixture.h - a shelf in a folder of its own, and the short ways to bring it into a state. */
#ifndef ALD_TEST_DLQ_FIXTURE_H
#define ALD_TEST_DLQ_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "services/dlq/shelf.h"

#define NOW INT64_C(1800000000000)
#define SENDER "01ARZ3NDEKTSV4RRFFQ69G5FAV"
#define ID_1 "01ARZ3NDEKTSV4RRFFQ69G5FB1"
#define ID_2 "01ARZ3NDEKTSV4RRFFQ69G5FB2"
#define ID_3 "01ARZ3NDEKTSV4RRFFQ69G5FB3"

/* First attempt after 1 s, the second 2 s after it, then held. */
extern const struct letter_plan plan;

struct fixture {
    char dir[64];
    char path[96];
    shelf_t *shelf;
};

int fixture_open(void **state);
int fixture_close(void **state);
/* Close and open, as a new process would. */
void fixture_reopen(struct fixture *self);

struct offer {
    uint64_t num;
    const char *id;
    const char *reason;
    const char *provider;
    const char *proof;
    const char *original;
    uint64_t task;
    int64_t made_at_ms; /* 0 = NOW - 5 */
    const char *consumer;
};

extern const struct offer unknown; /* an unknown_task letter, ID_1, number 7 */

/* Take one letter in a transaction of its own; its acknowledgement. */
struct msg_ack fixture_take(struct fixture *self, const struct offer *offer);
void fixture_drop(struct fixture *self, const char *id);

#define SHELF_TEST(function) cmocka_unit_test_setup_teardown(function, fixture_open, fixture_close)

#endif
