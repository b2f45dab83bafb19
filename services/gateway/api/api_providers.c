/* Providers: how their accounts stand; pause and resume. */
#include <string.h>

#include "services/gateway/api/api_call.h"

static void providers_budget(struct ald_json_out *out, const struct msg_budget *budget)
{
    ald_json_out_object(out, NULL);
    ald_json_out_text(out, "name", budget->name);
    ald_json_out_int(out, "used", budget->used);
    ald_json_out_int(out, "limit", budget->limit);
    ald_json_out_int(out, "hinted", budget->hinted);
    ald_json_out_int(out, "hinted_limit", budget->hinted_limit);
    ald_json_out_int(out, "per_ms", budget->per_ms);
    ald_json_out_int(out, "min_gap_ms", budget->min_gap_ms);
    ald_json_out_close_object(out);
}

static void providers_keys(struct ald_json_out *out, const struct msg_provider_view *view)
{
    ald_json_out_object(out, "keys");
    ald_json_out_int(out, "count", (int64_t)view->keys);
    ald_json_out_time(out, "fetched_ms", view->keys_fetched_at_ms);
    ald_json_out_text(out, "error", view->keys_error);
    ald_json_out_close_object(out);
}

/* The object of a provider stays open for its budgets. */
static void providers_begin(struct api_call *call, struct ald_json_out *out,
                            const struct msg_provider_view *view)
{
    ald_json_out_object(out, NULL);
    ald_json_out_text(out, "name", view->provider);
    ald_json_out_bool(out, "paused", view->paused);
    ald_json_out_text(out, "breaker", view->breaker);
    ald_json_out_time(out, "open_until_ms", view->open_until_at_ms);
    ald_json_out_int(out, "troubles", (int64_t)view->troubles);
    ald_json_out_time(out, "blocked_until_ms", view->blocked_until_at_ms);
    ald_json_out_text(out, "blocked_why", view->blocked_why);
    ald_json_out_int(out, "open", (int64_t)view->open);
    ald_json_out_int(out, "queued", (int64_t)view->queued);
    ald_json_out_int(out, "polling", (int64_t)view->polling);
    ald_json_out_time(out, "oldest_due_ms", view->oldest_due_at_ms);
    ald_json_out_int(out, "late", (int64_t)view->late);
    if (api_never_polled(call, view->provider))
        ald_json_out_bool(out, "never_polled", true);
    ald_json_out_int(out, "stale_after_ms", view->stale_after_ms);
    ald_json_out_bool(out, "stale_auto", view->stale_auto);
    ald_json_out_int(out, "callbacks", (int64_t)view->callbacks);
    ald_json_out_int(out, "callback_p50_ms", view->callback_p50_ms);
    ald_json_out_int(out, "callback_p95_ms", view->callback_p95_ms);
    if (view->jwks)
        providers_keys(out, view);
    ald_json_out_array(out, "budgets");
}

static void providers_end(struct ald_json_out *out, bool begun)
{
    if (!begun)
        return;
    ald_json_out_close_array(out);
    ald_json_out_close_object(out);
}

static void providers_send(struct api_call *call, zmsg_t *answer)
{
    struct msg_provider_view view;
    struct msg_budget budget;
    struct ald_json_out out = api_json(call);
    bool begun = false;
    ald_json_out_object(&out, NULL);
    ald_json_out_array(&out, "providers");
    for (zframe_t *frame = zmsg_next(answer); frame; frame = zmsg_next(answer)) {
        if (api_read(frame, &MSG_PROVIDER_VIEW, &view)) {
            providers_end(&out, begun);
            providers_begin(call, &out, &view);
            begun = true;
        } else if (begun && api_read(frame, &MSG_BUDGET, &budget)) {
            providers_budget(&out, &budget);
        }
    }
    providers_end(&out, begun);
    ald_json_out_close_array(&out);
    ald_json_out_close_object(&out);
    api_send(call, 200);
}

void api_provider_list(struct api_call *call)
{
    struct msg_answer head;
    zmsg_t *answer = NULL;
    struct msg_providers ask = {0};
    const struct api_query_field fields[] = {
        {.name = "name", .kind = API_QUERY_TEXT, .out = ask.provider, .cap = sizeof ask.provider}};
    if (!api_query(call, fields, ALD_COUNT(fields)) ||
        !api_ask(call, ALD_CHANNEL_QUERY, &MSG_PROVIDERS, &ask, API_WAIT_MS, &head, &answer))
        return;
    providers_send(call, answer);
    zmsg_destroy(&answer);
}

static void providers_tell(struct api_call *call, const struct ald_schema *schema)
{
    struct msg_answer head;
    zmsg_t *answer = NULL;
    struct msg_provider_ref ask = {.by = "api"};
    const struct json_in_field fields[] = {{"by", JSON_IN_TEXT, ask.by, sizeof ask.by}};
    if (strlen(call->argument) >= sizeof ask.provider) {
        api_problem(call, 404, "A provider's name has at most 32 characters.");
        return;
    }
    memcpy(ask.provider, call->argument, strlen(call->argument) + 1);
    if (!api_members(call, fields, ALD_COUNT(fields)) ||
        !api_ask(call, ALD_CHANNEL_QUERY, schema, &ask, API_WAIT_MS, &head, &answer))
        return;
    providers_send(call, answer);
    zmsg_destroy(&answer);
}

void api_provider_pause(struct api_call *call)
{
    providers_tell(call, &MSG_PROVIDER_PAUSE);
}

void api_provider_resume(struct api_call *call)
{
    providers_tell(call, &MSG_PROVIDER_RESUME);
}
