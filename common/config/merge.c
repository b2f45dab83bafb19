#include "common/config/merge.h"

#include <string.h>

#include "common/base/text.h"
#include "common/config/bundled.h"

enum { MERGE_OWN_MAX = 128, MERGE_NAMES_MAX = 192 }; /* that are thought of as meant */

void ald_merge_init(struct ald_merge *self, const struct ald_node *providers,
                    struct ald_errors *errors)
{
    *self = (struct ald_merge){.providers = providers, .errors = errors};
}

void ald_merge_free(struct ald_merge *self)
{
    for (size_t i = 0; i < ALD_COUNT(self->bundled); i++)
        ald_yaml_destroy(&self->bundled[i]);
}

const struct ald_bundled *ald_bundled_find(const char *name)
{
    for (size_t i = 0; i < ALD_BUNDLED_COUNT; i++)
        if (strcmp(ALD_BUNDLED[i].name, name) == 0)
            return &ALD_BUNDLED[i];
    return NULL;
}

static const struct ald_node *merge_bundled(struct ald_merge *self, const char *name)
{
    const struct ald_bundled *bundled = ald_bundled_find(name);
    if (bundled == NULL)
        return NULL;
    size_t index = (size_t)(bundled - ALD_BUNDLED);
    ALD_ASSERT(index < ALD_MERGE_BUNDLED_MAX);
    if (self->bundled[index] == NULL &&
        ald_yaml_parse(name, ald_span_of(bundled->text, bundled->len), ALD_YAML_ALIASES,
                       self->errors, &self->bundled[index]) != ALD_OK)
        return NULL;
    return ald_yaml_root(self->bundled[index]);
}

/* Bounded: trees of YAML are at most 64 deep. */
struct ald_node *ald_merge_copy(ald_yaml_t *doc, const struct ald_node *node, const char *key)
{
    struct ald_node *copy = ald_yaml_make(doc, node->kind, key, node->text, node);
    if (copy == NULL)
        return NULL;
    copy->quoted = node->quoted;
    copy->template = node->template;
    copy->variable = node->variable;
    copy->expanded = node->expanded;
    for (const struct ald_node *child = node->first; child != NULL; child = child->next) {
        struct ald_node *own = ald_merge_copy(doc, child, child->key);
        if (own == NULL)
            return NULL;
        ald_node_append(copy, own);
    }
    return copy;
}

static bool merge_is_plus(const char *key, size_t *len)
{
    *len = strlen(key);
    if (*len < 2 || key[*len - 1] != '+')
        return false;
    (*len)--;
    return true;
}

/* `key+` of a map. */
static const struct ald_node *merge_plus(const struct ald_node *map, const char *key)
{
    size_t len = 0;
    for (const struct ald_node *child = map->first; child != NULL; child = child->next)
        if (merge_is_plus(child->key, &len) && strncmp(child->key, key, len) == 0 &&
            key[len] == '\0')
            return child;
    return NULL;
}

static bool merge_append_all(ald_yaml_t *doc, struct ald_node *list, const struct ald_node *from)
{
    for (const struct ald_node *item = from->first; item != NULL; item = item->next) {
        struct ald_node *own = ald_merge_copy(doc, item, NULL);
        if (own == NULL)
            return false;
        ald_node_append(list, own);
    }
    return true;
}

/* A list put before another one, which may be absent. */
static struct ald_node *merge_lists(ald_yaml_t *doc, const char *key, const struct ald_node *before,
                                    const struct ald_node *after)
{
    struct ald_node *list = ald_yaml_make(doc, before->kind, key, before->text, before);
    bool listed = after != NULL && after->kind == ALD_NODE_LIST;
    if (list == NULL || !merge_append_all(doc, list, before) ||
        (listed && !merge_append_all(doc, list, after)))
        return NULL;
    return list;
}

/* What is one value although it is written as a map. */
static bool merge_whole(const char *parent, const char *key)
{
    return strcmp(parent, "secrets") == 0 ||
           (strcmp(parent, "callback") == 0 && strcmp(key, "id") == 0);
}

static struct ald_node *merge_maps(ald_yaml_t *doc, const char *key, const struct ald_node *base,
                                   const struct ald_node *over);

/* What becomes of an inherited child. *gone: it is taken away. */
static struct ald_node *merge_child(ald_yaml_t *doc, const char *parent,
                                    const struct ald_node *base, const struct ald_node *over,
                                    bool *gone)
{
    const struct ald_node *own = ald_node_find(over, base->key);
    const struct ald_node *plus = merge_plus(over, base->key);
    *gone = own != NULL && ald_node_null(own);
    if (*gone)
        return NULL;
    if (plus != NULL)
        return merge_lists(doc, base->key, plus, own != NULL ? own : base);
    if (own == NULL)
        return ald_merge_copy(doc, base, base->key);
    if (base->kind != ALD_NODE_MAP || own->kind != ALD_NODE_MAP || merge_whole(parent, base->key))
        return ald_merge_copy(doc, own, base->key);
    return merge_maps(doc, base->key, base, own);
}

/* A child that is not inherited. */
static struct ald_node *merge_new(ald_yaml_t *doc, const struct ald_node *child)
{
    size_t len = 0;
    char name[128];
    if (!merge_is_plus(child->key, &len) || len >= sizeof name)
        return ald_merge_copy(doc, child, child->key);
    memcpy(name, child->key, len);
    name[len] = '\0';
    return merge_lists(doc, name, child, NULL);
}

