using RedKite.Server.Model;

namespace RedKite.Server.Commands.Arguments;

/// <summary>
/// Commands that read several whole values take as long as these are large. Where a key is named again and again, that is the product of two sizes
/// which clients choose, and no data bounds it: so what is read again is bounded.
/// </summary>
internal static class RepeatedKeys
{
    /// <summary>The elements of values, or words of 64 bits of strings, that a command reads again: one to three seconds.</summary>
    internal const long ElementsMax = 1 << 24;

    /// <summary>Whether what the keys hold is read again no more than the bound says; otherwise replies an error.</summary>
    /// <param name="cmd">The command.</param>
    /// <param name="first">The argument of the first key.</param>
    /// <param name="sizes">The elements of each of the keys.</param>
    internal static bool FitOrReply(scoped in CommandContext cmd, int first, ReadOnlySpan<long> sizes)
    {
        long all = 0;
        foreach (long size in sizes) all += size;
        if (all <= ElementsMax || cmd.WasAccepted) return true; // what was accepted once is not refused later
        var seen = new HashSet<ulong>();
        long again = 0;
        for (int i = 0; i < sizes.Length; i++)
        {
            if (!seen.Add(cmd.HashOf(first + i))) again += sizes[i];
        }

        if (again <= ElementsMax) return true;
        cmd.Reply.Error($"ERR the command would read more than {ElementsMax} elements again, because it names the same keys");
        return false;
    }
}
