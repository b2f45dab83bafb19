#include "common/config/yaml.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "common/base/regular.h"
#include "common/config/expand.h"
#include "common/config/file.h"

enum { YAML_ANCHORS_MAX = 256, YAML_TEXT_MAX = 1 << 20, YAML_BYTES_MAX = 16 << 20 };

/* A node and the texts it points into, in one allocation. */
struct yaml_block {
    struct yaml_block *next;
    struct ald_node node;
    char texts[];
};

struct ald_yaml {
    struct yaml_block *blocks;
    size_t count;
    size_t bytes; /* of texts: aliases could multiply them beyond the file's size */
    char *name;
    struct ald_node *root;
};

struct yaml_anchor {
    char *name;
    const struct ald_node *node;
    bool open; /* its end was not read yet: an alias to it is a cycle */
};

/* A reading under way. */
struct yaml_reader {
    ald_yaml_t *doc;
    struct ald_errors *errors;
    unsigned flags;
    bool broken; /* reading on makes no sense */
    size_t depth;
    struct ald_node *stack[ALD_YAML_DEPTH_MAX];
    struct ald_node *key; /* the key read last, waiting for its value */
    size_t anchor_count;
    struct yaml_anchor anchors[YAML_ANCHORS_MAX];
};

struct ald_node *ald_yaml_make(ald_yaml_t *self, enum ald_node_kind kind, const char *key,
                               const char *text, const struct ald_node *at)
{
    size_t key_size = key == NULL ? 0 : strlen(key) + 1;
    size_t text_size = text == NULL ? 0 : strlen(text) + 1;
    if (self->count >= ALD_YAML_NODES_MAX || self->bytes + key_size + text_size > YAML_BYTES_MAX)
        return NULL;
    struct yaml_block *block = calloc(1, sizeof *block + key_size + text_size);
    ALD_ASSERT(block != NULL);
    block->next = self->blocks;
    self->blocks = block;
    self->count++;
    self->bytes += key_size + text_size;
    block->node = (struct ald_node){.kind = kind,
                                    .key = key == NULL ? NULL : block->texts,
                                    .text = text == NULL ? "" : block->texts + key_size,
                                    .file = at == NULL ? self->name : at->file,
                                    .line = at == NULL ? 0 : at->line,
                                    .column = at == NULL ? 0 : at->column};
    if (key != NULL)
        memcpy(block->texts, key, key_size);
    if (text != NULL)
        memcpy(block->texts + key_size, text, text_size);
    return &block->node;
}

void ald_yaml_destroy(ald_yaml_t **self_p)
{
    ald_yaml_t *self = *self_p;
    if (self == NULL)
        return;
    while (self->blocks != NULL) {
        struct yaml_block *next = self->blocks->next;
        free(self->blocks);
        self->blocks = next;
    }
    free(self->name);
    free(self);
    *self_p = NULL;
}

const struct ald_node *ald_yaml_root(const ald_yaml_t *self)
{
    return self->root;
}

static struct ald_node yaml_place(const struct yaml_reader *self, const yaml_mark_t *mark)
{
    return (struct ald_node){.file = self->doc->name,
                             .line = (unsigned)mark->line + 1,
                             .column = (unsigned)mark->column + 1};
}

static void yaml_break(struct yaml_reader *self, const struct ald_node *at, const char *sentence)
{
    ald_errors_add(self->errors, at, "%s", sentence);
    self->broken = true;
}

/* A node of the reading; on failure the reading is broken and NULL comes back. */
static struct ald_node *yaml_node(struct yaml_reader *self, enum ald_node_kind kind,
                                  const char *text, const struct ald_node *at)
{
    bool named = self->key != NULL;
    struct ald_node *node = ald_yaml_make(self->doc, kind, named ? self->key->text : NULL, text,
                                          named ? self->key : at);
    if (node == NULL)
        yaml_break(self, at, "The file has more than 10000 values or 16 MiB of text.");
    self->key = NULL;
    return node;
}

