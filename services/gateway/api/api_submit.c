#include "services/gateway/api/api_submit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"
#include "common/config/profile_request.h"

enum { SUBMIT_WITHDRAW_MS = 2000 };

void api_submit_init(struct api_submit *self)
{
    ald_buf_init(&self->rest, API_BODY_MAX);
    ald_buf_init(&self->submission, ALD_SUBMISSION_MAX);
}

void api_submit_free(struct api_submit *self)
{
    ald_buf_free(&self->rest);
    if (self->submission.data)
        explicit_bzero(self->submission.data, self->submission.cap);
    ald_buf_free(&self->submission);
}

static int submit_order(const void *left, const void *right)
{
    const struct ald_span *a = left;
    const struct ald_span *b = right;
    size_t len = a->len < b->len ? a->len : b->len;
    int order = len > 0 ? memcmp(a->data, b->data, len) : 0;
    return order != 0 ? order : (a->len > b->len) - (a->len < b->len);
}

static size_t submit_count(struct ald_json object)
{
    struct ald_json_walk walk = ald_json_walk_begin(object);
    struct ald_json value;
    struct ald_span key;
    size_t count = 0;
    while (ald_json_walk_next(&walk, &key, &value))
        count++;
    return count;
}

/* The names of an object's members, decoded into text; one that no text can be stays as it is. */
static void submit_names(struct ald_json object, struct ald_buf *text, struct ald_span *names)
{
    struct ald_json_walk walk = ald_json_walk_begin(object);
    struct ald_json value;
    struct ald_span key;
    size_t count = 0;
    ald_buf_put_byte(text, ' '); /* so that there is a buffer */
    for (; ald_json_walk_next(&walk, &key, &value); count++) {
        const struct ald_json name = {.kind = ALD_JSON_STRING, .raw = key};
        size_t begun = text->len;
        if (ald_json_text(name, text) != ALD_OK) {
            text->len = begun;
            ald_buf_put_span(text, key);
        }
        names[count].len = text->len - begun;
    }
    const uint8_t *at = text->data + 1;
    for (size_t i = 0; i < count; at += names[i].len, i++)
        names[i].data = at;
}

/* Who says a thing twice means one of the two, and we don't know which. Sorted, as an object may
 * have very many members. False: a problem was answered. */
static bool submit_once(struct api_call *call, const char *where, struct ald_json object)
{
    size_t count = object.kind == ALD_JSON_OBJECT ? submit_count(object) : 0;
    if (count < 2)
        return true;
    struct ald_buf text;
    struct ald_span *names = calloc(count, sizeof *names);
    ALD_ASSERT(names);
    ald_buf_init(&text, API_BODY_MAX);
    submit_names(object, &text, names);
    qsort(names, count, sizeof *names, submit_order);
    size_t at = 1;
    while (at < count && submit_order(&names[at - 1], &names[at]) != 0)
        at++;
    if (at < count) {
        char name[64];
        char detail[128];
        ald_text_cut(name, sizeof name, names[at]);
        (void)snprintf(detail, sizeof detail, "The member %s stands in %s twice.", name, where);
        api_problem(call, 400, detail);
    }
    explicit_bzero(text.data, text.cap);
    ald_buf_free(&text);
    free(names);
    return at == count;
}

static void submit_member(struct ald_buf *out, char before, struct ald_span key,
                          struct ald_span raw)
{
    ald_buf_put_byte(out, (uint8_t)before);
    ald_buf_put_span(out, key);
    ald_buf_put_byte(out, ':');
    ald_buf_put_span(out, raw);
}

/* Members of the two go there, all others to rest. */
static bool submit_split(struct api_call *call, struct ald_json whole, struct api_submit *out)
{
    struct ald_json_walk walk = ald_json_walk_begin(whole);
    struct ald_json value;
    struct ald_span key;
    bool params = false;
    bool files = false;
    char before = '{';
    while (ald_json_walk_next(&walk, &key, &value)) {
        const struct ald_json name = {.kind = ALD_JSON_STRING, .raw = key};
        bool *seen = ald_json_is(name, "params")  ? &params
                     : ald_json_is(name, "files") ? &files
                                                  : NULL;
        if (seen && *seen) {
            api_problem(call, 400, "A member stands in the body twice.");
            return false;
        }
        if (seen)
            submit_member(&out->submission, params || files ? ',' : '{', key, value.raw);
        else
            submit_member(&out->rest, before, key, value.raw);
        if (seen)
            *seen = true;
        else
            before = ',';
    }
    ald_buf_put_str(&out->rest, before == '{' ? "{}" : "}");
    ald_buf_put_str(&out->submission, params || files ? "}" : "");
    return true;
}

bool api_submit_read(struct api_call *call, struct api_submit *out)
{
    struct ald_json whole;
    struct ald_span tail;
    struct ald_given given;
    const char *why = NULL;
    struct ald_span body = ald_buf_span(&call->worker->body);
    bool object = ald_json_scan(body, &whole, &tail) == ALD_OK && tail.len == 0 &&
                  whole.kind == ALD_JSON_OBJECT;
    if (!object) { /* whoever reads the rest says what is wrong */
        ald_buf_put_span(&out->rest, body);
        return true;
    }
    if (!submit_split(call, whole, out))
        return false;
    if (!ald_buf_ok(&out->submission)) {
        api_problem(call, 413, "params and files are larger than 960 KiB together.");
        return false;
    }
    if (out->submission.len == 0)
        return true;
    if (ald_given_read(ald_buf_span(&out->submission), &given, &why) == ALD_OK)
        return submit_once(call, "params", given.params) && submit_once(call, "files", given.files);
    api_problem(call, 400, why);
    return false;
}

const char *api_submit_withdraw(struct api_call *call, const char *ticket)
{
    struct msg_withdraw ask = {0};
    struct msg_answer head;
    zmsg_t *answer = NULL;
    memcpy(ask.ticket, ticket, sizeof ask.ticket);
    bool asked = caller_ask(call->api->caller, ALD_CHANNEL_QUERY, &MSG_WITHDRAW, &ask,
                            SUBMIT_WITHDRAW_MS, &answer) == ALD_OK &&
                 api_read(zmsg_first(answer), &MSG_ANSWER, &head);
    zmsg_destroy(&answer);
    if (asked && strcmp(head.rc, "ok") == 0)
        return "The tracker did not answer in time; the task is withdrawn and was not submitted.";
    if (asked && strcmp(head.rc, "notfound") == 0)
        return "The tracker did not answer in time; it has no such task now, but the question may "
               "still be on its way.";
    return "The tracker was asked and has not answered: the task may have been submitted. With an "
           "Idempotency-Key it is safe to ask again.";
}
