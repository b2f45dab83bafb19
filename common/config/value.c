#include "common/config/value.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static const struct {
    const char *key;
    enum ald_place_kind kind;
} PLACE_KEYS[] = {
    {"json", ALD_PLACE_JSON},     {"text_after", ALD_PLACE_AFTER}, {"text", ALD_PLACE_TEXT},
    {"header", ALD_PLACE_HEADER}, {"form", ALD_PLACE_FORM},        {"query", ALD_PLACE_QUERY},
    {"value", ALD_PLACE_EITHER},  {"http", ALD_PLACE_HTTP},
};

/* A JSON pointer is empty or begins with a slash, and its tildes are ~0 or ~1. */
static bool value_pointer_ok(const char *pointer)
{
    if (pointer[0] != '\0' && pointer[0] != '/')
        return false;
    for (const char *at = strchr(pointer, '~'); at != NULL; at = strchr(at + 1, '~'))
        if (at[1] != '0' && at[1] != '1')
            return false;
    return true;
}

static bool value_pointer(struct ald_load *load, const struct ald_node *node, struct ald_place *out)
{
    if (node->kind == ALD_NODE_SCALAR && strlen(node->text) <= ALD_WORDS_MAX &&
        value_pointer_ok(node->text)) {
        out->name = ald_arena_intern(load->arena, node->text);
        return true;
    }
    ald_errors_add(load->errors, node,
                   "\"%.60s\" is no JSON pointer: it is \"\" or begins with /, and ~ is written "
                   "~0, / ~1.",
                   node->text);
    return false;
}

/* `text: all` and `http: status`. */
static bool value_fixed(struct ald_load *load, const struct ald_node *node, const char *word)
{
    if (node->kind == ALD_NODE_SCALAR && strcmp(node->text, word) == 0)
        return true;
    ald_errors_add(load->errors, node, "It is written %s: %s.", node->key, word);
    return false;
}

static bool value_place(struct ald_load *load, const struct ald_node *node,
                        enum ald_place_kind kind, struct ald_place *out)
{
    *out = (struct ald_place){.kind = kind, .name = ""};
    if (kind == ALD_PLACE_JSON)
        return value_pointer(load, node, out);
    if (kind == ALD_PLACE_TEXT)
        return value_fixed(load, node, "all");
    if (kind == ALD_PLACE_HTTP)
        return value_fixed(load, node, "status");
    out->name = ald_load_text(load, node, ALD_WORDS_MAX);
    return out->name != NULL;
}

bool ald_place_load(struct ald_load *load, const struct ald_node *map, struct ald_place *out)
{
    bool named = false;
    for (size_t i = 0; i < ALD_COUNT(PLACE_KEYS); i++) {
        const struct ald_node *node = ald_node_find(map, PLACE_KEYS[i].key);
        if (node == NULL)
            continue;
        if (named) {
            ald_errors_add(load->errors, node, "Only one place can be named here.");
            return false;
        }
        named = value_place(load, node, PLACE_KEYS[i].kind, out);
        if (!named)
            return false;
    }
    return named;
}

static bool value_one(struct ald_load *load, const struct ald_node *node, struct ald_value *out)
{
    static const char *const keys[] = {"json",  "text_after", "text",     "header", "form", "query",
                                       "value", "http",       "first_of", "else",   NULL};
    size_t before = load->errors->count;
    if (!ald_load_keys(load, node, "A place", keys))
        return false;
    if (out->count == ALD_PLACES_MAX) {
        ald_errors_add(load->errors, node, "At most %d places can be named.", ALD_PLACES_MAX);
        return false;
    }
    if (ald_place_load(load, node, &out->place[out->count])) {
        out->count++;
        return true;
    }
    if (load->errors->count == before)
        ald_errors_add(load->errors, node,
                       "A place is json, text_after, text, header, form, query, value, http or "
                       "first_of.");
    return false;
}

