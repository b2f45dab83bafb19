/* http_listen.h - why a listener could not be opened, for a person: the library tells only that it
 * could not. Opens and closes a socket of its own. Any thread. */
#ifndef ALD_GATEWAY_HTTP_LISTEN_H
#define ALD_GATEWAY_HTTP_LISTEN_H

#include "common/base/guard.h"
#include "common/base/rc.h"

/* Try the address once more and say in err what is wrong and what to do about it. setting: the key
 * that the address is of. said: by the library, for when nothing is wrong now. Returns ALD_IO. */
ALD_NODISCARD enum ald_rc http_listen_failed(const char *listen, const char *setting,
                                             const char *said, struct ald_err *err);

#endif
