#include "services/gateway/http/http_socket.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static bool socket_is(int fd, const char *peer, unsigned peer_port, unsigned own_port)
{
    struct sockaddr_in from = {0};
    struct sockaddr_in to = {0};
    socklen_t from_len = sizeof from;
    socklen_t to_len = sizeof to;
    char text[INET_ADDRSTRLEN];
    return getpeername(fd, (struct sockaddr *)&from, &from_len) == 0 &&
           from.sin_family == AF_INET && ntohs(from.sin_port) == peer_port &&
           getsockname(fd, (struct sockaddr *)&to, &to_len) == 0 &&
           ntohs(to.sin_port) == own_port &&
           inet_ntop(AF_INET, &from.sin_addr, text, sizeof text) != NULL && strcmp(text, peer) == 0;
}

int http_socket_find(const char *peer, unsigned peer_port, unsigned own_port)
{
    int found = -1;
    DIR *folder = opendir("/proc/self/fd");
    if (folder == NULL)
        return 0;
    for (struct dirent *entry = readdir(folder); entry != NULL && found < 0;
         entry = readdir(folder)) {
        int fd = (int)strtol(entry->d_name, NULL, 10);
        if (entry->d_name[0] != '.' && socket_is(fd, peer, peer_port, own_port))
            found = fd;
    }
    (void)closedir(folder);
    return found;
}

bool http_socket_closed(int fd)
{
    char byte;
    if (fd <= 0)
        return fd < 0;
    ssize_t n = recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return n == 0 || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}
