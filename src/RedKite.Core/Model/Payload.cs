using RedKite.Net.Interop;
using RedKite.Protocol;

namespace RedKite.Server.Model;

/// <summary>
/// Bytes on their way to a client: a part of a shared buffer. All clients that get the same bytes share one buffer. It holds no
/// reference: <see cref="Session.Deliver"/> takes one, and the sender releases its own afterwards.
/// </summary>
internal readonly record struct Payload(SharedBuffer Buffer, int Start, int Length)
{
    internal ReadOnlySpan<byte> Bytes => Buffer.GetSpan().Slice(Start, Length);

    /// <summary>A copy of bytes, with one reference.</summary>
    internal static Payload Of(BufferPool pool, ReadOnlySpan<byte> bytes) => new(pool.Copy(bytes), 0, bytes.Length);

    /// <summary>The contents of a writer, each part with one reference. Large replies are not copied.</summary>
    internal static Payload[] Of(BufferPool pool, ReplyWriter reply)
    {
        ReadOnlySpan<ReplyChunk> chunks = reply.Chunks;
        var payloads = new Payload[chunks.Length + 1];
        for (int i = 0; i < chunks.Length; i++)
        {
            payloads[i] = new Payload((SharedBuffer)chunks[i].Owner, chunks[i].Start, chunks[i].Length);
            payloads[i].Buffer.AddReference();
        }

        payloads[^1] = Of(pool, reply.Tail);
        return payloads;
    }
}
