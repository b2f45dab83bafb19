#include "common/config/ruled.h"
#include "common/config/request_submit.h"

#include <stdio.h>
#include <string.h>

#include "common/base/text.h"

static const char *const RULED_STAGE_NAMES[] = {"submit", "poll", "callback", "fetch"};

/* A message under judgement. */
struct ruled {
    const struct ald_ruled *rules;
    enum ald_stage stage;
    const struct ald_facts *facts;
    struct ald_buf *scratch;
    struct ald_verdict *out;
    struct ald_said said;
};

static void ruled_say(struct ruled *self, enum ald_then then, const char *rule)
{
    self->out->then = then;
    (void)snprintf(self->out->rule, sizeof self->out->rule, "%s", rule);
}

/* A value as text, in scratch. False: there is none. */
static bool ruled_text(struct ruled *self, const struct ald_value *value, struct ald_found *found)
{
    *found = ald_value_find(&self->said, value);
    ald_buf_reset(self->scratch);
    return ald_found_text(&self->said, found, self->scratch);
}

/* A text for people: cut to fit, and of what is no text the bytes. */
static void ruled_take_cut(struct ruled *self, const struct ald_value *value, char *out, size_t cap)
{
    struct ald_found found;
    if (ruled_text(self, value, &found))
        ald_text_cut(out, cap, ald_buf_span(self->scratch));
    else if (found.there && found.json.kind != ALD_JSON_NONE)
        ald_text_cut(out, cap, found.json.raw);
}

/* A text that counts only when it is whole. */
static void ruled_take_whole(struct ruled *self, const struct ald_value *value, char *out,
                             size_t cap)
{
    struct ald_found found;
    if (!ruled_text(self, value, &found) ||
        ald_text_copy(out, cap, ald_buf_span(self->scratch)) != ALD_OK)
        out[0] = '\0';
}

static void ruled_take_url(struct ruled *self, const struct ald_value *value, char *out, size_t cap)
{
    ruled_take_whole(self, value, out, cap);
    if (!ald_url_ok(out))
        out[0] = '\0';
}

/* The last part of an address's path. */
static struct ald_span ruled_segment(struct ald_span url)
{
    size_t len = 0;
    while (len < url.len && url.data[len] != '?' && url.data[len] != '#')
        len++;
    while (len > 0 && url.data[len - 1] == '/')
        len--;
    size_t begin = len;
    while (begin > 0 && url.data[begin - 1] != '/')
        begin--;
    return ald_span_of(url.data + begin, len - begin);
}

static bool ruled_id_ok(const struct ald_id_form *form, struct ald_span id)
{
    bool good = id.len > 0 && id.len <= form->max_len && ald_text_utf8_ok(id);
    for (size_t i = 0; i < id.len && good; i++)
        good = id.data[i] >= 0x20 && id.data[i] != 0x7f;
    return good && (form->pattern == NULL || ald_regex_matches(form->pattern, id));
}

/* Ids are kept to the letter, so they must be letters: they go into logs, addresses and JSON. One
 * that is not as the profile says makes the message one that nobody can read. */
static void ruled_take_id(struct ruled *self, const struct ald_value *value)
{
    const struct ald_id_form *form = &self->rules->id;
    struct ald_verdict *out = self->out;
    struct ald_found found = ald_value_find(&self->said, value);
    if (!found.there)
        return;
    enum ald_json_kind kind = found.json.kind;
    bool good = kind == ALD_JSON_NONE || kind == ALD_JSON_STRING ||
                (kind == ALD_JSON_NUMBER && form->number_ok);
    ald_buf_reset(self->scratch);
    good = good && ald_found_text(&self->said, &found, self->scratch);
    struct ald_span id = ald_buf_span(self->scratch);
    if (good && form->last_segment && !(form->keep_url && id.len <= form->max_len))
        id = ruled_segment(id);
    good = good && ruled_id_ok(form, id) && ald_text_copy(out->id, sizeof out->id, id) == ALD_OK;
    if (good)
        return;
    out->id[0] = '\0';
    if (out->then != ALD_THEN_IGNORE)
        ruled_say(self, ALD_THEN_UNKNOWN, "bad-id");
}

static void ruled_take_row(struct ruled *self, const struct ald_code *row, enum ald_class cls)
{
    struct ald_verdict *out = self->out;
    out->cls = cls != ALD_CLASS_NONE ? cls : row == NULL ? ALD_CLASS_UNKNOWN : row->cls;
    if (row == NULL)
        return;
    out->code_row = row->name;
    out->scope = row->scope;
    out->block = row->block;
    out->resubmit = row->resubmit && out->cls == ALD_CLASS_FAILED;
    out->alert = row->alert;
    out->grace_ms = row->grace_ms;
    out->wait_ms = row->retry_after ? ald_retry_after_ms(self->facts, row->wait_ms) : row->wait_ms;
}

