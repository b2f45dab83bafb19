#include "services/gateway/api/json_view.h"

#include <string.h>

#include "common/base/text.h"
#include "common/config/event_json.h"
#include "proto/token.h"
#include "proto/words.h"

static bool view_ended(const char *word)
{
    enum ald_state state = ALD_STATE_ACCEPTED;
    return ald_state_find(word, &state) && ald_state_ended(state);
}

static void view_callback_url(struct ald_json_out *out, const struct msg_task_view *task,
                              const char *base)
{
    char url[ALD_CALLBACK_URL_MAX];
    if (task->token[0] == '\0')
        return;
    ald_callback_url(url, base, task->provider, task->token, task->trace);
    ald_json_out_text(out, "callback_url", url);
}

void view_task(struct ald_json_out *out, const struct msg_task_view *task, const char *base,
               bool whole)
{
    ald_json_out_id(out, "id", task->task);
    ald_json_out_text(out, "state", task->state);
    ald_json_out_text(out, "provider", task->provider);
    ald_json_out_text(out, "provider_id", task->provider_id);
    ald_json_out_text(out, "key", task->key);
    ald_json_out_text(out, "meta", task->meta);
    if (task->trace[0] != '\0')
        ald_json_out_text(out, "trace", task->trace);
    ald_json_out_text(out, "source", ald_event_source(task->state, task->source));
    ald_json_out_text(out, "code", task->code);
    if (strcmp(task->state, ald_state_name(ALD_STATE_DONE)) == 0 || task->result.len > 0) {
        ald_event_value(out, "result", "result_base64", task->result, task->result_json);
        ald_json_out_text(out, "result_type", task->result_json ? "json" : "text");
    } else {
        ald_json_out_null(out, "result");
    }
    ald_json_out_time(out, "created_ms", task->created_at_ms);
    ald_json_out_time(out, "ended_ms", task->ended_at_ms);
    if (!view_ended(task->state)) {
        ald_json_out_time(out, "stale_at_ms", task->stale_at_ms);
        ald_json_out_time(out, "give_up_at_ms", task->give_up_at_ms);
    }
    if (whole)
        ald_json_out_int(out, "polls", (int64_t)task->polls);
    if (task->attempts > 0)
        ald_json_out_int(out, "attempts", (int64_t)task->attempts);
    if (task->resubmits > 0)
        ald_json_out_int(out, "resubmits", (int64_t)task->resubmits);
    if (task->replaces != 0)
        ald_json_out_id(out, "replaces", task->replaces);
    if (task->replaced_by != 0)
        ald_json_out_id(out, "replaced_by", task->replaced_by);
    if (task->corrects[0] != '\0')
        ald_json_out_text(out, "corrects", task->corrects);
    ald_json_out_text(out, "position", task->position);
    view_callback_url(out, task, base);
}

void view_note(struct ald_json_out *out, const struct msg_note *note)
{
    ald_json_out_object(out, NULL);
    ald_json_out_int(out, "at_ms", note->at_ms);
    ald_json_out_text(out, "what", note->what);
    ald_json_out_text(out, "text", note->text);
    ald_json_out_close_object(out);
}

void view_attempt(struct ald_json_out *out, const struct msg_attempt *attempt)
{
    ald_json_out_object(out, NULL);
    ald_json_out_int(out, "attempt", (int64_t)attempt->attempt);
    ald_json_out_int(out, "revision", (int64_t)attempt->revision);
    ald_json_out_int(out, "at_ms", attempt->at_ms);
    ald_json_out_text(out, "by", attempt->by);
    ald_json_out_text(out, "outcome", attempt->outcome);
    ald_json_out_text(out, "detail", attempt->detail);
    ald_json_out_text(out, "replay", attempt->replay);
    ald_json_out_close_object(out);
}

void view_letter_line(struct ald_json_out *out, const struct msg_attempt *line)
{
    ald_json_out_object(out, NULL);
    ald_json_out_int(out, "at_ms", line->at_ms);
    ald_json_out_text(out, "what", line->what[0] != '\0' ? line->what : "attempt");
    ald_json_out_text(out, "by", line->by);
    ald_json_out_int(out, "revision", (int64_t)line->revision);
    if (line->attempt > 0)
        ald_json_out_int(out, "attempt", (int64_t)line->attempt);
    ald_json_out_text(out, "outcome", line->outcome);
    ald_json_out_text(out, "detail", line->detail);
    ald_json_out_text(out, "replay", line->replay);
    ald_json_out_close_object(out);
}

