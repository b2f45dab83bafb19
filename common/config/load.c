#include "common/config/load.h"

#include <string.h>

#include "common/base/text.h"

static const int64_t LOAD_DURATION_MAX_MS = INT64_C(365) * 86400000;

bool ald_load_none(const struct ald_node *node)
{
    return node == NULL || ald_node_null(node) ||
           (node->kind == ALD_NODE_SCALAR && strcmp(node->text, "none") == 0);
}

static size_t load_count(const char *const *words)
{
    size_t count = 0;
    while (words[count] != NULL)
        count++;
    return count;
}

static int load_find(const char *const *words, const char *word)
{
    for (int i = 0; words[i] != NULL; i++)
        if (strcmp(words[i], word) == 0)
            return i;
    return -1;
}

bool ald_load_keys(struct ald_load *self, const struct ald_node *map, const char *what,
                   const char *const *keys)
{
    bool good = true;
    if (map->kind != ALD_NODE_MAP) {
        ald_errors_add(self->errors, map, "%s must hold values by their names.", what);
        return false;
    }
    for (const struct ald_node *node = map->first; node != NULL; node = node->next) {
        if (load_find(keys, node->key) >= 0)
            continue;
        const char *near = ald_text_nearest(node->key, keys, load_count(keys));
        ald_errors_add(self->errors, node,
                       near != NULL ? "%s has no key %.64s; did you mean %s?"
                                    : "%s has no key %.64s.%s",
                       what, node->key, near != NULL ? near : "");
        good = false;
    }
    return good;
}

const char *ald_load_text(struct ald_load *self, const struct ald_node *node, size_t max)
{
    size_t len = strlen(node->text);
    if (node->kind == ALD_NODE_SCALAR && !ald_node_null(node) && len > 0 && len <= max)
        return ald_arena_text(self->arena, node->text);
    ald_errors_add(self->errors, node, "%s must be a text of 1 to %zu bytes.",
                   node->key != NULL ? node->key : "This", max);
    return NULL;
}

int64_t ald_load_int(struct ald_load *self, const struct ald_node *node, int64_t min, int64_t max,
                     int64_t fallback)
{
    int64_t value = 0;
    if (node == NULL)
        return fallback;
    if (node->kind == ALD_NODE_SCALAR && ald_text_i64(ald_span_str(node->text), &value) == ALD_OK &&
        value >= min && value <= max)
        return value;
    ald_errors_add(self->errors, node, "%s must be a whole number from %lld to %lld.",
                   node->key != NULL ? node->key : "This", (long long)min, (long long)max);
    return fallback;
}

bool ald_load_bool(struct ald_load *self, const struct ald_node *node, bool fallback)
{
    if (node == NULL)
        return fallback;
    if (strcmp(node->text, "true") == 0 || strcmp(node->text, "false") == 0)
        return node->text[0] == 't';
    ald_errors_add(self->errors, node, "%s must be true or false.", node->key);
    return fallback;
}

int64_t ald_load_duration(struct ald_load *self, const struct ald_node *node, int64_t fallback)
{
    int64_t value = 0;
    if (node == NULL)
        return fallback;
    if (node->kind == ALD_NODE_SCALAR &&
        ald_text_duration_ms(ald_span_str(node->text), &value) == ALD_OK && value >= 0 &&
        value <= LOAD_DURATION_MAX_MS)
        return value;
    ald_errors_add(self->errors, node,
                   "%s must be a time with its unit, such as 250ms, 30s, 5m or 24h.", node->key);
    return fallback;
}

int64_t ald_load_wait(struct ald_load *self, const struct ald_node *node, bool *retry_after)
{
    static const char word[] = "retry-after";
    *retry_after = false;
    if (node == NULL)
        return 0;
    if (node->kind != ALD_NODE_SCALAR || strncmp(node->text, word, sizeof word - 1) != 0)
        return ald_load_duration(self, node, 0);
    *retry_after = true;
    const char *rest = node->text + sizeof word - 1;
    int64_t value = 0;
    if (rest[0] == '\0')
        return 0;
    if (rest[0] == '|' && ald_text_duration_ms(ald_span_str(rest + 1), &value) == ALD_OK &&
        value >= 0 && value <= LOAD_DURATION_MAX_MS)
        return value;
    ald_errors_add(self->errors, node, "%s must be a time, retry-after, or retry-after|10s.",
                   node->key);
    return 0;
}

int ald_load_word(struct ald_load *self, const struct ald_node *node, const char *const *words)
{
    int found = node->kind == ALD_NODE_SCALAR ? load_find(words, node->text) : -1;
    if (found >= 0)
        return found;
    struct ald_buf list;
    ald_buf_init(&list, 300);
    for (size_t i = 0; words[i] != NULL; i++)
        ald_buf_printf(&list, "%s%s", i > 0 ? ", " : "", words[i]);
    ald_errors_add(self->errors, node, "%s is \"%.60s\"; it must be one of %s.",
                   node->key != NULL ? node->key : "This", node->text, ald_buf_str(&list));
    ald_buf_free(&list);
    return -1;
}
