/* The record of what people had this gateway do. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/config/extract.h"
#include "services/gateway/api/actions.h"
#include "services/gateway/api/api_call.h"

enum { ACTIONS_LIMIT = 100, ACTIONS_LIMIT_MAX = 1000 };

/* Nothing is done by a dry run, nor by what was refused. A 504 or 503 may have been done. */
static bool actions_is_one(const struct api_call *call, struct ald_json body)
{
    return ald_json_find(body, "/dry_run").kind != ALD_JSON_TRUE &&
           (call->status / 100 == 2 || call->status >= 500);
}

void api_action_note(struct api_call *call, const char *route)
{
    struct ald_json body = {0};
    struct ald_span asked = ald_buf_span(&call->worker->body);
    struct ald_buf by;
    char what[128];
    if (ald_json_scan(asked, &body, NULL) != ALD_OK)
        body = (struct ald_json){0};
    if (!actions_is_one(call, body))
        return;
    ald_buf_init(&by, ALD_WORD_MAX - 1);
    if (ald_json_text(ald_json_find(body, "/by"), &by) != ALD_OK || by.len == 0) {
        ald_buf_reset(&by);
        ald_buf_put_str(&by, "api");
    }
    if (strcmp(call->request->method, "PATCH") == 0)
        asked = ald_span_str(""); /* other people's messages: the letter keeps them */
    (void)snprintf(what, sizeof what, "%s %s", call->request->method, route);
    const struct action action = {.at_ms = ald_clock_now().wall_ms,
                                  .what = what,
                                  .of = call->argument,
                                  .by = ald_buf_span(&by),
                                  .asked = asked,
                                  .peer = call->request->peer,
                                  .status = call->status};
    if (actions_add(call->api->actions, &action) != ALD_OK)
        ald_log(ALD_WARN, "action.unwritten", "what=%s of=%s by=%s error=%s", ALD_Q(what),
                ALD_Q(call->argument), ALD_Q_SPAN(ald_buf_span(&by)), ALD_Q(strerror(errno)));
    ald_buf_free(&by);
}

void api_action_list(struct api_call *call)
{
    uint64_t limit = ACTIONS_LIMIT;
    char cursor[ALD_ULID_MAX] = "";
    const struct api_query_field fields[] = {
        {.name = "limit", .kind = API_QUERY_NUMBER, .out = &limit, .max = ACTIONS_LIMIT_MAX},
        {.name = "cursor", .kind = API_QUERY_TEXT, .out = cursor, .cap = sizeof cursor},
    };
    if (!api_query(call, fields, ALD_COUNT(fields)))
        return;
    struct ald_json_out out = api_json(call);
    ald_json_out_object(&out, NULL);
    if (actions_put(call->api->actions, &out, limit, cursor) != ALD_OK)
        ald_json_out_text(&out, "note", "Some of the record can't be read.");
    ald_json_out_close_object(&out);
    api_send(call, 200);
}
