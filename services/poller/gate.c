#include "services/poller/gate.h"

#include <stdlib.h>
#include <string.h>

struct gate_host {
    struct gate_host *next;
    struct gate_entry *first; /* that waits */
    struct gate_entry *last;
    size_t under_way;
    size_t resolving;
    char name[GATE_HOST_MAX];
};

struct gate {
    struct gate_limits limits;
    struct gate_host *hosts;
};

gate_t *gate_new(const struct gate_limits *limits)
{
    ALD_ASSERT(limits->resolving > 0 && limits->under_way > 0);
    gate_t *self = calloc(1, sizeof *self);
    ALD_ASSERT(self);
    self->limits = *limits;
    return self;
}

void gate_destroy(gate_t **self_p)
{
    if (!*self_p)
        return;
    ALD_ASSERT(!(*self_p)->hosts);
    free(*self_p);
    *self_p = NULL;
}

enum ald_rc gate_host_of(struct ald_span url, char out[GATE_HOST_MAX])
{
    const char *text = (const char *)url.data;
    const char *scheme_end = url.len ? memmem(text, url.len, "://", 3) : NULL;
    if (!scheme_end)
        return ALD_INVALID;
    const char *from = scheme_end + 3;
    size_t rest = url.len - (size_t)(from - text);
    size_t len = 0;
    while (len < rest && from[len] != '/' && from[len] != '?' && from[len] != '#')
        len++;
    if (len == 0 || len >= GATE_HOST_MAX)
        return ALD_INVALID;
    memcpy(out, from, len);
    out[len] = '\0';
    return ALD_OK;
}

static struct gate_host *gate_find(gate_t *self, const char *name)
{
    for (struct gate_host *host = self->hosts; host; host = host->next) {
        if (strcmp(host->name, name) == 0)
            return host;
    }
    struct gate_host *host = calloc(1, sizeof *host);
    ALD_ASSERT(host);
    memcpy(host->name, name, strlen(name) + 1);
    host->next = self->hosts;
    self->hosts = host;
    return host;
}

static void gate_forget_idle(gate_t *self, struct gate_host *host)
{
    if (host->under_way || host->first)
        return;
    struct gate_host **link = &self->hosts;
    while (*link != host)
        link = &(*link)->next;
    *link = host->next;
    free(host);
}

void gate_enter(gate_t *self, const char *name, struct gate_entry *entry)
{
    ALD_ASSERT(!entry->host && strlen(name) < GATE_HOST_MAX);
    struct gate_host *host = gate_find(self, name);
    *entry = (struct gate_entry){.host = host, .waiting = true};
    if (host->last)
        host->last->next = entry;
    else
        host->first = entry;
    host->last = entry;
}

static struct gate_entry *gate_unlink_first(struct gate_host *host)
{
    struct gate_entry *entry = host->first;
    host->first = entry->next;
    if (!host->first)
        host->last = NULL;
    entry->next = NULL;
    entry->waiting = false;
    return entry;
}

struct gate_entry *gate_next(gate_t *self)
{
    for (struct gate_host *host = self->hosts; host; host = host->next) {
        if (!host->first || host->resolving >= self->limits.resolving ||
            host->under_way >= self->limits.under_way)
            continue;
        struct gate_entry *entry = gate_unlink_first(host);
        entry->resolving = true;
        host->resolving++;
        host->under_way++;
        return entry;
    }
    return NULL;
}

void gate_resolved(struct gate_entry *entry)
{
    if (!entry->resolving)
        return;
    entry->resolving = false;
    entry->host->resolving--;
}

struct gate_entry *gate_take_waiting(gate_t *self, const struct gate_entry *entry)
{
    struct gate_host *host = entry->host;
    if (!host || !host->first)
        return NULL;
    struct gate_entry *taken = gate_unlink_first(host);
    taken->host = NULL;
    gate_forget_idle(self, host);
    return taken;
}

static void gate_unlink(struct gate_host *host, const struct gate_entry *entry)
{
    struct gate_entry *before = NULL;
    struct gate_entry **link = &host->first;
    while (*link != entry) {
        before = *link;
        link = &before->next;
    }
    *link = entry->next;
    if (host->last == entry)
        host->last = before;
}

void gate_leave(gate_t *self, struct gate_entry *entry)
{
    struct gate_host *host = entry->host;
    if (!host)
        return;
    if (entry->waiting) {
        gate_unlink(host, entry);
    } else {
        gate_resolved(entry);
        host->under_way--;
    }
    *entry = (struct gate_entry){0};
    gate_forget_idle(self, host);
}
