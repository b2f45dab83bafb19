/* The compiling of a profile's rules, requests and codes; they are used by ruled.c. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/base/text.h"
#include "common/config/batch.h"
#include "common/config/profile.h"
#include "common/config/ruled.h"
#include "common/config/setting.h"

enum { RULED_WITHIN_MS = 24 * 3600 * 1000 };

static const char *const RULED_STAGES[ALD_STAGES] = {"submit", "poll", "callback", "fetch"};

/* A compiling under way. */
struct ruled_load {
    struct ald_load load;
    const struct ald_node *profile;
    struct ald_ruled *out;
    unsigned secrets; /* enum ald_secrets */
};

/* Does ${secret.NAME} stand in this tree? Bounded: trees of YAML are at most 64 deep. */
static bool ruled_load_names(const struct ald_node *node, const char *reference)
{
    if (node == NULL)
        return false;
    if (node->kind == ALD_NODE_SCALAR)
        return node->template && strstr(node->text, reference) != NULL;
    for (const struct ald_node *child = node->first; child != NULL; child = child->next)
        if (ruled_load_names(child, reference))
            return true;
    return false;
}

/* Must this program have it? Requests are sent by one, callbacks are taken by another. */
static bool ruled_load_needs(const struct ruled_load *self, const char *name)
{
    static const char *const paths[] = {"submit", "poll", "fetch", "callback.verification_file"};
    static const unsigned bits[] = {ALD_SECRETS_POLL, ALD_SECRETS_POLL, ALD_SECRETS_POLL,
                                    ALD_SECRETS_AUTH};
    char reference[ALD_WORDS_MAX];
    int len = snprintf(reference, sizeof reference, "${secret.%s}", name);
    for (size_t i = 0; i < ALD_COUNT(paths) && len > 0 && (size_t)len < sizeof reference; i++)
        if ((self->secrets & bits[i]) != 0 &&
            ruled_load_names(ald_node_at(self->profile, paths[i]), reference))
            return true;
    return false;
}

static void ruled_load_secrets(struct ruled_load *self, const struct ald_node *map)
{
    struct ald_secret_set *secrets = &self->out->secrets;
    if (ald_load_none(map))
        return;
    if (map->kind != ALD_NODE_MAP || map->count > ALD_SECRETS_MAX) {
        ald_errors_add(self->load.errors, map,
                       "secrets must hold at most %d secrets by their "
                       "names.",
                       ALD_SECRETS_MAX);
        return;
    }
    for (const struct ald_node *node = map->first; node != NULL; node = node->next) {
        char value[ALD_SECRET_MAX];
        (void)!ald_setting_secret(node, ruled_load_needs(self, node->key), self->load.errors, value,
                                  sizeof value);
        secrets->list[secrets->count++] =
            (struct ald_secret){.name = ald_arena_text(self->load.arena, node->key),
                                .value = ald_arena_text(self->load.arena, value)};
        explicit_bzero(value, sizeof value);
    }
}

static void ruled_load_id(struct ruled_load *self, const struct ald_node *map)
{
    static const char *const keys[] = {"max_len",  "pattern",  "json_number_ok",
                                       "from_url", "keep_url", NULL};
    static const char *const parts[] = {"last-segment", NULL};
    struct ald_id_form *form = &self->out->id;
    const int most = (int)sizeof((struct ald_verdict *)0)->id - 1;
    form->max_len = (unsigned)most;
    if (map == NULL || !ald_load_keys(&self->load, map, "id", keys))
        return;
    int64_t max_len = ald_load_int(&self->load, ald_node_find(map, "max_len"), 1, 4096, most);
    form->max_len = max_len < most ? (unsigned)max_len : (unsigned)most;
    if (max_len > most && self->load.warnings != NULL)
        ald_errors_add(self->load.warnings, ald_node_find(map, "max_len"),
                       "Ids of more than %d bytes are refused.", most);
    const struct ald_node *pattern = ald_node_find(map, "pattern");
    if (pattern != NULL)
        form->pattern = ald_regex_load(&self->load, pattern);
    form->number_ok = ald_load_bool(&self->load, ald_node_find(map, "json_number_ok"), false);
    form->keep_url = ald_load_bool(&self->load, ald_node_find(map, "keep_url"), false);
    const struct ald_node *from = ald_node_find(map, "from_url");
    if (from != NULL)
        form->last_segment = ald_load_word(&self->load, from, parts) == 0;
}

