#include <string.h>

#include "common/base/text.h"
#include "common/config/extract.h"
#include "common/config/family.h"
#include "common/config/form.h"

/* A message under judgement. */
struct inphp {
    const struct ald_profile *profile;
    const struct ald_facts *facts;
    struct ald_buf *scratch;
    struct ald_verdict *out;
    struct ald_span text; /* the body without byte order mark and outer white space */
    struct ald_json json; /* the body's first value; NONE when it does not begin with one */
    bool success;         /* HTTP 2xx */
};

static void inphp_say(struct inphp *self, enum ald_then then, const char *rule)
{
    self->out->then = then;
    ald_text_cut(self->out->rule, sizeof self->out->rule, ald_span_str(rule));
}

static bool inphp_begins(struct ald_span text, const char *prefix)
{
    size_t len = strlen(prefix);
    return text.len >= len && memcmp(text.data, prefix, len) == 0;
}

static bool inphp_begins_any(struct ald_span text, const char *const *prefixes)
{
    for (; *prefixes != NULL; prefixes++)
        if (inphp_begins(text, *prefixes))
            return true;
    return false;
}

static struct ald_span inphp_after(struct ald_span text, const char *prefix)
{
    size_t len = strlen(prefix);
    return ald_span_of(text.data + len, text.len - len);
}

static struct ald_json inphp_at(const struct inphp *self, const char *pointer)
{
    return ald_json_find(self->json, pointer);
}

static bool inphp_is(const struct inphp *self, const char *pointer, const char *text)
{
    return ald_json_is(inphp_at(self, pointer), text);
}

static bool inphp_present(struct ald_json value)
{
    return value.kind != ALD_JSON_NONE && value.kind != ALD_JSON_NULL;
}

static bool inphp_captchaai(const struct inphp *self)
{
    return strcmp(self->profile->dialect, "captchaai") == 0;
}

/* Ids are kept to the letter, so they must be letters: they go into logs, URLs and JSON. */
static void inphp_take_id(struct inphp *self, struct ald_span id)
{
    bool good = id.len < sizeof self->out->id && ald_text_utf8_ok(id);
    for (size_t i = 0; i < id.len && good; i++)
        good = id.data[i] >= 0x20 && id.data[i] != 0x7f;
    if (good && ald_text_copy(self->out->id, sizeof self->out->id, id) == ALD_OK)
        return;
    self->out->id[0] = '\0';
    inphp_say(self, ALD_THEN_UNKNOWN, "bad-id");
}

static void inphp_take_code(struct inphp *self, struct ald_span code, const char *rule)
{
    inphp_say(self, ALD_THEN_CODE, rule);
    ald_text_cut(self->out->code, sizeof self->out->code, code);
    ald_inphp_code(self->profile->dialect, code, self->out);
}

/* A value as text in scratch. False: it has none, and the verdict is UNKNOWN. */
static bool inphp_text(struct inphp *self, struct ald_json value)
{
    ald_buf_reset(self->scratch);
    if (ald_json_text(value, self->scratch) == ALD_OK && ald_buf_ok(self->scratch))
        return true;
    inphp_say(self, ALD_THEN_UNKNOWN, "no-text");
    return false;
}

static void inphp_take_json_code(struct inphp *self, struct ald_json value, const char *rule)
{
    if (inphp_text(self, value))
        inphp_take_code(self, ald_buf_span(self->scratch), rule);
}

static void inphp_take_cost(struct inphp *self, struct ald_json value)
{
    struct ald_buf cost;
    ald_buf_init(&cost, sizeof self->out->cost - 1);
    if (ald_json_text(value, &cost) == ALD_OK && ald_buf_ok(&cost))
        (void)!ald_text_copy(self->out->cost, sizeof self->out->cost, ald_buf_span(&cost));
    ald_buf_free(&cost);
}

static void inphp_done(struct inphp *self, struct ald_span result, bool json, const char *rule)
{
    if (result.len == 0) {
        inphp_say(self, ALD_THEN_UNKNOWN, "empty-result");
        return;
    }
    inphp_say(self, ALD_THEN_DONE, rule);
    self->out->result = result;
    self->out->result_json = json;
}

/* Done with a JSON value: text where it is one, else its own bytes. */
static void inphp_done_json(struct inphp *self, struct ald_json value, const char *rule)
{
    ald_buf_reset(self->scratch);
    enum ald_rc rc = ald_json_text(value, self->scratch);
    if (rc == ALD_OK && !ald_buf_ok(self->scratch))
        inphp_say(self, ALD_THEN_UNKNOWN, "too-long");
    else if (rc == ALD_OK)
        inphp_done(self, ald_buf_span(self->scratch), false, rule);
    else
        inphp_done(self, value.raw, true, rule);
}

/* No rule fitted: the status alone may still say something. */
static void inphp_fall_through(struct inphp *self)
{
    if (self->facts->http == 429)
        inphp_take_code(self, ald_span_str("HTTP_429"), "http-status");
    else
        inphp_say(self, ALD_THEN_UNKNOWN, self->text.len == 0 ? "empty" : "no-rule");
}

