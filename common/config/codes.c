#include "common/config/codes.h"

#include <string.h>
#include <time.h>

#include "common/base/text.h"
#include "common/config/value.h"

enum { CODES_NAMES_MAX = 512, CODES_WAIT_MAX_S = 86400 };

static const char CODES_DEFAULT[] = "_default";

static void codes_name(struct ald_load *load, const struct ald_node *at, const char *text,
                       struct ald_codes *out)
{
    size_t len = strlen(text);
    if (out->name_count == CODES_NAMES_MAX || len == 0 || len > ALD_CODE_NAME_MAX) {
        ald_errors_add(load->errors, at, "A code has 1 to %d bytes, and there are at most %d.",
                       ALD_CODE_NAME_MAX, CODES_NAMES_MAX);
        return;
    }
    for (unsigned i = 0; i < out->name_count; i++)
        if (strcmp(out->names[i].text, text) == 0)
            ald_errors_add(load->errors, at, "The code %.100s is there twice.", text);
    bool prefix = text[len - 1] == '*';
    out->names[out->name_count++] =
        (struct ald_code_name){.text = ald_arena_text(load->arena, text),
                               .len = prefix ? len - 1 : len,
                               .prefix = prefix,
                               .row = out->count};
}

static void codes_aliases(struct ald_load *load, const struct ald_node *list, struct ald_codes *out)
{
    if (list->kind != ALD_NODE_LIST) {
        ald_errors_add(load->errors, list, "alias must be a list of codes.");
        return;
    }
    for (const struct ald_node *item = list->first; item != NULL; item = item->next)
        codes_name(load, item, item->text, out);
}

static void codes_class(struct ald_load *load, const struct ald_node *node, struct ald_code *row)
{
    if (node->kind == ALD_NODE_SCALAR && strcmp(node->text, "none") != 0 &&
        ald_class_find(node->text, &row->cls))
        return;
    ald_errors_add(load->errors, node,
                   "class is \"%.60s\"; it must be one of pending, transient, config, permanent, "
                   "failed, lost, unknown.",
                   node->text);
}

static void codes_words(struct ald_load *load, const struct ald_node *node, struct ald_code *row)
{
    static const char *const stages[] = {"submit", "poll", "callback", "fetch", "register", NULL};
    const struct ald_node *cls = ald_node_find(node, "class");
    const struct ald_node *scope = ald_node_find(node, "scope");
    const struct ald_node *at = ald_node_find(node, "at");
    if (cls == NULL)
        ald_errors_add(load->errors, node, "The code %.100s needs a class.", node->key);
    else
        codes_class(load, cls, row);
    if (scope != NULL && !ald_scope_find(scope->text, &row->scope))
        ald_errors_add(load->errors, scope,
                       "scope is \"%.60s\"; it must be one of task, account, ip, proxy.",
                       scope->text);
    if (at != NULL)
        (void)ald_load_word(load, at, stages);
}

static void codes_row(struct ald_load *load, const struct ald_node *node, struct ald_codes *out)
{
    static const char *const keys[] = {"class", "wait",     "scope", "block", "alias", "grace",
                                       "at",    "resubmit", "alert", "note",  NULL};
    if (!ald_load_keys(load, node, "A code", keys))
        return;
    struct ald_code *row = &out->rows[out->count];
    *row =
        (struct ald_code){.name = ald_arena_text(load->arena, node->key), .cls = ALD_CLASS_UNKNOWN};
    codes_words(load, node, row);
    row->wait_ms = ald_load_wait(load, ald_node_find(node, "wait"), &row->retry_after);
    row->grace_ms = ald_load_duration(load, ald_node_find(node, "grace"), 0);
    row->block = ald_load_bool(load, ald_node_find(node, "block"), false);
    row->resubmit = ald_load_bool(load, ald_node_find(node, "resubmit"), false);
    row->alert = ald_load_bool(load, ald_node_find(node, "alert"), false);
    const struct ald_node *alias = ald_node_find(node, "alias");
    if (strcmp(node->key, CODES_DEFAULT) == 0)
        out->fallback = (int)out->count;
    else
        codes_name(load, node, node->key, out);
    if (alias != NULL)
        codes_aliases(load, alias, out);
    out->count++;
}

void ald_codes_load(struct ald_load *load, const struct ald_node *map, struct ald_codes *out)
{
    *out = (struct ald_codes){.fallback = -1};
    if (ald_load_none(map))
        return;
    if (map->kind != ALD_NODE_MAP || map->count > ALD_CODES_MAX) {
        ald_errors_add(load->errors, map, "codes must hold at most %d codes by their names.",
                       ALD_CODES_MAX);
        return;
    }
    out->rows = ald_arena_take(load->arena, map->count * sizeof *out->rows);
    out->names = ald_arena_take(load->arena, CODES_NAMES_MAX * sizeof *out->names);
    for (const struct ald_node *node = map->first; node != NULL; node = node->next)
        codes_row(load, node, out);
}

const struct ald_code *ald_codes_named(const struct ald_codes *self, struct ald_span code)
{
    const struct ald_code_name *best = NULL;
    for (unsigned i = 0; i < self->name_count; i++) {
        const struct ald_code_name *name = &self->names[i];
        bool agrees = (name->prefix ? code.len >= name->len : code.len == name->len) &&
                      (name->len == 0 || memcmp(code.data, name->text, name->len) == 0);
        if (agrees && !name->prefix)
            return &self->rows[name->row];
        if (agrees && (best == NULL || name->len > best->len))
            best = name;
    }
    return best == NULL ? NULL : &self->rows[best->row];
}

const struct ald_code *ald_codes_find(const struct ald_codes *self, struct ald_span code)
{
    const struct ald_code *row = code.len == 0 ? NULL : ald_codes_named(self, code);
    if (row == NULL && self->fallback >= 0)
        row = &self->rows[self->fallback];
    return row;
}

/* A date of HTTP in its one current form: `Sun, 06 Nov 1994 08:49:37 GMT`. */
static bool codes_date(struct ald_span text, int64_t *seconds)
{
    char copy[40];
    struct tm tm = {0};
    if (ald_text_copy(copy, sizeof copy, text) != ALD_OK)
        return false;
    const char *end = strptime(copy, "%a, %d %b %Y %H:%M:%S GMT", &tm);
    if (end == NULL || *end != '\0')
        return false;
    *seconds = (int64_t)timegm(&tm);
    return true;
}

int64_t ald_retry_after_ms(const struct ald_facts *facts, int64_t fallback_ms)
{
    struct ald_span text;
    struct ald_span date;
    uint64_t seconds = 0;
    int64_t then = 0;
    int64_t now = 0;
    if (!ald_facts_header(facts, "Retry-After", &text))
        return fallback_ms;
    if (ald_text_u64(text, &seconds) != ALD_OK) {
        if (!codes_date(text, &then) || !ald_facts_header(facts, "Date", &date) ||
            !codes_date(date, &now))
            return fallback_ms;
        seconds = then > now ? (uint64_t)(then - now) : 0;
    }
    return (int64_t)(seconds < CODES_WAIT_MAX_S ? seconds : CODES_WAIT_MAX_S) * 1000;
}
