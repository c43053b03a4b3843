using RedKite.Protocol;
using RedKite.Server.Changes;
using RedKite.Server.Commands.Arguments;
using RedKite.Server.Model;
using RedKite.Store.Values.SortedSets;

namespace RedKite.Server.Commands.SortedSets;

/// <summary>The effects of commands on sorted sets that Redis 8.0 does not know: members with their scores.</summary>
internal static class SortedSetEffects
{
    // A large set is split, because a request has a limited number of arguments.
    private const int MembersPerCommand = 500;

    /// <summary>DEL, and ZADD of all members that a key has now.</summary>
    internal static void Replace(scoped in CommandContext cmd, int key)
    {
        cmd.ReplaceEffect();
        if (!cmd.Recording.TakesEffects) return;
        cmd.EffectDelete(key);
        var set = new SortedSetValue(cmd.Database, cmd.Peek(key));
        long left = set.Count;
        if (left == 0) return;
        Span<byte> digits = stackalloc byte[SortedSetAccess.DigitsMax];
        SortedSetCursor cursor = set.At(0, digits);
        while (left > 0)
        {
            int count = (int)Math.Min(left, MembersPerCommand);
            EffectArguments effect = cmd.Effect("ZADD"u8, 2 + (2 * count)).Argument(cmd[key]);
            for (int i = 0; i < count; i++, cursor.MoveNext()) effect.Score(cursor.Score).Argument(cursor.Member);
            left -= count;
        }
    }

    /// <summary>Adds a score to an effect.</summary>
    internal static EffectArguments Score(this EffectArguments effect, double score)
    {
        Span<byte> text = stackalloc byte[RespDouble.TextMax];
        return effect.Argument(text[..RespDouble.Format(score, text)]);
    }
}
