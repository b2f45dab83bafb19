#include "services/gateway/facade/facade_ask.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "common/base/codec.h"
#include "common/base/ident.h"
#include "common/base/json_out.h"
#include "common/base/text.h"

enum { ASK_TITLE_MAX = 128, ASK_TYPE_MAX = 79 };

enum ask_route { ASK_IN, ASK_RES, ASK_CREATE, ASK_RESULT, ASK_REPORT, ASK_PASS };

static const struct {
    const char *path;
    enum facade_protocol protocol;
    enum ask_route route;
} ASK_ROUTES[] = {
    {"/in.php", FACADE_PLAIN, ASK_IN},
    {"/res.php", FACADE_PLAIN, ASK_RES},
    {"/createTask", FACADE_TASKS, ASK_CREATE},
    {"/getTaskResult", FACADE_TASKS, ASK_RESULT},
    {"/getBalance", FACADE_TASKS, ASK_PASS},
    {"/reportCorrect", FACADE_TASKS, ASK_REPORT},
    {"/reportIncorrect", FACADE_TASKS, ASK_REPORT},
    {"/reportCorrectRecaptcha", FACADE_TASKS, ASK_REPORT},
    {"/reportIncorrectRecaptcha", FACADE_TASKS, ASK_REPORT},
    {"/reportIncorrectImageCaptcha", FACADE_TASKS, ASK_REPORT},
};

/* Fields that are for us, or would change the form of the provider's answer; by protocol. */
static const char *const ASK_OURS[FACADE_PROTOCOLS][6] = {
    {"key", "json", "pingback", "header_acao", "debug_dump", NULL},
    {"clientKey", "callbackUrl", NULL},
};

static int ask_route(const char *path)
{
    size_t len = strlen(path);
    while (len > 1 && path[len - 1] == '/')
        len--;
    for (size_t i = 0; i < ALD_COUNT(ASK_ROUTES); i++)
        if (strlen(ASK_ROUTES[i].path) == len && strncasecmp(ASK_ROUTES[i].path, path, len) == 0)
            return (int)i;
    return -1;
}

bool facade_path(const char *path, enum facade_protocol *out)
{
    int route = ask_route(path);
    if (route >= 0)
        *out = ASK_ROUTES[route].protocol;
    return route >= 0;
}

static bool ask_is(struct ald_span text, const char *word)
{
    return text.len == strlen(word) && strncasecmp((const char *)text.data, word, text.len) == 0;
}

static bool ask_yes(struct ald_span text)
{
    return ald_span_eq_str(text, "1") || ask_is(text, "true");
}

static void ask_wrong(struct facade_ask *out, const char *word)
{
    out->what = FACADE_WRONG;
    out->wrong = word;
}

/* ---- ids ---- */

static bool ask_digits(struct ald_span text)
{
    for (size_t i = 0; i < text.len; i++)
        if (!isdigit(text.data[i]))
            return false;
    return text.len > 0;
}

static void ask_id(struct facade_ask *out, struct ald_span text)
{
    uint64_t id = 0;
    if (ald_task_id_parse(text, &id) != ALD_OK)
        id = 0;
    out->ids[out->id_count++] = id;
}

/* One id. Digits that are none of ours name no task. */
static void ask_one(struct facade_ask *out, struct ald_span text, const char *missing)
{
    if (ask_digits(text))
        ask_id(out, text);
    else
        ask_wrong(out, text.len == 0 ? missing : "ERROR_WRONG_ID_FORMAT");
}

/* `1,2,3`; a comma at the end names nothing. */
static void ask_several(struct facade_ask *out, struct ald_span text)
{
    out->several = true;
    while (text.len > 0) {
        size_t end = ald_span_find(text, ',');
        struct ald_span one = ald_span_trim(ald_span_of(text.data, end));
        text = ald_span_skip(text, end < text.len ? end + 1 : end);
        if (one.len == 0)
            continue;
        if (!ask_digits(one) || out->id_count == FACADE_IDS_MAX) {
            ask_wrong(out, "ERROR_WRONG_ID_FORMAT");
            return;
        }
        ask_id(out, one);
    }
    if (out->id_count == 0)
        ask_wrong(out, "ERROR_WRONG_ID_FORMAT");
}

/* ---- in.php, res.php ---- */

