/*
 * The floor: the minimum cost of replying to RESP over epoll.
 *
 * One thread waits on one epoll set, and each readable connection costs one recv and one send. Commands are framed and
 * counted but never executed: the reply to SET is OK, to GET nil, to anything else an empty array. A real server's
 * additional CPU is its own work, so RedKite's CPU is reported as a multiple of this program's, measured in the same
 * run under the same load.
 *
 * Usage: floor_server PORT. It listens only on 127.0.0.1 and trusts its peers.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    REQUEST_BYTES_MAX = 64 * 1024,
    /* The shortest command is "*1\r\n$1\r\nx\r\n", 11 bytes, and the longest reply has 5, so replies always fit. */
    REPLY_BYTES_MAX = REQUEST_BYTES_MAX,
    EVENTS_MAX = 512,
};

struct connection {
    int socket;
    size_t request_bytes;
    char request[REQUEST_BYTES_MAX];
    char reply[REPLY_BYTES_MAX];
};

enum framing { WHOLE, PARTIAL, MALFORMED };

static int listen_on(uint16_t port);
static void accept_all(int epoll, int listener);
static bool serve(struct connection *connection);

int main(int argument_count, char **arguments)
{
    if (argument_count != 2) {
        fprintf(stderr, "usage: floor_server PORT\n");
        return 2;
    }

    int listener = listen_on((uint16_t)atoi(arguments[1]));
    if (listener < 0) {
        perror("floor_server");
        return 1;
    }

    int epoll = epoll_create1(0);
    struct epoll_event interest = { .events = EPOLLIN, .data.ptr = NULL }; /* no connection: the listener */
    epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &interest);

    struct epoll_event events[EVENTS_MAX];
    for (;;) {
        int count = epoll_wait(epoll, events, EVENTS_MAX, -1);
        for (int i = 0; i < count; i++) {
            struct connection *connection = events[i].data.ptr;
            if (connection == NULL) {
                accept_all(epoll, listener);
            } else if (!serve(connection)) {
                close(connection->socket);
                free(connection);
            }
        }
    }
}

static int listen_on(uint16_t port)
{
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    int on = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    bool listening = bind(listener, (struct sockaddr *)&address, sizeof address) == 0 && listen(listener, EVENTS_MAX) == 0;
    return listening ? listener : -1;
}

static void accept_all(int epoll, int listener)
{
    int accepted;
    while ((accepted = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
        int on = 1;
        setsockopt(accepted, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        struct connection *connection = calloc(1, sizeof *connection);
        connection->socket = accepted;
        struct epoll_event interest = { .events = EPOLLIN, .data.ptr = connection };
        epoll_ctl(epoll, EPOLL_CTL_ADD, accepted, &interest);
    }
}

/* Reads the decimal number after a type byte and skips its CRLF. */
static enum framing read_length(const char **position, const char *end, long *length)
{
    const char *p = *position + 1; /* the type byte, '*' or '$' */
    long value = 0;
    while (p < end && *p >= '0' && *p <= '9') value = value * 10 + (*p++ - '0');
    if (end - p < 2) return PARTIAL;
    if (*p != '\r') return MALFORMED;
    *position = p + 2;
    *length = value;
    return WHOLE;
}

/* Finds the end of the command at *position, and the first letter of its name. */
static enum framing frame_command(const char **position, const char *end, char *letter)
{
    const char *p = *position;
    if (*p != '*') return MALFORMED;

    long arguments = 0, bytes = 0;
    enum framing framing = read_length(&p, end, &arguments);
    for (long i = 0; i < arguments && framing == WHOLE; i++) {
        framing = p < end ? read_length(&p, end, &bytes) : PARTIAL;
        if (framing != WHOLE) return framing;
        if (end - p < bytes + 2) return PARTIAL;
        if (i == 0) *letter = (char)(*p | 0x20);
        p += bytes + 2;
    }

    if (framing == WHOLE) *position = p;
    return framing;
}

/* One recv, every complete command in it, one send. Returns false if the peer closed or does not send RESP arrays. */
static bool serve(struct connection *connection)
{
    size_t room = REQUEST_BYTES_MAX - connection->request_bytes;
    ssize_t received = recv(connection->socket, connection->request + connection->request_bytes, room, 0);
    if (received < 0 && errno == EAGAIN) return true;
    if (received <= 0) return false;
    connection->request_bytes += (size_t)received;

    const char *position = connection->request;
    const char *end = position + connection->request_bytes;
    size_t reply_bytes = 0;
    enum framing framing = WHOLE;
    while (position < end) {
        char letter = 0;
        framing = frame_command(&position, end, &letter);
        if (framing != WHOLE) break;

        const char *reply = letter == 's' ? "+OK\r\n" : letter == 'g' ? "$-1\r\n" : "*0\r\n";
        size_t bytes = strlen(reply);
        memcpy(connection->reply + reply_bytes, reply, bytes);
        reply_bytes += bytes;
    }

    connection->request_bytes = (size_t)(end - position);
    memmove(connection->request, position, connection->request_bytes);
    if (reply_bytes > 0) send(connection->socket, connection->reply, reply_bytes, MSG_NOSIGNAL);
    return framing != MALFORMED;
}
