using RedKite.Net;
using RedKite.Store.Keyspace;

namespace RedKite.Server.Model;

/// <summary>
/// Slots that another node sends over a connection, as commands that its session executes. They are hidden until they are taken; if the connection ends before, they are removed. One atomic word decides between
/// taking them and the end.
/// </summary>
/// <param name="id">The move, by the source's name.</param>
/// <param name="sourceId">The node that sends.</param>
/// <param name="slots">The slots.</param>
/// <param name="connection">Where they come from; null: in tests.</param>
/// <param name="ended">Called when it has ended without the slots.</param>
internal sealed class SlotReception(string id, string sourceId, SlotSet slots, Connection? connection, Action<SlotReception> ended)
{
    private const int Receives = 0;
    private const int Takes = 1;
    private const int HasTaken = 2;
    private const int HasEnded = 3;
    private const int ReplyBytesShown = 200;

    private int _state;
    private string? _failure;

    /// <summary>The move, by the source's name.</summary>
    internal string Id => id;

    internal string SourceId => sourceId;

    internal SlotSet Slots => slots;

    /// <summary>Why the slots cannot be taken; null: they can.</summary>
    internal string? Failure => Volatile.Read(ref _failure);

    /// <summary>Whether it has neither ended nor are its slots taken, or about to be.</summary>
    internal bool IsReceiving => Volatile.Read(ref _state) == Receives;

    internal bool IsTaken => Volatile.Read(ref _state) == HasTaken;

    /// <summary>What was received is not whole. The first reason stays.</summary>
    internal void Fail(string reason) => Interlocked.CompareExchange(ref _failure, reason, null);

    /// <summary>Notes the reply to a command that was received: none is sent.</summary>
    internal void NoteReply(ReadOnlySpan<byte> reply)
    {
        if (reply is not [(byte)'-', ..] || Failure is not null) return;
        int end = reply.IndexOf((byte)'\r');
        Fail("the destination has refused a command: " + System.Text.Encoding.Latin1.GetString(reply[1..(end < 0 ? Math.Min(reply.Length, ReplyBytesShown) : Math.Min(end, ReplyBytesShown))]));
    }

    /// <summary>Begins to take the slots, unless it has ended.</summary>
    internal bool TryTake() => Failure is null && Interlocked.CompareExchange(ref _state, Takes, Receives) == Receives;

    /// <summary>Ends that.</summary>
    internal void NoteTaken(bool areTaken) => Volatile.Write(ref _state, areTaken ? HasTaken : Receives);

    /// <summary>The attempt to take them has ended without them. So does the reception, if that was asked for meanwhile.</summary>
    internal void EndTaking()
    {
        NoteTaken(areTaken: false);
        if (Failure is { } reason) End(reason);
    }

    /// <summary>Ends it, unless the slots are taken: what was received is removed, and the connection closed. From any thread.</summary>
    /// <returns>False: they are being taken now.</returns>
    internal bool End(string reason)
    {
        Fail(reason);
        int state = Interlocked.CompareExchange(ref _state, HasEnded, Receives);
        if (state == Takes) return false;
        if (state != Receives) return true;
        ended(this);
        if (connection is not null) EventLoop.Post(connection, connection.Close);
        return true;
    }
}
