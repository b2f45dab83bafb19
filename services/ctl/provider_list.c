/* The providers of a settings file, and the descriptions that come with aldaba. Asks nobody. */
#include <string.h>

#include <jansson.h>

#include "common/config/bundled.h"
#include "services/ctl/commands.h"

enum { LIST_TEXT_MAX = 4096 };

static const char *const LIST_HEADS[] = {"name", "is", "described by", "in"};

static const char *list_text(const struct ald_node *provider, const char *key)
{
    const struct ald_node *node = ald_node_find(provider, key);
    return node && node->kind == ALD_NODE_SCALAR && !ald_node_null(node) ? node->text : "";
}

static void list_member(json_t *out, const char *key, const char *text)
{
    if (text[0] != '\0')
        (void)json_object_set_new(out, key, json_string(text));
}

/* A line of JSON; what a provider does not have is left out. */
static void list_json(struct ctl *ctl, const struct ald_node *provider)
{
    json_t *json = json_object();
    list_member(json, "provider", provider->key);
    list_member(json, "extends", list_text(provider, "extends"));
    list_member(json, "family", list_text(provider, "family"));
    list_member(json, "file", provider->file);
    (void)json_object_set_new(json, "line", json_integer(provider->line));
    char *text = json_dumps(json, JSON_COMPACT);
    ALD_ASSERT(text);
    ald_buf_printf(&ctl->out, "%s\n", text);
    free(text);
    json_decref(json);
}

static void list_row(const struct ald_node *provider, table_t *table)
{
    const char *extends = list_text(provider, "extends");
    const char *family = list_text(provider, "family");
    struct ald_buf cell;
    ald_buf_init(&cell, LIST_TEXT_MAX);
    table_put_str(table, provider->key, TONE_PLAIN);
    table_put_str(table, "provider", TONE_GOOD);
    if (extends[0] != '\0')
        ald_buf_printf(&cell, "extends %s", extends);
    else if (family[0] != '\0')
        ald_buf_printf(&cell, "family %s", family);
    else
        ald_buf_put_str(&cell, "rules of its own");
    table_put_str(table, ald_buf_str(&cell), TONE_PLAIN);
    ald_buf_reset(&cell);
    ald_buf_printf(&cell, "%s:%u", provider->file, provider->line);
    table_put_str(table, ald_buf_str(&cell), TONE_DIM);
    ald_buf_free(&cell);
}

static void list_providers(struct ctl *ctl, const struct ald_node *providers, table_t *table)
{
    for (const struct ald_node *one = providers ? providers->first : NULL; one; one = one->next) {
        if (ctl_json(ctl))
            list_json(ctl, one);
        else if (args_has(ctl->args, ARG_QUIET))
            ald_buf_printf(&ctl->out, "%s\n", CTL_SAFE(one->key));
        else
            list_row(one, table);
    }
}

static void list_bundled(struct ctl *ctl, table_t *table)
{
    for (size_t i = 0; i < ALD_BUNDLED_COUNT; i++) {
        if (ctl_json(ctl)) {
            ald_buf_printf(&ctl->out, "{\"profile\":\"%s\"}\n", ALD_BUNDLED[i].name);
            continue;
        }
        table_put_str(table, ALD_BUNDLED[i].name, TONE_PLAIN);
        table_put_str(table, "profile", TONE_DIM);
        table_put_str(table, "comes with aldaba", TONE_DIM);
        table_put_str(table, "", TONE_DIM);
    }
}

int provider_list(struct ctl *ctl, const struct args *args)
{
    struct ald_settings settings;
    int code = ctl_settings(ctl, &settings);
    table_t *table = table_new(LIST_HEADS, ALD_COUNT(LIST_HEADS));
    if (code == CTL_OK)
        list_providers(ctl, settings.providers, table);
    if (!args_has(args, ARG_QUIET))
        list_bundled(ctl, table);
    if (!ctl_json(ctl) && table_rows(table) > 0)
        table_write(table, ctl->color, &ctl->out);
    table_destroy(&table);
    if (code == CTL_OK)
        ald_settings_free(&settings);
    return code;
}
