using System.Buffers;
using RedKite.Server.Commands.Arguments;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using RedKite.Store.Values.Strings;

namespace RedKite.Server.Commands.Strings;

/// <summary>
/// BITOP's DIFF, DIFF1, ANDOR and ONE, block by block: all sources of a block are read before its result is written, so that the destination may be one of
/// them. The effect is the result, because Redis 8.0 does not know these operations.
/// </summary>
internal static class BitBlockCombination
{
    private const int BlockBytes = 16 * 1024;

    /// <summary>Writes the combination of the request's sources to the destination.</summary>
    /// <param name="cmd">The command.</param>
    /// <param name="operation">DIFF, DIFF1, ANDOR or ONE.</param>
    /// <param name="destination">The destination's entry.</param>
    /// <param name="length">The length of the longest source.</param>
    /// <param name="isSource">Whether the destination is a source too.</param>
    internal static void CombineInto(scoped in CommandContext cmd, BitOperation operation, Entry destination, int length, bool isSource)
    {
        if (isSource)
        {
            destination = BitmapCommands.OpenForBits(cmd, destination, 2, (length * 8L) - 1, out _);
            destination = cmd.Database.WriteExpiry(destination, Database.NoExpiry);
        }
        else
        {
            destination = cmd.Database.WriteString(cmd[2], cmd.HashOf(2), destination, length, ValueEncoding.Raw, Database.NoExpiry, cmd.Accesses.ClockOfRewritten(destination));
        }

        byte[] rented = ArrayPool<byte>.Shared.Rent(3 * BlockBytes);
        for (int start = 0; start < length; start += BlockBytes)
        {
            int bytes = Math.Min(BlockBytes, length - start);
            Span<byte> result = rented.AsSpan(0, bytes);
            if (operation == BitOperation.One) One(cmd, start, result, rented.AsSpan(BlockBytes, bytes), rented.AsSpan(2 * BlockBytes, bytes));
            else OfFirstAndOthers(cmd, operation, start, result);
            result.CopyTo(destination.Value[start..]);
        }

        ArrayPool<byte>.Shared.Return(rented);
        cmd.EffectSet(2, destination.Value, Database.NoExpiry);
    }

    private static void OfFirstAndOthers(scoped in CommandContext cmd, BitOperation operation, int start, Span<byte> result)
    {
        result.Clear();
        for (int i = BitmapCommands.FirstSource + 1; i < cmd.Count; i++) BitCombination.Combine(BitOperation.Or, result, Block(cmd, i, start, result.Length), result);
        ReadOnlySpan<byte> first = Block(cmd, BitmapCommands.FirstSource, start, result.Length);
        if (operation == BitOperation.AndOr) BitCombination.Combine(BitOperation.And, result, first, result);
        else if (operation == BitOperation.Diff1) BitCombination.Subtract(result, first, result);
        else SubtractFrom(first, result);
    }

    // The result is what is subtracted, and the destination.
    private static void SubtractFrom(ReadOnlySpan<byte> first, Span<byte> result)
    {
        BitCombination.Subtract(first, result[..first.Length], result[..first.Length]);
        result[first.Length..].Clear();
    }

    private static void One(scoped in CommandContext cmd, int start, Span<byte> once, Span<byte> twice, Span<byte> both)
    {
        once.Clear();
        twice.Clear();
        for (int i = BitmapCommands.FirstSource; i < cmd.Count; i++)
        {
            ReadOnlySpan<byte> source = Block(cmd, i, start, once.Length);
            BitCombination.Combine(BitOperation.And, once, source, both);
            BitCombination.Combine(BitOperation.Or, twice, both, twice);
            BitCombination.Combine(BitOperation.Or, once, source, once);
        }

        BitCombination.Subtract(once, twice, once);
    }

    // A block of a source, which may be shorter or empty.
    private static ReadOnlySpan<byte> Block(scoped in CommandContext cmd, int argument, int start, int bytes)
    {
        ReadOnlySpan<byte> source = BitmapCommands.Source(cmd, argument);
        return start >= source.Length ? default : source.Slice(start, Math.Min(bytes, source.Length - start));
    }
}
