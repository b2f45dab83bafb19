/* `config schema`: a JSON Schema of the settings file, from the tables that the settings are read
 * by. What depends on several settings, and what providers say by rules, `config check` knows. */
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "common/config/profile_form.h"
#include "common/config/settings.h"
#include "common/config/sinks.h"
#include "services/ctl/commands.h"

/* Where a value may come from the environment, nothing else can be said of it. */
#define SCHEMA_VARIABLE ".*[$][{].*"

enum { SCHEMA_PATTERN_MAX = 1024, SCHEMA_NUMBER_MAX = 24 };

static void schema_put(json_t *to, const char *key, json_t *value)
{
    ALD_ASSERT(value != NULL && json_object_set_new(to, key, value) == 0);
}

static json_t *schema_pattern(const char *pattern)
{
    char both[SCHEMA_PATTERN_MAX];
    (void)snprintf(both, sizeof both, "^(%s|" SCHEMA_VARIABLE ")$", pattern);
    return json_pack("{s:s, s:s}", "type", "string", "pattern", both);
}

/* {type: ...} or a text that names a variable. */
static json_t *schema_or_variable(json_t *value)
{
    return json_pack("{s:[o, o]}", "anyOf", value,
                     json_pack("{s:s, s:s}", "type", "string", "pattern", SCHEMA_VARIABLE));
}

static json_t *schema_int(const struct ald_setting *row, bool percent)
{
    json_t *number = json_pack("{s:s}", "type", "integer");
    if (row->min != 0 || row->max != 0) {
        schema_put(number, "minimum", json_integer(row->min));
        schema_put(number, "maximum", json_integer(row->max));
    }
    return json_pack("{s:[o, o]}", "anyOf", number,
                     schema_pattern(percent ? "[0-9]+%?" : "-?[0-9]+"));
}

static json_t *schema_words(const struct ald_setting *row)
{
    json_t *words = json_array();
    const char *word = row->words;
    while (*word != '\0') {
        size_t len = strcspn(word, " ");
        (void)json_array_append_new(words, json_stringn(word, len));
        word += len + (word[len] == ' ' ? 1 : 0);
    }
    return schema_or_variable(json_pack("{s:o}", "enum", words));
}

static json_t *schema_secret(void)
{
    return json_pack("{s:[{s:s, s:{s:{s:s}}, s:[s], s:b}, {s:s, s:{s:{s:s}}, s:[s], s:b}]}",
                     "oneOf", "type", "object", "properties", "env", "type", "string", "required",
                     "env", "additionalProperties", 0, "type", "object", "properties", "file",
                     "type", "string", "required", "file", "additionalProperties", 0);
}

static json_t *schema_list(const struct ald_setting *row)
{
    json_t *item = (row->flags & ALD_SETTING_MASKED) != 0
                       ? schema_secret()
                       : json_pack("{s:s, s:i, s:i}", "type", "string", "minLength", 1, "maxLength",
                                   ALD_LISTED_MAX - 1);
    return json_pack("{s:s, s:i, s:o}", "type", "array", "maxItems", ALD_TEXTS_MAX, "items", item);
}

static json_t *schema_text(const struct ald_setting *row)
{
    return json_pack("{s:[s, s, s, s], s:I}", "type", "string", "number", "boolean", "null",
                     "maxLength", (json_int_t)row->size - 1);
}

static json_t *schema_value(const struct ald_setting *row)
{
    switch (row->kind) {
    case ALD_SETTING_TEXT:
    case ALD_SETTING_PATH:
        return schema_text(row);
    case ALD_SETTING_ADDRESS:
        return schema_pattern("[^ ]+:[0-9]+");
    case ALD_SETTING_SECRET:
        return schema_secret();
    case ALD_SETTING_WORD:
        return schema_words(row);
    case ALD_SETTING_INT:
        return schema_int(row, false);
    case ALD_SETTING_PERCENT:
        return schema_int(row, true);
    case ALD_SETTING_BOOL:
        return schema_or_variable(json_pack("{s:s}", "type", "boolean"));
    case ALD_SETTING_DURATION:
        return schema_pattern((row->flags & ALD_SETTING_AUTO) != 0 ? "auto|[0-9]+(ms|s|m|h|d)"
                                                                   : "[0-9]+(ms|s|m|h|d)");
    case ALD_SETTING_BYTES:
        return schema_pattern("[0-9]+(B|KiB|MiB|GiB)");
    case ALD_SETTING_LIST:
        return schema_list(row);
    }
    return json_object();
}

