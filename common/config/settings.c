#include "common/config/settings.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/text.h"
#include "common/config/profile.h"
#include "common/config/settings_rows.h"

enum { SETTINGS_DOCS_MAX = 4097 };

static const char SETTINGS_FILE[] = "/etc/aldaba/aldaba.yaml";
static const char SETTINGS_FOLDER[] = "providers.d";

/* The files that the providers are spread over, kept as long as the settings. */
struct ald_settings_docs {
    size_t count;
    ald_yaml_t *doc[SETTINGS_DOCS_MAX];
};

static void settings_docs_free(struct ald_settings_docs *docs)
{
    for (size_t i = 0; i < docs->count; i++)
        ald_yaml_destroy(&docs->doc[i]);
    free(docs);
}

/* The profile of one file stands for providers.<its name>. */
static void settings_add_profile(ald_yaml_t *home, struct ald_node *providers,
                                 const struct ald_node *root, struct ald_errors *errors)
{
    const struct ald_node *name = ald_node_find(root, "profile");
    if (name == NULL || name->kind != ALD_NODE_SCALAR || name->text[0] == '\0') {
        ald_errors_add(errors, root,
                       "A file of providers.d must name its profile: `profile: NAME`.");
        return;
    }
    const struct ald_node *first = ald_node_find(providers, name->text);
    if (first != NULL) {
        ald_errors_add(errors, name, "The profile %.64s is already given in %.200s on line %u.",
                       name->text, first->file, first->line);
        return;
    }
    struct ald_node *node = ald_yaml_make(home, ALD_NODE_MAP, name->text, NULL, name);
    if (node == NULL) {
        ald_errors_add(errors, name, "There are too many profiles.");
        return;
    }
    node->first = root->first;
    node->last = root->last;
    node->count = root->count;
    ald_node_append(providers, node);
}

static int settings_yaml_name(const struct dirent *entry)
{
    size_t len = strlen(entry->d_name);
    return entry->d_name[0] != '.' && len > 5 && strcmp(entry->d_name + len - 5, ".yaml") == 0;
}

static void settings_read_profile(struct ald_settings_docs *docs, struct ald_node *providers,
                                  const char *path, struct ald_errors *errors)
{
    const struct ald_node at = {.file = path};
    ald_yaml_t *doc = NULL;
    if (docs->count == SETTINGS_DOCS_MAX)
        ald_errors_add(errors, &at, "There are more than %d files.", SETTINGS_DOCS_MAX - 1);
    else
        (void)!ald_yaml_load(path, ALD_YAML_ALIASES | ALD_YAML_GO_ON, errors, &doc);
    if (doc != NULL) {
        docs->doc[docs->count++] = doc;
        settings_add_profile(docs->doc[0], providers, ald_yaml_root(doc), errors);
    }
}

/* Read providers.d beside the file, in the order of the names. */
static void settings_read_folder(struct ald_settings_docs *docs, struct ald_node *providers,
                                 const char *file, struct ald_errors *errors)
{
    struct ald_buf folder;
    ald_buf_init(&folder, ALD_PATH_MAX);
    const char *slash = strrchr(file, '/');
    ald_buf_printf(&folder, "%.*s%s", slash == NULL ? 0 : (int)(slash - file) + 1, file,
                   SETTINGS_FOLDER);
    struct dirent **entries = NULL;
    int count = scandir(ald_buf_str(&folder), &entries, settings_yaml_name, alphasort);
    if (count < 0 && errno != ENOENT) {
        const struct ald_node at = {.file = ald_buf_str(&folder)};
        ald_errors_add(errors, &at, "The folder can't be read: %s.", strerror(errno));
    }
    for (int i = 0; i < count; i++) {
        struct ald_buf path;
        ald_buf_init(&path, 2 * ALD_PATH_MAX);
        ald_buf_printf(&path, "%s/%s", ald_buf_str(&folder), entries[i]->d_name);
        settings_read_profile(docs, providers, ald_buf_str(&path), errors);
        ald_buf_free(&path);
        free(entries[i]);
    }
    free(entries);
    ald_buf_free(&folder);
}

