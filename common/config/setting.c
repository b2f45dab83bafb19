#include "common/config/setting.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "common/base/text.h"
#include "common/config/cidr.h"
#include "common/config/setting_value.h"

enum { SETTING_KEY_MAX = 128, SETTING_ROWS_MAX = 128, SETTING_LEVEL_MAX = 128 };

static const char SETTING_PREFIX[] = "ALDABA__";

static const struct ald_setting *setting_find(const struct ald_setting_table *table,
                                              const char *key)
{
    for (size_t i = 0; i < table->count; i++)
        if (strcmp(table->rows[i].key, key) == 0)
            return &table->rows[i];
    return NULL;
}

static bool setting_listed(const char *const *words, const char *word)
{
    for (size_t i = 0; words != NULL && words[i] != NULL; i++)
        if (strcmp(words[i], word) == 0)
            return true;
    return false;
}

/* written is the key as the person wrote it, key how it stands in the table. */
static void setting_unknown(const struct ald_setting_table *table, const struct ald_node *at,
                            const char *written, const char *key, struct ald_errors *errors)
{
    const char *names[SETTING_ROWS_MAX];
    ALD_ASSERT(table->count <= SETTING_ROWS_MAX);
    for (size_t i = 0; i < table->count; i++)
        names[i] = table->rows[i].key;
    const char *near = ald_text_nearest(key, names, table->count);
    if (near != NULL)
        ald_errors_add(errors, at, "There is no setting %.100s; did you mean %s?", written, near);
    else
        ald_errors_add(errors, at, "There is no setting %.100s.", written);
}

void ald_setting_defaults(const struct ald_setting_table *table, void *out)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct ald_setting *row = &table->rows[i];
        void *field = (char *)out + row->offset;
        if (row->kind == ALD_SETTING_SECRET || row->kind == ALD_SETTING_LIST) {
            ALD_ASSERT(row->text[0] == '\0');
            memset(field, 0, row->size);
            continue;
        }
        struct ald_err err = {0};
        bool taken = ald_setting_parse(row, row->text, field, &err);
        ALD_ASSERT(taken);
    }
}

bool ald_setting_secret(const struct ald_node *node, bool resolve, struct ald_errors *errors,
                        char *out, size_t cap)
{
    out[0] = '\0';
    const struct ald_node *ref = node->kind == ALD_NODE_MAP ? node->first : NULL;
    bool env = ref != NULL && strcmp(ref->key, "env") == 0;
    bool file = ref != NULL && strcmp(ref->key, "file") == 0;
    if (node->count != 1 || (!env && !file) || ref->kind != ALD_NODE_SCALAR ||
        ref->text[0] == '\0') {
        ald_errors_add(errors, node, "A secret is written as {env: VAR} or {file: PATH}.");
        return false;
    }
    struct ald_err err = {0};
    bool ok = !resolve || (env ? ald_secret_from_env(ref->text, out, cap, &err)
                               : ald_secret_from_file(ref->text, out, cap, &err));
    if (!ok)
        ald_errors_add(errors, ref, "%s", err.text);
    return ok;
}

/* A reference to a secret where there is no YAML: env:VAR or file:PATH. */
static bool setting_secret_text(const char *text, char *out, size_t cap, struct ald_err *err)
{
    if (strncmp(text, "env:", 4) == 0)
        return ald_secret_from_env(text + 4, out, cap, err);
    if (strncmp(text, "file:", 5) == 0)
        return ald_secret_from_file(text + 5, out, cap, err);
    (void)ald_err_set(err, ALD_INVALID, "A secret is written as env:VAR or file:PATH.");
    return false;
}

static const char SETTING_NO_BLOCK[] =
    "A value of %s is \"%.60s\"; it must be an address, or a block of them such as 10.0.0.0/8.";

static bool setting_block_ok(const struct ald_setting *row, const char *text)
{
    struct ald_cidr block;
    return (row->flags & ALD_SETTING_BLOCKS) == 0 || ald_cidr_parse(text, &block) == ALD_OK;
}

