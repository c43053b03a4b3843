using System.Text;

namespace RedKite.TestSupport;

/// <summary>Assertions on replies, so that tests read as transcripts: <c>Run("SET k v").IsOk()</c>.</summary>
public static class ReplyAssertions
{
    public static void IsOk(this RespValue reply) => reply.Is(RespValue.Scalar('+', "OK"u8.ToArray()));

    public static void IsSimple(this RespValue reply, string text) => reply.Is(RespValue.Scalar('+', Encoding.Latin1.GetBytes(text)));

    public static void IsBulk(this RespValue reply, string text) => reply.Is(RespValue.Scalar('$', Encoding.Latin1.GetBytes(text)));

    public static void IsBytes(this RespValue reply, byte[] bytes) => reply.Is(RespValue.Scalar('$', bytes));

    public static void IsInteger(this RespValue reply, long value) => reply.Is(RespValue.Scalar(':', Encoding.ASCII.GetBytes($"{value}")));

    public static void IsError(this RespValue reply, string text) => reply.Is(RespValue.Scalar('-', Encoding.Latin1.GetBytes(text)));

    /// <summary>An array of bulk strings and RESP2's nulls.</summary>
    public static void IsArray(this RespValue reply, params string?[] bulks) =>
        reply.Is(RespValue.Aggregate('*', [.. bulks.Select(bulk => bulk is null ? RespValue.Null('$') : RespValue.Scalar('$', Encoding.Latin1.GetBytes(bulk)))]));

    public static void IsIntegers(this RespValue reply, params long[] values) =>
        reply.Is(RespValue.Aggregate('*', [.. values.Select(value => RespValue.Scalar(':', Encoding.ASCII.GetBytes($"{value}")))]));

    public static void IsNull(this RespValue reply)
    {
        if (!reply.IsNull) throw new TranscriptException($"expected null, got {reply}");
    }

    /// <summary>The connection was closed instead of a reply.</summary>
    public static void IsClosed(this RespValue reply)
    {
        if (!reply.IsClosed) throw new TranscriptException($"expected a closed connection, got {reply}");
    }

    public static void Is(this RespValue reply, RespValue expected)
    {
        if (!reply.Equals(expected)) throw new TranscriptException($"expected {expected}, got {reply}");
    }
}

/// <summary>A reply was not the expected one.</summary>
public sealed class TranscriptException(string message) : Exception(message);
