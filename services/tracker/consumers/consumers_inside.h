/* consumers_inside.h - what the parts of consumers*.c share. Private to them. */
#ifndef ALD_TRACKER_CONSUMERS_INSIDE_H
#define ALD_TRACKER_CONSUMERS_INSIDE_H

#include "services/tracker/consumers/consumer.h"
#include "services/tracker/consumers/consumers.h"

enum {
    CONSUMERS_WAITERS_MAX = 1024,
    CONSUMERS_WAIT_MAX_MS = 60000,
    CONSUMERS_LIMIT = 100,         /* events of a hand-out, if not said */
    CONSUMERS_BYTES = 1 << 20,     /* of results, if not said */
    CONSUMERS_SETTLES_MAX = 10000, /* in a message */
    CONSUMERS_DELAY_MAX_MS = CONSUMER_WAIT_MAX_MS
};

/* Somebody who has asked for events and has no answer yet. */
struct pull {
    zframe_t *who;
    uint64_t req;
    int instance;
    size_t limit;
    uint64_t bytes;
    int64_t until_ms; /* monotonic */
    bool closed;      /* its instance goes: it gets nothing any more */
    struct pull *next;
};

/* An event that comes back out of its letter: alone, and outside of all order and counts. */
struct comeback {
    char letter[ALD_ULID_MAX];
    uint64_t lane, seq;
    int instance; /* who has it; -1: nobody */
    int64_t due_ms;
};

/* A consumer. */
struct durable {
    int64_t no;
    char name[ALD_CONSUMER_MAX];
    char provider[ALD_PROVIDER_MAX];
    char state[ALD_WORD_MAX];
    int64_t made_ms;
    int64_t asked_ms; /* wall */
    struct consumer core;
    bool fresh;           /* it has no row yet */
    bool dirty;           /* its row is to be written */
    bool settled;         /* by somebody who wants to be told when it is */
    struct pull *first;   /* who waits, in the order of asking */
    struct pull *reading; /* whom a page is being read for */
    uint64_t written;     /* its floor, as the disk knows */
    struct comeback *returns;
    size_t return_count, return_cap;
    uint64_t ticket; /* of that page */
    bool owned;      /* the tracker reads it itself, by its own rules; its row keeps these: */
    struct consumer_rules kept_rules;
    char kept_provider[ALD_PROVIDER_MAX];
    char kept_state[ALD_WORD_MAX];
};

/* What is sent after the commit. */
struct consumers_answer {
    zmsg_t *msg;
    int64_t no; /* events of this consumer are in it; 0: none */
    int instance;
    uint64_t first, last;
    char letter[ALD_ULID_MAX]; /* or the one that comes out of this */
};

/* A return is over. */
struct consumers_closing {
    char letter[ALD_ULID_MAX];
    bool taken; /* and its letter with it */
};

/* An event that becomes a letter. */
struct consumers_reject {
    int64_t no;
    uint64_t seq;
    uint32_t count;
    char why[ALD_TEXT_MAX];
};

struct consumers {
    struct tracker *tracker;
    zhashx_t *by_name; /* of struct durable; owns none */
    struct durable **list;
    size_t count, cap;
    int64_t last_no;
    size_t waiters;
    uint64_t tickets;
    uint64_t told_seq; /* the feed, as of the last look at who waits */
    bool dirty;        /* somebody is */
    bool ours;         /* the question that is being heard is the tracker's own */
    bool owed;         /* somebody waits for a commit */
    struct consumers_answer *answers;
    size_t answer_count, answer_cap;
    struct consumers_reject *rejects;
    size_t reject_count, reject_cap;
    struct consumers_closing *closings;
    size_t closing_count, closing_cap;
    bool woken;            /* somebody may be served after the commit */
    struct durable **gone; /* deleted, as soon as it is written */
    size_t gone_count, gone_cap;
    struct consumer_offer offer;
    struct ald_buf flight, event, original;
};

struct durable *consumers_find(const consumers_t *self, const char *name);
struct durable *consumers_of(const consumers_t *self, int64_t no);
void consumers_add(consumers_t *self, struct durable *one);
/* Out of the list; who waits is told that it is not there. The consumer is the caller's. */
void consumers_take(consumers_t *self, struct durable *one);
void consumers_free(struct durable **one_p);

/* Its row is to be written. */
void consumers_touch(consumers_t *self, struct durable *one);
void consumers_pages_init(void);
void consumers_pull_free(consumers_t *self, struct pull **pull_p);
/* Whoever waits hears this word instead of events. */
void consumers_turn_away(consumers_t *self, struct durable *one, const char *rc,
                         const char *detail);
/* An instance goes: what it waits for is answered without events. */
void consumers_end_of(consumers_t *self, struct durable *one, int instance);
/* See whether somebody who waits can be served. */
void consumers_serve(consumers_t *self, struct durable *one);

/* Letters to make, for the core. */
struct consumers_rejecting {
    consumers_t *self;
    struct durable *one;
};
void consumers_reject(void *context, uint64_t seq, uint32_t count, const char *why);

/* Returns: hand one out to who waits, if one may go. True: it is in an answer. */
bool consumers_return(consumers_t *self, struct durable *one, struct pull *pull);
bool consumers_return_settle(consumers_t *self, struct durable *one, int instance,
                             const struct consumer_settle *settle, int64_t now_ms);
void consumers_return_due(consumers_t *self, struct durable *one, int instance, int64_t now_ms);
void consumers_return_unsent(struct durable *one, const char *letter);
void consumers_return_close(consumers_t *self);
void consumers_returns_gone(consumers_t *self, const struct durable *one);
void consumers_returns_back(consumers_t *self);

/* An answer: now, or after the commit. who is taken. */
void consumers_say(consumers_t *self, struct consumers_answer *answer, bool after);
zmsg_t *consumers_events(consumers_t *self, zframe_t **who_p, uint64_t req,
                         const struct durable *one, const char *rc, const char *detail);
void consumers_word(consumers_t *self, zframe_t **who_p, uint64_t req, const char *rc,
                    const char *detail, const struct durable *one, bool after);

/* The settlements behind a head: can all of them be read, and if not, why for people; heed them. */
bool consumers_sound(zmsg_t *msg);
extern const char consumers_unsound[];
void consumers_settle(consumers_t *self, struct durable *one, int instance, zmsg_t *msg);

/* Why nobody but the tracker may ask this consumer; NULL: everybody may. */
const char *consumers_closed(const consumers_t *self, const char *name);

/* Commands: open, list, close, delete. */
void consumers_open(consumers_t *self, zframe_t **who_p, const struct msg_consumer_open *ask);
void consumers_list(consumers_t *self, zframe_t **who_p, const struct msg_consumer_ref *ask);
void consumers_close(consumers_t *self, zframe_t **who_p, const struct msg_consumer_ref *ask,
                     zmsg_t *msg);
void consumers_delete(consumers_t *self, zframe_t **who_p, const struct msg_consumer_ref *ask);

#endif
