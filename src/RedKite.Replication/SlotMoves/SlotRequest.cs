using System.Globalization;
using System.Security.Authentication;
using RedKite.Server.Config;
using RedKite.Server.Following;
using RedKite.Server.Replication;
using RedKite.Store.Keyspace;

namespace RedKite.Server.SlotMoves;

/// <summary>Connections to other nodes of the cluster for moves, and what is asked over one of its own: that a node moves slots here, and whether it has taken some.</summary>
internal static class SlotRequest
{
    /// <summary>Connects to a node, as its user of links.</summary>
    /// <exception cref="IOException">It cannot be reached, or refuses, or this node's certificates cannot be used.</exception>
    internal static PrimaryConnection Connect(SlotMoveParts parts, string id, CancellationToken cancellation)
    {
        if (parts.Ownership.AddressOf(id) is not PrimaryAddress address) throw new IOException($"the address of node {id} is not known");
        Settings settings = parts.Core.Settings;
        using var limited = CancellationTokenSource.CreateLinkedTokenSource(cancellation);
        limited.CancelAfter(SlotMoveLimits.AnswerMsMax);
        PrimaryConnection connection;
        try
        {
            connection = PrimaryConnection.Open(address.Host, address.Port, settings.BindSourceAddress, parts.Tls(), limited.Token);
        }
        catch (OperationCanceledException failure)
        {
            throw new IOException("the node does not answer", failure);
        }
        catch (Exception failure) when (failure is RedKiteConfigException or AuthenticationException)
        {
            throw new IOException(failure.Message, failure); // such as certificates that are being renewed
        }

        try
        {
            if (settings.MasterAuth.Length == 0) return connection;
            string reply = settings.MasterUser.Length > 0 ? Ask(connection, "AUTH", settings.MasterUser, settings.MasterAuth) : Ask(connection, "AUTH", settings.MasterAuth);
            return reply[0] == '-' ? throw new IOException($"Unable to AUTH: {reply[1..]}") : connection;
        }
        catch
        {
            connection.Dispose();
            throw;
        }
    }

    internal static string Ask(PrimaryConnection connection, params ReadOnlySpan<string> request)
    {
        connection.Send(request);
        return connection.WaitForInput(SlotMoveLimits.AnswerMsMax) ? connection.ReceiveLine() : throw new IOException("the node does not answer");
    }

    /// <summary>The arguments of a request that names slots.</summary>
    internal static string[] WithRanges(SlotSet slots, params string[] first) =>
        [.. first, .. slots.Ranges().SelectMany(static range => (string[])[range.First.ToString(CultureInfo.InvariantCulture), range.Last.ToString(CultureInfo.InvariantCulture)])];

    /// <summary>Asks the source of a move to this node to begin. It connects back.</summary>
    internal static void Run(SlotMoveService service, SlotMove move, CancellationToken stopping)
    {
        try
        {
            move.Enter(SlotMoveState.Connecting, service.Parts.Core.Clock.NowMs);
            using var either = CancellationTokenSource.CreateLinkedTokenSource(stopping, move.Cancellation);
            using PrimaryConnection connection = Connect(service.Parts, move.SourceId, either.Token);
            string reply = Ask(connection, WithRanges(move.Slots, "CLUSTER", "SYNCSLOTS", "REQUEST", move.Id, move.TargetId));
            if (reply[0] == '-') throw new IOException(reply[1..]);

            // From here on the source's connection decides; if it dies before that, the source knows why.
            while (!move.HasEnded && !either.IsCancellationRequested)
            {
                if (move.State != SlotMoveState.Connecting)
                {
                    if (connection.WaitForInput(1000)) break; // it says nothing unasked
                    continue;
                }

                either.Token.WaitHandle.WaitOne(100);
                string state = Ask(connection, "CLUSTER", "SYNCSLOTS", "STATE", move.Id);
                if (state[0] == '-') throw new IOException(state[1..]);
            }

            if (move.IsCanceled) move.End(SlotMoveState.Canceled, move.Reason ?? "", service.Parts.Core.Clock.NowMs);
        }
        catch (Exception failure) when (failure is IOException or System.Net.Sockets.SocketException or ObjectDisposedException)
        {
            if (move.State <= SlotMoveState.Connecting) move.End(move.IsCanceled ? SlotMoveState.Canceled : SlotMoveState.Failed, move.Reason ?? failure.Message, service.Parts.Core.Clock.NowMs);
        }
    }

    /// <summary>Asks a node whether it has some slots, having ended what it was receiving of them. Null: it is deciding.</summary>
    /// <exception cref="IOException">It cannot be asked.</exception>
    internal static bool? AskOwner(SlotMoveService service, string id, SlotSet slots, CancellationToken cancellation)
    {
        using PrimaryConnection connection = Connect(service.Parts, id, cancellation);
        string reply = Ask(connection, WithRanges(slots, "CLUSTER", "SYNCSLOTS", "OWNS", service.Parts.Ownership.SelfId));
        return reply switch
        {
            ":1" => true,
            ":0" => false,
            _ => null,
        };
    }
}
