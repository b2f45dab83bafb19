/* aldaba.h - libaldaba: how a C or C++ program reads the results of aldaba.
 *
 * A handle is one subscription. With a `consumer` it is durable: the tracker keeps its place under
 * that name, hands events out, and what is not acknowledged comes again. Without one it is live:
 * each event once in the life of the handle, from a position that the program stores itself.
 *
 * Inside, a thread keeps the connection for ever: that the tracker is away, restarts, or loses an
 * answer costs time and nothing else. An event may come twice (`redelivered`, or after a start from
 * an old position); (lane, seq) names it for ever. docs/CLIENT.md says when.
 *
 * Threads: a handle belongs to one thread at a time; handles are independent of each other. After
 * fork() the child can't use its parent's handles: all functions then say ALDABA_FORKED, and the
 * child opens its own. No signal handler is set, no signal is delivered to the thread inside, and
 * nothing is kept when the last handle is closed. Bytes of a peer never end the program; running
 * out of memory for a few bytes may.
 *
 * Times are milliseconds; names in _at_ms are wall times since 1970. Texts are UTF-8.
 */
#ifndef ALDABA_H
#define ALDABA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define ALDABA_API __attribute__((visibility("default")))
#else
#define ALDABA_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* 0 is what was asked for, above it is news, below it an error. */
enum aldaba_rc {
    ALDABA_OK = 0,
    ALDABA_NONE = 1,     /* no event within the time; or a signal came */
    ALDABA_GAP = 2,      /* events that this subscription has not seen are not kept any more */
    ALDABA_CHANGED = 3,  /* the connection to the tracker came or went: aldaba_status */
    ALDABA_LATE = 4,     /* not all that was settled is on the tracker's disk yet */
    ALDABA_INVALID = -1, /* an argument is not allowed */
    ALDABA_REFUSED = -2, /* the tracker refuses for good, such as a consumer that was opened with
                            other settings, or was deleted: close the handle */
    ALDABA_SYSTEM = -3,  /* no memory, no descriptor, no thread */
    ALDABA_FULL = -4,    /* 20,000 words wait for the tracker: later */
    ALDABA_FORKED = -5   /* the handle is of the process that forked this one */
};

typedef struct aldaba aldaba_t;

/* One event: the end of a task. Texts that are unknown are "", never NULL. */
struct aldaba_event {
    uint64_t lane; /* with seq its name */
    uint64_t seq;
    uint64_t task; /* its id; written in decimal everywhere else */
    const char
        *position; /* live: open with it as `from` later, and nothing is missed. durable: "" */
    const char *provider;
    const char *provider_id; /* the provider's own id of the task */
    const char *state;       /* done failed lost expired cancelled */
    const char *source;      /* how it came: callback late poll replay manual submit */
    const char *code;        /* the provider's code or words */
    const char *key;         /* idempotency key of the task; "" when the event came as a hint */
    const char *meta;        /* the caller's note; likewise */
    const char *trace;       /* traceparent of the task's caller, else of the callback */
    const char *corrects;    /* position of the event of this task that it takes the place of */
    const char *result_type; /* text json */
    const void *result;      /* the answer, byte for byte; no NUL behind it */
    size_t result_bytes;
    int64_t received_at_ms;
    int64_t published_at_ms;
    uint64_t deliveries; /* durable: how often it was handed out, this time included */
    bool redelivered;    /* durable: it may have been here before, or it comes out of its order */
};

/* Called by the thread inside the handle, and by aldaba_open: level is 0 for what someone may have
 * to act on, 1 for news. It must not call functions of the handle. */
typedef void aldaba_log_fn(int level, const char *text, void *arg);

/* Zero and NULL everywhere stand for the default; `size` has none. Texts are copied. */
struct aldaba_options {
    size_t size;          /* sizeof(struct aldaba_options) */
    const char *run;      /* folder of the sockets (bus.run); ipc:// may stand before it */
    const char *consume;  /* or the endpoints: ipc:///path, tcp://127.0.0.1:port */
    const char *feed;     /* of live subscriptions */
    const char *provider; /* filter: the profile's name */
    const char *state;    /* filter */
    const char *from;     /* new (default), all, a position; of a durable consumer that is new also
                             @MILLISECONDS: what was published then or later */
    uint32_t buffer;      /* events here at once: waiting, given and not settled, settled and not
                             on the tracker's disk; 1,000, at most 10,000 */
    size_t buffer_bytes;  /* of their results, about; 4 MiB. One event may be 64 MiB by itself */
    aldaba_log_fn *log;   /* NULL: silent */
    void *log_arg;
    const char *consumer; /* its name, [a-z0-9._-], at most 64: durable. NULL: live */
    /* From here on durable alone. */
    const char *instance; /* name of this program among those that share the consumer, at most 32:
                             what it held before comes again at once. NULL: a new name each time,
                             and what it held comes again after ack_wait_ms */
    const char *mode;     /* shared (any number of instances) or ordered (one hand-out at a time) */
    uint32_t max_deliver; /* hand-outs of one event, then it becomes a dead letter; 5 */
    int64_t ack_wait_ms;  /* a hand-out lasts so long; 30,000 */
    uint32_t max_ack_pending; /* events handed out and not settled; 1,000 */
};

