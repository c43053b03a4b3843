using RedKite.Protocol;
using RedKite.Server.Model;

namespace RedKite.Server.Commands.Arguments;

/// <summary>The options after the cursor of HSCAN, SSCAN and ZSCAN.</summary>
internal ref struct MemberScanOptions
{
    private const long CountDefault = 10;

    private GlobBudget _patterns;

    /// <summary>MATCH: only members that match this pattern.</summary>
    internal ReadOnlySpan<byte> Pattern { get; private set; }

    /// <summary>NOVALUES: fields without their values.</summary>
    internal bool NoValues { get; private set; }

    /// <summary>NOSCORES: members without their scores.</summary>
    internal bool NoScores { get; private set; }

    /// <summary>COUNT: the approximate number of members to visit.</summary>
    internal long Count { get; private set; }

    /// <param name="cmd">The command, with the options from argument 3 on.</param>
    /// <param name="result">The options.</param>
    /// <param name="haveValues">Whether NOVALUES is allowed.</param>
    /// <param name="haveScores">Whether NOSCORES is, of Valkey.</param>
    internal static bool TryParseOrReply(scoped in CommandContext cmd, out MemberScanOptions result, bool haveValues = false, bool haveScores = false)
    {
        result = new MemberScanOptions { Pattern = "*"u8, Count = CountDefault, _patterns = cmd.BeginPatterns() };
        var options = new OptionReader(cmd, first: 3);
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
            else if (haveScores && options.Take("NOSCORES"u8))
            {
                result.NoScores = true;
                continue;
            }
            else if (options.Take("NOVALUES"u8))
            {
                result.NoValues = true;
                if (haveValues) continue;
                cmd.Reply.Error("ERR NOVALUES option can only be used in HSCAN"u8);
                return false;
            }

            cmd.ReplySyntaxError();
            return false;
        }

        return true;
    }

    /// <summary>What the pattern may take.</summary>
    internal readonly GlobBudget Patterns => _patterns;

    /// <summary>Whether the pattern matches every member.</summary>
    internal readonly bool AcceptsAll => Pattern is [(byte)'*'];

    internal readonly bool Accepts(ReadOnlySpan<byte> member) => AcceptsAll || _patterns.IsMatch(Pattern, member);
}
