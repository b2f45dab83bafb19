/* push.h - a caller's own pingback, by a lease as if it were a poll: what is sent, and what is told
 * of the answer, whose status alone counts.
 *
 * The address is the caller's word, so it may lead to blocks of addresses that the settings name
 * and nowhere else; what counts is the address that is connected to, not the name. One owner; the
 * blocks may be read by any thread.
 */
#ifndef ALD_POLLER_PUSH_H
#define ALD_POLLER_PUSH_H

#include <sys/socket.h>

#include "common/config/profile.h"
#include "common/config/setting.h"
#include "services/poller/fetch.h"
#include "services/poller/work.h"

enum { PUSH_TIMEOUT_MS = 10000, PUSH_ANSWER_MAX = 64 << 10 };

struct push_blocks {
    size_t count;
    struct ald_cidr list[ALD_TEXTS_MAX];
};

/* Read what the settings name; they were checked. */
void push_blocks_load(const struct ald_texts *texts, struct push_blocks *out);

/* May a pingback lead there? For fetch_request; arg is the blocks. */
bool push_may(const void *arg, const struct sockaddr *address);

enum { PUSH_HEADER_MAX = ALD_TRACE_MAX + 16 };

/* Write it; url, body, blocks and header, which is filled, are borrowed. done and arg stay as they
 * are. */
void push_request(const struct work_item *item, const struct push_blocks *blocks,
                  char header[PUSH_HEADER_MAX], struct fetch_request *out);

/* The outcome of it. error is borrowed from the answer. */
void push_answered(const struct fetch_answer *answer, struct msg_outcome *out);

#endif
