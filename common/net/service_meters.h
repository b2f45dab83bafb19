/* service_meters.h - what every daemon has among its metrics: which version runs, since when, and
 * whether it is ready. For service.c. Threads: as ald_service_main.
 */
#ifndef ALD_NET_SERVICE_METERS_H
#define ALD_NET_SERVICE_METERS_H

#include <stdbool.h>

/* Show them; since is now. Once, before other threads. */
void service_meters_open(void);

void service_meters_ready(bool ready);

#endif
