using RedKite.Json.Paths;
using RedKite.Store.Keyspace;

namespace RedKite.Json.Commands;

/// <summary>
/// A search in slices, and the text of what it has found, if the command replies one. It has addresses of values, so until it ends no block of the stripe moves; when
/// the document's key has changed, it is stale.
/// </summary>
internal sealed class JsonSearchWork(Keyspace keyspace, Database database, ulong hash, JsonMatches matches, JsonReplyText? text) : SlicedWork
{
    /// <summary>So many searches keep what they have found between slices, each with a command's memory. Others go on when one of them has ended.</summary>
    internal const int KeptMax = KeptPlaces.CountMax;

    private readonly Stripe _stripe = database.StripeOf(hash);
    private readonly KeyIdentity _key = new(database.Index, hash);
    private readonly KeyWatch _watch = new();
    private bool _isWatching;
    private KeptPlace _kept = new(keyspace.KeptSearches);
    private long _stepsMax = JsonAccess.WaitingStepsMax;

    internal JsonMatches Matches => matches;

    /// <summary>The text of what was found, of which all is written when the work is complete.</summary>
    internal JsonReplyText? Text => text;

    /// <summary>For tests: lets the search take fewer steps.</summary>
    internal void Limit(long steps) => _stepsMax = steps;

    /// <summary>Begins to wait for the first slice: the thread's other commands do not use what was found.</summary>
    internal void Begin()
    {
        JsonMatches.Keep();
        JsonPathParser.Keep();
        _watch.Add(_key);
        _stripe.BeginWatch(_watch);
        _stripe.Pin();
        _isWatching = true;
        if (_kept.TryKeep()) return;
        matches.Restart();
        text?.Restart();
    }

    internal override bool KeepsOthersWaiting => _isWatching;

    internal override bool RunSlice()
    {
        IsStale = !_watch.IsUnchanged(_key);
        if (IsStale || !_kept.TryKeep()) return false;
        if (!matches.HasEnded && !matches.Run(JsonAccess.SliceSteps / keyspace.BoundsDivisor, Math.Min(matches.Steps + JsonAccess.StepsMax, _stepsMax))) return false;
        IsComplete = text is null || matches.Outcome != JsonOutcome.Complete || text.RunSlice(matches);
        return IsComplete;
    }

    internal override void Discard()
    {
        _kept.Release();
        matches.Release();
        text?.Release();
        if (!_isWatching) return;
        _isWatching = false;
        _stripe.Unpin();
        _stripe.EndWatch(_watch);
    }
}