/* The row of a status. */
static const struct ald_code *ruled_status_row(const struct ruled *self)
{
    char code[16];
    (void)snprintf(code, sizeof code, "HTTP_%u", ald_facts_status(self->facts));
    return ald_codes_named(&self->rules->codes, ald_span_str(code));
}

/* What only our own connection may say of an account is, in a callback, no more than a hint: a
 * stranger could stop everything with it. */
static void ruled_callback_code(struct ruled *self)
{
    struct ald_verdict *out = self->out;
    if (self->stage != ALD_STAGE_CALLBACK ||
        (out->cls != ALD_CLASS_TRANSIENT && out->cls != ALD_CLASS_CONFIG &&
         out->scope == ALD_SCOPE_TASK))
        return;
    out->cls = ALD_CLASS_NONE;
    out->scope = ALD_SCOPE_TASK;
    out->block = out->resubmit = false;
    out->wait_ms = 0;
    out->then = ALD_THEN_HINT;
}

/* scratch holds the code. */
static void ruled_take_code(struct ruled *self, const struct ald_rule *rule)
{
    struct ald_verdict *out = self->out;
    struct ald_found found;
    bool there = ruled_text(self, &rule->code, &found);
    struct ald_span code = there ? ald_buf_span(self->scratch) : ald_span_of(NULL, 0);
    const struct ald_code *row = ald_codes_named(&self->rules->codes, code);
    ald_text_cut(out->code, sizeof out->code, code);
    if (row == NULL && (!there || rule->code.place[0].kind == ALD_PLACE_HTTP))
        row = ruled_status_row(self);
    if (row == NULL && rule->cls == ALD_CLASS_NONE)
        row = ald_codes_find(&self->rules->codes, code);
    ruled_take_row(self, row, rule->cls);
    ruled_callback_code(self);
}

static void ruled_take_result(struct ruled *self, const struct ald_rule *rule)
{
    struct ald_verdict *out = self->out;
    struct ald_found found;
    bool text = ruled_text(self, &rule->result, &found);
    if (text && found.json.kind == ALD_JSON_NONE && !found.encoded) {
        out->result = found.raw;
    } else if (text) {
        out->result = ald_buf_span(self->scratch);
    } else if (found.json.kind != ALD_JSON_NONE && ald_buf_ok(self->scratch)) {
        out->result = found.json.raw;
        out->result_json = true;
    }
    if (out->result.len > 0)
        return;
    if (out->then == ALD_THEN_DONE_AT_SUBMIT && out->id[0] != '\0')
        out->then = ALD_THEN_ACCEPTED; /* a poll brings what this answer lacks */
    else
        ruled_say(self, ALD_THEN_UNKNOWN, "no-result");
}

/* No rule fitted: the status alone may still say something. */
static void ruled_fall_through(struct ruled *self)
{
    const struct ald_code *row =
        ald_facts_status(self->facts) >= 400 ? ruled_status_row(self) : NULL;
    if (row == NULL) {
        ruled_say(self, ALD_THEN_UNKNOWN, self->said.text.len == 0 ? "empty" : "no-rule");
        return;
    }
    ruled_say(self, ALD_THEN_CODE, "http-status");
    (void)snprintf(self->out->code, sizeof self->out->code, "HTTP_%u",
                   ald_facts_status(self->facts));
    ruled_take_row(self, row, ALD_CLASS_NONE);
    ruled_callback_code(self);
}

static void ruled_apply(struct ruled *self, const struct ald_rule *rule, size_t index)
{
    struct ald_verdict *out = self->out;
    out->then = rule->then;
    (void)snprintf(out->rule, sizeof out->rule, "%s.%zu", RULED_STAGE_NAMES[self->stage],
                   index + 1);
    ruled_take_id(self, self->stage == ALD_STAGE_CALLBACK ? &self->rules->callback_id : &rule->id);
    ruled_take_cut(self, &rule->detail, out->detail, sizeof out->detail);
    ruled_take_whole(self, &rule->cost, out->cost, sizeof out->cost);
    ruled_take_url(self, &rule->poll_url, out->poll_url, sizeof out->poll_url);
    ruled_take_url(self, &rule->result_url, out->result_url, sizeof out->result_url);
    if (out->then == ALD_THEN_CODE)
        ruled_take_code(self, rule);
    else
        ruled_take_cut(self, &rule->code, out->code, sizeof out->code);
    if (out->then == ALD_THEN_DONE || out->then == ALD_THEN_DONE_AT_SUBMIT)
        ruled_take_result(self, rule);
    if (out->then == ALD_THEN_ACCEPTED && out->id[0] == '\0')
        ruled_say(self, ALD_THEN_UNKNOWN, "no-id");
}

/* The provider says itself when to ask: how the task goes on, not what is wrong with it. */
static void ruled_schedule(struct ruled *self)
{
    struct ald_verdict *out = self->out;
    bool first = self->stage == ALD_STAGE_SUBMIT && self->rules->first_retry_after &&
                 out->then == ALD_THEN_ACCEPTED;
    bool again = self->stage == ALD_STAGE_POLL && self->rules->every_retry_after &&
                 (out->then == ALD_THEN_PENDING || out->cls == ALD_CLASS_PENDING);
    if (first || again)
        out->wait_ms = ald_retry_after_ms(self->facts, out->wait_ms);
}