/* Hang a finished scalar or an opened container where the reading stands. */
static void yaml_hang(struct yaml_reader *self, struct ald_node *node)
{
    if (self->depth == 0) {
        self->doc->root = node;
        return;
    }
    struct ald_node *parent = self->stack[self->depth - 1];
    if (parent->kind == ALD_NODE_MAP && ald_node_find(parent, node->key) != NULL) {
        const struct ald_node *first = ald_node_find(parent, node->key);
        ald_errors_add(self->errors, node, "The key %s was already given on line %u.", node->key,
                       first->line);
        return;
    }
    ald_node_append(parent, node);
}

static void yaml_anchor(struct yaml_reader *self, const yaml_char_t *name,
                        const struct ald_node *node, bool open)
{
    if (name == NULL || node == NULL)
        return;
    if (self->anchor_count == YAML_ANCHORS_MAX) {
        yaml_break(self, node, "The file has more than 256 anchors.");
        return;
    }
    char *copy = strdup((const char *)name);
    ALD_ASSERT(copy != NULL);
    self->anchors[self->anchor_count++] =
        (struct yaml_anchor){.name = copy, .node = node, .open = open};
}

static bool yaml_wants_key(const struct yaml_reader *self)
{
    return self->depth > 0 && self->stack[self->depth - 1]->kind == ALD_NODE_MAP &&
           self->key == NULL;
}

/* ${VAR} and nothing beside it; a default would be written here after all. */
static bool yaml_is_variable(struct ald_span raw)
{
    return ald_span_starts(raw, "${") && ald_span_find(raw, '}') + 1 == raw.len &&
           memmem(raw.data, raw.len, ":-", 2) == NULL;
}

static void yaml_scalar(struct yaml_reader *self, const yaml_event_t *event)
{
    struct ald_node at = yaml_place(self, &event->start_mark);
    const char *raw = (const char *)event->data.scalar.value;
    size_t len = event->data.scalar.length;
    if (memchr(raw, '\0', len) != NULL) {
        yaml_break(self, &at, "A text contains a NUL byte.");
        return;
    }
    if (yaml_wants_key(self)) {
        self->key = ald_yaml_make(self->doc, ALD_NODE_SCALAR, NULL, raw, &at);
        if (self->key == NULL)
            yaml_break(self, &at, "The file has more than 10000 values or 16 MiB of text.");
        return;
    }
    struct ald_buf text;
    ald_buf_init(&text, YAML_TEXT_MAX);
    struct ald_err err = {0};
    bool template = false;
    if (ald_expand(ald_span_of(raw, len), &text, &template, &err) != ALD_OK)
        ald_errors_add(self->errors, &at, "%s", err.text);
    else if (!ald_buf_ok(&text))
        ald_errors_add(self->errors, &at, "The text is longer than 1 MiB.");
    struct ald_node *node = yaml_node(self, ALD_NODE_SCALAR, ald_buf_str(&text), &at);
    ald_buf_free(&text);
    if (node == NULL)
        return;
    node->quoted = event->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
    node->template = template;
    node->expanded = !ald_span_eq_str(ald_span_of(raw, len), node->text);
    node->variable = !template && yaml_is_variable(ald_span_of(raw, len));
    yaml_hang(self, node);
    yaml_anchor(self, event->data.scalar.anchor, node, false);
}

static void yaml_open(struct yaml_reader *self, const yaml_event_t *event, enum ald_node_kind kind,
                      const yaml_char_t *anchor)
{
    struct ald_node at = yaml_place(self, &event->start_mark);
    if (yaml_wants_key(self)) {
        yaml_break(self, &at, "A key must be a text.");
        return;
    }
    if (self->depth == ALD_YAML_DEPTH_MAX) {
        yaml_break(self, &at, "Values are nested deeper than 64.");
        return;
    }
    struct ald_node *node = yaml_node(self, kind, NULL, &at);
    if (node == NULL)
        return;
    yaml_hang(self, node);
    yaml_anchor(self, anchor, node, true);
    self->stack[self->depth++] = node;
}

