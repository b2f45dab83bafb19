/* vault_consumers.h - the part of the vault that is about durable consumers: a row each, which
 * holds all that is decided about it, and what they need of the feed.
 *
 * Reading works outside of a transaction, writing within the caller's; errors are sticky, as in
 * vault.h. One owner.
 */
#ifndef ALD_TRACKER_VAULT_CONSUMERS_H
#define ALD_TRACKER_VAULT_CONSUMERS_H

#include "services/tracker/vault/vault.h"

/* A row; texts and flight are borrowed from the statement or the caller. */
struct vault_consumer {
    int64_t no;
    struct ald_span name;
    struct ald_span provider; /* filter */
    struct ald_span state;    /* filter */
    bool ordered;
    uint64_t max_deliver;
    int64_t ack_wait_ms;
    uint64_t max_ack_pending;
    int64_t made_ms; /* wall */
    uint64_t lane;
    uint64_t floor; /* what the flight says, too: for who reads rows, and if it is damaged */
    uint64_t handed;
    uint64_t gap_before;
    int64_t gap_why;
    uint64_t rejected;
    struct ald_span flight;
};

typedef void vault_consumer_fn(void *context, const struct vault_consumer *row);
void vault_each_consumer(struct vault *self, vault_consumer_fn *fn, void *context);
void vault_consumer_add(struct vault *self, const struct vault_consumer *row);
/* What moves: from lane on. */
void vault_consumer_write(struct vault *self, const struct vault_consumer *row);
void vault_consumer_delete(struct vault *self, int64_t no);

/* Events that come back out of their letters. */
struct vault_return {
    struct ald_span letter; /* borrowed */
    int64_t consumer;       /* its no */
    uint64_t lane, seq;
};
typedef void vault_return_fn(void *context, const struct vault_return *row);
void vault_each_return(struct vault *self, vault_return_fn *fn, void *context);
/* Add, or put this event in the place of the one that is there. */
void vault_return_put(struct vault *self, const struct vault_return *row, struct ald_span event);
void vault_return_delete(struct vault *self, const char *letter);
/* What it holds, appended to out. */
bool vault_return_event(struct vault *self, const char *letter, struct ald_buf *out);
/* Call fn with the open letters of a consumer. Writing is not allowed in it. */
typedef void vault_letter_id_fn(void *context, struct ald_span letter);
void vault_each_letter_of(struct vault *self, const char *consumer, vault_letter_id_fn *fn,
                          void *context);

/* An event; its result is put into bytes, which is emptied first. False: it is not kept any more.
 */
bool vault_event(struct vault *self, uint64_t seq, struct msg_event *out, struct ald_buf *bytes);
/* When the first event after a number was published. 0: there is none. */
int64_t vault_published_after(struct vault *self, uint64_t seq);
/* The last number before the first event that was published at at_ms or later. */
uint64_t vault_seq_before(struct vault *self, int64_t at_ms);
/* The last number before the oldest event that is kept. */
uint64_t vault_seq_kept(struct vault *self);

#endif
