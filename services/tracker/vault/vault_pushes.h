/* vault_pushes.h - the part of the vault that is about callers' own pingbacks: where they go and
 * what they say. A row waits for its task's end, is due with what is to be sent, and is settled;
 * then address and words are forgotten.
 *
 * Within the caller's transaction, errors sticky, as in vault.h. One owner.
 */
#ifndef ALD_TRACKER_VAULT_PUSHES_H
#define ALD_TRACKER_VAULT_PUSHES_H

#include "services/tracker/vault/vault.h"

/* One that is due; texts are borrowed until the call returns. */
struct vault_push {
    uint64_t task;
    unsigned tries;
    struct ald_span url;
    struct ald_span body;
};

void vault_push_add(struct vault *self, uint64_t task, const char *url, bool json);

/* The manner of one that waits. False: there is none. */
bool vault_push_waits(struct vault *self, uint64_t task, bool *json);

/* Its task has ended: it is due now, with this body. */
void vault_push_due(struct vault *self, uint64_t task, struct ald_span body, int64_t now_ms);

/* It failed for the tries-th time: again then. */
void vault_push_again(struct vault *self, uint64_t task, unsigned tries, int64_t next_ms);
/* It was tried often enough: its address is kept for a person, its words are in a letter. */
void vault_push_rest(struct vault *self, uint64_t task);

enum vault_push_state {
    VAULT_PUSH_NONE,  /* there is none, or it is purged with its task */
    VAULT_PUSH_LIVE,  /* it waits, or is due */
    VAULT_PUSH_RESTS, /* vault_push_rest */
    VAULT_PUSH_OVER   /* taken, or nobody wants it any more */
};
enum vault_push_state vault_push_state(struct vault *self, uint64_t task);

/* One that rests is due again, with this body, after so many tries. */
void vault_push_revive(struct vault *self, uint64_t task, struct ald_span body, unsigned tries,
                       int64_t now_ms);

/* It is over: address and words are forgotten. */
void vault_push_settle(struct vault *self, uint64_t task, bool delivered);

/* Tries so far of one that is due. False: it is not due any more. */
bool vault_push_tries(struct vault *self, uint64_t task, unsigned *tries);

/* What one that is due says, and its task's provider. */
bool vault_push_words(struct vault *self, uint64_t task, char provider[ALD_PROVIDER_MAX],
                      struct ald_buf *body);

/* Call fn with those that are due, at most limit, until it says no. Outside of transactions, too.
 */
typedef bool vault_push_fn(void *context, const struct vault_push *push);
void vault_each_due_push(struct vault *self, int64_t now_ms, size_t limit, vault_push_fn *fn,
                         void *context);

/* When the next is due; INT64_MAX: none is. */
int64_t vault_push_next(struct vault *self);

/* Call fn with each task whose pingback waits for its end. */
typedef void vault_push_task_fn(void *context, uint64_t task);
void vault_each_waiting_push(struct vault *self, vault_push_task_fn *fn, void *context);

#endif