static void inphp_submit(struct inphp *self)
{
    static const char *const codes[] = {
        "ERROR_", "ERROR:", "MAX_USER_TURN", "IP_BANNED", "TOO_MANY_BAD_IMAGES", NULL};
    struct ald_json request = inphp_at(self, "/request");
    bool scalar = request.kind == ALD_JSON_STRING || request.kind == ALD_JSON_NUMBER;
    if (self->success && scalar && inphp_is(self, "/status", "1")) {
        if (!inphp_text(self, request))
            return;
        inphp_say(self, ALD_THEN_ACCEPTED, "json-accepted");
        inphp_take_id(self, ald_buf_span(self->scratch));
    } else if (inphp_begins(self->text, "OK|")) {
        inphp_say(self, ALD_THEN_ACCEPTED, "text-accepted");
        inphp_take_id(self, inphp_after(self->text, "OK|"));
    } else if (inphp_is(self, "/status", "0"))
        inphp_take_json_code(self, request, "json-code");
    else if (inphp_begins_any(self->text, codes))
        inphp_take_code(self, self->text, "text-code");
    else
        inphp_fall_through(self);
    if (self->out->then == ALD_THEN_ACCEPTED && self->out->id[0] == '\0')
        inphp_say(self, ALD_THEN_UNKNOWN, "no-id");
}

/* Answers in JSON that are an end or a "not yet"; false: none of them. */
static bool inphp_poll_json(struct inphp *self)
{
    struct ald_json request = inphp_at(self, "/request");
    struct ald_json result = inphp_at(self, "/result");
    bool good = self->success && inphp_is(self, "/status", "1");
    bool second = inphp_is(self, "/errorId", "0"); /* the answers of the JSON protocol */
    if (inphp_captchaai(self) && good && inphp_present(result)) {
        inphp_done_json(self, result, "json-result");
    } else if (inphp_captchaai(self) && self->success &&
               inphp_present(inphp_at(self, "/validate")) &&
               inphp_present(inphp_at(self, "/seccode"))) {
        inphp_done(self, self->json.raw, true, "json-geetest");
    } else if (good && inphp_present(request)) {
        inphp_take_cost(self, inphp_at(self, "/price"));
        inphp_done_json(self, request, "json-done");
    } else if (self->success && second && inphp_is(self, "/status", "ready") &&
               inphp_present(inphp_at(self, "/solution"))) {
        inphp_take_cost(self, inphp_at(self, "/cost"));
        inphp_done_json(self, inphp_at(self, "/solution"), "json-ready");
    } else if (second && inphp_is(self, "/status", "processing")) {
        inphp_say(self, ALD_THEN_PENDING, "json-processing");
    } else if (self->success && inphp_present(inphp_at(self, "/challengekey"))) {
        inphp_done(self, self->json.raw, true, "json-bare");
    } else {
        return false;
    }
    return true;
}

static void inphp_poll(struct inphp *self)
{
    static const char *const codes[] = {"CAPCHA_NOT_READY", "CAPTCHA_NOT_READY", "ERROR_", "ERROR:",
                                        "MAX_USER_TURN",    "IP_BANNED",         NULL};
    if (inphp_poll_json(self))
        return;
    if (inphp_is(self, "/status", "0"))
        inphp_take_json_code(self, inphp_at(self, "/request"), "json-code");
    else if (inphp_at(self, "/errorCode").kind == ALD_JSON_STRING)
        inphp_take_json_code(self, inphp_at(self, "/errorCode"), "json-error-code");
    else if (self->success && inphp_begins(self->text, "OK|"))
        inphp_done(self, inphp_after(self->text, "OK|"), false, "text-done");
    else if (inphp_begins_any(self->text, codes))
        inphp_take_code(self, self->text, "text-code");
    else
        inphp_fall_through(self);
}

/* One field of a callback, not decoded yet. */
struct inphp_field {
    bool found;
    struct ald_json json; /* of a JSON body, else NONE */
    struct ald_span raw;
};

static struct inphp_field inphp_field_of(struct inphp *self, bool body, const char *name)
{
    struct inphp_field field = {0};
    if (body && self->json.kind == ALD_JSON_OBJECT) {
        char pointer[32] = "/";
        memcpy(pointer + 1, name, strlen(name) + 1);
        field.json = inphp_at(self, pointer);
        field.found = inphp_present(field.json) && !ald_json_is(field.json, "");
        return field;
    }
    struct ald_span form = body ? self->text : self->facts->query;
    field.found = ald_form_find(form, name, &field.raw) == ALD_OK && field.raw.len > 0;
    return field;
}

/* The body's field counts before the query's. */
static struct inphp_field inphp_field_find(struct inphp *self, const char *name)
{
    struct inphp_field field = inphp_field_of(self, true, name);
    return field.found ? field : inphp_field_of(self, false, name);
}

