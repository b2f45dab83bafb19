#include "services/poller/poller.h"

int main(int argc, char **argv)
{
    static const struct ald_service_ops ops = {
        .name = "poller",
        .help = "Asks providers how the tasks are doing that the tracker hands out.",
        .profiles = true,
        .secrets = ALD_SECRETS_POLL | ALD_SECRETS_SINKS,
        .start = poller_start,
        .ready = poller_ready,
        .drain = poller_drain,
        .drained = poller_drained,
        .stop = poller_stop,
        .healthy = poller_healthy,
        .reload = poller_reload,
        .measure = poller_measure,
    };
    poller_t *self = NULL;
    return ald_service_main(argc, argv, &ops, &self);
}
