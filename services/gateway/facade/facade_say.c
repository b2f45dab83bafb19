#include "services/gateway/facade/facade_say.h"

#include <string.h>

#include "common/base/json_out.h"
#include "common/config/facade_word.h"

static const char SAY_NOT_READY[] = "CAPCHA_NOT_READY";

/* ---- states ---- */

struct facade_state facade_state_of(enum facade_protocol protocol, const struct msg_task_view *view)
{
    enum ald_facade_protocol words = protocol == FACADE_PLAIN ? ALD_FACADE_PLAIN : ALD_FACADE_TASKS;
    enum ald_state state = ALD_STATE_PENDING;
    if (!view)
        return (struct facade_state){.code = ald_facade_word(words, ALD_STATE_LOST, "")};
    struct facade_state out = {.created_ms = view->created_at_ms, .ended_ms = view->ended_at_ms};
    (void)!ald_state_find(view->state, &state);
    if (state == ALD_STATE_DONE) {
        out.done = true;
        out.result = view->result;
        out.result_json = view->result_json;
    } else {
        out.code =
            ald_state_ended(state) ? ald_facade_word(words, state, view->code) : SAY_NOT_READY;
    }
    return out;
}

struct facade_state facade_state_unknown(void)
{
    return (struct facade_state){.code = SAY_NOT_READY};
}

/* ---- in.php, res.php ---- */

/* {"status":1,"request":...} */
static void say_envelope(struct ald_buf *buf, bool good, bool raw, struct ald_span value,
                         bool price)
{
    struct ald_json_out out = ald_json_out_begin(buf);
    ald_json_out_object(&out, NULL);
    ald_json_out_int(&out, "status", good ? 1 : 0);
    if (raw)
        ald_json_out_raw(&out, "request", value);
    else
        ald_json_out_span(&out, "request", value);
    if (price)
        ald_json_out_text(&out, "price", "0");
    ald_json_out_close_object(&out);
}

static struct ald_span say_value(const struct facade_state *state)
{
    return state->done ? state->result : ald_span_str(state->code);
}

/* Answers to several: words between pipes. */
static void say_joined(const struct facade_ask *ask, const struct facade_state *states,
                       size_t count, struct ald_buf *out)
{
    struct ald_buf words;
    ald_buf_init(&words, out->max);
    for (size_t i = 0; i < count; i++) {
        ald_buf_put_str(&words, i > 0 ? "|" : "");
        ald_buf_put_span(&words, say_value(&states[i]));
    }
    if (ask->json)
        say_envelope(out, true, false, ald_buf_span(&words), false);
    else
        ald_buf_put_span(out, ald_buf_span(&words));
    out->failed = out->failed || words.failed;
    ald_buf_free(&words);
}

static void say_plain(const struct facade_ask *ask, const struct facade_state *state,
                      struct ald_buf *out)
{
    if (ask->json) {
        say_envelope(out, state->done, state->done && state->result_json, say_value(state),
                     state->done && ask->price);
        return;
    }
    ald_buf_put_str(out, state->done ? "OK|" : "");
    ald_buf_put_span(out, say_value(state));
    ald_buf_put_str(out, state->done && ask->price ? "|0" : "");
}

/* ---- createTask, getTaskResult ---- */

static void say_error(const char *code, struct ald_buf *buf)
{
    struct ald_json_out out = ald_json_out_begin(buf);
    ald_json_out_object(&out, NULL);
    ald_json_out_int(&out, "errorId", ald_facade_error(code));
    ald_json_out_text(&out, "errorCode", code);
    ald_json_out_text(&out, "errorDescription", code);
    ald_json_out_close_object(&out);
}

/* A text as the solution has no name in this protocol; `text` is that of a picture's words. */
static void say_solution(struct ald_json_out *out, const struct facade_state *state)
{
    if (state->result_json) {
        ald_json_out_raw(out, "solution", state->result);
        return;
    }
    ald_json_out_object(out, "solution");
    ald_json_out_span(out, "text", state->result);
    ald_json_out_close_object(out);
}

static void say_task(const struct facade_state *state, struct ald_buf *buf)
{
    struct ald_json_out out = ald_json_out_begin(buf);
    if (!state->done && state->code != SAY_NOT_READY) {
        say_error(state->code, buf);
        return;
    }
    ald_json_out_object(&out, NULL);
    ald_json_out_int(&out, "errorId", 0);
    ald_json_out_text(&out, "status", state->done ? "ready" : "processing");
    if (state->done) {
        say_solution(&out, state);
        ald_json_out_text(&out, "cost", "0");
        ald_json_out_int(&out, "createTime", state->created_ms / 1000);
        ald_json_out_int(&out, "endTime", state->ended_ms / 1000);
        ald_json_out_int(&out, "solveCount", 1);
    }
    ald_json_out_close_object(&out);
}

/* ---- all ---- */

void facade_say_taken(const struct facade_ask *ask, uint64_t id, struct ald_buf *buf)
{
    struct ald_json_out out = ald_json_out_begin(buf);
    if (ask->protocol == FACADE_TASKS) {
        ald_json_out_object(&out, NULL);
        ald_json_out_int(&out, "errorId", 0);
        ald_json_out_int(&out, "taskId", (int64_t)id);
        ald_json_out_close_object(&out);
    } else if (ask->json) {
        ald_json_out_object(&out, NULL);
        ald_json_out_int(&out, "status", 1);
        ald_json_out_id(&out, "request", id);
        ald_json_out_close_object(&out);
    } else {
        ald_buf_printf(buf, "OK|%llu", (unsigned long long)id);
    }
}

void facade_say_states(const struct facade_ask *ask, const struct facade_state *states,
                       size_t count, struct ald_buf *out)
{
    ALD_ASSERT(count > 0);
    if (ask->protocol == FACADE_TASKS)
        say_task(&states[0], out);
    else if (ask->several)
        say_joined(ask, states, count, out);
    else
        say_plain(ask, &states[0], out);
}

void facade_say_wrong(const struct facade_ask *ask, const char *word, struct ald_buf *out)
{
    if (ask->protocol == FACADE_TASKS)
        say_error(word, out);
    else if (ask->json)
        say_envelope(out, false, false, ald_span_str(word), false);
    else
        ald_buf_put_str(out, word);
}

const char *facade_say_headers(const struct facade_ask *ask)
{
    static const char *const lines[2][2] = {
        {"Content-Type: text/plain; charset=utf-8\r\nCache-Control: no-store\r\n",
         "Content-Type: text/plain; charset=utf-8\r\nCache-Control: no-store\r\n"
         "Access-Control-Allow-Origin: *\r\n"},
        {"Content-Type: application/json; charset=utf-8\r\nCache-Control: no-store\r\n",
         "Content-Type: application/json; charset=utf-8\r\nCache-Control: no-store\r\n"
         "Access-Control-Allow-Origin: *\r\n"}};
    return lines[ask->json][ask->open_to_pages];
}
