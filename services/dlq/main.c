#include "services/dlq/dlq.h"
#include "services/dlq/verify.h"

int main(int argc, char **argv)
{
    static const struct ald_service_ops ops = {
        .name = "dlq",
        .help = "Keeps what could not be processed, and has it tried again.",
        .start = dlq_start,
        .drain = dlq_drain,
        .drained = dlq_drained,
        .stop = dlq_stop,
        .healthy = dlq_healthy,
        .reload = dlq_reload,
        .measure = dlq_measure,
        .verify = verify_look,
    };
    struct dlq self = {0};
    return ald_service_main(argc, argv, &ops, &self);
}