static void setting_take_list(const struct ald_setting_table *table, const struct ald_setting *row,
                              const struct ald_node *node, struct ald_errors *errors, void *field)
{
    struct ald_texts list = {0};
    if (node->kind != ALD_NODE_LIST) {
        ald_errors_add(errors, node, "%s must be a list.", row->key);
        return;
    }
    for (const struct ald_node *item = node->first; item != NULL; item = item->next) {
        char *slot = list.item[list.count];
        if (list.count == ALD_TEXTS_MAX) {
            ald_errors_add(errors, item, "%s takes at most %d values.", row->key, ALD_TEXTS_MAX);
            return;
        }
        if ((row->flags & ALD_SETTING_MASKED) != 0) {
            if (!ald_setting_secret(item, !table->unresolved, errors, slot, ALD_LISTED_MAX))
                continue;
        } else if (item->kind != ALD_NODE_SCALAR || item->text[0] == '\0' ||
                   ald_text_copy(slot, ALD_LISTED_MAX, ald_span_str(item->text)) != ALD_OK) {
            ald_errors_add(errors, item, "A value of %s must be a text of 1 to %d bytes.", row->key,
                           ALD_LISTED_MAX - 1);
            continue;
        } else if (!setting_block_ok(row, slot)) {
            ald_errors_add(errors, item, SETTING_NO_BLOCK, row->key, slot);
            continue;
        }
        list.count++;
    }
    memcpy(field, &list, sizeof list);
}

static void setting_take_node(const struct ald_setting_table *table, const struct ald_setting *row,
                              const struct ald_node *node, struct ald_errors *errors, void *out)
{
    void *field = (char *)out + row->offset;
    struct ald_err err = {0};
    if (row->kind == ALD_SETTING_LIST)
        setting_take_list(table, row, node, errors, field);
    else if (row->kind == ALD_SETTING_SECRET)
        (void)!ald_setting_secret(node, !table->unresolved, errors, field, row->size);
    else if (node->kind != ALD_NODE_SCALAR)
        ald_errors_add(errors, node, "%s must be a single value.", row->key);
    else if (ald_node_null(node))
        ald_errors_add(errors, node, "%s has no value; leave it out, or write \"\".", row->key);
    else if (node->template)
        ald_errors_add(errors, node, "%s: a variable's name is upper case; $$ is a dollar.",
                       row->key);
    else if (!ald_setting_parse(row, node->text, field, &err))
        ald_errors_add(errors, node, "%s", err.text);
}

/* How far the keys that begin with `prefix.` agree with it, the dot included; 0: this one does not.
 */
static size_t setting_below(const struct ald_setting *row, const char *prefix)
{
    size_t len = strlen(prefix);
    if (len == 0)
        return 0;
    return strncmp(row->key, prefix, len) == 0 && row->key[len] == '.' ? len + 1 : 0;
}

static bool setting_is_group(const struct ald_setting_table *table, const char *prefix)
{
    for (size_t i = 0; i < table->count; i++)
        if (setting_below(&table->rows[i], prefix) > 0)
            return true;
    return false;
}

/* Nothing is called prefix + word: say so, with the nearest name of that level. */
static void setting_no_such(const struct ald_setting_table *table, const char *prefix,
                            const struct ald_node *node, struct ald_errors *errors)
{
    char names[SETTING_LEVEL_MAX][SETTING_KEY_MAX];
    const char *list[SETTING_LEVEL_MAX + 16];
    size_t count = 0;
    for (size_t i = 0; i < table->count && count < SETTING_LEVEL_MAX; i++) {
        const char *key = table->rows[i].key + setting_below(&table->rows[i], prefix);
        if (prefix[0] != '\0' && key == table->rows[i].key)
            continue;
        if (ald_text_copy(names[count], SETTING_KEY_MAX, ald_span_of(key, strcspn(key, "."))) !=
            ALD_OK)
            continue;
        list[count] = names[count];
        count++;
    }
    size_t skip = prefix[0] == '\0' ? 0 : strlen(prefix) + 1;
    for (size_t i = 0; table->foreign != NULL && i < 16 && table->foreign[i] != NULL; i++) {
        const char *key = table->foreign[i];
        bool below = strncmp(key, prefix, strlen(prefix)) == 0 && strlen(key) > skip &&
                     (skip == 0 || key[skip - 1] == '.');
        if (below && strchr(key + skip, '.') == NULL && key[skip] != '*')
            list[count++] = key + skip;
    }
    const char *dot = prefix[0] == '\0' ? "" : ".";
    const char *near = ald_text_nearest(node->key, list, count);
    if (near != NULL)
        ald_errors_add(errors, node, "There is no setting %s%s%.64s; did you mean %s%s%s?", prefix,
                       dot, node->key, prefix, dot, near);
    else
        ald_errors_add(errors, node, "There is no setting %s%s%.64s.", prefix, dot, node->key);
}