static void view_original(struct ald_json_out *out, struct ald_span original)
{
    struct msg_callback callback;
    struct msg_event event;
    if (original.len == 0)
        return;
    if (ald_wire_is(&MSG_EVENT, original) &&
        ald_wire_decode(&MSG_EVENT, &event, original) == ALD_OK) {
        ald_json_out_object(out, "event");
        ald_event_json(out, &event);
        ald_json_out_close_object(out);
        return;
    }
    if (ald_wire_decode(&MSG_CALLBACK, &callback, original) != ALD_OK) {
        ald_json_out_base64(out, "original_base64", original);
        return;
    }
    ald_json_out_object(out, "original");
    ald_json_out_text(out, "method", callback.method);
    ald_json_out_text(out, "path", callback.path);
    ald_event_value(out, "query", "query_base64", callback.query, false);
    ald_json_out_text(out, "content_type", callback.content_type);
    ald_event_value(out, "headers", "headers_base64", callback.headers, false);
    ald_event_value(out, "body", "body_base64", callback.body, false);
    ald_json_out_text(out, "peer", callback.peer);
    ald_json_out_text(out, "fault", callback.fault);
    ald_json_out_text(out, "detail", callback.detail);
    ald_json_out_int(out, "received_ms", callback.received_at_ms);
    ald_json_out_bool(out, "spooled", callback.spooled);
    ald_json_out_close_object(out);
}

void view_letter(struct ald_json_out *out, const struct msg_letter_view *letter)
{
    ald_json_out_text(out, "id", letter->letter);
    ald_json_out_text(out, "reason", letter->reason);
    ald_json_out_text(out, "cause", letter->cause);
    ald_json_out_text(out, "state", letter->state);
    ald_json_out_text(out, "outcome", letter->outcome);
    ald_json_out_text(out, "provider", letter->provider);
    ald_json_out_id(out, "task", letter->task);
    ald_json_out_text(out, "provider_id", letter->provider_id);
    ald_json_out_text(out, "proof", letter->proof);
    ald_json_out_time(out, "made_ms", letter->made_at_ms);
    ald_json_out_time(out, "due_ms", letter->due_at_ms);
    ald_json_out_time(out, "closed_ms", letter->closed_at_ms);
    ald_json_out_int(out, "attempts", (int64_t)letter->attempts);
    ald_json_out_int(out, "revision", (int64_t)letter->revision);
    ald_json_out_text(out, "consumer", letter->consumer);
    if (letter->shown > 0)
        ald_json_out_int(out, "shown", (int64_t)letter->shown);
    view_original(out, letter->original);
}

void view_consumer(struct ald_json_out *out, const struct msg_consumer *consumer)
{
    ald_json_out_text(out, "name", consumer->consumer);
    ald_json_out_text(out, "provider", consumer->provider);
    ald_json_out_text(out, "state", consumer->state);
    ald_json_out_text(out, "mode", consumer->mode);
    ald_json_out_text(out, "position", consumer->position);
    ald_json_out_text(out, "handed", consumer->handed);
    ald_json_out_int(out, "lag", (int64_t)consumer->lag);
    ald_json_out_int(out, "pending", (int64_t)consumer->pending);
    ald_json_out_int(out, "instances", (int64_t)consumer->instances);
    ald_json_out_int(out, "max_deliver", (int64_t)consumer->max_deliver);
    ald_json_out_int(out, "ack_wait_ms", consumer->ack_wait_ms);
    ald_json_out_int(out, "max_ack_pending", (int64_t)consumer->max_ack_pending);
    ald_json_out_int(out, "rejected", (int64_t)consumer->rejected);
    ald_json_out_time(out, "made_ms", consumer->made_at_ms);
    ald_json_out_time(out, "asked_ms", consumer->asked_at_ms);
    ald_json_out_time(out, "oldest_ms", consumer->oldest_at_ms);
    ald_json_out_bool(out, "sink", consumer->sink);
    if (consumer->sink)
        ald_json_out_text(out, "sink_state", consumer->sink_state);
}

void view_figure(struct view_figures *self, const struct msg_figure *figure)
{
    if (strcmp(self->group, figure->group) != 0) {
        view_figures_end(self);
        ald_text_cut(self->group, sizeof self->group, ald_span_str(figure->group));
        ald_json_out_object(self->out, self->group);
    }
    if (figure->text[0] != '\0')
        ald_json_out_text(self->out, figure->name, figure->text);
    else
        ald_json_out_int(self->out, figure->name, figure->value);
}

void view_figures_end(struct view_figures *self)
{
    if (self->group[0] != '\0')
        ald_json_out_close_object(self->out);
    self->group[0] = '\0';
}