bool ald_value_load(struct ald_load *load, const struct ald_node *node, struct ald_value *out)
{
    *out = (struct ald_value){0};
    const struct ald_node *list = ald_node_find(node, "first_of");
    const struct ald_node *other = ald_node_find(node, "else");
    if (other != NULL) {
        out->else_token = strcmp(other->text, "url_token") == 0;
        if (!out->else_token)
            ald_errors_add(load->errors, other, "It is written else: url_token.");
    }
    if (list == NULL)
        return value_one(load, node, out);
    if (list->kind != ALD_NODE_LIST || list->count == 0) {
        ald_errors_add(load->errors, list, "first_of must be a list of places.");
        return false;
    }
    bool good = true;
    for (const struct ald_node *item = list->first; item != NULL; item = item->next)
        good = value_one(load, item, out) && good;
    return good;
}

void ald_said_begin(const struct ald_facts *facts, enum ald_plus plus, enum ald_body body,
                    struct ald_said *out)
{
    out->facts = facts;
    out->plus = plus;
    out->body = body;
    out->malformed = false;
    out->memos = 0;
    out->walked = false;
    out->text = ald_message_trim(facts->body);
    out->json = (struct ald_json){.kind = ALD_JSON_NONE};
    if (body != ALD_BODY_FORM && ald_json_scan(out->text, &out->json, NULL) != ALD_OK)
        out->json.kind = ALD_JSON_NONE;
}

/* One walk over the outermost object serves all that is asked of its members. */
static void value_walk(struct ald_said *said)
{
    struct ald_json_walk walk = ald_json_walk_begin(said->json);
    struct ald_json value;
    struct ald_span key;
    said->walked = true;
    said->plain = said->json.kind == ALD_JSON_OBJECT;
    said->members = 0;
    while (said->plain && ald_json_walk_next(&walk, &key, &value)) {
        said->plain = said->members < ALD_MEMBERS_MAX && memchr(key.data, '\\', key.len) == NULL;
        if (!said->plain)
            return;
        said->member[said->members].key = ald_span_of(key.data + 1, key.len - 2);
        said->member[said->members++].value = value;
    }
}

/* A member of the outermost object; of those of the same name the last one. */
static struct ald_json value_plain_member(const struct ald_said *said, const char *name, size_t len)
{
    for (unsigned i = said->members; i-- > 0;)
        if (ald_span_eq(said->member[i].key, ald_span_of(name, len)))
            return said->member[i].value;
    return (struct ald_json){.kind = ALD_JSON_NONE};
}

static struct ald_json value_look_up(struct ald_said *said, const char *pointer)
{
    size_t len = pointer[0] == '/' ? strcspn(pointer + 1, "/") : 0;
    if (!said->walked)
        value_walk(said);
    if (pointer[0] != '/' || !said->plain || strchr(pointer, '~') != NULL)
        return ald_json_find(said->json, pointer);
    struct ald_json value = value_plain_member(said, pointer + 1, len);
    return pointer[1 + len] == '\0' ? value : ald_json_find(value, pointer + 1 + len);
}

/* Rules ask for the same few pointers again and again. */
static struct ald_json value_pointed(struct ald_said *said, const char *pointer)
{
    if (said->json.kind == ALD_JSON_NONE)
        return said->json;
    for (unsigned i = 0; i < said->memos; i++)
        if (said->memo[i].pointer == pointer)
            return said->memo[i].value;
    struct ald_json value = value_look_up(said, pointer);
    if (said->memos < ALD_MEMO_MAX) {
        said->memo[said->memos].pointer = pointer;
        said->memo[said->memos++].value = value;
    }
    return value;
}

/* A member of the outermost object by its plain name. */
static struct ald_json value_member(struct ald_said *said, const char *name)
{
    struct ald_json found = {.kind = ALD_JSON_NONE};
    struct ald_json value;
    struct ald_span key;
    if (!said->walked)
        value_walk(said);
    if (said->plain)
        return value_plain_member(said, name, strlen(name));
    struct ald_json_walk walk = ald_json_walk_begin(said->json);
    while (ald_json_walk_next(&walk, &key, &value)) {
        const struct ald_json text = {.kind = ALD_JSON_STRING, .raw = key};
        if (ald_json_is(text, name))
            found = value;
    }
    return found;
}

static struct ald_found value_of_json(struct ald_json json)
{
    return (struct ald_found){.there = json.kind != ALD_JSON_NONE && json.kind != ALD_JSON_NULL,
                              .json = json,
                              .raw = json.raw};
}

