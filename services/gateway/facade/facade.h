/* facade.h - the drop-in paths of the private listener: /in.php and /res.php, /createTask and
 * /getTaskResult. A client of such a provider speaks to aldaba as it is.
 *
 * A submission is on disk when its id is told, and the id is ours; a poll is answered from the
 * task's state and never reaches the provider. The client's key opens these paths and goes no
 * further. Such clients send no Idempotency-Key: a submission whose answer reaches nobody is taken
 * back, if the provider has not been asked.
 *
 * Threads: the request's.
 */
#ifndef ALD_GATEWAY_FACADE_H
#define ALD_GATEWAY_FACADE_H

#include "services/gateway/api/api_call.h"

void facade_register(void);

/* Is this one of its paths, and in the settings? */
bool facade_serves(const struct api *api, const char *path);

/* The setting without which this path is none; NULL: it is no path of a facade. */
const char *facade_setting(const char *path);

/* Answer a request to such a path. */
void facade_handle(struct api_call *call);

#endif
