/* Commands that ask nobody: settings. */
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "common/base/text.h"
#include "common/config/fit.h"
#include "services/ctl/commands.h"

enum { LOCAL_PRINT_MAX = 4 << 20 };

/* Profiles without their secrets: whoever checks need not have them. */
static int local_check_profiles(const struct ald_settings *settings, size_t *count)
{
    struct ald_errors errors;
    ald_profiles_t *profiles = NULL;
    ald_errors_init(&errors);
    if (ald_profiles_load(settings->providers, 0, &errors, &profiles) == ALD_OK) {
        *count = ald_profiles_count(profiles);
        (void)!ald_settings_fit(settings, profiles, &errors);
    }
    int code = ctl_settings_wrong(&errors);
    ald_profiles_destroy(&profiles);
    ald_errors_free(&errors);
    return code;
}

/* Defaults alone are always good, and no provider is described by them: whoever checks meant a
 * file. */
static int local_no_file(void)
{
    ctl_say("There is no settings file to check: $ALDABA_CONFIG is not set, and "
            "/etc/aldaba/aldaba.yaml is not there. Name one with --config.");
    return CTL_CONFIG;
}

int local_config_check(struct ctl *ctl, const struct args *args)
{
    struct ald_settings settings;
    size_t profiles = 0;
    int code = ctl_settings(ctl, &settings);
    if (code != CTL_OK)
        return code;
    code = settings.file[0] != '\0' ? local_check_profiles(&settings, &profiles) : local_no_file();
    if (code == CTL_OK && !args_has(args, ARG_QUIET)) {
        ald_buf_printf(&ctl->out, "%s: good, with %zu provider%s; secrets were not looked up\n",
                       CTL_SAFE(settings.file), profiles, profiles == 1 ? "" : "s");
        if (profiles == 0)
            ctl_say("Nobody can call back until a provider is described under providers: in it.");
    }
    ald_settings_free(&settings);
    return code;
}

/* ---- print ---- */

/* What is printed as YAML, as JSON. What stands in quotes there is a text. */
static json_t *local_scalar(const struct ald_node *node)
{
    int64_t number = 0;
    if (!node->quoted && ald_text_i64(ald_span_str(node->text), &number) == ALD_OK)
        return json_integer(number);
    if (!node->quoted && strcmp(node->text, "true") == 0)
        return json_true();
    if (!node->quoted && strcmp(node->text, "false") == 0)
        return json_false();
    json_t *text = json_string(node->text);
    return text ? text : json_null(); /* not UTF-8 */
}

/* Deep as the keys of settings have parts; the reader of YAML bounds it in any case. */
static json_t *local_json(const struct ald_node *node)
{
    if (node->kind == ALD_NODE_SCALAR)
        return local_scalar(node);
    json_t *json = node->kind == ALD_NODE_MAP ? json_object() : json_array();
    for (const struct ald_node *child = node->first; child != NULL; child = child->next)
        (void)(node->kind == ALD_NODE_MAP ? json_object_set_new(json, child->key, local_json(child))
                                          : json_array_append_new(json, local_json(child)));
    return json;
}

static bool local_print_json(struct ald_span yaml, struct ald_buf *out)
{
    struct ald_errors errors;
    ald_yaml_t *tree = NULL;
    ald_errors_init(&errors);
    bool ok = ald_yaml_parse("settings", yaml, 0, &errors, &tree) == ALD_OK;
    json_t *json = ok ? local_json(ald_yaml_root(tree)) : NULL;
    char *text = json ? json_dumps(json, JSON_COMPACT) : NULL;
    if (text)
        ald_buf_printf(out, "%s\n", text);
    free(text);
    json_decref(json);
    ald_yaml_destroy(&tree);
    ald_errors_free(&errors);
    return text != NULL;
}

int local_config_print(struct ctl *ctl, const struct args *args)
{
    struct ald_settings settings;
    struct ald_buf yaml;
    size_t profiles = 0;
    (void)args;
    int code = ctl_settings(ctl, &settings);
    if (code != CTL_OK)
        return code;
    code = local_check_profiles(&settings, &profiles);
    ald_buf_init(&yaml, LOCAL_PRINT_MAX);
    ald_settings_print(&settings, &yaml);
    if (code == CTL_OK && !ctl_json(ctl)) {
        ald_buf_put_span(&ctl->out, ald_buf_span(&yaml));
    } else if (code == CTL_OK && !local_print_json(ald_buf_span(&yaml), &ctl->out)) {
        ctl_say("The settings are too large to be printed as JSON; print them without --json.");
        code = CTL_FAILED;
    }
    ald_buf_free(&yaml);
    ald_settings_free(&settings);
    return code;
}
