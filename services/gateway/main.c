#include "services/gateway/gateway.h"

int main(int argc, char **argv)
{
    static const struct ald_service_ops ops = {
        .name = "gateway",
        .help = "Takes callbacks over HTTP, keeps them until the tracker has them, serves the API.",
        .profiles = true,
        .secrets = ALD_SECRETS_AUTH,
        .start = gateway_start,
        .ready = gateway_ready,
        .drain = gateway_drain,
        .drained = gateway_drained,
        .stop = gateway_stop,
        .healthy = gateway_healthy,
        .reload = gateway_reload,
        .measure = gateway_measure,
    };
    gateway_t *self = NULL;
    return ald_service_main(argc, argv, &ops, &self);
}