/* Gather the inline profiles and those of the folder under one node. */
static const struct ald_node *settings_providers(struct ald_settings_docs *docs, const char *file,
                                                 struct ald_errors *errors)
{
    ald_yaml_t *home = docs->doc[0];
    const struct ald_node *inline_ones = ald_node_find(ald_yaml_root(home), "providers");
    if (inline_ones != NULL && inline_ones->kind != ALD_NODE_MAP && !ald_node_null(inline_ones)) {
        ald_errors_add(errors, inline_ones, "providers must hold profiles by their names.");
        return NULL;
    }
    struct ald_node *all = ald_yaml_make(home, ALD_NODE_MAP, NULL, NULL, inline_ones);
    if (all == NULL) {
        ald_errors_add(errors, inline_ones, "There are too many values.");
        return NULL;
    }
    if (inline_ones != NULL) {
        all->first = inline_ones->first;
        all->last = inline_ones->last;
        all->count = inline_ones->count;
    }
    settings_read_folder(docs, all, file, errors);
    return all->count == 0 ? NULL : all;
}

/* Which file to read; *must says that it was asked for by name. */
static const char *settings_path(const char *path, bool *must)
{
    const char *named = path != NULL ? path : getenv("ALDABA_CONFIG");
    *must = named != NULL && named[0] != '\0';
    return *must ? named : SETTINGS_FILE;
}

static void settings_read_file(const char *path, bool must, struct ald_errors *errors,
                               struct ald_settings *out)
{
    if (!must && access(path, F_OK) != 0)
        return;
    const struct ald_node at = {.file = path};
    if (ald_text_copy(out->file, sizeof out->file, ald_span_str(path)) != ALD_OK) {
        ald_errors_add(errors, &at, "The path is too long.");
        return;
    }
    ald_yaml_t *doc = NULL;
    (void)!ald_yaml_load(path, ALD_YAML_PROFILE_ALIASES | ALD_YAML_GO_ON, errors, &doc);
    if (doc == NULL)
        return;
    out->docs->doc[out->docs->count++] = doc;
    if (ald_yaml_root(doc)->line == 0) { /* {} has a place, nothing has none */
        ald_errors_add(errors, &at,
                       "The file is empty: it may be half written. Settings that say nothing are "
                       "written as {}.");
        return;
    }
    ald_setting_take_tree(&ALD_SETTINGS_TABLE, ald_yaml_root(doc), errors, out);
    out->providers = settings_providers(out->docs, path, errors);
}

const struct ald_node *ald_settings_node(const struct ald_settings *self, const char *key)
{
    if (self->docs == NULL || self->docs->count == 0)
        return NULL;
    return ald_node_at(ald_yaml_root(self->docs->doc[0]), key);
}

/* Two settings that do not go together: the place is that of the one that is written down. */
static void settings_clash(const struct ald_settings *self, const char *key, const char *sentence,
                           const char *other, struct ald_errors *errors)
{
    const struct ald_node nowhere = {.file = self->file[0] == '\0' ? "settings" : self->file};
    const struct ald_node *at = ald_settings_node(self, key);
    if (at == NULL)
        at = ald_settings_node(self, other);
    ald_errors_add(errors, at != NULL ? at : &nowhere, "%s %s %s.", key, sentence, other);
}

/* It becomes part of the names of a socket and a folder. */
static void settings_check_name(const struct ald_settings *self, const struct ald_node *at,
                                struct ald_errors *errors)
{
    static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    const char *name = self->gateway.name;
    if (name[strspn(name, good)] != '\0')
        ald_errors_add(errors, at,
                       "gateway.name: '%s' is no name: letters, digits, '-' and '_' make one.",
                       name);
}

