/* audit.h - do the books balance? The identities of the four ledgers over figures from the tracker,
 * the dlq and this gateway. Pure.
 *
 *   arrivals  received = applied + progress + duplicate + parked + dead + dropped
 *   tasks     created = open + done + failed + lost + expired + cancelled
 *   results   their sum over sources = the five ends; callback + late + replay, and corrections
 *             that arrivals brought = applied
 *   letters   made = open + resolved + dropped; the open ones = outbox and dlq, as sets
 *   gateway   acknowledged + spooled = answered + unanswered
 */
#ifndef ALD_GATEWAY_AUDIT_H
#define ALD_GATEWAY_AUDIT_H

#include "common/base/guard.h"
#include "proto/messages.h"

enum { AUDIT_PROBLEMS_MAX = 16, AUDIT_SENTENCE_MAX = 160 };

/* All zeros: empty. There are some figures of each consumer and each provider. */
struct audit {
    size_t count, cap;
    struct msg_figure *figures;
    size_t problem_count;
    char problems[AUDIT_PROBLEMS_MAX][AUDIT_SENTENCE_MAX];
};

void audit_clear(struct audit *self);
/* Give back what it holds; it is empty then. */
void audit_free(struct audit *self);
/* Keep a figure under a group of its own name, or `group` when that is not NULL. */
void audit_add(struct audit *self, const char *group, const struct msg_figure *figure);
void audit_add_text(struct audit *self, const char *group, const char *name, const char *text);
void audit_add_value(struct audit *self, const char *group, const char *name, int64_t value);
/* The value of a figure, 0 when there is none. */
int64_t audit_value(const struct audit *self, const char *group, const char *name);
/* Say something that is wrong. */
void audit_say(struct audit *self, const char *format, ...) ALD_PRINTF(2, 3);

/* Look at all identities; problems are appended. */
void audit_check(struct audit *self);

#endif