static struct ald_found value_of_field(struct ald_span form, const char *name)
{
    struct ald_found found = {.encoded = true};
    found.there = ald_form_find(form, name, &found.raw) == ALD_OK;
    return found;
}

static struct ald_found value_form(struct ald_said *said, const char *name)
{
    if (said->body != ALD_BODY_FORM && said->json.kind == ALD_JSON_OBJECT)
        return value_of_json(value_member(said, name));
    if (said->body == ALD_BODY_JSON)
        return (struct ald_found){0};
    return value_of_field(said->text, name);
}

size_t ald_headers_read(struct ald_span lines, struct ald_fact_header *out)
{
    size_t count = 0;
    while (lines.len > 0 && count < ALD_FACT_HEADERS_MAX) {
        size_t len = ald_span_find(lines, '\n');
        struct ald_span line = ald_span_of(lines.data, len);
        size_t colon = ald_span_find(line, ':');
        if (colon > 0 && colon < line.len)
            out[count++] = (struct ald_fact_header){
                .name = ald_span_of(line.data, colon),
                .value = ald_span_trim(ald_span_skip(line, colon + 1)),
            };
        lines = ald_span_skip(lines, len < lines.len ? len + 1 : len);
    }
    return count;
}

bool ald_facts_header(const struct ald_facts *facts, const char *name, struct ald_span *out)
{
    size_t len = strlen(name);
    for (size_t i = 0; i < facts->header_count; i++) {
        const struct ald_fact_header *header = &facts->headers[i];
        if (header->name.len == len &&
            strncasecmp((const char *)header->name.data, name, len) == 0) {
            *out = ald_span_trim(header->value);
            return true;
        }
    }
    return false;
}

struct ald_found ald_place_find(struct ald_said *said, const struct ald_place *place)
{
    struct ald_found found = {0};
    switch (place->kind) {
    case ALD_PLACE_JSON:
        return value_of_json(value_pointed(said, place->name));
    case ALD_PLACE_AFTER:
        found.there = ald_span_starts(said->text, place->name);
        if (found.there)
            found.raw = ald_span_skip(said->text, strlen(place->name));
        return found;
    case ALD_PLACE_TEXT:
        return (struct ald_found){.there = said->text.len > 0, .raw = said->text};
    case ALD_PLACE_HEADER:
        found.there = ald_facts_header(said->facts, place->name, &found.raw);
        return found;
    case ALD_PLACE_FORM:
        return value_form(said, place->name);
    case ALD_PLACE_QUERY:
        return value_of_field(said->facts->query, place->name);
    case ALD_PLACE_EITHER:
        found = value_form(said, place->name);
        if (found.there && !ald_found_empty(&found))
            return found;
        return value_of_field(said->facts->query, place->name);
    case ALD_PLACE_HTTP:
        (void)snprintf(said->status, sizeof said->status, "%u", ald_facts_status(said->facts));
        return (struct ald_found){.there = true, .raw = ald_span_str(said->status)};
    }
    return found;
}

bool ald_found_empty(const struct ald_found *found)
{
    if (found->json.kind == ALD_JSON_NONE)
        return found->raw.len == 0;
    return found->json.kind == ALD_JSON_STRING && found->raw.len == 2;
}

struct ald_found ald_value_find(struct ald_said *said, const struct ald_value *value)
{
    for (unsigned i = 0; i < value->count; i++) {
        struct ald_found found = ald_place_find(said, &value->place[i]);
        if (found.there && !ald_found_empty(&found))
            return found;
    }
    return (struct ald_found){0};
}

bool ald_found_text(struct ald_said *said, const struct ald_found *found, struct ald_buf *out)
{
    if (!found->there)
        return false;
    if (found->json.kind != ALD_JSON_NONE)
        return ald_json_text(found->json, out) == ALD_OK && ald_buf_ok(out);
    if (!found->encoded) {
        ald_buf_put_span(out, found->raw);
        return ald_buf_ok(out);
    }
    if (ald_form_decode(found->raw, said->plus, out) != ALD_OK)
        said->malformed = true;
    return !said->malformed && ald_buf_ok(out);
}