/* The properties of the group that a dotted key lies in, made on the way. strict: no others, and of
 * these it is said what they take. */
static json_t *schema_group(json_t *properties, const char **key, bool strict)
{
    for (const char *dot; (dot = strchr(*key, '.')) != NULL; *key = dot + 1) {
        json_t *name = json_stringn(*key, (size_t)(dot - *key));
        json_t *group = json_object_get(properties, json_string_value(name));
        if (group == NULL) {
            group = json_pack("{s:{}}", "properties");
            if (strict)
                schema_put(group, "additionalProperties", json_false());
            if (strict)
                schema_put(group, "type", json_string("object"));
            schema_put(properties, json_string_value(name), group);
        }
        json_decref(name);
        properties = json_object_get(group, "properties");
    }
    return properties;
}

static void schema_row(json_t *properties, const struct ald_setting *row, bool strict)
{
    const char *key = row->key;
    json_t *group = schema_group(properties, &key, strict);
    json_t *value = strict ? schema_value(row) : json_object();
    schema_put(value, "description", json_string(row->help));
    if (row->text[0] != '\0')
        schema_put(value, "default", json_string(row->text));
    schema_put(group, key, value);
}

/* A provider has more than its rows: rules, requests, proofs, budgets. With rules of its own it may
 * write some of them in other ways, and `poll: none` is no map: `provider check` knows. */
static json_t *schema_providers(void)
{
    json_t *properties = json_object();
    for (size_t i = 0; i < ALD_PROFILE_ROW_COUNT; i++)
        schema_row(properties, &ALD_PROFILE_ROWS[i], false);
    return json_pack("{s:[s, s], s:s, s:{s:s, s:o}}", "type", "object", "null", "description",
                     "Providers by their names; docs/PROVIDERS.md says what else each may hold.",
                     "additionalProperties", "type", "object", "properties", properties);
}

static json_t *schema_sinks(void)
{
    const struct ald_setting_table *table = ald_sinks_table();
    json_t *properties = json_pack("{s:o, s:{s:s, s:i, s:o}}", "secret", schema_secret(), "secrets",
                                   "type", "array", "minItems", 1, "items", schema_secret());
    for (size_t i = 0; i < table->count; i++)
        schema_row(properties, &table->rows[i], true);
    return json_pack("{s:[s, s], s:s, s:{s:s, s:b, s:o}}", "type", "object", "null", "description",
                     "Addresses that events are posted to, by their names.", "additionalProperties",
                     "type", "object", "additionalProperties", 0, "properties", properties);
}

static json_t *schema_all(void)
{
    const struct ald_setting_table *table = ald_settings_table();
    json_t *properties = json_object();
    for (size_t i = 0; i < table->count; i++)
        schema_row(properties, &table->rows[i], true);
    schema_put(properties, "providers", schema_providers());
    schema_put(properties, "sinks", schema_sinks());
    return json_pack("{s:s, s:s, s:s, s:o, s:b}", "$schema",
                     "https://json-schema.org/draft/2020-12/schema", "title", "aldaba.yaml", "type",
                     "object", "properties", properties, "additionalProperties", 0);
}

int config_schema(struct ctl *ctl, const struct args *args)
{
    json_t *schema = schema_all();
    char *text = json_dumps(schema, args_has(args, ARG_JSON) ? JSON_COMPACT : JSON_INDENT(2));
    ALD_ASSERT(text != NULL);
    ald_buf_printf(&ctl->out, "%s\n", text);
    free(text);
    json_decref(schema);
    return CTL_OK;
}
