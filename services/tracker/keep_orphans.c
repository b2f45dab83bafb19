#include "services/tracker/keep_orphans.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/base/guard.h"
#include "common/base/log.h"
#include "services/tracker/keep_budgets.h"

enum { KEEP_AWAY_MAX = ALD_PROVIDER_MAX + 8 };

/* The fact away.<provider> is 1 while its open tasks have no profile. */
static void keep_away_name(char out[KEEP_AWAY_MAX], const char *provider)
{
    (void)snprintf(out, KEEP_AWAY_MAX, "away.%s", provider);
}

/* Those of one provider. */
struct orphans {
    uint64_t count;
    uint64_t lowest;
};

zhashx_t *keep_orphans_new(void)
{
    zhashx_t *away = zhashx_new();
    ALD_ASSERT(away);
    zhashx_set_destructor(away, ald_item_free);
    return away;
}

void keep_orphan(struct tracker *self, const char *provider, uint64_t task)
{
    if (self->orphans++ == 0)
        self->lowest_orphan = task;
    struct orphans *orphans = zhashx_lookup(self->away, provider);
    if (!orphans) {
        orphans = zmalloc(sizeof *orphans);
        orphans->lowest = task;
        zhashx_update(self->away, provider, orphans);
    }
    orphans->count++;
}

static void keep_orphans_say(const char *provider, const struct orphans *orphans)
{
    ald_log(ALD_ERROR, "tasks.orphaned",
            "provider=%s open=%" PRIu64 " first=%" PRIu64
            " text=\"its profile is not in the settings; put it back to go on\"",
            ALD_Q(provider), orphans->count, orphans->lowest);
}

static void keep_away_write(struct tracker *self)
{
    char fact[KEEP_AWAY_MAX];
    for (void *item = zhashx_first(self->away); item; item = zhashx_next(self->away)) {
        keep_orphans_say(zhashx_cursor(self->away), item);
        keep_away_name(fact, zhashx_cursor(self->away));
        if (vault_meta(&self->vault, fact) == 0)
            vault_meta_set(&self->vault, fact, 1);
    }
}

static void keep_receive(struct tracker *self, const struct ald_profile *profile)
{
    char fact[KEEP_AWAY_MAX];
    keep_away_name(fact, profile->name);
    if (vault_meta(&self->vault, fact) == 0)
        return;
    vault_meta_set(&self->vault, fact, 0);
    keep_resumed(self, profile);
    ald_log(ALD_INFO, "tasks.back", "provider=%s", profile->name);
}

void keep_orphans_back(struct tracker *self)
{
    vault_begin(&self->vault);
    keep_away_write(self);
    for (size_t i = 0; i < ald_profiles_count(self->profiles); i++)
        keep_receive(self, ald_profiles_at(self->profiles, i));
    (void)!vault_commit(&self->vault); /* the error is sticky, and seen by who reads back */
}

bool keep_orphans_found(const struct tracker *self)
{
    for (void *item = zhashx_first(self->away); item; item = zhashx_next(self->away))
        if (ald_profiles_find(self->profiles, zhashx_cursor(self->away)))
            return true;
    return false;
}
