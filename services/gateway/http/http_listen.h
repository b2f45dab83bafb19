/* http_listen.h - what the library is told of a listener, and why one could not be opened, for a
 * person: the library tells only that it could not. Opens and closes a socket of its own for that.
 * Any thread. */
#ifndef ALD_GATEWAY_HTTP_LISTEN_H
#define ALD_GATEWAY_HTTP_LISTEN_H

#include "common/base/guard.h"
#include "common/base/rc.h"
#include "services/gateway/http/http.h"

/* The library's options by name, NULL at the end; the numbers as text. */
struct http_listen_options {
    const char *list[40];
    char numbers[5][24];
};

/* Borrows `listen` of `from`, and points into itself: *out must not be moved. */
void http_listen_options(const struct http_options *from, struct http_listen_options *out);

/* Try the address once more and say in err what is wrong and what to do about it. setting: the key
 * that the address is of. said: by the library, for when nothing is wrong now. Returns ALD_IO. */
ALD_NODISCARD enum ald_rc http_listen_failed(const char *listen, const char *setting,
                                             const char *said, struct ald_err *err);

#endif
