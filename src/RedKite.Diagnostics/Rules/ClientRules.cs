using RedKite.Server.Metrics;
using static RedKite.Server.Diagnostics.FindingSeverity;
using static RedKite.Server.Logging.QuantityText;
using static RedKite.Server.Diagnostics.MetricTable;

namespace RedKite.Server.Diagnostics.Rules;

/// <summary>Rules on clients and connections.</summary>
internal static class ClientRules
{
    internal static FindingRule[] All =>
    [
        new("clients-near-limit", "More than 90 % of maxclients are connected. At the limit new clients are refused.",
            "Raise maxclients, close idle clients with `timeout`, or look for a client library that leaks connections.", "clients",
            view => view[ConnectedClients] > view[MaxClients] * 0.9 ? new("Nearly all permitted clients are connected", Text($"{view[ConnectedClients]:0} of {view[MaxClients]:0}"), Warning) : null)
        { Culprit = culprits => culprits.ConnectingAddresses() },
        new("clients-refused", "Connections were refused within the last minute: because of maxclients or shed-connections-per-second, or because protected mode allows only this machine.",
            "Raise maxclients; for clients of other machines set requirepass or turn protected-mode off deliberately.", "clients",
            view => view.Growth(ConnectionsRejected, 60) is > 0 and var refused ? new("Clients cannot connect", Text($"{Times(refused, "connection")} refused in the last minute"), Critical) : null)
        { Culprit = culprits => culprits.ConnectingAddresses() },
        new("connection-storm", "More than 500 connections a second were opened over the last 10 seconds.",
            "Let clients keep their connections: use a pool or one multiplexed connection.", "clients",
            view => view.Min(ConnectionsReceived, 10) > 500 ? new("Clients connect too often", Text($"{view.Mean(ConnectionsReceived, 10):0} connections a second, {view[ConnectedClients]:0} connected"), Warning) : null)
        { Culprit = culprits => culprits.ConnectingAddresses() },
        new("clients-not-reading", "Clients have left more than 4 MiB of replies unread throughout the last 10 seconds. The server has stopped reading from them.",
            "The clients view shows which clients do not read: either a client hangs, or it requests more than it reads.", "clients",
            view => view.Min(SuspendedClients, 10) > 0 ? new("Clients do not read their replies", Text($"{Times(view[SuspendedClients], "client")}, {Bytes(view[OutputBytes])} of replies wait"), Warning) : null)
        { Culprit = culprits => culprits.ClientsNotReading() },
        new("output-limit", "Clients other than subscribers were closed within the last minute because more output waited for them than client-output-buffer-limit allows.",
            "Raise client-output-buffer-limit, or make the clients read faster or request less.", "clients",
            view => view.Growth(OutputDisconnections, 60) - (view.Growth(SubscribersClosed, 60) is > 0 and var subscribers ? subscribers : 0) is > 0 and var closed ? new("Clients were closed at their output limit", Text($"{Times(closed, "client")} in the last minute"), Warning) : null)
        { Culprit = culprits => culprits.Closed(TimelineKind.OverLimit) },
        new("slow-subscriber", "Subscribers were closed within the last minute because more messages waited for them than client-output-buffer-limit allows for pubsub.",
            "The subscribers read messages more slowly than publishers send them: publish less to these channels, or spread the channels over more connections. Streams keep messages for slow readers.", "clients",
            view => view.Growth(SubscribersClosed, 60) is > 0 and var closed ? new("Subscribers are too slow for their messages", Text($"{Times(closed, "subscriber")} closed and {Times(view.Growth(MessagesPublished, 60), "message")} published in the last minute"), Warning) : null)
        { Culprit = culprits => culprits.Closed(TimelineKind.OverLimit) },
        new("query-limit", "Clients were closed within the last minute because a request was larger than client-query-buffer-limit.",
            "Split the request, or raise client-query-buffer-limit.", "clients",
            view => view.Growth(QueryDisconnections, 60) is > 0 and var closed ? new("Clients were closed because of too large requests", Text($"{Times(closed, "client")} in the last minute"), Warning) : null)
        { Culprit = culprits => culprits.Closed(TimelineKind.QueryTooLarge) },
        new("large-request", "A client has sent more than 256 MiB of one request.",
            "Split the request. The memory is held until it is complete.", "clients",
            view => view[LargestInput] > 256 << 20 ? new("A request is very large", Text($"{Bytes(view[LargestInput])} have arrived"), Notice) : null)
        { Culprit = culprits => culprits.LargestRequest() },
        new("migrations-fail", "More than half of the transfers of MIGRATE failed over the last minute, and at least five: the target was not reached, did not answer in time, or refused something. The keys concerned stay here.",
            "The clients' replies have the reason: IOERR names a network or a target that does not answer, anything else is the target's own error. Check host, port, AUTH and the timeout; with BUSYKEY, use REPLACE.", "clients",
            view => view.Growth(MigrationFailures, 60) is >= 5 and var failed && failed * 2 > view.Growth(MigrationTransfers, 60) ? new("MIGRATE fails", Text($"{failed:0} of {Times(view.Growth(MigrationTransfers, 60), "transfer")} failed in the last minute"), Warning) : null),
        new("logins-fail", "More than one login a second failed over the last minute.",
            "Look for a client with an old password; block unknown addresses in the firewall.", "clients",
            view => view.Mean(AuthenticationsDenied, 60) > 1 ? new("Logins fail", Text($"{view.Mean(AuthenticationsDenied, 60):0.#} a second"), Warning) : null)
        { Culprit = culprits => culprits.Denied(isLogin: true) },
        new("logins-refused", "Logins were refused within the last minute, because too many from the same address had failed (failed-logins-per-minute).",
            "ACL LOG and the users view show the addresses. Either a client has an old password, or someone is guessing passwords.", "clients",
            view => view.Growth(LoginsRefused, 60) is > 0 and var refused ? new("An address guesses passwords", Text($"{Times(refused, "login")} refused in the last minute"), Warning) : null)
        { Culprit = culprits => culprits.Denied(isLogin: true) },
        new("access-denied", "More than one command a second was denied to its user over the last minute: by command, key or channel.",
            "ACL LOG shows which; ACL DRYRUN shows what a user may do.", "clients",
            view => view.Mean(CommandsDenied, 60) + view.Mean(KeysDenied, 60) + view.Mean(ChannelsDenied, 60) is > 1 and double denied ? new("Users are denied commands", Text($"{denied:0.#} a second"), Notice) : null)
        { Culprit = culprits => culprits.Denied(isLogin: false) },
    ];
}