static void ask_res(const struct facade_fields *fields, struct facade_ask *out)
{
    struct ald_span action = facade_fields_text(fields, "action");
    struct ald_span ids = facade_fields_text(fields, "ids");
    struct ald_span id = facade_fields_text(fields, "id");
    out->price = ask_is(action, "get2");
    if (ask_is(action, "get") || out->price) {
        out->what = FACADE_GET;
        if (ids.len > 0)
            ask_several(out, ids);
        else
            ask_one(out, id, "ERROR_WRONG_ID_FORMAT");
    } else if (ask_is(action, "reportgood") || ask_is(action, "reportbad")) {
        out->what = FACADE_REPORT;
        ald_text_cut(out->verb, sizeof out->verb,
                     ald_span_str(ask_is(action, "reportgood") ? "reportgood" : "reportbad"));
        ask_one(out, id, "ERROR_WRONG_ID_FORMAT");
    } else if (action.len > 0) {
        out->what = FACADE_PASS;
        if (ald_text_copy(out->verb, sizeof out->verb, action) != ALD_OK)
            ask_wrong(out, "ERROR_EMPTY_ACTION");
    } else {
        ask_wrong(out, "ERROR_EMPTY_ACTION");
    }
}

/* What has no picture, or asks for a list, would be submitted for nothing. */
static void ask_in(const struct facade_fields *fields, struct facade_ask *out)
{
    struct ald_span method = facade_fields_text(fields, "method");
    const struct facade_field *file = facade_fields_find(fields, "file");
    struct ald_span body = facade_fields_text(fields, "body");
    bool image = ask_is(method, "post") || ask_is(method, "base64");
    out->what = FACADE_SUBMIT;
    if (ask_is(method, "get_server_errors"))
        ask_wrong(out, "ERROR_BAD_PARAMETERS");
    if (image && body.len == 0 && (!file || file->text.len == 0))
        ask_wrong(out, "ERROR_ZERO_CAPTCHA_FILESIZE");
}

static void ask_plain(enum ask_route route, const struct facade_fields *fields,
                      struct facade_ask *out)
{
    out->json = ask_yes(facade_fields_text(fields, "json"));
    out->open_to_pages = ask_yes(facade_fields_text(fields, "header_acao"));
    out->key = facade_fields_text(fields, "key");
    if (out->key.len == 0)
        ask_wrong(out, "ERROR_WRONG_USER_KEY");
    else if (route == ASK_RES)
        ask_res(fields, out);
    else
        ask_in(fields, out);
}

/* ---- createTask, getTaskResult ---- */

static void ask_tasks(int index, const struct facade_fields *fields, struct facade_ask *out)
{
    enum ask_route route = ASK_ROUTES[index].route;
    const struct facade_field *task = facade_fields_find(fields, "task");
    out->json = true;
    out->key = facade_fields_text(fields, "clientKey");
    ald_text_cut(out->verb, sizeof out->verb, ald_span_str(ASK_ROUTES[index].path + 1));
    out->what = route == ASK_CREATE   ? FACADE_SUBMIT
                : route == ASK_RESULT ? FACADE_GET
                : route == ASK_REPORT ? FACADE_REPORT
                                      : FACADE_PASS;
    if (out->key.len == 0)
        ask_wrong(out, "ERROR_KEY_DOES_NOT_EXIST");
    else if (route == ASK_CREATE && (!task || task->json.kind != ALD_JSON_OBJECT))
        ask_wrong(out, "ERROR_TASK_ABSENT");
    else if (route == ASK_RESULT || route == ASK_REPORT)
        ask_one(out, facade_fields_text(fields, "taskId"), "ERROR_NO_SUCH_CAPCHA_ID");
}

void facade_ask_read(const char *path, const struct facade_fields *fields, bool read,
                     struct facade_ask *out)
{
    int index = ask_route(path);
    ALD_ASSERT(index >= 0);
    *out = (struct facade_ask){.protocol = ASK_ROUTES[index].protocol};
    if (out->protocol == FACADE_PLAIN)
        ask_plain(ASK_ROUTES[index].route, fields, out);
    else
        ask_tasks(index, fields, out);
    const char *where = out->protocol == FACADE_PLAIN ? "pingback" : "callbackUrl";
    struct ald_span url = facade_fields_text(fields, where);
    bool fits = ald_text_copy(out->pingback, sizeof out->pingback, url) == ALD_OK;
    if (out->what != FACADE_WRONG && (!read || !fits))
        ask_wrong(out, "ERROR_BAD_PARAMETERS");
}

