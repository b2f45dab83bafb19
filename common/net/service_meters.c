#include "common/net/service_meters.h"

#include "common/base/clock.h"
#include "common/base/metrics.h"

static struct ald_metric meters_build = {.kind = ALD_GAUGE,
                                         .name = "aldaba_build_info",
                                         .help = "1; the version of the program is the label.",
                                         .label = {"version"},
                                         .value = {ALDABA_VERSION}};
static struct ald_metric meters_start = {.kind = ALD_GAUGE_MS,
                                         .name = "aldaba_start_time_seconds",
                                         .help = "When the process was started, since 1970."};
static struct ald_metric meters_ready = {
    .kind = ALD_GAUGE,
    .name = "aldaba_ready",
    .help = "1 while the service can do its work, as `aldaba health` says."};

void service_meters_open(void)
{
    ald_metric_register(&meters_build);
    ald_metric_register(&meters_start);
    ald_metric_register(&meters_ready);
    ald_metric_set(&meters_build, 1);
    ald_metric_set(&meters_start, ald_clock_now().wall_ms);
}

void service_meters_ready(bool ready)
{
    ald_metric_set(&meters_ready, ready);
}
