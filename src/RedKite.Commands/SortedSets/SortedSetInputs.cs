using System.Buffers;
using RedKite.Server.Commands.Arguments;
using RedKite.Server.Model;
using RedKite.Store.Keyspace;
using RedKite.Store.Values.SortedSets;

namespace RedKite.Server.Commands.SortedSets;

/// <summary>An input of a union, intersection or difference.</summary>
internal struct WeightedSource : IComparable<WeightedSource>
{
    internal ScoredSource Source;
    internal double Weight;

    /// <summary>Whether each member counts as the weight, whatever its score.</summary>
    internal bool CountsMembers;

    /// <summary>Its index among the keys of the command.</summary>
    internal int Index;

    /// <summary>Smaller sources come first. The order is that of Redis, because the last digits of a sum depend on it.</summary>
    public readonly int CompareTo(WeightedSource other)
    {
        int order = Source.Count.CompareTo(other.Source.Count);
        return order != 0 ? order : Index.CompareTo(other.Index);
    }

    /// <summary>The weighted score; 0 where it is not a number, which is 0 times infinity.</summary>
    internal readonly double Weigh(double score)
    {
        double weighed = Raw(score);
        return double.IsNaN(weighed) ? 0 : weighed;
    }

    /// <summary>The weighted score, whatever it is.</summary>
    internal readonly double Raw(double score) => CountsMembers ? Weight : score * Weight;
}

/// <summary>The keys and options of ZUNION, ZINTER, ZDIFF and their relatives, from the number of keys on.</summary>
internal ref struct SortedSetInputs
{
    private readonly int _numberOfKeys;
    private readonly bool _weighs;
    private WeightedSource[] _sources;
    // So few keys are read, whatever they are.
    private const int AlwaysRepeated = 8;

    private int _count;

    private SortedSetInputs(int numberOfKeys, bool weighs)
    {
        _numberOfKeys = numberOfKeys;
        _weighs = weighs;
        _sources = [];
    }

    internal readonly Span<WeightedSource> Sources => _sources.AsSpan(0, _count);

    internal ScoreAggregate Aggregate { get; private set; }

    /// <summary>AGGREGATE COUNT: the score is the number of inputs with the member, or the sum of their weights.</summary>
    internal bool CountsInputs { get; private set; }

    internal bool WithScores { get; private set; }

    /// <summary>LIMIT: the maximum number of members to count; 0 if there is none.</summary>
    internal long Limit { get; private set; }

    /// <param name="cmd">The command.</param>
    /// <param name="numberOfKeys">The argument with the number of keys.</param>
    /// <param name="weighs">Whether there may be weights and an aggregate.</param>
    /// <param name="stores">Whether the result is stored, so that WITHSCORES is refused.</param>
    /// <param name="counts">Whether only the number of members is replied.</param>
    /// <param name="result">The inputs. They must be released (<see cref="Release"/>) in any case.</param>
    internal static bool TryParseOrReply(
        scoped in CommandContext cmd, int numberOfKeys, bool weighs, bool stores, bool counts, out SortedSetInputs result)
    {
        result = new SortedSetInputs(numberOfKeys, weighs);
        return result.TryFindSourcesOrReply(cmd) && result.TryReadOptionsOrReply(cmd, withScores: !stores && !counts, counts);
    }

    internal void Release()
    {
        if (_sources.Length > 0) ArrayPool<WeightedSource>.Shared.Return(_sources);
        _sources = [];
    }

    // The keys are opened before the options are read: WRONGTYPE takes precedence over a syntax error.
    private bool TryFindSourcesOrReply(scoped in CommandContext cmd)
    {
        if (!cmd.TryIntegerOrReply(_numberOfKeys, out long keys)) return false;
        if (keys < 1)
        {
            cmd.Reply.Error($"ERR at least 1 input key is needed for '{cmd.Command.FullName}' command");
            return false;
        }

        if (keys > cmd.Count - _numberOfKeys - 1)
        {
            cmd.ReplySyntaxError();
            return false;
        }

        _count = (int)keys;
        _sources = ArrayPool<WeightedSource>.Shared.Rent(_count);
        for (int i = 0; i < _count; i++)
        {
            Entry entry = cmd.Find(_numberOfKeys + 1 + i);
            if (!ScoredSource.Accepts(entry)) return cmd.IsTypeOrReply(entry, DataType.SortedSet);
            _sources[i] = new WeightedSource { Source = ScoredSource.Of(cmd.Database, entry, cmd.Expiry), Weight = 1, Index = i };
        }

        if (_count <= AlwaysRepeated) return true;
        long[] sizes = ArrayPool<long>.Shared.Rent(_count);
        for (int i = 0; i < _count; i++) sizes[i] = _sources[i].Source.Count;
        bool fit = RepeatedKeys.FitOrReply(cmd, _numberOfKeys + 1, sizes.AsSpan(0, _count));
        ArrayPool<long>.Shared.Return(sizes);
        return fit;
    }

    private bool TryReadOptionsOrReply(scoped in CommandContext cmd, bool withScores, bool counts)
    {
        var options = new OptionReader(cmd, _numberOfKeys + 1 + _count);
        while (options.More)
        {
            if (_weighs && options.TakeWithValues("WEIGHTS"u8, _count, out int weights))
            {
                if (!TryReadWeightsOrReply(cmd, weights)) return false;
            }
            else if (_weighs && options.TakeWithValue("AGGREGATE"u8, out int aggregate))
            {
                if (!TryReadAggregateOrReply(cmd, aggregate)) return false;
            }
            else if (withScores && options.Take("WITHSCORES"u8))
            {
                WithScores = true;
            }
            else if (counts && options.TakeWithValue("LIMIT"u8, out int argument))
            {
                if (!cmd.TryCountOrReply(argument, "ERR LIMIT can't be negative"u8, out long limit)) return false;
                Limit = limit;
            }
            else
            {
                cmd.ReplySyntaxError();
                return false;
            }
        }

        return true;
    }

    private readonly bool TryReadWeightsOrReply(scoped in CommandContext cmd, int first)
    {
        for (int i = 0; i < _count; i++)
        {
            if (!cmd.TryFloatOrReply(first + i, "ERR weight value is not a float"u8, out _sources[i].Weight)) return false;
        }

        return true;
    }

    private bool TryReadAggregateOrReply(scoped in CommandContext cmd, int argument)
    {
        if (cmd.Is(argument, "SUM"u8))
        {
            Aggregate = ScoreAggregate.Sum;
        }
        else if (cmd.Is(argument, "MIN"u8))
        {
            Aggregate = ScoreAggregate.Min;
        }
        else if (cmd.Is(argument, "MAX"u8))
        {
            Aggregate = ScoreAggregate.Max;
        }
        else if (cmd.Is(argument, "COUNT"u8))
        {
            Aggregate = ScoreAggregate.Sum;
        }
        else
        {
            cmd.ReplySyntaxError();
            return false;
        }

        CountsInputs = cmd.Is(argument, "COUNT"u8);
        foreach (ref WeightedSource source in Sources) source.CountsMembers = CountsInputs;
        return true;
    }
}
