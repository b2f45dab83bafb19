/* Commands about descriptions of providers; they ask nobody and need no secret. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <jansson.h>

#include "common/base/text.h"
#include "common/config/bundled.h"
#include "common/config/profile.h"
#include "common/config/value.h"
#include "services/ctl/commands.h"

enum { PROVIDER_FILES_MAX = 64, PROVIDER_MESSAGE_MAX = 16 << 20 };

/* Files that each describe one provider, as if they stood together in one file of settings. */
struct provider_set {
    size_t count;
    ald_yaml_t *docs[PROVIDER_FILES_MAX];
    struct ald_node nodes[PROVIDER_FILES_MAX];
    char names[PROVIDER_FILES_MAX][64];
    struct ald_node all;
};

static void provider_set_free(struct provider_set *self)
{
    for (size_t i = 0; i < self->count; i++)
        ald_yaml_destroy(&self->docs[i]);
}

/* A profile is called as it says, or else as its file. */
static void provider_name(const struct ald_node *root, const char *path, char *out, size_t cap)
{
    const struct ald_node *own = ald_node_find(root, "profile");
    const char *slash = strrchr(path, '/');
    const char *base = slash != NULL ? slash + 1 : path;
    const char *dot = strrchr(base, '.');
    if (own != NULL && own->kind == ALD_NODE_SCALAR)
        ald_text_cut(out, cap, ald_span_str(own->text));
    else
        ald_text_cut(out, cap,
                     ald_span_of(base, dot != NULL ? (size_t)(dot - base) : strlen(base)));
}

static void provider_set_add(struct provider_set *self, const char *path, struct ald_errors *errors)
{
    if (self->count == PROVIDER_FILES_MAX)
        return;
    size_t i = self->count;
    (void)!ald_yaml_load(path, ALD_YAML_ALIASES | ALD_YAML_GO_ON, errors, &self->docs[i]);
    if (self->docs[i] == NULL)
        return;
    const struct ald_node *root = ald_yaml_root(self->docs[i]);
    self->count++;
    provider_name(root, path, self->names[i], sizeof self->names[i]);
    for (size_t k = 0; k < i; k++)
        if (strcmp(self->names[k], self->names[i]) == 0)
            ald_errors_add(errors, root, "There is another profile called %s.", self->names[i]);
    self->nodes[i] = *root;
    self->nodes[i].key = self->names[i];
    self->nodes[i].next = NULL;
    self->all.kind = ALD_NODE_MAP;
    self->all.text = "";
    self->all.file = path;
    ald_node_append(&self->all, &self->nodes[i]);
}

int provider_check(struct ctl *ctl, const struct args *args)
{
    struct provider_set *set = calloc(1, sizeof *set);
    struct ald_errors errors;
    struct ald_errors warnings;
    ald_profiles_t *profiles = NULL;
    ALD_ASSERT(set != NULL);
    ald_errors_init(&errors);
    ald_errors_init(&warnings);
    for (size_t i = 0; i < args->words; i++)
        provider_set_add(set, args->word[i], &errors);
    if (set->count > 0) /* else there is none that could be read */
        (void)!ald_profiles_load_warned(&set->all, 0, &errors, &warnings, &profiles);
    int code = ctl_settings_wrong(&errors);
    if (warnings.count > 0)
        ctl_say("What is allowed, and yet looks wrong:\n%s", ald_errors_text(&warnings));
    if (code == CTL_OK && !args_has(args, ARG_QUIET))
        ald_buf_printf(&ctl->out, "%zu provider%s good; secrets were not looked up\n", set->count,
                       set->count == 1 ? " is" : "s are");
    ald_profiles_destroy(&profiles);
    provider_set_free(set);
    ald_errors_free(&warnings);
    ald_errors_free(&errors);
    free(set);
    return code;
}

/* ---- try ---- */

