#include "services/gateway/http_listen.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/config/address.h"

/* 0: nothing is wrong with it now. */
static int listen_errno(const struct sockaddr_in *address)
{
    int on = 1;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return errno;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    int error = 0;
    if (bind(fd, (const struct sockaddr *)address, sizeof *address) != 0 || listen(fd, 1) != 0)
        error = errno;
    close(fd);
    return error;
}

static const char *listen_advice(int error)
{
    switch (error) {
    case EADDRINUSE:
        return "another process listens there; stop it, or change";
    case EADDRNOTAVAIL:
        return "it is no address of this machine; change";
    case EACCES:
        return "ports below 1024 are for root; change";
    default:
        return "see";
    }
}

enum ald_rc http_listen_failed(const char *listen, const char *setting, const char *said,
                               struct ald_err *err)
{
    struct sockaddr_in address;
    int error = ald_address_parse(listen, &address) == ALD_OK ? listen_errno(&address) : 0;
    return ald_err_set(err, ALD_IO, "cannot listen on %s: %s: %s %s.", listen,
                       error != 0 ? strerror(error) : said, listen_advice(error), setting);
}
