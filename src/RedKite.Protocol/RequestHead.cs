using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Runtime.Intrinsics;

namespace RedKite.Protocol;

/// <summary>
/// The first bytes of a request, up to the end of its name, and their meaning. Clients repeat themselves: one comparison
/// shows that a request has the same command and number of arguments as the one before it. Rejected: several heads, indexed by the
/// number of arguments and the first letter, which cost the time that one head saves.
/// </summary>
internal readonly struct RequestHead
{
    /// <summary>Longer heads are not remembered, and shorter requests are not compared.</summary>
    internal const int BytesMax = 32;

    private readonly Vector256<byte> _bytes;
    private readonly Vector256<byte> _mask;

    private RequestHead(Vector256<byte> bytes, Vector256<byte> mask, int length, int arguments, ArgumentSlice name)
    {
        (_bytes, _mask) = (bytes, mask);
        (Bytes, Arguments, Name) = (length, arguments, name);
    }

    /// <summary>A value that no request begins with: bits that are masked out cannot be set.</summary>
    internal static RequestHead None => new(Vector256<byte>.AllBitsSet, Vector256<byte>.Zero, 0, 0, default);

    internal int Bytes { get; }

    /// <summary>How many arguments the request has, with its name.</summary>
    internal int Arguments { get; }

    /// <summary>The name's position, relative to the request's first byte.</summary>
    internal ArgumentSlice Name { get; }

    /// <summary>The head of a whole request. A separate method, because it is called only when a client switches to another command.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    internal static RequestHead Of(ReadOnlySpan<byte> request, int arguments, ArgumentSlice name)
    {
        int bytes = name.Start + name.Length + 2;
        if (bytes > BytesMax || request.Length < BytesMax) return None;
        Vector256<byte> mask = Vector256.LessThan(Vector256<byte>.Indices, Vector256.Create((byte)bytes));
        return new RequestHead(Vector256.LoadUnsafe(ref MemoryMarshal.GetReference(request)) & mask, mask, bytes, arguments, name);
    }

    /// <summary>Whether a request of at least <see cref="BytesMax"/> bytes begins with it.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal bool Begins(ref byte request) => (Vector256.LoadUnsafe(ref request) & _mask) == _bytes;
}