struct aldaba_status {
    size_t size;          /* sizeof(struct aldaba_status), set by the caller */
    bool connected;       /* the tracker answers */
    bool refused;         /* as ALDABA_REFUSED */
    size_t waiting;       /* events that aldaba_next would give at once */
    size_t given;         /* durable: given and not settled */
    size_t unsettled;     /* durable: settled here, and not on the tracker's disk yet */
    char position[129];   /* live: all up to here has been given; also while nothing matched */
    char gap_before[129]; /* of the last ALDABA_GAP: what lies before here is gone */
    char gap_why[33];     /* retention, or lane: the store was put back from a backup */
    char text[257];       /* why it refuses, or is not connected */
};

/* Begin. Returns at once, whether there is a tracker or not. *out is the caller's, until
 * aldaba_close; why (may be NULL) of why_bytes gets a sentence when it fails, *out is then NULL.
 * ALDABA_OK, ALDABA_INVALID, ALDABA_SYSTEM. */
ALDABA_API enum aldaba_rc aldaba_open(const struct aldaba_options *options, aldaba_t **out,
                                      char *why, size_t why_bytes);

/* The next event, waiting for it up to wait_ms (-1: for ever). *event is borrowed until the next
 * call of aldaba_next or aldaba_close; NULL unless ALDABA_OK. ALDABA_OK, NONE, GAP, CHANGED;
 * ALDABA_REFUSED when all that came before it has been given; FORKED. */
ALDABA_API enum aldaba_rc aldaba_next(aldaba_t *self, int wait_ms,
                                      const struct aldaba_event **event);

/* A descriptor for poll, select, epoll (level-triggered): readable while aldaba_next would return
 * something at once. Only to be waited on; it is closed by aldaba_close. -1 after fork. */
ALDABA_API int aldaba_fd(const aldaba_t *self);

/* An event that outlives aldaba_next; free it with aldaba_event_free. NULL: no memory. Of any
 * thread, as is the freeing (of NULL, too). */
ALDABA_API struct aldaba_event *aldaba_event_copy(const struct aldaba_event *event);
ALDABA_API void aldaba_event_free(struct aldaba_event *event);

/* Settle: done with it, never again. The word is kept and sent until the tracker has it on disk,
 * which aldaba_flush waits for. It may be said of any event of this consumer, also of one that an
 * earlier run was given. All of these: ALDABA_OK, FULL (nothing is changed), INVALID (a live
 * handle, or a value), FORKED. */
ALDABA_API enum aldaba_rc aldaba_ack(aldaba_t *self, uint64_t lane, uint64_t seq);
/* The same of every event up to this one that aldaba_next has given and that is not settled. */
ALDABA_API enum aldaba_rc aldaba_ack_to(aldaba_t *self, uint64_t lane, uint64_t seq);
/* Not done: again in delay_ms (0: at once), up to max_deliver. reason may be NULL; it is for the
 * letter, and cut at 256 bytes. In ordered mode what comes after it comes again, too. */
ALDABA_API enum aldaba_rc aldaba_nack(aldaba_t *self, uint64_t lane, uint64_t seq, int64_t delay_ms,
                                      const char *reason);
/* Never to be done by this consumer: a dead letter, at once. */
ALDABA_API enum aldaba_rc aldaba_reject(aldaba_t *self, uint64_t lane, uint64_t seq,
                                        const char *reason);
/* It takes longer: the hand-out lasts for_ms from now (0: ack_wait_ms). Those that wait for
 * aldaba_next are extended by themselves, while the program calls the handle now and then. */
ALDABA_API enum aldaba_rc aldaba_extend(aldaba_t *self, uint64_t lane, uint64_t seq,
                                        int64_t for_ms);

/* Wait until all that was settled is on the tracker's disk, up to wait_ms (-1: for ever).
 * ALDABA_OK, LATE, REFUSED, FORKED; a live handle has nothing to wait for. */
ALDABA_API enum aldaba_rc aldaba_flush(aldaba_t *self, int wait_ms);

/* How it stands. status->size says which fields the caller knows. ALDABA_OK, INVALID, FORKED. */
ALDABA_API enum aldaba_rc aldaba_status(const aldaba_t *self, struct aldaba_status *status);

/* Flush up to wait_ms, give back what is not settled (of what still waited for aldaba_next no
 * hand-out is counted; with wait_ms 0 all of it waits for its lease), and end. *self_p becomes NULL
 * (it may be that before). ALDABA_OK; ALDABA_LATE or REFUSED: the words that the tracker did not
 * take are gone, so their events come again; FORKED: the child has forgotten it. */
ALDABA_API enum aldaba_rc aldaba_close(aldaba_t **self_p, int wait_ms);

/* "ok", "none", ... and the library's version, such as "0.1.0"; static. */
ALDABA_API const char *aldaba_rc_name(enum aldaba_rc rc);
ALDABA_API const char *aldaba_version(void);

#ifdef __cplusplus
}
#endif

#endif
