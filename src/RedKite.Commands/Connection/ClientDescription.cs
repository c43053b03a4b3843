using System.Globalization;
using System.Text;
using RedKite.Server.Metrics;
using RedKite.Server.Model;

namespace RedKite.Server.Commands.Connection;

/// <summary>A client's line in CLIENT LIST and CLIENT INFO, with Redis 8.6's fields in its order.</summary>
/// <remarks>
/// Sessions of other loops are read while they work: each value is one machine word or a reference to something immutable,
/// and may be a moment old. A client has input and output buffers of its own only while a request is incomplete or replies
/// wait. Otherwise it uses its loop's, which are shown with the client whose command is executing.
/// </remarks>
internal static class ClientDescription
{
    /// <summary>The caller's own line.</summary>
    internal static string Of(scoped in CommandContext cmd)
    {
        var text = new StringBuilder();
        Append(text, cmd.Session, cmd);
        return text.ToString();
    }

    internal static void Append(StringBuilder text, Session session, scoped in CommandContext cmd)
    {
        bool isCaller = session == cmd.Session;
        long ownInputBytes = session.Connection?.InputBytes ?? 0;
        long inputBytes = isCaller ? Math.Max(session.Counts.InputBytes, ownInputBytes) : ownInputBytes;
        long bufferBytes = session.Connection?.BufferBytes ?? 0;
        long outputBytes = session.Connection?.OutputBytes ?? 0;
        long outputCapacity = session.Connection?.OutputCapacityBytes ?? 0;
        long outputBlocks = session.Connection?.OutputBlocks ?? 0;
        long argumentBytes = isCaller ? ArgumentBytes(cmd) : 0;
        long replyBytes = isCaller ? cmd.Reply.Length : 0;
        long replyCapacity = isCaller ? Math.Max(cmd.Reply.BufferBytes, replyBytes) : 0;
        long totalBytes = LoopMetrics.ConnectionBytes + bufferBytes + argumentBytes + session.KeptBytes;
        text.Append(
            CultureInfo.InvariantCulture,
            $"id={session.Id} addr={session.Address} laddr={session.LocalAddress} fd={session.Connection?.Descriptor ?? -1}"
            + $" name={Shown(session.Name)} age={Seconds(cmd.Time.SteadyMs - session.CreatedMs)} idle={Seconds(cmd.Time.SteadyMs - session.Counts.LastInteractionMs)}"
            + $" flags={Flags(session)} db={session.DatabaseIndex} sub={Subscriptions(session, SubscriptionKind.Channel)} psub={Subscriptions(session, SubscriptionKind.Pattern)} ssub={Subscriptions(session, SubscriptionKind.ShardChannel)} multi={session.Transaction?.Count ?? -1} watch={session.Watch?.Keys.Count ?? 0}"
            + $" qbuf={inputBytes} qbuf-free={Math.Max(0, bufferBytes - outputCapacity - ownInputBytes)} argv-mem={argumentBytes} multi-mem={session.Transaction?.Bytes ?? 0}"
            + $" rbs={replyCapacity} rbp={session.Counts.ReplyBytesPeak} obl={replyBytes} oll={outputBlocks} omem={outputBytes} tot-mem={totalBytes}"
            + $" events={(outputBlocks > 0 ? "rw" : "r")} cmd={session.Counts.LastCommand?.FullName ?? "NULL"} user={(session.Outgoing is null ? session.User.Name : "(superuser)")}"
            + $" redir={session.Tracking?.Options.RedirectTo ?? -1} resp={(session.Resp3 ? 3 : 2)} lib-name={Shown(session.LibraryName)} lib-ver={Shown(session.LibraryVersion)}"
            + $" io-thread={session.Connection?.Loop.Index ?? 0} tot-net-in={session.Counts.BytesReceived} tot-net-out={session.Counts.BytesSent} tot-cmds={session.Counts.CommandsProcessed}\n");
    }

    private static long ArgumentBytes(scoped in CommandContext cmd)
    {
        long bytes = 0;
        for (int i = 0; i < cmd.Count; i++) bytes += cmd[i].Length;
        return bytes;
    }

    private static int Subscriptions(Session session, SubscriptionKind kind) => session.Subscriptions?.CountOf(kind) ?? 0;

    private static string Flags(Session session)
    {
        var flags = new StringBuilder();
        if (session.Type == ClientType.Replica) flags.Append('S');
        if (session.IsMonitor) flags.Append('O');
        if (session.Type == ClientType.Master) flags.Append('M');
        if (session.Type == ClientType.PubSub) flags.Append('P');
        if ((session.Attention & SessionAttention.ReadsReplica) != 0) flags.Append('r');
        if (session.Transaction is not null) flags.Append('x');
        if (session.IsPaused || session.Blocked is not null) flags.Append('b');
        if (session.Tracking is { } tracking)
        {
            flags.Append('t');
            if (tracking.IsRedirectBroken) flags.Append('R');
            if (tracking.Broadcasts) flags.Append('B');
        }

        if (session.Watch is { IsDirty: true }) flags.Append('d');
        if (session.ClosesAfterReply) flags.Append('c');
        if (session.Connection?.RemoteAddress.IsUnix == true) flags.Append('U');
        if (session.NoEvict) flags.Append('e');
        if (session.NoTouch) flags.Append('T');
        return flags.Length == 0 ? "N" : flags.ToString();
    }

    // Up to a zero byte: what follows was never checked, and may be a line break.
    private static string Shown(string text) => text.IndexOf('\0', StringComparison.Ordinal) is >= 0 and int end ? text[..end] : text;

    private static long Seconds(long ms) => Math.Max(0, ms / 1000);
}