/* One profile: a bundled one by its name, else a file. */
static ald_profiles_t *provider_load(const char *what, struct ald_errors *errors)
{
    struct provider_set *set = calloc(1, sizeof *set);
    ald_profiles_t *profiles = NULL;
    ALD_ASSERT(set != NULL);
    const struct ald_node extends = {
        .kind = ALD_NODE_SCALAR, .key = "extends", .text = what, .file = what};
    struct ald_node node = {.kind = ALD_NODE_MAP, .key = what, .text = "", .file = what};
    const bool bundled = strchr(what, '/') == NULL && ald_bundled_find(what) != NULL;
    struct ald_node own = extends;
    if (bundled) {
        set->all = (struct ald_node){.kind = ALD_NODE_MAP, .text = "", .file = what};
        ald_node_append(&node, &own);
        ald_node_append(&set->all, &node);
    } else {
        provider_set_add(set, what, errors);
    }
    if (errors->count == 0)
        (void)!ald_profiles_load(&set->all, 0, errors, &profiles);
    provider_set_free(set);
    free(set);
    return profiles;
}

static struct ald_span provider_text(const json_t *message, const char *key)
{
    const json_t *text = json_object_get(message, key);
    return json_is_string(text) ? ald_span_of(json_string_value(text), json_string_length(text))
                                : ald_span_of(NULL, 0);
}

static void provider_put(json_t *out, const char *key, const char *text)
{
    json_t *value = text[0] != '\0' ? json_string(text) : NULL;
    if (text[0] != '\0' && value == NULL)
        value = json_string("?"); /* not UTF-8 */
    if (value != NULL)
        (void)json_object_set_new(out, key, value);
}

