/* api_call.h - one request to the API on its way, and what all routes do alike.
 *
 * A route reads its arguments, asks a daemon, and answers exactly once. api_ask and api_body answer
 * by themselves when they fail.
 */
#ifndef ALD_GATEWAY_API_CALL_H
#define ALD_GATEWAY_API_CALL_H

#include "common/base/json_out.h"
#include "proto/channels.h"
#include "proto/messages.h"
#include "services/gateway/api/api.h"
#include "services/gateway/api/api_query.h"
#include "services/gateway/api/audit.h"
#include "services/gateway/api/json_in.h"

enum {
    API_BODY_MAX = 1 << 20,
    API_OUT_MAX = 160 << 20,             /* an event has 64 MiB and more, which JSON may double */
    API_ARGUMENT_MAX = ALD_CONSUMER_MAX, /* the longest of the names that stand for {id} */
    API_WAIT_MS = 10000                  /* for an answer of a daemon */
};

struct api_worker {
    struct ald_buf body;
    struct ald_buf out;
};

struct api_call {
    struct api *api;
    struct api_worker *worker;
    http_exchange_t *exchange;
    const struct http_request *request;
    char argument[API_ARGUMENT_MAX]; /* what stood for {id} */
    bool may_read;                   /* its token is one, or none is needed */
    bool may_change;                 /* the same, and it is no read token */
    unsigned status;                 /* that was answered; 0: none yet, or a stream */
};

/* The routes; see the table in api.c. */
typedef void api_route_fn(struct api_call *call);
api_route_fn api_task_make, api_task_show, api_task_result, api_task_list, api_task_cancel,
    api_task_attach;
api_route_fn api_events;
api_route_fn api_consumer_list, api_consumer_show, api_consumer_open, api_consumer_delete,
    api_consumer_pull, api_consumer_settle;
api_route_fn api_letter_list, api_letter_show, api_letter_replay, api_letter_drop;
api_route_fn api_letter_edit;
api_route_fn api_replay_start, api_replay_list, api_replay_show;
api_route_fn api_replay_pause, api_replay_resume, api_replay_cancel;
api_route_fn api_provider_list, api_provider_pause, api_provider_resume;
api_route_fn api_status, api_audit, api_backup;
api_route_fn api_access, api_watch, api_action_list, api_page, api_page_file;

/* Put a command on record that was answered. route: its pattern. */
void api_action_note(struct api_call *call, const char *route);
api_route_fn api_alive, api_ready, api_metrics;

/* Add what daemons say of settings that they refused, as figures of the group `settings`. */
void api_notes(struct api_call *call, struct audit *books);

/* Answer with a problem. detail: a sentence. */
void api_problem(struct api_call *call, unsigned status, const char *detail);
/* headers: lines of its own, each with its end. */
void api_problem_with(struct api_call *call, unsigned status, const char *headers,
                      const char *detail);
/* Answer with worker->out as JSON. ALD_CLOSED: the client is gone. */
enum ald_rc api_send(struct api_call *call, unsigned status);
/* Answer 204: it is done, and there is nothing to say. */
void api_done(struct api_call *call);
/* Begin JSON in worker->out. */
struct ald_json_out api_json(struct api_call *call);

/* Read the body into worker->body. */
ALD_NODISCARD bool api_body(struct api_call *call);

/* The same as an object, into fields. False: a problem was answered. */
ALD_NODISCARD bool api_members(struct api_call *call, const struct json_in_field *fields,
                               size_t count);

/* Read the query. False: a problem was answered. */
ALD_NODISCARD bool api_query(struct api_call *call, const struct api_query_field *fields,
                             size_t count);

/* Ask and take the head of the answer. True: the daemon said `ok` (or `exists`); *answer is the
 * caller's, its cursor on the head. False: a problem was answered. */
ALD_NODISCARD bool api_ask(struct api_call *call, const char *channel,
                           const struct ald_schema *schema, void *msg, int64_t wait_ms,
                           struct msg_answer *head, zmsg_t **answer);
/* Answer what an rc word of a daemon means; "" for the detail makes a sentence of its own. */
void api_refused(struct api_call *call, const char *word, const char *detail);
/* The caller's traceparent; "": it sends none, or what is none. */
void api_trace(const struct api_call *call, char out[ALD_TRACE_MAX]);
/* The same about a consumer of this name: one that is not there can be made. */
void api_consumer_refused(struct api_call *call, const char *name, const char *word,
                          const char *detail);
/* The same for what caller_ask returned. */
void api_unasked(struct api_call *call, const char *channel, enum ald_rc rc);

/* A frame of an answer as this message, borrowed from it. False: of another kind, or not sound. */
bool api_read(zframe_t *frame, const struct ald_schema *schema, void *msg);

/* May one more thread wait? True: leave again. */
ALD_NODISCARD bool api_wait_enter(struct api *api);
void api_wait_leave(struct api *api);
/* Answer that there are too many. */
void api_wait_full(struct api_call *call);

/* Is there nothing to poll, by the description of this provider? What is late is told then, or
 * submitted again. */
bool api_never_polled(const struct api_call *call, const char *provider);

#endif
