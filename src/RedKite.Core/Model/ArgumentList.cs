using System.Runtime.CompilerServices;
using RedKite.Protocol;

namespace RedKite.Server.Model;

/// <summary>The arguments of a request, the command's name included: slices of the input in which it arrived.</summary>
internal ref struct ArgumentList(Span<byte> input)
{
    private readonly Span<byte> _input = input;
    private ulong _redacted; // a bit per argument; the last one stands for all further ones

    /// <summary>The bytes that the arguments are slices of.</summary>
    internal readonly ReadOnlySpan<byte> Input => _input;

    /// <summary>The positions of the arguments in <see cref="Input"/>.</summary>
    internal ReadOnlySpan<ArgumentSlice> Slices { get; private set; }

    internal readonly int Count => Slices.Length;

    internal readonly ReadOnlySpan<byte> this[int index]
    {
        [MethodImpl(MethodImplOptions.AggressiveInlining)]
        get => At(Slices[index]);
    }

    /// <summary>Bytes from the first argument to the end of the last one.</summary>
    internal readonly int Bytes => Slices[^1].Start + Slices[^1].Length - Slices[0].Start;

    /// <summary>The length of the request as a client sends it: with the numbers before the first argument and the last line's end.</summary>
    internal readonly int FramedBytes => Bytes + "*\r\n$\r\n\r\n"u8.Length + DecimalDigits(Slices.Length) + DecimalDigits(Slices[0].Length);

    /// <summary>
    /// Gets the request as its client has sent it, if that is how it would be written: an array of bulk strings with numbers
    /// in their shortest form. Every byte between the arguments is checked, because the parser passes over some unread.
    /// </summary>
    internal readonly bool TryGetRequest(out int start, out int end)
    {
        ReadOnlySpan<ArgumentSlice> slices = Slices;
        end = 0;
        start = slices[0].Start - "*\r\n$\r\n"u8.Length - DecimalDigits(slices.Length) - DecimalDigits(slices[0].Length);
        if (start < 0) return false;
        int at = start;
        if (!Continues('*', slices.Length, ref at)) return false;
        foreach (ArgumentSlice slice in slices)
        {
            if (!Continues('$', slice.Length, ref at) || at != slice.Start) return false;
            at += slice.Length;
            if (_input.Length - at < 2 || _input[at] != '\r' || _input[at + 1] != '\n') return false;
            at += 2;
        }

        end = at;
        return true;
    }

    // Whether a line with a type and a number is in the input at a position, which moves behind it.
    private readonly bool Continues(char type, int number, ref int at)
    {
        int digits = DecimalDigits(number);
        int end = at + digits + 3;
        if (end > _input.Length) return false;
        ReadOnlySpan<byte> line = _input[at..end];
        for (int i = digits; i > 0; i--)
        {
            if (line[i] != '0' + (number % 10)) return false;
            number /= 10;
        }

        at = end;
        return line[0] == type && line[digits + 1] == '\r' && line[digits + 2] == '\n';
    }

    /// <summary>An argument of a request in the same input.</summary>
    [MethodImpl(MethodImplOptions.AggressiveInlining)]
    internal readonly ReadOnlySpan<byte> At(ArgumentSlice slice) => _input.Slice(slice.Start, slice.Length);

    /// <summary>Begins a request in the same input.</summary>
    internal void Begin(ReadOnlySpan<ArgumentSlice> slices)
    {
        Slices = slices;
        _redacted = 0;
    }

    /// <summary>Marks an argument as a secret, which no log shows.</summary>
    internal void Redact(int argument) => _redacted |= 1UL << Math.Min(argument, 63);

    /// <summary>The marks of secrets, for a copy of the request.</summary>
    internal ulong Redacted
    {
        readonly get => _redacted;
        set => _redacted = value;
    }

    /// <summary>Whether a log must not show the argument.</summary>
    internal readonly bool IsRedacted(int argument) => (_redacted & (1UL << Math.Min(argument, 63))) != 0;

    private static int DecimalDigits(int value)
    {
        int digits = 1;
        for (; value >= 10; value /= 10) digits++;
        return digits;
    }
}
