/* sent.h - numbers that went to this run of the tracker and were spooled without an answer: they
 * are not sent again before a time, since their answer may still come.
 *
 * Pure and bounded: when there are too many to remember, all are held for as long as the last of
 * them. Times are monotonic ms. One thread.
 */
#ifndef ALD_GATEWAY_SENT_H
#define ALD_GATEWAY_SENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SENT_MAX = 1024 };

struct sent_number {
    uint64_t num;
    int64_t until_ms;
};

struct sent {
    struct sent_number numbers[SENT_MAX];
    size_t count;
    int64_t all_until_ms; /* more than fit */
};

/* This number may go again from until_ms on. */
void sent_add(struct sent *self, uint64_t num, int64_t now_ms, int64_t until_ms);
/* Must it still wait? */
bool sent_holds(const struct sent *self, uint64_t num, int64_t now_ms);
/* Another run of the tracker: nothing was sent to it. */
void sent_clear(struct sent *self);

#endif
