/* msg_jobs.h - on the channel jobs: pollers say what they can take, get leases, and bring back
 * outcomes as items of batches (msg_courier.h).
 *
 * Units, limits and what a span borrows: messages.h.
 */
#ifndef ALD_PROTO_MSG_JOBS_H
#define ALD_PROTO_MSG_JOBS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/span.h"
#include "proto/msg_limits.h"
#include "proto/wire.h"

/* poller -> tracker: I can take `credit` more. Said again at least every second. */
struct msg_ready {
    char poller[ALD_ULID_MAX];
    uint64_t credit;
    uint64_t busy; /* leases it works on */
    bool stopping; /* take back what I have not begun */
    bool batches;  /* I ask for leases of one batch in one request */
    bool jwks;     /* I fetch public keys */
    bool sinks;    /* I post to sinks of the settings */
};

/* tracker -> poller: head of a message of leases, a `lease` frame each follows. */
struct msg_leases {
    char instance[ALD_ULID_MAX];
};

struct msg_lease {
    uint64_t lease; /* unique in this run of the tracker */
    uint64_t task;
    char provider[ALD_PROVIDER_MAX];
    char provider_id[ALD_PROVIDER_ID_MAX];
    int64_t lease_ms;           /* the lease ends this long after it was received */
    struct ald_span poll_url;   /* as the provider gave it; empty = the profile knows */
    struct ald_span result_url; /* the same */
    struct ald_span params;     /* a JSON object: those that the profile's polls name */
    uint64_t batch;             /* leases of one number are asked for in one request; 0 = alone */
    /* No poll, but a request of a client's that the provider alone can answer, with params. */
    bool call;
    char path[ALD_WORD_MAX]; /* of a call: the last part of its address; "" = that of polls */
    bool push;               /* no poll: a caller's pingback; body goes to poll_url */
    struct ald_span body;    /* a form, or JSON if it begins with a brace */
    bool jwks; /* no poll: public keys are fetched from the address in the provider's profile */
    /* A push to this sink of the settings, which have its address: body is an encoded event. */
    char sink[ALD_CONSUMER_MAX];
    uint64_t lane; /* with sink: of the event */
    uint64_t seq;
    char trace[ALD_TRACE_MAX]; /* of a push without sink: that of the caller */
};

/* In the place of a lease: the right to ask whether this task may be submitted. */
struct msg_submit {
    uint64_t lease;
    uint64_t task;
    uint64_t attempt; /* from 1 on */
    char provider[ALD_PROVIDER_MAX];
    int64_t lease_ms;
    char callback_url[ALD_CALLBACK_URL_MAX];
    struct ald_span submission; /* as in register */
};

/* poller -> tracker: about to submit (an item of a batch). Nothing is sent to the provider before
 * its ack says `applied`: then it is on disk that the provider may have the task. Any other
 * disposition: the right to submit is gone. */
struct msg_started {
    uint64_t num;
    uint64_t lease;
    uint64_t task;
    uint64_t attempt;
};

/* poller -> tracker: what a poll or a submission said (an item of a batch). A fact: applied however
 * late. */
struct msg_outcome {
    uint64_t num;
    uint64_t lease;
    uint64_t task;
    char provider[ALD_PROVIDER_MAX];
    bool left;                 /* false: the request never left (refused, no DNS, handed back) */
    bool answered;             /* a whole HTTP answer came */
    char then[ALD_WORD_MAX];   /* profile.h: done failed pending lost code unknown ... */
    char class_[ALD_WORD_MAX]; /* class of the code: pending transient config permanent ... */
    char scope[ALD_WORD_MAX];  /* task account ip proxy */
    bool block;                /* the whole account waits for wait_ms */
    char code[ALD_CODE_MAX];
    int64_t wait_ms;
    int64_t grace_ms;
    struct ald_span result;
    bool result_json;
    uint64_t http; /* status, 0 = none */
    char error[ALD_TEXT_MAX];
    struct ald_span evidence; /* first bytes of the answer */
    int64_t took_ms;
    int64_t at_ms;
    struct ald_span poll_url;              /* where to ask from now on, as the provider says */
    struct ald_span result_url;            /* the same of the result */
    uint64_t attempt;                      /* of a submission; 0 = a poll */
    char provider_id[ALD_PROVIDER_ID_MAX]; /* with then accepted or done_at_submit */
    char detail[ALD_TEXT_MAX];             /* what the provider says beside the code */
    bool call;     /* of a call: result is the provider's answer as it came */
    bool alone;    /* asked for with others, it could not be told from them: ask for it alone */
    bool push;     /* of a pingback */
    bool jwks;     /* of public keys: result is what came from poll_url */
    bool fetched;  /* the poll was answered, and this is of a second request, for its result, which
                    * may have reached the provider */
    bool resubmit; /* with class failed: a new submission may succeed */
    char sink[ALD_CONSUMER_MAX]; /* of a push to it */
    uint64_t lane;               /* with sink: of the event */
    uint64_t seq;
};

extern const struct ald_schema MSG_READY;   /* ready */
extern const struct ald_schema MSG_LEASES;  /* leases */
extern const struct ald_schema MSG_LEASE;   /* lease */
extern const struct ald_schema MSG_SUBMIT;  /* submit */
extern const struct ald_schema MSG_STARTED; /* started */
extern const struct ald_schema MSG_OUTCOME; /* outcome */

#endif
