#include "services/tracker/pending_inside.h"

#include <stdlib.h>
#include <string.h>

/* A task's provider_id is the end of its ref, so that one pointer is enough for both. */

char *pending_ref(const char *provider, const char *provider_id)
{
    size_t size = strlen(provider) + strlen(provider_id) + 2;
    char *ref = zmalloc(size);
    (void)snprintf(ref, size, "%s/%s", provider, provider_id);
    return ref;
}

static size_t ref_prefix(const struct pending_task *task)
{
    return strlen(task->account->profile->name) + 1;
}

const char *pending_task_ref(const struct pending_task *task)
{
    return task->provider_id - ref_prefix(task);
}

char *pending_ref_id(const struct pending_task *task, char *ref)
{
    return ref + ref_prefix(task);
}

void pending_ref_set(struct pending_task *task, char *ref)
{
    task->provider_id = pending_ref_id(task, ref);
}

char *pending_ref_take(struct pending_task *task)
{
    char *ref = task->provider_id - ref_prefix(task);
    task->provider_id = NULL;
    return ref;
}