/* A callback that begins as JSON and is none is no form either. */
static bool ruled_broken(const struct ruled *self)
{
    const struct ald_said *said = &self->said;
    return self->stage == ALD_STAGE_CALLBACK && said->body != ALD_BODY_FORM && said->text.len > 0 &&
           (said->text.data[0] == '{' || said->text.data[0] == '[') &&
           said->json.kind == ALD_JSON_NONE;
}

/* A message that cannot be decoded means nothing, whatever was taken from it so far. */
static void ruled_forget(struct ruled *self)
{
    *self->out = (struct ald_verdict){.then = ALD_THEN_UNKNOWN};
    ruled_say(self, ALD_THEN_UNKNOWN, "malformed");
}

void ald_ruled_judge(const struct ald_profile *profile, enum ald_stage stage,
                     const struct ald_facts *facts, struct ald_buf *scratch,
                     struct ald_verdict *out)
{
    struct ruled self;
    self.rules = profile->ruled;
    self.stage = stage;
    self.facts = facts;
    self.scratch = scratch;
    self.out = out;
    const struct ald_rules *rules = &self.rules->stage[stage].rules;
    bool callback = stage == ALD_STAGE_CALLBACK;
    ald_said_begin(facts, (enum ald_plus)profile->plus, callback ? self.rules->body : ALD_BODY_AUTO,
                   &self.said);
    if (ruled_broken(&self)) {
        ruled_forget(&self);
        return;
    }
    const struct ald_rule *rule = ald_rules_match(rules, &self.said, scratch);
    if (self.said.malformed) {
        ruled_forget(&self);
        return;
    }
    bool not_taken = rule == NULL && stage == ALD_STAGE_SUBMIT &&
                     ald_rules_match(&self.rules->not_taken, &self.said, scratch) != NULL;
    if (not_taken) {
        ruled_say(&self, ALD_THEN_CODE, "not_taken");
        out->cls = ALD_CLASS_TRANSIENT;
    } else if (rule == NULL) {
        ruled_fall_through(&self);
        if (callback)
            ruled_take_id(&self, &self.rules->callback_id);
    } else {
        ruled_apply(&self, rule, (size_t)(rule - rules->list));
    }
    ruled_schedule(&self);
    if (self.said.malformed)
        ruled_forget(&self);
}

const char *ald_ruled_secret(const struct ald_ruled *self, const char *name)
{
    for (unsigned i = 0; i < self->secrets.count; i++)
        if (strcmp(self->secrets.list[i].name, name) == 0)
            return self->secrets.list[i].value;
    return "";
}

/* The address of the profile's own that a provider's address must have the host of. NULL: the
 * profile has none that begins with a host of its own. */
static const char *ruled_home(const struct ald_ruled *self, enum ald_stage stage)
{
    const enum ald_stage order[] = {ALD_STAGE_SUBMIT, stage, ALD_STAGE_POLL};
    for (size_t i = 0; i < ALD_COUNT(order); i++) {
        const struct ald_request_form *form = &self->stage[order[i]].request;
        if (form->there && form->url.count > 0 && form->url.pieces[0].kind == ALD_PIECE_LITERAL)
            return form->url.pieces[0].text;
    }
    return NULL;
}

bool ald_ruled_address_ok(const struct ald_ruled *self, enum ald_stage stage, const char *beside,
                          const char *url)
{
    const char *home = ruled_home(self, stage);
    home = home != NULL ? home : beside;
    return home != NULL && ald_url_ok(url) && ald_url_same_host(home, url);
}

/* beside: where the task is polled; NULL: not known, then who gave url is trusted. */
static bool ruled_host_ok(const struct ald_ruled *self, enum ald_stage stage, const char *beside,
                          const char *url)
{
    bool alone = beside == NULL || beside[0] == '\0';
    return url == NULL || url[0] == '\0' ||
           ald_ruled_address_ok(self, stage, alone ? url : beside, url);
}

enum ald_rc ald_ruled_request(const struct ald_profile *profile, const struct ald_request_in *in,
                              struct ald_request *out)
{
    const struct ald_ruled *self = profile->ruled;
    struct ald_request_in filled = *in;
    if (self->id.keep_url && in->poll_url == NULL && in->id != NULL && ald_url_ok(in->id))
        filled.poll_url = in->id; /* the provider's id is the address */
    if (!ruled_host_ok(self, in->stage, NULL, filled.poll_url) ||
        !ruled_host_ok(self, in->stage, filled.poll_url, filled.result_url))
        return ALD_INVALID;
    const struct ald_request_form *form =
        in->several ? &self->batch : &self->stage[in->stage].request;
    return in->stage == ALD_STAGE_SUBMIT ? ald_request_submit(self, &filled, out)
                                         : ald_request_fill(form, &filled, out);
}
