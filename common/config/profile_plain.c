#include "common/config/profile_plain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/text.h"
#include "common/config/load.h"
#include "common/config/merge.h"

bool ald_profile_is_ruled(const struct ald_node *profile)
{
    static const char *const signs[] = {"submit", "fetch", "codes", "poll.rules", "callback.rules"};
    bool ruled = ald_node_find(profile, "extends") != NULL;
    for (size_t i = 0; i < ALD_COUNT(signs); i++)
        ruled = ruled || ald_node_at(profile, signs[i]) != NULL;
    return ruled && ald_node_find(profile, "family") == NULL;
}

void ald_profile_name_check(const struct ald_node *profile, const char *own,
                            struct ald_errors *errors)
{
    const char *name = profile->key;
    size_t len = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-");
    if (len == 0 || len > 32 || name[len] != '\0')
        ald_errors_add(errors, profile,
                       "The name of a profile is 1 to 32 of a-z, 0-9 and -, not %.64s.", name);
    if (own[0] != '\0' && strcmp(own, name) != 0)
        ald_errors_add(errors, profile, "The profile is called %.64s here and %s inside.", name,
                       own);
}

static bool plain_listed(const char *const *words, const char *word)
{
    for (; *words != NULL; words++)
        if (strcmp(*words, word) == 0)
            return true;
    return false;
}

static bool plain_add(ald_yaml_t *doc, struct ald_node *out, const struct ald_node *child)
{
    struct ald_node *copy = ald_merge_copy(doc, child, child->key);
    if (copy != NULL)
        ald_node_append(out, copy);
    return copy != NULL;
}

/* A scalar under the same key with another text. */
static bool plain_say(ald_yaml_t *doc, struct ald_node *out, const struct ald_node *child,
                      const char *text)
{
    struct ald_node *own = ald_yaml_make(doc, ALD_NODE_SCALAR, child->key, text, child);
    if (own != NULL)
        ald_node_append(out, own);
    return own != NULL;
}

/* 1.5 is 150%. */
static bool plain_share(const char *text, char out[16])
{
    const char *dot = strchr(text, '.');
    uint64_t whole = 0;
    uint64_t part = 0;
    size_t digits = dot == NULL ? 0 : strlen(dot + 1);
    size_t len = dot == NULL ? strlen(text) : (size_t)(dot - text);
    if (ald_text_u64(ald_span_of(text, len), &whole) != ALD_OK || whole > 10 || digits > 2 ||
        (dot != NULL && ald_text_u64(ald_span_str(dot + 1), &part) != ALD_OK))
        return false;
    part *= digits == 1 ? 10 : 1;
    (void)snprintf(out, 16, "%u%%", (unsigned)(whole * 100 + part));
    return true;
}

static bool plain_schedule(ald_yaml_t *doc, const struct ald_node *from, struct ald_node *out)
{
    static const char word[] = "retry-after";
    for (const struct ald_node *child = from->first; child != NULL; child = child->next) {
        char share[16];
        bool good = true;
        bool waits = strcmp(child->key, "first_after") == 0 || strcmp(child->key, "every") == 0;
        if (strcmp(child->key, "backoff") == 0 && plain_share(child->text, share))
            good = plain_say(doc, out, child, share);
        else if (!waits || strncmp(child->text, word, sizeof word - 1) != 0)
            good = plain_add(doc, out, child);
        else if (child->text[sizeof word - 1] == '|')
            good = plain_say(doc, out, child, child->text + sizeof word);
        if (!good)
            return false;
    }
    return true;
}

static bool plain_map(ald_yaml_t *doc, const struct ald_node *from, const char *const *compiled,
                      struct ald_node *out)
{
    for (const struct ald_node *child = from->first; child != NULL; child = child->next) {
        struct ald_node *own = NULL;
        bool good = true;
        if (plain_listed(compiled, child->key))
            continue;
        if (strcmp(child->key, "schedule") == 0 && child->kind == ALD_NODE_MAP) {
            own = ald_yaml_make(doc, ALD_NODE_MAP, child->key, NULL, child);
            good = own != NULL && plain_schedule(doc, child, own);
            if (good)
                ald_node_append(out, own);
        } else {
            good = plain_add(doc, out, child);
        }
        if (!good)
            return false;
    }
    return true;
}

/* Of auth only the addresses, of a file only what is no template, and of the provider's retries a
 * time alone: the rest is for those who compile it. */
static bool plain_callback_more(ald_yaml_t *doc, const struct ald_node *from, struct ald_node *out)
{
    static const char *const paths[][2] = {
        {"auth", "source_ips"}, {"verification_file", "path"}, {"verification_file", "content"}};
    const struct ald_node *retries = ald_node_find(from, "provider_retries");
    int64_t time_ms = 0;
    if (retries != NULL && retries->kind == ALD_NODE_SCALAR &&
        ald_text_duration_ms(ald_span_str(retries->text), &time_ms) == ALD_OK &&
        !plain_add(doc, out, retries))
        return false;
    for (size_t i = 0; i < ALD_COUNT(paths); i++) {
        const struct ald_node *parent = ald_node_find(from, paths[i][0]);
        const struct ald_node *child = ald_node_find(parent, paths[i][1]);
        if (child == NULL || child->template)
            continue;
        struct ald_node *map = ald_yaml_make(doc, ALD_NODE_MAP, parent->key, NULL, parent);
        bool same = out->last != NULL && strcmp(out->last->key, parent->key) == 0;
        if (map == NULL || !plain_add(doc, same ? out->last : map, child))
            return false;
        if (!same)
            ald_node_append(out, map);
    }
    return true;
}

const struct ald_node *ald_profile_plain(ald_yaml_t *doc, const struct ald_node *profile)
{
    static const char *const poll[] = {"request", "params", "rules", "batch", NULL};
    static const char *const callback[] = {
        "methods",          "body", "id", "rules", "ack", "auth", "verification_file",
        "provider_retries", NULL};
    struct ald_node *out = ald_yaml_make(doc, ALD_NODE_MAP, profile->key, NULL, profile);
    for (const struct ald_node *child = out == NULL ? NULL : profile->first; child != NULL;
         child = child->next) {
        bool polls = strcmp(child->key, "poll") == 0;
        bool calls = strcmp(child->key, "callback") == 0;
        bool good = true;
        if ((calls || polls) && ald_load_none(child))
            continue;
        if ((polls || calls) && child->kind == ALD_NODE_MAP) {
            struct ald_node *map = ald_yaml_make(doc, ALD_NODE_MAP, child->key, NULL, child);
            good = map != NULL && plain_map(doc, child, polls ? poll : callback, map) &&
                   (polls || plain_callback_more(doc, child, map));
            if (good)
                ald_node_append(out, map);
        } else {
            good = plain_add(doc, out, child);
        }
        if (!good)
            return NULL;
    }
    return out;
}
