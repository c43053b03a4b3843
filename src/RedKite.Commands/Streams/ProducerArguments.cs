using System.Buffers.Binary;
using System.IO.Hashing;
using RedKite.Server.Commands.Arguments;
using RedKite.Server.Model;

namespace RedKite.Server.Commands.Streams;

/// <summary>
/// XADD's <c>IDMP producer id</c> or <c>IDMPAUTO producer</c>: who adds an entry, and by what it is recognised if it is added twice. Without
/// an id of the producer's own it is the entry's fields and values, of which 128 bits of XXH3 are taken.
/// </summary>
internal readonly record struct ProducerArguments
{
    /// <summary>The size of an id that is made of an entry's fields and values.</summary>
    internal const int ContentIdBytes = 16;

    [ThreadStatic]
    private static XxHash128? _hasher;

    /// <summary>The argument with the producer's name; 0: there is none.</summary>
    internal int Name { get; private init; }

    /// <summary>The argument with the id that the producer has given to the entry; 0: there is none.</summary>
    internal int Id { get; private init; }

    internal bool Exist => Name > 0;

    /// <summary>Takes the option, if it is next.</summary>
    internal static bool TryTake(ref OptionReader options, out ProducerArguments result)
    {
        result = default;
        if (options.TakeWithValues("IDMP"u8, 2, out int first)) result = new ProducerArguments { Name = first, Id = first + 1 };
        else if (options.TakeWithValue("IDMPAUTO"u8, out first)) result = new ProducerArguments { Name = first };
        return result.Exist;
    }

    /// <summary>Checks the arguments, or replies what is wrong with them.</summary>
    internal bool IsValidOrReply(scoped in CommandContext cmd, bool isRepeated)
    {
        if (isRepeated) cmd.Reply.Error("ERR syntax error, IDMP/IDMPAUTO specified multiple times"u8);
        else if (cmd[Name].IsEmpty) cmd.Reply.Error(Id > 0 ? "ERR syntax error, IDMP requires a non-empty producer ID"u8 : "ERR syntax error, IDMPAUTO requires a non-empty producer ID"u8);
        else if (Id > 0 && cmd[Id].IsEmpty) cmd.Reply.Error("ERR syntax error, IDMP requires a non-empty idempotent ID"u8);
        else return true;
        return false;
    }

    /// <summary>The id by which the entry is recognised.</summary>
    /// <param name="cmd">The request.</param>
    /// <param name="firstText">The first field's argument.</param>
    /// <param name="content">Where an id of the entry's content is written.</param>
    internal ReadOnlySpan<byte> IdOf(scoped in CommandContext cmd, int firstText, Span<byte> content)
    {
        if (Id > 0) return cmd[Id];
        XxHash128 hasher = _hasher ??= new XxHash128();
        Span<byte> length = stackalloc byte[sizeof(int)];
        UInt128 sum = 0;
        for (int i = firstText; i < cmd.Count; i++)
        {
            // With the lengths, so that fields and values do not run into each other.
            BinaryPrimitives.WriteInt32LittleEndian(length, cmd[i].Length);
            hasher.Append(length);
            hasher.Append(cmd[i]);

            // Pairs are added up: the same fields in another order are the same entry.
            bool endsPair = (i - firstText) % 2 == 1;
            if (!endsPair) continue;
            hasher.GetHashAndReset(content);
            sum += BinaryPrimitives.ReadUInt128LittleEndian(content);
        }

        BinaryPrimitives.WriteUInt128LittleEndian(content, sum);
        return content[..ContentIdBytes];
    }
}
