#include "common/store/disk_meter.h"

#include <sys/statvfs.h>

#include "common/base/metrics.h"

static struct ald_metric meter_free = {
    .kind = ALD_GAUGE,
    .name = "aldaba_disk_free_bytes",
    .help = "What this service may still write to the file system of its store or spool."};
static struct ald_metric meter_size = {
    .kind = ALD_GAUGE, .name = "aldaba_disk_size_bytes", .help = "Size of that file system."};

void ald_disk_measure(const char *path)
{
    struct statvfs fs;
    ald_metric_register(&meter_free);
    ald_metric_register(&meter_size);
    if (statvfs(path, &fs) != 0)
        return;
    ald_metric_set(&meter_free, (int64_t)((uint64_t)fs.f_bavail * fs.f_frsize));
    ald_metric_set(&meter_size, (int64_t)((uint64_t)fs.f_blocks * fs.f_frsize));
}
