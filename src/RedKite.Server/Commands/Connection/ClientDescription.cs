using System.Globalization;
using System.Text;
using RedKite.Server.Model;

namespace RedKite.Server.Commands.Connection;

/// <summary>A client's line in CLIENT LIST and CLIENT INFO, with the fields of Redis 8.0 in its order.</summary>
/// <remarks>
/// Sessions of other loops are read while they execute: every value is one machine word or a reference to an immutable
/// object, and may be slightly outdated. Buffers that Redis keeps for each client and RedKite shares are 0.
/// </remarks>
internal static class ClientDescription
{
    internal static void Append(StringBuilder text, Session session, long nowMs, long argumentBytes)
    {
        long inputBytes = session.Connection?.InputBytes ?? 0;
        long bufferBytes = session.Connection?.BufferBytes ?? 0;
        long outputCapacity = session.Connection?.OutputCapacityBytes ?? 0;
        bool outputWaits = session.Connection?.OutputBytes > 0;
        text.Append(
            CultureInfo.InvariantCulture,
            $"id={session.Id} addr={session.Address} laddr={session.LocalAddress} fd={session.Connection?.Descriptor ?? -1}"
            + $" name={session.Name} age={Seconds(nowMs - session.CreatedMs)} idle={Seconds(nowMs - session.LastInteractionMs)}"
            + $" flags={Flags(session)} db={session.DatabaseIndex} sub=0 psub=0 ssub=0 multi=-1 watch=0"
            + $" qbuf={inputBytes} qbuf-free={Math.Max(0, bufferBytes - outputCapacity - inputBytes)} argv-mem={argumentBytes} multi-mem=0"
            + $" rbs=0 rbp=0 obl=0 oll={(outputWaits ? 1 : 0)} omem={outputCapacity} tot-mem={bufferBytes + argumentBytes}"
            + $" events={(outputWaits ? "rw" : "r")} cmd={session.LastCommand?.FullName ?? "NULL"} user={session.User}"
            + $" redir=-1 resp={(session.Resp3 ? 3 : 2)} lib-name={session.LibraryName} lib-ver={session.LibraryVersion}\n");
    }

    private static string Flags(Session session)
    {
        var flags = new StringBuilder();
        if (session.IsPaused || session.Blocked is not null) flags.Append('b');
        if (session.ClosesAfterReply) flags.Append('c');
        if (session.Connection?.RemoteAddress.IsUnix == true) flags.Append('U');
        if (session.NoEvict) flags.Append('e');
        if (session.NoTouch) flags.Append('T');
        return flags.Length == 0 ? "N" : flags.ToString();
    }

    private static long Seconds(long ms) => Math.Max(0, ms / 1000);
}
