namespace RedKite.Server.Commands.Options;

/// <summary>The options behind the cursor of ZSCAN and its kin.</summary>
internal ref struct MemberScanOptions
{
    private const long CountDefault = 10;

    /// <summary>MATCH: only members that this pattern fits.</summary>
    internal ReadOnlySpan<byte> Pattern { get; private set; }

    /// <summary>COUNT: about so many members are looked at.</summary>
    internal long Count { get; private set; }

    internal static bool TryParseOrReply(scoped in CommandContext cmd, int first, out MemberScanOptions result)
    {
        result = new MemberScanOptions { Pattern = "*"u8, Count = CountDefault };
        var options = new OptionReader(cmd, first);
        while (options.More)
        {
            if (options.TakeWithValue("COUNT"u8, out int value))
            {
                if (!cmd.TryIntegerOrReply(value, out long count)) return false;
                result.Count = count;
                if (count >= 1) continue;
            }
            else if (options.TakeWithValue("MATCH"u8, out value))
            {
                result.Pattern = cmd[value];
                continue;
            }
            else if (options.Take("NOVALUES"u8))
            {
                cmd.Reply.Error("ERR NOVALUES option can only be used in HSCAN"u8);
                return false;
            }

            cmd.ReplySyntaxError();
            return false;
        }

        return true;
    }

    internal readonly bool Accepts(ReadOnlySpan<byte> member) => Pattern is [(byte)'*'] || GlobPattern.IsMatch(Pattern, member);
}