/* What rules of a stage must have, so that what they say can be done. */
static void ruled_load_check(struct ruled_load *self, enum ald_stage stage,
                             const struct ald_node *list)
{
    const struct ald_rules *rules = &self->out->stage[stage].rules;
    const struct ald_node *node = list == NULL ? NULL : list->first;
    for (unsigned i = 0; i < rules->count && node != NULL; i++, node = node->next) {
        const struct ald_rule *rule = &rules->list[i];
        bool done = rule->then == ALD_THEN_DONE || rule->then == ALD_THEN_DONE_AT_SUBMIT;
        if (done && ald_node_find(node, "result") == NULL)
            ald_errors_add(self->load.errors, node, "A rule with then: done needs a result.");
        if (rule->then == ALD_THEN_ACCEPTED && stage != ALD_STAGE_CALLBACK &&
            ald_node_find(node, "id") == NULL)
            ald_errors_add(self->load.errors, node, "A rule with then: accepted needs an id.");
        if (rule->then == ALD_THEN_CODE && ald_node_find(node, "code") == NULL)
            ald_errors_add(self->load.errors, node, "A rule with then: code needs a code.");
        if (rule->then == ALD_THEN_CODE && self->out->codes.fallback < 0)
            ald_errors_add(self->load.errors, node,
                           "A rule with then: code needs codes._default, for codes that are not in "
                           "the table.");
        bool fetch = self->out->stage[ALD_STAGE_FETCH].request.there;
        bool poll = self->out->stage[ALD_STAGE_POLL].request.there;
        if (rule->then == ALD_THEN_FETCH && !fetch && (!poll || stage == ALD_STAGE_POLL))
            ald_errors_add(self->load.errors, node,
                           "A rule with then: fetch needs a stage fetch%s to do it.",
                           stage == ALD_STAGE_POLL ? "" : ", or poll,");
        if (rule->then == ALD_THEN_FETCH && stage == ALD_STAGE_FETCH)
            ald_errors_add(self->load.errors, node, "A fetch can't ask for another one.");
    }
}

/* The keys of a stage are known to the table of settings where they are not compiled here. */
static void ruled_load_stage(struct ruled_load *self, enum ald_stage stage)
{
    const struct ald_node *node = ald_node_find(self->profile, RULED_STAGES[stage]);
    struct ald_ruled_stage *out = &self->out->stage[stage];
    if (ald_load_none(node))
        return;
    if (node->kind != ALD_NODE_MAP) {
        ald_errors_add(self->load.errors, node, "%s must hold values by their names.",
                       RULED_STAGES[stage]);
        return;
    }
    out->there = true;
    if (stage != ALD_STAGE_CALLBACK && ald_node_find(node, "request") == NULL)
        ald_errors_add(self->load.errors, node, "%s needs a request.", RULED_STAGES[stage]);
    if (ald_node_find(node, "rules") == NULL)
        ald_errors_add(self->load.errors, node, "%s needs rules.", RULED_STAGES[stage]);
    if (stage != ALD_STAGE_CALLBACK)
        ald_request_load(&self->load, node, &self->out->secrets, &out->request);
    ald_rules_load(&self->load, ald_node_find(node, "rules"), &out->rules);
}

static void ruled_load_submit(struct ruled_load *self)
{
    static const char *const keys[] = {"request", "params", "callback_param", "rules", "not_taken",
                                       "within",  NULL};
    static const char *const places[] = {"body", "query", "header", NULL};
    static const char *const param[] = {"in", "name", NULL};
    const struct ald_node *submit = ald_node_find(self->profile, "submit");
    self->out->submit_within_ms = RULED_WITHIN_MS;
    if (ald_load_none(submit) || !ald_load_keys(&self->load, submit, "submit", keys))
        return;
    self->out->submit_within_ms =
        ald_load_duration(&self->load, ald_node_find(submit, "within"), RULED_WITHIN_MS);
    ald_refusals_load(&self->load, ald_node_find(submit, "not_taken"), &self->out->not_taken);
    const struct ald_node *node = ald_node_find(submit, "callback_param");
    if (ald_load_none(node) || !ald_load_keys(&self->load, node, "callback_param", param))
        return;
    const struct ald_node *in = ald_node_find(node, "in");
    const struct ald_node *name = ald_node_find(node, "name");
    if (in == NULL || name == NULL) {
        ald_errors_add(self->load.errors, node, "callback_param needs in and name.");
        return;
    }
    int place = ald_load_word(&self->load, in, places);
    self->out->callback_in = (enum ald_callback_in)(place + 1);
    self->out->callback_name = ald_load_text(&self->load, name, ALD_WORDS_MAX);
}

