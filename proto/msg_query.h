/* msg_query.h - on the channel query: questions and commands of the API, one answer each, and the
 * maps that follow the head of an answer.
 *
 * Units, limits and what a span borrows: messages.h.
 */
#ifndef ALD_PROTO_MSG_QUERY_H
#define ALD_PROTO_MSG_QUERY_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/span.h"
#include "proto/msg_limits.h"
#include "proto/wire.h"

/* Register (provider_id given), reserve (provider_id empty) or submit (with a submission) a task.
 */
struct msg_register {
    uint64_t req; /* echoed in the answer */
    char provider[ALD_PROVIDER_MAX];
    char provider_id[ALD_PROVIDER_ID_MAX];
    char key[ALD_KEY_MAX];
    char digest[65]; /* of the request body, so that a key used twice for two things is seen */
    char meta[ALD_META_MAX];
    int64_t stale_after_ms;       /* 0 = the profile's */
    int64_t give_up_after_ms;     /* 0 = the profile's */
    char poll_url[ALD_URL_MAX];   /* where the provider said to ask; "" = nowhere */
    char result_url[ALD_URL_MAX]; /* the same of the result */
    struct ald_span params;       /* a JSON object of what polls may need; empty = none */
    struct ald_span submission;   /* JSON: {"params": {...}, "files": {...}}; empty = not by us */
    char base[ALD_BASE_MAX];      /* of the callback URL, where providers reach the gateways */
    char ticket[ALD_ULID_MAX];    /* names this request to withdraw it */
    int64_t submit_within_ms;     /* 0 = the profile's */
    int64_t valid_until_ms;       /* wall time: later it is not wanted any more; 0 = whenever */
    char pingback[ALD_URL_MAX];   /* the caller's own, to be called at the end; "" = none */
    bool pingback_json;           /* in the manner of createTask, else of in.php */
    char trace[ALD_TRACE_MAX];    /* the caller's, handed on */
};

/* Nobody waits for the answer to this registration any more: if the provider has not been asked,
 * it need not be. rc: ok, the task is cancelled; exists, too late; notfound, it never came. */
struct msg_withdraw {
    uint64_t req;
    char ticket[ALD_ULID_MAX];
};

/* Ask the provider something and wait for what it says: head and a reply, or rc busy when it can't
 * be asked in time, exists when this verb was said about this task before. */
struct msg_call {
    uint64_t req;
    char provider[ALD_PROVIDER_MAX];
    char path[ALD_WORD_MAX]; /* the last part of the address; "" = that of polls */
    struct ald_span params;  /* a JSON object */
    uint64_t task;           /* that the verb is about; 0 = none */
    char verb[ALD_WORD_MAX]; /* said once about a task */
    int64_t wait_ms;
};

/* What the provider said. */
struct msg_reply {
    uint64_t http;
    bool block; /* it says that the account must wait */
    struct ald_span body;
};

struct msg_attach {
    uint64_t req;
    uint64_t task;
    char provider_id[ALD_PROVIDER_ID_MAX];
    char poll_url[ALD_URL_MAX]; /* as in register */
    char result_url[ALD_URL_MAX];
    struct ald_span params;
};

struct msg_cancel {
    uint64_t req;
    uint64_t task;
};

/* One task; with wait_ms the answer comes when it has ended or the time is up. */
struct msg_get {
    uint64_t req;
    uint64_t task;
    int64_t wait_ms;
};

struct msg_list {
    uint64_t req;
    char state[ALD_WORD_MAX];
    char provider[ALD_PROVIDER_MAX];
    char q[ALD_PROVIDER_ID_MAX]; /* an id, provider id or key, whole */
    int64_t since_ms;
    int64_t until_ms;
    uint64_t limit;
    char cursor[ALD_POSITION_MAX];
};

/* Questions without arguments, or nearly so. */
struct msg_status {
    uint64_t req;
};

struct msg_audit {
    uint64_t req;
    bool deep;
};

/* Copy into dir. hold names the backup, a ULID of the asker. again: copy nothing, tell how the copy
 * of this name is. release: copy nothing, end what is under way under this name. Of the dlq alone:
 * hold_ms: once the copy is made, tell the tracker nothing for so long; again begins that time
 * anew, release ends it. */
struct msg_backup {
    uint64_t req;
    char dir[ALD_META_MAX];
    int64_t hold_ms;
    bool release;
    char hold[ALD_ULID_MAX];
    bool again;
};

/* Head of every answer; the frames after it are task_view, note, event, figure, letter_view or
 * attempt maps. rc: ok notfound exists invalid conflict busy gone full io */
struct msg_answer {
    uint64_t req;
    char rc[ALD_WORD_MAX];
    char detail[ALD_TEXT_MAX];
    char cursor[ALD_POSITION_MAX]; /* "" = no more */
    bool more;
};

struct msg_task_view {
    uint64_t task;
    char provider[ALD_PROVIDER_MAX];
    char provider_id[ALD_PROVIDER_ID_MAX];
    char key[ALD_KEY_MAX];
    char meta[ALD_META_MAX];
    char state[ALD_WORD_MAX];
    char source[ALD_WORD_MAX];
    struct ald_span result;
    bool result_json;
    char code[ALD_CODE_MAX];
    int64_t created_at_ms;
    int64_t ended_at_ms;
    int64_t stale_at_ms; /* first poll, if no callback comes */
    int64_t give_up_at_ms;
    uint64_t polls;
    char token[64]; /* callback token; "" when the task has ended */
    char position[ALD_POSITION_MAX];
    uint64_t attempts;  /* submissions that were begun */
    uint64_t resubmits; /* how often it was decided to submit it again */
    uint64_t replaces;  /* the task in whose place a person had it made; 0 = none */
    uint64_t replaced_by;
    char corrects[ALD_POSITION_MAX]; /* its result is a correction of this event */
    char trace[ALD_TRACE_MAX];       /* the caller's */
};

/* A line of a task's timeline. */
struct msg_note {
    int64_t at_ms;
    char what[ALD_WORD_MAX]; /* created attached callback poll result cancelled letter ... */
    char text[ALD_TEXT_MAX];
};

/* A number of the status or of the books. */
struct msg_figure {
    char group[ALD_WORD_MAX]; /* arrivals tasks letters gateway status provider poller ... */
    char name[ALD_KEY_MAX];   /* such as received, or <provider>.pending */
    int64_t value;
    char text[ALD_TEXT_MAX]; /* with figures that are words */
};

extern const struct ald_schema MSG_REGISTER;  /* register */
extern const struct ald_schema MSG_WITHDRAW;  /* withdraw */
extern const struct ald_schema MSG_WITHDRAW;  /* withdraw */
extern const struct ald_schema MSG_CALL;      /* call */
extern const struct ald_schema MSG_REPLY;     /* reply */
extern const struct ald_schema MSG_ATTACH;    /* attach */
extern const struct ald_schema MSG_CANCEL;    /* cancel */
extern const struct ald_schema MSG_GET;       /* get */
extern const struct ald_schema MSG_LIST;      /* list */
extern const struct ald_schema MSG_STATUS;    /* status */
extern const struct ald_schema MSG_AUDIT;     /* audit */
extern const struct ald_schema MSG_BACKUP;    /* backup */
extern const struct ald_schema MSG_ANSWER;    /* answer */
extern const struct ald_schema MSG_TASK_VIEW; /* task */
extern const struct ald_schema MSG_NOTE;      /* note */
extern const struct ald_schema MSG_FIGURE;    /* figure */

#endif