/* What was JSON stays JSON, its numbers to the letter, so it is no value of jansson's. */
static void provider_result(const struct ald_verdict *verdict, struct ald_buf *out)
{
    if (verdict->result.len == 0)
        return;
    ald_buf_put_str(out, ",\"result\":");
    if (verdict->result_json) {
        ald_buf_put_span(out, verdict->result);
        return;
    }
    json_t *text = json_stringn((const char *)verdict->result.data, verdict->result.len);
    char *written = text != NULL ? json_dumps(text, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
    ald_buf_put_str(out, written != NULL ? written : "null");
    free(written);
    json_decref(text);
}

static void provider_print(const struct ald_verdict *verdict, struct ald_buf *out)
{
    json_t *json = json_object();
    bool code = verdict->then == ALD_THEN_CODE;
    char wait[32] = "";
    if (verdict->wait_ms % 1000 != 0)
        (void)snprintf(wait, sizeof wait, "%lldms", (long long)verdict->wait_ms);
    else if (verdict->wait_ms > 0)
        (void)snprintf(wait, sizeof wait, "%llds", (long long)verdict->wait_ms / 1000);
    provider_put(json, "then", code ? ald_class_name(verdict->cls) : ald_then_name(verdict->then));
    provider_put(json, "id", verdict->id);
    provider_put(json, "code", verdict->code);
    if (verdict->cls != ALD_CLASS_NONE)
        provider_put(json, "class", ald_class_name(verdict->cls));
    provider_put(json, "wait", wait);
    provider_put(json, "cost", verdict->cost);
    provider_put(json, "detail", verdict->detail);
    provider_put(json, "poll_url", verdict->poll_url);
    provider_put(json, "result_url", verdict->result_url);
    provider_put(json, "code_row", verdict->code_row != NULL ? verdict->code_row : "");
    provider_put(json, "rule", verdict->rule);
    char *text = json_dumps(json, JSON_COMPACT);
    ALD_ASSERT(text != NULL);
    ald_buf_put(out, text, strlen(text) - 1); /* the brace waits for the result */
    provider_result(verdict, out);
    ald_buf_put_str(out, "}\n");
    free(text);
    json_decref(json);
}

static size_t provider_headers(const json_t *message,
                               struct ald_fact_header out[ALD_FACT_HEADERS_MAX])
{
    const char *name = NULL;
    json_t *value = NULL;
    json_t *headers = json_object_get(message, "headers");
    size_t count = 0;
    json_object_foreach(headers, name, value)
    {
        if (count == ALD_FACT_HEADERS_MAX || !json_is_string(value))
            continue;
        out[count++] = (struct ald_fact_header){
            .name = ald_span_str(name),
            .value = ald_span_of(json_string_value(value), json_string_length(value))};
    }
    return count;
}

static void provider_judge(struct ctl *ctl, const struct ald_profile *profile, enum ald_stage stage,
                           const json_t *message)
{
    struct ald_fact_header headers[ALD_FACT_HEADERS_MAX];
    const json_t *http = json_object_get(message, "http");
    struct ald_facts facts = {
        .http =
            json_is_integer(http) && json_integer_value(http) > 0 && json_integer_value(http) < 1000
                ? (unsigned)json_integer_value(http)
                : 0,
        .headers = headers,
        .header_count = provider_headers(message, headers),
        .query = provider_text(message, "query"),
        .body = provider_text(message, "body"),
    };
    (void)ald_facts_header(&facts, "Content-Type", &facts.content_type);
    struct ald_verdict verdict;
    struct ald_buf scratch;
    ald_buf_init(&scratch, facts.body.len + facts.query.len + 4096);
    ald_profile_judge(profile, stage, &facts, &scratch, &verdict);
    provider_print(&verdict, &ctl->out);
    ald_buf_free(&scratch);
}

/* All of stdin. */
static bool provider_stdin(struct ald_buf *out)
{
    for (;;) {
        char chunk[4096];
        ssize_t got = read(STDIN_FILENO, chunk, sizeof chunk);
        if (got < 0)
            return false;
        if (got == 0)
            return ald_buf_ok(out);
        ald_buf_put(out, chunk, (size_t)got);
        if (!ald_buf_ok(out))
            return false;
    }
}

/* A mistyped member would say nothing, and so mean "unknown". */
static bool provider_members(json_t *message)
{
    static const struct {
        const char *key;
        json_type type;
        const char *what;
    } members[] = {{"http", JSON_INTEGER, "a status"},
                   {"headers", JSON_OBJECT, "an object of texts"},
                   {"query", JSON_STRING, "text, as in an address"},
                   {"body", JSON_STRING, "text: JSON stands in it with its quotes escaped"},
                   {"method", JSON_STRING, "text"}};
    const char *key = NULL;
    json_t *value = NULL;
    json_object_foreach(message, key, value)
    {
        size_t i = 0;
        while (i < ALD_COUNT(members) && strcmp(members[i].key, key) != 0)
            i++;
        if (i < ALD_COUNT(members) && json_typeof(value) == members[i].type)
            continue;
        if (i < ALD_COUNT(members))
            ctl_say("%s of a message is %s.", key, members[i].what);
        else
            ctl_say("A message has no %s; it has http, headers, query, body and method, all of "
                    "them optional.",
                    CTL_SAFE(key));
        return false;
    }
    return true;
}

static json_t *provider_message(void)
{
    struct ald_buf text;
    json_error_t error = {.text = "it is longer than 16 MiB, or cannot be read"};
    ald_buf_init(&text, PROVIDER_MESSAGE_MAX);
    json_t *message = provider_stdin(&text)
                          ? json_loadb((const char *)text.data, text.len, JSON_ALLOW_NUL, &error)
                          : NULL;
    ald_buf_free(&text);
    if (json_is_object(message) && provider_members(message))
        return message;
    bool told = json_is_object(message);
    json_decref(message);
    if (told)
        return NULL;
    ctl_say("A message is a JSON object with http, headers, query, body, method, all of them "
            "optional: %s",
            CTL_SAFE(error.text));
    return NULL;
}

int provider_try(struct ctl *ctl, const struct args *args)
{
    static const char *const names[ALD_STAGES] = {"submit", "poll", "callback", "fetch"};
    unsigned stage = 0;
    while (stage < ALD_STAGES && strcmp(names[stage], args->word[1]) != 0)
        stage++;
    if (stage == ALD_STAGES) {
        ctl_say("%s is no stage; there are submit, poll, fetch and callback.",
                CTL_SAFE(args->word[1]));
        return CTL_USAGE;
    }
    struct ald_errors errors;
    ald_errors_init(&errors);
    ald_profiles_t *profiles = provider_load(args->word[0], &errors);
    int code = ctl_settings_wrong(&errors);
    ald_errors_free(&errors);
    json_t *message = code == CTL_OK ? provider_message() : NULL;
    if (code == CTL_OK && message == NULL)
        code = CTL_USAGE;
    if (message != NULL)
        provider_judge(ctl, ald_profiles_at(profiles, 0), (enum ald_stage)stage, message);
    json_decref(message);
    ald_profiles_destroy(&profiles);
    return code;
}
