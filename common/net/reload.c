#include "common/net/reload.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/log.h"
#include "common/base/metrics.h"
#include "common/base/text.h"
#include "common/config/fit.h"

enum { RELOAD_NOTE_MAX = 512, RELOAD_LINES_MAX = 20 };

struct ald_reload {
    struct ald_reload_source source;
    pthread_mutex_t lock; /* of note */
    char note[RELOAD_NOTE_MAX];
};

static struct ald_metric reload_total = {
    .kind = ALD_COUNTER,
    .name = "aldaba_reloads_total",
    .help = "Times that settings and profiles were read again, by how it went: ok or refused.",
    .label = {"result"}};
static struct ald_metric reload_refused = {
    .kind = ALD_GAUGE,
    .name = "aldaba_reload_refused",
    .help = "1 while the last reading of the settings was refused: older ones are in force."};

ald_reload_t *ald_reload_new(const struct ald_reload_source *source)
{
    ald_reload_t *self = calloc(1, sizeof *self);
    ALD_ASSERT(self);
    self->source = *source;
    (void)pthread_mutex_init(&self->lock, NULL);
    ald_metric_register(&reload_total);
    ald_metric_register(&reload_refused);
    return self;
}

void ald_reload_destroy(ald_reload_t **self_p)
{
    if (!*self_p)
        return;
    (void)pthread_mutex_destroy(&(*self_p)->lock);
    free(*self_p);
    *self_p = NULL;
}

void ald_reload_note(ald_reload_t *self, char *out, size_t cap)
{
    (void)pthread_mutex_lock(&self->lock);
    ald_text_cut(out, cap, ald_span_str(self->note));
    (void)pthread_mutex_unlock(&self->lock);
}

static void reload_note(ald_reload_t *self, const char *text)
{
    (void)pthread_mutex_lock(&self->lock);
    ald_text_cut(self->note, sizeof self->note, ald_span_str(text));
    (void)pthread_mutex_unlock(&self->lock);
    ald_metric_set(&reload_refused, text[0] != '\0');
    ald_metric_add(ald_metrics_get("aldaba_reloads_total", text[0] ? "refused" : "ok"), 1);
}

/* Each error on a line of its own; the first one stands in the note. */
static void reload_refuse(ald_reload_t *self, struct ald_errors *errors)
{
    char line[RELOAD_NOTE_MAX];
    char note[RELOAD_NOTE_MAX];
    char at[32];
    struct ald_span rest = ald_span_str(ald_errors_text(errors));
    ald_clock_rfc3339(ald_clock_now().wall_ms, at);
    for (int i = 0; rest.len > 0 && i < RELOAD_LINES_MAX; i++) {
        size_t len = ald_span_find(rest, '\n');
        ald_text_cut(line, sizeof line, ald_span_of(rest.data, len));
        rest = ald_span_skip(rest, len < rest.len ? len + 1 : len);
        ald_log(ALD_ERROR, "reload.error", "text=%s", ALD_Q(line));
        if (i == 0)
            (void)snprintf(note, sizeof note,
                           "older settings are in force: those of %s were refused: %.400s", at,
                           line);
    }
    ald_log(ALD_ERROR, "reload.refused",
            "errors=%zu text=\"what was in force stays in force, whole\"", errors->count);
    reload_note(self, note);
}

/* Take over what may change; say what may not. */
static void reload_rows(struct ald_settings *settings, const struct ald_settings *fresh)
{
    const struct ald_setting_table *table = ald_settings_table();
    for (size_t i = 0; i < table->count; i++) {
        const struct ald_setting *row = &table->rows[i];
        void *to = (char *)settings + row->offset;
        const void *from = (const char *)fresh + row->offset;
        if (memcmp(to, from, row->size) == 0)
            continue;
        if ((row->flags & ALD_SETTING_RELOAD) == 0) {
            ald_log(ALD_WARN, "reload.stays",
                    "setting=%s text=\"it has changed, and only a restart takes it over\"",
                    row->key);
            continue;
        }
        memcpy(to, from, row->size);
        ald_log(ALD_INFO, "reload.setting", "setting=%s", row->key);
    }
    ald_log_level_word(settings->log.level);
}

/* Those in force go with what was read. */
static void reload_sinks(struct ald_settings *settings, struct ald_settings *fresh)
{
    ald_sinks_t *old = settings->sinks;
    settings->sinks = fresh->sinks;
    fresh->sinks = old;
}

static void reload_profiles(ald_profiles_t *fresh, ald_profiles_t *old)
{
    ald_profiles_keep(fresh, old);
    for (size_t i = 0; i < ald_profiles_count(fresh); i++) {
        const struct ald_profile *profile = ald_profiles_at(fresh, i);
        if (ald_profiles_gone(fresh, profile))
            ald_log(
                ALD_WARN, "profile.gone",
                "provider=%s text=\"it is not in the settings any more; for tasks that it has it "
                "is kept as it was until a restart\"",
                profile->name);
    }
}

/* What profiles let in must pass a bus whose bound does not change. */
static bool reload_fits(const struct ald_settings *settings, const struct ald_settings *fresh,
                        const ald_profiles_t *profiles, struct ald_errors *errors)
{
    uint64_t bound = settings->bus.max_item_bytes;
    return ald_settings_fit(fresh, profiles, errors) &&
           (bound >= fresh->bus.max_item_bytes ||
            ald_profiles_fit(profiles, fresh->providers, bound, errors));
}

enum ald_rc ald_reload_read(ald_reload_t *self, struct ald_settings *settings, ald_profiles_t *old,
                            ald_profiles_t **fresh)
{
    const struct ald_reload_source *source = &self->source;
    struct ald_settings read;
    ald_profiles_t *profiles = NULL;
    struct ald_errors errors;
    ald_errors_init(&errors);
    *fresh = NULL;
    bool ok = ald_settings_load(source->config, source->flags, source->flag_count, &errors,
                                &read) == ALD_OK;
    bool loaded = ok;
    if (ok && source->profiles)
        ok = ald_profiles_load(read.providers, source->secrets, &errors, &profiles) == ALD_OK &&
             reload_fits(settings, &read, profiles, &errors);
    if (ok && (source->secrets & ALD_SECRETS_SINKS) != 0)
        ok = ald_settings_sinks(&read, &errors) == ALD_OK;
    if (ok) {
        reload_rows(settings, &read);
        reload_sinks(settings, &read);
        if (profiles)
            reload_profiles(profiles, old);
        ald_log(ALD_INFO, "reload.done", "profiles=%zu",
                profiles ? ald_profiles_count(profiles) : (size_t)0);
        reload_note(self, "");
        *fresh = profiles;
    } else {
        reload_refuse(self, &errors);
        ald_profiles_destroy(&profiles);
    }
    if (loaded)
        ald_settings_free(&read);
    ald_errors_free(&errors);
    return ok ? ALD_OK : ALD_INVALID;
}