/* Is what has no row in this group somebody else's? */
static bool setting_rest_foreign(const struct ald_setting_table *table, const char *prefix)
{
    size_t len = strlen(prefix);
    for (size_t i = 0; len > 0 && table->foreign != NULL && table->foreign[i] != NULL; i++)
        if (strncmp(table->foreign[i], prefix, len) == 0 &&
            strcmp(table->foreign[i] + len, ".*") == 0)
            return true;
    return false;
}

/* Take the children of one map; its own key is prefix. Ends: each level adds a part to a key, and
 * keys are bounded. */
static void setting_take_map(const struct ald_setting_table *table, const char *prefix,
                             const struct ald_node *map, struct ald_errors *errors, void *out)
{
    if (ald_node_null(map))
        return;
    if (map->kind != ALD_NODE_MAP) {
        ald_errors_add(errors, map, "%s must hold settings by their names.",
                       prefix[0] == '\0' ? "This" : prefix);
        return;
    }
    for (const struct ald_node *node = map->first; node != NULL; node = node->next) {
        char key[SETTING_KEY_MAX];
        int len =
            snprintf(key, sizeof key, "%s%s%s", prefix, prefix[0] == '\0' ? "" : ".", node->key);
        const struct ald_setting *row =
            len < 0 || (size_t)len >= sizeof key ? NULL : setting_find(table, key);
        if (setting_listed(table->foreign, key) ||
            (row == NULL && setting_rest_foreign(table, prefix)))
            continue;
        if (row != NULL)
            setting_take_node(table, row, node, errors, out);
        else if (setting_is_group(table, key))
            setting_take_map(table, key, node, errors, out);
        else
            setting_no_such(table, prefix, node, errors);
    }
}

void ald_setting_take_tree(const struct ald_setting_table *table, const struct ald_node *root,
                           struct ald_errors *errors, void *out)
{
    setting_take_map(table, "", root, errors, out);
}

/* A list outside of YAML: values separated by commas. */
static bool setting_list_text(const struct ald_setting *row, const char *text, void *field,
                              struct ald_err *err)
{
    struct ald_texts list = {0};
    bool masked = (row->flags & ALD_SETTING_MASKED) != 0;
    while (*text != '\0') {
        char word[ALD_LISTED_MAX];
        size_t len = strcspn(text, ",");
        if (list.count == ALD_TEXTS_MAX || len == 0 ||
            ald_text_copy(word, sizeof word, ald_span_of(text, len)) != ALD_OK) {
            (void)ald_err_set(err, ALD_INVALID,
                              "%s takes up to %d values of 1 to %d bytes, separated by commas.",
                              row->key, ALD_TEXTS_MAX, ALD_LISTED_MAX - 1);
            return false;
        }
        if (!setting_block_ok(row, word)) {
            (void)ald_err_set(err, ALD_INVALID, SETTING_NO_BLOCK, row->key, word);
            return false;
        }
        char *slot = list.item[list.count++];
        if (!masked)
            memcpy(slot, word, len + 1);
        else if (!setting_secret_text(word, slot, ALD_LISTED_MAX, err))
            return false;
        text += len + (text[len] == ',' ? 1 : 0);
    }
    memcpy(field, &list, sizeof list);
    return true;
}

/* A value given outside of a file; written is its name there. */
static void setting_take_text(const struct ald_setting_table *table, const struct ald_node *at,
                              const char *written, const char *key, const char *text,
                              struct ald_errors *errors, void *out)
{
    const struct ald_setting *row = setting_find(table, key);
    if (row == NULL) {
        setting_unknown(table, at, written, key, errors);
        return;
    }
    void *field = (char *)out + row->offset;
    struct ald_err err = {0};
    bool ok = false;
    if (row->kind == ALD_SETTING_LIST)
        ok = setting_list_text(row, text, field, &err);
    else if (row->kind == ALD_SETTING_SECRET)
        ok = setting_secret_text(text, field, row->size, &err);
    else
        ok = ald_setting_parse(row, text, field, &err);
    if (!ok)
        ald_errors_add(errors, at, "%s: %s", written, err.text);
}

