/* Any bytes as a settings file: read, or refused with a sentence. */
#include <string.h>

#include "common/config/profile.h"
#include "common/config/settings.h"
#include "common/config/settings_rows.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What was refused must say why, in lines that a terminal can show. */
static void settings_said(struct ald_errors *errors, bool ok)
{
    const char *text = ald_errors_text(errors);
    ALD_ASSERT(ok == (errors->count == 0));
    ALD_ASSERT(ok || text[0] != '\0');
    for (; *text != '\0'; text++)
        ALD_ASSERT(*text == '\n' || ((uint8_t)*text >= 0x20 && *text != 0x7f));
}

static void settings_take(const ald_yaml_t *yaml, struct ald_errors *errors)
{
    struct ald_settings settings = {0};
    ald_profiles_t *profiles = NULL;
    struct ald_setting_table table = ALD_SETTINGS_TABLE;
    const struct ald_node *root = ald_yaml_root(yaml);
    table.unresolved = true; /* no file is read that an input names */
    ald_setting_defaults(&table, &settings);
    ald_setting_take_tree(&table, root, errors, &settings);
    struct ald_buf out;
    ald_buf_init(&out, 1 << 20);
    ald_setting_print(&table, &settings, 0, &out);
    ald_profiles_print(ald_node_find(root, "providers"), &out);
    ald_buf_free(&out);
    const struct ald_node *providers = ald_node_find(root, "providers");
    enum ald_rc rc = ALD_OK;
    if (providers != NULL && providers->kind == ALD_NODE_MAP)
        rc = ald_profiles_load(providers, 0, errors, &profiles);
    if (rc == ALD_OK && profiles != NULL)
        (void)!ald_profiles_fit(profiles, providers, settings.bus.max_item_bytes, errors);
    settings_said(errors, errors->count == 0);
    ald_profiles_destroy(&profiles);
}

static void settings_parse(struct ald_span text, unsigned flags)
{
    struct ald_errors errors;
    ald_yaml_t *yaml = NULL;
    ald_errors_init(&errors);
    enum ald_rc rc = ald_yaml_parse("f.yaml", text, flags, &errors, &yaml);
    settings_said(&errors, rc == ALD_OK);
    if (rc == ALD_OK)
        settings_take(yaml, &errors);
    ald_yaml_destroy(&yaml);
    ald_errors_free(&errors);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    settings_parse(ald_span_of(data, size), 0);
    settings_parse(ald_span_of(data, size), ALD_YAML_ALIASES);
    return 0;
}