/* ---- what is submitted ---- */

static bool ask_ours(enum facade_protocol protocol, struct ald_span name)
{
    for (const char *const *word = ASK_OURS[protocol]; *word; word++)
        if (ask_is(name, *word))
            return true;
    return false;
}

/* Names are bounded, so the key's copy can't be cut. */
static const char *ask_name(const struct facade_field *field, char out[FACADE_NAME_MAX + 1])
{
    ald_text_cut(out, FACADE_NAME_MAX + 1, field->name);
    return out;
}

/* Can this stand in the head of a part? What can't is left out: it is only a name. */
static bool ask_quotable(struct ald_span text, size_t max)
{
    for (size_t i = 0; i < text.len; i++)
        if (text.data[i] < 0x20 || text.data[i] == 0x7f || text.data[i] == '"')
            return false;
    return text.len > 0 && text.len <= max;
}

static void ask_file(struct ald_json_out *out, const struct facade_field *field)
{
    char name[FACADE_NAME_MAX + 1];
    ald_json_out_object(out, ask_name(field, name));
    ald_json_out_base64(out, "content", field->text);
    if (ask_quotable(field->title, ASK_TITLE_MAX))
        ald_json_out_span(out, "name", field->title);
    if (ask_quotable(field->type, ASK_TYPE_MAX))
        ald_json_out_span(out, "type", field->type);
    ald_json_out_close_object(out);
}

void facade_submission(const struct facade_ask *ask, const struct facade_fields *fields,
                       struct ald_buf *buf)
{
    struct ald_json_out out = ald_json_out_begin(buf);
    char name[FACADE_NAME_MAX + 1];
    bool files = false;
    ald_json_out_object(&out, NULL);
    ald_json_out_object(&out, "params");
    for (size_t i = 0; i < fields->count; i++) {
        const struct facade_field *field = &fields->list[i];
        files = files || field->file;
        if (field->file || ask_ours(ask->protocol, field->name))
            continue;
        if (field->json.kind != ALD_JSON_NONE)
            ald_json_out_raw(&out, ask_name(field, name), field->json.raw);
        else
            ald_json_out_span(&out, ask_name(field, name), field->text);
    }
    ald_json_out_close_object(&out);
    if (files)
        ald_json_out_object(&out, "files");
    for (size_t i = 0; i < fields->count && files; i++)
        if (fields->list[i].file)
            ask_file(&out, &fields->list[i]);
    if (files)
        ald_json_out_close_object(&out);
    ald_json_out_close_object(&out);
}

static bool ask_is_id(const struct facade_ask *ask, const struct facade_field *field)
{
    return ask_is(field->name, ask->protocol == FACADE_PLAIN ? "id" : "taskId");
}

/* An id goes back as the kind of value that it was: digits as a number. */
static void ask_put_id(const struct facade_ask *ask, const char *id, struct ald_json_out *out)
{
    if (ask->protocol == FACADE_TASKS && ask_digits(ald_span_str(id)) && id[0] != '0')
        ald_json_out_raw(out, "taskId", ald_span_str(id));
    else
        ald_json_out_text(out, ask->protocol == FACADE_PLAIN ? "id" : "taskId", id);
}

void facade_call_params(const struct facade_ask *ask, const struct facade_fields *fields,
                        const char *id, struct ald_buf *buf)
{
    struct ald_json_out out = ald_json_out_begin(buf);
    char name[FACADE_NAME_MAX + 1];
    ald_json_out_object(&out, NULL);
    for (size_t i = 0; i < fields->count; i++) {
        const struct facade_field *field = &fields->list[i];
        bool form = ask_is(field->name, "json"); /* the answer is passed on, so its form is, too */
        if (field->file || (!form && ask_ours(ask->protocol, field->name)) ||
            (id && ask_is_id(ask, field)))
            continue;
        if (field->json.kind != ALD_JSON_NONE)
            ald_json_out_raw(&out, ask_name(field, name), field->json.raw);
        else
            ald_json_out_span(&out, ask_name(field, name), field->text);
    }
    if (id)
        ask_put_id(ask, id, &out);
    ald_json_out_close_object(&out);
}
