/* disk_meter.h - how full the file system is that a daemon writes to, among its metrics.
 *
 * Threads: any. One path a process; the last one counts.
 */
#ifndef ALD_STORE_DISK_METER_H
#define ALD_STORE_DISK_METER_H

/* Bring the metrics up to date: aldaba_disk_free_bytes, which is what this user may still write,
 * and aldaba_disk_size_bytes. What can't be told leaves them as they are. */
void ald_disk_measure(const char *path);

#endif