static void ruled_load_methods(struct ruled_load *self, const struct ald_node *list)
{
    static const char *const methods[] = {"GET", "POST", "PUT", NULL};
    if (list == NULL)
        return;
    if (list->kind != ALD_NODE_LIST || list->count == 0)
        ald_errors_add(self->load.errors, list, "methods must be a list of GET, POST, PUT.");
    for (const struct ald_node *item = list->first; item != NULL; item = item->next)
        (void)ald_load_word(&self->load, item, methods);
}

static void ruled_load_callback(struct ruled_load *self)
{
    static const char *const bodies[] = {"auto", "form", "json", NULL};
    const struct ald_node *callback = ald_node_find(self->profile, "callback");
    if (ald_load_none(callback) || callback->kind != ALD_NODE_MAP)
        return;
    const struct ald_node *body = ald_node_find(callback, "body");
    const struct ald_node *id = ald_node_find(callback, "id");
    const struct ald_node *trust = ald_node_find(callback, "trust");
    if (body != NULL) {
        int word = ald_load_word(&self->load, body, bodies);
        self->out->body = (enum ald_body)(word < 0 ? 0 : word);
    }
    if (id == NULL)
        ald_errors_add(self->load.errors, callback,
                       "callback needs id: where the provider's id stands.");
    else
        (void)ald_value_load(&self->load, id, &self->out->callback_id);
    ruled_load_methods(self, ald_node_find(callback, "methods"));
    bool token = trust == NULL || strcmp(trust->text, "token") == 0;
    if (token && ald_load_none(ald_node_at(callback, "auth.url_token")))
        ald_errors_add(self->load.errors, trust != NULL ? trust : callback,
                       "trust: token needs auth: {url_token: path}.");
}

/* Can what recover says be done at all? An old callback always can be told: it has the token of its
 * task, or an id, and every id that a task has had names it. */
static void ruled_load_resubmits(struct ruled_load *self, const struct ald_node *recover)
{
    const struct ald_ruled *out = self->out;
    const struct ald_node *at =
        ald_node_find(recover, out->resubmit ? "on_stale" : "max_resubmits");
    bool coded = false;
    for (unsigned i = 0; i < out->codes.count; i++)
        coded =
            coded || (out->codes.rows[i].resubmit && out->codes.rows[i].cls == ALD_CLASS_FAILED);
    if (!out->resubmit && out->max_resubmits == 0)
        return;
    if (!out->stage[ALD_STAGE_SUBMIT].there)
        ald_errors_add(self->load.errors, at,
                       "Only what aldaba submits itself can be submitted again: resubmit needs "
                       "submit.");
    if (out->resubmit && out->stage[ALD_STAGE_POLL].there)
        ald_errors_add(self->load.errors, at,
                       "on_stale: resubmit is for a profile without poll: a late task of this one "
                       "is asked for. For codes with resubmit: true max_resubmits is enough.");
    if (out->resubmit && !out->stage[ALD_STAGE_CALLBACK].there)
        ald_errors_add(self->load.errors, at,
                       "on_stale: resubmit needs callback: else every task is late.");
    if (out->resubmit && out->max_resubmits == 0)
        ald_errors_add(self->load.errors, ald_node_find(recover, "max_resubmits"),
                       "on_stale: resubmit and max_resubmits: 0 say opposite things.");
    if (self->load.warnings != NULL && !out->resubmit && !coded)
        ald_errors_add(self->load.warnings, at,
                       "max_resubmits is used by on_stale: resubmit, and by codes of class failed "
                       "with resubmit: true: there are none.");
    /* Who says how often knows that it is bought again. */
    if (self->load.warnings != NULL && out->resubmit &&
        ald_node_find(recover, "max_resubmits") == NULL)
        ald_errors_add(
            self->load.warnings, at,
            "resubmit buys again, once: say how often with max_resubmits. It needs tasks that were "
            "submitted through aldaba; of others it is only said that they are late.");
}

