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

        var sources = new Sources(cmd);
        byte[] rented = ArrayPool<byte>.Shared.Rent(3 * BlockBytes);
        for (int start = 0; start < length; start += BlockBytes)
        {
            int bytes = Math.Min(BlockBytes, length - start);
            Span<byte> result = rented.AsSpan(0, bytes);
            sources.KeepThoseBehind(start);
            if (operation == BitOperation.One) One(cmd, sources, start, result, rented.AsSpan(BlockBytes, bytes), rented.AsSpan(2 * BlockBytes, bytes));
            else OfFirstAndOthers(cmd, sources, operation, start, result);
            result.CopyTo(destination.Value[start..]);
        }

        ArrayPool<byte>.Shared.Return(rented);
        sources.Return();
        cmd.EffectSet(2, destination.Value, Database.NoExpiry);
    }

    private static void OfFirstAndOthers(scoped in CommandContext cmd, scoped in Sources sources, BitOperation operation, int start, Span<byte> result)
    {
        result.Clear();
        foreach (int i in sources.Arguments)
        {
            if (i == BitmapCommands.FirstSource) continue;
            ReadOnlySpan<byte> source = Block(cmd, i, start, result.Length);
            BitCombination.Combine(BitOperation.Or, result[..source.Length], source, result[..source.Length]);
        }

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

    private static void One(scoped in CommandContext cmd, scoped in Sources sources, int start, Span<byte> once, Span<byte> twice, Span<byte> both)
    {
        once.Clear();
        twice.Clear();
        foreach (int i in sources.Arguments)
        {
            ReadOnlySpan<byte> source = Block(cmd, i, start, once.Length);
            int bytes = source.Length;
            BitCombination.Combine(BitOperation.And, once[..bytes], source, both[..bytes]);
            BitCombination.Combine(BitOperation.Or, twice[..bytes], both[..bytes], twice[..bytes]);
            BitCombination.Combine(BitOperation.Or, once[..bytes], source, once[..bytes]);
        }

        BitCombination.Subtract(once, twice, once);
    }

    // A block of a source, which may be shorter.
    private static ReadOnlySpan<byte> Block(scoped in CommandContext cmd, int argument, int start, int bytes)
    {
        ReadOnlySpan<byte> source = BitmapCommands.Source(cmd, argument);
        source = start >= source.Length ? default : source.Slice(start, Math.Min(bytes, source.Length - start));
        BitmapCommands.CombinedBytes += 1 + source.Length;
        return source;
    }

    // The sources that reach the present block, so that any number of missing and short ones are not looked up for each block of the longest.
    private ref struct Sources
    {
        private readonly int[] _arguments;
        private readonly int[] _lengths;
        private int _count;

        internal Sources(scoped in CommandContext cmd)
        {
            int sources = cmd.Count - BitmapCommands.FirstSource;
            _arguments = ArrayPool<int>.Shared.Rent(sources);
            _lengths = ArrayPool<int>.Shared.Rent(sources);
            _count = sources;
            for (int i = 0; i < sources; i++)
            {
                _arguments[i] = BitmapCommands.FirstSource + i;
                _lengths[i] = -BitmapCommands.Source(cmd, _arguments[i]).Length;
            }

            _lengths.AsSpan(0, sources).Sort(_arguments.AsSpan(0, sources));
        }

        internal readonly ReadOnlySpan<int> Arguments => _arguments.AsSpan(0, _count);

        internal void KeepThoseBehind(int start)
        {
            while (_count > 0 && -_lengths[_count - 1] <= start) _count--;
        }

        internal readonly void Return()
        {
            ArrayPool<int>.Shared.Return(_arguments);
            ArrayPool<int>.Shared.Return(_lengths);
        }
    }
}