/* What one row can't say: how settings depend on each other. */
static void settings_check(struct ald_settings *self, struct ald_errors *errors)
{
    static const char longer[] = "must not be longer than";
    static const char larger[] = "must not be larger than";
    const struct ald_node at = {.file = self->file[0] == '\0' ? "settings" : self->file};
    if (self->gateway.ack_min_ms > self->gateway.ack_max_ms)
        settings_clash(self, "gateway.ack_min", longer, "gateway.ack_max", errors);
    if (self->gateway.max_body_bytes > self->bus.max_item_bytes)
        settings_clash(self, "gateway.max_body", larger, "bus.max_item", errors);
    if (self->poller.max_answer_bytes > self->bus.max_item_bytes)
        settings_clash(self, "poller.max_answer", larger, "bus.max_item", errors);
    if (self->gateway.max_body_bytes > self->gateway.intake_memory_bytes)
        settings_clash(self, "gateway.max_body", larger, "gateway.intake_memory", errors);
    if (self->dlq.first_after_ms > self->dlq.max_after_ms)
        settings_clash(self, "dlq.first_after", longer, "dlq.max_after", errors);
    if (self->gateway.api_waiters > self->gateway.api_threads)
        settings_clash(self, "gateway.api_waiters", "must not be more than", "gateway.api_threads",
                       errors);
    settings_check_name(self, &at, errors);
    if (self->gateway.spool[0] != '\0')
        return;
    const char *name = self->gateway.name;
    struct ald_buf spool;
    ald_buf_init(&spool, sizeof self->gateway.spool);
    ald_buf_printf(&spool, "%s/spool%s%s", self->store.data, name[0] != '\0' ? "-" : "", name);
    if (!ald_buf_ok(&spool) || ald_text_copy(self->gateway.spool, sizeof self->gateway.spool,
                                             ald_buf_span(&spool)) != ALD_OK)
        ald_errors_add(errors, &at, "store.data is too long.");
    ald_buf_free(&spool);
}

enum ald_rc ald_settings_load(const char *path, const char *const *flags, size_t flag_count,
                              struct ald_errors *errors, struct ald_settings *out)
{
    size_t before = errors->count;
    *out = (struct ald_settings){0};
    out->docs = calloc(1, sizeof *out->docs);
    ALD_ASSERT(out->docs != NULL);
    ald_setting_defaults(&ALD_SETTINGS_TABLE, out);
    bool must = false;
    const char *file = settings_path(path, &must);
    settings_read_file(file, must, errors, out);
    ald_setting_take_environment(&ALD_SETTINGS_TABLE, (const char *const *)environ, errors, out);
    for (size_t i = 0; i < flag_count; i++)
        ald_setting_take_flag(&ALD_SETTINGS_TABLE, flags[i], errors, out);
    (void)!ald_sinks_load(ald_settings_node(out, "sinks"), false, errors, &out->sinks);
    if (errors->count == before)
        settings_check(out, errors);
    if (errors->count == before)
        return ALD_OK;
    ald_profiles_t *profiles = NULL; /* all that is wrong is said at once */
    (void)!ald_profiles_load(out->providers, 0, errors, &profiles);
    ald_profiles_destroy(&profiles);
    ald_settings_free(out);
    return ALD_INVALID;
}

enum ald_rc ald_settings_sinks(struct ald_settings *self, struct ald_errors *errors)
{
    ald_sinks_t *sinks = NULL;
    enum ald_rc rc = ald_sinks_load(ald_settings_node(self, "sinks"), true, errors, &sinks);
    if (rc != ALD_OK)
        return rc;
    ald_sinks_destroy(&self->sinks);
    self->sinks = sinks;
    return ALD_OK;
}

void ald_settings_free(struct ald_settings *self)
{
    ald_sinks_destroy(&self->sinks);
    if (self->docs != NULL)
        settings_docs_free(self->docs);
    *self = (struct ald_settings){0};
}

void ald_settings_print(const struct ald_settings *self, struct ald_buf *out)
{
    ald_setting_print(&ALD_SETTINGS_TABLE, self, 0, out);
    ald_profiles_print(self->providers, out);
    ald_sinks_print(ald_settings_node(self, "sinks"), out);
}

const struct ald_setting_table *ald_settings_table(void)
{
    return &ALD_SETTINGS_TABLE;
}
