/* http_socket.h - the socket of a connection, which the HTTP library does not tell: found among the
 * process's own by its two ends. For asking whether the client is still there, and nothing else.
 * Any thread, as long as the connection is held by it.
 */
#ifndef ALD_GATEWAY_HTTP_SOCKET_H
#define ALD_GATEWAY_HTTP_SOCKET_H

#include <stdbool.h>

/* The descriptor of the connection from this address and port to ours. -1: there is none, as of one
 * that the client has reset. 0: it can't be looked for. Looks at all descriptors: once a stream,
 * not once a request. */
int http_socket_find(const char *peer, unsigned peer_port, unsigned own_port);

/* Has the other end closed, or is the connection broken? Of 0 that is not known: no. */
bool http_socket_closed(int fd);

#endif