static void ruled_load_recover(struct ruled_load *self)
{
    static const char *const keys[] = {"on_stale", "max_resubmits", "needs", NULL};
    static const char *const words[] = {"alert", "resubmit", NULL};
    const struct ald_node *recover = ald_node_find(self->profile, "recover");
    bool poll = self->out->stage[ALD_STAGE_POLL].there;
    if (recover == NULL) {
        if (!poll)
            ald_errors_add(self->load.errors, self->profile,
                           "A profile without poll needs recover: {on_stale: alert|resubmit}.");
        return;
    }
    if (!ald_load_keys(&self->load, recover, "recover", keys))
        return;
    const struct ald_node *stale = ald_node_find(recover, "on_stale");
    if (stale == NULL && !poll)
        ald_errors_add(self->load.errors, recover, "recover needs on_stale: alert or resubmit.");
    else if (stale != NULL)
        self->out->resubmit = ald_load_word(&self->load, stale, words) == 1;
    self->out->max_resubmits =
        (unsigned)ald_load_int(&self->load, ald_node_find(recover, "max_resubmits"), 0,
                               ALD_RESUBMITS_MAX, self->out->resubmit ? 1 : 0);
    ruled_load_resubmits(self, recover);
}

static void ruled_load_fetch(struct ruled_load *self)
{
    static const char *const keys[] = {"request", "params", "rules", NULL};
    const struct ald_node *fetch = ald_node_find(self->profile, "fetch");
    if (!ald_load_none(fetch))
        (void)ald_load_keys(&self->load, fetch, "fetch", keys);
}

/* Does nothing stand here that differs from task to task, but for their ids? */
static bool ruled_load_shared(const struct ald_template *text, bool ids)
{
    bool good = true;
    for (unsigned i = 0; i < text->count && good; i++)
        good = text->pieces[i].kind == ALD_PIECE_LITERAL ||
               text->pieces[i].kind == ALD_PIECE_SECRET ||
               (ids && text->count == 1 && text->pieces[i].kind == ALD_PIECE_ID);
    return good;
}

/* The poll again, with the parameter that is ${id} under another name. */
static void ruled_load_batch_request(struct ruled_load *self, const struct ald_node *batch,
                                     const char *name)
{
    struct ald_request_form *out = &self->out->batch;
    *out = self->out->stage[ALD_STAGE_POLL].request;
    struct ald_param **link = &out->params;
    bool good = ruled_load_shared(&out->url, false);
    unsigned ids = 0;
    for (unsigned i = 0; i < out->header_count; i++)
        good = good && ruled_load_shared(&out->headers[i].value, false);
    for (const struct ald_param *param = out->params; param != NULL; param = param->next) {
        struct ald_param *copy = ald_arena_take(self->load.arena, sizeof *copy);
        *copy = *param;
        good = good && param->first == NULL && ruled_load_shared(&param->text, true);
        if (good && param->text.count == 1 && param->text.pieces[0].kind == ALD_PIECE_ID) {
            copy->key = name;
            ids++;
        }
        *link = copy;
        link = &copy->next;
    }
    if (!good || ids != 1)
        ald_errors_add(self->load.errors, batch,
                       "poll.batch needs a poll whose parameters hold ${id} once and alone, and "
                       "nothing else that differs from task to task.");
}

static void ruled_load_batch(struct ruled_load *self)
{
    static const char *const keys[] = {"param", "max", "reply", "only_if_answer_has_no", NULL};
    static const char *const replies[] = {"pipe-joined", NULL};
    static const char *const joints[] = {"|", NULL};
    const struct ald_node *batch = ald_node_at(self->profile, "poll.batch");
    if (ald_load_none(batch) || !ald_load_keys(&self->load, batch, "batch", keys))
        return;
    const struct ald_node *param = ald_node_find(batch, "param");
    const struct ald_node *reply = ald_node_find(batch, "reply");
    const struct ald_node *joint = ald_node_find(batch, "only_if_answer_has_no");
    const char *name = NULL;
    if (param == NULL || reply == NULL)
        ald_errors_add(self->load.errors, batch, "batch needs param and reply: pipe-joined.");
    else
        name = ald_load_text(&self->load, param, ALD_WORDS_MAX - 1);
    if (reply != NULL)
        (void)ald_load_word(&self->load, reply, replies);
    if (joint != NULL)
        (void)ald_load_word(&self->load, joint, joints);
    self->out->batch_max = (unsigned)ald_load_int(&self->load, ald_node_find(batch, "max"), 1,
                                                  ALD_BATCH_MAX, ALD_BATCH_MAX);
    if (name != NULL && self->out->stage[ALD_STAGE_POLL].there)
        ruled_load_batch_request(self, batch, name);
}

/* A plain time is the table's, which says what is wrong with it. */
static bool ruled_load_retry(struct ruled_load *self, const struct ald_node *node)
{
    bool retry_after = false;
    if (node != NULL && strncmp(node->text, "retry-after", 11) == 0)
        (void)ald_load_wait(&self->load, node, &retry_after);
    return retry_after;
}

