using System.Buffers;
using System.Text;
using RedKite.Protocol;
using RedKite.Server.Model;

namespace RedKite.Server.Client;

/// <summary>Where one request at a time is built and executed: a caller of the host, or a custom command under its keys' locks.</summary>
internal abstract class CallTarget
{
    internal RequestBuffer Request { get; } = new();

    /// <summary>The row of the request's command; null: there is none.</summary>
    private protected Command? Find(CommandTable commands) => Request.HasOwnName ? commands.FindByOwnName(Request[0]) : commands.Find(Request[0]);

    /// <summary>Where the reply is, until <see cref="End"/>.</summary>
    internal abstract ReplyWriter Reply { get; }

    /// <summary>Executes the request.</summary>
    internal abstract void Execute();

    /// <summary>Executes a GET; see <see cref="Caller.ExecuteGet"/>.</summary>
    internal abstract int? ExecuteGet(Span<byte> destination);

    /// <summary>Ends the call: the request and the reply are gone.</summary>
    internal abstract void End();
}

/// <summary>
/// A call that is being made: arguments are added, then one of the methods with a result executes it, reads the reply and ends it. Each call is ended exactly
/// once, even if it fails.
/// </summary>
internal readonly ref struct ClientCall(CallTarget target) : ICall
{
    internal static ClientCall Begin(CallTarget target, scoped ReadOnlySpan<byte> name)
    {
        target.Request.HasOwnName = true;
        target.Request.Add(name);
        return new ClientCall(target);
    }

    public RequestBuffer Request => target.Request;

    public void Abandon() => target.End();

    /// <summary>Any reply but an error.</summary>
    internal void Done()
    {
        try
        {
            ExecuteOrThrow();
        }
        finally
        {
            target.End();
        }
    }

    /// <summary>Whether the reply is anything but null or zero.</summary>
    internal bool IsDone()
    {
        try
        {
            ReadOnlySpan<byte> reply = ExecuteOrThrow();
            return reply[0] switch
            {
                (byte)':' => reply[1] != '0',
                (byte)'$' or (byte)'*' => reply[1] != '-',
                _ => true,
            };
        }
        finally
        {
            target.End();
        }
    }

    /// <summary>An integer.</summary>
    internal long Integer() => IntegerOrNull() ?? throw Unexpected();

    /// <summary>An integer, also one that is a string; null for a null.</summary>
    internal long? IntegerOrNull()
    {
        try
        {
            ReadOnlySpan<byte> reply = ExecuteOrThrow();
            if (reply[0] == ':') return RespNumber.TryParseInt64(reply[1..reply.IndexOf((byte)'\r')], out long value) ? value : throw Unexpected();
            if (!ReplyText.TryBulk(reply, out ReadOnlySpan<byte> text)) return null;
            return RespNumber.TryParseInt64(text, out long number) ? number : throw Unexpected();
        }
        finally
        {
            target.End();
        }
    }

    /// <summary>A floating-point number; null for a null.</summary>
    internal double? DoubleOrNull()
    {
        try
        {
            ReadOnlySpan<byte> reply = ExecuteOrThrow();
            return ReplyText.TryBulk(reply, out ReadOnlySpan<byte> text) ? ReplyText.Double(text) : null;
        }
        finally
        {
            target.End();
        }
    }

    /// <summary>A string of bytes, or a status.</summary>
    internal byte[]? BytesOrNull()
    {
        try
        {
            return ReplyText.TryBulk(ExecuteOrThrow(), out ReadOnlySpan<byte> value) ? value.ToArray() : null;
        }
        finally
        {
            target.End();
        }
    }

    /// <summary>A string of bytes, or a status, as UTF-8.</summary>
    internal string? TextOrNull()
    {
        try
        {
            return ReplyText.TryBulk(ExecuteOrThrow(), out ReadOnlySpan<byte> value) ? Encoding.UTF8.GetString(value) : null;
        }
        finally
        {
            target.End();
        }
    }

    /// <summary>A string of bytes in memory of the shared pool, which the caller disposes; null for a null.</summary>
    internal RedKitePooledValue? PooledOrNull()
    {
        try
        {
            return ReplyText.TryBulk(ExecuteOrThrow(), out ReadOnlySpan<byte> value) ? RedKitePooledValue.Of(value) : null;
        }
        finally
        {
            target.End();
        }
    }

    /// <summary>Writes a string of bytes; false for a null.</summary>
    internal bool TryWriteTo(IBufferWriter<byte> writer)
    {
        try
        {
            if (!ReplyText.TryBulk(ExecuteOrThrow(), out ReadOnlySpan<byte> value)) return false;
            writer.Write(value);
            return true;
        }
        finally
        {
            target.End();
        }
    }

    /// <summary>Executes a GET and copies as much of the value as the destination can take; the value's length, -1 for none.</summary>
    internal int GetInto(Span<byte> destination)
    {
        try
        {
            if (target.ExecuteGet(destination) is { } length) return length;
            ReadOnlySpan<byte> reply = WrittenOrThrow();
            if (!ReplyText.TryBulk(reply, out ReadOnlySpan<byte> value)) return -1;
            value[..Math.Min(value.Length, destination.Length)].CopyTo(destination);
            return value.Length;
        }
        finally
        {
            target.End();
        }
    }

    /// <summary>A flat array; an empty one for a null.</summary>
    internal RedKiteItems Items()
    {
        try
        {
            return RedKiteItems.Of(ExecuteOrThrow());
        }
        finally
        {
            target.End();
        }
    }

    /// <summary>A flat array of pairs; an empty one for a null.</summary>
    internal RedKitePairs Pairs() => RedKitePairs.Of(Items());

    /// <summary>The reply as an object. Errors are thrown.</summary>
    internal RedKiteReply Tree()
    {
        RedKiteReply reply = TreeOrError();
        if (reply.IsError) throw RedKiteException.Of(reply.Bytes.Span);
        return reply;
    }

    /// <summary>The reply as an object. Errors are replies.</summary>
    internal RedKiteReply TreeOrError()
    {
        try
        {
            target.Execute();
            return RedKiteReply.Parse(target.Reply);
        }
        finally
        {
            target.End();
        }
    }

    private ReadOnlySpan<byte> ExecuteOrThrow()
    {
        target.Execute();
        return WrittenOrThrow();
    }

    private ReadOnlySpan<byte> WrittenOrThrow()
    {
        ReadOnlySpan<byte> reply = target.Reply.Written;
        if (!reply.IsEmpty && reply[0] == '-') throw RedKiteException.Of(reply[1..reply.IndexOf((byte)'\r')]);
        return reply.IsEmpty ? throw Unexpected() : reply;
    }

    private static InvalidOperationException Unexpected() => new("The command has another reply than expected.");
}