/* Decode a field into scratch. */
static bool inphp_field_text(struct inphp *self, const struct inphp_field *field)
{
    ald_buf_reset(self->scratch);
    enum ald_rc rc =
        field->json.kind != ALD_JSON_NONE
            ? ald_json_text(field->json, self->scratch)
            : ald_form_decode(field->raw, (enum ald_plus)self->profile->plus, self->scratch);
    return rc == ALD_OK && ald_buf_ok(self->scratch);
}

/* What only our own connection may say of an account is, in a callback, no more than a hint: a
 * stranger could stop everything with it. */
static void inphp_callback_code(struct inphp *self, struct ald_span code)
{
    struct ald_verdict *out = self->out;
    inphp_take_code(self, code, "callback-code");
    if (out->cls != ALD_CLASS_TRANSIENT && out->cls != ALD_CLASS_CONFIG &&
        out->scope == ALD_SCOPE_TASK)
        return;
    out->cls = ALD_CLASS_NONE;
    out->scope = ALD_SCOPE_TASK;
    out->block = false;
    out->wait_ms = 0;
    inphp_say(self, ALD_THEN_HINT, "callback-account-code");
}

static void inphp_callback_answer(struct inphp *self, const struct inphp_field *code)
{
    static const char *const codes[] = {"ERROR_",    "ERROR: ",          "MAX_USER_TURN",
                                        "IP_BANNED", "CAPCHA_NOT_READY", "CAPTCHA_NOT_READY",
                                        NULL};
    bool composed = code->json.kind == ALD_JSON_OBJECT || code->json.kind == ALD_JSON_ARRAY;
    if (composed) {
        inphp_done(self, code->json.raw, true, "callback-json");
        return;
    }
    if (code->json.kind == ALD_JSON_TRUE || code->json.kind == ALD_JSON_FALSE) {
        inphp_say(self, ALD_THEN_HINT, "callback-no-code");
        return;
    }
    if (!inphp_field_text(self, code)) {
        inphp_say(self, ALD_THEN_UNKNOWN, "malformed");
        return;
    }
    struct ald_span text = ald_buf_span(self->scratch);
    if (inphp_begins_any(text, codes))
        inphp_callback_code(self, text);
    else
        inphp_done(self, text, false, "callback-code");
}

/* Take the id that a callback names, if it names one. False: what there is can't be read. */
static bool inphp_callback_id(struct inphp *self)
{
    bool brace = self->text.len > 0 && (self->text.data[0] == '{' || self->text.data[0] == '[');
    if (brace && self->json.kind == ALD_JSON_NONE) {
        inphp_say(self, ALD_THEN_UNKNOWN, "malformed");
        return false;
    }
    struct inphp_field id = inphp_field_find(self, "id");
    if (!id.found)
        id = inphp_field_find(self, "captcha_id");
    if (!id.found)
        return true;
    if (!inphp_field_text(self, &id)) {
        inphp_say(self, ALD_THEN_UNKNOWN, "bad-id");
        return false;
    }
    inphp_say(self, ALD_THEN_HINT, "callback-no-code");
    inphp_take_id(self, ald_buf_span(self->scratch));
    return self->out->then != ALD_THEN_UNKNOWN;
}

static void inphp_callback(struct inphp *self)
{
    if (!inphp_callback_id(self))
        return;
    struct inphp_field code = inphp_field_find(self, "code");
    if (code.found)
        inphp_callback_answer(self, &code);
    else if (self->out->id[0] == '\0' && self->text.len > 0)
        inphp_say(self, ALD_THEN_UNKNOWN, "no-field"); /* may hold an answer in unknown words */
    else
        inphp_say(self, ALD_THEN_HINT, "callback-no-code");
}

static void inphp_begin(struct inphp *self, const struct ald_profile *profile,
                        const struct ald_facts *facts, struct ald_buf *scratch)
{
    *self = (struct inphp){.profile = profile, .facts = facts, .scratch = scratch};
    self->success = facts->http == 0 || (facts->http >= 200 && facts->http < 300);
    self->text = ald_message_trim(facts->body);
    if (ald_json_scan(self->text, &self->json, NULL) != ALD_OK)
        self->json.kind = ALD_JSON_NONE;
}

bool ald_inphp_names_task(const struct ald_profile *profile, const struct ald_facts *facts,
                          struct ald_buf *scratch)
{
    struct inphp self;
    struct ald_verdict verdict; /* some KiB, of which only this is looked at */
    verdict.id[0] = '\0';
    inphp_begin(&self, profile, facts, scratch);
    self.out = &verdict;
    return inphp_callback_id(&self) && verdict.id[0] != '\0';
}

void ald_inphp_judge(const struct ald_profile *profile, enum ald_stage stage,
                     const struct ald_facts *facts, struct ald_buf *scratch,
                     struct ald_verdict *out)
{
    struct inphp self;
    inphp_begin(&self, profile, facts, scratch);
    self.out = out;
    switch (stage) {
    case ALD_STAGE_SUBMIT:
        inphp_submit(&self);
        return;
    case ALD_STAGE_POLL:
        inphp_poll(&self);
        return;
    case ALD_STAGE_CALLBACK:
        inphp_callback(&self);
        return;
    case ALD_STAGE_FETCH:
        return; /* the family has none */
    }
}