static void yaml_close(struct yaml_reader *self)
{
    const struct ald_node *node = self->stack[--self->depth];
    for (size_t i = 0; i < self->anchor_count; i++)
        if (self->anchors[i].node == node)
            self->anchors[i].open = false;
}

/* Copy what stands below from; the depth of the whole stays below the bound, so this ends. */
static bool yaml_copy(struct yaml_reader *self, const struct ald_node *from, struct ald_node *to,
                      size_t depth)
{
    to->quoted = from->quoted;
    to->template = from->template;
    to->variable = from->variable;
    if (depth > ALD_YAML_DEPTH_MAX)
        return false;
    for (const struct ald_node *child = from->first; child != NULL; child = child->next) {
        struct ald_node *copy =
            ald_yaml_make(self->doc, child->kind, child->key, child->text, child);
        if (copy == NULL || !yaml_copy(self, child, copy, depth + 1))
            return false;
        ald_node_append(to, copy);
    }
    return true;
}

static bool yaml_in_providers(const struct yaml_reader *self)
{
    const struct ald_node *key = self->depth > 1 ? self->stack[1] : self->key;
    const char *name = self->depth > 1 ? key->key : key == NULL ? NULL : key->text;
    return self->depth > 0 && name != NULL && strcmp(name, "providers") == 0;
}

/* The anchor that an alias names, NULL when there is none; the last one of a name counts. */
static const struct yaml_anchor *yaml_anchor_of(const struct yaml_reader *self, const char *name)
{
    const struct yaml_anchor *anchor = NULL;
    for (size_t i = 0; i < self->anchor_count; i++)
        if (strcmp(self->anchors[i].name, name) == 0)
            anchor = &self->anchors[i];
    return anchor;
}

/* What is refused is read all the same, so that what else is wrong is told too. */
static void yaml_alias(struct yaml_reader *self, const yaml_event_t *event)
{
    struct ald_node at = yaml_place(self, &event->start_mark);
    const char *name = (const char *)event->data.alias.anchor;
    bool allowed = (self->flags & ALD_YAML_ALIASES) != 0 ||
                   ((self->flags & ALD_YAML_PROFILE_ALIASES) != 0 && yaml_in_providers(self));
    if (yaml_wants_key(self)) {
        yaml_break(self, &at, "An alias can't be a key.");
        return;
    }
    if (!allowed)
        ald_errors_add(self->errors, &at,
                       "An alias (*%.64s) may stand in the description of a provider only: write "
                       "the value again.",
                       name);
    const struct yaml_anchor *anchor = yaml_anchor_of(self, name);
    if (anchor == NULL || anchor->open) {
        if (anchor == NULL)
            ald_errors_add(self->errors, &at, "There is no &%.64s before the alias *%.64s.", name,
                           name);
        else
            ald_errors_add(self->errors, &at, "The alias *%.64s stands inside what it names.",
                           name);
        self->key = NULL; /* it has no value */
        return;
    }
    const struct ald_node *from = anchor->node;
    struct ald_node *node = yaml_node(self, from->kind, from->text, &at);
    if (node == NULL)
        return;
    if (!yaml_copy(self, from, node, self->depth + 1)) {
        yaml_break(self, &at, "The aliases make too many values, or nest them too deep.");
        return;
    }
    yaml_hang(self, node);
}

