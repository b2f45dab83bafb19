/* handle.h - what is behind an aldaba_t: the program's thread on one side, the thread inside on the
 * other, and between them a lock.
 *
 * The program's functions (client.c, open.c) change `queue` and `held` and wake the thread inside;
 * it (loop.c) alone has the sockets, and what durable.c or live.c make of what comes.
 */
#ifndef ALD_CLIENT_HANDLE_H
#define ALD_CLIENT_HANDLE_H

#include <pthread.h>
#include <sys/types.h>

#include "common/client/aldaba.h"
#include "common/client/ask.h"
#include "common/client/bus.h"
#include "common/client/chain.h"
#include "common/client/held.h"
#include "common/client/item.h"

enum handle_phase {
    PHASE_OPEN,      /* the consumer is being opened */
    PHASE_TAKE_BACK, /* what this instance held in an earlier run is given back */
    PHASE_RUN,
    PHASE_CLOSED /* this instance has gone */
};

/* Of a durable consumer. */
struct durable {
    enum handle_phase phase;
    struct ask enter; /* open, close */
    struct ask settle;
    struct ask pull;
    bool ordered;
    int64_t extend_at_ms;            /* when what waits is extended next */
    char gap_told[ALD_POSITION_MAX]; /* queued for the program */
    char gap_seen[ALD_POSITION_MAX]; /* given to it; said to the tracker */
};

/* Of a live subscription. */
struct live {
    struct chain chain;
    struct ask fetch;
    struct item_list hints;       /* that came while a fetch was under way */
    bool behind;                  /* a fetch is needed */
    bool paused;                  /* the program has enough for now: hints are dropped */
    int64_t heard_ms;             /* the feed, last */
    char given[ALD_POSITION_MAX]; /* of the last event given */
};

struct aldaba {
    /* As it was opened; constant. */
    pid_t pid;
    char consumer[ALD_CONSUMER_MAX]; /* "" = live */
    char instance[ALD_WORD_MAX];
    bool comes_again; /* the instance has a name of its own */
    char provider[ALD_PROVIDER_MAX];
    char state[ALD_WORD_MAX];
    char from[ALD_POSITION_MAX];
    char mode[ALD_WORD_MAX];
    uint64_t max_deliver, max_ack_pending;
    int64_t asked_wait_ms; /* ack_wait_ms as asked for; 0 = as it is */
    size_t buffer, buffer_bytes;
    aldaba_log_fn *log;
    void *log_arg;
    int ready_fd, wake_fd;
    pthread_t thread;

    struct bus bus;  /* the thread inside, while it runs */
    unsigned silent; /* requests in a row without an answer; the thread inside */

    pthread_mutex_t lock;
    pthread_cond_t settled; /* held has fewer words, or there will be no answer; and: closed */
    /* From here on under lock. */
    struct item_list queue;
    struct item *current; /* what the program has */
    struct held held;
    struct durable durable;
    struct live live;
    uint64_t last_req;
    int64_t ack_wait_ms; /* of the consumer */
    int64_t called_ms;   /* by the program, last */
    bool ready, woken;   /* ready_fd, wake_fd are set */
    bool connected, changed, refused;
    bool closing; /* give back what is held */
    bool ending;  /* the thread inside is to return */
    char gap_before[ALD_POSITION_MAX];
    char gap_why[ALD_WORD_MAX];
    char text[ALD_TEXT_MAX];
};

static inline bool handle_is_durable(const aldaba_t *self)
{
    return self->consumer[0] != '\0';
}

/* The rest under lock, but handle_log. */
void handle_ready(aldaba_t *self); /* set or clear ready_fd by what there is */
void handle_wake(aldaba_t *self);  /* have the thread inside look */
/* It answers, or does not: text says why. */
void handle_connected(aldaba_t *self, bool connected, const char *text);
void handle_refuse(aldaba_t *self, const char *text);
void handle_log(const aldaba_t *self, int level, const char *format, ...) ALD_PRINTF(3, 4);
/* Send one message of one frame, or its first ones when more follow. False: not connected. */
bool handle_send(aldaba_t *self, const struct ald_schema *schema, const void *message, bool more);
/* Queue an event or news for the program, who owns it from here. */
void handle_queue(aldaba_t *self, struct item *item);
/* Room for results, and whether there is enough of it to ask for more. */
size_t handle_room_bytes(const aldaba_t *self);
bool handle_is_low(const aldaba_t *self);

/* The thread inside; arg is the handle. */
void *loop_run(void *arg);

#endif