/* ALDABA__GATEWAY__PUBLIC_URL is gateway.public_url. */
static bool setting_key_of_variable(struct ald_span name, char *out, size_t cap)
{
    size_t len = 0;
    for (size_t i = 0; i < name.len; i++) {
        if (len + 1 >= cap)
            return false;
        bool level = name.data[i] == '_' && i + 1 < name.len && name.data[i + 1] == '_';
        out[len++] = level ? '.' : (char)tolower(name.data[i]);
        i += level ? 1 : 0;
    }
    out[len] = '\0';
    return true;
}

void ald_setting_take_environment(const struct ald_setting_table *table,
                                  const char *const *environment, struct ald_errors *errors,
                                  void *out)
{
    const struct ald_node at = {.file = "environment"};
    for (size_t i = 0; environment[i] != NULL; i++) {
        const char *entry = environment[i];
        const char *equals = strchr(entry, '=');
        if (strncmp(entry, SETTING_PREFIX, sizeof SETTING_PREFIX - 1) != 0 || equals == NULL)
            continue;
        const char *name = entry + sizeof SETTING_PREFIX - 1;
        char key[SETTING_KEY_MAX];
        char written[SETTING_KEY_MAX];
        ald_text_cut(written, sizeof written, ald_span_of(entry, (size_t)(equals - entry)));
        if (!setting_key_of_variable(ald_span_of(name, (size_t)(equals - name)), key, sizeof key))
            ald_errors_add(errors, &at, "There is no setting %s.", written);
        else
            setting_take_text(table, &at, written, key, equals + 1, errors, out);
    }
}

void ald_setting_take_flag(const struct ald_setting_table *table, const char *flag,
                           struct ald_errors *errors, void *out)
{
    const struct ald_node at = {.file = "command line"};
    const char *equals = strchr(flag, '=');
    char key[SETTING_KEY_MAX];
    if (equals == NULL ||
        ald_text_copy(key, sizeof key, ald_span_of(flag, (size_t)(equals - flag))) != ALD_OK) {
        ald_errors_add(errors, &at, "Write a setting as section.key=value, not %.100s.", flag);
        return;
    }
    setting_take_text(table, &at, key, key, equals + 1, errors, out);
}

/* How much of both keys is the same groups: `a.b.c` and `a.b.d` share `a.b.`. */
static size_t setting_shared(const char *one, const char *other)
{
    size_t shared = 0;
    for (size_t i = 0; one[i] != '\0' && one[i] == other[i]; i++)
        if (one[i] == '.')
            shared = i + 1;
    return shared;
}

/* The groups of key that the row before did not open, and then its own name. */
static void setting_print_key(const char *key, const char *before, unsigned indent,
                              struct ald_buf *out)
{
    size_t shared = setting_shared(key, before);
    unsigned depth = indent;
    for (size_t i = 0; i < shared; i++)
        depth += key[i] == '.' ? 2 : 0;
    for (const char *at = key + shared;; depth += 2) {
        size_t len = strcspn(at, ".");
        ald_buf_printf(out, "%*s%.*s:", (int)depth, "", (int)len, at);
        if (at[len] == '\0')
            return;
        ald_buf_put_byte(out, '\n');
        at += len + 1;
    }
}

void ald_setting_print(const struct ald_setting_table *table, const void *in, unsigned indent,
                       struct ald_buf *out)
{
    const char *before = "";
    for (size_t i = 0; i < table->count; i++) {
        const struct ald_setting *row = &table->rows[i];
        char top[SETTING_KEY_MAX];
        ald_text_cut(top, sizeof top, ald_span_of(row->key, strcspn(row->key, ".")));
        if (setting_listed(table->foreign, top) || setting_listed(table->foreign, row->key))
            continue;
        setting_print_key(row->key, before, indent, out);
        ald_buf_put_byte(out, ' ');
        ald_setting_write(row, (const char *)in + row->offset, out);
        ald_buf_put_byte(out, '\n');
        before = row->key;
    }
}