static void yaml_event(struct yaml_reader *self, const yaml_event_t *event)
{
    struct ald_node at = yaml_place(self, &event->start_mark);
    switch (event->type) {
    case YAML_SCALAR_EVENT:
        yaml_scalar(self, event);
        break;
    case YAML_SEQUENCE_START_EVENT:
        yaml_open(self, event, ALD_NODE_LIST, event->data.sequence_start.anchor);
        break;
    case YAML_MAPPING_START_EVENT:
        yaml_open(self, event, ALD_NODE_MAP, event->data.mapping_start.anchor);
        break;
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT:
        yaml_close(self);
        break;
    case YAML_ALIAS_EVENT:
        yaml_alias(self, event);
        break;
    case YAML_DOCUMENT_START_EVENT:
        if (self->doc->root != NULL)
            yaml_break(self, &at, "The file holds a second document; one is allowed.");
        break;
    case YAML_NO_EVENT:
    case YAML_STREAM_START_EVENT:
    case YAML_STREAM_END_EVENT:
    case YAML_DOCUMENT_END_EVENT:
        break;
    }
}

static void yaml_read(struct yaml_reader *self, struct ald_span text)
{
    yaml_parser_t parser;
    ALD_ASSERT(yaml_parser_initialize(&parser) == 1);
    const uint8_t *input = text.len > 0 ? text.data : (const uint8_t *)""; /* it takes no NULL */
    yaml_parser_set_input_string(&parser, input, text.len);
    bool ended = false;
    while (!ended && !self->broken) {
        yaml_event_t event;
        if (yaml_parser_parse(&parser, &event) == 0) {
            struct ald_node at = yaml_place(self, &parser.problem_mark);
            ald_errors_add(self->errors, &at, "This is not well-formed YAML: %s.",
                           parser.problem == NULL ? "unknown problem" : parser.problem);
            self->broken = true;
            break;
        }
        ended = event.type == YAML_STREAM_END_EVENT;
        yaml_event(self, &event);
        yaml_event_delete(&event);
    }
    yaml_parser_delete(&parser);
    for (size_t i = 0; i < self->anchor_count; i++)
        free(self->anchors[i].name);
}

enum ald_rc ald_yaml_parse(const char *name, struct ald_span text, unsigned flags,
                           struct ald_errors *errors, ald_yaml_t **out)
{
    *out = NULL;
    ald_yaml_t *doc = calloc(1, sizeof *doc);
    ALD_ASSERT(doc != NULL);
    doc->name = strdup(name);
    ALD_ASSERT(doc->name != NULL);
    size_t before = errors->count;
    bool whole = false;
    if (text.len > ALD_YAML_FILE_MAX) {
        struct ald_node at = {.file = name};
        ald_errors_add(errors, &at, "The file is larger than 4 MiB.");
    } else {
        struct yaml_reader reader = {.doc = doc, .errors = errors, .flags = flags};
        yaml_read(&reader, text);
        whole = !reader.broken;
    }
    bool wrong = errors->count > before;
    if (wrong && (!whole || (flags & ALD_YAML_GO_ON) == 0)) {
        ald_yaml_destroy(&doc);
        return text.len > ALD_YAML_FILE_MAX ? ALD_TOOBIG : ALD_INVALID;
    }
    if (doc->root == NULL || ald_node_null(doc->root))
        doc->root = ald_yaml_make(doc, ALD_NODE_MAP, NULL, NULL, NULL);
    *out = doc;
    return wrong ? ALD_INVALID : ALD_OK;
}

enum ald_rc ald_yaml_load(const char *path, unsigned flags, struct ald_errors *errors,
                          ald_yaml_t **out)
{
    *out = NULL;
    struct ald_node at = {.file = path};
    struct ald_buf text;
    ald_buf_init(&text, ALD_YAML_FILE_MAX);
    enum ald_rc rc = ald_file_read(path, &text);
    if (rc == ALD_OK)
        rc = ald_yaml_parse(path, ald_buf_span(&text), flags, errors, out);
    else if (rc == ALD_TOOBIG)
        ald_errors_add(errors, &at, "The file is larger than 4 MiB.");
    else if (rc == ALD_NOTFOUND)
        ald_errors_add(errors, &at, "There is no such file.");
    else
        ald_errors_add(errors, &at, "The file can't be read: %s.", ald_regular_why(path, errno));
    ald_buf_free(&text);
    return rc;
}
