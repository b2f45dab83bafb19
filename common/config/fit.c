#include "common/config/fit.h"

#include <string.h>

#include "common/config/address.h"
#include "common/config/profile_request.h"

static void fit_wrong(const struct ald_settings *settings, const char *key,
                      struct ald_errors *errors, const char *what, const char *value)
{
    const struct ald_node nowhere = {.file = settings->file};
    const struct ald_node *at = ald_settings_node(settings, key);
    ald_errors_add(errors, at != NULL ? at : &nowhere, "%s is \"%s\", %s", key, value, what);
}

/* Callbacks for a provider that nobody described would all be refused. */
static void fit_default(const struct ald_settings *settings, const ald_profiles_t *profiles,
                        struct ald_errors *errors)
{
    const char *name = settings->gateway.default_provider;
    if (name[0] != '\0' && ald_profiles_find(profiles, name) == NULL)
        fit_wrong(settings, "gateway.default_provider", errors, "and there is no such provider.",
                  name);
}

static void fit_listeners(const struct ald_settings *settings, struct ald_errors *errors)
{
    struct sockaddr_in public;
    struct sockaddr_in private;
    if (ald_address_parse(settings->gateway.public, &public) != ALD_OK ||
        ald_address_parse(settings->gateway.private, &private) != ALD_OK)
        return;
    bool meet = public.sin_addr.s_addr == private.sin_addr.s_addr ||
                public.sin_addr.s_addr == INADDR_ANY || private.sin_addr.s_addr == INADDR_ANY;
    if (public.sin_port != 0 && public.sin_port == private.sin_port && meet)
        fit_wrong(settings, "gateway.private", errors,
                  "and gateway.public listens there: give it a port of its own.",
                  settings->gateway.private);
}

static void fit_private(const struct ald_settings *settings, struct ald_errors *errors)
{
    const char *listen = settings->gateway.private;
    if (settings->gateway.tokens.count + settings->gateway.read_tokens.count == 0 &&
        strncmp(listen, "127.", 4) != 0)
        fit_wrong(settings, "gateway.private", errors,
                  "which is not a loopback address, and without gateway.tokens anybody could use "
                  "the API.",
                  listen);
}

/* Providers get it as the beginning of a URL. */
static void fit_public_url(const struct ald_settings *settings, struct ald_errors *errors)
{
    const char *url = settings->gateway.public_url;
    if (url[0] != '\0' && strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0)
        fit_wrong(settings, "gateway.public_url", errors,
                  "which is no URL: it begins with https:// or http://.", url);
}

/* A client's task is a purchase: somebody must be able to make it, and not everybody may. */
static void fit_facade(const struct ald_settings *settings, const ald_profiles_t *profiles,
                       struct ald_errors *errors)
{
    const struct {
        const char *key;
        const char *name;
    } sides[] = {{"facade.in_php", settings->facade.in_php},
                 {"facade.create_task", settings->facade.create_task}};
    for (size_t i = 0; i < ALD_COUNT(sides); i++) {
        const struct ald_profile *profile = ald_profiles_find(profiles, sides[i].name);
        if (sides[i].name[0] == '\0')
            continue;
        if (profile == NULL)
            fit_wrong(settings, sides[i].key, errors, "and there is no such provider.",
                      sides[i].name);
        else if (!ald_profile_asks(profile, ALD_STAGE_SUBMIT))
            fit_wrong(settings, sides[i].key, errors, "whose profile does not say how to submit.",
                      sides[i].name);
        if (settings->facade.keys.count == 0)
            fit_wrong(settings, sides[i].key, errors,
                      "and facade.keys names no key that clients may use.", sides[i].name);
    }
}

/* A sink of a provider that was mistyped would look like one to which nothing happens. */
static void fit_sinks(const struct ald_settings *settings, const ald_profiles_t *profiles,
                      struct ald_errors *errors)
{
    const struct ald_node *all = ald_settings_node(settings, "sinks");
    for (size_t i = 0; i < ald_sinks_count(settings->sinks); i++) {
        const struct ald_sink *sink = ald_sinks_at(settings->sinks, i);
        if (sink->provider[0] == '\0' || ald_profiles_find(profiles, sink->provider) != NULL)
            continue;
        ald_errors_add(errors, ald_node_find(ald_node_find(all, sink->name), "provider"),
                       "The sink %s is for \"%s\", and there is no such provider.", sink->name,
                       sink->provider);
    }
}

bool ald_settings_fit(const struct ald_settings *settings, const ald_profiles_t *profiles,
                      struct ald_errors *errors)
{
    size_t before = errors->count;
    (void)!ald_profiles_fit(profiles, settings->providers, settings->bus.max_item_bytes, errors);
    fit_default(settings, profiles, errors);
    fit_listeners(settings, errors);
    fit_private(settings, errors);
    fit_public_url(settings, errors);
    fit_facade(settings, profiles, errors);
    fit_sinks(settings, profiles, errors);
    return errors->count == before;
}
