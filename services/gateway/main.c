#include "services/gateway/adopt.h"
#include "services/gateway/gateway.h"
#include "services/gateway/keyring.h"

enum { MAIN_PATIENCE_MS = 60000 };

int main(int argc, char **argv)
{
    adopt_t *adopt = NULL;
    gateway_t *self = NULL;
    const struct ald_service_mode mode = {
        .option = "drain",
        .help = "Only send what lies in the spool DIR of a gateway that is gone, then exit",
        .setting = "gateway.spool",
        .patience_ms = MAIN_PATIENCE_MS,
        .ops = &ADOPT_OPS,
        .self = &adopt,
    };
    const struct ald_service_ops ops = {
        .name = "gateway",
        .help = "Takes callbacks over HTTP, keeps them until the tracker has them, serves the API.",
        .profiles = true,
        .secrets = ALD_SECRETS_AUTH,
        .mode = &mode,
        .start = gateway_start,
        .ready = gateway_ready,
        .drain = gateway_drain,
        .drained = gateway_drained,
        .stop = gateway_stop,
        .healthy = gateway_healthy,
        .reload = gateway_reload,
        .measure = gateway_measure,
        .verify = keyring_verify,
    };
    return ald_service_main(argc, argv, &ops, &self);
}
