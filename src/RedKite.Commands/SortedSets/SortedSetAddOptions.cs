using RedKite.Server.Commands.Arguments;
using RedKite.Server.Model;
using RedKite.Store.Values.SortedSets;

namespace RedKite.Server.Commands.SortedSets;

/// <summary>The options between ZADD's key and its pairs of scores and members; ZINCRBY and GEOADD read them too.</summary>
internal struct SortedSetAddOptions
{
    /// <summary>The conditions under which members get scores.</summary>
    internal SortedSetRule Rule { get; private set; }

    /// <summary>CH: the reply counts changed members too, not only new ones.</summary>
    internal bool CountsChanges { get; private set; }

    /// <summary>INCR: scores are incremented, and the reply is the new score.</summary>
    internal readonly bool Increments => Has(SortedSetRule.Increment);

    /// <summary>The first argument after the options.</summary>
    internal int First { get; private set; }

    /// <summary>Reads ZADD's options from argument 2 on; those of ZINCRBY begin with the increment.</summary>
    internal static bool TryParseOrReply(scoped in CommandContext cmd, SortedSetRule initial, out SortedSetAddOptions result)
    {
        result = new SortedSetAddOptions { Rule = initial };
        var options = new OptionReader(cmd, first: 2);
        while (options.More && result.TakeZAddOption(ref options))
        {
        }

        result.First = options.Position;
        int arguments = options.Left;
        if (arguments == 0 || arguments % 2 == 1)
        {
            cmd.ReplySyntaxError();
            return false;
        }

        return result.AreCompatibleOrReply(cmd, arguments / 2);
    }

    /// <summary>Reads GEOADD's options from argument 2 on; triples of longitude, latitude and member follow.</summary>
    internal static bool TryParseGeoOrReply(scoped in CommandContext cmd, out SortedSetAddOptions result)
    {
        result = default;
        var options = new OptionReader(cmd, first: 2);
        while (options.More)
        {
            if (options.Take("NX"u8)) result.Rule |= SortedSetRule.OnlyNew;
            else if (options.Take("XX"u8)) result.Rule |= SortedSetRule.OnlyExisting;
            else if (options.Take("CH"u8)) result.CountsChanges = true;
            else break;
        }

        result.First = options.Position;
        if (options.Left > 0 && options.Left % 3 == 0 && !(result.Has(SortedSetRule.OnlyNew) && result.Has(SortedSetRule.OnlyExisting))) return true;
        cmd.ReplySyntaxError();
        return false;
    }

    private readonly bool Has(SortedSetRule rule) => (Rule & rule) != 0;

    private bool TakeZAddOption(ref OptionReader options)
    {
        if (options.Take("CH"u8)) CountsChanges = true;
        else if (options.Take("NX"u8)) Rule |= SortedSetRule.OnlyNew;
        else if (options.Take("XX"u8)) Rule |= SortedSetRule.OnlyExisting;
        else if (options.Take("INCR"u8)) Rule |= SortedSetRule.Increment;
        else if (options.Take("GT"u8)) Rule |= SortedSetRule.OnlyGreater;
        else if (options.Take("LT"u8)) Rule |= SortedSetRule.OnlyLess;
        else return false;
        return true;
    }

    private readonly bool AreCompatibleOrReply(scoped in CommandContext cmd, int pairs)
    {
        bool onlyNew = Has(SortedSetRule.OnlyNew);
        bool greater = Has(SortedSetRule.OnlyGreater);
        bool less = Has(SortedSetRule.OnlyLess);
        if (onlyNew && Has(SortedSetRule.OnlyExisting)) cmd.Reply.Error("ERR XX and NX options at the same time are not compatible"u8);
        else if ((onlyNew && (greater || less)) || (greater && less)) cmd.Reply.Error("ERR GT, LT, and/or NX options at the same time are not compatible"u8);
        else if (Increments && pairs > 1) cmd.Reply.Error("ERR INCR option supports a single increment-element pair"u8);
        else return true;
        return false;
    }
}