static bool merge_inherited(const struct ald_node *base, const char *key)
{
    size_t len = 0;
    char name[128];
    if (ald_node_find(base, key) != NULL)
        return true;
    if (!merge_is_plus(key, &len) || len >= sizeof name)
        return false;
    memcpy(name, key, len);
    name[len] = '\0';
    return ald_node_find(base, name) != NULL;
}

/* Bounded as ald_merge_copy is. NULL: doc is full. */
static struct ald_node *merge_maps(ald_yaml_t *doc, const char *key, const struct ald_node *base,
                                   const struct ald_node *over)
{
    struct ald_node *out = ald_yaml_make(doc, ALD_NODE_MAP, key, NULL, over);
    if (out == NULL)
        return NULL;
    for (const struct ald_node *child = base->first; child != NULL; child = child->next) {
        bool gone = false;
        struct ald_node *own = merge_child(doc, key, child, over, &gone);
        if (own == NULL && !gone)
            return NULL;
        if (own != NULL)
            ald_node_append(out, own);
    }
    for (const struct ald_node *child = over->first; child != NULL; child = child->next) {
        if (merge_inherited(base, child->key) || ald_node_null(child))
            continue;
        struct ald_node *own = merge_new(doc, child);
        if (own == NULL)
            return NULL;
        ald_node_append(out, own);
    }
    return out;
}

/* The nearest name of the other providers, or else of the profiles that come with aldaba. */
static void merge_unknown(struct ald_merge *self, const struct ald_node *node,
                          const struct ald_node *extends)
{
    const char *names[MERGE_NAMES_MAX];
    size_t count = 0;
    const struct ald_node *own = self->providers ? self->providers->first : NULL;
    for (; own != NULL && count < MERGE_OWN_MAX; own = own->next)
        if (strcmp(own->key, node->key) != 0)
            names[count++] = own->key;
    for (size_t i = 0; i < ALD_BUNDLED_COUNT && count < MERGE_NAMES_MAX; i++)
        names[count++] = ALD_BUNDLED[i].name;
    const char *near = ald_text_nearest(extends->text, names, count);
    if (near != NULL)
        ald_errors_add(self->errors, extends,
                       "There is no profile \"%.64s\" to extend; did you mean %.64s?",
                       extends->text, near);
    else
        ald_errors_add(self->errors, extends,
                       "There is no profile \"%.64s\" to extend; 'aldaba provider ls' lists those "
                       "that come with aldaba.",
                       extends->text);
}

/* The profile and what it extends, the last one first. 0: said why. */
static size_t merge_chain(struct ald_merge *self, const struct ald_node *node,
                          const struct ald_node *chain[ALD_MERGE_CHAIN_MAX])
{
    size_t count = 0;
    while (true) {
        if (node->kind != ALD_NODE_MAP) {
            ald_errors_add(self->errors, node, "A profile must hold values by their names.");
            return 0;
        }
        chain[count++] = node;
        const struct ald_node *extends = ald_node_find(node, "extends");
        if (extends == NULL || ald_node_null(extends))
            return count;
        const struct ald_node *own = ald_node_find(self->providers, extends->text);
        bool ring = false;
        for (size_t i = 0; i < count && own != NULL; i++)
            ring = ring || chain[i] == own;
        if (ring) /* a profile may have the name of the bundled one that it extends */
            own = NULL;
        const struct ald_node *next = own != NULL ? own : merge_bundled(self, extends->text);
        if (next == NULL && !ring) {
            merge_unknown(self, node, extends);
            return 0;
        }
        if (next == NULL || count == ALD_MERGE_CHAIN_MAX) {
            ald_errors_add(self->errors, extends,
                           "\"%.64s\" makes too many profiles in a row, or a ring of them.",
                           extends->text);
            return 0;
        }
        node = next;
    }
}

static struct ald_node *merge_fold(ald_yaml_t *doc, const struct ald_node **chain, size_t count,
                                   const char *key)
{
    const struct ald_node *base = chain[count - 1];
    const struct ald_node nothing = {.kind = ALD_NODE_MAP, .text = "", .file = base->file};
    struct ald_node *whole = merge_maps(doc, key, &nothing, base);
    for (size_t i = count - 1; whole != NULL && i-- > 0;) {
        struct ald_node *inherited = ald_yaml_make(doc, ALD_NODE_MAP, key, NULL, base);
        if (inherited == NULL)
            return NULL;
        for (struct ald_node *child = whole->first; child != NULL;) {
            struct ald_node *next = child->next;
            child->next = NULL;
            if (strcmp(child->key, "profile") != 0) /* a name is nobody else's */
                ald_node_append(inherited, child);
            child = next;
        }
        whole = merge_maps(doc, key, inherited, chain[i]);
    }
    return whole;
}

const struct ald_node *ald_merge_profile(struct ald_merge *self, const struct ald_node *node,
                                         ald_yaml_t **doc)
{
    const struct ald_node *chain[ALD_MERGE_CHAIN_MAX];
    *doc = NULL;
    size_t count = merge_chain(self, node, chain);
    if (count == 0)
        return NULL;
    if (count == 1)
        return node;
    struct ald_errors none;
    ald_errors_init(&none);
    enum ald_rc rc = ald_yaml_parse(node->file, ald_span_str(""), 0, &none, doc);
    ald_errors_free(&none);
    ALD_ASSERT(rc == ALD_OK);
    struct ald_node *whole = merge_fold(*doc, chain, count, node->key);
    if (whole == NULL) {
        ald_errors_add(self->errors, node, "The profile and what it extends are too large.");
        ald_yaml_destroy(doc);
        return NULL;
    }
    whole->line = node->line;
    whole->column = node->column;
    return whole;
}