static void ruled_load_schedule(struct ruled_load *self)
{
    const struct ald_node *schedule = ald_node_at(self->profile, "poll.schedule");
    const struct ald_node *give_up = ald_node_find(schedule, "give_up_after");
    const struct ald_node *ttl = ald_node_at(self->profile, "poll.result_ttl");
    int64_t give_up_ms = 0;
    int64_t ttl_ms = 0;
    self->out->first_retry_after = ruled_load_retry(self, ald_node_find(schedule, "first_after"));
    self->out->every_retry_after = ruled_load_retry(self, ald_node_find(schedule, "every"));
    bool both = give_up != NULL && ttl != NULL &&
                ald_text_duration_ms(ald_span_str(give_up->text), &give_up_ms) == ALD_OK &&
                ald_text_duration_ms(ald_span_str(ttl->text), &ttl_ms) == ALD_OK;
    if (both && ttl_ms > 0 && give_up_ms > ttl_ms && self->load.warnings != NULL)
        ald_errors_add(self->load.warnings, ttl,
                       "give_up_after is longer than result_ttl: the provider forgets an answer "
                       "before the task is given up.");
}

static void ruled_load_header(struct ruled_load *self, const struct ald_place *place)
{
    struct ald_ruled *out = self->out;
    if (place->kind != ALD_PLACE_HEADER || place->name == NULL)
        return;
    for (unsigned i = 0; i < out->header_count; i++)
        if (strcasecmp(out->header[i], place->name) == 0)
            return;
    if (out->header_count == ALD_CALLBACK_HEADERS_MAX)
        ald_errors_add(self->load.errors, ald_node_find(self->profile, "callback"),
                       "Callbacks can be judged by at most %d headers.", ALD_CALLBACK_HEADERS_MAX);
    else
        out->header[out->header_count++] = place->name;
}

static void ruled_load_header_of(struct ruled_load *self, const struct ald_value *value)
{
    for (unsigned i = 0; i < value->count; i++)
        ruled_load_header(self, &value->place[i]);
}

/* The headers that callbacks are judged by. */
static void ruled_load_headers(struct ruled_load *self)
{
    const struct ald_rules *rules = &self->out->stage[ALD_STAGE_CALLBACK].rules;
    ruled_load_header_of(self, &self->out->callback_id);
    for (unsigned i = 0; i < rules->count; i++) {
        const struct ald_rule *rule = &rules->list[i];
        for (unsigned k = 0; k < rule->cond_count; k++)
            if (rule->conds[k].test != ALD_TEST_STATUS)
                ruled_load_header(self, &rule->conds[k].place);
        ruled_load_header_of(self, &rule->result);
        ruled_load_header_of(self, &rule->code);
        ruled_load_header_of(self, &rule->detail);
    }
}

struct ald_ruled *ald_ruled_load(const struct ald_node *profile, unsigned secrets,
                                 struct ald_errors *errors, struct ald_errors *warnings)
{
    ald_arena_t *arena = ald_arena_new();
    struct ald_ruled *out = ald_arena_take(arena, sizeof *out);
    *out = (struct ald_ruled){.arena = arena};
    struct ruled_load self = {
        .load = {.arena = arena, .errors = errors, .warnings = warnings},
        .profile = profile,
        .out = out,
        .secrets = secrets,
    };
    size_t before = errors->count;
    ruled_load_secrets(&self, ald_node_find(profile, "secrets"));
    ruled_load_id(&self, ald_node_find(profile, "id"));
    ald_codes_load(&self.load, ald_node_find(profile, "codes"), &out->codes);
    for (unsigned stage = 0; stage < ALD_STAGES; stage++)
        ruled_load_stage(&self, (enum ald_stage)stage);
    ruled_load_submit(&self);
    ruled_load_fetch(&self);
    ruled_load_callback(&self);
    ruled_load_recover(&self);
    ruled_load_schedule(&self);
    ruled_load_batch(&self);
    ruled_load_headers(&self);
    for (unsigned stage = 0; stage < ALD_STAGES; stage++) {
        const struct ald_node *node = ald_node_find(profile, RULED_STAGES[stage]);
        ruled_load_check(&self, (enum ald_stage)stage, ald_node_find(node, "rules"));
    }
    if (errors->count > before)
        ald_ruled_destroy(&out);
    return out;
}

void ald_ruled_destroy(struct ald_ruled **self_p)
{
    if (*self_p == NULL)
        return;
    ald_arena_t *arena = (*self_p)->arena;
    ald_arena_destroy(&arena);
    *self_p = NULL;
}
